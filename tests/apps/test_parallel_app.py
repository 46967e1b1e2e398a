"""Layers, batch and heads over an array of processes: the figures of one process."""

import pytest

OPTIONS = ["--data", __file__, "--width", "16", "--batch-size", "8", "--context", "16",
           "--length", "9", "--layers", "2", "--epochs", "2", "--ngram", "1"]  # fmt: skip


def compared(run, tmp_path, *options, mesh):
    """Both histories have the same figures; those of --mesh come from as many processes."""
    alone = run("gpt", *OPTIONS, *options, "--out", str(tmp_path / "gpt"))
    cut = run("parallel", *OPTIONS, *options, "--mesh", *mesh.split(), "--out", str(tmp_path))
    assert len(cut) == 2
    for ours, theirs in zip(cut, alone, strict=True):
        assert ours == pytest.approx(theirs, rel=2e-5)
    return tmp_path / "gpt" / "gpt.pt", tmp_path / "parallel.pt"


def test_eight_processes_train_as_one(run, app, tmp_path):
    torch = app("framework").torch
    # SGD: Adam makes steps of rounding errors, where keys' biases have gradients of zero
    paths = compared(run, tmp_path, "--optim", "sgd", mesh="2 2 2")
    alone, cut = (torch.load(path)["parts"]["model"] for path in paths)
    assert cut.keys() == alone.keys()
    for name, value in alone.items():
        assert torch.allclose(cut[name], value, atol=1e-6), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mesh", "options"),
    [
        ("2 2 2", ["--width", "64", "--layers", "5", "--checkpoint-activations"]),
        ("1 2 4", []),
        ("4 2 1", ["--layers", "7", "--batch-size", "16"]),
        ("2 4 1", ["--optim", "sgd", "--clip", "0.1", "--batch-size", "16"]),
        ("1 1 1", []),
    ],
)  # fmt: skip
def test_other_arrays_train_as_one(run, tmp_path, mesh, options):
    compared(run, tmp_path, *options, mesh=mesh)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--mesh 2 2 2 --batch-size 12", "--batch-size 12 is no multiple of 8: --mesh"),
        ("--mesh 4 1 1", "--layers 3 is less than the stages of --mesh"),
        ("--mesh 1 1 3", "--heads 4 is no multiple of --mesh's"),
        ("--mesh 2 2", "expected 3 arguments"),
        ("--threads 2", "processes compute with one thread each"),
    ],
)
def test_what_is_refused(app, capsys, options, said):
    with pytest.raises(SystemExit):
        app("parallel").parse_args(options.split())
    assert said in capsys.readouterr().err
