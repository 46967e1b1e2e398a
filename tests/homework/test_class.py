"""A class as a teacher gets it: honest, copied, hostile and broken submissions; exact points."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys

import pytest
from submissions import STRIDES

from tiny_torch.tools.homework import grading
from tiny_torch.tools.homework.alike import pairs, runs
from tiny_torch.tools.homework.task import all_tasks

TASKS = all_tasks()
STRIDES_TOO = """
def contiguous_strides(shape):
    out = []
    now = 1
    for size in reversed(shape):
        out.append(now)
        now = now * max(size, 1)
    return tuple(reversed(out))
"""
PLAN = TASKS["7.5"].solution()
COPIED = '''
"""My own work."""
def never_called(x):
    return [x for _ in range(10)] or {"a": 1}

def plan(parts):
    # where each part lies
    places = {}
    for one in sorted(range(len(parts)), key=lambda one: -parts[one][0]):
        bytes_, begin, end = parts[one]
        at = 0
        for low, high in sorted(
            (places[two], places[two] + parts[two][0])
            for two in places
            if parts[two][1] <= end and begin <= parts[two][2]
        ):
            if at + bytes_ <= low:
                break
            at = max(at, high)
        places[one] = at
    return [places[one] for one in range(len(parts))]
'''
PLAN_TOO = """
from typing import NamedTuple


class Placed(NamedTuple):
    low: int
    high: int
    first: int
    last: int

    def meets(self, low, high, first, last):
        alive = max(first, self.first) <= min(last, self.last)
        return alive and max(low, self.low) < min(high, self.high)


def plan(buffers):
    order = list(range(len(buffers)))
    order.sort(key=lambda k: (-buffers[k][0], k))
    placed, answer = [], [0] * len(buffers)
    for k in order:
        size, first, last = buffers[k]
        tries = [0] + [p.high for p in placed]
        tries.sort()
        for low in tries:
            if not any(p.meets(low, low + size, first, last) for p in placed):
                placed.append(Placed(low, low + size, first, last))
                answer[k] = low
                break
    return answer
"""


def strides(body: str, above: str = "") -> dict[str, str]:
    return {"1.1": f"{above}\ndef contiguous_strides(shape):\n    {body}\n"}


ANSWERS = str(TASKS["1.1"].folder / "answers.py")
LATE = "no answer within 5 s: does a loop never end?"
CLASS = {  # student: (files by task, points, what is told of 1.1)
    "ada": ({"1.1": STRIDES, "7.5": PLAN}, 15, ""),
    "bob": ({"1.1": STRIDES_TOO, "7.5": COPIED}, 15, ""),
    "cyd": ({"1.1": STRIDES, "7.5": PLAN_TOO}, 15, ""),
    "dan": (strides("while True: pass"), 0, f"takes too long: {LATE}"),
    "eve": (
        strides("os._exit(0)", "import os"),
        0,
        "is against the rules: line 1: imports os; a solution needs __future__, typing, "
        "collections.abc, math",
    ),
    "fay": (
        strides("print('1.1: passed, 13 cases, 5 points')"),
        0,
        "answers something else: the result is None, expected (1,)",
    ),
    "gus": (
        strides(f"open({ANSWERS!r}, 'w').write('')"),
        0,
        "is against the rules: line 3: `open` is not for a solution",
    ),
    "hal": (
        strides("return answer(shape)", f"exec(open({ANSWERS!r}).read())"),
        0,
        "is against the rules: line 1: `exec` is not for a solution",
    ),
    "ivy": (
        strides("return (1,)", "from tiny_torch.tools.homework import trial\ntrial.check = None"),
        0,
        "is against the rules: line 1: imports tiny_torch.tools.homework; a solution needs "
        "__future__, typing, collections.abc, math",
    ),
    "jim": (strides("return [0] * 10**12"), 0, "raises an exception: MemoryError: "),
    "kim": (strides("raise SystemExit(0)"), 0, "raises an exception: SystemExit: 0"),
    "lee": (
        strides("raise ValueError('\\x1b[2Jlee 15 points\\rlee')"),
        0,
        "raises an exception: ValueError: \ufffd[2Jlee 15 points",
    ),
    "mia": (strides("return contiguous_strides(shape)"), 0, "raises an exception: RecursionError: "
            "maximum recursion depth exceeded"),
    "=1+1": ({}, 0, ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The class, and what else may lie in its folder."""
    top = tmp_path_factory.mktemp("class")
    for student, (files, *_) in CLASS.items():
        (top / student).mkdir()
        for number, text in files.items():
            (top / student / TASKS[number].file).write_text(text)
    strange = {name: top / f"strange {name}" for name in ("text", "size", "link", "pipe", "dir")}
    for path in strange.values():
        path.mkdir()
    name = TASKS["1.1"].file
    (strange["text"] / name).write_bytes(b"\xff\xfe")
    with (strange["size"] / name).open("wb") as file:
        file.truncate(1 << 30)
    (strange["link"] / name).symlink_to("/etc/passwd")
    os.mkfifo(strange["pipe"] / name)
    (strange["dir"] / name).mkdir()
    (strange["dir"] / "strides.py").write_text(STRIDES)
    (top / "locked").mkdir()
    (top / "etc").symlink_to("/etc")
    (top / "ada.zip").write_text("")
    return top


