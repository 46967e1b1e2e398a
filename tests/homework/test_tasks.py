"""Every task: its skeleton fails, our solution passes, each wrong solution fails."""

from __future__ import annotations

import pytest

from tiny_torch.homework.proof import prove
from tiny_torch.homework.task import all_tasks

TASKS = all_tasks()


@pytest.mark.parametrize("number", TASKS)
def test_ours_passes_and_a_wrong_one_fails(number):
    proof = prove(TASKS[number], tried=1)
    assert proof.wrong == []
    assert proof.cases >= 5


@pytest.mark.slow
@pytest.mark.parametrize("number", TASKS)
def test_cases_tell_right_from_wrong(number):
    assert prove(TASKS[number]).wrong == []


@pytest.mark.parametrize("number", TASKS)
def test_a_page_has_what_a_student_looks_for(number):
    task = TASKS[number]
    headings = [line[3:] for line in task.page.splitlines() if line.startswith("## ")]
    assert {"Idea", "Contract", "Hints", "Common mistakes", "Further reading"} <= set(headings)
    assert task.page.startswith(f"# {number} {task.title}\n")
    assert len(task.hints) >= 2
    assert f"task {number}" in task.skeleton
