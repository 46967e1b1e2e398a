"""Whole training scripts, written for PyTorch, run untouched under both: the numbers agree."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"
NAMES = ["resnet18", "dcgan", "vae", "lstm_lm", "tcn", "gpt"]
# As tutorials write them: quick, and compared by their losses alone.
TUTORIALS = [
    "mnist_cnn", "siamese", "time_series", "super_resolution", "gcn", "pygcn", "reinforce",
    "vit", "autoencoder", "transfer_learning", "mixed_precision", "checkpoint_resume",
]  # fmt: skip
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


def check_first_step(oracle, ours: dict, theirs: dict, tolerance: float, exact=None) -> None:
    """Loss and gradients; where those are further apart, from exact() not further than theirs.

    A unit near 0 is on one side of relu's bend in one library and on the other in the other: of
    ten million units some always are, and each moves a gradient by a thousandth.
    """
    oracle.testing.assert_close(ours["losses"][0], theirs["losses"][0], rtol=tolerance, atol=0)
    assert list(ours["gradients"]) == list(theirs["gradients"])
    distances = away(ours, theirs)
    if exact is not None and max(distances.values()) > tolerance:
        truth = exact()
        distances, limits = away(ours, truth), away(theirs, truth)
        tolerance = 3 * max(limits.values())
    for name, distance in distances.items():
        assert distance <= tolerance, f"{name}: off by {distance}"


def away(run: dict, other: dict) -> dict[str, float]:
    """How far the gradients of a run are from another's, as a part of their size."""
    return {
        name: float((run["gradients"][name].double() - g.double()).norm() / g.double().norm())
        for name, g in other["gradients"].items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_first_steps(oracle, trained, name):
    theirs, ours = (trained(package, name, "--steps", "2") for package in RUN)
    check_first_step(
        oracle, ours, theirs, 1e-4, lambda: trained("torch", name, "--steps", "2", "--double")
    )


@pytest.mark.parametrize("name", TUTORIALS)
def test_losses_of_tutorials(oracle, trained, name):
    theirs, ours = (oracle.tensor(trained(package, name)["losses"]) for package in RUN)
    oracle.testing.assert_close(ours, theirs, rtol=1e-2, atol=0)


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
    exact = trained("torch", name, "--double")
    check_first_step(oracle, ours, theirs, 1e-4, lambda: exact)
    truth = oracle.tensor(exact["losses"])
    strayed = [(oracle.tensor(run["losses"]) - truth).abs().amax() for run in (ours, theirs)]
    assert strayed[0] <= 3 * strayed[1], strayed
