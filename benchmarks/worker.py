"""The process of one framework, which answers requests on standard input: run by turns.py.

    python -m benchmarks.worker torch 2   # framework, threads

A request is a Line as JSON, or blank: measure that line once more. Peak memory is the most that was
resident (VmHWM) during three statements after the first, less what was before `prepare`. Of either
only arrays and what serves them shall count: not pages of files (code that runs for the first
time), nor what a framework loads for its first training step, which is one of 64 numbers.
"""

import importlib
import json
import statistics
import sys
import time
import timeit
from pathlib import Path
from typing import Any

from benchmarks.line import Line

FIRST_STEP = """
x = torch.ones(1, 1, 8, 8, requires_grad=True)
optimizer = torch.optim.Adam([x])
torch.nn.functional.conv2d(x, x.detach(), padding=1).sum().backward()
optimizer.step()
"""


def resident(field: str) -> int:
    """Bytes in memory without pages of files: now (VmRSS), or most since the reset (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    sizes = {x.split(":")[0]: int(x.split()[1]) for x in lines if x.endswith("kB")}
    return 1024 * (sizes[field] - sizes["RssFile"])


def nbytes(*values: Any) -> int:
    """Bytes of tensors, also of those in tuples and lists: for `Line.bytes`."""
    return sum(
        nbytes(*x) if isinstance(x, (tuple, list)) else x.numel() * x.element_size()
        for x in values
        if hasattr(x, "numel") or isinstance(x, (tuple, list))
    )


def peak_memory(timer: timeit.Timer, number: int, before: int) -> int:
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts again at VmRSS
    for _ in range(3):
        timer.timeit(number)
    return resident("VmHWM") - before


def seconds_per_op(timer: timeit.Timer, line: Line) -> float:
    """The median of the samples that fit into a turn."""
    samples: list[float] = []
    end = time.perf_counter() + line.turn
    while not samples or time.perf_counter() < end:
        samples.append(timer.timeit(line.number) / (line.number * line.ops))
    return statistics.median(samples)


def answer(value: Any) -> None:
    print(json.dumps(value), flush=True)


def main(framework: str, threads: str) -> None:
    torch = importlib.import_module(framework)
    torch.set_num_threads(int(threads))
    exec(FIRST_STEP, {"torch": torch})
    parts = torch, getattr(torch, "_core", torch)  # which lie apart where a clone is installed
    files = (f for root in {Path(str(p.__file__)).parent for p in parts} for f in root.rglob("*"))
    size = sum(f.stat().st_size for f in files if f.is_file() and "__pycache__" not in f.parts)
    answer({"version": str(torch.__version__), "size": size})

    names: dict[str, Any] = {}
    for request in sys.stdin:
        if request.strip():
            line = Line(**json.loads(request))
            before = resident("VmRSS")
            if not names:  # lines with the same `prepare` share their processes
                names = {"torch": torch, "nbytes": nbytes}
                exec(line.prepare, names)
            timer = timeit.Timer(line.statement, line.before, globals=names)
            timer.timeit(line.number)
            answer(
                {
                    "memory": peak_memory(timer, line.number, before),
                    "work": [eval(line.flops, names), eval(line.bytes, names)],
                }
            )
        else:
            answer(seconds_per_op(timer, line))


if __name__ == "__main__":
    main(*sys.argv[1:])
