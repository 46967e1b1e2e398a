"""What is counted of a GPU's memory, and what happens where there is no more."""

from __future__ import annotations

import pytest

import tiny_torch as torch
from tiny_torch import cuda

KINDS = "allocation active segment allocated_bytes active_bytes reserved_bytes requested_bytes"


@pytest.fixture(autouse=True)
def clean():
    torch.zeros(1, device="cuda")
    cuda.empty_cache()
    cuda.reset_peak_memory_stats()


def test_statistics():
    stats = cuda.memory_stats()
    counts = [
        f"{kind}.all.{what}"
        for kind in KINDS.split()
        for what in ("current", "peak", "allocated", "freed")
    ]
    assert list(stats) == sorted([*counts, "num_alloc_retries", "num_ooms"])
    assert all(type(value) is int and value >= 0 for value in stats.values())
    assert stats == cuda.memory_stats(0) == cuda.memory_stats("cuda") == cuda.memory_stats("cuda:0")
    nested = cuda.memory_stats_as_nested_dict()
    assert nested["allocation"]["all"]["current"] == stats["allocation.all.current"]
    assert torch.accelerator.memory_stats() == stats


def test_what_tensors_have_is_counted():
    before = cuda.memory_allocated()
    x = torch.zeros(1000, device="cuda")
    more = cuda.memory_allocated() - before
    assert 4000 <= more < 8000
    view = x[5:]
    assert cuda.memory_allocated() == before + more
    del x, view
    assert cuda.memory_allocated() == before
    assert cuda.max_memory_allocated() >= before + more
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == before
    assert cuda.memory_reserved() >= cuda.memory_allocated()
    assert cuda.max_memory_reserved() >= cuda.memory_reserved()


def test_counts_of_all_time():
    cuda.reset_accumulated_memory_stats()
    for _ in range(3):
        torch.zeros(100, device="cuda")
    stats = cuda.memory_stats()
    assert stats["allocation.all.allocated"] == stats["allocation.all.freed"] == 3


def test_older_names():
    for name in ("memory_cached", "max_memory_cached"):
        with pytest.warns(FutureWarning, match="has been renamed"):
            assert getattr(cuda, name)() >= 0
    for name in ("reset_max_memory_allocated", "reset_max_memory_cached"):
        with pytest.warns(FutureWarning, match="resets /all/ peak"):
            getattr(cuda, name)()


def test_the_device_tells_what_is_free():
    free, total = cuda.mem_get_info()
    assert 0 < free <= total == cuda.get_device_properties().total_memory
    assert torch.accelerator.get_memory_info()[1] == total


def test_a_table_for_people():
    lines = cuda.memory_summary().splitlines()
    assert {len(line) for line in lines} == {77} and {line[0] + line[-1] for line in lines} == {
        "||"
    }
    assert "Cur Usage" in lines[5] and sum("Allocated memory" in line for line in lines) == 1
    assert cuda.memory_summary(abbreviated=True).count("\n") == len(lines)


@pytest.mark.parametrize(
    ("fraction", "error"), [(1, TypeError), ("1", TypeError), (-0.1, ValueError), (1.5, ValueError)]
)
def test_a_fraction_is_a_float_from_0_to_1(fraction, error):
    with pytest.raises(error, match="fraction"):
        cuda.set_per_process_memory_fraction(fraction)


def test_out_of_memory_leaves_everything_usable():
    x = torch.arange(1000.0, device="cuda")
    _, total = cuda.mem_get_info()
    ooms = cuda.memory_stats()["num_ooms"]
    with pytest.raises(
        cuda.OutOfMemoryError, match=r"CUDA out of memory\. Tried to allocate"
    ) as told:
        torch.empty(total, device="cuda")
    assert type(told.value) is torch.OutOfMemoryError and isinstance(told.value, RuntimeError)
    assert "GPU 0 has a total capacity of" in str(told.value)
    assert cuda.memory_stats()["num_ooms"] == ooms + 1
    assert (x + 1).sum().item() == 500500


def test_a_fraction_of_the_memory():
    _, total = cuda.mem_get_info()
    cuda.set_per_process_memory_fraction(0.5)
    try:
        assert cuda.get_per_process_memory_fraction() == 0.5
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(total * 3 // 4, dtype=torch.uint8, device="cuda")
        assert torch.ones(10, device="cuda").sum().item() == 10
    finally:
        cuda.set_per_process_memory_fraction(1.0)


def test_memory_that_another_stream_uses():
    side = cuda.Stream()
    x = torch.ones(1000, device="cuda")
    with cuda.stream(side):
        y = x * 2
    x.record_stream(side)
    del x
    z = torch.full((1000,), 7.0, device="cuda")  # must not take x's memory: side still reads it
    cuda.current_stream().wait_stream(side)
    assert (y == 2).all() and (z == 7).all()
    with pytest.raises(RuntimeError, match="unknown parameter type"):
        y.record_stream(None)
    with pytest.raises(RuntimeError, match="not on a GPU"):
        torch.ones(1).record_stream(side)


def test_the_cache():
    cuda.empty_cache()
    torch.accelerator.empty_cache()
    cuda.ipc_collect()
