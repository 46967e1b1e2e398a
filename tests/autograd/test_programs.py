"""Random programs of views, writes in place and ordinary ops, run in PyTorch and here.

Each step must do the same in both: the same values everywhere, the same kind of error, and in the
end the same gradients. A failing program is printed, with its seed.
"""

from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest

import tiny_torch

pytestmark = pytest.mark.torch

UNARY = ("neg", "sin", "tanh", "sigmoid", "square", "relu", "abs", "clone", "cos", "atan")
BINARY = ("add", "sub", "mul", "maximum", "div", "atan2", "lerp")
WRITES = ("neg_", "sin_", "tanh_", "sigmoid_", "abs_", "square_", "zero_", "relu_", "cos_")
PAIRED = ("add_", "sub_", "mul_", "copy_", "atan2_")
VIEWS = ("select", "slice", "unbind", "split", "expand", "transpose", "diagonal", "permute")
TWO = ("number", 2.0)
WRITTEN = "modified by an inplace operation"
OVERLAP = "to a single memory"
# What PyTorch cannot do: use a saved tensor that has lost its history (ours saves elements), or
# write the zeros that some second derivatives are.
BEYOND = ("detached in-place", "ZeroTensors are immutable")
REDUCE = ("mean", "prod", "amax", "cumsum", "cumprod", "flip", "softmax", "var")
THREE = ("addcmul", "addcmul_", "where")
RESHAPED = ("t_", "squeeze_", "unsqueeze_", "transpose_")
MODES = ("no_grad", "inference_mode", "enable_grad")


def weights(torch, tensor):
    """Fixed numbers in a tensor's shape: what a sum is weighted with."""
    count = tensor.numel()
    values = torch.from_numpy(np.cos(np.arange(count, dtype=np.float64)) + 1.5)
    return values.reshape(tuple(tensor.shape)).to(tensor.dtype)


def memory(tensor) -> int:
    return tensor.untyped_storage().data_ptr()


