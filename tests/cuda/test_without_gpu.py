"""A build whose lib/cuda.so finds no driver: it loads, says so, and breaks nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tiny_torch.base import devices

SCRIPT = """
import tiny_torch as torch
from tiny_torch import cuda

def error(call):
    try:
        call()
    except Exception as caught:
        return f"{type(caught).__name__}: {caught}".partition(".")[0]

if torch.cuda.is_available():
    print("there is a GPU")
    raise SystemExit
assert torch.backends.cuda.is_built() and cuda.device_count() == 0
assert not torch.accelerator.is_available() and not cuda.is_bf16_supported()
assert torch.accelerator.current_accelerator() == torch.device("cuda")
assert torch.accelerator.current_accelerator(check_available=True) is None
for call in (
    lambda: torch.zeros(1, device="cuda"), lambda: torch.zeros(1).cuda(), cuda.init,
    cuda.current_device, cuda.synchronize, cuda.Stream, lambda: torch.Generator("cuda"),
    cuda.mem_get_info, cuda.get_rng_state,
):
    said = error(call)
    assert said in (
        "RuntimeError: Found no NVIDIA driver on your system",
        "RuntimeError: No CUDA GPUs are available",
    ), said
for call in (lambda: torch.zeros(1).pin_memory(), lambda: torch.device(0)):
    assert error(call).startswith("RuntimeError: Cannot access accelerator device"), error(call)
assert not cuda.is_initialized() and cuda.memory_stats() == {} and cuda.memory_allocated() == 0
cuda.manual_seed_all(3)
cuda.empty_cache()
torch.manual_seed(3)
assert torch.ones(3).sum() == 3
print("there is none")
"""


@pytest.mark.skipif(not (devices.LIBRARIES / "cuda.so").exists(), reason="built without CUDA")
def test_a_build_with_cuda_without_a_gpu():
    environment = {name: value for name, value in os.environ.items() if name != "TINY_TORCH_CUDA"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.startswith("there is"), done.stderr
    if "a GPU" in done.stdout:
        pytest.skip("there is a GPU")
