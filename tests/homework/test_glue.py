"""What `homework use` puts into the framework: our solutions of C++ tasks answer there as ours do.

The check of a task calls the student's function alone; here its glue hands it to the framework.
"""

from __future__ import annotations

import shutil

import pytest

import tiny_torch as torch
from tiny_torch.tools.homework import kernel, used
from tiny_torch.tools.homework.task import all_tasks

TASKS = {
    n: task
    for n, task in all_tasks().items()
    if task.language == "c++" and (task.folder / "glue.cpp").exists()
}
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def layer_norm(x):
    x = x.clone().requires_grad_()
    y = torch.nn.functional.layer_norm(x, x.shape[-1:], x[0].detach(), x[1].detach())
    y.backward(x.detach())
    return [y.detach(), x.grad, torch.nn.functional.layer_norm(x.detach(), x.shape[-1:])]


def adamw(decay):
    w = drawn(7, 3).requires_grad_()
    optimizer = torch.optim.AdamW([w], lr=0.1, weight_decay=decay)
    for k in range(3):
        w.grad = drawn(7, 3) * k
        optimizer.step()
    return w.detach()


def products():
    a, b = drawn(5, 4, 6), drawn(5, 6, 3)
    wide = drawn(70, 90)
    return [
        a @ b,
        a @ b[0],
        b[0].mT @ a[0].mT,
        wide @ wide.mT,
        drawn(3).addmm(a[0], b[0]),
        a[0] @ b[0][:, 0],
    ]


CALLS = {  # what reaches the kernel: dense memory, views, and other dtypes
    "4.1": lambda: [
        f(d) for x in (drawn(3, 5), drawn(4, 3, 2).mT.double()) for d in (0, -1)
        for f in (x.softmax, x.log_softmax)
    ],
    "4.2": lambda: [
        x.contiguous() for x in (drawn(3, 5).T, drawn(4, 6)[:, ::2], drawn(2, 3, 4).mT.short())
    ] + [drawn(3).expand(2, 3).clone(), drawn(5).double().half()],
    "4.3": lambda: [
        drawn(3, 5) + drawn(5), drawn(3, 1) + drawn(1, 4), drawn(4, 3).T + drawn(3, 4),
        drawn(6, 4)[::2].add_(drawn(4)), drawn(3).double() + drawn(3),
    ],
    "4.4": lambda: [drawn(3, 40).sum(d) for d in (0, 1)]
    + [drawn(4, 3, 5).sum((0, 2)), drawn(9, 4).T.sum(-1), drawn(3, 3).double().sum()],
    "4.5": products,
    "4.6": products,
    "4.7": lambda: layer_norm(drawn(6, 9)) + layer_norm(drawn(3, 4).double()),
    "4.8": lambda: [adamw(0.0), adamw(0.1)],
}  # fmt: skip


@pytest.mark.parametrize(
    "number", [n if n in ("4.3", "4.6") else pytest.param(n, marks=pytest.mark.slow) for n in TASKS]
)
def test_the_framework_runs_on_the_solution(number, tmp_path):
    task = TASKS[number]
    before = CALLS[number]()
    path = tmp_path / task.file
    path.write_text(task.solution())
    with used.override(task, kernel.build_fast(task, path)):
        found = CALLS[number]()
    torch.testing.assert_close(found, before, rtol=1e-4, atol=1e-5)
    assert CALLS[number]()[0].equal(before[0])
