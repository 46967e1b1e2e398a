"""What all apps promise of a run: options, folders, resume, interrupts and kills."""

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tiny_torch
from tiny_torch.program import compiled
from tiny_torch.tools import apps as _apps

# Tiny runs: an app -> the options that make its epochs short.
# fmt: off
TINY: dict[str, list[str]] = {
    "cnn": ["--model", "lenet", "--batch-size", "512"],
    "diffusion": ["--width", "8", "--noise-steps", "30", "--batch-size", "512"],
    "gan": ["--width", "8", "--batch-size", "512"],
    "gpt": ["--data", __file__, "--width", "8", "--batch-size", "16", "--length", "9"],
    "mlp": ["--width", "8"],
    "parallel": ["--data", __file__, "--width", "8", "--batch-size", "16", "--length", "9",
                 "--mesh", "2", "1", "1"],
    "parameter_server": ["--width", "8", "--batch-size", "256"],
    "rl": ["--batch-size", "2"],
    "rnn": ["--data", __file__, "--width", "8", "--batch-size", "16", "--length", "9"],
    "vae": ["--batch-size", "512"],
}
# fmt: on
NO_PROGRAM = ("parallel", "parameter_server", "rl")
BAD = {  # options -> what is said
    "--epochs -1": "argument --epochs: -1 is not from 0",
    "--epochs two": "argument --epochs: invalid whole number value: 'two'",
    "--batch-size 0": "argument --batch-size: 0 is not from 1",
    "--threads 0": "argument --threads: 0 is not from 1",
    "--lr nan": "argument --lr: nan is no positive number",
    "--optim none": "argument --optim: invalid choice",
    "--device cuda": "Torch not compiled with CUDA enabled; cuda-emulated runs",
    "--device ref --amp": "--amp: there is no autocast on ref",
    "--device ref --compile": "--compile is tiny_torch's, on the CPU",
    "--compile --checkpoint-activations": "without --checkpoint-activations",
    "--device moon": "argument --device: Expected one of cpu, cuda, cuda-emulated, meta, ref",
    "--device meta": "argument --device:",
    "--seed 1e5": "argument --seed",
    "--seed -1": "argument --seed: -1 is not from 0",
    "--framework jax": "argument --framework: invalid choice: 'jax'",
    "--data moon": "argument --data: invalid choice: 'moon'",
    "--fast": "unrecognized arguments: --fast",
    "--resume --overwrite": "give one of them",
    "--resume": "a run without --resume makes it",
    f"--out {__file__}": "cannot write to the output folder",
    f"--out {__file__}/runs": "cannot write to the output folder",
}


@pytest.mark.parametrize("name", sorted(set(TINY) - set(NO_PROGRAM)))
def test_a_compiled_run_has_the_same_figures(run, tmp_path, name, monkeypatch):
    answers = []
    run_case = compiled.Case.run

    def note(case, *given):
        answers.append(run_case(case, *given))
        return answers[-1]

    monkeypatch.setattr(compiled.Case, "run", note)
    options = [name, *TINY[name], "--epochs", "2", "--out"]
    expected = run(*options, str(tmp_path / "eager"))
    assert not answers
    assert run(*options, str(tmp_path / "program"), "--compile") == expected
    assert answers and None not in answers


@pytest.mark.parametrize("name", NO_PROGRAM)
def test_an_app_whose_steps_are_no_programs_says_so(run, capsys, tmp_path, name):
    said = refusal(run, capsys, name, *TINY[name], "--out", str(tmp_path), "--compile")
    assert "--compile: its steps" in said


def refusal(run, capsys, *options):
    """The one line with which an app ends before it trains."""
    with pytest.raises(SystemExit) as ended:
        run(*options)
    said = capsys.readouterr().err or f"{ended.value.code}\n"
    assert ended.value.code not in (0, None) and said.count("\n") == 1
    return said


