"""Every task: its skeleton fails, our solution passes, each wrong solution fails.

`.ci/run` proves one task of each track; the slow tests prove all.
"""

from __future__ import annotations

import shutil
import subprocess

import pytest
from conftest import SOURCES

from tiny_torch.tools.homework.proof import LEAST, prove
from tiny_torch.tools.homework.task import all_tasks

TASKS = all_tasks()


@pytest.mark.slow
@pytest.mark.parametrize("number", TASKS)
def test_cases_tell_right_from_wrong(number):
    proof = prove(TASKS[number])
    assert proof.wrong == []
    assert proof.cases >= 5


@pytest.mark.parametrize("number", TASKS)
def test_wrong_solutions_are_ours_with_a_mistake(number):
    assert len(TASKS[number].mutants()) >= LEAST


@pytest.mark.slow
@pytest.mark.parametrize("number", [n for n, task in TASKS.items() if task.language == "cuda"])
def test_our_cuda_solution_is_compiled_for_a_gpu(number, tmp_path):
    if shutil.which("nvcc") is None or not SOURCES.is_dir():
        pytest.skip("needs nvcc and the sources")
    file = tmp_path / "solution.cu"
    words = '#include "cuda/infra/mma.h"\nusing tt::Half;\nusing tt::cuda::mma;\n'
    file.write_text(
        (words if "mma<" in TASKS[number].solution() else "") + TASKS[number].solution()
    )
    command = ["nvcc", "-std=c++17", "-arch=sm_80", "-I", str(SOURCES), "--expt-relaxed-constexpr"]
    command += ["-cubin", "-o", str(tmp_path / "solution.cubin"), str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("number", TASKS)
def test_a_page_has_what_a_student_looks_for(number):
    task = TASKS[number]
    headings = [line[3:] for line in task.page.splitlines() if line.startswith("## ")]
    assert {"Idea", "Contract", "Hints", "Common mistakes", "Further reading"} <= set(headings)
    assert task.page.startswith(f"# {number} {task.title}\n")
    assert len(task.hints) >= 2
    assert f"task {number}" in task.skeleton
