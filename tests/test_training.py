"""Training end to end: the MLP app learns, and loses as PyTorch's does, epoch by epoch."""

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")

APP = Path(__file__).parents[1] / "apps" / "mlp.py"


def load_app(name: str, source: str):
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader=None))
    module.__file__ = str(APP)
    exec(compile(source, str(APP), "exec"), module.__dict__)
    return module


@pytest.fixture(scope="module")
def app():
    return load_app("mlp", APP.read_text())


def train(module, folder, *options):
    return module.main([*options, "--out", str(folder)])


def test_the_app_learns_and_leaves_plot_and_checkpoint(app, tmp_path):
    history = train(app, tmp_path, "--epochs", "5", "--seed", "1")
    assert history["test_accuracy"][-1] > 0.9
    assert history["train_loss"] == sorted(history["train_loss"], reverse=True)
    assert (tmp_path / "mlp.png").stat().st_size > 1000
    assert (tmp_path / "mlp.pt").stat().st_size > 1000


def test_the_same_seed_gives_the_same_bits_whatever_the_threads(app, tmp_path):
    one, again, two = (
        train(app, tmp_path, "--epochs", "2", "--threads", n) for n in ("1", "1", "2")
    )
    assert one == again == two


@pytest.mark.torch
@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_losses_equal_pytorchs_over_20_epochs(app, tmp_path, optimiser):
    pytest.importorskip("torch")
    oracle = load_app("mlp_oracle", APP.read_text().replace("tiny_torch", "torch"))
    options = ("--epochs", "20", "--optimiser", optimiser, "--seed", "0")
    ours, theirs = train(app, tmp_path, *options), train(oracle, tmp_path, *options)
    for name in ("train_loss", "test_loss"):
        assert ours[name] == pytest.approx(theirs[name], abs=1e-4)


@pytest.mark.torch
def test_pytorch_reads_the_checkpoint(app, tmp_path):
    torch = pytest.importorskip("torch")
    train(app, tmp_path, "--epochs", "1")
    checkpoint = torch.load(tmp_path / "mlp.pt")
    model = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
    )
    model.load_state_dict(checkpoint["model"])


@pytest.mark.slow
def test_accuracy_over_five_seeds(app, tmp_path):
    best = sorted(
        train(app, tmp_path, "--seed", str(seed))["test_accuracy"][-1] for seed in range(5)
    )
    print("test accuracy over seeds 0-4:", best, file=sys.stderr)
    assert best[2] >= 0.97
    assert best[0] >= 0.95
