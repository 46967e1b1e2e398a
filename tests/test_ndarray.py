"""Arrays of both devices: NDArray (C++) and RefArray (plain Python) against NumPy and each other.

Needs no PyTorch but for the marked tests, and is what runs in the sanitizer build.
"""

import math
import re
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiny_torch import _core, devices, reference
from tiny_torch._reference import formulas

MODULES = {"cpu": _core, "ref": reference}
BOTH = pytest.mark.parametrize("m", MODULES.values(), ids=MODULES.keys())
DTYPES = ("bool", "uint8", "int32", "int64", "float32", "float64")
TYPES = {name: getattr(_core, name) for name in DTYPES}
MiB = 2**20

# Every record of ops.def: {name: (kind, domain of its arguments)}.
OPS_DEF = (Path(__file__).parents[1] / "src/core/ops.def").read_text()
OPS = {
    name: (kind, rest.split(",")[2].strip() if kind in ("UNARY", "BINARY", "TERNARY") else "real")
    for kind, name, rest in re.findall(
        r"^(UNARY|BINARY|COMPARE|TERNARY|REDUCE)\((\w+),(.*)", OPS_DEF, re.MULTILINE
    )
}
ARITY = {"UNARY": 1, "BINARY": 2, "COMPARE": 2, "TERNARY": 3}
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


# ------------------------------------------------------------------------------------------ views
SIZES = st.integers(0, 4)
SHAPES = st.lists(SIZES, max_size=4).map(tuple)


@st.composite
def view_of(draw, shape):
    """A view op and its arguments, for an array of this shape."""
    ndim = len(shape)
    dim = st.integers(-max(ndim, 1), max(ndim, 1) - 1)
    bound = st.integers(-6, 6)
    choices = ["unsqueeze", "permute", "expand", "transpose", "squeeze", "view", "unfold"]
    if ndim:
        choices += ["slice", "slice"]
    if any(shape):
        choices += ["select"]
    if ndim > 1:
        choices += ["diagonal"]
    name = draw(st.sampled_from(choices))
    if name == "unsqueeze":
        return name, (draw(st.integers(-ndim - 1, ndim)),)
    if name == "permute":
        return name, (tuple(draw(st.permutations(range(ndim)))),)
    if name == "expand":
        sizes = [
            draw(st.sampled_from([1, 0, 3])) if n == 1 else draw(st.sampled_from([n, -1]))
            for n in shape
        ]
        return name, ((*draw(st.lists(st.integers(0, 2), max_size=2)), *sizes),)
    if name == "transpose":
        return name, (draw(dim), draw(dim))
    if name == "squeeze":
        return name, (tuple(draw(st.sets(st.integers(0, ndim - 1)))) if ndim else (),)
    if name == "view":
        return name, (draw(view_shape(shape)),)
    if name == "slice":
        return name, (draw(dim), draw(bound), draw(bound), draw(st.integers(1, 4)))
    if name == "diagonal":
        first, second, *_ = draw(st.permutations(range(ndim)))
        return name, (draw(st.integers(-5, 5)), first, second)
    if name == "unfold":
        d = draw(dim)
        size = draw(st.integers(0, shape[d] if ndim else 1))
        return name, (d, size, draw(st.integers(1, 3)))
    d = draw(st.sampled_from([d for d, n in enumerate(shape) if n]))
    return name, (d, draw(st.integers(-shape[d], shape[d] - 1)))


