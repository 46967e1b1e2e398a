"""The arguments of backward and grad, right and wrong: results, exceptions, warnings."""

from __future__ import annotations

import functools
import warnings

import pytest
from helpers import compare, flatten, leaf

import tiny_torch


def one(t):
    return t.ones(2)


CALLS = {
    # backward
    "no weight": lambda t, x, y: y.backward(),
    "weight": lambda t, x, y: y.backward(one(t)),
    "weight of another shape": lambda t, x, y: y.backward(t.ones(3)),
    "weight of a broadcast shape": lambda t, x, y: y.backward(t.ones(1)),
    "weight of another dtype": lambda t, x, y: y.backward(one(t).double()),
    "weight of ints": lambda t, x, y: y.backward(one(t).long()),
    "a number as weight": lambda t, x, y: y.backward(3),
    "a list of weights": lambda t, x, y: y.backward([one(t)]),
    "inputs": lambda t, x, y: y.backward(one(t), inputs=x),
    "no inputs": lambda t, x, y: y.backward(one(t), inputs=[]),
    "an input that is not used": lambda t, x, y: y.backward(one(t), inputs=[x * 1]),
    "an input that needs no grad": lambda t, x, y: y.backward(one(t), inputs=[one(t)]),
    "a number as inputs": lambda t, x, y: y.backward(one(t), inputs=3),
    "a number as an input": lambda t, x, y: y.backward(one(t), inputs=[3]),
    "several roots": lambda t, x, y: t.autograd.backward([y, y.sum()], [one(t), None]),
    "too few weights": lambda t, x, y: t.autograd.backward([y, y.sum()], [one(t)]),
    "no roots": lambda t, x, y: t.autograd.backward([]),
    "a root without grad": lambda t, x, y: t.autograd.backward(one(t)),
    "a number as root": lambda t, x, y: t.autograd.backward(3),
    "a list of a number as roots": lambda t, x, y: t.autograd.backward([3]),
    "a generator of roots": lambda t, x, y: t.autograd.backward(r for r in [y.sum()]),
    "grad_variables": lambda t, x, y: t.autograd.backward(y, grad_variables=one(t)),
    "both names": lambda t, x, y: t.autograd.backward(y, one(t), grad_variables=one(t)),
    "create_graph": lambda t, x, y: y.sum().backward(create_graph=True),
    "a leaf as root": lambda t, x, y: x.backward(one(t)),
    "an int tensor": lambda t, x, y: y.sum().long().backward(),
    "a weight that requires grad": lambda t, x, y: y.backward(leaf(t, 1.0, 1.0)),
    "twice": lambda t, x, y: (y.sum().backward(), y.sum().backward()),
    "twice, retained": lambda t, x, y: (
        y.backward(one(t), retain_graph=True),
        y.backward(one(t)),
    ),
    # grad
    "grad": lambda t, x, y: t.autograd.grad(y, x, one(t)),
    "grad, no weight": lambda t, x, y: t.autograd.grad(y, x),
    "grad of nothing": lambda t, x, y: t.autograd.grad([], x),
    "grad of nothing, allowed": lambda t, x, y: t.autograd.grad([], x, allow_unused=True),
    "grad by nothing": lambda t, x, y: t.autograd.grad(y.sum(), []),
    "grad by what needs none": lambda t, x, y: t.autograd.grad(y.sum(), one(t)),
    "grad of a constant by one": lambda t, x, y: t.autograd.grad(one(t), one(t)),
    "grad by what is not used": lambda t, x, y: t.autograd.grad(y.sum(), x * 1),
    "grad, allow_unused": lambda t, x, y: t.autograd.grad(y.sum(), x * 1, allow_unused=True),
    "grad, materialize": lambda t, x, y: t.autograd.grad(y.sum(), x * 1, materialize_grads=True),
    "grad, contradiction": lambda t, x, y: t.autograd.grad(
        y.sum(), x, materialize_grads=True, allow_unused=False
    ),
    "grad by a number": lambda t, x, y: t.autograd.grad(y.sum(), 3),
    "grad of a number": lambda t, x, y: t.autograd.grad(3, x),
    "grad of None": lambda t, x, y: t.autograd.grad(None, x),
    "grad by None": lambda t, x, y: t.autograd.grad(y.sum(), None),
    "grad by a dict": lambda t, x, y: list(t.autograd.grad(y.sum(), {"a": x}).items()),
    "grad of a dict": lambda t, x, y: t.autograd.grad({"a": y.sum()}, x),
    "grad by a generator": lambda t, x, y: t.autograd.grad(y.sum(), (v for v in [x])),
    "grad by the same twice": lambda t, x, y: t.autograd.grad(y.sum(), (x, x)),
    "grad of several": lambda t, x, y: t.autograd.grad((y, y.sum()), (x, y), (one(t), None)),
    "grad of itself": lambda t, x, y: t.autograd.grad(x, x, one(t)),
    "grad, only_inputs": lambda t, x, y: t.autograd.grad(y.sum(), x, only_inputs=False),
    "grad, wrong shape": lambda t, x, y: t.autograd.grad(y, x, t.ones(3)),
    "grad by an edge": lambda t, x, y: [
        t.autograd.grad(y.sum(), t.autograd.graph.get_gradient_edge(v), retain_graph=True)
        for v in (x, y)
    ],
    "grad of an edge": lambda t, x, y: t.autograd.grad(
        t.autograd.graph.get_gradient_edge(y), x, one(t)
    ),
    "edge of a constant": lambda t, x, y: t.autograd.graph.get_gradient_edge(one(t)),
    "grad of a leaf": lambda t, x, y: x.grad,
    "grad of what is not": lambda t, x, y: y.grad,
    "grad of what retains it": lambda t, x, y: (y.retain_grad(), y.grad),
    # hooks
    "hook on a constant": lambda t, x, y: one(t).register_hook(print),
    "retain_grad of a constant": lambda t, x, y: one(t).retain_grad(),
    "post hook on a constant": lambda t, x, y: one(t).register_post_accumulate_grad_hook(print),
    "post hook on a result": lambda t, x, y: y.register_post_accumulate_grad_hook(print),
    "hook that is a number": lambda t, x, y: (x.register_hook(3), y.sum().backward())[1],
    "post hook that answers": lambda t, x, y: (
        x.register_post_accumulate_grad_hook(lambda p: 3),
        y.sum().backward(),
    )[1],
    # modes
    "no_grad of None": lambda t, x, y: t.no_grad(None) and None,
    "set_grad_enabled of 1": lambda t, x, y: t.set_grad_enabled(1) and None,
    "set_grad_enabled of None": lambda t, x, y: t.set_grad_enabled(None) and None,
    "no_grad on a class": lambda t, x, y: t.no_grad()(type("C", (), {}))() and None,
}


