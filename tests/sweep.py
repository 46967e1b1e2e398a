"""Compares every covered name with PyTorch: values, dtypes, strides, memory, gradients, errors.

    python tests/sweep.py                                  # every name, in a few minutes
    python tests/sweep.py --only torch.add "Tensor.add*"   # some; -v shows every difference
    python tests/sweep.py --json found.json                # writes what was found, by name

Prints a count of samples per name, and the differences. Fails if a name has fewer than MINIMUM
samples or layouts, or an unexplained difference. Names run in processes of their own batches: one
that crashes costs its own rest. What a sample is: sweep_samples.py; how two are compared:
sweep_compare.py; differences that have a reason: sweep_explained.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import selectors
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from cases.api_names import NAMES, OF_INSTANCES

MINIMUM = 10
TIME_LIMIT = 300  # seconds for one name


def examine(name: str, limit: int, note: Any) -> dict:
    """Every sample of a name; how many, and what differs."""
    import torch
    from sweeps.sweep_compare import differences
    from sweeps.sweep_explained import reason
    from sweeps.sweep_modules import module_samples
    from sweeps.sweep_samples import has, samples

    import tiny_torch

    # torch.compile turns it off for the whole process
    torch.distributions.Distribution.set_default_validate_args(True)
    if name not in OF_INSTANCES and not has(tiny_torch, name):
        return broken(name, "absent")
    found: list[list[str]] = []
    explained: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    dtypes: Counter[str] = Counter()
    layouts: Counter[str] = Counter()
    for sample in itertools.chain(samples(name), module_samples(name)):
        note(sample.where)
        more, done = differences(sample)
        if not done:
            continue
        counts.update(done)
        counts["samples"] += 1
        dtypes[sample.dtype] += 1
        layouts[sample.layout] += 1
        for difference in more:
            why = reason(name, sample.where, difference)
            if why is None:
                found.append([sample.where, difference])
            else:
                explained[why] += 1
        if limit and counts["samples"] >= limit:
            break
    return {
        "name": name, "counts": counts, "dtypes": dtypes, "layouts": layouts,
        "explained": explained, "differs": len(found), "differences": found[:60],
    }  # fmt: skip


def work(limit: int, notes: str) -> None:
    """Answers each name on standard input with a line of JSON."""
    warnings.simplefilter("ignore")
    import torch

    import tiny_torch

    for module in (torch, tiny_torch):
        module.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # PyTorch's exporter prints the graph that it cannot write
    with open(notes, "wb", buffering=0) as file:
        print("{}", file=answers)  # ready

        def note(text: str) -> None:  # what runs now, for the case that it is the last thing
            os.pwrite(file.fileno(), text.encode()[:500].ljust(500), 0)

        for line in sys.stdin:
            name = line.strip()
            note(name)
            try:
                answer = examine(name, limit, note)
            except Exception as error:
                answer = broken(name, f"the sweep itself: {type(error).__name__}: {error}")
            print(json.dumps(answer), file=answers)


def broken(name: str, what: str) -> dict:
    empty: dict = {}
    return {
        "name": name, "counts": {"samples": 1}, "dtypes": empty, "layouts": empty,
        "explained": empty, "differs": 1, "differences": [[name, what]],
    }  # fmt: skip


class Worker:
    def __init__(self, number: int, limit: int, folder: Path):
        self.notes = folder / f"notes-{number}"
        command = [sys.executable, __file__, "--worker", str(self.notes), "--limit", str(limit)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            bufsize=0,  # a line that select has not seen must not wait in a buffer
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TINY_TORCH_CUDA": "off"},
        )  # fmt: skip
        self.notes.touch()
        self.name = ""
        self.since = math.inf  # when it began the name

    def ask(self, name: str) -> None:
        assert self.process.stdin is not None
        self.name = name
        self.process.stdin.write(f"{name}\n".encode())

    def answer(self) -> dict | None:
        """The line that came; None if the process is no more."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.since = time.monotonic()
        return json.loads(line) if line.endswith(b"\n") else None

    def last_words(self) -> str:
        return self.notes.read_text(errors="replace").strip()

    def end(self) -> int:
        self.process.kill()
        return self.process.wait()