@st.composite
def view_shape(draw, shape):
    """Sizes with the same product: dims split by their divisors, neighbours joined, ones added."""
    result = []
    for n in shape:
        divisors = [d for d in range(1, n + 1) if n % d == 0]
        d = draw(st.sampled_from(divisors)) if n and draw(st.booleans()) else 1
        result += [d, n // d]
        if len(result) > 2 and draw(st.booleans()):
            result[-3:-1] = [result[-3] * result[-2]]
    return tuple(result)


def numpy_view(a, name, args):
    """The same view of a NumPy array, or a copy of the same elements."""
    if name == "select":
        return a[(*[slice(None)] * args[0], args[1], ...)]
    if name == "slice":
        d, start, stop, step = args
        return a[(*[slice(None)] * (d % a.ndim), slice(start, stop, step))]
    if name == "expand":
        lead = len(args[0]) - a.ndim
        own = (1,) * lead + a.shape
        return np.broadcast_to(a, [o if n == -1 else n for n, o in zip(args[0], own, strict=True)])
    if name == "unfold":
        d, size, step = args
        if a.ndim == 0:
            return a.reshape(1)[:size]
        d %= a.ndim
        starts = range(0, a.shape[d] - size + 1, step)
        windows = [np.moveaxis(np.take(a, range(s, s + size), d), d, -1) for s in starts]
        return np.stack(windows, d)
    if name == "squeeze":
        return a.squeeze(tuple(d for d in args[0] if a.shape[d] == 1))
    if name == "transpose":
        return a.swapaxes(*args) if a.ndim else a
    return {
        "permute": np.transpose,
        "unsqueeze": np.expand_dims,
        "diagonal": np.diagonal,
        "view": np.reshape,
    }[name](a, *args)


def assert_inside(x):
    assert x.offset >= 0 and all(step >= 0 for step in x.strides)
    if x.size:
        last = x.offset + sum((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True))
        assert last < x.storage_nbytes // x.itemsize


@BOTH
@settings(max_examples=200, deadline=None)
@given(st.data(), SHAPES)
def test_views_are_numpys(m, data, shape):
    x, a = counting(m, shape), np.arange(math.prod(shape)).reshape(shape)
    for _ in range(data.draw(st.integers(1, 6))):
        name, args = data.draw(view_of(x.shape))
        if name == "view":
            x = x.reshape(*args)  # a view where there is one
        else:
            shared = x
            x = getattr(x, name)(*args)
            assert x.storage_id == shared.storage_id
        a = numpy_view(a, name, args)
        assert x.shape == a.shape
        assert np.array_equal(x.numpy(), a)
        assert_inside(x)


@settings(max_examples=200, deadline=None)
@given(st.data(), SHAPES)
def test_views_are_the_same_on_both_devices(data, shape):
    x, y = counting(_core, shape), counting(reference, shape)
    for _ in range(data.draw(st.integers(1, 6))):
        name, args = data.draw(view_of(x.shape))
        try:
            y = getattr(y, name)(*args)
        except RuntimeError as error:
            with pytest.raises(RuntimeError) as ours:
                getattr(x, name)(*args)
            assert str(ours.value) == str(error)
            continue
        x = getattr(x, name)(*args)
        assert_twins(x, y)
        assert_twins(x.clone(), y.clone())
        assert_twins(x.contiguous(), y.contiguous())
        assert_twins(x.reshape((-1,)) if x.size else x, y.reshape((-1,)) if y.size else y)


@pytest.mark.torch
@settings(max_examples=200, deadline=None)
@given(st.data(), SHAPES)
def test_views_have_pytorchs_strides(data, shape):
    torch = pytest.importorskip("torch")
    x = counting(_core, shape)
    t = torch.arange(math.prod(shape)).view(shape)
    for _ in range(data.draw(st.integers(1, 6))):
        name, args = data.draw(view_of(x.shape))
        try:
            y = getattr(x, name)(*args)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                getattr(t, name)(*args)
            continue
        t = (
            t[(*[slice(None)] * (args[0] % t.ndim), slice(*args[1:]))]
            if name == "slice"
            else (getattr(t, name)(*args))
        )
        assert geometry(y) == (tuple(t.shape), t.stride(), t.storage_offset()), (name, args)
        assert y.is_contiguous() == t.is_contiguous()
        x = y


@BOTH
def test_as_strided_sees_the_buffer(m):
    x = counting(m, (10,)).slice(0, 2, 10, 1)
    assert x.as_strided((2, 3), (4, 1), 0).numpy().tolist() == [[0, 1, 2], [4, 5, 6]]
    assert x.as_strided((3, 3), (1, 1), 5).numpy().tolist() == [[5, 6, 7], [6, 7, 8], [7, 8, 9]]
    assert x.as_strided((), (), 9).item() == 9
    assert x.as_strided((0, 5), (100, 100), 50).shape == (0, 5)  # nothing to lie outside


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
    except (RuntimeError, NotImplementedError, IndexError, TypeError, ValueError) as error:
        message = str(error).replace("RefArray", "NDArray").replace("on ref", "on cpu")
        kind = NotImplementedError if isinstance(error, NotImplementedError) else type(error)
        return kind, message.replace("tiny_torch._core.", "")


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


def test_the_tables_are_those_of_ops_def():
    assert set(formulas.ELEMENTWISE) == set(ELEMENTWISE)
    assert set(formulas.REDUCTIONS) == set(REDUCTIONS)
    assert {
        name: len(names)
        for name, names in (("UNARY", formulas.UNARY), ("TERNARY", formulas.TERNARY))
    } == {kind: sum(OPS[name][0] == kind for name in OPS) for kind in ("UNARY", "TERNARY")}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name, dtype):
    kind, domain = OPS[name]
    inputs = [values_of(domain, dtype, seed) for seed in range(ARITY[kind])]
    for layout in LAYOUTS.values():
        # other operands lie in another order, so that the result's strides have to be decided
        compare(
            lambda m, x, *rest, at=layout: getattr(at(x), name)(
                *[at(LAYOUTS["permuted"](y)) for y in rest]
            ),
            *inputs,
        )
        compare(
            lambda m, x, *rest, at=layout: (
                getattr(at(x), name)(*rest)
                if at(x).shape
                else getattr(x, name)(*[at(y) for y in rest])
            ),
            *inputs,
        )
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


