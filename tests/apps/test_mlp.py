"""The MLP app learns, loses as PyTorch's does, and shows its variants side by side."""

import csv
import sys

import pytest


def rows(folder):
    with open(folder / "metrics.csv", newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def test_it_learns_and_leaves_table_curves_summary_and_checkpoint(run, tmp_path):
    history = run("mlp", "--epochs", "5", "--seed", "1")
    assert history[-1]["test_accuracy"] > 0.9
    losses = [row["train_loss"] for row in history]
    assert losses == sorted(losses, reverse=True)
    assert rows(tmp_path) == history
    names = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert names == {"mlp.pt", "mlp.png", "metrics.csv", "summary.json"}


def test_the_same_seed_gives_the_same_bits_whatever_the_threads(run):
    one, again, two = (
        run("mlp", "--epochs", "2", "--threads", n, "--overwrite") for n in ("1", "1", "2")
    )
    assert one == again == two


@pytest.mark.torch
@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_losses_equal_pytorchs_over_20_epochs(run, finish, tmp_path, optimiser):
    torch = pytest.importorskip("torch")
    options = ("--epochs", "20", "--optim", optimiser, "--width", "128", "--depth", "1")
    ours = run("mlp", *options, "--out", str(tmp_path / "ours"))
    finish("mlp", *options, "--framework", "torch")
    for mine, its in zip(ours, rows(tmp_path), strict=True):
        for name in ("train_loss", "test_loss"):
            assert mine[name] == pytest.approx(its[name], abs=1e-4)
    weights = torch.load(tmp_path / "ours" / "mlp.pt")["parts"]["model"]
    assert weights["hidden.0.0.weight"].shape == (128, 64)


def test_variants_differ_by_one_choice(run, app, tmp_path):
    history = run("mlp", "--epochs", "1", "--compare")
    asked, same = history[0]["train_loss"], history[0]["train_loss_of_optim_adam"]
    assert asked == same == history[0]["train_loss_of_norm_none"]
    assert history[0]["train_loss_of_init_small"] != asked
    assert (tmp_path / "compare.png").stat().st_size > 10_000


@pytest.mark.slow
def test_accuracy_over_five_seeds(run, tmp_path):
    best = sorted(
        run("mlp", "--seed", str(seed), "--overwrite")[-1]["test_accuracy"] for seed in range(5)
    )
    print("test accuracy over seeds 0-4:", best, file=sys.stderr)
    assert best[2] >= 0.97
