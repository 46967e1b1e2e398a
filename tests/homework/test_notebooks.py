"""Notebooks of tracks: made from the tasks' files, and run cell by cell as a student would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tiny_torch.tools.homework import notebook
from tiny_torch.tools.homework.task import all_tasks

TASKS = all_tasks()
TRACKS = {"1": "1_views", "2": "2_autograd", "3": "3_nn", "6": "6_sequences"}


def executed(cells: list[dict], monkeypatch, folder: Path, capsys) -> dict[str, str]:
    """What each code cell prints; `%%writefile` does what it does in Jupyter."""
    monkeypatch.chdir(folder)
    names: dict = {}
    printed = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            first, _, rest = cell["source"].partition("\n")
            if first.startswith("%%writefile "):
                Path(first.removeprefix("%%writefile ")).write_text(rest)
            else:
                exec(cell["source"], names)
            printed[cell["id"]] = capsys.readouterr().out
    return printed


@pytest.mark.parametrize("track", TRACKS)
def test_a_tracks_notebook_has_every_part_of_every_task(homework, track):
    assert homework("notebook", track, "--out", "made") == (0, f"made/{TRACKS[track]}.ipynb\n")
    whole = json.loads(Path(f"made/{TRACKS[track]}.ipynb").read_text())
    assert (whole["nbformat"], whole["nbformat_minor"]) == (4, 5)
    cells = {cell["id"]: cell for cell in whole["cells"]}
    assert len(cells) == len(whole["cells"])
    for task in TASKS.values():
        if task.number.startswith(f"{track}."):
            key = task.number.replace(".", "-")
            assert cells[f"page-{key}"]["source"].startswith(f"# {task.number} {task.title}\n")
            assert "## Hints" not in cells[f"page-{key}"]["source"]
            assert "## Common mistakes" in cells[f"page-{key}"]["source"]
            for k, hint in enumerate(task.hints, 1):
                assert hint in cells[f"hint-{key}-{k}"]["source"]
            head, skeleton = cells[f"file-{key}"]["source"].split("\n", 1)
            assert head == f"%%writefile my_homework/{task.file}"
            assert skeleton == task.skeleton.rstrip()
    assert all(cell["source"].strip() for cell in cells.values())


OURS = "from __future__ import annotations\n\nimport math\n\n\n"
SOLVED = {  # task: what a student writes
    "1.1": "def contiguous_strides(shape):\n    strides, step = [], 1\n"
    "    for n in reversed(shape):\n        strides.append(step)\n        step *= max(n, 1)\n"
    "    return tuple(reversed(strides))\n",
    "2.2": "def backward(saved, grad, needs):\n    x, y = saved\n"
    "    to_x = grad / y if needs[0] else None\n"
    "    return to_x, -grad * (x / y / y) if needs[1] else None\n",
    "3.1": OURS + TASKS["3.1"].solution_text,
    "6.1": OURS + TASKS["6.1"].solution_text,
}


@pytest.mark.parametrize("number", SOLVED)
def test_a_notebook_fails_by_its_skeleton_and_passes_when_solved(
    number, tmp_path, monkeypatch, capsys
):
    task = TASKS[number]
    cells = notebook.content([task], "one", "my_homework")["cells"]
    key = number.replace(".", "-")
    printed = executed(cells, monkeypatch, tmp_path, capsys)
    assert f"NotImplementedError: task {number}" in printed[f"check-{key}"]
    assert "raises an exception" in printed[f"check-{key}"]
    for cell in cells:
        if cell["id"] == f"file-{key}":
            cell["source"] = cell["source"].split("\n", 1)[0] + "\n" + SOLVED[number]
    printed = executed(cells, monkeypatch, tmp_path, capsys)
    assert f"{number} {task.title}: passed" in printed[f"check-{key}"]


@pytest.mark.slow
@pytest.mark.parametrize("track", TRACKS)
def test_a_whole_notebook_fails_by_its_skeletons_alone(track, tmp_path, monkeypatch, capsys):
    tasks = [task for task in TASKS.values() if task.number.startswith(f"{track}.")]
    cells = notebook.content(tasks, "all", "my_homework")["cells"]
    printed = executed(cells, monkeypatch, tmp_path, capsys)
    for task in tasks:
        said = printed[f"check-{task.number.replace('.', '-')}"]
        assert f"NotImplementedError: task {task.number}" in said


def test_a_notebook_of_a_task_overwrites_nothing(homework):
    assert homework("notebook", "2.2") == (0, "2.2_quotient.ipynb\n")
    code, text = homework("notebook", "2.2")
    assert code == 2 and "may hold somebody's work" in text
    assert homework("notebook", "99")[0] == 2
    assert homework("--folder", "mine", "notebook", "4.5", "--out", "made")[0] == 0
    assert "%%writefile mine/4.5_matmul.cpp" in Path("made/4.5_matmul.ipynb").read_text()
