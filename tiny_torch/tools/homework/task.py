"""A task: a folder with its page, the skeleton, the call, the answers and wrong solutions.

`task.md` begins with lines `name: value` between two lines `+++`; what follows is the page. The
folder `2_autograd/2.2_quotient` is task 2.2 of the track `autograd`.
"""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

INSTALLED = Path(__file__).parent / "tasks"  # in a wheel
FOLDER = INSTALLED if INSTALLED.is_dir() else Path(__file__).parents[3] / "homework"
SUFFIXES = {"python": ".py", "c++": ".cpp", "cuda": ".cu"}


class Task(NamedTuple):
    """What the first lines of task.md say, and where it stands."""

    number: str  # "2.2"
    track: str
    name: str
    folder: Path
    title: str
    points: int
    minutes: int
    language: str
    symbol: str  # the function or class that the student's file is to have
    replaces: str  # "module:name" in the framework, a kernel as "softmax" or "add:float32", or "-"
    imports: tuple[str, ...]  # that a solution may use
    keeps: tuple[str, ...]  # modules and kernels that its process needs (absent.py)
    lacks: tuple[str, ...]  # modules and functions that it is to do without

    @property
    def file(self) -> str:
        """The student's file."""
        return f"{self.number}_{self.name}{SUFFIXES[self.language]}"

    @property
    def skeleton(self) -> str:
        return (self.folder / f"skeleton{SUFFIXES[self.language]}").read_text()

    @property
    def page(self) -> str:
        return (self.folder / "task.md").read_text().split("+++\n", 2)[2].lstrip()

    @property
    def page_without_hints(self) -> str:
        return re.sub(r"^## Hints\n.*?(?=^## |\Z)", "", self.page, flags=re.M | re.S)

    @property
    def hints(self) -> list[str]:
        """The steps below `## Hints`, one paragraph each."""
        found = re.search(r"^## Hints\n(.*?)(?=^## |\Z)", self.page, re.M | re.S)
        return [text.strip() for text in found[1].split("\n\n") if text.strip()] if found else []

    @property
    def stands_alone(self) -> bool:
        """Whether nothing of the framework is replaced."""
        return self.replaces == "-"

    @property
    def solution_file(self) -> Path:
        """Ours, where it is not the framework's own code."""
        return self.folder / f"solution{SUFFIXES[self.language]}"

    def solution(self) -> Any:
        """Ours: the function, method or class of the framework, or the text of a solution file."""
        if self.language != "python" or self.stands_alone:
            return self.solution_file.read_text()
        module, _, name = self.replaces.partition(":")
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found

    @property
    def solution_text(self) -> str:
        """Ours as a student would write it: of the solution's file, or the framework's code."""
        if self.solution_file.is_file():
            return self.solution_file.read_text()
        found = self.solution()
        return textwrap.dedent(inspect.getsource(found)).replace("@staticmethod\n", "")

    def load(self, text: str, namespace: str = "") -> Any:
        """The symbol that a student's Python file defines.

        `namespace` names a module of ours whose globals the text may use, as our own solution does.
        Raises NameError if the file has no such symbol, and whatever the file raises.
        """
        names = dict(vars(importlib.import_module(namespace))) if namespace else {}
        names["__name__"] = "solution"
        exec(compile(text, self.file, "exec"), names)
        mine = names.get(self.symbol)
        if mine is None:
            raise NameError(f"{self.file} defines no {self.symbol}")
        return mine

    def call(self) -> Any:
        """`call` of call.py: in the student's process for Python, else in the grader's."""
        return runpy.run_path(str(self.folder / "call.py"))["call"]

    def answers(self) -> dict[str, Any]:
        """`cases`, `answer` and what else answers.py defines."""
        return runpy.run_path(str(self.folder / "answers.py"))

    def mutants(self) -> dict[str, str]:
        """{what is wrong: the text of a solution with this mistake}, from mutants.py."""
        text, found = self.solution_text, {}
        for name, (right, wrong) in runpy.run_path(str(self.folder / "mutants.py"))[
            "MUTANTS"
        ].items():
            if text.count(right) != 1:
                raise ValueError(
                    f"task {self.number}, mutant {name!r}: {right!r} stands "
                    f"{text.count(right)} times in the solution"
                )
            found[name] = text.replace(right, wrong)
        return found


def read_task(folder: Path) -> Task:
    """Raises ValueError where task.md lacks a line, or has one that nobody knows or understands."""
    path = folder / "task.md"
    named = re.fullmatch(r"(\d+\.\d+)_(\w+)", folder.name)
    if not named:
        raise ValueError(f"{folder}: a task's folder is called as 2.2_quotient")
    head = path.read_text(encoding="utf-8").split("+++\n", 2)
    if len(head) != 3:
        raise ValueError(f"{path}: begins with lines `name: value` between two `+++`")
    facts: dict[str, Any] = {}
    for line in filter(None, head[1].splitlines()):
        name, colon, value = line.partition(": ")
        if not colon:
            raise ValueError(f"{path}: `name: value` is expected, got {line!r}")
        facts[name] = value.strip()
    for field in ("points", "minutes"):
        if not facts.get(field, "0").isdecimal():
            raise ValueError(f"{path}: {field} are a whole number, got {facts[field]!r}")
        facts |= {field: int(facts[field])} if field in facts else {}
    if facts.get("language", "python") not in SUFFIXES:
        raise ValueError(f"{path}: language is one of {list(SUFFIXES)}, got {facts['language']!r}")
    for field in ("imports", "keeps", "lacks"):
        facts[field] = tuple(facts.get(field, "").split())
    facts |= {"number": named[1], "track": folder.parent.name.partition("_")[2], "name": named[2]}
    facts["folder"] = folder
    if facts.keys() != set(Task._fields):
        lacks, more = set(Task._fields) - facts.keys(), facts.keys() - set(Task._fields)
        raise ValueError(f"{path}: lacks {sorted(lacks)}, and nobody knows {sorted(more)}")
    return Task(**facts)


def all_tasks(folder: Path = FOLDER) -> dict[str, Task]:
    """The tasks of a folder of tracks by number, in order: ours, or those of a course.

    Raises ValueError for a number that two folders have.
    """
    found = [read_task(page.parent) for page in folder.glob("*/*/task.md")]
    found.sort(key=lambda task: tuple(map(int, task.number.split("."))))
    for one, other in pairwise(found):
        if one.number == other.number:
            raise ValueError(f"{one.folder} and {other.folder} have one number")
    return {task.number: task for task in found}