def sweep(names: list[str], workers: int, limit: int, folder: Path, show: Any) -> dict[str, dict]:
    """What was found, by name. A process that dies or hangs is replaced, and its name blamed."""
    waiting = list(reversed(names))
    results: dict[str, dict] = {}
    selector = selectors.DefaultSelector()
    numbers = iter(range(10**6))

    def start() -> None:
        if waiting:
            worker = Worker(next(numbers), limit, folder)
            selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            worker.ask(waiting.pop())

    def finish(worker: Worker, result: dict) -> None:
        results[worker.name] = result
        show(result)

    for _ in range(workers):
        start()
    while selector.get_map():
        ready = [key.data for key, _ in selector.select(timeout=5)]
        for worker in ready:
            result = worker.answer()
            if result == {}:  # it is ready
                continue
            if result is not None:
                finish(worker, result)
                if waiting:
                    worker.ask(waiting.pop())
                    continue
            selector.unregister(worker.process.stdout)
            code = worker.end()
            if result is None:
                finish(worker, broken(worker.name, f"crash ({code}) in {worker.last_words()}"))
                start()
        for key in list(selector.get_map().values()):
            worker = key.data
            if worker not in ready and time.monotonic() - worker.since > TIME_LIMIT:
                selector.unregister(key.fileobj)
                worker.end()
                finish(worker, broken(worker.name, f"hangs in {worker.last_words()}"))
                start()
    return results


def complaints(result: dict, minimum: int = MINIMUM) -> list[str]:
    """Why a name fails."""
    found = []
    if result["counts"].get("samples", 0) < minimum:
        found.append(f"only {result['counts'].get('samples', 0)} samples")
    if result["differs"]:
        found.append(f"{result['differs']} differences")
    return found


def show(result: dict, verbose: int) -> None:
    counts = result["counts"]
    line = ", ".join(
        f"{counts.get(what, 0)} {what}" for what in ("samples", "error", "first", "second")
    )
    kinds = f"{len(result['dtypes'])} dtypes, {len(result['layouts'])} layouts"
    bad = complaints(result)
    print(
        f"{result['name']}: {line}, {kinds}{'  FAIL: ' + '; '.join(bad) if bad else ''}", flush=True
    )
    for where, difference in result["differences"][: 1000 if verbose else 3]:
        print(f"    {where}\n        {difference}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", help="names, or patterns of names")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("-v", action="count", default=0, help="all differences of a name")
    parser.add_argument("--limit", type=int, default=0, help="samples per name; 0 is all")
    parser.add_argument("--json", type=Path, help="a file for what was found, by name")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return work(args.limit, args.worker)

    import tempfile

    names = [name for name in NAMES if not args.only or chosen(name, args.only)]
    with tempfile.TemporaryDirectory() as folder:
        results = sweep(
            names, min(args.j, len(names)), args.limit, Path(folder), lambda r: show(r, args.v)
        )
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    print(summary(results))
    sys.exit(any(complaints(r) for r in results.values()))


def chosen(name: str, patterns: list[str]) -> bool:
    from fnmatch import fnmatch

    return any(fnmatch(name, p) or fnmatch(name, f"torch.{p}") for p in patterns)


def summary(results: dict[str, dict]) -> str:
    total: Counter[str] = Counter()
    explained: Counter[str] = Counter()
    for result in results.values():
        total.update(result["counts"])
        explained.update(result["explained"])
    failing = [name for name, result in results.items() if complaints(result)]
    lines = [
        f"{len(results)} names, {total['samples']} samples: {total['value']} of values, "
        f"{total['error']} of exceptions, {total['first']} with first and {total['second']} with "
        f"second gradients.",
        *[f"explained: {count} × {why}" for why, count in explained.most_common()],
        f"{len(failing)} names fail.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