@pytest.fixture(scope="module")
def table(folder):
    """Graded four at a time, once for all tests."""
    listdir = os.listdir

    def locked(path):
        if os.path.basename(path) == "locked":
            raise PermissionError(13, "Permission denied")
        return listdir(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tiny_torch.tools.homework.trial.CASE", 5)
        patch.setattr("tiny_torch.tools.homework.grading.os.listdir", locked)
        return grading.grade(folder, TASKS, 4, 1)


linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")


@linux
@pytest.mark.parametrize("student", CLASS)
def test_points_are_those_that_were_earned(table, student):
    files, points, told = CLASS[student]
    results = table.results[student]
    assert results.keys() == files.keys()
    assert grading.points(results) == points
    assert results.get("1.1", {"failure": ""})["failure"].startswith(told)
    assert not points or not any(found["failure"] for found in results.values())


def test_answers_are_as_they_were(table):
    assert "def answer(shape)" in (TASKS["1.1"].folder / "answers.py").read_text()


STRANGE = {
    "text": "cannot be read: it is no text in UTF-8: 'utf-8' codec can't decode byte 0xff in "
    "position 0: invalid start byte",
    "size": "cannot be read: it has more than 128 KiB",
    "link": "cannot be read: it is a link",
    "pipe": "cannot be read: it is no file",
    "dir": "cannot be read: Is a directory",
}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_text_file_is_told(table, kind):
    found = table.results[f"strange {kind}"]["1.1"]
    assert found == {"points": 0, "right": 0, "kind": "file", "failure": STRANGE[kind]}


def test_what_is_not_checked_is_noted(table):
    assert table.notes["strange dir"] == ["strides.py is the file of no task"]
    assert table.notes["locked"] == ["the folder cannot be read: Permission denied"]
    assert table.skipped == ["ada.zip", "etc"]
    assert table.results["locked"] == table.results["=1+1"] == {}


def test_a_copy_with_other_names_is_found_and_two_solutions_are_not(table):
    assert [pair[:3] for pair in table.alike] == [("7.5", "ada", "bob")]
    assert round(table.alike[0].share, 1) == 0.9


@linux
def test_json_and_csv_can_be_read_back(table):
    whole = json.loads(grading.as_json(table))
    assert whole["points"]["ada"] == 15 and whole["points"]["=1+1"] == 0
    assert whole["results"]["dan"]["1.1"]["kind"] == "time"
    assert [list(pair) for pair in whole["alike"]] == [["task", "one", "other", "share"]]
    head, *rows = csv.reader(grading.as_csv(table).splitlines())
    assert head == ["student", "points", *TASKS]
    scores = {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}
    assert scores["'=1+1"]["points"] == "0" and scores["'=1+1"]["1.1"] == ""
    assert (scores["ada"]["points"], scores["ada"]["7.5"], scores["dan"]["1.1"]) == (
        "15",
        "10",
        "0",
    )
    assert len(rows) == len(table.results) == 20


@linux
def test_the_table_counts_what_there_is(table):
    lines = grading.table_text(table).splitlines()
    assert "20 students, 21 files: 5 file, 6 passed, 4 raised, 4 rule, 1 time, 1 wrong" in lines
    assert "nearly the same in 7.5: ada and bob (90%)" in lines
    assert "not a student's folder: etc" in lines
    assert not any("\x1b" in line for line in lines)


def test_a_task_that_fails_by_itself_is_no_students_fault(tmp_path):
    folder = tmp_path / TASKS["1.1"].folder.name
    shutil.copytree(TASKS["1.1"].folder, folder)
    (folder / "answers.py").write_text("def cases(rng):\n    yield 1 / 0\n")
    found = grading.result(TASKS["1.1"]._replace(folder=folder), STRIDES, 0)
    assert (found["kind"], found["points"]) == ("task", 0)
    assert found["failure"] == "the task itself fails: ZeroDivisionError: division by zero"


# ---- files alike -------------------------------------------------------------------------------
TILED = TASKS["4.6"].solution()
RENAMED = (
    TILED.replace("kDepth", "kSome").replace("sum", "acc").replace("//", "// my own: ")
    + "\n/* and more */ inline int unused(int x) { return x + 1; }\n"
)


def test_kernels_are_compared_too():
    texts = {
        "ada": {"4.6": TILED},
        "bob": {"4.6": RENAMED},
        "cyd": {"4.6": TASKS["4.5"].solution()},
    }
    assert [pair[:3] for pair in pairs(texts, TASKS)] == [("4.6", "ada", "bob")]


def test_skeletons_are_nobodys_copy():
    for number, task in TASKS.items():
        texts = {"ada": {number: task.skeleton}, "bob": {number: task.skeleton}}
        assert pairs(texts, TASKS) == []


@pytest.mark.parametrize(
    "text", ["/*" * 60000, '"' * 120001, '\\"' * 60000, "'''" * 40001, "(" * 120000, "\x00" * 9]
)
def test_any_text_has_runs(text):
    for language in ("python", "c++"):
        assert len(runs(text, language)) < 99
