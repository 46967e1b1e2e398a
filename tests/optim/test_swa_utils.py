"""optim.swa_utils: averaged models and SWALR, as PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import tiny_torch


def model_of(lib):
    lib.manual_seed(0)
    model = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.Tanh(), lib.nn.Linear(4, 2))
    model.register_buffer("wide", lib.ones(3, dtype=lib.float64))
    model.register_buffer("count", lib.tensor(2))
    return model


def move(lib, model):
    """Steps of training, and other buffers."""
    lib.manual_seed(1)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(lib.randn(5, 3)).square().sum().backward()
        optimizer.step()
        model.wide += 1
        model.count += 3
        yield


FUNCTIONS = {
    "mean": lambda utils: {},
    "avg_fn": lambda utils: {"avg_fn": utils.get_swa_avg_fn()},
    "ema": lambda utils: {"avg_fn": utils.get_ema_avg_fn(0.9)},
    "multi": lambda utils: {"multi_avg_fn": utils.get_swa_multi_avg_fn()},
    "multi ema": lambda utils: {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)},
    "half": lambda utils: {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.25)},
    "buffers": lambda utils: {
        "multi_avg_fn": utils.get_ema_multi_avg_fn(0.9),
        "use_buffers": True,
    },
}


@pytest.mark.parametrize("options", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_averages_are_pytorchs(oracle, options):
    states = []
    for lib in (tiny_torch, oracle):
        model = model_of(lib)
        utils = lib.optim.swa_utils
        average = utils.AveragedModel(model, **options(utils))
        for _ in move(lib, model):
            average.update_parameters(model)
        assert average(lib.ones(1, 3)).shape == (1, 2)
        states.append(average.state_dict())
    assert list(states[0]) == list(states[1])
    for key, value in states[0].items():
        np.testing.assert_allclose(value.numpy(), states[1][key].numpy(), rtol=1e-5, atol=1e-6)


def test_an_average_is_apart_from_its_model(torch):
    model = model_of(torch)
    average = torch.optim.swa_utils.AveragedModel(model)
    average.update_parameters(model)
    before = model[0].weight.detach().clone()
    for _ in move(torch, model):
        pass
    assert torch.equal(average.module[0].weight, before)
    assert average.module[0].weight.requires_grad and average.n_averaged.item() == 1


def run(lib, tensor_lr=False, **options):
    lr = lib.tensor(0.5) if tensor_lr else 0.5
    groups = [{"params": [lib.ones(1)]}, {"params": [lib.ones(1)], "lr": 0.1}]
    optimizer = lib.optim.SGD(groups, lr=lr)
    scheduler = lib.optim.swa_utils.SWALR(optimizer, **options)
    rows = [[float(lr) for lr in scheduler.get_last_lr()]]
    for _ in range(12):
        optimizer.step()
        scheduler.step()
        rows.append([float(lr) for lr in scheduler.get_last_lr()])
    return rows, scheduler


@pytest.mark.parametrize("tensor_lr", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"swa_lr": 0.05},
        {"swa_lr": [0.05, 0.2], "anneal_epochs": 4, "anneal_strategy": "linear"},
        {"swa_lr": 0.3, "anneal_epochs": 0},
        {"swa_lr": 0.3, "anneal_epochs": 1},
    ],
)
def test_swalr_is_pytorchs(oracle, options, tensor_lr):
    (ours, scheduler), (theirs, other) = (
        run(lib, tensor_lr, **options) for lib in (tiny_torch, oracle)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-5 if tensor_lr else 1e-12)
    assert list(scheduler.state_dict()) == list(other.state_dict())


ERRORS = [
    (lambda utils, lib: utils.get_ema_multi_avg_fn(1.5), ValueError),
    (lambda utils, lib: utils.get_ema_multi_avg_fn()([lib.ones(2)], [3.5], 3), TypeError),
    (lambda utils, lib: utils.get_ema_avg_fn(-0.5), ValueError),
    (
        lambda utils, lib: utils.AveragedModel(lib.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max),
        AssertionError,
    ),
    (lambda utils, lib: run(lib, swa_lr=0.1, anneal_strategy="square"), ValueError),
    (lambda utils, lib: run(lib, swa_lr=0.1, anneal_epochs=-1), ValueError),
    (lambda utils, lib: run(lib, swa_lr=0.1, anneal_epochs=1.5), ValueError),
    (lambda utils, lib: run(lib, swa_lr=[0.1]), ValueError),
]


@pytest.mark.parametrize(("action", "error"), ERRORS)
def test_errors(torch, action, error):
    with pytest.raises(error) as caught:
        action(torch.optim.swa_utils, torch)
    assert caught.type is error


def test_without_batch_norms_the_data_are_not_looked_at(torch):
    torch.optim.swa_utils.update_bn(iter(lambda: 1 / 0, 1), torch.nn.Linear(1, 1))
