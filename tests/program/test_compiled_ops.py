"""Compiled = eager, bit for bit: every op of the table and every call with a gradient, run as a
program over other memory than it was recorded over, forward and backward."""

import re

import pytest
from cases import gradient_cases
from cases.all_cases import CASES
from cases.op_cases import SHAPES
from helpers import CONTIGUOUS, by_name, flatten, is_float, operands, outcome

import tiny_torch
from tiny_torch import Tensor, linspace
from tiny_torch.program import Compiled


def answer(function, inputs) -> list:
    """Results and gradients of a call, or what it raises."""
    xs = [x.detach().clone().requires_grad_(is_float(x)) for x in inputs]
    ys = flatten(function(*xs))
    floats = [y for y in ys if is_float(y) and y.requires_grad]
    if floats:
        weights = [linspace(0.5, 2, y.numel()).view(y.shape).to(y.dtype) for y in floats]
        sum([(y * w).sum() for y, w in zip(floats, weights, strict=True)]).backward()
    return [y.detach() if isinstance(y, Tensor) else y for y in ys] + [x.grad for x in xs]


def answers(function, inputs) -> list:
    """Those of three calls, the second with other elements."""
    found = []
    for k in range(3):
        error, values = outcome(lambda k=k: answer(function, inputs if k != 1 else turned(inputs)))
        found += [type(error)] if error is not None else values
    return found


def turned(inputs) -> list:
    return [x.detach().flip(0) if x.ndim else x for x in inputs]


def bits(x):
    return x.contiguous().flatten().view(tiny_torch.uint8) if x.numel() else x


def check_equal(name: str, function, inputs) -> Compiled:
    compiled = Compiled(function)
    tiny_torch.manual_seed(3)
    expected = answers(function, inputs)
    state = tiny_torch.get_rng_state()
    tiny_torch.manual_seed(3)
    found = answers(compiled, inputs)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if isinstance(b, Tensor):
            assert a.dtype is b.dtype and a.shape == b.shape and a.stride() == b.stride(), name
            assert bits(a).equal(bits(b)), name
        else:
            assert a == b, name
    assert tiny_torch.get_rng_state().equal(state), name
    return compiled


@by_name([case for case in CASES if "float32" in case.dtypes])
def test_an_op_of_the_table(case):
    for shapes in case.shapes or SHAPES[case.arity]:
        layouts, dtypes = CONTIGUOUS[: case.arity], ["float32"] * case.arity
        inputs = operands(tiny_torch, case.domains, shapes, layouts, dtypes)
        check_equal(case.name, lambda *xs: case(tiny_torch, *xs), inputs)


# Why some calls are not recorded: NumPy is asked for its LAPACK, or they make their layer first.
REFUSED = "reads an element|one of its arguments|depends on values|to NumPy|changes what it reads"


@pytest.mark.parametrize("call", [call for call in gradient_cases.CASES if "ref" not in call])
def test_a_call_with_a_gradient(call):
    _, inputs = gradient_cases.function_of(call, tiny_torch)
    taken = [name for name in gradient_cases.LEAVES if re.search(rf"(?<![.\w]){name}\b", call)]
    names = gradient_cases.constants(tiny_torch)
    compiled = check_equal(
        call, lambda *xs: eval(call, {**names, **dict(zip(taken, xs, strict=True))}), inputs
    )
    assert all(re.search(REFUSED, why) for why in compiled.refusals), compiled.refusals
