"""A teacher's course: the choice of tasks, tasks of their own, and what is told of a bad file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tiny_torch.tools.homework.course import tasks_of
from tiny_torch.tools.homework.new import make_course, make_task, untouched_files
from tiny_torch.tools.homework.task import all_tasks
from tiny_torch.tools.homework.trial import check

RIGHT = all_tasks()["7.5"].solution()


def test_without_a_course_all_tasks_are_there():
    assert tasks_of(None) == all_tasks()


def test_everything_follows_the_course(homework, tmp_path):
    (tmp_path / "course.txt").write_text("# two weeks\n7.5 30  # the last first\n1.1\n\n")
    code, text = homework("list")
    assert code == 0
    assert [line.split()[0] for line in text.splitlines() if " points " in line] == ["7.5", "1.1"]
    assert "30 points" in text
    homework("start", "7.5")
    (tmp_path / "my_homework/7.5_buffers.py").write_text(RIGHT)
    assert homework("check", "7.5")[0] == 0
    assert homework("status")[1].startswith("30 of 35 points\n")
    assert homework("check", "2.2") == (
        2,
        "homework: there is no task 2.2; homework list shows them all\n",
    )
    code, text = homework("grade", "my", "--json", "all.json")
    assert code == 2
    (tmp_path / "class/ada").mkdir(parents=True)
    (tmp_path / "class/ada/7.5_buffers.py").write_text(RIGHT)
    assert homework("grade", "class", "--json", "all.json")[0] == 0
    assert json.loads(Path("all.json").read_text())["results"]["ada"]["7.5"]["points"] == 30


def test_a_course_in_another_folder(homework, tmp_path):
    (tmp_path / "autumn").mkdir()
    (tmp_path / "autumn/course.txt").write_text("2.3 1\n")
    assert homework("--course", "autumn", "status")[1].startswith("0 of 1 points")
    assert homework("--course", "spring", "list") == (
        2,
        "homework: spring is no course: it has no course.txt\n",
    )


BAD = {
    "9.9": "course.txt, line 1: there is no task 9.9",
    "1.1\n1.2\n1.1": "course.txt, line 3: task 1.1 stands there twice",
    "1.1 ten": "course.txt, line 1: points are a whole number, got 'ten'",
    "1.1 -5": "course.txt, line 1: points are a whole number, got '-5'",
    "1.1 5 points": "course.txt, line 1: a task's number and its points are expected, "
    "got '1.1 5 points'",
    "# nothing": "course.txt names no task",
    "1.1 \udcff": "course.txt is no text in UTF-8: 'utf-8' codec can't decode byte 0xff in "
    "position 4: invalid start byte",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_course_is_told_in_a_line(homework, tmp_path, text):
    (tmp_path / "course.txt").write_text(text, errors="surrogateescape")
    assert homework("list") == (2, f"homework: {BAD[text]}\n")


HEAD = "+++\ntitle: T\npoints: 1\nminutes: 1\nlanguage: python\nsymbol: f\nreplaces: -\n+++\n"
BAD_TASKS = {  # folder: (its task.md, what is told of it)
    "9_own/9.1_a": (HEAD.replace("points: 1", "points: many"), "points are a whole number, got"),
    "9_own/9.2_b": (HEAD.replace("language: python", "language: go"), "language is one of"),
    "9_own/9.3_c": (HEAD.replace("title: T", "title T"), "`name: value` is expected, got 'title"),
    "9_own/9.4_d": (HEAD.replace("title: T\n", ""), "lacks ['title'], and nobody knows []"),
    "9_own/9.5_e": ("# 9.5", "begins with lines `name: value` between two `+++`"),
    "9_own/first": (HEAD, "a task's folder is called as 2.2_quotient"),
    "2_own/2.2_quotient": (HEAD, "2.2 is a task of ours, 'The gradient of a quotient'; give yours"),
}


@pytest.mark.parametrize("folder", BAD_TASKS)
def test_a_bad_task_is_told_in_a_line(homework, tmp_path, folder):
    page, told = BAD_TASKS[folder]
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "task.md").write_text(page)
    (tmp_path / "course.txt").write_text("1.1\n")
    code, text = homework("list")
    assert code == 2 and told in text and folder in text and text.count("\n") == 1


def test_two_tasks_with_one_number(homework, tmp_path):
    for folder in ("9_own/9.1_a", "9_more/9.1_b"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "task.md").write_text(HEAD)
    (tmp_path / "course.txt").write_text("9.1\n")
    code, text = homework("list")
    assert code == 2 and "have one number" in text


@pytest.mark.parametrize("kind", ["python", pytest.param("c++", marks=pytest.mark.slow)])
def test_a_new_task_is_a_working_example(homework, tmp_path, kind):
    assert homework("new", "9.1", "Running means")[0] == 2  # no course yet
    assert homework("course", "autumn")[0] == 0
    assert homework("course", "autumn")[0] == 2
    assert list(tasks_of(Path("autumn"))) == list(all_tasks())
    course = ("--course", "autumn")
    code, text = homework(*course, "new", "9.1", "The running mean", "--kind", kind)
    folder = tmp_path / "autumn/9_own/9.1_running_mean"
    assert code == 0 and str(Path("autumn/9_own/9.1_running_mean")) in text
    code, text = homework(*course, "prove", "9.1")
    assert code == 0 and "| ok |" in text
    assert text.splitlines()[-1].startswith("9.1 is the example still in: task.md, skeleton.")
    for file in folder.iterdir():
        file.write_text(file.read_text() + "\n")
    assert untouched_files(tasks_of(Path("autumn"))["9.1"]) == []
    task = tasks_of(Path("autumn"))["9.1"]
    assert {"Idea", "Contract", "Hints"} <= set(task.page.replace("## ", "").split("\n"))
    assert len(task.hints) == 2


def test_a_new_kernels_task_builds(tmp_path):
    make_course(tmp_path)
    make_task(tmp_path, "9.1", "Softmax of rows", "c++")
    task = tasks_of(tmp_path)["9.1"]
    assert check(task, task.solution_text, 0).failure is None


def test_a_new_task_overwrites_nothing(homework, tmp_path):
    (tmp_path / "course.txt").write_text("1.1")
    assert homework("new", "9.1", "One")[0] == 0
    assert (tmp_path / "course.txt").read_text() == "1.1\n9.1\n"
    (tmp_path / "9_own/9.2_two").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for number, title, told in [
        ("9.1", "Another", "there is a task 9.1 already"),
        ("2.2", "Another", "there is a task 2.2 already"),
        ("9.2", "Two", "File exists"),
        ("9", "Three", "a task's number is as 9.1, got '9'"),
        ("9.03", "Three", "a task's number is as 9.1, got '9.03'"),
        ("9.3", "for", "a title begins with a word"),
        ("9.3", "3 words", "a title begins with a word"),
        ("9.3", "../..", "a title begins with a word"),
        ("9.3", 'a "b"', "a title has no quotes and no backslash"),
    ]:
        code, text = homework("new", number, title)
        assert code == 2 and told in text, text
    assert sorted(tmp_path.rglob("*")) == before
