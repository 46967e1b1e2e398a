"""Memory: shared with NumPy, and the caching allocator."""

import warnings

import numpy as np
import pytest
from cases.ndarray_cases import BOTH, DTYPES, MiB, geometry

from tiny_torch import _core


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
    _core.empty_cache()  # a cached block may be larger
    for elements, expected in ((0, 64), (1, 64), (64, 64), (65, 128), (65537, 69632)):
        before = statistics()["allocated"]
        x = _core.empty((elements,), _core.uint8)
        assert statistics()["allocated"] - before == expected
        assert x.data_ptr % 64 == 0
        del x


def idle():
    return statistics()["reserved"] - statistics()["allocated"]


@CACHED
def test_blocks_are_cut_from_idle_memory_and_grow_together_again():
    _core.empty_cache()
    x = block(9)
    address = x.data_ptr
    del x
    before = statistics()
    parts = [block(3) for _ in range(3)]
    assert [part.data_ptr - address for part in parts] == [0, 3 * MiB, 6 * MiB]
    parts.pop(1), parts.pop(0)
    y = block(5.5)
    assert y.data_ptr == address
    z = block(0.5)
    assert z.data_ptr == address + 5.5 * MiB
    after = statistics()
    assert after["system_calls"] == before["system_calls"]
    assert after["allocated"] - before["allocated"] == 9 * MiB


@CACHED
def test_the_smallest_idle_memory_that_is_large_enough_serves():
    _core.empty_cache()
    blocks = [block(size) for size in (4, 1, 3, 1, 5, 1)]
    address = blocks[2].data_ptr
    del blocks[0], blocks[1], blocks[2]
    x = block(2.5)
    assert x.data_ptr == address


@CACHED
def test_blocks_do_not_overlap_and_idle_memory_is_limited():
    _core.empty_cache()
    most, live, seed = 0, [], 1
    for i in range(3000):
        seed = seed * 1103515245 + 12345 & 0x7FFFFFFF
        if len(live) > 20 or (live and seed >> 16 & 1):
            x, value = live.pop(seed >> 8 & 0xFF if len(live) > 0xFF else seed % len(live))
            a = _core.to_numpy(x)
            assert a[0] == a[-1] == a[len(a) // 2] == value
        else:
            x = _core.empty((1 << 10 + seed % 14,), _core.uint8)  # up to 8 MiB
            a = _core.to_numpy(x)
            a[0] = a[-1] = a[len(a) // 2] = i % 251
            live.append((x, i % 251))
        most = max(most, statistics()["allocated"])
    assert statistics()["reserved"] <= 64 * MiB + 2.5 * most
    del x, a
    live.clear()
    _core.empty_cache()


@CACHED
def test_idle_memory_goes_back():
    _core.empty_cache()
    slack = idle() + 4 * MiB  # memory goes back in pages of 2 MiB
    blocks = [block(10) for _ in range(12)]
    while blocks:
        blocks.pop()
        assert idle() <= max(64 * MiB, statistics()["allocated"] // 4) + slack
    assert idle() > 50 * MiB  # and it is used
    _core.empty_cache()
    assert idle() <= slack


@CACHED
def test_idle_memory_that_a_loop_wants_again_stays():
    _core.empty_cache()
    calls = []
    for _ in range(5):
        before = statistics()["system_calls"]
        blocks = [block(10) for _ in range(12)]
        blocks.clear()
        calls.append(statistics()["system_calls"] - before)
    assert calls[0] == 12 and 0 < calls[1] < 8 and calls[-1] == 0
    _core.empty_cache()
    slack = idle() + 4 * MiB
    blocks = [block(10) for _ in range(12)]
    blocks.clear()
    assert idle() <= 64 * MiB + slack
    _core.empty_cache()


@CACHED
def test_an_allocation_that_fails_says_the_sizes():
    with pytest.raises(RuntimeError, match=f"you tried to allocate {2**48} bytes, .* are in use"):
        _core.empty((2**48,), _core.uint8)
    assert _core.full((3,), 1, _core.int64).sum().item() == 3
