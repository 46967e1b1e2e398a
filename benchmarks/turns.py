"""Measures two frameworks in turns.

Each has processes of its own: one per line, or one for consecutive lines with the same `prepare`.
In a round each measures the line once, one after the other. A round in which other processes took
more than a quarter of a core is thrown away and repeated.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.line import Line

OURS = "tiny_torch"
PAUSE = 0.03  # seconds between turns, for OpenMP threads of the other to stop spinning


class Worker:
    """A framework in a process of its own, asked for one measurement at a time."""

    def __init__(self, framework: str, threads: int):
        command = [sys.executable, "-m", "benchmarks.worker", framework, str(threads)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.about = self._answer()

    def ask(self, request: str) -> Any:
        assert self.process.stdin is not None
        time.sleep(PAUSE)
        print(request, file=self.process.stdin, flush=True)
        return self._answer()

    def cpu_seconds(self) -> float:
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        # utime and stime, of itself and of children that have ended
        return sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.process.communicate()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.process.args!r} ended with code {self.process.wait()}")
        return json.loads(answer)


@dataclass
class Result:
    line: Line
    memory: tuple[int, int] | None  # peak bytes, ours and theirs; None in shared processes
    work: tuple[float, float]  # multiplications and additions; bytes
    times: list[tuple[float, float]] = field(default_factory=list)  # seconds per op, by round
    rejected: int = 0

    @property
    def medians(self) -> tuple[float, float]:
        ours, theirs = zip(*self.times, strict=True)
        return statistics.median(ours), statistics.median(theirs)

    @property
    def ratio(self) -> float:
        return self.medians[0] / self.medians[1]

    @property
    def spread(self) -> tuple[float, float]:
        ratios = [ours / theirs for ours, theirs in self.times]
        return min(ratios), max(ratios)


def machine_seconds() -> float:
    """CPU seconds that all processes have used since the machine started, stolen ones included."""
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK")


def measure(line: Line, workers: list[Worker], alone: bool, args: argparse.Namespace) -> Result:
    facts = [worker.ask(json.dumps(asdict(line))) for worker in workers]
    memory = (facts[0]["memory"], facts[1]["memory"]) if alone else None
    result = Result(line, memory, facts[1]["work"])

    def foreign_seconds() -> float:
        return machine_seconds() - sum(w.cpu_seconds() for w in workers) - time.process_time()

    while len(result.times) < args.rounds:
        start, foreign = time.perf_counter(), foreign_seconds()
        turns = [0, 1] if len(result.times) % 2 == 0 else [1, 0]
        seconds = {i: workers[i].ask("") for i in turns}
        load = (foreign_seconds() - foreign) / (time.perf_counter() - start)
        if load <= args.load:
            result.times.append((seconds[0], seconds[1]))
            continue
        result.rejected += 1
        if result.rejected >= args.tries:
            raise SystemExit(
                f"{line.name}: {args.tries} rounds rejected; this machine is not quiet"
            )
    return result


def run(lines: list[Line], args: argparse.Namespace) -> Iterator[Result]:
    for _, group in itertools.groupby(lines, lambda line: line.prepare):
        same = list(group)
        workers = [Worker(name, args.threads) for name in (OURS, args.against)]
        for line in same:
            yield measure(line, workers, len(same) == 1, args)
        for worker in workers:
            worker.close()


def limits(threads: int) -> tuple[float, float]:
    """FLOP/s and bytes/s that this machine reaches: see limits.cpp, which needs g++."""
    source = Path(__file__).with_name("limits.cpp")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "limits"
        flags = ["-O3", "-march=native", "-fopenmp"]
        subprocess.run(["g++", *flags, str(source), "-o", str(program)], check=True)
        output = subprocess.run(
            [program, str(threads)], check=True, capture_output=True, text=True
        ).stdout
    flops, bandwidth = map(float, output.split())
    return flops, bandwidth