# --------------------------------------------------------------------------------------- indexing
ROWS = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
@pytest.mark.parametrize("shape", [(2, 3), (1, 1), (0, 3), (3, 4), (4, 4), (3,)])
def test_gather_and_scatter(dim, dtype, shape):
    i = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)
    s = np.random.default_rng(1).integers(0, 9, (3, 4)).astype("float64")
    compare(lambda m, x, i: x.gather(dim, i), ROWS, i)
    compare(lambda m, x, i: LAYOUTS["permuted"](x).gather(dim, i), ROWS, i)
    for name in ("scatter_", "scatter_add_"):

        def scattered(m, x, i, s, name=name):
            getattr(x, name)(dim, i, s)
            return x

        compare(scattered, ROWS.copy(), i, s)
        compare(
            lambda m, x, i, s, f=scattered: f(m, x, i, LAYOUTS["permuted"](s)), ROWS.copy(), i, s
        )


def zero_d(x):
    return x.select(0, 0)


@pytest.mark.parametrize(
    ("x", "i", "s"),
    [
        ((3,), (1,), (0,)),
        ((3,), (1,), ()),
        ((3,), (2,), ()),
        ((3,), (), (1,)),
        ((3,), (), (0,)),
        ((), (1,), (1,)),
        ((), (), ()),
        ((), (2,), (2,)),
        ((0,), (), (1,)),
        ((3,), (1, 1), (1, 1)),
    ],
)
def test_gather_and_scatter_between_0_and_1_dims(x, i, s):
    x, i, s = np.ones(x), np.zeros(i, np.int64), np.full(s, 5.0)
    compare(lambda m, x, i, s: x.gather(0, i), x, i, s)
    for name in ("scatter_", "scatter_add_"):
        compare(lambda m, x, i, s, n=name: (getattr(x, n)(0, i, s), x)[1], x.copy(), i, s)


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


