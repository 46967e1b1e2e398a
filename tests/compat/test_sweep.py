"""The sweep (tests/sweep.py) of all covered names; and that it sees what it is there to see."""

import os
from pathlib import Path

import pytest
from cases.api_names import NAMES

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module", autouse=True)
def pytorch():
    pytest.importorskip("torch")


def test_the_first_samples_of_every_name(tmp_path):
    from sweep import complaints, sweep

    results = sweep(NAMES, os.cpu_count() or 1, 3, tmp_path, lambda result: None)
    failing = {name: r["differences"] or r for name, r in results.items() if complaints(r, 1)}
    absent = {n for n, found in failing.items() if found == [[n, "absent"]]}  # see test_names.py
    assert not {name: found for name, found in failing.items() if name not in absent}


@pytest.mark.slow
def test_every_name_is_as_pytorchs(tmp_path):
    from sweep import complaints, show, summary, sweep

    results = sweep(NAMES, os.cpu_count() or 1, 0, tmp_path, lambda result: show(result, 0))
    print(summary(results))
    assert not {name: r["differences"] or r for name, r in results.items() if complaints(r)}


def differs(ours, theirs, *tensors, where="made up", **options):
    """What the sweep says of a function that gives `ours` here and `theirs` in PyTorch."""
    from sweeps.sweep_compare import Sample, differences

    def call(module, *mine):
        return (theirs if module.__name__ == "torch" else ours)(module, *mine)

    found, _ = differences(Sample(where, call, list(tensors), **options))
    return found[0] if found else ""


def leaf():
    import torch

    return torch.arange(6.0).reshape(2, 3).requires_grad_()


def wrong(module, x):
    raise ValueError("wrong")


@pytest.mark.parametrize(
    "ours, theirs, said",
    [
        (lambda m, x: x + 1, lambda m, x: x + 1, ""),
        (lambda m, x: x + 1, lambda m, x: x + 2, "6 of 6 values"),
        (lambda m, x: x + 1, lambda m, x: (x + 1).double(), "dtype float32, not float64"),
        (lambda m, x: x + 1, lambda m, x: (x + 1).t(), "shape (2, 3), not (3, 2)"),
        (lambda m, x: x[:, :2] + 1, lambda m, x: (x + 1)[:, :2], "strides (2, 1), not (3, 1)"),
        (lambda m, x: x.detach(), lambda m, x: x.clone(), "lies in input [0, 0], not None"),
        (lambda m, x: (x, x), lambda m, x: [x, x], "not ['list of 2'"),
        (lambda m, x: 1, lambda m, x: 1.0, "[1], not [1.0]"),
        (lambda m, x: x, wrong, "nothing raised, PyTorch: ValueError(wrong)"),
        (wrong, lambda m, x: x, "raised ValueError(wrong)"),
        (wrong, lambda m, x: x[7], "raised ValueError(wrong), PyTorch IndexError"),
        (lambda m, x: x * x.detach(), lambda m, x: x * x, "gradient: of leaf 0: 5 of 6 values"),
        (lambda m, x: x.detach() * 1, lambda m, x: x * 1, "gradient: none of the results"),
        (
            lambda m, x: x * x.detach() * 2 - x.detach() ** 2,
            lambda m, x: x * x,
            "second gradient: none",
        ),
        (lambda m, x: x.detach().add_(1), lambda m, x: x.detach() + 1, "lies in input [0, 0]"),
    ],
)
def test_sweep_sees(ours, theirs, said):
    found = differs(ours, theirs, leaf())
    assert said in found and bool(said) == bool(found), found


@pytest.mark.parametrize(
    "where, order, equal",
    [
        ("sort", [[1, 3, 0, 2], [2, 0, 1, 3]], True),  # of equal elements any may come first,
        ("sort stable=True", [[1, 3, 0, 2], [2, 0, 1, 3]], False),
        ("sort", [[1, 1, 0, 2], [2, 0, 1, 3]], False),  # but none twice,
        ("sort", [[1, 0, 3, 2], [2, 0, 1, 3]], False),  # and none before a smaller one
        ("sort", [[1, 3, 0, 4], [2, 0, 1, 3]], False),
        ("amax", [[1, 3, 0, 2], [2, 0, 1, 3]], False),
    ],
)
def test_sweep_sees_through_ties(where, order, equal):
    import torch

    x = torch.tensor([[1.0, 0.0, 1.0, 0.0], [2.0, 3.0, 0.0, 4.0]]).requires_grad_()
    sorted_x = x.detach().sort().values.tolist()
    right = [[3, 1, 2, 0], [2, 0, 1, 3]]

    def indices(order):
        return lambda m, x: [m.tensor(sorted_x), m.tensor(order)]

    assert (differs(indices(order), indices(right), x, where=where) == "") is equal
    if max(order[0]) < 4:
        values = lambda order: lambda m, x: x.gather(1, m.tensor(order))  # noqa: E731
        assert (differs(values(order), values(right), x, where=where) == "") is equal


def test_sweep_sees_what_became_of_the_inputs():
    found = differs(lambda m, x: x.detach().zero_() is None, lambda m, x: False, leaf())
    assert found.startswith("input 0 afterwards: 5 of 6 values")


def test_a_reason_for_rounding_has_a_bound():
    from sweeps.sweep_explained import reason

    where = "distributions.Gamma `D = ...\nD.rsample((2,))` float64 contiguous"
    said = "gradient: of leaf 0: 1 of 60 values, such as [1.0, {}], not [1.0, -2.0]"
    assert reason("torch.distributions.Gamma", where, said.format(-2.003)) is not None
    assert reason("torch.distributions.Gamma", where, said.format(-2.03)) is None
    assert reason("torch.distributions.Gamma", where, said.format("nan")) is None


def test_a_crash_is_blamed_on_its_name(tmp_path, monkeypatch):
    import sweep

    path = tmp_path / "worker.py"
    path.write_text(
        "import os, sys\n"
        "notes = sys.argv[2]\n"
        "print('{}', flush=True)\n"
        "for name in sys.stdin:\n"
        "    open(notes, 'w').write('sample of ' + name)\n"
        "    if 'bad' in name:\n"
        "        os.abort()\n"
        "    print('{\"found\": 0}', flush=True)\n"
    )
    monkeypatch.setattr(sweep, "__file__", str(path))
    results = sweep.sweep(["good", "bad", "other"], 1, 0, Path(tmp_path), lambda result: None)
    assert results["good"] == results["other"] == {"found": 0}
    assert "crash (-6) in sample of bad" in results["bad"]["differences"][0][1]
