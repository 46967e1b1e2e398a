"""Measures two frameworks in turns: what ratios.py and ops.py share.

Each framework lives in a process of its own; in a round each measures the same line once, one after
the other. A round in which other processes took more than a quarter of a core is thrown away and
repeated. A script gives `main` its function that makes the lines; the processes run it again.
"""

import argparse
import datetime
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OURS, THEIRS = "tiny_torch", "torch"
FOREIGN_LOAD = 0.25  # cores that other processes may use in a round that counts
TURN = 0.25  # seconds that one framework measures in one round
PAUSE = 0.03  # seconds between turns, for OpenMP threads of the other to stop spinning
CPUINFO = Path("/proc/cpuinfo").read_text()


@dataclass(frozen=True)
class Line:
    name: str
    target: (
        float  # ratio of times, ours to theirs; for flops > 0 ratio of speeds, which must reach it
    )
    prepare: str  # run once per process
    statement: str  # timed
    before: str = "pass"  # run before each sample, not timed
    number: int = 1  # statements per sample
    ops: int = 1  # ops per statement
    flops: float = 0


# ---- the process of one framework ---------------------------------------------------------------


def measure(line: Line, names: dict[str, Any]) -> float:
    """Median seconds per op over the samples that fit into a turn, after one not counted."""
    timer = timeit.Timer(line.statement, line.before, globals=names)
    timer.timeit(line.number)
    samples: list[float] = []
    end = time.perf_counter() + TURN
    while not samples or time.perf_counter() < end:
        samples.append(timer.timeit(line.number) / (line.number * line.ops))
    return statistics.median(samples)


def work(lines: list[Line], framework: str, threads: int) -> None:
    """Answers each line number on standard input with the seconds per op on standard output."""
    torch = importlib.import_module(framework)
    torch.set_num_threads(threads)
    print(json.dumps(torch.__version__), flush=True)
    index = -1
    names: dict[str, Any] = {}
    for request in sys.stdin:
        if int(request) != index:
            index, names = int(request), {"torch": torch}
            exec(lines[index].prepare, names)
        print(json.dumps(measure(lines[index], names)), flush=True)


class Worker:
    """A framework in a process of its own, asked for one measurement at a time."""

    def __init__(self, framework: str, threads: int):
        command = [sys.executable, sys.argv[0], "--worker", framework, "--threads", str(threads)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.version = self._answer()

    def measure(self, index: int) -> float:
        assert self.process.stdin is not None
        time.sleep(PAUSE)
        print(index, file=self.process.stdin, flush=True)
        return float(self._answer())

    def cpu_seconds(self) -> float:
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        # utime and stime, of itself and of children that have ended
        return sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.process.args!r} ended with code {self.process.wait()}")
        return json.loads(answer)


# ---- rounds -------------------------------------------------------------------------------------


@dataclass
class Result:
    line: Line
    ours: list[float]  # seconds per op, one per round
    theirs: list[float]
    rejected: int

    def ratio_of(self, ours: float, theirs: float) -> float:
        return theirs / ours if self.line.flops else ours / theirs

    @property
    def ratio(self) -> float:
        return self.ratio_of(statistics.median(self.ours), statistics.median(self.theirs))

    @property
    def spread(self) -> tuple[float, float]:
        ratios = [self.ratio_of(*pair) for pair in zip(self.ours, self.theirs, strict=True)]
        return min(ratios), max(ratios)

    @property
    def met(self) -> bool:
        if self.line.flops:
            return self.ratio >= self.line.target
        return self.ratio <= self.line.target


def machine_seconds() -> float:
    """CPU seconds that all processes have used since the machine started, stolen ones included."""
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK")


def run_line(index: int, line: Line, workers: list[Worker], args: argparse.Namespace) -> Result:
    result = Result(line, [], [], 0)

    def foreign_seconds() -> float:
        return machine_seconds() - sum(w.cpu_seconds() for w in workers) - time.process_time()

    for worker in workers:  # prepares the data; not counted
        worker.measure(index)
    while len(result.ours) < args.rounds:
        start, foreign = time.perf_counter(), foreign_seconds()
        order = workers if len(result.ours) % 2 == 0 else workers[::-1]
        seconds = {worker: worker.measure(index) for worker in order}
        load = (foreign_seconds() - foreign) / (time.perf_counter() - start)
        if load > args.load:
            result.rejected += 1
            if result.rejected >= args.tries:
                raise SystemExit(
                    f"{line.name}: {args.tries} rounds rejected; this machine is not quiet"
                )
            continue
        result.ours.append(seconds[workers[0]])
        result.theirs.append(seconds[workers[1]])
    return result


# ---- the table ----------------------------------------------------------------------------------


def show_time(line: Line, seconds: float) -> str:
    if line.flops:
        return f"{line.flops / seconds / 1e9:.0f} GFLOP/s"
    unit, scale = next((u, s) for u, s in [("ms", 1e3), ("µs", 1e6)] if seconds * s >= 1 or s > 1e3)
    return f"{seconds * scale:.3g} {unit}"


def rows(results: list[Result]) -> Iterator[str]:
    yield f"| line | {OURS} | PyTorch | ratio | over rounds | target | |"
    yield "|---|--:|--:|--:|--:|--:|---|"
    for r in results:
        low, high = r.spread
        columns = [
            r.line.name,
            show_time(r.line, statistics.median(r.ours)),
            show_time(r.line, statistics.median(r.theirs)),
            f"{r.ratio:.2f}",
            f"{low:.2f}-{high:.2f}",
            f"{'≥' if r.line.flops else '≤'} {r.line.target}",
            "pass" if r.met else "**miss**",
        ]
        yield "| " + " | ".join(columns) + " |"


def machine_in_words() -> str:
    models = [x.partition(":")[2].strip() for x in CPUINFO.splitlines() if "model name" in x]
    return f"{os.cpu_count()} cores, {models[0] if models else platform.machine()}"


def report(results: list[Result], workers: list[Worker], args: argparse.Namespace) -> str:
    rejected = sum(r.rejected for r in results)
    missed = sum(not r.met for r in results)
    return "\n".join(
        [
            f"# {OURS} {workers[0].version} next to PyTorch {workers[1].version}",
            "",
            f"{args.machine}; {args.threads} threads; {datetime.date.today()}.",
            f"Medians of {args.rounds} rounds; {rejected} more were not quiet enough to count.",
            "Ratio: for sgemm speed, else time, ours to PyTorch's.",
            "",
            *rows(results),
            "",
            f"{len(results) - missed} of {len(results)} lines reach their target.",
            "",
        ]
    )


def main(make_lines: Callable[[], list[Line]], description: str | None) -> None:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9, help="rounds that count, per line")
    parser.add_argument("--tries", type=int, default=200, help="rejected rounds before giving up")
    parser.add_argument(
        "--load", type=float, default=FOREIGN_LOAD, help="cores that others may use in a round"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="+", default=[""], help="parts of the names of lines")
    parser.add_argument("--machine", default=machine_in_words(), help="the machine, in words")
    parser.add_argument("--out", help="name of a file in benchmarks/results/")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return work(make_lines(), args.worker, args.threads)

    workers = [Worker(OURS, args.threads), Worker(THEIRS, args.threads)]
    results = []
    for index, line in enumerate(make_lines()):
        if any(part in line.name for part in args.only):
            results.append(run_line(index, line, workers, args))
            print(list(rows(results[-1:]))[-1], file=sys.stderr, flush=True)
    text = report(results, workers, args)
    for worker in workers:
        worker.close()
    print(text)
    if args.out:
        path = Path(__file__).parent / "results" / f"{args.out}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
