"""Notebooks of tasks, for places where a student has a browser alone.

A notebook is made from the task's own files: its page, its hints folded away, its skeleton in a
cell that saves it, and a cell that checks it. Format: Jupyter's, version 4.5
(https://nbformat.readthedocs.io/en/latest/format_description.html).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tiny_torch.tools.homework.task import Task

BEGIN = """# {title}

Run the cells from top to bottom. In each task, write your solution over the skeleton, run its cell,
which saves it, and run the cell below, which checks it. tiny_torch must be installed; the next cell
says whether it is."""
SETUP = """from pathlib import Path

import tiny_torch
from tiny_torch.tools.homework import command

Path({folder!r}).mkdir(exist_ok=True)
print("tiny_torch", tiny_torch.__version__)"""


def write(tasks: list[Task], name: str, title: str, out: Path, folder: str) -> Path:
    """A notebook of these tasks, whose solutions are saved in `folder`; its file.

    Raises FileExistsError where there is one, in which a student may have worked.
    """
    path = out / f"{name}.ipynb"
    if path.exists():
        raise FileExistsError(f"{path} is there already, and may hold somebody's work")
    out.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content(tasks, title, folder), indent=1) + "\n", encoding="utf-8")
    return path


def content(tasks: list[Task], title: str, folder: str) -> dict[str, Any]:
    """The notebook as JSON has it."""
    cells = [
        markdown("begin", BEGIN.format(title=title)),
        code("setup", SETUP.format(folder=folder)),
    ]
    for task in tasks:
        key = task.number.replace(".", "-")
        hints, number = task.hints, task.number
        cells.append(markdown(f"page-{key}", task.page_without_hints.rstrip()))
        cells += [
            markdown(f"hint-{key}-{k}", fold_away(k, text)) for k, text in enumerate(hints, 1)
        ]
        cells.append(code(f"file-{key}", f"%%writefile {folder}/{task.file}\n{task.skeleton}"))
        cells.append(code(f"check-{key}", f'command.main(["check", "{number}"]);'))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def fold_away(count: int, hint: str) -> str:
    return f"<details><summary>Hint {count}</summary>\n\n{hint}\n\n</details>"


def markdown(key: str, text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": key, "metadata": {}, "source": text}


def code(key: str, text: str) -> dict[str, Any]:
    cell = {"cell_type": "code", "id": key, "metadata": {}, "source": text.rstrip()}
    return {**cell, "execution_count": None, "outputs": []}
