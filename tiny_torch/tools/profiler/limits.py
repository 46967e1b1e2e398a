"""What this machine can do at best: float32 products and copies through memory, by our own kernels.

Both are measured once, in about a second, and kept in the user's cache folder for the same
processor, instruction set and number of threads.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import platform
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.autograd._profiler.files import write_whole

SECONDS = 0.4  # of each measurement
WIDTH = 1024  # of the matrices
COPIED = 1 << 27  # bytes: more than caches have


class Limits(NamedTuple):
    """Per second: operations of a float32 matmul, bytes read and written by a copy."""

    flops: float
    bytes: float


def limits() -> Limits:
    """As measured before on such a machine with so many threads, or now."""
    path = cache_file()
    key = f"{processor()}, {_core.instruction_set}, {torch.get_num_threads()} threads"
    known = read(path)
    if key in known:
        return known[key]
    known[key] = measure()
    with contextlib.suppress(OSError):  # a folder that cannot be written: measured again next time
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(known, indent=1))
    return known[key]


def cache_file() -> Path:
    """limits.json in our folder of $XDG_CACHE_HOME, by default ~/.cache."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(folder) if os.path.isabs(folder) else Path(os.path.expanduser("~"), ".cache")
    return base / "tiny_torch" / "limits.json"


def read(path: Path) -> dict[str, Limits]:
    """What is known; nothing of a file that is not there, or not whole."""
    try:
        found = {
            key: Limits(*map(float, pair)) for key, pair in json.loads(path.read_text()).items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
    return {key: pair for key, pair in found.items() if all(0 < x < math.inf for x in pair)}


def processor() -> str:
    """Its name, as Linux or Python knows it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


@torch.no_grad()
def measure() -> Limits:
    # whatever defaults the script has set
    ones = functools.partial(torch.ones, dtype=torch.float32, device="cpu")
    a, out = ones(WIDTH, WIDTH), ones(WIDTH, WIDTH)
    source, target = ones(COPIED // 4), ones(COPIED // 4)
    return Limits(
        2 * WIDTH**3 / fastest(lambda: torch.mm(a, a, out=out)),
        2 * COPIED / fastest(lambda: target.copy_(source)),
    )


def fastest(call: Callable[[], object]) -> float:
    """Seconds of the fastest of at least three calls."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < SECONDS:
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times)