class Program:
    """Steps as they are drawn, in terms of the tensors that PyTorch has so far."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def shape(self):
        return tuple(self.draw.choice((1, 2, 3)) for _ in range(self.draw.randint(0, 3)))

    def fitting(self, env, i):
        """The place of a tensor that broadcasts to the shape of tensor i, or a number."""
        shape = tuple(env[i].shape)
        places = [
            j
            for j, t in enumerate(env)
            if t.ndim <= len(shape)
            and (j == i or memory(t) != memory(env[i]))
            and all(m in (1, n) for m, n in zip(t.shape[::-1], shape[::-1], strict=False))
        ]
        if self.draw.random() < 0.25:
            return ("number", self.draw.choice((0.5, -1.5, 2.0)))
        return ("tensor", self.draw.choice(places))

    def like(self, env, i):
        """The place of a tensor of the shape and dtype of tensor i, or of a 0-d one."""
        places = [
            j
            for j, t in enumerate(env)
            if (t.ndim == 0 if i is None else (t.shape, t.dtype) == (env[i].shape, env[i].dtype))
        ]
        return self.draw.choice(places) if places else None

    def next(self, env):
        draw = self.draw
        i = draw.randrange(len(env)) if draw.random() < 0.4 else len(env) - 1
        i = max(0, i - draw.randrange(3)) if draw.random() < 0.5 else i
        tensor = env[i]
        ndim = tensor.ndim
        kinds = ["unary", "binary", "write", "paired", "write", "paired", "flag", "whole", "masked"]
        kinds += ["node", "join", "fill", "reshaped", "grad", "three", "clamp"]
        if ndim and tensor.numel():
            kinds += ["select", "slice", "unbind", "split", "item", "item"] * 2 + ["sum", "expand"]
            kinds += ["reduce", "pick", "put", "backward", "copied", "windows", "strided"]
        if ndim > 1:
            kinds += ["transpose", "diagonal", "permute"]
        kind = draw.choice(kinds)
        flags = ["detach", "hook", "retain", "data", "detach_", "stop"]
        if [memory(t) for t in env].count(memory(tensor)) == 1:
            # What is made of older views requires grad in PyTorch, with no way to any leaf.
            flags.append("require")
        dim = draw.randrange(ndim) if ndim else 0
        size = tensor.shape[dim] if ndim else 1
        start = draw.randrange(max(size, 1))
        mode = draw.choice(MODES) if draw.random() < 0.06 else None
        step = {
            "unary": lambda: (draw.choice(UNARY),),
            "binary": lambda: (draw.choice(BINARY), self.fitting(env, i)),
            "write": lambda: (draw.choice(WRITES),),
            "paired": lambda: (draw.choice(PAIRED), self.fitting(env, i)),
            "flag": lambda: (draw.choice(flags),),
            "whole": lambda: (draw.choice(("flatten", "view", "unsqueeze", "squeeze")), dim),
            "masked": lambda: ("double" if draw.random() < 0.5 else "float",),
            "select": lambda: ("select", dim, start),
            "slice": lambda: (
                "slice",
                dim,
                start,
                draw.randint(start + 1, size + 1),
                draw.randint(1, 2),
            ),
            "unbind": lambda: ("unbind", dim, start),
            "split": lambda: ("split", dim, draw.randint(1, size), 0),
            "item": lambda: ("item", dim, start, self.fitting(env, i)),
            "sum": lambda: ("sum", dim),
            "reduce": lambda: (draw.choice(REDUCE), dim),
            "pick": lambda: ("pick", dim, [draw.randrange(size) for _ in range(3)]),
            "put": lambda: ("put", dim, [draw.randrange(size) for _ in range(2)], draw.random()),
            "node": lambda: ("node", draw.random() < 0.5),
            "join": lambda: (draw.choice(("cat", "stack")), self.like(env, i)),
            "fill": lambda: ("fill", draw.choice(("fill_", "masked_fill_")), self.like(env, None)),
            "reshaped": lambda: (draw.choice(RESHAPED), dim, draw.randrange(max(ndim, 1))),
            "backward": lambda: ("backward",),
            "grad": lambda: ("grad", draw.randrange(len(env))),
            "three": lambda: (draw.choice(THREE), self.fitting(env, i), self.fitting(env, i)),
            "clamp": lambda: (draw.choice(("clamp", "clamp_")), draw.choice((-0.5, 0.1))),
            "copied": lambda: ("copied", dim, draw.sample(range(size), min(size, 2)), start),
            "windows": lambda: ("windows", dim, draw.randint(1, size)),
            "strided": lambda: ("strided", draw.randint(1, tensor.numel())),
            "expand": lambda: ("expand",),
            "transpose": lambda: ("transpose", dim, draw.randrange(ndim)),
            "diagonal": lambda: ("diagonal",),
            "permute": lambda: ("permute", draw.sample(range(ndim), ndim)),
        }[kind]()
        return (i, mode, *step)


def operand(env, argument):
    kind, value = argument
    return value if kind == "number" else env[value]


def run_step(torch, env, step):
    """Does a step; answers the new tensor, if there is one."""
    i, mode, name, *arguments = step
    x = env[i]
    with getattr(torch, mode)() if mode else contextlib.nullcontext():
        if name == "zero_" and 0 in x.stride():
            name = "neg_"  # which is refused; PyTorch zeroes what overlaps itself
        if name in ("hook", "retain") and not torch.is_grad_enabled():
            return None
        asked = ("item", "hook", "retain", "fill", "put", "copied")
        if (name.endswith("_") or name in asked) and torch.is_grad_enabled():
            x.grad_fn  # noqa: B018  PyTorch takes a view for a leaf if its base was written since
        if name in REDUCE:
            return reduced(name, x, arguments[0])
        if name in RESHAPED:
            if x.requires_grad and (mode or x.is_leaf or x.retains_grad):
                return None  # PyTorch's history, or .grad, then keeps the shape that x had
            given = {"t_": (), "transpose_": arguments, "unsqueeze_": arguments[:1]}.get(name, ())
            getattr(x, name)(*given)
            return None
        if name in ("pick", "put"):
            return indexed(torch, x, *arguments)
        if name == "grad":
            found = torch.autograd.grad(
                (x * weights(torch, x)).sum(),
                env[arguments[0]],
                create_graph=True,
                allow_unused=True,
            )
            return found[0] if found[0] is None else found[0].clone()  # PyTorch's may be immutable
        if name in THREE:
            y, z = (
                a if hasattr(a, "dtype") else torch.full((), a)
                for a in (operand(env, a) for a in arguments)
            )
            if name == "where":
                return torch.where(x.detach() > 0.3, x, y)
            return getattr(x, name)(y.to(x.dtype), z.to(x.dtype))
        if name in ("clamp", "clamp_"):
            result = getattr(x, name)(arguments[0], 1.5)
            return result if name == "clamp" else None
        if name == "copied":
            dim, positions, k = arguments
            x.index_copy_(
                dim,
                torch.tensor(positions),
                x.select(dim, k).unsqueeze(dim).repeat_interleave(len(positions), dim),
            )
            return None
        if name == "windows":
            return x.unfold(arguments[0], arguments[1], arguments[1])
        if name == "strided":
            return x.as_strided((arguments[0],), (1,)) if x.is_contiguous() else None
        if name == "stop":
            x.requires_grad_(False)
            return None
        if name == "node":
            if torch.is_grad_enabled() and x.grad_fn is not None:
                hook_node(x.grad_fn, arguments[0])
            return None
        if name in ("cat", "stack"):
            if name == "cat" and x.ndim == 0:
                return None
            return getattr(torch, name)([x, env[arguments[0]]])
        if name == "fill" and 0 not in x.stride():  # which PyTorch fills even where it overlaps
            value = 2.5 if arguments[1] is None else env[arguments[1]]
            if arguments[0] == "fill_":
                x.fill_(value)
            else:
                x.masked_fill_(x.detach() > 0.3, value)
            return None
        if name == "fill":
            return None
        if name == "backward":
            (x * weights(torch, x)).sum().backward(retain_graph=True)
            return None
        if name in BINARY + PAIRED:
            y = operand(env, arguments[0])
            if name == "copy_" and y is x:
                return None  # which PyTorch allows even where x overlaps itself
            if name in ("maximum", "atan2", "atan2_", "copy_", "lerp") and not hasattr(y, "dtype"):
                y = torch.full((), y, dtype=x.dtype)
            if name == "div":
                y = y * y + 1.0
            return x.lerp(y, 0.25) if name == "lerp" else getattr(x, name)(y)
        if name == "slice":
            dim, start, stop, stride = arguments
            return x[(slice(None),) * dim + (slice(start, stop, stride),)]
        if name in ("unbind", "split"):
            dim, k, *_ = arguments
            return x.unbind(dim)[k] if name == "unbind" else x.split(k, dim)[-1]
        if name == "item":
            dim, k, value = arguments
            y = operand(env, value)
            x[(slice(None),) * dim + (k,)] = y if not hasattr(y, "dtype") else y.sum()
            return None
        if name in ("view", "unsqueeze", "flatten", "squeeze"):
            return {
                "view": lambda: x.view(-1),
                "flatten": lambda: x.reshape(-1),
                "unsqueeze": lambda: x.unsqueeze(arguments[0]),
                "squeeze": lambda: x.squeeze(),
            }[name]()
        if name == "expand":
            return x.unsqueeze(0).expand(2, *x.shape)
        if name in ("hook", "retain") and made_without_grad(x):
            return None  # PyTorch's register_hook crashes on it
        if name == "hook":
            x.register_hook(lambda g: g * 2)
            return None
        if name == "retain":
            return x.retain_grad()
        if name == "detach_" and x.retains_grad:
            return None  # PyTorch's next write of it then fails an assertion
        if name == "require":
            x.requires_grad_()
            return None
        if name == "data":
            x.data.mul_(0.5)
            return None
        if name == "permute":
            return x.permute(*arguments[0])
        return getattr(x, name)(*arguments)


def reduced(name, x, dim):
    if name == "flip":
        return x.flip(dim)
    if name == "var":
        return x.var(dim, correction=0)
    return getattr(x, name)(dim)


def indexed(torch, x, dim, positions, share=None):
    """The elements at positions, some of them twice; or more added to them."""
    index = torch.tensor(positions)
    picked = x.index_select(dim, index)
    if share is None:
        return x[(slice(None),) * dim + (index,)]
    x.index_add_(dim, index, picked * share)
    return None


def hook_node(node, before):
    """A hook of a node's own, before or after its backward."""
    if before:
        node.register_prehook(lambda grads: tuple(g if g is None else g * 3 for g in grads))
    else:
        node.register_hook(lambda ins, outs: tuple(g if g is None else g * 0.5 for g in ins))


