"""Training end to end: the MLP app learns, and loses as PyTorch's does, epoch by epoch."""

import importlib.util
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tiny_torch

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")

APP = Path(__file__).parents[2] / "apps" / "mlp.py"


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


BAD = {  # options -> (exit code, what is said)
    "--epochs -1": (2, "argument --epochs: -1 is not from 0"),
    "--epochs two": (2, "argument --epochs: invalid whole number value: 'two'"),
    "--batch 0": (2, "argument --batch: 0 is not from 1"),
    "--threads 0": (2, "argument --threads"),
    "--lr nan": (2, "argument --lr: nan is no positive number"),
    "--optimiser none": (2, "argument --optimiser: invalid choice"),
    "--device cuda": (2, "argument --device: Torch not compiled with CUDA enabled"),
    "--device moon": (2, "argument --device: Expected one of cpu, cuda, cuda-emulated, meta, ref"),
    "--seed 1e5": (2, "argument --seed"),
    "--fast": (2, "unrecognized arguments: --fast"),
    f"--out {APP}": (1, "cannot write to the output folder"),
    f"--out {APP}/runs": (1, "cannot write to the output folder"),
}


@pytest.mark.parametrize("options", BAD)
def test_bad_options_are_noticed_before_training_in_one_line(app, tmp_path, capsys, options):
    with pytest.raises(SystemExit) as ended:
        app.main(["--out", str(tmp_path), *options.split()])
    code, said = BAD[options]
    error = capsys.readouterr().err
    if code == 1:  # sys.exit(text), which the interpreter prints
        code, error = ended.value.code, f"{ended.value.code}\n"
    assert ended.value.code == code and said in error and error.count("\n") == 1


def test_every_option_has_help(app, capsys):
    with pytest.raises(SystemExit):
        app.main(["--help"])
    text = capsys.readouterr().out.split("options:")[1]
    for option in text.split("\n  -")[1:]:
        assert len(option.split("  ", 1)) == 2 or "\n" in option, option


def test_no_epochs_overwrite_nothing(app, tmp_path):
    train(app, tmp_path, "--epochs", "1")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    train(app, tmp_path, "--epochs", "0")
    assert before and before == {path: path.read_bytes() for path in tmp_path.iterdir()}


def test_an_interrupted_run_saves_and_ends_in_one_line(tmp_path):
    command = [sys.executable, "-u", str(APP), "--epochs", "100000", "--out", str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert first.startswith("epoch  1") and process.returncode == 130, errors
    assert rest.splitlines()[-1].startswith("interrupted in epoch ") and "mlp.pt" in rest
    assert "Traceback" not in errors
    history = tiny_torch.load(tmp_path / "mlp.pt")["history"]
    assert len(history["train_loss"]) >= 1 and (tmp_path / "mlp.png").exists()


def test_the_plot_counts_whole_epochs(app, tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(app.Figure, "savefig", lambda self, *_, **__: figures.append(self))
    app.plot({f"{p}_{w}": [1.0, 0.5] for p in ("train", "test") for w in ("loss", "accuracy")}, "")
    for axes in figures[0].axes:
        assert all(tick == int(tick) for tick in axes.get_xticks())


@pytest.mark.slow
def test_accuracy_over_five_seeds(app, tmp_path):
    best = sorted(
        train(app, tmp_path, "--seed", str(seed))["test_accuracy"][-1] for seed in range(5)
    )
    print("test accuracy over seeds 0-4:", best, file=sys.stderr)
    assert best[2] >= 0.97
    assert best[0] >= 0.95
