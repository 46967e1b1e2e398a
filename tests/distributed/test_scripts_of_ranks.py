"""Scripts as PyTorch's tutorials write them, untouched under both: the numbers agree."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts" / "ranks"
RUN = {"torch": [], "tiny_torch": ["-m", "tiny_torch", "run"]}
LAUNCH = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


def found_by(package, name, folder):
    """What both ranks saved."""
    folder.mkdir()
    launch = [] if name == "ddp_spawn" else LAUNCH
    command = [sys.executable, *RUN[package], *launch, SCRIPTS / f"{name}.py", folder / "found"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"found.{rank}").read_text()) for rank in range(2)]


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["ddp_spawn", "ddp_torchrun", "fsdp2", "pipeline", "tensor_parallel"]
)
def test_losses_are_pytorchs(tmp_path, name):
    theirs, ours = (found_by(package, name, tmp_path / package) for package in RUN)
    for our, their in zip(ours, theirs, strict=True):
        assert our.keys() == their.keys()
        for key, values in their.items():
            tolerance = 2e-2 if key == "bfloat16" else 1e-4
            assert our[key] == pytest.approx(values, rel=tolerance, abs=1e-5), key
