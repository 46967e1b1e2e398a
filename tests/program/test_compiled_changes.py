"""What a compiled function reads and does besides its arguments: each change shows at once."""

import collections
import dataclasses
import functools
import logging
import operator
import os
import sys
import threading
import warnings
from typing import ClassVar

import numpy as np
import pytest
from helpers import same_bits

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch._core import is_recording
from tiny_torch.base.modes import thread
from tiny_torch.program import Compiled, record
from tiny_torch.program.recorder import Recorder


class Plain:
    pass


class Slots:
    __slots__ = ("k",)


@dataclasses.dataclass(slots=True)
class Config:
    k: int = 1


def nested(depth):
    """(outermost, innermost) of objects that hang on each other as `a`."""
    outer = inner = Plain()
    for _ in range(depth):
        inner.a = Plain()
        inner = inner.a
    return outer, inner


OUTER, INNER = nested(4)
SLOTS, CONFIG, PLAIN = Slots(), Config(), Plain()
LISTS = [[[[[2]]]]]
NUMPY = np.array([2.0, 1.0])
DEQUE = collections.deque([2])
BYTES = bytearray([2])
WEIGHT = torch.full((2,), 5.0)
NUMBER = 2


def with_default(x, k=[2]):  # noqa: B006
    return x * k[0]


def with_attribute(x):
    return x * with_attribute.k


class Odd:
    """Whose attributes are made when they are asked for."""

    table: ClassVar = {"k": 2}

    def __getattr__(self, name):
        return Odd.table[name]


ODD = [Odd()]  # pytest asks what a module has for attributes

# (function, what sets the value that it reads)
READS = {
    "slot": (lambda x: x * SLOTS.k, lambda v: setattr(SLOTS, "k", v)),
    "slot of a dataclass": (lambda x: x * CONFIG.k, lambda v: setattr(CONFIG, "k", v)),
    "deep attribute": (lambda x: x * OUTER.a.a.a.a.k, lambda v: setattr(INNER, "k", v)),
    "deep list": (
        lambda x: x * LISTS[0][0][0][0][0],
        lambda v: operator.setitem(LISTS[0][0][0][0], 0, v),
    ),
    "NumPy's array": (lambda x: x * float(NUMPY[0]), lambda v: operator.setitem(NUMPY, 0, v)),
    "from_numpy": (
        lambda x: x * torch.from_numpy(NUMPY)[0].float(),
        lambda v: operator.setitem(NUMPY, 0, v),
    ),
    "deque": (lambda x: x * DEQUE[0], lambda v: operator.setitem(DEQUE, 0, v)),
    "bytearray": (lambda x: x * BYTES[0], lambda v: operator.setitem(BYTES, 0, v)),
    "default": (with_default, lambda v: operator.setitem(with_default.__defaults__[0], 0, v)),
    "default of what is called": (
        lambda x: with_default(x),
        lambda v: operator.setitem(with_default.__defaults__[0], 0, v),
    ),
    "attribute of a function": (with_attribute, lambda v: setattr(with_attribute, "k", v)),
    "attribute of a tensor": (lambda x: x * WEIGHT.k, lambda v: setattr(WEIGHT, "k", v)),
    "environment": (
        lambda x: x * int(os.environ.get("TINY_TORCH_TEST", "1")),
        lambda v: operator.setitem(os.environ, "TINY_TORCH_TEST", str(v)),
    ),
    "globals()": (lambda x: x * globals()["NUMBER"], lambda v: globals().update(NUMBER=v)),
    "getattr": (lambda x: x * getattr(PLAIN, "k"), lambda v: setattr(PLAIN, "k", v)),  # noqa: B009
    "attrgetter": (lambda x: x * operator.attrgetter("k")(PLAIN), lambda v: setattr(PLAIN, "k", v)),
    "__getattr__": (lambda x: x * ODD[0].k, lambda v: operator.setitem(Odd.table, "k", v)),
}


