"""Time and peak memory next to PyTorch's, in turns on one quiet machine.

    python -m benchmarks --against torch              # raw ops and whole training steps
    python -m benchmarks --suite conv nn --only 2d    # the lines whose names contain one of these
    python -m benchmarks --counts                     # waits and launches of a step, emulated
    python -m benchmarks --out zen5 --machine "two cores of an AMD EPYC (Zen 5)"

A suite is a file here with a list of lines. How the two take turns: turns.py; what memory means:
worker.py; the machine's limit: limits.cpp. `--out NAME` writes tables to benchmarks/results, and a
plot where matplotlib is installed.
"""

import argparse
import importlib
import sys
from importlib.util import find_spec
from pathlib import Path

from benchmarks import counts, report
from benchmarks.turns import OURS, Result, Worker, limits, run

SUITES = ["basics", "steps", "ops", "overhead", "nn", "matmul", "conv", "pool", "optim", "data",
          "memory", "amp"]  # fmt: skip
FOREIGN_LOAD = 0.25  # cores that other processes may use in a round that counts


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("--against", default="torch", help="module to compare with")
    option("--suite", nargs="+", default=SUITES[:2], choices=SUITES)
    option("--only", nargs="+", default=[""], help="parts of the names of lines")
    option("--rounds", type=int, default=9, help="rounds that count, per line")
    option("--tries", type=int, default=200, help="rejected rounds before giving up")
    option("--load", type=float, default=FOREIGN_LOAD, help="cores for others in a round")
    option("--threads", type=int, default=2)
    option("--machine", default=report.machine_in_words(), help="the machine, in words")
    option("--out", help="name of the files in benchmarks/results/")
    option("--counts", action="store_true", help="only what steps ask of CUDA: counts.py")
    args = parser.parse_args()
    if args.counts:
        return counts.main()

    first = limits(args.threads)
    about = []
    for framework in (OURS, args.against):
        worker = Worker(framework, args.threads)
        about.append(worker.about)
        worker.close()
    suites: dict[str, list[Result]] = {}
    for suite in args.suite:
        lines = importlib.import_module(f"benchmarks.{suite}").make_lines()
        chosen = [line for line in lines if any(part in line.name for part in args.only)]
        for result in run(chosen, args):
            suites.setdefault(suite, []).append(result)
            print(report.row(result, first), file=sys.stderr, flush=True)
    # neighbours may have slowed one of the two measurements
    flops, bandwidth = map(max, first, limits(args.threads))
    text = report.report(suites, (flops, bandwidth), about, args)
    print(text)
    if args.out:
        path = Path(__file__).parent / "results" / args.out
        path.parent.mkdir(exist_ok=True)
        path.with_suffix(".md").write_text(text)
        if find_spec("matplotlib"):
            report.plot(suites, path.with_suffix(".svg"), args.against)


if __name__ == "__main__":
    main()
