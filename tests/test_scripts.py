"""Whole training scripts, written for PyTorch, run untouched under both: the numbers agree."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).with_name("scripts")
NAMES = ["resnet18", "dcgan", "vae", "lstm_lm", "tcn", "gpt"]
RUN = {"torch": [], "tiny_torch": ["-m", "tiny_torch", "run"]}


@pytest.fixture
def trained(oracle, tmp_path):
    """trained(package, script, *options): the losses (steps, n) and the first gradients."""

    def train(package: str, name: str, *options: str) -> dict:
        out = tmp_path / f"{package}-{name}.pt"
        command = [sys.executable, *RUN[package], SCRIPTS / f"{name}.py", "--out", out, *options]
        done = subprocess.run(
            [str(part) for part in command], cwd=SCRIPTS.parents[1], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return oracle.load(out)

    return train


def check_first_step(oracle, ours: dict, theirs: dict, tolerance: float) -> None:
    oracle.testing.assert_close(ours["losses"][0], theirs["losses"][0], rtol=tolerance, atol=0)
    assert list(ours["gradients"]) == list(theirs["gradients"])
    for name, expected in theirs["gradients"].items():
        difference = (ours["gradients"][name] - expected).norm()
        assert difference <= tolerance * expected.norm(), f"{name}: off by {difference}"


@pytest.mark.parametrize("name", NAMES)
def test_first_steps(oracle, trained, name):
    runs = [trained(package, name, "--steps", "2", "--batch", "4") for package in RUN]
    check_first_step(oracle, runs[1], runs[0], 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_double_precision_follows_for_50_steps(oracle, trained, name):
    theirs, ours = (trained(package, name, "--double") for package in RUN)
    check_first_step(oracle, ours, theirs, 1e-6)
    oracle.testing.assert_close(ours["losses"], theirs["losses"], rtol=1e-6, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_single_precision_strays_no_further(oracle, trained, name):
    """Training is chaotic: PyTorch's own rounding is the measure of what may differ."""
    theirs, ours = (trained(package, name) for package in RUN)
    check_first_step(oracle, ours, theirs, 1e-4)
    exact = oracle.tensor(trained("torch", name, "--double")["losses"])
    strayed = [(oracle.tensor(run["losses"]) - exact).abs().amax() for run in (ours, theirs)]
    assert strayed[0] <= 3 * strayed[1], strayed
