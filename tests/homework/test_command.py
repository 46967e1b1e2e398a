"""The command line: a student's way through a task, and a teacher's table."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from submissions import STRIDES

from tiny_torch.tools.homework.task import all_tasks


def test_a_students_way(homework, tmp_path):
    path = tmp_path / "my_homework" / "1.1_contiguous_strides.py"
    code, text = homework("start", "1.1")
    assert code == 0 and text.startswith("# 1.1 The strides of a contiguous array")
    assert "## Contract" in text and "## Hints" not in text
    assert not any(hint in text for hint in all_tasks()["1.1"].hints)
    code, text = homework("check", "1.1")
    assert code == 1 and "NotImplementedError: task 1.1" in text
    assert homework("use", "1.1")[0] == 2
    assert "1 of 3" in homework("hint", "1.1")[1]
    assert "2 of 3" in homework("hint", "1.1")[1]
    path.write_text(STRIDES)
    code, text = homework("check", "1.1")
    assert code == 0 and "passed, 13 cases" in text
    assert "trains on: 1.1" in homework("use", "1.1")[1]
    code, text = homework("status")
    assert text.startswith("5 of ")
    assert " yours | tiny_torch.base.layouts:contiguous_strides" in text and "2 hints" in text
    path.write_text(STRIDES + "\n# changed")
    text = homework("status")[1]
    assert " yours" not in text and "changed since it passed" in text
    assert homework("start", "1.1")[0] == 2
    assert "kept as" in homework("reset", "1.1")[1]
    assert "task 1.1" in path.read_text()


def test_a_script_runs_on_the_students_code(homework, tmp_path):
    homework("start", "2.2")
    (tmp_path / "my_homework" / "2.2_quotient.py").write_text(
        "def backward(saved, grad, needs):\n"
        "    x, y = saved\n"
        "    print('mine')\n"
        "    return grad / y if needs[0] else None, -grad * (x / y / y) if needs[1] else None\n"
    )
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "x = torch.tensor([8.0], requires_grad=True)\n"
        "(x / 2).backward()\n"
        "print(x.grad)\n"
    )
    assert homework("check", "2.2")[0] == 0
    assert homework("use", "2.2")[0] == 0
    command = [sys.executable, "-m", "tiny_torch", "homework", "run", "train.py"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.stderr == "on your code: 2.2 The gradient of a quotient\n"
    assert ran.stdout == "mine\ntensor([0.5000])\n"
    with (tmp_path / "my_homework" / "2.2_quotient.py").open("a") as file:
        file.write("# an edit\n")
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.stderr == (
        "on OUR code: 2.2 The gradient of a quotient, for your file has changed since it passed: "
        "homework check 2.2\n"
    )
    assert ran.stdout == "tensor([0.5000])\n"
    homework("check", "2.2")
    ran = subprocess.run([*command[:-1], "mlp", "--help"], capture_output=True, text=True)
    assert ran.returncode == 0 and "--epochs" in ran.stdout


def test_a_task_that_stands_alone_cannot_be_used(homework, tmp_path):
    homework("start", "7.5")
    (tmp_path / "my_homework" / "7.5_buffers.py").write_text(all_tasks()["7.5"].solution())
    code, text = homework("check", "7.5")
    assert code == 0 and "homework use" not in text
    code, text = homework("use", "7.5")
    assert code == 2 and "7.5 stands alone: nothing in the framework does its work" in text
    assert "def plan" in homework("show", "7.5", "--yes")[1]


def test_a_kernels_speed_is_told_once_it_has_passed(homework, tmp_path, monkeypatch):
    monkeypatch.setattr("tiny_torch.tools.homework.speed.SECONDS", 0)
    homework("start", "4.4")
    assert homework("speed", "4.4")[0] == 2
    (tmp_path / "my_homework" / "4.4_sum_rows.cpp").write_text(all_tasks()["4.4"].solution())
    assert homework("check", "4.4")[0] == 0
    code, text = homework("speed", "4.4")
    head, *rows = text.splitlines()
    assert code == 0 and head.split() == ["one", "thread", "plain", "(4.4)", "yours", "ours"]
    assert len(rows) == 2 and all(row.endswith(" GB/s") for row in rows)
    code, text = homework("speed", "7.5")
    assert code == 2


def test_a_cuda_kernel_is_neither_used_nor_measured(homework):
    code, text = homework("use", "5.1")
    assert code == 2 and "5.1 is a kernel of the emulated device, whose own cannot be" in text
    code, text = homework("speed", "5.1")
    assert code == 2 and "the speed of 5.1 is not measured: the emulator looks at each" in text
    assert "__global__ void axpy" in homework("show", "5.1", "--yes")[1]


def test_show_asks_first(homework, monkeypatch):
    monkeypatch.setattr("sys.stdin.readline", lambda: "n\n")
    assert "for grad in grads" in homework("show", "7.3", "--yes")[1]  # not the framework's
    assert homework("show", "1.1")[0] == 1
    code, text = homework("show", "1.1", "--yes")
    assert code == 0 and "layouts.py:" in text and "def contiguous_strides" in text
    assert "solution seen" in homework("status")[1]


def test_wrong_arguments(homework, tmp_path):
    assert homework("check", "1.1")[0] == 2
    assert homework("check", "9.9") == (
        2,
        "homework: there is no task 9.9; homework list shows them all\n",
    )
    for arguments in (["fly"], []):
        with pytest.raises(SystemExit):
            homework(*arguments)
    (tmp_path / "my_homework").mkdir()
    (tmp_path / "my_homework" / "status.json").write_text("{")
    code, text = homework("list")
    assert code == 2 and "is no status" in text


def test_a_class_is_graded(homework, tmp_path):
    for student, text in {
        "ada": STRIDES,
        "bob": "def contiguous_strides(shape):\n    return shape\n",
        "eve": "import os\nos._exit(0)\n",
    }.items():
        (tmp_path / "class" / student).mkdir(parents=True)
        (tmp_path / "class" / student / "1.1_contiguous_strides.py").write_text(text)
    (tmp_path / "class" / "zoe").mkdir()
    code, text = homework("grade", "class", "--json", "all.json", "--csv", "all.csv", "--seed", "1")
    assert code == 0 and "eve" in text
    results = json.loads((tmp_path / "all.json").read_text())["results"]
    scores = {name: [x["points"] for x in found.values()] for name, found in results.items()}
    assert scores == {"ada": [5], "bob": [0], "eve": [0], "zoe": []}
    assert "imports os" in results["eve"]["1.1"]["failure"]
    lines = (tmp_path / "all.csv").read_text().splitlines()
    assert lines[0].startswith("student,points,1.1") and lines[1].startswith("ada,5,5")
    assert homework("grade", "nobody")[0] == 2


PUBLISHED = """
import tiny_torch as torch
from tiny_torch.tools.homework import used
from tiny_torch.tools.homework.task import all_tasks

