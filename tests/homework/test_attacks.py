"""No attack earns a point, and what is honest still does."""

from __future__ import annotations

import subprocess
import sys

import pytest
from attack_cases import ATTACKS, TASKS
from honest_cases import HONEST, TILES

from tiny_torch.tools.homework import grading, kernel, rules, trial

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")
QUICK = {n for n, task in TASKS.items() if task.language == "python" and n[0] in "178"}
# of those that take longer, one of each kind
OTHERS = {
    "the method that does it", "an op of the framework, by annotations", "the original, by gc",
    "a constructor that answers", "our solution, included", "a symbol of Python",
    "a sum by one thread", "tensor cores on zeros", "the emulator's counts", "assembly",
    "a kernel's variable that a function sets", "loops that become vectors",
    "a function hidden by an attribute by a macro",
}  # fmt: skip


def chosen(name, number):
    quick = number in QUICK or name in OTHERS
    return pytest.param(name, marks=[] if quick else [pytest.mark.slow])


def failure_of(name, seed=1):
    number, text = ATTACKS[name]
    found = grading.result(TASKS[number], text, seed)
    assert found["points"] == 0 and found["kind"] not in ("passed", "task"), found
    return found


def test_there_are_enough():
    assert len(ATTACKS) >= 40


@pytest.mark.parametrize("name", [chosen(name, number) for name, (number, _) in ATTACKS.items()])
def test_it_earns_nothing(name):
    failure_of(name)


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in TASKS]
)
def test_an_honest_solution_earns_its_points(number):
    task = TASKS[number]
    found = grading.result(task, HONEST.get(number, task.solution_text), 1)
    assert (found["points"], found["failure"]) == (task.points, "")


@pytest.mark.slow
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in TILES.items()])
def test_any_tile_earns_its_points(text):
    found = grading.result(TASKS["4.6"], text, 1)
    assert (found["points"], found["failure"]) == (TASKS["4.6"].points, "")


def test_a_students_process_has_no_secret_of_the_graders(monkeypatch):
    monkeypatch.setenv("API_TOKEN", "a secret")
    monkeypatch.setattr(rules, "broken_by", lambda *_: "")
    text = "import os\ndef contiguous_strides(shape):\n    raise ValueError(dict(os.environ))\n"
    told = trial.check(TASKS["1.1"], text, 1).failure.text
    assert "PATH" in told and "secret" not in told


@pytest.mark.slow
@pytest.mark.parametrize("option", ["-fno-such-option", "-O0"])
def test_a_compiler_that_does_not_count_is_told(option, monkeypatch):
    monkeypatch.setattr(kernel, "COUNTED", (*kernel.COUNTED, option))
    verdict = trial.check(TASKS["4.6"], TASKS["4.6"].solution(), 1)
    assert (verdict.failure, len(verdict.missing)) == (None, 1)


MODULES = ("secrets", "json", "numpy", "csv", "hashlib", "base64", "sitecustomize", "values")
STARTING = ("importlib", "warnings", "tiny_torch")  # which Python imports before ours


@pytest.mark.parametrize(
    "command, safe",
    [
        (["check", "1.1"], False),
        (["grade", "."], True),
        pytest.param(["grade", "run"], False, marks=pytest.mark.slow),
        pytest.param(["list"], False, marks=pytest.mark.slow),
    ],
)
def test_a_module_of_a_students_folder_never_runs(command, safe, tmp_path):
    """Named as what Python, NumPy, the grader and its worker import; `safe`: with -P."""
    if safe and sys.version_info < (3, 11):
        pytest.skip("Python 3.11 has -P")
    mine = tmp_path / "my_homework"
    mine.mkdir()
    (mine / TASKS["1.1"].file).write_text(HONEST["1.1"])
    for folder in (tmp_path, mine):
        (folder / "run").mkdir()
        for name in (*MODULES, *(STARTING if safe else ())):
            (folder / f"{name}.py").write_text("print('it ran'); raise SystemExit(7)")
    python = [sys.executable, *(["-P"] if safe else []), "-m", "tiny_torch", "homework"]
    for folder in (tmp_path, mine):
        ran = subprocess.run(
            [*python, "--folder", str(mine), *command], cwd=folder, capture_output=True, text=True
        )
        assert (ran.returncode, ran.stderr) == (0, "") and "it ran" not in ran.stdout


def breaks_a_rule(number, text):
    return rules.broken_by(text, TASKS[number].language, TASKS[number].imports) != ""


@pytest.mark.parametrize(
    "name",
    [chosen(name, number) for name, (number, x) in ATTACKS.items() if breaks_a_rule(number, x)],
)
def test_it_earns_nothing_without_rules(name, monkeypatch):
    """What a process contains decides, whatever words a rule would have found in the text."""
    monkeypatch.setattr(rules, "broken_by", lambda *_: "")
    monkeypatch.setattr(trial, "CASE", 3)
    failure_of(name)
