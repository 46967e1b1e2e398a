"""The CNN app: its augmentation, what its options save, its pictures and accuracy."""

import argparse
import sys

import pytest

import tiny_torch


def test_it_learns_and_draws(run, tmp_path):
    assert run("cnn", "--epochs", "2")[-1]["test_accuracy"] > 0.7
    names = {path.name for path in tmp_path.glob("*.png")}
    assert names == {"cnn.png", "confusion.png", "filters.png", "mistakes.png"}


@pytest.mark.parametrize("data", ["digits", "cifar10"])
def test_augmentation_shifts_and_mirrors(app, data):
    tiny_torch.manual_seed(0)
    args = argparse.Namespace(data=data, no_augment=False)
    x = tiny_torch.zeros(64, 2, 16, 16)
    x[:, 1, 8, 4] = 1  # one point, in one channel
    where = app("cnn").augmented(x, args).nonzero()  # (64, 4): it stays within the picture
    assert where.shape == (64, 4) and set(where[:, 1].tolist()) == {1}
    assert set(where[:, 2].tolist()) == {6, 7, 8, 9, 10}
    left = {2, 3, 4, 5, 6}
    mirrored = {15 - column for column in left} if data == "cifar10" else set()
    assert set(where[:, 3].tolist()) == left | mirrored


@pytest.mark.parametrize("model", ["lenet", "resnet9"])
def test_checkpoints_and_half_precision_save_memory(run, capsys, model):
    options = ("--amp", "--channels-last", "--checkpoint-activations", "--batch-size", "256")
    run("cnn", "--model", model, "--epochs", "1", *options)
    lines = capsys.readouterr().out.splitlines()[:4]
    plain, half, _, checkpoints = (float(line.split()[-5]) for line in lines)
    assert lines[3].startswith("--checkpoint-activations")
    assert half < plain and checkpoints < plain


def test_missing_files_are_named_in_one_line(run, tmp_path):
    with pytest.raises(SystemExit, match="train-images-idx3-ubyte") as ended:
        run("cnn", "--data", "mnist", "--root", str(tmp_path))
    assert "\n" not in str(ended.value)


@pytest.mark.slow
def test_accuracy_over_five_seeds(run):
    best = sorted(
        run("cnn", "--seed", str(seed), "--overwrite")[-1]["test_accuracy"] for seed in range(5)
    )
    print("test accuracy over seeds 0-4:", best, file=sys.stderr)
    assert best[2] >= 0.985
