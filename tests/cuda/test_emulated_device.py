"""The device `cuda-emulated`: CUDA's kernels on the host give what the CPU's give."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cases.all_cases import CASES
from cases.op_cases import SHAPES
from helpers import CUDA as DEVICE
from helpers import compare, gradients, operands, outcome

import tiny_torch as torch

EVERY_OP = pytest.mark.parametrize(
    ("case", "dtype"),
    [pytest.param(case, d, id=f"{case.name}-{d}") for case in CASES for d in case.dtypes],
)


def run(case, dtype, layout, device):
    shapes = (case.shapes or SHAPES[case.arity])[0]
    inputs = case.domains, shapes, [layout] * case.arity, [dtype] * case.arity
    if case.gradient and dtype == "float64":
        return outcome(lambda: gradients(torch, case, inputs, device))
    return outcome(lambda: case(torch, *operands(torch, *inputs, device)))


@EVERY_OP
def test_every_op_gives_what_the_cpu_gives(case, dtype):
    takes_gradients = case.gradient and dtype == "float64"
    for layout in "contiguous", "permuted":
        error, expected = run(case, dtype, layout, "cpu")
        its_error, found = run(case, dtype, layout, DEVICE)
        assert repr(error) == repr(its_error)
        ulps = case.gradient_ulps * 16 if takes_gradients else case.ulps
        for ours, theirs in zip(found, expected, strict=True):
            compare(ours, theirs, f"{case.name} {dtype} {layout}", ulps=ulps)


def test_further_kernels_take_no_more_address_space():
    def mapped():
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")

    x = torch.ones(3, device=DEVICE)
    before = mapped()
    for f in torch.sin, torch.cos, torch.tan, torch.sinh, torch.cosh, torch.tanh, torch.expm1:
        f(x)
    assert mapped() - before < 64 * 2**20


def test_the_host_cannot_reach_its_memory():
    program = (
        "import ctypes; import tiny_torch as torch\n"
        f"x = torch.ones(3, device='{DEVICE}') + 1; assert x.tolist() == [2, 2, 2]\n"
        "print('before', flush=True); ctypes.string_at(x.data_ptr(), 12)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("before\n", -signal.SIGSEGV), done.stderr
