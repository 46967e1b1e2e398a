"""Checks the files of a whole class: points, results, and files that are nearly the same."""

from __future__ import annotations

import csv
import difflib
import io
import json
import keyword
import secrets
import tokenize
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from tiny_torch.homework.task import Task
from tiny_torch.homework.telling import HEADS
from tiny_torch.homework.trial import check

ALIKE = 0.95  # of two files' tokens, names aside
LONG = 120  # tokens: what is shorter looks alike by itself


class Table(NamedTuple):
    """{student: {task: result}}; pairs of students with nearly the same file of a task."""

    tasks: dict[str, Task]
    results: dict[str, dict[str, dict[str, Any]]]
    alike: list[tuple[str, str, str, float]]  # task, student, student, ratio
    seed: int


def grade(folder: Path, tasks: dict[str, Task], jobs: int, seed: int | None) -> Table:
    """Every student's files on the same cases. Raises FileNotFoundError without such a folder."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is no folder with a folder per student")
    if jobs < 1:
        raise ValueError(f"--jobs is at least 1, got {jobs}")
    seed = secrets.randbits(63) if seed is None else seed
    students = sorted(x for x in folder.iterdir() if x.is_dir() and not x.is_symlink())
    found = [(s, t) for s in students for t in tasks.values() if is_file(s / t.file)]
    with ThreadPoolExecutor(jobs) as pool:
        verdicts = list(pool.map(lambda pair: result(pair[0], pair[1], seed), found))
    results: dict[str, dict[str, dict[str, Any]]] = {s.name: {} for s in students}
    for (student, task), verdict in zip(found, verdicts, strict=True):
        results[student.name][task.number] = verdict
    return Table(tasks, results, alike(found), seed)


def is_file(path: Path) -> bool:
    """A file of the student's own, not a link to another."""
    return path.is_file() and not path.is_symlink()


def result(student: Path, task: Task, seed: int) -> dict[str, Any]:
    try:
        text = (student / task.file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        return {"points": 0, "right": 0, "failure": f"cannot be read: {error}"}
    verdict = check(task, text, seed)
    failure = verdict.failure
    why = "" if failure is None else f"{HEADS[failure.kind]}: {failure.text.splitlines()[0]}"
    return {"points": 0 if why else task.points, "right": verdict.right, "failure": why}


# ---- files alike -------------------------------------------------------------------------------


def alike(found: list[tuple[Path, Task]]) -> list[tuple[str, str, str, float]]:
    pairs = []
    for task in dict.fromkeys(task for _, task in found):
        files = {s.name: shape_of((s / task.file).read_bytes()) for s, t in found if t is task}
        skeleton = len(shape_of(task.skeleton.encode()))
        for (one, a), (other, b) in combinations(files.items(), 2):
            if min(len(a), len(b)) - skeleton < LONG:
                continue
            ratio = difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()
            if ratio >= ALIKE:
                pairs.append((task.number, one, other, ratio))
    return pairs


def shape_of(data: bytes) -> list[str]:
    """Tokens, where all names are one: another name for a variable changes nothing."""
    try:
        tokens = list(tokenize.tokenize(io.BytesIO(data).readline))
    except (tokenize.TokenError, SyntaxError):  # C++
        return data.decode(errors="replace").split()
    kept = []
    for token in tokens:
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            kept.append("name")
        elif token.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER):
            kept.append(token.string)
    return kept


# ---- tables ------------------------------------------------------------------------------------


def points(results: dict[str, dict[str, Any]]) -> int:
    return sum(found["points"] for found in results.values())


def told(table: Table) -> str:
    most = sum(task.points for task in table.tasks.values())
    lines = [f"seed {table.seed}", f"{'student':24} points of {most}"]
    for student, results in table.results.items():
        failed = [f"{n}: {found['failure']}" for n, found in results.items() if found["failure"]]
        lines.append(f"{student:24} {points(results):6}  {'; '.join(failed)[:160]}".rstrip())
    for number, one, other, ratio in table.alike:
        lines.append(f"nearly the same in {number}: {one} and {other} ({ratio:.0%})")
    return "\n".join(lines)


def as_json(table: Table) -> str:
    content = {"seed": table.seed, "results": table.results, "alike": table.alike}
    return json.dumps(content, indent=1) + "\n"


def as_csv(table: Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["student", "points", *table.tasks])
    for student, results in table.results.items():
        scores = [results[n]["points"] if n in results else "" for n in table.tasks]
        writer.writerow([student, points(results), *scores])
    return text.getvalue()
