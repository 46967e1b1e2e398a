"""torch.autograd.functional and torch.func: values, structure, history and errors, as PyTorch's."""

from __future__ import annotations

import itertools

import pytest
from helpers import compare, leaf, outcome
from tiny_torch.utils._pytree import tree_flatten

import tiny_torch

FLAGS = list(itertools.product((False, True), repeat=2))  # create_graph, strict

FUNCTIONS = {
    "elementwise": lambda torch: lambda a: a**2,
    "scalar": lambda torch: lambda a: (a**3).sum(),
    "linear": lambda torch: lambda a: (2 * a).sum(),
    "constant": lambda torch: lambda a: torch.ones(2),
    "identity": lambda torch: lambda a: a,
    "a list": lambda torch: lambda a: [a],
    "a number": lambda torch: lambda a: 3.0,
    "a tuple": lambda torch: lambda a: (a * 2, a.sum()),
    "a tuple of one": lambda torch: lambda a: ((a**2).sum(),),
    "in part constant": lambda torch: lambda a: (a * a, torch.ones(1)),
}
INPUTS = {
    "a vector": lambda torch: torch.tensor([1.0, 2.0]),
    "a 0-d tensor": lambda torch: torch.tensor(2.0),
    "one that requires grad": lambda torch: leaf(torch, 1.0, 2.0),
    "a tuple": lambda torch: (torch.tensor([1.0, 2.0]),),
    "a list": lambda torch: [torch.tensor([1.0, 2.0])],
    "a number": lambda torch: 3.0,
}
VECTORS = {
    "none": lambda torch: None,
    "0-d": lambda torch: torch.tensor(3.0),
    "1-d": lambda torch: torch.tensor([3.0, 4.0]),
    "a tuple": lambda torch: (torch.tensor([3.0, 4.0]),),
    "two": lambda torch: (torch.tensor([3.0, 4.0]), torch.tensor(2.0)),
    "a number": lambda torch: 4.0,
}


class Box:
    """Keeps `outcome` from flattening a result."""

    def __init__(self, tree):
        self.tree = tree


def agree(oracle, where, call):
    """The same tree of the same tensors, which do or do not require grad; or the same error."""
    found = []
    for torch in (tiny_torch, oracle):
        error, results = outcome(lambda torch=torch: [Box(call(torch))])
        found.append((error, *tree_flatten(results[0].tree if results else None)))
    (error, ours, spec), (expected, theirs, their_spec) = found
    assert type(error) is type(expected), f"{where}: {error!r}, PyTorch {expected!r}"
    if expected is not None:
        return
    assert spec == their_spec, where
    for a, b in zip(ours, theirs, strict=True):
        compare(a, b, where, strides=0 not in b.stride())  # which is how vmap broadcasts
        assert a.requires_grad == b.requires_grad, where


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp"])
def test_products(oracle, name, function):
    for given, vector, flags in itertools.product(INPUTS, VECTORS, FLAGS):
        agree(
            oracle,
            f"{name} of {function} at {given} with {vector} {flags}",
            lambda torch, given=given, vector=vector, flags=flags: getattr(
                torch.autograd.functional, name
            )(FUNCTIONS[function](torch), INPUTS[given](torch), VECTORS[vector](torch), *flags),
        )


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_matrices(oracle, name, function):
    for given, flags, strategy in itertools.product(INPUTS, FLAGS, ("reverse-mode", "other")):
        for vectorize in (False, True) if flags != (True, False) else (False,):
            agree(
                oracle,
                f"{name} of {function} at {given} {flags} {vectorize} {strategy}",
                lambda torch, given=given, flags=flags, vectorize=vectorize, strategy=strategy: (
                    getattr(torch.autograd.functional, name)(
                        FUNCTIONS[function](torch), INPUTS[given](torch), *flags, vectorize,
                        strategy,
                    )
                ),
            )  # fmt: skip


def test_forward_mode_strategies_give_the_same_numbers(torch):
    functional = torch.autograd.functional
    x = torch.tensor([1.0, 2.0])
    found = functional.jacobian(torch.square, x, vectorize=True, strategy="forward-mode")
    assert found.tolist() == [[2, 0], [0, 4]]
    for options, error in (
        ({}, NotImplementedError),
        ({"create_graph": True}, NotImplementedError),
        ({"strict": True}, RuntimeError),
    ):
        with pytest.raises(error):
            functional.jacobian(torch.square, x, strategy="forward-mode", **options)


@pytest.mark.parametrize("flags", FLAGS)
def test_several_inputs_and_outputs(oracle, flags):
    def both(a, b):
        return a * b[:2], (a * a).sum() * (b**2).sum()

    def one(a, b):
        return (a[0] * b * b).sum() + a.prod()

    for name, function in (("jacobian", both), ("hessian", one), ("vjp", both), ("jvp", both)):

        def call(torch, name=name, function=function):
            x, y = leaf(torch, 1.0, 2.0), torch.tensor([3.0, 4.0, 5.0])
            v = {"vjp": [(x, torch.tensor(2.0))], "jvp": [(x, y)]}.get(name, [])
            return getattr(torch.autograd.functional, name)(function, (x, y), *v, *flags)

        agree(oracle, name, call)


