"""What arrays of both devices compute: every op of ops.def, strides of results, promotion."""

import math
from itertools import product

import numpy as np
import pytest
from cases.ndarray_cases import (
    ARITY,
    BOTH,
    DTYPES,
    ELEMENTWISE,
    LAYOUTS,
    MODULES,
    OPS,
    REDUCTIONS,
    compare,
    dtype_of,
    values_of,
)

from tiny_torch import _core
from tiny_torch.base.reference import formulas


def test_the_tables_are_those_of_ops_def():
    assert set(formulas.ELEMENTWISE) == set(ELEMENTWISE)
    assert set(formulas.REDUCTIONS) == set(REDUCTIONS)
    tables = (formulas.UNARY, formulas.BINARY, formulas.TERNARY, formulas.QUATERNARY)
    for arity, table in enumerate(tables, 1):
        assert set(table) == {name for name in ELEMENTWISE if ARITY[OPS[name][0]] == arity}


def apply(name, x, *rest):
    return getattr(x, name)(*rest)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in ELEMENTWISE if name != "polygamma"])  # see there
def test_elementwise(name, dtype):
    kind, domain = OPS[name]
    inputs = [values_of(domain, dtype, seed) for seed in range(ARITY[kind])]
    permuted = LAYOUTS["permuted"]
    for at in LAYOUTS.values():

        def of_one_layout(m, x, *rest, at=at):  # in two orders: the result's has to be decided
            return apply(name, at(x), *[at(permuted(y)) for y in rest])

        def broadcast(m, x, *rest, at=at):  # or refused
            return apply(name, x, *map(at, rest))

        compare(of_one_layout, *inputs)
        compare(broadcast, *inputs)
    if len(inputs) > 1:
        for number in (True, 2, 1.5):
            compare(lambda m, x, *rest, n=number: getattr(x, name)(n, *rest[1:]), *inputs)