@pytest.mark.parametrize("name", READS)
def test_what_is_read_may_change(name):
    function, change = READS[name]
    compiled = Compiled(function)
    for value in (2, 2, 2, 3, 2):
        change(value)
        assert compiled(torch.ones(2)).tolist() == [value, value]


def tensor_with(k):
    x = torch.ones(2)
    if k is not None:
        x.k = k
    return x


BASE, ONES = torch.arange(6.0), torch.ones(2)
with torch.inference_mode():
    INFERENCE = torch.ones(2)
# (function, arguments of one kind, and of others)
ARGUMENTS = {
    "offset": (lambda x: x + x.storage_offset(), lambda: [BASE[:3]], lambda: [BASE[3:]]),
    "offset of a view": (
        lambda x: x + x[1:].storage_offset(),
        lambda: [BASE[:3]],
        lambda: [BASE[3:]],
    ),
    "as_strided": (
        lambda x: x.as_strided((2,), (1,), 0) * 1,
        lambda: [BASE[:3]],
        lambda: [BASE[3:]],
    ),
    "attribute": (
        lambda x: x * getattr(x, "k", 7),
        lambda: [tensor_with(2)],
        lambda: [tensor_with(3)],
        lambda: [tensor_with(None)],
    ),
    "is": (
        lambda x, y: x * 2 if x is y else x * 3,
        lambda: [ONES, ONES.clone()],
        lambda: [ONES, ONES],
    ),
    "storage": (
        lambda x: x * x.untyped_storage().nbytes(),
        lambda: [torch.ones(3)],
        lambda: [torch.ones(6)[:3]],
    ),
    "version": (lambda x: x * x._version, lambda: [torch.ones(2)], lambda: [torch.ones(2).add_(1)]),
    "view": (lambda x: x * (1 + x._is_view()), lambda: [torch.ones(3)], lambda: [BASE[:3]]),
    "shared": (
        lambda x: x * (1 + x.is_shared()),
        lambda: [torch.ones(2)],
        lambda: [torch.ones(2).share_memory_()],
    ),
    "inference": (
        lambda x: x * (1 + x.is_inference()),
        lambda: [torch.ones(2)],
        lambda: [INFERENCE],
    ),
    "a global, too": (
        lambda x: x * WEIGHT,
        lambda: [WEIGHT],
        lambda: [torch.full((2,), 7.0)],
    ),
    "of an inner function": (
        lambda x: (lambda: x * 2)(),
        lambda: [torch.ones(2)],
        lambda: [torch.zeros(2)],
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_differ(name):
    function, *kinds = ARGUMENTS[name]
    compiled = Compiled(function)
    for make in (kinds[0], kinds[0], *kinds, kinds[0]):
        assert compiled(*make()).equal(function(*make()))


def test_an_inner_function_is_recorded_once():
    compiled = Compiled(lambda x: (lambda: x * 2)(), fullgraph=True)
    for _ in range(4):
        compiled(torch.ones(2))
    assert compiled.recorded == 1


def test_an_import_is_of_the_first_call_alone(tmp_path, monkeypatch, capsys):
    package = tmp_path / "found_late"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from collections import deque\nQUEUE = deque([1])\nprint('found')"
    )
    (package / "config.py").write_text("SCALE = 2.0\nSHIFT = 1.0")
    (package / "use.py").write_text(
        "def relative(x):\n    from .config import SHIFT\n    return x + SHIFT"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def scale(x):
        import colorsys  # noqa: F401

        import found_late.config
        from found_late.use import relative

        return relative(x * found_late.config.SCALE)

    compiled = Compiled(scale)
    x = torch.ones(3)
    assert [compiled(x).sum().item() for _ in range(4)] == [9] * 4
    assert capsys.readouterr().out == "found\n" and compiled.recorded == 1
    config = sys.modules["found_late.config"]
    config.SCALE, config.SHIFT = 3.0, 1.0
    assert compiled(x).sum() == 12
    config.SHIFT = 2.0
    assert compiled(x).sum() == 15
    for name in ("found_late.config", "found_late.use", "found_late"):
        del sys.modules[name]
    assert compiled(x).sum() == 9


def sets_grad(x):
    x.grad = x * 2
    return x * 3


def sets_attribute(x):
    x.k = 5
    return x * 3


def warns(x):
    warnings.warn("each time", stacklevel=1)
    return x * 3


def writes_text(x):
    sys.stdout.write("each time")
    return x * 3


def logs(x):
    logging.getLogger("tiny_torch.test").error("each time")
    return x * 3


def test_effects_happen_in_each_call(capsys):
    for function in (sets_grad, sets_attribute, warns, writes_text, logs):
        compiled = Compiled(function)
        for _ in range(4):
            x = torch.ones(2)
            if function is warns:
                with pytest.warns(UserWarning, match="each time"):
                    compiled(x)
            else:
                compiled(x)
            assert function is not sets_grad or x.grad.tolist() == [2, 2]
            assert function is not sets_attribute or x.k == 5
        if function is writes_text:
            assert capsys.readouterr().out == "each time" * 4
        assert compiled.refusals


def answers_leaf(x):
    v = torch.zeros(2, requires_grad=True)
    return (v + x).sum(), v


def answers_inner_step(x):
    w = x.detach().requires_grad_()
    (grad,) = torch.autograd.grad((w * w).sum(), w)
    return (w - 0.1 * grad).sum(), w


@pytest.mark.parametrize("function", [answers_leaf, answers_inner_step])
def test_what_the_function_makes_to_require_grad(function):
    compiled = Compiled(function)
    for _ in range(3):
        result, leaf = compiled(torch.ones(2))
        result.backward()
        assert leaf.grad.tolist() == [1, 1]


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = nn.Buffer(torch.zeros(1))
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        self.count.data.add_(1)
        self.scale.data.mul_(2)
        return x * self.scale * self.count


def test_writes_through_data_are_done_once():
    net = Writer()
    compiled = torch.compile(net)
    for k in range(1, 4):
        assert compiled(torch.ones(1)).item() == k * 2**k and net.count.item() == k
    weight = torch.ones(2, requires_grad=True)

    @functools.partial(record, fullgraph=True)
    def step(x):
        loss = (weight * x).sum()
        loss.backward()
        weight.data.sub_(weight.grad * 0.25)
        weight.grad = None
        return loss

    for k in range(1, 4):
        step(torch.ones(2))
        assert weight.tolist() == [1 - 0.25 * k] * 2


def test_a_tensor_given_twice_gets_its_gradient_once():
    product = Compiled(lambda pair, table: pair[0] * pair[1] * table["x"])
    for _ in range(3):
        x = torch.tensor(3.0, requires_grad=True)
        product([x, x], {"x": x}).backward()
        assert x.grad == 27


def test_a_hook_behind_forward_runs_once_and_for_its_tensor():
    compiled = Compiled(lambda x: x * 2)
    seen = []
    for hooks in (1, 0, 1):
        x = torch.tensor(3.0, requires_grad=True)
        y = x * 1
        result = compiled(y)
        for t in (x, y)[: 2 * hooks]:
            t.register_hook(seen.append)
        result.backward()
        assert x.grad == 2
    assert seen == [2, 2, 2, 2]


def test_gradients_under_create_graph_are_the_last():
    compiled = Compiled(lambda x: x * x)
    for _ in range(3):
        x = torch.tensor(3.0, requires_grad=True)
        (grad,) = torch.autograd.grad(compiled(x), x, create_graph=True)
        assert grad == 6 and grad.requires_grad
        for use in (grad.backward, lambda g=grad, x=x: torch.autograd.grad(g, x)):
            with pytest.raises(RuntimeError, match="does not currently support double backward"):
                use()
    assert torch.func.grad(compiled)(torch.tensor(3.0)) == 6


def test_gradients_are_not_differentiated_by_their_seeds():
    compiled = Compiled(lambda x: x * x)
    for _ in range(3):
        x, seed = (torch.tensor(3.0, requires_grad=True) for _ in range(2))
        (grad,) = torch.autograd.grad(compiled(x), x, seed, create_graph=True)
        for use in (grad.backward, lambda g=grad, seed=seed: torch.autograd.grad(g, seed)):
            with pytest.raises(RuntimeError, match="does not currently support double backward"):
                use()


def test_transforms_run_the_function_itself():
    def f(x):
        return (x * x).sin()

    def twice(f):
        return torch.func.grad(lambda x: torch.func.grad(lambda x: f(x).sum())(x).sum())

    def along(f):
        return lambda x: torch.func.jvp(f, (x,), (x,))[1]

    compiled, x = Compiled(f), torch.arange(1.0, 5)
    for _ in range(3):
        compiled(x.clone().requires_grad_()).sum().backward()
        for transform in (along, twice, torch.func.jacfwd, torch.func.hessian):
            assert same_bits(transform(compiled)(x), transform(f)(x))
    assert compiled.recorded == 1


def test_a_gradient_that_becomes_nan_is_told_of():
    scale = nn.Parameter(torch.ones(2))
    compiled = Compiled(lambda x: (x.sqrt() * 0).sqrt() * scale)
    words = "'CompiledFunctionBackward' returned nan"
    for detects in (False, True, True):
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        y = compiled(x).sum()
        if not detects:
            y.backward()
            continue
        with (
            torch.autograd.set_detect_anomaly(True),
            pytest.warns(UserWarning),
            pytest.raises(RuntimeError, match=words),
        ):
            y.backward()


def test_a_result_that_is_answered_twice_is_one_tensor():
    @Compiled
    def twice(x):
        y = x * x
        return y, y

    for _ in range(3):
        x = torch.ones(1, requires_grad=True)
        a, b = twice(x)
        assert a is b
        (a + b).backward()
        assert x.grad == 4


def test_modules_that_change():
    net = nn.Sequential(nn.Linear(2, 2))
    compiled, x = torch.compile(net), torch.ones(1, 2)
    with torch.no_grad():
        plain = compiled(x)
        assert compiled(x).equal(plain)
        hook = nn.modules.module.register_module_forward_hook(lambda m, i, o: o * 2)
        try:
            assert compiled(x).equal(net(x) * 2)  # the wrapper is a module, too
        finally:
            hook.remove()
        assert compiled(x).equal(plain)
        net.forward = lambda x: x * 3
        assert compiled(x).tolist() == [[3, 3]]


@pytest.mark.parametrize("method", ["start", "see", "note_launch", "note_offset", "finish"])
def test_an_interrupt_while_it_is_recorded_stays_one(method, monkeypatch):
    own = getattr(Recorder, method)

    def interrupt(recorder, *arguments):
        own(recorder, *arguments)
        raise KeyboardInterrupt

    compiled = Compiled(lambda x: (x * (2 + x.storage_offset())).exp())
    with monkeypatch.context() as patched:
        patched.setattr(Recorder, method, interrupt)
        with pytest.raises(KeyboardInterrupt):
            compiled(torch.ones(2))
    assert not is_recording() and thread.watch is None and sys.getprofile() is None
    for _ in range(3):
        assert compiled(torch.zeros(2)).tolist() == [1, 1]


def test_hooks_on_the_leaves_of_a_recorded_step():
    weight = torch.ones(2, requires_grad=True)

    @record
    def step(x):
        weight.grad = None
        loss = (weight * x).sum()
        loss.backward()
        return loss

    for register in (weight.register_hook, weight.register_post_accumulate_grad_hook):
        for _ in range(3):
            step(torch.ones(2))
        seen = []
        hook = register(lambda grad, seen=seen: seen.append(grad.tolist()))
        for _ in range(3):
            step(torch.ones(2))
        assert seen == [[1, 1]] * 3
        hook.remove()
        step(torch.ones(2))
        assert seen == [[1, 1]] * 3 and weight.grad.tolist() == [1, 1]


def test_batch_norm_in_several_threads():
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    compiled, failed = torch.compile(net), []

    def work():
        try:
            for _ in range(30):
                compiled(torch.randn(8, 4)).sum().backward()
        except RuntimeError as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for worker in threads:
        worker.start()
    for worker in threads:
        worker.join()
    work()
    assert not failed
