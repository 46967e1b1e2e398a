"""Builds: which GPUs the device `cuda` is built for, and what an edit of ops.def compiles."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

GPUS = Path(__file__).parents[2] / "src/cuda/gpus.cmake"


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
@pytest.mark.parametrize(
    "answer, architectures, reason",
    [
        ("echo 8.6", "86-real", ""),
        (r"printf '9.0\n8.6\n9.0\n7.5\n'", "90a-real;86-real", ""),
        ("echo 12.0", "120-real", ""),
        ("echo 7.5", "", "no GPU here has compute capability 8.0 or more"),
        ("echo No devices were found", "", "nvidia-smi names no GPU"),
        ("echo no driver 12.4; exit 9", "", "nvidia-smi names no GPU"),
        ("", "", "nvidia-smi names no GPU"),
    ],
)
def test_cuda_is_built_for_the_gpus_that_are_there(
    answer, architectures, reason, tmp_path, monkeypatch
):
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    script = tmp_path / "ask.cmake"
    script.write_text(
        f'include("{GPUS}")\nfind_gpus(found reason)\n'
        'file(WRITE "${CMAKE_CURRENT_LIST_DIR}/found" "${found}|${reason}")\n'
    )
    subprocess.run(["cmake", "-P", str(script)], check=True)
    found, _, said = (tmp_path / "found").read_text().partition("|")
    assert found == architectures
    assert found or said == reason


@pytest.mark.parametrize(
    "header", ["core/devices/launch.h", "bindings/bind.h", "cuda/infra/tables.h"]
)
def test_few_files_are_compiled_for_a_new_op(header):
    source, reached, waiting = GPUS.parents[1], set(), {header}
    while waiting:
        reached |= waiting
        text = "".join((source / name).read_text() for name in waiting)
        names = set(re.findall(r'^#include "(.+)"', text, re.MULTILINE)) - reached
        waiting = {name for name in names if (source / name).exists()}
    assert "core/ops.def" not in reached
