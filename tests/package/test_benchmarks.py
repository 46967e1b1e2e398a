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