TREES = {
    "a dict": (lambda x, y: {"a": x * y, "b": y}, (0, 1)),
    "nested": (lambda x, y: (x * y, [y.sum(), {"c": x}]), (1,)),
    "the last": (lambda x, y: x * y, -1),
    "of a tree": (lambda x, y: x["u"] * y + x["v"][0], 0),
    "out of range": (lambda x, y: x * y, 2),
    "twice": (lambda x, y: x * y, (0, -2)),
    "of nothing": (lambda x, y: x * y, ()),
    "a list of argnums": (lambda x, y: x * y, [0]),
    "None of argnums": (lambda x, y: x * y, None),
    "not a tensor": (lambda x, y: 3, 0),
    "an int tensor": (lambda x, y: x.long(), 0),
}


@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
@pytest.mark.parametrize("case", TREES)
def test_jacobians_of_trees(oracle, name, case):
    function, argnums = TREES[case]
    if name == "jacfwd" and case in ("an int tensor", "the last"):
        return  # PyTorch's answer zeros: of ints in its forward mode; of -1 by mistake

    def call(torch):
        x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
        x = {"u": x, "v": (x,)} if case == "of a tree" else x
        return getattr(torch.func, name)(function, argnums)(x, y)

    agree(oracle, f"{name} of {case}", call)


SCALARS = {
    "one": lambda torch: torch.func.grad(lambda x: x.sin().sum())(torch.ones(2)),
    "nested": lambda torch: torch.func.grad(torch.func.grad(lambda x: x**3))(torch.tensor(2.0)),
    "perturbation confusion": lambda torch: torch.func.grad(
        lambda x: x * torch.func.grad(lambda y: x * y)(torch.tensor(1.0))
    )(torch.tensor(2.0)),
    "values": lambda torch: torch.func.grad_and_value(lambda x: (x**2).sum())(torch.ones(2)),
    "of what requires grad": lambda torch: torch.func.grad_and_value(lambda x: (x**2).sum())(
        leaf(torch, 2.0)
    ),
    "aux": lambda torch: torch.func.grad(lambda x: (x.sum(), {"a": x}), has_aux=True)(
        torch.ones(2)
    ),
    "aux and value": lambda torch: torch.func.grad_and_value(
        lambda x: (x.sum(), [x * 2]), has_aux=True
    )(torch.ones(2)),
    "keywords": lambda torch: torch.func.grad(lambda x, k: (x * k).sum())(
        torch.ones(2), k=leaf(torch, 3.0, 4.0)
    ),
    "a dict": lambda torch: torch.func.grad(lambda p: (p["a"] * 2).sum())(
        {"a": torch.ones(2), "b": torch.ones(1)}
    ),
    "several": lambda torch: torch.func.grad(lambda x, y: (x * y).sum(), argnums=(1, 0))(
        torch.ones(2), torch.tensor([3.0, 4.0])
    ),
    "constant": lambda torch: torch.func.grad(lambda x: torch.tensor(1.0))(torch.ones(2)),
    "no scalar": lambda torch: torch.func.grad(lambda x: x * 2)(torch.ones(2)),
    "no tensor": lambda torch: torch.func.grad(lambda x: 3.0)(torch.ones(2)),
    "of a number": lambda torch: torch.func.grad(lambda x: x)(3.0),
    "of ints": lambda torch: torch.func.grad(lambda x: x.sum())(torch.ones(2).long()),
    "no aux": lambda torch: torch.func.grad(lambda x: x.sum(), has_aux=True)(torch.ones(2)),
    "aux that is no tensor": lambda torch: torch.func.grad(lambda x: (x.sum(), 3), has_aux=True)(
        torch.ones(2)
    ),
    "vjp": lambda torch: torch.func.vjp(
        lambda x, y: (x * y, x.sum()), torch.ones(2), leaf(torch, 3.0, 4.0)
    )[1]((torch.ones(2), torch.tensor(2.0))),
    "vjp, wrong structure": lambda torch: torch.func.vjp(torch.sin, torch.ones(2))[1](
        (torch.ones(2),)
    ),
    "vjp, wrong shape": lambda torch: torch.func.vjp(torch.sin, torch.ones(2))[1](torch.ones(3)),
    "vjp with aux": lambda torch: torch.func.vjp(lambda x: (x * x, x), torch.ones(2), has_aux=True)[
        2
    ],
    "jvp": lambda torch: torch.func.jvp(
        lambda x, y: {"a": x * y},
        (torch.ones(2), torch.ones(2)),
        (torch.ones(2), leaf(torch, 1.0, 2.0)),
    ),
    "jvp of jvp": lambda torch: torch.func.jvp(
        lambda x: torch.func.jvp(lambda y: y**3, (x,), (torch.tensor([5.0]),))[1],
        (torch.tensor([2.0]),),
        (torch.tensor([3.0]),),
    ),
    "grad of jvp": lambda torch: torch.func.grad(
        lambda x: torch.func.jvp(torch.sin, (x,), (x,))[1]
    )(torch.tensor(2.0)),
    "jvp, constant": lambda torch: torch.func.jvp(
        lambda x: torch.ones(3), (torch.ones(2),), (torch.ones(2),)
    ),
    "jvp, strict": lambda torch: torch.func.jvp(
        lambda x: torch.ones(3), (torch.ones(2),), (torch.ones(2),), strict=True
    ),
    "jvp, wrong shape": lambda torch: torch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(3),)),
    "jvp, no tuple": lambda torch: torch.func.jvp(torch.sin, torch.ones(2), torch.ones(2)),
    "jvp of ints": lambda torch: torch.func.jvp(
        torch.sin, (torch.ones(2).long(),), (torch.ones(2),)
    ),
    "jvp with aux": lambda torch: torch.func.jvp(
        lambda x: (x * x, x), (torch.ones(2),), (torch.ones(2),), has_aux=True
    ),
    "hessian": lambda torch: torch.func.hessian(lambda x, y: (x * y * y).sum(), argnums=(0, 1))(
        torch.ones(2), torch.tensor([3.0, 4.0])
    ),
    "jacrev of jacrev": lambda torch: torch.func.jacrev(torch.func.jacrev(lambda x: x**3))(
        torch.ones(2)
    ),
    "jacrev, chunk_size": lambda torch: torch.func.jacrev(torch.sin, chunk_size=0)(torch.ones(2)),
    "of nothing": lambda torch: torch.func.jacrev(torch.sin)(torch.ones(0)),
    "of nothing, forward": lambda torch: torch.func.jacfwd(torch.sin)(torch.ones(0)),
}


