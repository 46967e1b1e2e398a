"""Whether a kernel goes the way that makes it fast, where its results cannot tell.

A task with `plain.cpp`, a solution that goes another way, asks for a multiple of its speed: FASTER
of answers.py. Both run on the same inputs in turn, new ones each time, and the time is the
grader's, less that of a call which does nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from tiny_torch.homework import kernel
from tiny_torch.homework.compare import difference
from tiny_torch.homework.task import Task

TRIES = 4  # what is fast enough once is fast enough: others may use the machine


def is_asked(task: Task) -> bool:
    return (task.folder / "plain.cpp").is_file()


def too_slow(task: Task, text: str, place: Path, seed: int, start: Callable[..., Any]) -> str:
    """What is told of a kernel that is; or empty.

    `start(library)` is a context with `call(inputs)`, in a process of its own.
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
            calls[name] = stack.enter_context(start(library)).call
        best = dict.fromkeys(texts, float("inf"))
        for _ in range(TRIES):
            for name, call in calls.items():
                inputs = answers["timed"](rng)
                empty, _ = timed(call, {**inputs, "function": "nothing"})
                seconds, reply = timed(call, inputs)
                best[name] = min(best[name], max(seconds - empty, 1e-4))
                if difference(
                    reply.get("value"), answers["answer"](**inputs), answers["TOLERANCE"]
                ):
                    return "built for speed, it answers something else"
            if best["plain"] >= answers["FASTER"] * best["mine"]:
                return ""
    times = best["plain"] / best["mine"]
    return (
        f"it is {times:.1f} times as fast as the plain loops of plain.cpp, where the task asks for "
        f"{answers['FASTER']}: homework speed {task.number} measures it"
    )


def timed(call: Callable[[dict[str, Any]], Any], inputs: dict[str, Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    reply = call(inputs)
    return time.perf_counter() - begin, reply