def weights(folder, name):
    """The bytes of all parts of a checkpoint."""
    found = []

    def walk(value):
        if isinstance(value, tiny_torch.Tensor):
            found.append(value.numpy().tobytes())
        elif isinstance(value, dict):
            for key in sorted(value, key=str):
                walk(value[key])
        elif isinstance(value, list | tuple):
            for part in value:
                walk(part)
        else:
            found.append(value)

    state = tiny_torch.load(folder / f"{name}.pt")
    walk([state["parts"], state["random"], state["history"]])
    return found


@pytest.mark.parametrize("options", BAD)
def test_bad_options_are_noticed_before_training_in_one_line(run, capsys, options):
    assert BAD[options] in refusal(run, capsys, "mlp", *options.split())


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ([], "tiny_torch"),
        (["--framework"], "tiny_torch"),
        (["--epochs", "3", "--framework", "torch"], "torch"),
        (["--framework=torch", "--resume"], "torch"),
        (["--framework", "jax"], "tiny_torch"),
    ],
)
def test_the_framework_is_chosen_before_options_are_read(app, arguments, name):
    assert app("framework").chosen(arguments) == name


def test_every_app_has_a_tiny_run():
    assert set(TINY) == set(_apps.apps())


@pytest.mark.parametrize("name", TINY)
def test_every_option_has_help(app, capsys, name):
    with pytest.raises(SystemExit):
        app(name).main(["--help"])
    text = capsys.readouterr().out.split("options:")[1]
    for option in text.split("\n  -")[1:]:
        assert len(option.split("  ", 1)) == 2 or "\n" in option, option


@pytest.mark.parametrize("name", TINY)
def test_resume_goes_on_to_the_same_bits(run, tmp_path, name):
    straight, parts = tmp_path / "straight", tmp_path / "parts"
    run(name, *TINY[name], "--epochs", "2", "--out", str(straight))
    run(name, *TINY[name], "--epochs", "1", "--out", str(parts))
    run(name, *TINY[name], "--epochs", "2", "--out", str(parts), "--resume")
    assert weights(straight, name) == weights(parts, name)
    left = {path.name for path in straight.iterdir() if path.is_file()}
    assert left == {path.name for path in parts.iterdir() if path.is_file()}
    assert {f"{name}.pt", f"{name}.png", "metrics.csv", "summary.json"} <= left


@pytest.mark.torch
@pytest.mark.parametrize("name", TINY)
def test_pytorch_runs_the_same_file(finish, oracle, tmp_path, name):
    finish(name, *TINY[name], "--epochs", "1", "--framework", "torch")
    assert (tmp_path / f"{name}.png").exists()


@pytest.mark.parametrize("name", sorted(set(TINY) - {"rl"}))
def test_half_precision_and_checkpoints_train_as_well(run, name):
    options = ["--amp"] if name == "gan" else ["--amp", "--checkpoint-activations"]
    (plain,) = run(name, *TINY[name], "--epochs", "1")
    (half,) = run(name, *TINY[name], "--epochs", "1", *options, "--overwrite")
    for figure, value in plain.items():
        assert half[figure] == pytest.approx(value, rel=0.1, abs=0.1), figure


def test_a_run_is_not_overwritten_by_less(run, capsys, tmp_path):
    run("mlp", *TINY["mlp"], "--epochs", "2")
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    run("mlp", *TINY["mlp"], "--epochs", "0")
    capsys.readouterr()
    assert "--overwrite starts again" in refusal(run, capsys, "mlp", "--epochs", "1")
    assert "--lr was 0.002 in" in refusal(run, capsys, "mlp", "--width", "8", "--resume", "--lr=1")
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}


