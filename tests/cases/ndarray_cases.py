"""What the tests of arrays share: devices, layouts, values, comparison, the tables of cases."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from tiny_torch import _core, reference

MODULES = {"cpu": _core, "ref": reference}
BOTH = pytest.mark.parametrize("m", MODULES.values(), ids=MODULES.keys())
DTYPES = ("bool", "uint8", "int32", "int64", "float32", "float64")
TYPES = {name: getattr(_core, name) for name in DTYPES}
MiB = 2**20

# Every record of ops.def: {name: (kind, domain of its arguments)}.
OPS_DEF = (Path(__file__).parents[2] / "src/core/ops.def").read_text()
OPS = {
    name: (
        kind,
        rest.split(",")[2].strip()
        if kind in ("UNARY", "BINARY", "TERNARY", "QUATERNARY")
        else "real",
    )
    for kind, name, rest in re.findall(
        r"^(UNARY|TEST|BINARY|COMPARE|TERNARY|QUATERNARY|REDUCE)\((\w+),(.*)", OPS_DEF, re.MULTILINE
    )
}
ARITY = {"UNARY": 1, "TEST": 1, "BINARY": 2, "COMPARE": 2, "TERNARY": 3, "QUATERNARY": 4}
ELEMENTWISE = [name for name, (kind, _) in OPS.items() if kind in ARITY]
REDUCTIONS = [name for name, (kind, _) in OPS.items() if kind == "REDUCE"]


def dtype_of(name):
    return getattr(_core, name)


def counting(m, shape, dtype="int64"):
    """0, 1, 2, ... in row-major order."""
    return m.arange(0, 1, math.prod(shape), dtype_of(dtype)).view(tuple(shape))


def geometry(x):
    return x.shape, x.strides, x.offset


def assert_twins(x, y, digits=None):
    """An NDArray and a RefArray that are the same but for a last bit of the dtype `digits`."""
    assert geometry(x) == geometry(y)
    assert x.dtype is y.dtype
    assert (x.size, x.ndim, x.itemsize) == (y.size, y.ndim, y.itemsize)
    assert (x.is_contiguous(), x.is_dense()) == (y.is_contiguous(), y.is_dense())
    digits = digits or x.dtype.name
    rtol = {"float32": 5e-6, "float64": 1e-12}.get(digits, 0)
    np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=rtol, atol=rtol)


# --------------------------------------------------------------------------- every op of ops.def
LAYOUTS = {
    "contiguous": lambda x: x,
    "permuted": lambda x: x.permute((1, 0)).contiguous().permute((1, 0)),
    "broadcast": lambda x: x.select(0, 0).expand((3, 4)),
    "offset": lambda x: x.slice(0, 1, 3, 1).slice(1, 1, 4, 1),
    "stepped": lambda x: x.slice(0, 0, 3, 2).slice(1, 0, 4, 3),
    "size 0": lambda x: x.slice(0, 0, 0, 1),
    "size 1": lambda x: x.slice(0, 1, 2, 1).slice(1, 2, 3, 1),
    "0-d": lambda x: x.select(0, 1).select(0, 2),
}


def values_of(domain, dtype, seed):
    """(3, 4) values that an op is defined at."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random((3, 4)) < (2 if domain == "nonzero" else 0.5)
    if dtype.startswith("float"):
        bounds = {"positive": (0.1, 4), "unit": (-1, 1), "nonzero": (0.5, 3)}
        values = rng.uniform(*bounds.get(domain, (-3, 3)), (3, 4))
        sign = rng.choice([-1, 1], (3, 4)) if domain == "nonzero" else 1
        return (values * sign).astype(dtype)
    low = 1 if domain in ("positive", "nonzero") else 0
    values = rng.integers(low, 5, (3, 4))
    signed = dtype != "uint8" and domain != "positive"
    return (values * rng.choice([-1, 1], (3, 4)) if signed else values).astype(dtype)


def answer(operation):
    """What an operation answers, or the type and message of what it raises."""
    try:
        return operation()
    except (RuntimeError, IndexError, TypeError, ValueError, OverflowError) as error:
        message = str(error).replace("tiny_torch._core.", "").replace("on ref", "on cpu")
        message = re.sub("a RefArray|an NDArray|'RefArray'|'NDArray'", "an array", message)
        kind = NotImplementedError if isinstance(error, NotImplementedError) else type(error)
        return kind, message


