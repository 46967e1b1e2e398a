"""Memory: shared with NumPy, and the caching allocator."""

import math
import warnings

import numpy as np
import pytest
from ndarray_cases import BOTH, DTYPES, MiB, geometry

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
def test_idle_memory_that_a_loop_wants_again_stays():
    _core.empty_cache()
    calls = []
    for _ in range(4):
        before = statistics()["system_calls"]
        blocks = [block(10) for _ in range(12)]
        blocks.clear()
        calls.append(statistics()["system_calls"] - before)
    assert calls == [12, 6, 0, 0]
    _core.empty_cache()
    blocks = [block(10) for _ in range(12)]
    blocks.clear()
    assert statistics()["reserved"] - statistics()["allocated"] <= 64 * MiB
    _core.empty_cache()


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
def test_the_block_that_has_just_come_back_stays():
    _core.empty_cache()
    others, latest = [block(30) for _ in range(2)], block(40)
    others.clear()
    del latest  # 100 MiB idle: over the limit, though 40 are not
    assert dict(_core.memory_snapshot()).get(40 * MiB) == 1
    assert sum(size * count for size, count in _core.memory_snapshot()) <= 64 * MiB
    _core.empty_cache()


@CACHED
def test_an_allocation_that_fails_says_the_sizes():
    with pytest.raises(RuntimeError, match=f"you tried to allocate {2**48} bytes, .* are in use"):
        _core.empty((2**48,), _core.uint8)
    assert _core.full((3,), 1, _core.int64).sum().item() == 3