def made_without_grad(tensor) -> bool:
    """A view that says it requires grad because its base does, and has no way to it."""
    try:
        return tensor._is_view() and tensor._base.requires_grad and tensor.is_leaf
    except RuntimeError:
        return False


class Outcome:
    """What a program has left in one package."""

    def __init__(self, torch, leaves):
        self.torch = torch
        self.error = None  # the last
        self.env = [torch.from_numpy(values.copy()).requires_grad_(grad) for values, grad in leaves]

    def do(self, step):
        """The kind of error of a step, or None."""
        try:
            result = run_step(self.torch, self.env, step)
        except Exception as error:
            self.error = error
            return kind_of(error)
        self.error = None
        if result is not None and all(result is not t for t in self.env):
            self.env.append(result)
        return None

    def finish(self, places, twice):
        try:
            total = sum((self.env[i] * weights(self.torch, self.env[i])).sum() for i in places)
            if twice:
                leaves = [t for t in self.env[:3] if t.requires_grad]
                found = self.torch.autograd.grad(
                    total, leaves, create_graph=True, allow_unused=True
                )
                total = sum((g * g * weights(self.torch, g)).sum() for g in found if g is not None)
                if not total.requires_grad:
                    return "constant"
            total.backward()
        except Exception as error:
            self.error = error
            return kind_of(error)
        return None


def did(log, name) -> bool:
    return any(f"'{name}'" in line for line in log)