@pytest.mark.parametrize("case", SCALARS)
@pytest.mark.parametrize("mode", ["enable_grad", "no_grad"])
def test_transforms(oracle, case, mode):
    def call(torch):
        with getattr(torch, mode)():
            return SCALARS[case](torch)

    agree(oracle, case, call)


def test_functional_call(torch):
    layer = torch.nn.Linear(2, 1)
    weight = leaf(torch, 1.0, 2.0).reshape(1, 2).detach().requires_grad_()
    x = torch.tensor([[3.0, 4.0]])
    result = torch.func.functional_call(
        layer, ({"weight": weight}, {"bias": torch.zeros(1)}), (x,), {}
    )
    assert result.tolist() == [[11.0]]
    result.sum().backward()
    assert weight.grad.tolist() == [[3, 4]] and layer.weight.grad is None
    assert isinstance(layer.weight, torch.nn.Parameter)


def test_functional_call_ties_weights(torch):
    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.ones(1))
            self.b = self.a

        def forward(self, x):
            return x * self.a + self.b

    module, x, two = Twice(), torch.ones(1), torch.tensor([2.0])
    call = torch.func.functional_call
    assert call(module, {"a": two}, x).tolist() == [4]
    assert call(module, {"a": two}, x, tie_weights=False).tolist() == [3]
    assert call(module, {"a": two, "b": two}, x).tolist() == [4]
    with pytest.raises(ValueError, match="are tied"):
        call(module, {"a": two, "b": torch.zeros(1)}, x)
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): 'c'"):
        call(module, {"a": two, "c": two}, x, strict=True)
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): 'a', 'b'"):
        call(module, {}, x, strict=True)
    with pytest.raises(ValueError, match="appeared in multiple"):
        call(module, ({"a": two}, {"a": two}), x)
    with pytest.raises(ValueError, match="to be dictionaries"):
        call(module, ({"a": two}, 3), x)
    with pytest.raises(ValueError, match="to be a dict"):
        call(module, 3, x)
    with pytest.raises(TypeError, match="is not an instance"):
        call(module, {"a": 3}, x)
    assert module.a is module.b and module.a.tolist() == [1]


def test_functional_call_answers_the_buffers_that_forward_wrote(torch):
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x):
            self.n = self.n + 1
            return x

    module, given = Counting(), {"n": torch.tensor([5.0])}
    torch.func.functional_call(module, given, torch.ones(1))
    assert given["n"].tolist() == [6] and module.n.tolist() == [0]


def test_grad_of_a_module(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    params = dict(model.named_parameters())
    x = torch.tensor([[1.0, -1.0]])
    found = torch.func.grad(lambda p: torch.func.functional_call(model, p, x).sum())(params)
    model(x).sum().backward()
    for name, p in model.named_parameters():
        assert found[name].tolist() == p.grad.tolist()
