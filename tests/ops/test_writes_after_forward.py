"""What is written between an op and its backward: refused where PyTorch refuses it, or where our
formula reads the value. PyTorch may refuse more.
"""

from __future__ import annotations

import itertools

import gradient_cases
import pytest
from all_cases import CASES
from helpers import CONTIGUOUS, by_name, is_float, operands, outcome
from op_cases import SHAPES

import tiny_torch

pytestmark = pytest.mark.torch

# Calls whose gradient reads what PyTorch has a copy of, or computes otherwise; and why so.
READ = {
    "cross_entropy": "softmax of the logits is made anew: a copy would be their size once more",
    "F.cross_entropy": "the same",
    "F.rms_norm": "the normalised input is made anew, where PyTorch keeps it beside the input",
    "F.embedding_bag": "a weight's gradient, and the second derivative of max, read the table",
    "F.scaled_dot_product_attention": "of three dims, too, it is the kernel that reads all four",
    "rnn": "one op for all steps: the result holds each step's state",
    "F.mse_loss(x, y.t(), weight=unit)": "input and target, as without weights",
}


def answer(function, inputs, needed, written: int) -> str:
    """What backward says after one of the inputs, or the result (-1), was written."""
    xs = [x.detach().clone().requires_grad_(i in needed) for i, x in enumerate(inputs)]
    error, ys = outcome(lambda: function(*xs))
    ys = [y for y in ys if is_float(y) and y.requires_grad]
    if error is not None or not ys:
        return "nothing to write"
    target = xs[written] if written >= 0 else ys[0]
    if 0 in target.stride():
        return "nothing to write"
    target.detach().mul_(1)
    try:
        sum([y.sum() for y in ys]).backward()
    except RuntimeError as error:
        return "refused" if "modified by an inplace operation" in str(error) else "raised"
    return "fine"


def check(name: str, ours, theirs) -> None:
    """(function, inputs) each: any subset of the inputs needs a gradient, anything is written."""
    if any(name.startswith(call) for call in READ):
        return
    places = range(len(ours[1]))
    subsets = [itertools.combinations(places, n) for n in range(1, len(places) + 1)]
    for needed in itertools.chain(*subsets):
        for written in (-1, *places):
            found, expected = (answer(*f, needed, written) for f in (ours, theirs))
            where = f"{name}: gradients for {needed}, {written} written"
            assert found != "refused" or expected == "refused", where


@by_name([case for case in CASES if case.gradient and "float64" in case.dtypes])
def test_after_an_op_of_the_table(oracle, case):
    shapes = (case.shapes or SHAPES[case.arity])[0]
    calls = []
    for m in (tiny_torch, oracle):
        layouts, dtypes = CONTIGUOUS[: case.arity], ["float64"] * case.arity
        inputs = operands(m, case.domains, shapes, layouts, dtypes)
        calls.append((lambda *xs, m=m: case(m, *xs), inputs))
    check(case.name, *calls)


@pytest.mark.parametrize("call", [call for call in gradient_cases.CASES if "ref" not in call])
def test_after_a_call(oracle, call):
    check(call, *(gradient_cases.function_of(call, m) for m in (tiny_torch, oracle)))


@pytest.mark.parametrize("number", [1, 2.5])
@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "**"])
@pytest.mark.parametrize("left", [False, True], ids=["x op number", "number op x"])
def test_after_an_operator_with_a_number(oracle, operator, number, left):
    text = f"{number} {operator} x" if left else f"x {operator} {number}"
    calls = [(lambda x: eval(text), [m.tensor([0.5, 2.0])]) for m in (tiny_torch, oracle)]
    check(text, *calls)
