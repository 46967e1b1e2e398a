"""Counts and sizes that no memory holds: an error at once, before anything is allocated or tabled.

All calls run in a child that may take little memory; each says what it raised, how long it took and
how much memory it touched.
"""

# ruff: noqa: E501 -- a call is one line

from __future__ import annotations

import functools
import json
import subprocess
import sys

import pytest

# What is raised follows the bar: the exception, and a piece of its text.
CALLS = """
F.max_pool2d(torch.ones(1, 1, 4, 4), 2**40, ceil_mode=True) | RuntimeError: without overflow
F.max_pool2d(torch.ones(1, 1, 4, 4), 1, 1, 0, 2**62) | RuntimeError: without overflow
F.max_pool2d(torch.ones(1, 1, 4, 4), 2, 1, 2**40, 2**50) | RuntimeError: without overflow
F.avg_pool3d(torch.ones(1, 1, 4, 4, 4), 2**31, ceil_mode=True) | RuntimeError: without overflow
F.max_pool1d(torch.ones(1, 1, 4), 2**63, ceil_mode=True) | RuntimeError: without overflow
F.adaptive_avg_pool1d(torch.ones(1, 1, 2), 2**40) | RuntimeError: not enough memory
F.adaptive_avg_pool2d(torch.ones(1, 1, 2, 2), 2**31) | RuntimeError: not enough memory
F.adaptive_avg_pool3d(torch.ones(1, 1, 2, 2, 2), (3, 2**40, None)) | RuntimeError: not enough memory
F.adaptive_avg_pool1d(torch.ones(1, 1, 2), 2**63 - 1) | RuntimeError: not enough memory
F.adaptive_max_pool1d(torch.ones(1, 1, 2), 2**40) | RuntimeError: not enough memory
F.adaptive_max_pool2d(torch.ones(1, 1, 2, 2), (2**31, 3)) | RuntimeError: not enough memory
F.adaptive_max_pool3d(torch.ones(1, 1, 2, 2, 2), 2**62) | RuntimeError: not enough memory
F.interpolate(torch.ones(1, 1, 2, 2), size=(2**30, 2**30)) | RuntimeError: not enough memory
F.interpolate(torch.ones(1, 1, 2), size=2**40, mode="linear") | RuntimeError: not enough memory
F.interpolate(torch.ones(1, 1, 2, 2), size=(2, 2**62), mode="area") | RuntimeError: not enough memory
F.interpolate(torch.ones(1, 1, 2, 2), scale_factor=1e30) | RuntimeError: without overflow
F.interpolate(torch.ones(1, 1, 2, 2), scale_factor=math.inf) | RuntimeError: without overflow
nn.Upsample(scale_factor=2**40)(torch.ones(1, 1, 2, 2)) | RuntimeError: not enough memory
F.pad(torch.ones(1, 1, 3), (2**40, 0), mode="replicate") | RuntimeError: not enough memory
F.pad(torch.ones(1, 1, 3), (2**40, 0)) | RuntimeError: not enough memory
F.affine_grid(torch.ones(1, 2, 3), (1, 1, 2**31, 2**31)) | RuntimeError: not enough memory
F.affine_grid(torch.ones(1, 2, 3), (2**62, 1, 2, 2)) | RuntimeError: not enough memory
F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 1), padding=2**40) | RuntimeError: not enough memory
F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 1), padding=2**62) | RuntimeError: overflows
F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 3), dilation=2**63 - 1) | RuntimeError: overflows
F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2), dilation=2**63 - 1) | RuntimeError: overflows
F.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 9, 1), padding=(0, 2**62)) | RuntimeError: overflows
F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 1).expand(1, 1, 2**40), padding=2**39) | RuntimeError: not enough
F.conv_transpose1d(torch.ones(1, 1, 4), torch.ones(1, 1, 3), dilation=2**62) | RuntimeError: Overflow
F.conv_transpose1d(torch.ones(1, 1, 4), torch.ones(1, 1, 3), stride=2**40) | RuntimeError: not enough
F.unfold(torch.ones(1, 1, 4, 4), 2, 2**62, padding=2**62) | RuntimeError: overflows
F.unfold(torch.ones(1, 1, 4, 4), 2, 1, 2**40) | RuntimeError: overflows
F.fold(torch.ones(1, 4, 1), 2**40, 2, stride=2**40) | RuntimeError: overflows
F.one_hot(torch.tensor([1]), 2**40) | RuntimeError: not enough memory
torch.tensor_split(torch.ones(5), 2**31 - 1) | RuntimeError: not enough memory
torch.tensor_split(torch.ones(5), 2**62) | RuntimeError: not enough memory
torch.hsplit(torch.ones(0), 2**40) | RuntimeError: not enough memory
torch.vsplit(torch.ones(0, 2), 2**40) | RuntimeError: not enough memory
torch.dsplit(torch.ones(1, 1, 0), 2**62) | RuntimeError: not enough memory
torch.chunk(torch.ones(0), 2**40) | RuntimeError: not enough memory
torch.combinations(torch.ones(1), 2**62) | RuntimeError: at most 24
torch.combinations(torch.ones(5), 24) | RuntimeError: not enough memory
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1)(torch.ones(50000), torch.ones(5, 5)) | AssertionError: query should be
nn.Transformer(4, 2, 1, 2**62) | RuntimeError: not enough memory
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2**40) | RuntimeError: not enough memory
nn.LSTM(2, 3, 2**40) | RuntimeError: not enough memory
nn.GRU(2, 3, 2**64) | RuntimeError: not enough memory
nn.Sequential(nn.ReLU()) * 2**40 | RuntimeError: not enough memory
nn.Linear(2**20, 2**20) | RuntimeError: not enough memory
torch.randperm(2**40) | RuntimeError: not enough memory
torch.eye(2**20) | RuntimeError: not enough memory
torch.tril_indices(2**40, 2**40) | RuntimeError:
torch.cartesian_prod(*[torch.ones(1).expand(2**31)] * 2) | RuntimeError:
torch.kron(*[torch.ones(1).expand(2**20)] * 2) | RuntimeError: not enough memory
torch.repeat_interleave(torch.ones(3), 2**40) | RuntimeError: not enough memory
torch.repeat_interleave(torch.tensor([2**62, 2**62])) | RuntimeError: overflows
torch.bincount(torch.tensor([1]), minlength=2**40) | RuntimeError: not enough memory
torch.bincount(torch.tensor([2**63 - 1])) | RuntimeError: overflows
torch.histc(torch.ones(3), 2**40) | RuntimeError: not enough memory
torch.multinomial(torch.ones(3), 2**40, True) | RuntimeError: not enough memory
torch.linspace(0, 1, 2**40) | RuntimeError: not enough memory
torch.vander(torch.ones(3), 2**40) | RuntimeError: not enough memory
torch.set_rng_state(torch.zeros(1, dtype=torch.uint8).expand(2**31)) | RuntimeError: of size 5056
""".strip().splitlines()

CHILD = """
import json, math, resource, sys, time
import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))

limit = status("VmSize") + 2**32
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for call in json.load(sys.stdin):
    touched, began = status("VmHWM"), time.perf_counter()
    try:
        eval(call)
        raised = "nothing"
    except BaseException as error:
        raised = f"{type(error).__name__}: {error}"
    print(json.dumps([raised, time.perf_counter() - began, status("VmHWM") - touched]), flush=True)
"""


@functools.cache
def outcomes() -> list[list]:
    calls = [line.split(" | ")[0] for line in CALLS]
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps(calls), capture_output=True, text=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit and /proc are Linux's")
@pytest.mark.parametrize("line", CALLS)
def test_a_huge_size_is_refused_at_once(line):
    found = outcomes()
    assert CALLS.index(line) < len(found), f"the child died after {len(found)} calls"
    raised, seconds, touched = found[CALLS.index(line)]
    kind, _, text = line.split(" | ")[1].partition(":")
    assert raised.startswith(kind) and text.strip() in raised
    assert seconds < 2 and touched < 2**25
