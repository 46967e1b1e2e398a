"""A course: which tasks, in which order, for how many points, with a teacher's own among them.

A course is a folder with `course.txt`, whose lines are a task's number and, where the course wants
others than `task.md` says, its points; `#` begins a comment. The teacher's own tasks stand in the
same folder, a folder per track with a folder per task, as ours do in `homework/`.
"""

from __future__ import annotations

from pathlib import Path

from tiny_torch.tools.homework.task import FOLDER, Task, all_tasks

FILE = "course.txt"


def tasks_of(course: Path | None) -> dict[str, Task]:
    """The tasks of a course by number, in its order; all of ours without one.

    Raises FileNotFoundError for a folder without course.txt, ValueError for a line that names no
    task, a task twice, or points that are no whole number.
    """
    if course is None:
        return all_tasks()
    path = course / FILE
    if not path.is_file():
        raise FileNotFoundError(f"{course} is no course: it has no {FILE}")
    known = tasks_to_choose(course)
    chosen: dict[str, Task] = {}
    for count, line in enumerate(lines_of(path), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        number, *points = words
        place = f"{path}, line {count}"
        if len(points) > 1:
            raise ValueError(f"{place}: a task's number and its points are expected, got {line!r}")
        if number not in known:
            raise ValueError(f"{place}: there is no task {number}")
        if number in chosen:
            raise ValueError(f"{place}: task {number} stands there twice")
        task = known[number]
        if points and not (points[0].isascii() and points[0].isdigit()):
            raise ValueError(f"{place}: points are a whole number, got {points[0]!r}")
        chosen[number] = task._replace(points=int(points[0])) if points else task
    if not chosen:
        raise ValueError(f"{path} names no task")
    return chosen


def lines_of(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error}") from None


def tasks_to_choose(course: Path) -> dict[str, Task]:
    """Ours and the course's own. Raises ValueError for a number that both have."""
    ours, own = all_tasks(), all_tasks(course) if course.resolve() != FOLDER.resolve() else {}
    for number in own:
        if number in ours:
            raise ValueError(
                f"{own[number].folder}: {number} is a task of ours, {ours[number].title!r}; "
                "give yours another number"
            )
    return ours | own