task = all_tasks()["6.3"]
ours, seen = task.solution(), []
used.replace(task, lambda *args, **kwargs: (seen.append(len(args)), ours(*args, **kwargs))[1])
x = torch.ones(1, 1, 3, 3)
torch.conv2d(x, x)
torch.nn.functional.conv2d(x, weight=x)
torch.nn.Conv2d(1, 1, 2)(x)
print(seen)
"""


def test_a_function_is_replaced_wherever_it_is_published_or_kept():
    command_line = [sys.executable, "-c", PUBLISHED]  # a process, since it stays replaced
    assert subprocess.run(command_line, capture_output=True, text=True).stdout == "[2, 1, 7]\n"


UNSCALED = """
import tiny_torch as torch
from tiny_torch.tools.homework import used
from tiny_torch.tools.homework.task import all_tasks

task, seen = all_tasks()["7.3"], []
mine = task.load(task.solution_text)
used.replace(task, lambda grads, factor: (seen.append(len(grads)), mine(grads, factor))[1])
w = torch.ones(2, requires_grad=True)
optimizer, scaler = torch.optim.SGD([w], lr=0.25), torch.amp.GradScaler("cpu", init_scale=8.0)
for factor in (1.0, float("inf")):
    optimizer.zero_grad()
    scaler.scale((w * w * factor).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
print(seen, w.tolist(), scaler.get_scale())
"""


def test_a_students_function_unscales_for_the_gradient_scaler():
    command_line = [sys.executable, "-c", UNSCALED]
    said = subprocess.run(command_line, capture_output=True, text=True).stdout
    assert said == "[1, 1] [0.5, 0.5] 4.0\n"
