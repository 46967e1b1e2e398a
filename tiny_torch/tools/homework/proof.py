"""Proves a task: the empty skeleton fails, our solution passes, and each wrong one fails."""

from __future__ import annotations

from typing import NamedTuple

from tiny_torch.tools.homework.task import Task
from tiny_torch.tools.homework.trial import check

LEAST = 3  # wrong solutions of a task


class Proof(NamedTuple):
    """What was shown; `wrong` tells what was not, and is empty for a good task."""

    task: Task
    cases: int
    mutants: int
    wrong: list[str]


def prove(task: Task, seed: int = 0) -> Proof:
    """Checks the skeleton, our solution and the wrong ones."""
    in_ours = task.language == "python" and not task.stands_alone
    namespace = task.replaces.partition(":")[0] if in_ours else ""
    wrong = []
    empty = check(task, task.skeleton, seed)
    if empty.failure is None or f"task {task.number}" not in empty.failure.text:
        wrong.append(
            f"the skeleton does not say that task {task.number} is not implemented: {empty.failure}"
        )
    ours = check(task, task.solution_text, seed, namespace)
    if ours.failure is not None:
        wrong.append(f"our solution fails: {ours.failure}")
    if ours.missing:
        wrong += ours.missing
    mutants = task.mutants()
    if len(mutants) < LEAST:
        wrong.append(f"{len(mutants)} wrong solutions, at least {LEAST} are needed")
    for name, text in mutants.items():
        failure = check(task, text, seed, namespace).failure
        if failure is None:
            wrong.append(f"passes, though wrong: {name}")
        elif failure.kind in ("rule", "load", "compile"):
            wrong.append(f"cannot be tried: {name}: {failure.text}")
    return Proof(task, ours.right, len(mutants), wrong)
