"""benchmarks/: every line can be read, and a worker measures."""

import importlib
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))
from benchmarks import report  # noqa: E402
from benchmarks.__main__ import SUITES  # noqa: E402
from benchmarks.gpu import checks, session  # noqa: E402
from benchmarks.gpu.lines import NOT_TINY, TINY, make_lines  # noqa: E402
from benchmarks.gpu.worker import prepared  # noqa: E402
from benchmarks.line import Line  # noqa: E402
from benchmarks.turns import Result  # noqa: E402


@pytest.mark.parametrize("suite", SUITES)
def test_lines_can_be_compiled(suite):
    lines = importlib.import_module(f"benchmarks.{suite}").make_lines()
    assert len({line.name for line in lines}) == len(lines)
    for line in lines:
        for code in (line.prepare, line.statement, line.before):
            compile(code, line.name, "exec")
        compile(f"{line.flops}, {line.bytes}", line.name, "eval")


def test_two_ranks_are_measured_in_turns():
    command = [sys.executable, "-m", "benchmarks.distributed", "--rounds", "2", "--only", " 1 KiB"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done.stderr
    titles, _, row = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert titles.startswith("|  | tiny_torch, ms |") and row.startswith("| all_reduce 1 KiB | ")
    assert titles.count("|") == row.count("|")


def test_a_worker_measures():
    statement = "y = x + 1"
    line = Line("add", 1.0, "x = torch.ones(2**20)", statement, turn=0.01, bytes="2 * nbytes([x])")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.worker", "tiny_torch", "1"],
        input=json.dumps(asdict(line)) + "\n\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    about, facts, seconds = map(json.loads, done.stdout.splitlines())
    assert about["size"] > 10**6 and 0 < seconds < 1
    assert facts["work"] == [0, 2 * 4 * 2**20]
    assert 7 <= facts["memory"] / 2**20 < 12  # x and y, of 4 MiB each


def test_a_row_says_what_was_measured():
    line = Line("add", 1.0, "", "")
    result = Result(
        line, (3 << 20, 6 << 20), (0, 10**6), [(1e-3, 2e-3), (2e-3, 2e-3), (3e-3, 2e-3)]
    )
    assert report.row(result, (1e9, 1e9)) == (
        "| add | 2 ms | 2 ms | 1.00 | 0.50-1.50 | ≤ 1.0 | 50% · 50% | 3.0 · 6.0 MiB (0.50) |"
    )


# ---- on a GPU -----------------------------------------------------------------------------------
GPU_LINES = [
    pytest.param(x, id=x.name, marks=[pytest.mark.slow] * x.name.startswith(NOT_TINY))
    for x in make_lines()
    if not x.name.startswith("captured")
]


@pytest.mark.parametrize("line", GPU_LINES)
def test_a_line_for_a_gpu_runs_anywhere(torch, line):
    names = prepared(torch, "cpu", "TINY", line)
    exec(line.call, names)
    assert eval(line.work, dict(TINY)) >= 0 and eval(line.moved, dict(TINY)) >= 0


def test_the_cases_of_a_gpu_are_right_on_the_cpu(capsys):
    assert len(checks.CASES) == 60
    assert all(checks.compare(case.removeprefix("*"), "cpu") for case in checks.CASES)
    assert capsys.readouterr().out.count("ok ") == 60
    assert not checks.compare("r(3) + nothing", "cpu")


def test_names_of_lines_differ():
    assert len({line.name for line in make_lines()}) == len(make_lines())


def test_a_step_that_is_cut_leaves_what_it_said(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "WORK", tmp_path)
    program = "import time\nprint('seen', flush=True)\ntime.sleep(60)"
    assert session.run([sys.executable, "-c", program], tmp_path / "said", 2) is None
    assert (tmp_path / "said").read_text() == "seen\n"
    assert session.run([sys.executable, "-c", "raise SystemExit(3)"], tmp_path / "said", 20) == 3


def test_a_failed_build_stops_and_other_steps_go_on(tmp_path, monkeypatch, capsys):
    def stop(limit, quick):
        raise session.Stop("there is no cmake")

    def fail(limit, quick):
        raise OSError("gone")

    monkeypatch.setattr(session, "WORK", tmp_path / "work")
    monkeypatch.setattr(session, "OUT", tmp_path / "out")
    monkeypatch.setattr(session, "card", lambda: "no card")
    steps = {"build": (stop, 1, 1), "1": (fail, 1, 1), "2": (lambda *_: "right", 1, 0)}
    monkeypatch.setattr(session, "STEPS", steps)
    assert session.main(["1", "2"]) == 1  # it builds first
    assert "STOPPED: there is no cmake" in capsys.readouterr().out
    (tmp_path / "work" / "built").touch()
    assert session.main(["1", "2"]) == 0
    said = capsys.readouterr().out
    assert "failed: OSError: gone" in said and said.endswith("right\n")
    assert session.main(["quick", "2"]) == 0 and session.main(["6"]) == 2
    verdicts = (tmp_path / "out" / "verdicts.txt").read_text()
    assert verdicts.count("right") == 1 and "gone" in verdicts


def test_the_slowest_kernels_of_a_profile(tmp_path):
    head = '"ID","Kernel Name","Block Size","Grid Size",' + ",".join(
        f'"{metric}"' for metric in session.METRICS
    )
    rows = [",,,,us,%,%,%,register/thread"]
    for number, (name, time, registers) in enumerate(
        [("add", "1,003.5", 32), ("sum", "2.5", 32), ("sum", "7.5", 40)]
    ):
        kernel = f"void tt::cuda::<unnamed>::{name}<float>(int)"
        rows.append(
            f'"{number}","{kernel}","(256, 1, 1)","(9, 1, 1)","{time}","10","80","50","{registers}"'
        )
    (tmp_path / "log").write_text("==PROF== Connected\n" + "\n".join([head, *rows]))
    table = session.slowest(tmp_path / "log")
    assert table[0][:3] == ["µs", "kernel", "SM %"]
    assert [row[:2] for row in table[1:]] == [
        ["1003.5", "void tt::cuda::add<float>(int)"],
        ["7.5", "void tt::cuda::sum<float>(int)"],
    ]
    assert table[2][5] == "40"
    (tmp_path / "log").write_text("==ERROR== no permission")
    assert session.slowest(tmp_path / "log") == []