def kind_of(error):
    text = str(error)
    if any(reason in text for reason in ("leaf Variable", "is forbidden", "multiple views")):
        return "refused"  # which reason comes first differs where there are two
    for kind in (WRITTEN, "second time", OVERLAP):
        if kind in text:
            return kind
    return type(error).__name__


def same(ours, theirs, tolerance) -> bool:
    if ours is None or theirs is None:
        present = theirs if ours is None else ours
        return present is None or not present.detach().numpy().any()
    a, b = ours.detach().numpy(), theirs.detach().numpy(force=True)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    known = ~np.isnan(b)  # PyTorch's second derivative of atan2 at the origin is NaN
    scale = 1 + np.abs(b[known]).max(initial=0)
    return np.allclose(a[known], b[known], rtol=tolerance, atol=tolerance * scale)


@np.errstate(all="ignore")
def check(seed, oracle, length=14):
    program = Program(seed)
    draw = program.draw
    numbers = np.random.default_rng(seed)
    leaves = [
        (
            numbers.normal(size=program.shape()).astype(
                draw.choice(("float64", "float64", "float32"))
            ),
            draw.random() < 0.8,
        )
        for _ in range(3)
    ]
    theirs, ours = Outcome(oracle, leaves), Outcome(tiny_torch, leaves)
    log = [f"seed {seed}", *(f"{v.dtype} {v.shape} {g}" for v, g in leaves)]
    for i, (_, grad) in enumerate(leaves):
        if grad and draw.random() < 0.7:  # something that may be written
            for outcome in (theirs, ours):
                outcome.env.append(outcome.env[i] * 1.0)
    for _ in range(length):
        step = program.next(theirs.env)
        expected, got = theirs.do(step), ours.do(step)
        log.append(f"{step} -> {expected}, {len(theirs.env) - 1}")
        if expected == OVERLAP and got is None:
            return  # ours copies what overlaps, where that is possible
        if any(reason in str(theirs.error) for reason in BEYOND):
            return
        if got is None and expected == WRITTEN and sum("'grad'" in line for line in log) > 1:
            return  # PyTorch's second derivatives read what they multiply by zero
        if got and "InferenceMode" in str(theirs.error):
            return  # PyTorch refuses the write after it is done, ours some before
        if "InferenceMode" in str(ours.error) and did(log, "detach"):
            return  # what PyTorch forbids of inference tensors it allows of their detach()
        assert got == expected or (expected == "refused" and got), (ours.error, log)
        lost = [made_without_grad(outcome.env[-1]) for outcome in (theirs, ours)]
        assert lost[0] == lost[1], log
        if lost[0]:  # may not be written, and is of no other use here
            i = len(theirs.env) - 1
            for write in ((i, None, "neg_"), (i, None, "unsqueeze", 0), (i + 1, None, "mul_", TWO)):
                assert (ours.do(write), theirs.do(write)) in [(None, None), ("refused",) * 2], log
            for outcome in (theirs, ours):
                del outcome.env[i:]
        assert len(ours.env) == len(theirs.env), log
        tolerance = 1e-8 if all(t.dtype is oracle.float64 for t in theirs.env) else 1e-3
        for i, (a, b) in enumerate(zip(ours.env, theirs.env, strict=True)):
            assert same(a, b, tolerance), (i, a, b, log)
    candidates = [
        i
        for i, (a, b) in enumerate(zip(ours.env, theirs.env, strict=True))
        if a.requires_grad and b.requires_grad
    ]
    # The formulas of cumprod differ: whether they read its result, and so what changes that.
    if not candidates or (did(log, "cumprod") and did(log, "data")):
        return
    places = draw.sample(candidates, min(3, len(candidates)))
    hooked = did(log, "hook") or did(log, "node")
    twice = draw.random() < 0.3 and not (did(log, "cumprod") and hooked)
    expected, got = theirs.finish(places, twice), ours.finish(places, twice)
    log.append(f"sum of {places} twice={twice} -> {expected}")
    if any(reason in str(theirs.error) for reason in BEYOND):
        return
    if got == "constant":
        got = None  # then PyTorch's second gradients must be zeros
    if got is None and expected in ("constant", OVERLAP):
        return
    if got is None and expected == WRITTEN and (twice or did(log, "grad")):
        return  # PyTorch's second derivatives read what they multiply by zero
    assert got == expected or (expected == "refused" and got), (ours.error, log)
    if expected is None:
        for i, (a, b) in enumerate(zip(ours.env, theirs.env, strict=True)):
            assert same(a.grad, b.grad, tolerance), (i, a.grad, b.grad, log)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", range(10))
def test_programs(oracle, block):
    for seed in range(block * 30, block * 30 + 30):
        check(seed, oracle)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_many_programs(oracle):
    for seed in range(1000, 11_000):
        check(seed, oracle, length=10 + seed % 15)
