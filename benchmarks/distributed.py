"""Two ranks of one thread each, ours and PyTorch's gloo in turns: all_reduce, a step of DDP.

python -m benchmarks.distributed [--rounds 7]

Each framework has two processes of its own, which wait while the other's measure. A figure is the
median of the rounds, of the slower rank.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FRAMEWORKS = ("tiny_torch", "torch")
RANKS = 2
SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "16 MiB": 16 << 20, "64 MiB": 64 << 20}
LINES = [*(f"all_reduce {name}" for name in SIZES), "DDP step, 2 M parameters"]


def make(torch: Any, line: str) -> tuple[Any, int]:
    """A function to be timed, and how often it runs in a round."""
    if line.startswith("all_reduce"):
        size = SIZES[line.removeprefix("all_reduce ")]
        x = torch.zeros(size // 4)
        return lambda: torch.distributed.all_reduce(x), max(3, min(300, (8 << 20) // size))
    nn = torch.nn
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                        nn.Linear(1024, 10))  # fmt: skip
    model = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(128, 784), torch.arange(128) % 10

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, 5


def rank_main(framework: str, rank: int, store: str) -> None:
    torch = importlib.import_module(framework)
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"file://{store}", rank=rank, world_size=RANKS)
    made = {line: make(torch, line) for line in LINES}
    for request in sys.stdin:
        run, count = made[request.strip()]
        run()
        torch.distributed.barrier()
        begin = time.perf_counter()
        for _ in range(count):
            run()
        print(json.dumps((time.perf_counter() - begin) / count), flush=True)
    torch.distributed.destroy_process_group()


class Pair:
    """The processes of a framework."""

    def __init__(self, framework: str, folder: str) -> None:
        store = Path(folder) / framework
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.distributed", framework, str(rank), str(store)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
            )
            for rank in range(RANKS)
        ]

    def measure(self, line: str) -> float:
        for process in self.processes:
            assert process.stdin is not None
            print(line, file=process.stdin, flush=True)
        return max(json.loads(p.stdout.readline()) for p in self.processes if p.stdout is not None)

    def close(self) -> None:
        for process in self.processes:
            process.communicate(timeout=20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        pairs = [Pair(framework, folder) for framework in FRAMEWORKS]
        for line in LINES:
            times: list[list[float]] = [[], []]
            for _ in range(rounds):
                for pair, found in zip(pairs, times, strict=True):
                    found.append(pair.measure(line))
            ours, theirs = (statistics.median(found) for found in times)
            print(f"{line:26} {ours * 1e3:9.3f} ms {theirs * 1e3:9.3f} ms   {ours / theirs:.2f}")
        for pair in pairs:
            pair.close()


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in FRAMEWORKS:
        rank_main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    else:
        main()