def run(torch, call):
    """(exception, categories of warnings, result, gradient of the leaf)."""
    x = leaf(torch, 3.0, 4.0)
    error = result = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(torch, x, x * x)
        except Exception as exception:
            error = exception
    return error, {w.category for w in caught}, result, x.grad


@pytest.mark.parametrize("case", CALLS)
def test_calls(oracle, case):
    ours, theirs = (run(torch, CALLS[case]) for torch in (tiny_torch, oracle))
    assert type(ours[0]) is type(theirs[0]), (ours[0], theirs[0])
    if case != "create_graph":  # PyTorch warns of it once in a process
        assert ours[1] == theirs[1], (ours[1], theirs[1])
    for a, b in zip(flatten(ours[2:]), flatten(theirs[2:]), strict=True):
        compare(a, b, case)


BATCHED = {
    "each row": lambda g, t, v, u: g(v * v, v, t.eye(3)),
    "recorded": lambda g, t, v, u: g(v * v, v, t.eye(3), create_graph=True)[0].sum(0),
    "of a number": lambda g, t, v, u: g(v.sum(), v, t.ones(4)),
    "of two": lambda g, t, v, u: g([v.sum(), v * v], [v], [t.ones(4), t.ones(4, 3)]),
    "unused": lambda g, t, v, u: g(v.sum(), [v, u], t.ones(4), allow_unused=True),
    "zeros": lambda g, t, v, u: g(v.sum(), [v, u], t.ones(4), materialize_grads=True),
    "unused, refused": lambda g, t, v, u: g(v.sum(), [v, u], t.ones(4)),
    "a dict": lambda g, t, v, u: g(v * v, {"a": v}, t.eye(3))["a"],
    "another dtype": lambda g, t, v, u: g(v * v, v, t.eye(3).double()),
    "no rows": lambda g, t, v, u: g(v * v, v, t.ones(0, 3)),
    "no dim": lambda g, t, v, u: g(v * v, v, t.tensor(1.0)),
    "not batched": lambda g, t, v, u: g(v * v, v, t.ones(3)),
    "another shape": lambda g, t, v, u: g(v * v, v, t.ones(2, 4)),
    "different batches": lambda g, t, v, u: g([v, v * v], [v], [t.ones(4, 3), t.ones(5, 3)]),
    "none": lambda g, t, v, u: g(v.sum(), v),
    "a number": lambda g, t, v, u: g(v * v, v, 3),
}


@pytest.mark.parametrize("case", BATCHED)
def test_batched_gradients(oracle, case):
    def found(torch):
        v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        u = torch.ones(2, requires_grad=True)
        grad = functools.partial(torch.autograd.grad, is_grads_batched=True)
        try:
            return BATCHED[case](grad, torch, v, u)
        except Exception as error:
            return type(error)

    ours, theirs = found(tiny_torch), found(oracle)
    if isinstance(theirs, type):
        assert ours is theirs
    else:
        for a, b in zip(flatten(ours), flatten(theirs), strict=True):
            assert (a is None) == (b is None)
            if b is not None:
                compare(a, b, case, strides=False)


def test_batched_gradients_free_the_graph_after_the_last():
    v = leaf(tiny_torch, 1.0, 2.0)
    y = v * v
    tiny_torch.autograd.grad(y, v, tiny_torch.eye(2), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


# Numbers that PyTorch's parser refuses as tensors that require grad.
NUMBERS = {
    "cross_entropy": lambda F, x, s: F.cross_entropy(x, x, label_smoothing=s),
    "cosine_similarity": lambda F, x, s: F.cosine_similarity(x, x, eps=s),
    "elu": lambda F, x, s: F.elu(x, s),
    "group_norm": lambda F, x, s: F.group_norm(x, 1, eps=s),
    "huber_loss": lambda F, x, s: F.huber_loss(x, x, delta=s),
    "smooth_l1_loss": lambda F, x, s: F.smooth_l1_loss(x, x * 2, beta=s),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_requires_grad_does_not_lose_its_gradient(torch, name):
    x = torch.tensor([[0.25, 0.5]], requires_grad=True)
    s = torch.tensor(0.5, requires_grad=True)
    with pytest.raises(TypeError):
        NUMBERS[name](torch.nn.functional, x, s)
