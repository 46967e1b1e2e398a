"""Two ranks of one thread each, ours, PyTorch's gloo and mpi4py's in turns: all_reduce, DDP.

python -m benchmarks.distributed [--rounds 9] [--only all_reduce]

Each has two processes of its own, which wait while the others measure. In a round each measures a
line once, one after the other; a time is that of the slower rank. Printed are the medians of the
rounds, and of the ratio of two times of the same round the median, the smallest and the largest.
mpi4py, where it is installed, is Open MPI's own Allreduce of NumPy arrays.

A step is measured without DDP, too: of one rank while the other sleeps, and of both at a time, who
do not talk to each other. The last is the ideal that a step with DDP can reach on this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

FRAMEWORKS = ("tiny_torch", "torch", "mpi4py")
RANKS = 2
KIB = 1024
SIZES = {f"{n} {unit}": n * size for unit, size in (("KiB", KIB), ("MiB", KIB * KIB))
         for n in ((1, 16, 256) if unit == "KiB" else (1, 4, 16, 64))}  # fmt: skip
KINDS = ("alone", "plain", "DDP")
STEPS = [[f"{kind} step, {name}" for kind in KINDS] for name in ("CNN", "GPT")]
GROUPS = [*([f"all_reduce {name}"] for name in SIZES), *STEPS]  # measured in turns


# ----------------------------------------------------------------------------------- what is timed


def cnn(torch: Any) -> tuple[Any, Any, Any]:
    """0.7 M parameters, 16 pictures of 3x32x32."""
    nn, channels = torch.nn, (3, 32, 64, 128, 256)
    layers = []
    for m, n in pairwise(channels):
        conv = nn.Conv2d(m, n, 3, padding=1, bias=False)
        layers += [conv, nn.BatchNorm2d(n), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(),
                          nn.Linear(256, 10))  # fmt: skip
    return model, torch.randn(16, 3, 32, 32), torch.arange(16) % 10


def gpt(torch: Any) -> tuple[Any, Any, Any]:
    """Four blocks of width 128, vocabulary 1000, 8 sequences of 64 tokens: 1.1 M parameters."""
    nn, width, length, vocabulary = torch.nn, 128, 64, 1000

    class GPT(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.places = nn.Embedding(length, width)
            layer = nn.TransformerEncoderLayer(
                width, 4, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
            )
            self.blocks = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
            self.head = nn.Linear(width, vocabulary)
            mask = nn.Transformer.generate_square_subsequent_mask(length)
            self.register_buffer("mask", mask, persistent=False)

        def forward(self, x: Any) -> Any:  # (B, T) -> (B T, vocabulary)
            h = self.tokens(x) + self.places.weight
            return self.head(self.blocks(h, self.mask, is_causal=True)).flatten(0, 1)

    return GPT(), torch.randint(0, vocabulary, (8, length)), torch.arange(8 * length) % vocabulary


def step_of(torch: Any, line: str) -> Callable[[], None]:
    torch.manual_seed(0)
    kind, name = line.split(" step, ")
    model, x, y = {"CNN": cnn, "GPT": gpt}[name](torch)
    if kind == "DDP":
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def repeats(line: str) -> int:
    """How often a line runs in a round."""
    if not line.startswith("all_reduce"):
        return 5
    return max(10, min(300, (64 << 20) // SIZES[line.removeprefix("all_reduce ")]))


# --------------------------------------------------------------------------------------- the ranks


class TorchRank:
    """A rank of tiny_torch or PyTorch."""

    def __init__(self, framework: str, rank: int, store: str) -> None:
        self.torch: Any = importlib.import_module(framework)
        self.torch.set_num_threads(1)
        self.rank, self.dist = rank, self.torch.distributed
        self.dist.init_process_group("gloo", f"file://{store}", rank=rank, world_size=RANKS)

    def make(self, line: str) -> Callable[[], Any]:
        if "step" in line:
            return step_of(self.torch, line)
        x = self.torch.zeros(SIZES[line.removeprefix("all_reduce ")] // 4)
        return lambda: self.dist.all_reduce(x)

    def barrier(self) -> None:
        self.dist.barrier()

    def slowest(self, seconds: float) -> float:
        """The longest of what the ranks bring."""
        longest = self.torch.tensor(seconds, dtype=self.torch.float64)
        self.dist.all_reduce(longest, self.dist.ReduceOp.MAX)
        return float(longest)

    def close(self) -> None:
        self.dist.destroy_process_group()


class MPIRank:
    """A rank under mpiexec."""

    def __init__(self) -> None:
        self.mpi: Any = importlib.import_module("mpi4py.MPI")
        self.comm: Any = self.mpi.COMM_WORLD
        self.rank = self.comm.rank

    def make(self, line: str) -> Callable[[], Any]:
        numpy = importlib.import_module("numpy")
        x = numpy.zeros(SIZES[line.removeprefix("all_reduce ")] // 4, numpy.float32)
        return lambda: self.comm.Allreduce(self.mpi.IN_PLACE, x)

    def barrier(self) -> None:
        self.comm.Barrier()

    def slowest(self, seconds: float) -> float:
        return float(self.comm.allreduce(seconds, self.mpi.MAX))

    def close(self) -> None:
        pass  # MPI ends with the process


def rank_main(framework: str, store: str, number: str = "") -> None:
    """Measures the lines that are asked for, until there are no more.

    They come by a pipe in the file system, at which a rank sleeps: in a collective of MPI it would
    keep a core busy while others measure.
    """
    rank = MPIRank() if framework == "mpi4py" else TorchRank(framework, int(number), store)
    made: dict[str, Callable[[], Any]] = {}
    with open(f"{store}.{rank.rank}") as requests:
        for line in map(str.strip, requests):
            together = not line.startswith("alone")
            if rank.rank and not together:
                continue
            run = made.get(line) or made.setdefault(line, rank.make(line))
            run()
            if together:
                rank.barrier()
            begin = time.perf_counter()
            for _ in range(repeats(line)):
                run()
            seconds = (time.perf_counter() - begin) / repeats(line)
            if together:
                seconds = rank.slowest(seconds)
            if rank.rank == 0:
                print(json.dumps(seconds), flush=True)
    rank.close()


# ---------------------------------------------------------------------------------------- in turns


class Pair:
    """The processes of a framework."""

    def __init__(self, framework: str, folder: str) -> None:
        self.framework, store = framework, str(Path(folder) / framework)
        self.requests = []
        for rank in range(RANKS):
            os.mkfifo(f"{store}.{rank}")
            # for reading, too: else it would wait for the rank
            self.requests.append(os.fdopen(os.open(f"{store}.{rank}", os.O_RDWR), "w"))
        program = [sys.executable, "-m", "benchmarks.distributed", "--rank", framework, store]
        if framework == "mpi4py":
            bind = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
            commands = [["mpiexec", *bind, "-n", str(RANKS), *program]]
        else:
            commands = [[*program, str(rank)] for rank in range(RANKS)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        self.processes = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
            for command in commands
        ]

    def measures(self, line: str) -> bool:
        return self.framework != "mpi4py" or line.startswith("all_reduce")

    def measure(self, line: str) -> float:
        for request in self.requests:
            print(line, file=request, flush=True)
        first = self.processes[0]
        assert first.stdout is not None
        answer = first.stdout.readline()
        if not answer:
            raise SystemExit(f"{first.args!r} ended with code {first.wait()}")
        return float(json.loads(answer))

    def close(self) -> None:
        for request in self.requests:
            request.close()
        for process in self.processes:
            process.communicate(timeout=20)


def frameworks() -> list[str]:
    """Who can be measured here."""
    found = [name for name in FRAMEWORKS if importlib.util.find_spec(name) is not None]
    return [name for name in found if name != "mpi4py" or shutil.which("mpiexec") is not None]


def ratio(ours: list[float], theirs: list[float]) -> str:
    """The median of the rounds' ratios, and their range."""
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    return f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def cells(times: list[list[float]], count: int) -> list[str]:
    """Of a line: the median of each of `count`, and the ratio of the first to each other."""
    texts = [f"{statistics.median(found) * 1e3:.3f}" for found in times]
    texts += [""] * (count - len(texts))
    texts += [ratio(times[0], theirs) for theirs in times[1:]]
    return texts + [""] * (2 * count - 1 - len(texts))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="lines whose names contain this")
    args = parser.parse_args()
    names = frameworks()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {args.rounds} rounds\n")
    titles = ["", *(f"{name}, ms" for name in names), *(f"of {name}'s" for name in names[1:])]
    print(f"| {' | '.join(titles)} |\n|---{'|--:' * (len(titles) - 1)}|")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        pairs = [Pair(name, folder) for name in names]
        for pair in pairs:
            stack.callback(pair.close)
        for group in GROUPS:
            lines = [line for line in group if args.only in line]
            times: dict[str, list[list[float]]] = {
                line: [[] for pair in pairs if pair.measures(line)] for line in lines
            }
            for _, line in itertools.product(range(args.rounds), lines):
                for pair, found in zip(pairs, times[line], strict=False):
                    found.append(pair.measure(line))
            for line in lines:
                print(f"| {line} | {' | '.join(cells(times[line], len(names)))} |", flush=True)
            if len(lines) == len(KINDS):
                *without, ddp = times.values()
                for kind, by in zip(KINDS, without, strict=False):
                    shares = [ratio(a, b) for a, b in zip(by, ddp, strict=True)]
                    print(f"| speed of the {kind} one | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank_main(*sys.argv[2:])
    else:
        main()
