"""The counts of the CPU's allocator, by the names of `torch.cuda`."""

import pytest

import tiny_torch as torch
from tiny_torch import cpu

MiB = 1 << 20


def test_counts_follow_the_tensors():
    before, reserved = cpu.memory_allocated(), cpu.memory_reserved()
    requests = cpu.memory_stats()["allocation.all.allocated"]
    x = torch.zeros(8 * MiB // 4)
    assert cpu.memory_allocated() == before + 8 * MiB
    assert cpu.memory_stats()["allocation.all.allocated"] > requests
    assert cpu.memory_reserved() >= max(reserved, cpu.memory_allocated())
    del x
    assert cpu.memory_allocated() == before
    assert cpu.max_memory_allocated() >= before + 8 * MiB
    cpu.reset_peak_memory_stats()
    assert cpu.max_memory_allocated() == before
    cpu.empty_cache()
    assert cpu.memory_reserved() < reserved + 8 * MiB
    assert cpu.max_memory_reserved() >= cpu.memory_reserved()


def test_the_snapshot_adds_up_to_the_counts():
    kept = [torch.zeros(n) for n in (10, 1000, 100_000, 3 * MiB)]
    stats, segments = cpu.memory_stats(), cpu.memory_snapshot()
    assert sum(s["allocated_size"] for s in segments) == stats["allocated_bytes.all.current"]
    assert sum(s["reserved_size"] for s in segments) == stats["reserved_bytes.all.current"]
    for segment in segments:
        sizes = sum(block["size"] for block in segment["blocks"])
        if segment["segment_type"] == "large":
            assert sizes == segment["total_size"] >= segment["reserved_size"]
        else:
            assert sizes == segment["total_size"] - segment["allocated_size"]
    blocks = {b["address"]: b for s in segments for b in s["blocks"]}
    for x in kept[2:]:
        assert blocks[x.data_ptr()]["state"] == "active_allocated"
        assert blocks[x.data_ptr()]["size"] >= x.numel() * 4
    del kept
    sizes = [s["allocated_size"] for s in cpu.memory_snapshot()]
    assert sum(sizes) == cpu.memory_allocated() < stats["allocated_bytes.all.current"]


def test_the_summary_is_a_table():
    lines = cpu.memory_summary().splitlines()
    assert len({len(line) for line in lines}) == 1
    assert any("Allocated memory" in line for line in lines)


@pytest.mark.parametrize("device", ["cuda", "meta"])
def test_other_devices_are_refused(device):
    with pytest.raises(ValueError, match="Expected a cpu device"):
        cpu.memory_stats(device)
    assert cpu.memory_stats("cpu") == cpu.memory_stats(torch.device("cpu"))
