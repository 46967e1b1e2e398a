"""Arrays of both devices: their views, errors, versions. NDArray (C++) and RefArray (plain Python)
against NumPy and each other.

test_ndarray*.py need no PyTorch but for the marked tests, and are what runs in the sanitizer build.
"""

import copy
import math
import pickle
import re

import numpy as np
import pytest
from cases.ndarray_cases import (
    BOTH,
    DTYPES,
    ERRORS,
    LAYOUTS,
    MODULES,
    TYPES,
    answer,
    assert_twins,
    counting,
    geometry,
    values_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tiny_torch import _core, reference
from tiny_torch.base import devices

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


@BOTH
@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(m, call, error, message):
    x = counting(m, (2, 3), "float32")
    with pytest.raises(error) as raised:
        eval(call, {"m": m, "x": x, **TYPES})
    assert message in str(raised.value).replace("a RefArray", "an NDArray")
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
        lambda: x.scatter_(0, i, m.full((1, 1), 1, _core.float32), 0, True),
        lambda: x.index_place_(0, i.reshape((1,)), 1, 0, False),
        lambda: x.masked_fill_(m.full((4, 3), True, _core.bool), 0),
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
    left, right = x.slice(1, 0, 2, 1), x.slice(1, 1, 3, 1)
    left.add(right, left)  # not dense: reads all before it writes
    assert x.numpy().tolist() == [[1, 3, 2], [7, 9, 5], [13, 15, 8]]
    right.copy_(left)
    assert x.numpy().tolist() == [[1, 1, 3], [7, 7, 9], [13, 13, 15]]
    x.add(x, x)
    assert x.select(0, 0).numpy().tolist() == [2, 2, 6]
    for other in (x.permute((1, 0)), x.select(0, 0), x.slice(0, 1, 3, 1).select(0, 1)):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            x.copy_(other)


@BOTH
def test_node_questions(m):
    x = counting(m, (2, 3), "float32")
    assert x.unless_like(x + 1) is None
    assert x.unless_like(x.astype(_core.float64)) == ((2, 3), _core.float32)
    assert x.select(0, 0).unless_like(x) == ((3,), _core.float32)
    assert x.same_shape(x + 1) and not x.same_shape(x.select(0, 0))
    assert _core.check_saved((x, None, 3), _core.next_stamp()) == 2
    sequence = _core.next_stamp()
    x.add(1, x)
    assert _core.check_saved((None, x), sequence) == 1
    assert _core.check_saved((None, 2.5, "x"), sequence) == 0


# ------------------------------------------------------------------------------ the twin, devices
NOT_ON_REF = (
    *("sort", "topk", "kthvalue", "median", "mode", "unique", "unique_rows"),
    *("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "linear_scan"),
    *("bincount", "histogram", "isin", "searchsorted", "nan_to_num", "rxlogy", "reinterpret"),
    *(
        "is_shared",
        "kept_copy",
        "latest",
        "replace_by",
        "share_memory",
        "shared_file",
        "grow_memory",
        "fix_memory",
        "resize_memory",
        "storage_resizable",
        "cross",
        "matmul_naive",
    ),
)


def test_ref_is_a_closed_list():
    assert len(set(reference.METHODS)) == len(reference.METHODS)
    x = counting(reference, (2,))
    for name in reference.METHODS:
        assert hasattr(_core, name) or hasattr(_core.NDArray, name), name
        assert hasattr(reference, name) or hasattr(x, name), name
    for name in dir(_core.NDArray):
        if not name.startswith("_"):
            assert hasattr(x, name) == (name not in NOT_ON_REF), name
    for name in (*NOT_ON_REF, "softmax"):
        assert name not in reference.METHODS
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


DEVICES = [
    ("device('cpu')", "device(type='cpu')"),
    ("device('cpu:1')", "device(type='cpu', index=1)"),
    ("device('cuda', 1)", "device(type='cuda', index=1)"),
    ("device(type='cpu', index=0)", "device(type='cpu', index=0)"),
    ("device(device('cpu'))", "device(type='cpu')"),
    ("str(device('cpu:0'))", "'cpu:0'"),
    ("device('cpu').index", "None"),
    ("device('cpu:2').type", "'cpu'"),
    ("device('cpu') == device('cpu', 0)", "False"),
    ("device('cpu') == 'cpu'", "False"),
    ("device('cpu') != device('cuda')", "True"),
    ("len({device('cpu'), device('cpu'), device('cpu:0')})", "2"),
    ("pickle.loads(pickle.dumps(device('cpu:1')))", "device(type='cpu', index=1)"),
    ("copy.deepcopy(device('cpu'))", "device(type='cpu')"),
    ("device('')", (RuntimeError, "Device string must not be empty")),
    ("device('cpu:-1')", (RuntimeError, "Invalid device string: 'cpu:-1'")),
    ("device('cpu:01')", (RuntimeError, "Invalid device string: 'cpu:01'")),
    ("device('cpu:')", (RuntimeError, "Invalid device string: 'cpu:'")),
    ("device('cpu', -1)", (RuntimeError, "Device index must not be negative")),
    ("device('cpu:1', 1)", (RuntimeError, "type (string) must not include an index")),
    ("device('cpu', 'a')", (TypeError, "argument 'index' (position 2) must be int, not str")),
    ("device('CPU')", (RuntimeError, "device type at start of device string: CPU")),
    ("device(1)", (RuntimeError, "Cannot access accelerator device when none is available.")),
    ("device(-1)", (RuntimeError, "Device index must not be negative")),
    ("device(1.5)", (TypeError, "device() received an invalid combination of arguments")),
    ("device(None)", (TypeError, "device() received an invalid combination of arguments")),
    ("setattr(device('cpu'), 'type', 'x')", (AttributeError, "type")),
]


def check_device(device, call, expected):
    names = {"device": device, "pickle": pickle, "copy": copy}
    if isinstance(expected, str):
        assert repr(eval(call, names)) == expected
    else:
        with pytest.raises(expected[0], match=re.escape(expected[1])):
            eval(call, names)


@pytest.mark.parametrize(("call", "expected"), DEVICES)
def test_device(call, expected):
    check_device(devices.device, call, expected)


@pytest.mark.torch
@pytest.mark.parametrize(("call", "expected"), DEVICES)
def test_device_is_pytorchs(call, expected):
    check_device(pytest.importorskip("torch").device, call, expected)


def test_what_devices_there_are():
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, cuda-emulated, meta, ref"):
        devices.device("tpu")
    for name in (None, "cpu", "cpu:0", devices.device("cpu")):
        assert devices.array_module(name) is _core
    assert devices.array_module("ref") is reference
    for name in ("cuda", "cuda:1", devices.device("cuda")):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            devices.array_module(name)
