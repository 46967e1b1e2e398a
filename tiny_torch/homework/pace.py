"""Whether a kernel goes the way that makes it fast, where its results cannot tell.

A task with `plain.cpp`, a solution that goes another way, asks for a multiple of its speed: FASTER
of answers.py. Both run in turn, on new inputs each time. What counts is the processor's time, which
the system knows, less that of a call which does nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from tiny_torch.homework import kernel
from tiny_torch.homework.compare import difference
from tiny_torch.homework.task import Task

ROUNDS = 3  # of which each kernel's best counts: others may use the machine
TICK = 0.01  # seconds, to which the processor's time is known
TRIES = 3  # before a kernel is too slow


def is_asked(task: Task) -> bool:
    return (task.folder / "plain.cpp").is_file()


def too_slow(task: Task, text: str, place: Path, seed: int, start: Callable[..., Any]) -> str:
    """What is told of a kernel that is; or empty.

    `start(library)` is a context: `call(inputs)`, in a process of its own, and that one's number.
    """
    answers = task.answers()
    rng = np.random.default_rng(seed)
    texts = {"plain": (task.folder / "plain.cpp").read_text(), "mine": text}
    with ExitStack() as stack:
        calls = {}
        for name, source in texts.items():
            file = place / name / task.file
            file.parent.mkdir()
            file.write_text(source, encoding="utf-8", newline="")
            library = kernel.build_fast(task, file, "entry.cpp")
            calls[name] = stack.enter_context(start(library))
        best = dict.fromkeys(texts, float("inf"))
        for k in range(1, TRIES * ROUNDS + 1):
            for name, (call, process) in calls.items():
                inputs = answers["timed"](rng)
                empty, _ = timed(call, process, {**inputs, "function": "nothing"})
                seconds, reply = timed(call, process, inputs)
                best[name] = min(best[name], max(seconds - empty, TICK))
                if difference(
                    reply.get("value"), answers["answer"](**inputs), answers["TOLERANCE"]
                ):
                    return "built for speed, it answers something else"
            if k % ROUNDS == 0 and best["plain"] >= answers["FASTER"] * best["mine"]:
                return ""
    times = best["plain"] / best["mine"]
    return (
        f"it is {times:.1f} times as fast as the plain loops of plain.cpp, where the task asks for "
        f"{answers['FASTER']}: homework speed {task.number} measures it"
    )


def timed(
    call: Callable[[dict[str, Any]], Any], process: int, inputs: dict[str, Any]
) -> tuple[float, Any]:
    begin = used_by(process)
    reply = call(inputs)
    return used_by(process) - begin, reply


def used_by(process: int) -> float:
    """Seconds of the processor that all threads of a process have had; of the clock elsewhere."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return time.perf_counter()