@pytest.mark.parametrize("at", range(len(INDICES)))
def test_index_and_index_put(at):
    raw = INDICES[at]
    given = [a for a in raw if a is not None]

    def places(arrays):
        arrays = iter(arrays)
        return tuple(None if a is None else next(arrays) for a in raw)

    compare(lambda m, x, *a: x.index(places(a)), CUBE, *given)
    compare(
        lambda m, x, *a: x.permute((0, 2, 1)).contiguous().permute((0, 2, 1)).index(places(a)),
        CUBE,
        *given,
    )
    for accumulate, shape in product((False, True), ((), (1,), (4,), (1, 1, 1, 4), (5,))):

        def put(m, x, v, *a, accumulate=accumulate):
            x.index_put_(places(a), v, accumulate)
            return x

        compare(put, CUBE.copy(), np.full(shape, 100.0), *given)
    try:
        same = CUBE[
            tuple(slice(None) if a is None else a != 0 if a.dtype == np.uint8 else a for a in raw)
        ]
    except IndexError:
        return
    x = _core.from_numpy(CUBE)
    assert np.array_equal(
        x.index(tuple(None if a is None else _core.from_numpy(a) for a in raw)).numpy(), same
    )


def test_index_put_adds_up_repeated_places():
    for m in MODULES.values():
        x = m.full((3,), 0, _core.int64)
        x.index_put_((m.from_numpy(np.array([0, 2, 0])),), m.full((3,), 5, _core.int64), True)
        assert x.numpy().tolist() == [10, 0, 5]


@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero_where_and_cat(dtype):
    a, b = values_of("real", dtype, 0), values_of("real", dtype, 1)
    mask = values_of("real", "bool", 2)
    for layout in LAYOUTS.values():
        compare(lambda m, x, at=layout: at(x).nonzero(), a)
        compare(
            lambda m, c, x, y, at=layout: (
                m.where(c, at(x), y) if at(x).ndim != 2 else m.where(at(c), at(x), at(y))
            ),
            mask,
            a,
            b,
        )
    compare(lambda m, c, x: m.where(c, x, 2), mask, a)
    compare(lambda m, c, x: m.where(c, 1.5, x), mask, a)
    compare(lambda m, c, x: c.where(True, 2), mask, a)
    compare(lambda m, x, y: m.where(x, y, y), a, b)
    for dim in (0, 1, -1, 2):
        compare(lambda m, x, y, d=dim: m.cat((x, y), d), a, b)
        compare(lambda m, x, y, d=dim: m.cat([x, y.slice(0, 0, 1, 1)], d), a, b)
        compare(lambda m, x, y, d=dim: m.cat((m.empty((0,), _core.float64), x), d), a, b)
    compare(lambda m, x: m.cat((), 0), a)
    compare(lambda m, x: m.cat((x, x.select(0, 0)), 0), a)
    compare(lambda m, x: m.cat((x.select(0, 0).select(0, 0),), 0), a)


