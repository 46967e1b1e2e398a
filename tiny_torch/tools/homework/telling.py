"""A verdict in words: what failed first, where, on what, and what was expected."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tiny_torch.tools.homework.trial import Failure, Verdict

HEADS = {
    "syntax": "is no Python",
    "rule": "is against the rules",
    "compile": "does not compile",
    "load": "cannot be loaded",
    "raised": "raises an exception",
    "fault": "has a fault, which the emulator has seen",
    "wrong": "answers something else",
    "way": "is right, and goes another way than the task asks for",
    "crash": "crashes",
    "time": "takes too long",
}
SHOWN = 24  # elements of an array that are shown


def verdict_lines(verdict: Verdict) -> str:
    """Some lines for a student."""
    task, failure = verdict.task, verdict.failure
    head = f"{task.number} {task.title}"
    if failure is None:
        lines = [f"{head}: passed, {verdict.right} cases in {verdict.seconds:.1f} s"]
    else:
        lines = [
            f"{head}: not yet. {task.file} {HEADS[failure.kind]}",
            *told_failure(verdict, failure),
        ]
    lines += [f"note: {note}" for note in verdict.missing]
    return printable("\n".join(lines))


def printable(text: str) -> str:
    """Without what would steer a terminal: a student's code chooses what it prints and raises."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def told_failure(verdict: Verdict, failure: Failure) -> list[str]:
    lines = []
    if failure.case:
        lines.append(f"  case {verdict.right + 1}, {failure.case}:")
        lines += [
            f"    {name} = {value_text(value)}" for name, value in (failure.inputs or {}).items()
        ]
    found = sanitizer_finding(verdict.printed, verdict.task.file) if failure.kind == "crash" else []
    where = f"line {failure.line}: " if failure.line else ""
    lines += [f"  {line}" for line in found or (where + failure.text).split("\n")]
    if failure.kind == "wrong" and not isinstance(failure.expected, np.ndarray | dict):
        lines += [f"  got {value_text(failure.got)}", f"  expected {value_text(failure.expected)}"]
    if failure.kind in ("raised", "fault", "crash", "wrong") and verdict.right:
        lines.append(f"  {simpler(verdict.right)}")
    printed = verdict.printed.strip()
    if printed and not found:
        lines.append("  it printed: " + printed[-500:].replace("\n", "\n    "))
    return lines


def simpler(count: int) -> str:
    return f"{count} simpler cases are right" if count > 1 else "the simplest case is right"


def value_text(value: Any) -> str:
    """A value, so that it can be pasted into a test."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.size > SHOWN:
        return f"an array {value.shape} of {value.dtype}"
    text = np.array2string(value, separator=", ", threshold=SHOWN, floatmode="maxprec")
    return f"{text.replace(chr(10), chr(10) + ' ' * 8)}  # {value.shape} {value.dtype}"


def sanitizer_finding(printed: str, file: str) -> list[str]:
    """A sanitizer's finding, and the first line of the student's file that it names; or nothing."""
    error = re.search(r"ERROR: AddressSanitizer: (\S+)|runtime error: (.*)", printed)
    if not error:
        return []
    what = error[1] or error[2]
    access = re.search(r"^(READ|WRITE) of size (\d+)", printed, re.M)
    if access:
        what += f", a {access[1].lower()} of {access[2]} bytes"
    place = re.search(rf"{re.escape(file)}:(\d+)", printed)
    return [f"line {place[1]}: {what}" if place else what]