def test_a_new_run_has_a_folder_of_its_own(app, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        app("mlp").main([*TINY["mlp"], "--epochs", "1"])
    app("mlp").main([*TINY["mlp"], "--epochs", "2", "--resume"])
    tables = [(tmp_path / "runs" / x / "metrics.csv").read_text() for x in ("mlp", "mlp-2")]
    assert [table.count("\n") for table in tables] == [2, 3]
    assert not (tmp_path / "runs" / "mlp-3").exists()


def test_a_broken_checkpoint_is_refused(run, capsys, tmp_path):
    (tmp_path / "mlp.pt").write_bytes(b"no checkpoint")
    assert "--resume: cannot read" in refusal(run, capsys, "mlp", "--resume")


def test_an_interrupted_run_saves_and_ends_in_one_line(start, finish, tmp_path):
    process = start("mlp", "--epochs", "100000")
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=60)
    assert first.startswith("epoch  1") and process.returncode == 130, errors
    assert rest.splitlines()[-1].startswith("interrupted in epoch ") and "mlp.pt" in rest
    assert "Traceback" not in errors
    done = len(tiny_torch.load(tmp_path / "mlp.pt")["history"])
    assert done >= 1 and (tmp_path / "mlp.png").exists()
    assert f"after {done + 1} epochs" in finish("mlp", "--epochs", str(done + 1), "--resume")


def kill_and_resume(start, finish, whole, name, options, seconds):
    """Kills a run after some seconds: what it had told of is there, and resumed, it ends as whole.

    `whole` is the folder of a run with these options that was not killed.
    """
    folder = whole.with_name("killed")
    shutil.rmtree(folder, ignore_errors=True)
    options = [*options, "--out", str(folder)]
    process = start(name, *options)
    time.sleep(seconds)
    process.kill()
    told = process.communicate()[0].count("epoch ")
    checkpoint = folder / f"{name}.pt"
    kept = len(tiny_torch.load(checkpoint)["history"]) if checkpoint.exists() else 0
    assert told <= kept <= told + 1
    finish(name, *options, *["--resume"] * (kept > 0))
    assert weights(folder, name) == weights(whole, name)
    assert {path.name for path in folder.iterdir()} == {path.name for path in whole.iterdir()}


@pytest.mark.parametrize("seconds", [0.1, 2.5])
def test_a_killed_run_resumes_to_the_same_bits(start, finish, tmp_path, seconds):
    options = [*TINY["mlp"], "--epochs", "30"]
    finish("mlp", *options, "--out", str(tmp_path / "whole"))
    kill_and_resume(start, finish, tmp_path / "whole", "mlp", options, seconds)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cnn", "rnn"])
def test_fifty_kills(start, finish, tmp_path, name):
    options = [*TINY[name], "--epochs", "12"]
    began = time.monotonic()
    finish(name, *options, "--out", str(tmp_path / "whole"))
    longest = time.monotonic() - began
    moments = random.Random(0)
    for _ in range(50):
        seconds = moments.uniform(0, longest)
        kill_and_resume(start, finish, tmp_path / "whole", name, options, seconds)


def test_the_command_lists_and_runs_apps(tmp_path):
    def command(*arguments):
        call = [sys.executable, "-m", "tiny_torch", "apps", *arguments]
        return subprocess.run(call, cwd=tmp_path, capture_output=True, text=True)

    assert "mlp        Trains multi-layer perceptrons" in command().stdout
    done = command("mlp", *TINY["mlp"], "--epochs", "1")
    assert done.returncode == 0, done.stderr
    assert str(Path("runs/mlp/mlp.png")) in command().stdout
    assert command("mlp", "--epochs", "-1").returncode == 2
    wrong = command("moon")
    assert wrong.returncode == 2 and wrong.stderr.startswith("apps: there is no moon, only ")


def test_events_for_tensorboard(run, tmp_path):
    pytest.importorskip("tensorboardX")
    run("mlp", *TINY["mlp"], "--epochs", "1")
    assert any((tmp_path / "events").iterdir())


def test_profile_leaves_a_trace(run, capsys, tmp_path):
    run("mlp", *TINY["mlp"], "--epochs", "1", "--profile", "--amp", "--checkpoint-activations")
    assert "Self CPU time total" in capsys.readouterr().out
    assert (tmp_path / "profile.json").stat().st_size > 1000
