"""How fast a student's kernel is, next to the plain one and ours: for the curious, no verdict.

A kernel's task has a `speed.py`: `cases()` yields (name, a call that reaches the kernel, operations
or bytes of a call, "GFLOP/s" or "GB/s"). `NAIVE` names another task whose solution is the plain
kernel; without it, the task's own is.
"""

from __future__ import annotations

import runpy
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tiny_torch import _core
from tiny_torch.tools.homework import kernel, used
from tiny_torch.tools.homework.task import Task, all_tasks

SECONDS = 0.2  # of calls that are measured
ROUNDS = 5


class Rates(NamedTuple):
    """A case, and how much of its unit each kernel does per second."""

    case: str
    unit: str
    rates: dict[str, float]


def ladder(task: Task, file: Path) -> list[Rates]:
    """The plain kernel, the student's in `file`, and ours, on one thread.

    Raises ValueError for a task without speed.py, kernel.Refused for what does not compile.
    """
    if not (task.folder / "speed.py").is_file():
        raise ValueError(f"the speed of {task.number} is not measured: it has no speed.py")
    facts = runpy.run_path(str(task.folder / "speed.py"))
    plain = all_tasks(task.folder.parents[1])[facts.get("NAIVE", task.number)]
    threads = _core.get_num_threads()
    _core.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory(prefix="homework-") as place:
            copy = Path(place) / plain.file
            copy.write_text(plain.solution())
            rungs = {f"plain ({plain.number})": (plain, kernel.build_fast(plain, copy))}
            mine = Path(place) / f"mine_{task.file}"
            mine.write_text(file.read_text())
            rungs["yours"] = (task, kernel.build_fast(task, mine))
            cases = list(facts["cases"]())
            rates = {name: measure(cases, *rung) for name, rung in rungs.items()}
            rates["ours"] = [rate(call, work) for _, call, work, _ in cases]
    finally:
        _core.set_num_threads(threads)
    return [
        Rates(case, unit, {name: found[k] for name, found in rates.items()})
        for k, (case, _, _, unit) in enumerate(cases)
    ]


def measure(cases: list, task: Task, library: Path) -> list[float]:
    with used.override(task, library):
        return [rate(call, work) for _, call, work, _ in cases]


def rate(call: Callable[[], object], work: float) -> float:
    """10⁹ operations or bytes per second, in the best of some rounds."""
    call()
    begin = time.perf_counter()
    call()
    times = max(1, int(SECONDS / ROUNDS / max(time.perf_counter() - begin, 1e-9)))
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(times):
            call()
        best = min(best, (time.perf_counter() - begin) / times)
    return work / best / 1e9


def table_text(rows: list[Rates]) -> str:
    names = list(rows[0].rates)
    lines = [f"{'one thread':28} {''.join(name.rjust(14) for name in names)}"]
    for row in rows:
        rates = "".join(f"{row.rates[name]:14.2f}" for name in names)
        lines.append(f"{row.case:28} {rates} {row.unit}")
    return "\n".join(lines)