@BOTH
def test_creation(m):
    assert m.arange(3, -1, 4, _core.float32).numpy().tolist() == [3, 2, 1, 0]
    assert m.arange(0.5, 0.25, 3, _core.float64).numpy().tolist() == [0.5, 0.75, 1.0]
    assert m.full((2, 0), 1, _core.bool).shape == (2, 0)
    assert m.full((), 300, _core.uint8).item() == 44
    assert m.empty((2, 3, 4), _core.bool).strides == (12, 4, 1)
    assert m.empty((2, 0, 4), _core.bool).strides == (4, 4, 1)
    assert m.empty_strided((2, 3), (1, 2), _core.bool).strides == (1, 2)


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
            "number": (x * 2.0, t * 2.0),
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
    ("x.view((-2, 3))", RuntimeError, "invalid shape dimension -2 in shape [-2, 3]"),
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
    ("x.view((2**64,))", RuntimeError, "Overflow when unpacking long"),
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
        "[add] output with shape [3] doesn't match the broadcast shape [2, 3]",
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
        "some elements of the input tensor and the written-to tensor refer to a single memory location",
    ),
    ("x.copy_(m.full((4,), 1, bool))", RuntimeError, "The size of tensor a (3)"),
    ("x.select(0, 0).copy_(x)", RuntimeError, "[copy_] output with shape [3] doesn't match"),
    ("x.item()", RuntimeError, "a Tensor with 6 elements cannot be converted to Scalar"),
    ("x.astype(bool) - x.astype(bool)", RuntimeError, "Subtraction, the `-`"),
    ("x.astype(int64) // 0", RuntimeError, "ZeroDivisionError"),
    ("x.astype(int64) % x.astype(int64)", RuntimeError, "ZeroDivisionError"),
    ("x.astype(uint8) // 256", RuntimeError, "ZeroDivisionError"),  # 0 in uint8
    ("x.astype(uint8) % m.full((), 256, int64)", RuntimeError, "ZeroDivision"),
    ("x.astype(int64) ** -1", RuntimeError, "Integers to negative integer powers"),
    ("x.bitwise_not()", NotImplementedError, "[bitwise_not] is not implemented for float32"),
    ("x.astype(int64).mean()", RuntimeError, "mean(): could not infer output dtype"),
    ("x.slice(0, 0, 0, 1).amax()", IndexError, "amax(): Expected reduction dim"),
    ("x.sum((0, 0))", RuntimeError, "dim 0 appears multiple times in the list of dims"),
    ("x.sum((2,))", IndexError, "Dimension out of range"),
    ("x + 2**64", RuntimeError, "Overflow when unpacking long"),
]


@BOTH
@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(m, call, error, message):
    x = counting(m, (2, 3), "float32")
    with pytest.raises(error) as raised:
        eval(call, {"m": m, "x": x, **TYPES})
    assert message in str(raised.value).replace("RefArray", "NDArray")
    assert x.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]  # no partial effect


@pytest.mark.parametrize("call", [call for call, _, _ in ERRORS])
def test_messages_are_the_same_on_both_devices(call):
    cpu, ref = (
        answer(lambda m=m: eval(call, {"m": m, "x": counting(m, (2, 3), "float32"), **TYPES}))
        for m in MODULES.values()
    )
    assert cpu == ref


# --------------------------------------------------------------------------- writing and versions
@BOTH
def test_every_write_stamps_the_cell_that_views_share(m):
    x = counting(m, (4, 3), "float32")
    view, alias = x.permute((1, 0)).select(0, 1), x.alias()
    assert alias.storage_id == x.storage_id
    i = m.from_numpy(np.zeros((1, 1), np.int64))
    writes = [
        lambda: x.add(1, x),
        lambda: x.exp(x),
        lambda: view.copy_(2.0),
        lambda: x.clamp(0, 1, x),
        lambda: x.scatter_(0, i, m.full((1, 1), 1, _core.float32)),
        lambda: x.scatter_add_(0, i, m.full((1, 1), 1, _core.float32)),
        lambda: x.index_put_((i,), m.full((), 1, _core.float32), False),
        lambda: x.mark_written(),
    ]
    for write in writes:
        before, other = _core.next_stamp(), alias.stamp
        write()
        assert x.stamp == view.stamp > before
        assert alias.stamp == other
    before = x.stamp
    for read in (
        lambda: x + 1,
        lambda: x.clone(),
        lambda: x.sum(),
        lambda: x.index((i,)),
        lambda: x.numpy(),
        lambda: view.contiguous(),
    ):
        read()
        assert x.stamp == before


@BOTH
def test_a_failed_write_is_no_write(m):
    x = counting(m, (3,))
    before = x.stamp
    for write in (lambda: x.add(1.5, x), lambda: x.add(m.full((4,), 1, _core.int64), x)):
        with pytest.raises(RuntimeError):
            write()
    assert x.stamp == before and x.numpy().tolist() == [0, 1, 2]


