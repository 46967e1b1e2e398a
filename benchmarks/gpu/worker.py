"""The process of one framework, asked for one line at a time: run by figures.py.

    python -m benchmarks.gpu.worker torch cuda FULL      # framework, device, sizes

A request is a line's name; the answer, as JSON, is seconds per call, or what went wrong. With names
behind the arguments it runs these lines twice each and ends: for a profiler.
"""

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.gpu import lines

SAMPLE, TURN = 0.005, 0.25  # seconds of a sample at least, and of all samples of an answer


def prepared(torch: Any, device: str, sizes: str, line: lines.GpuLine) -> dict[str, Any]:
    names = {"torch": torch, "device": device, **getattr(lines, sizes)}
    exec(lines.PREPARE, names)
    exec(line.made, names)
    return names


def seconds(call: Callable[[], None], sync: Callable[[], None]) -> float:
    """The median of samples. Each is so many calls that the wait at its end does not count."""

    def timed(number: int) -> float:
        start = time.perf_counter()
        for _ in range(number):
            call()
        sync()
        return (time.perf_counter() - start) / number

    timed(2)
    number = max(1, int(SAMPLE / timed(1)))
    end, samples = time.perf_counter() + TURN, [timed(number)]
    while time.perf_counter() < end:
        samples.append(timed(number))
    return statistics.median(samples)


def main(framework: str, device: str, sizes: str, *once: str) -> None:
    torch = importlib.import_module(framework)
    by_name = {line.name: line for line in lines.make_lines()}
    names: dict[str, Any] = {}
    for name in once or (text.rstrip("\n") for text in sys.stdin):
        line = by_name[name]
        names.clear()  # what the last line made is gone before there is more
        if device == "cuda":
            torch.cuda.empty_cache()
        try:
            names.update(prepared(torch, device, sizes, line))
            code = compile(line.call, line.name, "exec")
            if once:
                for _ in range(2):
                    exec(code, names)
                names["sync"]()
                continue
            each = seconds(lambda code=code: exec(code, names), names["sync"])  # type: ignore[misc]
            answer: dict[str, Any] = {"seconds": each / line.calls}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {str(error).splitlines()[:1]}"}
        if not once:
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