def compare(operation, *inputs, digits=None):
    """operation(module, *arrays) on both devices: equal answers, or equal errors."""
    answers = [
        answer(lambda m=m: operation(m, *[m.from_numpy(a) for a in inputs]))
        for m in MODULES.values()
    ]
    if any(type(found) is tuple for found in answers):
        assert answers[0] == answers[1]
    else:
        assert_twins(*answers, digits=digits)


CUBE = np.arange(24.0).reshape(2, 3, 4)
ROW, COLUMN = np.array([[0], [1]]), np.array([2, 0, -1])
INDICES = [
    (ROW,),
    (COLUMN % 2,),
    (None, COLUMN),
    (None, None, COLUMN),
    (ROW, COLUMN),
    (ROW, None, COLUMN),
    (None, ROW, COLUMN),
    (),
    (CUBE > 5,),
    (CUBE[0] > 5,),
    (np.array([True, False]),),
    (None, np.array([1, 0, 1], np.uint8)),
    (np.array([True, False]), None, COLUMN),
    (np.array(1),),
    (ROW.astype(np.int32), COLUMN),
    (ROW[:0], COLUMN),
    (np.array([7]),),
    (np.array([-3]),),
    (np.array([1.0]),),
    (ROW, COLUMN, COLUMN, COLUMN),
    (ROW, np.array([0, 1])),
    (np.array([0, 1, 2]), np.array([0, 1])),
    (None, np.array([True, False])),
]