@pytest.mark.parametrize("name", ["add", "mul", "exp", "lt", "clamp"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("out_dtype", DTYPES)
def test_out_and_in_place(name, dtype, out_dtype):
    inputs = [values_of("real", dtype, seed) for seed in range(ARITY[OPS[name][0]])]

    def in_place(m, x, *rest):
        getattr(x, name)(*rest, x)
        return x

    def out(m, x, *rest):
        into = m.full((4, 3), 1, dtype_of(out_dtype)).permute((1, 0))
        assert getattr(x, name)(*rest, into).storage_id == into.storage_id
        return into

    digits = "float32" if out_dtype == "float64" else None  # it was computed in that
    compare(in_place, *[a.copy() for a in inputs])
    compare(out, *inputs, digits=digits)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype):
    values = values_of("real", dtype, 0)
    for layout in LAYOUTS.values():
        for dims, keepdim in product([None, (), (0,), (-1,), (1, 0), (0, 0), (2,)], [False, True]):
            compare(lambda m, x, at=layout, d=dims, k=keepdim: getattr(at(x), name)(d, k), values)
    compare(lambda m, x: getattr(x, name)((0,), False, _core.float64), values)
    compare(lambda m, x: getattr(x.view((3, 2, 2)).permute((2, 0, 1)), name)((0, 2)), values)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_of_extremes(name, dtype):
    values = values_of("real", dtype, 0)
    for layout in LAYOUTS.values():
        for dim, keepdim in product([0, 1, -1, 2], [False, True]):
            compare(lambda m, x, at=layout, d=dim, k=keepdim: getattr(at(x), name)(d, k), values)
    if dtype.startswith("float"):
        values[1, 2:] = math.nan
        compare(lambda m, x: getattr(x, name)(1), values)


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("to", DTYPES)
def test_conversions(source, to):
    values = abs(values_of("real", source, 0)) if source != "bool" else values_of("real", source, 0)
    for layout in LAYOUTS.values():
        compare(lambda m, x, at=layout: at(x).astype(dtype_of(to)), values)
        compare(lambda m, x, at=layout: at(x).empty_like(dtype_of(to)).mul(0), values)
    compare(lambda m, x: m.full((2,), x.select(0, 0).select(0, 0).item(), dtype_of(to)), values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_matmul(dtype):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, (2, 1, 3, 4)).astype(dtype)
    b = rng.integers(0, 3, (5, 4, 6)).astype(dtype)

    def at(x, *index):
        for i in index:
            x = x.select(0, i)
        return x

    compare(lambda m, x, y: x @ y, a, b)
    compare(lambda m, x, y: at(x, 0, 0).matmul(at(y, 0)), a, b)
    compare(lambda m, x, y: at(x, 0, 0, 0) @ at(y, 0), a, b)
    compare(lambda m, x, y: at(x, 0, 0) @ at(y, 0).select(1, 0), a, b)
    compare(lambda m, x, y: at(x, 0, 0, 0) @ at(y, 0).select(1, 0), a, b)
    compare(lambda m, x, y: at(y, 0).permute((1, 0)) @ at(x, 0, 0).permute((1, 0)), a, b)
    compare(lambda m, x, y: at(x, 0, 0).matmul(at(y, 0), at(y, 1, 1)), a, b)
    compare(lambda m, x, y: x.slice(2, 0, 0, 1) @ y, a, b)
    compare(lambda m, x, y: x.slice(3, 0, 0, 1) @ y.slice(1, 0, 0, 1), a, b)
    compare(lambda m, x, y: x @ y.slice(1, 0, 3, 1), a, b)  # inner dimensions differ
    compare(lambda m, x, y: x.expand((2, 3, 3, 4)) @ y, a, b)  # batches differ
    compare(lambda m, x, y: at(x, 0, 0, 0, 0) @ y, a, b)
    compare(lambda m, x, y: at(x, 0, 0).matmul(at(y, 0), at(y, 0)), a, b)
    compare(lambda m, x, y: x @ y.astype(_core.bool if dtype == "int64" else _core.int64), a, b)


# ------------------------------------------------------------------------------ strides of results
def random_layout(rng, shape):
    """Strides of an array that broadcasts to `shape`: permuted, cut out of more, or expanded."""
    own = shape[rng.integers(0, len(shape) + 1) if rng.random() < 0.2 else 0 :]
    own = tuple(1 if rng.random() < 0.15 else n for n in own)
    strides, step = [0] * len(own), int(rng.integers(1, 3)) if rng.random() < 0.2 else 1
    for d in rng.permutation(len(own)) if rng.random() < 0.7 else range(len(own) - 1, -1, -1):
        if rng.random() < 0.1:
            continue  # expanded
        strides[d] = step
        step *= max(own[d] + (rng.random() < 0.1), 1)
    return own, tuple(int(s) for s in strides)


def random_case(rng):
    shape = tuple(
        int(n)
        for n in rng.choice(
            [1, 2, 2, 3, 4, 0], rng.integers(0, 6), p=[0.2, 0.2, 0.2, 0.2, 0.18, 0.02]
        )
    )
    return [random_layout(rng, shape) for _ in range(2)]


def strided(m, shape, strides, dtype="float32"):
    reach = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if n)
    return m.full((max(reach, 0) + 1,), 1, dtype_of(dtype)).as_strided(shape, strides, 0)


def test_dims_of_an_empty_array_may_be_the_largest():
    x = _core.empty((0, 2**63 - 1), dtype_of("float64"))
    turned = x.permute((1, 0))
    for y in (turned, 1):
        assert (turned + y).shape == (2**63 - 1, 0)


def test_result_strides_are_the_same_on_both_devices():
    rng = np.random.default_rng(0)
    for _ in range(300):
        a, b = random_case(rng)
        results = []
        for m in MODULES.values():
            x, y = strided(m, *a), strided(m, *b)
            results.append(
                [
                    z.strides
                    for z in (
                        x + y,
                        x.exp(),
                        x * 2,
                        x.lerp(y, x),
                        x.clone(),
                        m.where(x > y, y, 1.5),
                        x.empty_like(),
                    )
                ]
            )
        assert results[0] == results[1], (a, b)


