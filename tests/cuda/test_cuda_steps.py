"""What a step of training asks of CUDA in a steady loop: kernels, and waits for what it reads.

The figures are those of `python -m benchmarks --counts`, run in a process that caches memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    os.environ.get("TINY_TORCH_CUDA") != "emulated", reason="the emulator counts"
)
READ = 2  # calls that wait in a read: the copy, and that of its stream
# How often a step reads a number of the device.
READS = {"plain": 0, "clipped": 0, "AMP with scaler": 1, "reads its loss": 1}
# Kernels of a step: what may not grow unseen.
KERNELS = {
    "MLP": {"plain": 18, "clipped": 25, "AMP with scaler": 39, "reads its loss": 18},
    "CNN": {"plain": 36, "clipped": 43, "AMP with scaler": 73, "reads its loss": 36},
    "GPT": {"plain": 61, "clipped": 68, "AMP with scaler": 104, "reads its loss": 61},
}


@pytest.fixture(scope="module")
def table():
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.counts"], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    head, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()
    )
    return {row[0]: dict(zip(head[1:], map(float, row[1:]), strict=True)) for row in rows}


@pytest.mark.parametrize("name", ["MLP", "CNN", "GPT"])
@pytest.mark.parametrize("how", READS)
def test_a_steady_step_waits_for_what_it_reads_and_allocates_nothing(table, name, how):
    found = table[f"{name}, {how}"]
    assert found["waits"] == READ * READS[how]
    for what in ("device memory", "pinned memory", "attributes", "events"):
        assert found[what] == 0, what
    assert found["kernels"] <= KERNELS[name][how]