# ----------------------------------------------------------------------------------------- errors
ERRORS = [
    ("x.select(0, 3)", IndexError, "index 3 is out of bounds for dimension 0 with size 2"),
    (
        "x.select(2, 0)",
        IndexError,
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
    ),
    ("x.select(0, 0).select(0, 0).select(0, 0)", IndexError, "select() cannot be applied"),
    ("x.slice(0, 0, 2, 0)", ValueError, "step must be greater than zero"),
    ("x.sum().slice(0, 0, 2, 1)", IndexError, "slice() cannot be applied to a 0-dim"),
    ("x.permute((0,))", RuntimeError, "input.dim() = 2 is not equal to len(dims) = 1"),
    ("x.permute((0, -2))", RuntimeError, "permute(): duplicate dims are not allowed."),
    ("x.expand((3,))", RuntimeError, "the number of sizes provided (1) must be greater"),
    (
        "x.expand((4, 3))",
        RuntimeError,
        "The expanded size of the tensor (4) must match "
        "the existing size (2) at non-singleton dimension 0",
    ),
    ("x.expand((-1, 2, 3))", RuntimeError, "isn't allowed in a leading, non-existing dim"),
    ("x.expand((-2, 3))", RuntimeError, "negative size -2"),
    ("x.expand((2**62, 2, 3))", RuntimeError, "overflows"),
    ("x.diagonal(0, 1, -1)", RuntimeError, "diagonal dimensions cannot be identical 1, -1"),
    ("x.unfold(0, 3, 1)", RuntimeError, "maximum size for tensor at dimension 0 is 2 but"),
    ("x.unfold(0, -1, 1)", RuntimeError, "size is -1 but must be >= 0"),
    ("x.unfold(0, 1, 0)", RuntimeError, "step is 0 but must be > 0"),
    ("x.unsqueeze(3)", IndexError, "Dimension out of range"),
    ("x.squeeze((2,))", IndexError, "Dimension out of range"),
    ("x.view((4,))", RuntimeError, "shape '[4]' is invalid for input of size 6"),
    ("x.view((-1, -1))", RuntimeError, "only one dimension can be inferred"),
    ("x.view((-2, 3))", RuntimeError, "invalid shape dimension -2 at index 0 of shape [-2, 3]"),
    ("x.view((-1, 4))", RuntimeError, "shape '[-1, 4]' is invalid for input of size 6"),
    ("x.slice(0, 0, 0, 1).view((-1, 0))", RuntimeError, "is ambiguous"),
    ("x.permute((1, 0)).view((6,))", RuntimeError, "Use .reshape(...) instead"),
    (
        "x.as_strided((2, 3), (3, 1), 1)",
        RuntimeError,
        "are out of bounds for storage of size 24 bytes (6 elements",
    ),
    ("x.as_strided((2,), (-1,), 1)", RuntimeError, "Negative strides are not supported"),
    ("x.as_strided((2,), (1,), -1)", RuntimeError, "negative storage offset -1"),
    ("x.as_strided((2,), (1, 1), 0)", RuntimeError, "mismatch in length of strides and"),
    ("x.as_strided((-1,), (1,), 0)", RuntimeError, "negative dimension -1"),
    ("x.as_strided((2**40, 2**40), (1, 1), 0)", RuntimeError, "overflows"),
    ("x.as_strided((3,), (2**62,), 0)", RuntimeError, "are out of bounds"),
    ("x.as_strided((1,), (1,), 2**62)", RuntimeError, "are out of bounds"),
    ("x.view(6)", TypeError, "expected a tuple of ints, got int"),
    ("x.view((1.5,))", TypeError, "'float' object cannot be interpreted as an integer"),
    ("x.view((2**64,))", ValueError, "Overflow when unpacking long"),
    ("x.view((1,) * 25)", RuntimeError, "at most 24 dimensions"),
    (
        "m.empty((2**62, 4), bool)",
        RuntimeError,
        "[empty] the number of elements of shape [4611686018427387904, 4] over",
    ),
    ("m.empty((2**62, 4, 0), bool)", RuntimeError, "overflows"),
    ("m.empty((2**62,), float32)", RuntimeError, "size in bytes"),
    ("m.empty((2, -1), bool)", RuntimeError, "[empty] negative dimension -1"),
    ("m.empty_strided((2, 3), (1, 1), bool)", RuntimeError, "are not dense"),
    (
        "x + m.full((4,), 1, bool)",
        RuntimeError,
        "The size of tensor a (3) must match "
        "the size of tensor b (4) at non-singleton dimension 1 (shapes [2, 3] and [4])",
    ),
    (
        "m.full((4,), 1, bool) + x",
        RuntimeError,
        "The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1",
    ),
    ('x.add("1")', TypeError, "expected an NDArray or a number, got str"),
    ('x + "1"', TypeError, "unsupported operand type(s) for +"),
    (
        "x.add(x, x.select(0, 0))",
        RuntimeError,
        "output with shape [3] doesn't match the broadcast shape [2, 3]",
    ),
    ("x.add(1, x.select(0, 0).expand((2, 3)))", RuntimeError, "more than one element of"),
    (
        "x.slice(1, 0, 2, 1).add(1.5, x.slice(1, 1, 3, 1).astype(int32))",
        RuntimeError,
        "result type Float can't be cast to the desired output type Int",
    ),
    (
        "x.view((6,)).slice(0, 0, 4, 1).exp(x.view((6,)).slice(0, 1, 5, 1))",
        RuntimeError,
        "some elements of the input tensor and the written-to tensor refer to a single memory",
    ),
    ("x.copy_(m.full((4,), 1, bool))", RuntimeError, "The size of tensor a (3)"),
    ("x.select(0, 0).copy_(x)", RuntimeError, "[copy_] output with shape [3] doesn't match"),
    ("x.item()", RuntimeError, "a Tensor with 6 elements cannot be converted to Scalar"),
    ("x.astype(bool) - x.astype(bool)", RuntimeError, "with two bool tensors"),
    ("x.astype(int64) // 0", RuntimeError, "ZeroDivisionError"),
    ("x.astype(int64) % x.astype(int64)", RuntimeError, "ZeroDivisionError"),
    ("x.astype(uint8) // 256", RuntimeError, "ZeroDivisionError"),  # 0 in uint8
    ("x.astype(uint8) % m.full((), 256, int64)", RuntimeError, "ZeroDivision"),
    ("x.astype(int64) ** -1", RuntimeError, "Integers to negative integer powers"),
    ("x.bitwise_not()", NotImplementedError, "\"bitwise_not_cpu\" not implemented for 'Float'"),
    ("x.astype(int64).mean()", RuntimeError, "mean(): could not infer output dtype"),
    ("x.slice(0, 0, 0, 1).amax()", RuntimeError, "amax(): Expected reduction dim"),
    ("x.slice(0, 0, 0, 1).amax((0,))", IndexError, "Expected reduction dim 0 to have non-zero"),
    ("x.sum((0, 0))", RuntimeError, "dim 0 appears multiple times in the list of dims"),
    ("x.sum((2,))", IndexError, "Dimension out of range"),
    ("x + 2**64", OverflowError, "int too big to convert"),
]