@pytest.mark.torch
def test_result_strides_are_pytorchs():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    for _ in range(2000):
        a, b = random_case(rng)
        x, y = strided(_core, *a), strided(_core, *b)
        t, u = (torch.zeros(5000).as_strided(*case) for case in (a, b))
        pairs = {
            "add": (x + y, t + u),
            "compare": (x < y, t < u),
            "unary": (x.exp(), t.exp()),
            "lerp": (x.lerp(y, x), torch.lerp(t, u, t)),
            "where": (_core.where(x > y, y, x), torch.where(t > u, u, t)),
            "clone": (x.clone(), t.clone()),
            "like": (x.empty_like(), torch.empty_like(t)),
            "astype": (x.astype(_core.float64), t.double()),
        }
        for name, (ours, theirs) in pairs.items():
            assert ours.strides == theirs.stride(), (name, a, b)
        # Beside a number, PyTorch sorts by strides that nothing follows, too: ours are contiguous.
        ours, theirs = x * 2.0, t * 2.0
        followed = [d for d in range(x.ndim) if x.shape[d] > 1]
        assert not x.size or all(ours.strides[d] == theirs.stride(d) for d in followed), a


# -------------------------------------------------------------------------------------- promotion
def operands(m, dtype):
    """The dtype as an array with dims and as a 0-d one."""
    return m.full((2,), 1, dtype_of(dtype)), m.full((), 1, dtype_of(dtype))


@BOTH
@pytest.mark.parametrize(
    ("pair", "common"),
    [
        (("uint8", "int32"), "int32"),
        (("bool", "uint8"), "uint8"),
        (("int64", "float32"), "float32"),
        (("float32", "float64"), "float64"),
        (("bool", "bool"), "bool"),
    ],
)
def test_promotion_within_a_rank(m, pair, common):
    for a, b in (pair, pair[::-1]):
        assert m.promote_types(dtype_of(a), dtype_of(b)) is dtype_of(common)
        for x, y in zip(operands(m, a), operands(m, b), strict=True):
            assert m.result_type(x, y) is (x + y).dtype is dtype_of(common)


@BOTH
@pytest.mark.parametrize(
    ("dims", "lower", "common"),
    [
        ("uint8", "int64", "uint8"),  # of one category: the higher rank decides
        ("float32", "float64", "float32"),
        ("uint8", "float64", "float64"),
        ("bool", "int32", "int32"),
        ("int64", "bool", "int64"),
    ],
)
def test_arrays_outrank_0_d_arrays(m, dims, lower, common):
    assert m.result_type(operands(m, dims)[0], operands(m, lower)[1]) is dtype_of(common)


@BOTH
@pytest.mark.parametrize(
    ("dtype", "number", "common"),
    [
        ("uint8", 300, "uint8"),
        ("uint8", 1.5, "float32"),
        ("bool", 2, "int64"),
        ("bool", True, "bool"),
        ("float64", 2.5, "float64"),
        ("int32", True, "int32"),
    ],
)
def test_arrays_outrank_numbers(m, dtype, number, common):
    for x in operands(m, dtype):
        assert m.result_type(x, number) is dtype_of(common)
        assert m.result_type(number, x) is dtype_of(common)


@BOTH
def test_numbers_wrap_around_in_integers(m):
    x = m.full((1,), 1, _core.uint8)
    assert (x + 300).item() == 45
    assert (300 - x).item() == 43
    assert (x == 257).item() is True


@BOTH
def test_the_default_dtype_is_that_of_python_floats(m):
    x = m.full((2,), 3, _core.int64)
    try:
        _core.set_default_dtype(_core.float64)
        assert (x * 2.5).dtype is x.exp().dtype is (x / 2).dtype is _core.float64
    finally:
        _core.set_default_dtype(_core.float32)
    assert (x * 2.5).dtype is x.exp().dtype is (x / 2).dtype is _core.float32


@BOTH
@pytest.mark.torch
def test_promotion_is_pytorchs(m):
    torch = pytest.importorskip("torch")
    names = [(name, rank) for name in DTYPES for rank in (0, 1)]
    numbers = [True, 2, 2.5]
    for (a, i), (b, j) in product(names, names):
        x, y = operands(m, a)[i], operands(m, b)[j]
        t, u = (
            torch.ones((2,) if k == 0 else (), dtype=getattr(torch, n)) for n, k in ((a, i), (b, j))
        )
        assert m.result_type(x, y).name == str(torch.result_type(t, u))[6:]
        for number in numbers:
            assert m.result_type(x, number).name == str(torch.result_type(t, number))[6:]
        assert (
            m.promote_types(x.dtype, y.dtype).name == str(torch.promote_types(t.dtype, u.dtype))[6:]
        )
        can_cast = torch.can_cast(t.dtype, u.dtype)
        assert m.can_cast(x.dtype, y.dtype) == can_cast