@BOTH
def test_in_place_on_overlapping_memory(m):
    x = counting(m, (3, 3))
    x.add(x.permute((1, 0)), x)  # reads all before it writes
    assert x.numpy().tolist() == [[0, 4, 8], [4, 8, 12], [8, 12, 16]]
    y = counting(m, (3, 3))
    y.copy_(y.permute((1, 0)))
    assert y.numpy().tolist() == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


@BOTH
def test_node_questions(m):
    x = counting(m, (2, 3), "float32")
    assert x.unless_like(x + 1) is None
    assert x.unless_like(x.astype(_core.float64)) == ((2, 3), _core.float32)
    assert x.select(0, 0).unless_like(x) == ((3,), _core.float32)
    assert x.same_shape(x + 1) and not x.same_shape(x.select(0, 0))
    assert _core.check_saved((x, None, 3), _core.next_stamp()) == 1
    sequence = _core.next_stamp()
    x.add(1, x)
    assert _core.check_saved((None, x), sequence) == 2
    assert _core.check_saved((None, 2.5, "x"), sequence) == 0


# ------------------------------------------------------------------------------------------ NumPy
@BOTH
@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_is_shared_with_numpy_both_ways(m, dtype):
    a = np.zeros((3, 4), dtype)
    x = m.from_numpy(a[1:, ::2].T)
    assert geometry(x) == ((2, 2), (2, 4), 0)
    a[1, 2] = 1
    assert x.select(0, 1).select(0, 0).item() == 1
    x.copy_(1)
    assert a.sum() == 4
    back = x.numpy()
    back[0, 0] = 0
    assert a[1, 0] == 0 and back.dtype == a.dtype
    assert back.ctypes.data == x.data_ptr


@BOTH
def test_either_side_keeps_the_memory_alive(m):
    x = m.from_numpy(np.full(1000, 7.0))
    junk = [np.zeros(1000) for _ in range(10)]
    assert x.sum().item() == 7000
    a = m.full((1000,), 7, _core.float64).numpy()
    junk += [m.full((1000,), 0, _core.float64) for _ in range(10)]
    assert a.sum() == 7000 and len(junk) == 20


@BOTH
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_unaligned_memory(m, dtype):
    size = np.dtype(dtype).itemsize
    a = np.frombuffer(bytearray(1 + 40 * size), np.uint8)[1:].view(dtype)
    a[:] = np.arange(40) % 7
    assert not a.flags.aligned
    x, y = m.from_numpy(a), m.from_numpy(a.copy())
    assert x.data_ptr % size
    for f in (
        lambda x: x + x,
        lambda x: x.clone(),
        lambda x: x.astype(_core.bool),
        lambda x: x < 3,
        lambda x: x.sum(),
        lambda x: x.amax(),
        lambda x: x.argmax(0),
        lambda x: x.select(0, 5),
        lambda x: x.view((5, 8)) @ x.view((8, 5)),
        lambda x: x.view((5, 8)).sum((0,)),
        lambda x: m.where(x > 2, x, 0),
        lambda x: x.nonzero(),
        lambda x: m.cat((x, x), 0),
        lambda x: x.index((y.astype(_core.int64),)),
        lambda x: x.slice(0, 0, 40, 3).mul(2),
    ):
        assert np.array_equal(f(x).numpy(), f(y).numpy())
    assert x.select(0, 5).item() == 5
    if dtype.startswith("int"):
        assert np.array_equal(y.index((x,)).numpy(), y.numpy()[a])
        assert np.array_equal(y.gather(0, x).numpy(), y.numpy()[a])
    x.add(y, x)
    x.index_put_((m.from_numpy(np.array([0])),), m.from_numpy(a[:1]), True)
    assert a[8] == 2


