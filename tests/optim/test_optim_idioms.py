"""optim as scripts use it: groups without decay, accumulation, clipping, exact resume."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from cases.optim_cases import FULL, case_id, parameters

import tiny_torch


def model_of(lib, seed=0):
    lib.manual_seed(seed)
    return lib.nn.Sequential(
        lib.nn.Linear(6, 16), lib.nn.ReLU(), lib.nn.Dropout(0.2), lib.nn.Linear(16, 3)
    )


def data_of(lib, count=32):
    rng = np.random.default_rng(0)
    inputs = lib.from_numpy(rng.standard_normal((count, 6)).astype("float32"))
    return inputs, lib.from_numpy(rng.integers(0, 3, count))


def without_decay(model, decay=0.1):
    """Weights in a group with weight decay; biases (and the scales of norms) in one without."""
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]


@pytest.mark.parametrize("name", ["AdamW", "SGD", "NAdam"])
def test_two_groups_of_which_one_has_no_decay(oracle, name):
    weights = []
    for lib in (tiny_torch, oracle):
        model = model_of(lib).eval()
        optimizer = getattr(lib.optim, name)(without_decay(model), lr=0.01)
        inputs, targets = data_of(lib)
        for _ in range(10):
            optimizer.zero_grad()
            lib.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
        weights.append([p.detach().numpy() for p in model.parameters()])
    for ours, theirs in zip(*weights, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_decay_moves_only_its_own_group():
    model = model_of(tiny_torch)
    with tiny_torch.no_grad():
        for p in model.parameters():
            p.fill_(1.0)
            p.grad = tiny_torch.zeros_like(p)
    tiny_torch.optim.AdamW(without_decay(model), lr=0.5).step()
    assert {p.max().item() for p in model.parameters() if p.ndim < 2} == {1.0}
    assert all(abs(p.max().item() - 0.95) < 1e-6 for p in model.parameters() if p.ndim == 2)


def test_accumulated_gradients_are_those_of_the_whole_batch():
    inputs, targets = data_of(tiny_torch)
    whole, parts = model_of(tiny_torch).eval(), model_of(tiny_torch).eval()
    loss = tiny_torch.nn.functional.cross_entropy
    optimizers = [tiny_torch.optim.Adam(m.parameters(), lr=0.01) for m in (whole, parts)]
    for _ in range(3):
        loss(whole(inputs), targets).backward()
        for x, y in zip(inputs.split(8), targets.split(8), strict=True):
            (loss(parts(x), y) / 4).backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    for a, b in zip(whole.parameters(), parts.parameters(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_frozen_layers_stay():
    model = model_of(tiny_torch)
    for p in model[0].parameters():
        p.requires_grad = False
    before = copy.deepcopy(model.state_dict())
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = tiny_torch.optim.SGD(trained, lr=0.1)
    inputs, targets = data_of(tiny_torch)
    tiny_torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    tiny_torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    after = model.state_dict()
    same = {key: tiny_torch.equal(before[key], after[key]) for key in before}
    assert same == {"0.weight": True, "0.bias": True, "3.weight": False, "3.bias": False}


def test_the_learning_rate_is_changed_by_hand():
    w = tiny_torch.nn.Parameter(tiny_torch.zeros(1))
    optimizer = tiny_torch.optim.SGD([w], lr=1.0)
    w.grad = tiny_torch.ones(1)
    for lr in (0.5, 0.25):
        for group in optimizer.param_groups:
            group["lr"] = lr
        optimizer.step()
    assert w.item() == -0.75


@pytest.mark.parametrize(("name", "options"), FULL, ids=case_id)
def test_the_reference_device_trains_by_the_loop(name, options):
    def train(device):
        params = [p.detach().to(device) for p in parameters(tiny_torch, shapes=[(5,), (2, 3), ()])]
        optimizer = getattr(tiny_torch.optim, name)(params, **options)
        for step in range(3):
            for i, p in enumerate(params):
                p.grad = (tiny_torch.ones(p.shape) * (step - i + 0.5)).to(device)
            tiny_torch.nn.utils.clip_grad_norm_(params, 1.0)
            optimizer.step()
        return [p.to("cpu").numpy() for p in params]

    for ours, expected in zip(train("ref"), train("cpu"), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)


# ---- exact resume -------------------------------------------------------------------------------

SCHEDULERS = {
    "OneCycleLR": {"max_lr": 0.05, "total_steps": 12},
    "CosineAnnealingLR": {"T_max": 12},
    "StepLR": {"step_size": 3},
}


def training(name, scheduler):
    model = model_of(tiny_torch)
    options = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = getattr(tiny_torch.optim, name)(without_decay(model), lr=0.01, **options)
    module = tiny_torch.optim.lr_scheduler
    return model, optimizer, getattr(module, scheduler)(optimizer, **SCHEDULERS[scheduler])


def run(model, optimizer, scheduler, steps):
    inputs, targets = data_of(tiny_torch)
    for _ in range(steps):
        batch = tiny_torch.randperm(len(inputs))[:8]  # the order comes from the RNG, too
        optimizer.zero_grad()
        loss = tiny_torch.nn.functional.cross_entropy(model(inputs[batch]), targets[batch])
        loss.backward()
        tiny_torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        yield loss.item()


RESUMED = [
    *((name, "OneCycleLR") for name in ("SGD", "AdamW", "RMSprop")),
    *((name, "CosineAnnealingLR") for name in ("Adam", "NAdam", "RAdam", "ASGD")),
    *((name, "StepLR") for name in ("Adamax", "Adagrad", "Adadelta", "Rprop")),
]


@pytest.mark.parametrize(("name", "scheduler"), RESUMED)
def test_a_resumed_training_gives_the_same_bits(tmp_path, name, scheduler):
    whole = training(name, scheduler)
    tiny_torch.manual_seed(5)
    losses = list(run(*whole, 10))

    parts = training(name, scheduler)
    tiny_torch.manual_seed(5)
    first = list(run(*parts, 4))
    checkpoint = {
        **{key: part.state_dict() for key, part in zip("mos", parts, strict=True)},
        "rng": tiny_torch.get_rng_state(),
    }
    tiny_torch.save(checkpoint, tmp_path / "checkpoint.pt")

    tiny_torch.manual_seed(77)
    saved = tiny_torch.load(tmp_path / "checkpoint.pt")
    resumed = training(name, scheduler)
    for key, part in zip("mos", resumed, strict=True):
        part.load_state_dict(saved[key])
    tiny_torch.set_rng_state(saved["rng"])
    assert first + list(run(*resumed, 6)) == losses
    for a, b in zip(whole[0].parameters(), resumed[0].parameters(), strict=True):
        assert tiny_torch.equal(a, b)
    states = [o.state_dict()["state"] for _, o, _ in (whole, resumed)]
    for key, state in states[0].items():
        assert all(tiny_torch.equal(state[part], states[1][key][part]) for part in state)
