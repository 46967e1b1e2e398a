"""Checks the files of a whole class: points, results, and files that are nearly the same.

Files are read before any of them runs, and nothing in them is believed: neither what they print nor
how they are called.
"""

from __future__ import annotations

import csv
import io
import json
import os
import secrets
import stat
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tiny_torch.tools.homework.alike import Pair, pairs
from tiny_torch.tools.homework.task import SUFFIXES, Task
from tiny_torch.tools.homework.telling import HEADS, printable
from tiny_torch.tools.homework.trial import check

MOST = 1 << 17  # bytes of a student's file


class Unread(Exception):
    """Why a file or folder is not read."""


class Table(NamedTuple):
    """{student: {task: result}}, and what a teacher should look at."""

    tasks: dict[str, Task]
    results: dict[str, dict[str, dict[str, Any]]]
    notes: dict[str, list[str]]  # of a student: what was handed in, and not checked
    skipped: list[str]  # what is no student's folder
    alike: list[Pair]
    seed: int


def grade(folder: Path, tasks: dict[str, Task], jobs: int, seed: int | None) -> Table:
    """Every student's files on the same cases. Raises FileNotFoundError without such a folder."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is no folder with a folder per student")
    seed = secrets.randbits(63) if seed is None else seed
    students = [path for path in sorted(folder.iterdir()) if is_folder(path)]
    skipped = [path.name for path in sorted(folder.iterdir()) if not is_folder(path)]
    handed = {student.name: handed_in(student, tasks) for student in students}
    texts = {student: files for student, (files, _, _) in handed.items()}
    todo = [(student, number) for student, files in texts.items() for number in files]
    with ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(lambda x: result(tasks[x[1]], texts[x[0]][x[1]], seed), todo))
    results = {student: dict(unread) for student, (_, unread, _) in handed.items()}
    for (student, number), found in zip(todo, done, strict=True):
        results[student][number] = found
    notes = {student: noted for student, (_, _, noted) in handed.items()}
    return Table(tasks, results, notes, skipped, pairs(texts, tasks), seed)


def is_folder(path: Path) -> bool:
    """A folder of its own, not a link to another."""
    return path.is_dir() and not path.is_symlink()


def handed_in(
    student: Path, tasks: dict[str, Task]
) -> tuple[dict[str, str], dict[str, dict[str, Any]], list[str]]:
    """{task: text}, {task: the result of a file that cannot be read}, and what is to be noted."""
    texts: dict[str, str] = {}
    unread: dict[str, dict[str, Any]] = {}
    numbers = {task.file: number for number, task in tasks.items()}
    try:
        names = sorted(os.listdir(student))
    except OSError as error:
        return {}, {}, [f"the folder cannot be read: {error.strerror}"]
    for name in names:
        if name in numbers:
            try:
                texts[numbers[name]] = content(student / name)
            except Unread as error:
                unread[numbers[name]] = failing_verdict("file", f"cannot be read: {error}")
    others = [name for name in names if Path(name).suffix in SUFFIXES.values()]
    notes = [f"{name} is the file of no task" for name in others if name not in numbers]
    return texts, unread, notes


def content(path: Path) -> str:
    """The text of a student's own file, neither a link nor a device. Raises Unread."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unread("it is no file")
            data = file.read(MOST + 1)
    except OSError as error:
        what = "it is a link" if path.is_symlink() else error.strerror
        raise Unread(what) from None
    if len(data) > MOST:
        raise Unread(f"it has more than {MOST >> 10} KiB")
    try:
        return data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise Unread(f"it is no text in UTF-8: {error}") from None


def result(task: Task, text: str, seed: int) -> dict[str, Any]:
    try:
        verdict = check(task, text, seed)
    except Exception as error:  # of answers.py or call.py, for which no student is to blame
        return failing_verdict("task", f"the task itself fails: {type(error).__name__}: {error}")
    failure = verdict.failure
    if failure is None:
        found = {"points": task.points, "right": verdict.right, "kind": "passed", "failure": ""}
    else:
        why = f"{HEADS[failure.kind]}: {(failure.text.splitlines() or [''])[0]}"
        found = failing_verdict(failure.kind, why, verdict.right)
    return found | ({"missing": verdict.missing} if verdict.missing else {})


def failing_verdict(kind: str, why: str, right: int = 0) -> dict[str, Any]:
    return {"points": 0, "right": right, "kind": kind, "failure": printable(why)}


# ---- tables ------------------------------------------------------------------------------------


def points(results: dict[str, dict[str, Any]]) -> int:
    return sum(found["points"] for found in results.values())


def table_text(table: Table) -> str:
    most = sum(task.points for task in table.tasks.values())
    lines = [f"seed {table.seed}", f"{'student':24} points of {most}"]
    for student, results in table.results.items():
        failures = [f"{n}: {found['failure']}" for n, found in results.items() if found["failure"]]
        said = "; ".join([*failures, *table.notes[student]])[:160]
        lines.append(printable(f"{student:24} {points(results):6}  {said}".rstrip()))
    kinds = Counter(found["kind"] for found in results_of(table))
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in sorted(kinds))
    lines.append(f"{len(table.results)} students, {kinds.total()} files: {counts or 'none'}")
    missing = dict.fromkeys(x for found in results_of(table) for x in found.get("missing", ()))
    lines += [f"note: {printable(what)}" for what in missing]
    lines += [f"not a student's folder: {printable(name)}" for name in table.skipped]
    for pair in table.alike:
        names = printable(f"{pair.one} and {pair.other}")
        lines.append(f"nearly the same in {pair.task}: {names} ({pair.share:.0%})")
    return "\n".join(lines)


def results_of(table: Table) -> list[dict[str, Any]]:
    return [found for results in table.results.values() for found in results.values()]


def as_json(table: Table) -> str:
    content = {
        "seed": table.seed,
        "points": {student: points(results) for student, results in table.results.items()},
        "results": table.results,
        "notes": table.notes,
        "skipped": table.skipped,
        "alike": [pair._asdict() for pair in table.alike],
    }
    return json.dumps(content, indent=1) + "\n"


def as_csv(table: Table) -> str:
    """A line per student; empty where nothing was handed in."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["student", "points", *table.tasks])
    for student, results in table.results.items():
        scores = [results[n]["points"] if n in results else "" for n in table.tasks]
        writer.writerow([cell(student), points(results), *scores])
    return text.getvalue()


def cell(name: str) -> str:
    """A name that no spreadsheet takes for a formula."""
    name = printable(name)
    return f"'{name}" if name.startswith(("=", "+", "-", "@")) else name
