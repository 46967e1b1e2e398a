"""Adafactor and Muon, whose updates look at a whole parameter, next to PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
from cases.optim_cases import (
    SHAPES,
    TOLERANCE,
    assert_close,
    case_id,
    parameters,
    step_with_gradients,
    trained,
    values,
)

import tiny_torch

pytestmark = pytest.mark.torch

MATRICES = [(4, 5), (7, 3), (6, 6), (1, 9), (9, 1)]
ADAFACTOR = [
    {},
    {"lr": 0.5, "weight_decay": 0.1, "maximize": True},
    {"lr": 0.5, "beta2_decay": -0.3, "d": 2.0, "eps": (0.5, 2.0)},
    {"eps": (1e-30, 1e-3), "foreach": False},
    {"lr": 0.1, "foreach": True},
]
MUON = [
    {},
    {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "original"},
    {"lr": 0.1, "adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.3},
    {"lr": 0.1, "momentum": 0.5, "ns_steps": 3, "ns_coefficients": (2.0, -1.5, 0.5), "eps": 9.0},
    {"lr": 0.1, "ns_steps": 0},
]


def made(name, **options):
    return lambda lib: getattr(lib.optim, name)([lib.nn.Parameter(lib.ones(2, 3))], **options)


def stepped(**options):
    def step(lib):
        w = lib.nn.Parameter(lib.ones(2, 3))
        w.grad = lib.ones(2, 3)
        lib.optim.Muon([w], **options).step()

    return step


def added_vector(lib):
    v = lib.nn.Parameter(lib.ones(3))
    v.grad = lib.ones(3)
    optimizer = lib.optim.Muon([lib.nn.Parameter(lib.ones(2, 3))])
    optimizer.add_param_group({"params": [v]})
    optimizer.step()


ERRORS = {
    "lr": made("Adafactor", lr=-1.0),
    "beta2_decay": made("Adafactor", beta2_decay=0.5),
    "epsilon1": made("Adafactor", eps=(-1.0, 1.0)),
    "epsilon2": made("Adafactor", eps=(None, -1.0)),
    "d": made("Adafactor", d=0.5),
    "weight_decay": made("Adafactor", weight_decay=-1.0),
    "two lrs": lambda lib: made("Adafactor", lr=lib.ones(2))(lib),
    "Muon: lr": made("Muon", lr=-1.0),
    "Muon: momentum": made("Muon", momentum=-1.0),
    "Muon: weight_decay": made("Muon", weight_decay=-1.0),
    "Muon: adjust_lr_fn": made("Muon", adjust_lr_fn="none"),
    "Muon: two lrs": lambda lib: made("Muon", lr=lib.ones(2))(lib),
    "Muon: vector": lambda lib: lib.optim.Muon([lib.nn.Parameter(lib.ones(3))]),
    "Muon: 3-D": lambda lib: lib.optim.Muon([lib.nn.Parameter(lib.ones(3, 1, 2))]),
    "Muon: a vector later": added_vector,
    "Muon: ns_steps": stepped(ns_steps=100),
    "Muon: ns_coefficients": stepped(ns_coefficients=(1.0, 2.0)),
}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("options", ADAFACTOR, ids=case_id)
def test_adafactor_trains_as_pytorch(oracle, options, dtype):
    shapes = [shape for shape in SHAPES if shape != (0,)]
    ours, theirs = (
        trained(lib, "Adafactor", options, dtype, params=parameters(lib, dtype, shapes=shapes))
        for lib in (tiny_torch, oracle)
    )
    assert_close(values(ours), values(theirs), 4 * TOLERANCE[dtype])


@pytest.mark.parametrize("options", MUON, ids=case_id)
def test_muon_trains_as_pytorch(oracle, options):
    ours, theirs = (
        trained(lib, "Muon", options, params=parameters(lib, shapes=MATRICES))
        for lib in (tiny_torch, oracle)
    )
    # bfloat16's rounding, in 10 steps of lr
    assert_close(values(ours), values(theirs), 10 * options.get("lr", 1e-3) * 2.0**-6)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_states_and_groups_are_pytorchs(oracle, name, tmp_path):
    """A file of PyTorch's optimizer goes on here as it would have there."""
    optimizers = []
    for lib in (tiny_torch, oracle):
        params = parameters(lib, shapes=MATRICES)
        optimizers.append(getattr(lib.optim, name)(params, lr=lib.tensor(0.1)))
        step_with_gradients(lib, optimizers[-1], 0)
    ours, theirs = optimizers
    ours_dict, theirs_dict = ours.state_dict(), theirs.state_dict()
    assert str(ours_dict["param_groups"]) == str(theirs_dict["param_groups"])
    for ours_state, theirs_state in zip(
        ours_dict["state"].values(), theirs_dict["state"].values(), strict=True
    ):
        assert list(ours_state) == list(theirs_state)

    oracle.save(theirs_dict, tmp_path / "optimizer.pt")
    ours.load_state_dict(tiny_torch.load(tmp_path / "optimizer.pt"))
    for lib, optimizer in ((tiny_torch, ours), (oracle, theirs)):
        fresh = parameters(lib, shapes=MATRICES)
        for param, value in zip(optimizer.param_groups[0]["params"], fresh, strict=True):
            param.data.copy_(value)
        step_with_gradients(lib, optimizer, 1)
    assert_close(values(ours), values(theirs), 1e-5 if name == "Adafactor" else 4e-3)


@pytest.mark.parametrize("mistake", ERRORS)
def test_mistakes_raise_as_in_pytorch(oracle, mistake):
    with pytest.raises(ValueError) as theirs:
        ERRORS[mistake](oracle)
    with pytest.raises(ValueError) as ours:
        ERRORS[mistake](tiny_torch)
    assert str(ours.value) == str(theirs.value)


def test_muon_makes_nearly_orthogonal(oracle):
    w = tiny_torch.nn.Parameter(tiny_torch.zeros(8, 20))
    w.grad = tiny_torch.from_numpy(np.random.default_rng(0).standard_normal((8, 20), np.float32))
    tiny_torch.optim.Muon([w], lr=1.0).step()
    singular = np.linalg.svd(w.detach().numpy(), compute_uv=False)
    assert singular.min() > 0.6 and singular.max() < 1.3
