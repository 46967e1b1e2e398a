"""tests/cuda/test_cuda_*.py hold what is true of the device `cuda`: on a GPU, and on the emulator.

The emulator takes that name for a whole process. So each of these files is one test here, which
runs it in a process with TINY_TORCH_CUDA=emulated. For one alone, or with other options:

    TINY_TORCH_CUDA=emulated pytest tests/cuda/test_cuda_streams.py -k event

With TINY_TORCH_CUDA=on they run on a GPU, as far as they say nothing of the emulator.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tiny_torch.base import devices

SECONDS = 300


class Process(pytest.Item):
    """The run of a file, whose output is shown where it fails."""

    def runtest(self) -> None:
        if not (devices.LIBRARIES / "cuda_emulated.so").exists():
            pytest.skip("built with TINY_TORCH_CUDA_EMULATED=OFF")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(self.path)]
        done = subprocess.run(
            command,
            env={**os.environ, "TINY_TORCH_CUDA": "emulated"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        if done.returncode:
            pytest.fail(f"{' '.join(command)}\n{done.stdout}{done.stderr}", pytrace=False)


class File(pytest.File):
    def collect(self) -> Iterator[Process]:
        process = Process.from_parent(self, name="emulated")
        if "(oracle" in self.path.read_text() and importlib.util.find_spec("torch"):
            process.add_marker(pytest.mark.torch)  # without PyTorch it runs the other tests
        yield process


def pytest_pycollect_makemodule(module_path, parent):
    if module_path.name.startswith("test_cuda_") and os.environ["TINY_TORCH_CUDA"] == "off":
        return File.from_parent(parent, path=module_path)
    return None