@BOTH
def test_what_numpy_has_and_we_refuse(m):
    a = np.arange(12.0).reshape(3, 4)
    with pytest.raises(
        ValueError, match="At least one stride in the given numpy array is negative"
    ):
        m.from_numpy(a[::-1])
    records = np.zeros(3, [("a", "f4"), ("b", "i2")])
    with pytest.raises(ValueError, match="strides not a multiple of the element byte size"):
        m.from_numpy(records["a"])
    with pytest.raises(ValueError, match="byte order"):
        m.from_numpy(a.astype(">f8"))
    for dtype in ("complex64", "uint16", "U3"):
        with pytest.raises(TypeError, match=r"can't convert np\.ndarray of type numpy"):
            m.from_numpy(a.astype(dtype))
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got list\)"):
        m.from_numpy([1.0])


@BOTH
def test_read_only_arrays_warn(m):
    a = np.arange(3.0)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
        x = m.from_numpy(a)
    assert x.numpy().tolist() == [0, 1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            m.from_numpy(a)


# -------------------------------------------------------------------------------------- allocator
def statistics():
    return _core.memory_statistics()


def block(mebibytes):
    return _core.empty((int(mebibytes * MiB),), _core.uint8)


def caches():
    """The sanitizer build allocates directly, so that overruns are seen."""
    _core.empty_cache()
    del_me = block(1)
    del del_me
    return statistics()["reserved"] > statistics()["allocated"]


CACHED = pytest.mark.skipif(not caches(), reason="this build does not cache memory")


def test_memory_in_use_is_counted():
    before = statistics()
    x = block(1)
    view = x.view((-1,))
    during = statistics()
    assert during["allocated"] - before["allocated"] == MiB
    assert during["requests"] - before["requests"] == 1
    assert during["peak_allocated"] >= during["allocated"]
    assert during["reserved"] >= during["allocated"]
    del x
    assert statistics()["allocated"] == during["allocated"]  # the view holds it
    del view
    assert statistics()["allocated"] == before["allocated"]


def test_the_peak_stays_until_it_is_reset():
    x = block(2)
    peak = statistics()["allocated"]
    del x
    assert statistics()["peak_allocated"] >= peak
    _core.reset_peak_memory()
    after = statistics()
    assert after["peak_allocated"] == after["allocated"] < peak
    assert after["peak_reserved"] == after["reserved"]


def test_small_sizes_are_rounded_to_whole_cache_lines():
    for elements, expected in ((0, 64), (1, 64), (64, 64), (65, 128), (65537, 69632)):
        before = statistics()["allocated"]
        x = _core.empty((elements,), _core.uint8)
        assert statistics()["allocated"] - before == expected
        assert x.data_ptr % 64 == 0
        del x


@CACHED
@pytest.mark.parametrize(
    ("freed", "wanted", "reused"),
    [
        (10, 10, True),
        (10, 8.5, True),
        (10, 8, True),
        (10, 7.9, False),  # below 80 % too much would lie idle
        (10, 10.5, False),
    ],
)
def test_a_cached_block_serves_at_least_80_percent_of_its_size(freed, wanted, reused):
    _core.empty_cache()
    x = block(freed)
    address = x.data_ptr
    del x
    before = statistics()
    y = block(wanted)
    after = statistics()
    assert (after["system_calls"] == before["system_calls"]) == reused
    assert (y.data_ptr == address) == reused
    assert (
        after["allocated"] - before["allocated"]
        == (freed if reused else math.ceil(wanted * 256) / 256) * MiB
    )
    del y
    assert statistics()["allocated"] == before["allocated"]


@CACHED
def test_an_oversized_block_goes_back_whole():
    _core.empty_cache()
    x = block(10)
    del x
    y = block(8)
    del y
    assert (10 * MiB, 1) in _core.memory_snapshot()


@CACHED
def test_idle_memory_is_limited():
    _core.empty_cache()
    blocks = [block(10) for _ in range(12)]
    in_use = statistics()["allocated"]
    while blocks:
        blocks.pop()
        now = statistics()
        assert now["reserved"] - now["allocated"] <= max(64 * MiB, now["allocated"] // 4)
    idle = statistics()["reserved"] - statistics()["allocated"]
    assert 50 * MiB < idle <= 64 * MiB  # and it is used
    assert in_use - statistics()["allocated"] == 120 * MiB
    _core.empty_cache()
    after = statistics()
    assert after["reserved"] == after["allocated"]
    assert _core.memory_snapshot() == []


@CACHED
def test_the_largest_idle_blocks_go_first():
    _core.empty_cache()
    small, large = [block(1) for _ in range(3)], block(70)
    small.clear()
    del large  # over the limit at once
    assert dict(_core.memory_snapshot()).get(MiB) == 3
    assert not any(size > 64 * MiB for size, _ in _core.memory_snapshot())
    _core.empty_cache()


@CACHED
def test_an_allocation_that_fails_says_the_sizes():
    with pytest.raises(RuntimeError, match=f"you tried to allocate {2**48} bytes, .* are in use"):
        _core.empty((2**48,), _core.uint8)
    assert _core.full((3,), 1, _core.int64).sum().item() == 3


# ------------------------------------------------------------------------------ the twin, devices
def test_ref_is_a_closed_list():
    assert len(set(reference.METHODS)) == len(reference.METHODS)
    x = counting(reference, (2,))
    for name in reference.METHODS:
        assert hasattr(_core, name) or hasattr(_core.NDArray, name), name
        assert hasattr(reference, name) or hasattr(x, name), name
    for name in dir(_core.NDArray):
        if not name.startswith("_"):
            assert hasattr(x, name), name
    for name in ("sort", "cumsum", "softmax"):
        assert not hasattr(x, name)
        with pytest.raises(NotImplementedError, match=rf"\[{name}\] is not implemented on ref"):
            getattr(x, name)
    with pytest.raises(NotImplementedError, match=r"\[randperm\] is not implemented on ref"):
        _ = reference.randperm


@BOTH
def test_operators_with_numbers_on_either_side(m):
    x = m.from_numpy(np.array([1.0, 2.0, 4.0]))
    for f in (
        lambda x: x + 2,
        lambda x: 2 + x,
        lambda x: 2 - x,
        lambda x: 2 * x,
        lambda x: 2 / x,
        lambda x: 9 // x,
        lambda x: 9 % x,
        lambda x: 2**x,
        lambda x: x**2,
        lambda x: -x,
        lambda x: x > 2,
        lambda x: x >= 2,
        lambda x: x == 2,
        lambda x: x != 2,
    ):
        assert np.array_equal(f(x).numpy(), f(x.numpy()))
    i = m.from_numpy(np.array([1, 2, 4]))
    for f in (lambda i: i & 3, lambda i: 1 | i, lambda i: i ^ i, lambda i: ~i):
        assert np.array_equal(f(i).numpy(), f(i.numpy()))


def test_devices_do_not_mix():
    x, y = counting(_core, (2,)), counting(reference, (2,))
    for call in (lambda: x + y, lambda: y + x, lambda: y.add(x)):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            call()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_move_between_devices_by_copy(layout, dtype):
    x = layout(_core.from_numpy(values_of("real", dtype, 0)))
    y = devices.to_device(x, "ref")
    assert type(y) is reference.RefArray and y.device == "ref"
    assert np.array_equal(x.numpy(), y.numpy()) and y.dtype is x.dtype
    assert y.strides == x.clone().strides
    z = devices.to_device(y, devices.device("cpu"))
    assert type(z) is _core.NDArray and np.array_equal(z.numpy(), x.numpy())
    assert devices.to_device(x, None) is x and devices.to_device(y, "ref:0") is y
    if x.is_dense() and x.size:
        y.copy_(0)
        assert z.strides == x.strides and np.array_equal(z.numpy(), x.numpy())
