"""Numbers that a dtype cannot hold are refused where PyTorch refuses them.

A number comes as Python's, and as a 0-d tensor where PyTorch takes that. What wraps in PyTorch
(arithmetic, comparisons) wraps here.
"""

import itertools
import math
from functools import partial

import pytest
from helpers import all_failures, compare, outcome

import tiny_torch

pytestmark = pytest.mark.torch
NUMBERS = (
    300,
    -300,
    255,
    256,
    -5,
    -255,
    -256,
    2.7,
    -2.7,
    70000.0,
    2**31,
    1e39,
    math.inf,
    -math.inf,
)
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32")
KINDS = ("number", "int64", "float64")  # as which it comes


def mask(m):
    return m.tensor([True, False, True])


def index(m):
    return m.tensor([0, 2])


def assigned(x, where, value):
    x[where] = value
    return x


# Each is called with the package, x = [1, 0, 1] and the number.
CALLS = {
    "masked_fill": lambda m, x, v: x.masked_fill(mask(m), v),
    "masked_fill_": lambda m, x, v: x.masked_fill_(mask(m), v),
    "masked_fill nowhere": lambda m, x, v: x.masked_fill(mask(m) & False, v),
    "masked_fill of rows": lambda m, x, v: x.expand(2, 3).masked_fill(mask(m), v),
    "index_fill": lambda m, x, v: x.index_fill(0, index(m), v),
    "index_fill_": lambda m, x, v: x.index_fill_(0, index(m), v),
    "x[mask] =": lambda m, x, v: assigned(x, mask(m), v),
    "x[index] =": lambda m, x, v: assigned(x, index(m), v),
    "x[1] =": lambda m, x, v: assigned(x, 1, v),
    "x[...] =": lambda m, x, v: assigned(x, ..., v),
    "fill_": lambda m, x, v: x.fill_(v),
    "fill_diagonal_": lambda m, x, v: x.expand(3, 3).clone().fill_diagonal_(v),
    "full": lambda m, x, v: m.full((2,), v, dtype=x.dtype),
    "full_like": lambda m, x, v: m.full_like(x, v),
    "new_full": lambda m, x, v: x.new_full((2,), v),
    "scalar_tensor": lambda m, x, v: m.scalar_tensor(v, dtype=x.dtype),
    "where": lambda m, x, v: m.where(mask(m), x, v),
    "where not": lambda m, x, v: m.where(mask(m), v, x),
    "clamp": lambda m, x, v: x.clamp(0, v),
    "clamp_": lambda m, x, v: x.clamp_(0, v),
    "clamp_min": lambda m, x, v: x.clamp_min(v),
    "scatter": lambda m, x, v: x.scatter(0, index(m), v),
    "scatter_": lambda m, x, v: x.scatter_(0, index(m), v),
    "scatter add": lambda m, x, v: x.scatter(0, index(m), v, reduce="add"),
    "pad": lambda m, x, v: m.nn.functional.pad(x, (1, 1), value=v),
    "constant_": lambda m, x, v: m.nn.init.constant_(x, v),
    "threshold at": lambda m, x, v: m.nn.functional.threshold(x, v, 0),
    "threshold to": lambda m, x, v: m.nn.functional.threshold(x, 0, v),
    "addmm alpha": lambda m, x, v: m.addmm(*[x.expand(3, 3)] * 3, alpha=v),
    "addmm beta": lambda m, x, v: m.addmm(*[x.expand(3, 3)] * 3, beta=v),
    "add": lambda m, x, v: x + v,
    "mul": lambda m, x, v: x * v,
    "eq": lambda m, x, v: x == v,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_number_that_does_not_fit_is_refused_as_in_pytorch(oracle, name):
    def run(m, dtype, number, kind):
        x = m.tensor([1, 0, 1], dtype=getattr(m, dtype))
        value = number if kind == "number" else m.tensor(number, dtype=getattr(m, kind))
        return CALLS[name](m, x, value)

    with all_failures() as collect:
        for dtype, number, kind in itertools.product(DTYPES, NUMBERS, KINDS):
            if kind == "int64" and type(number) is float:
                continue
            if name.startswith("addmm") and (dtype == "bool" or not math.isfinite(number)):
                continue  # PyTorch multiplies zeros, too, where a factor is infinite
            with collect:
                given = dtype, number, kind
                error, theirs = outcome(partial(run, oracle, *given))
                our_error, ours = outcome(partial(run, tiny_torch, *given))
                where = f"{name} {dtype} {number} {kind}: {our_error!r}, PyTorch {error!r}"
                assert (error is None) == (our_error is None), where
                assert error is None or isinstance(our_error, type(error)), where
                for a, b in zip(ours, theirs, strict=True):
                    compare(a, b, where, strides=False)
