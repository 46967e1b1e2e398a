"""GradScaler: compared with PyTorch's, step by step, and its errors."""

from __future__ import annotations

import pickle
import random
import warnings

import pytest

import tiny_torch as torch

theirs = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
MODULES = (theirs, torch)


def made(module, count=1, **options):
    """Parameters, an optimizer for each, and a scaler."""
    options = {"init_scale": 4.0, "growth_interval": 3, **options}
    scaler = module.amp.GradScaler("cpu", **options)
    leaves = [module.ones(2, requires_grad=True) for _ in range(count)]
    return leaves, [module.optim.SGD([leaf], lr=0.01) for leaf in leaves], scaler


def train(module, plan, explicit):
    """The scale, counter and parameters after each of the steps of a plan."""
    leaves, optimizers, scaler = made(module, 2, init_scale=2.0**16, growth_interval=13)
    seen = []
    for kinds, unscaled in zip(plan, explicit, strict=True):
        for leaf, optimizer, kind in zip(leaves, optimizers, kinds, strict=True):
            optimizer.zero_grad()
            scaler.scale((leaf * leaf).sum()).backward()
            if kind:
                leaf.grad[0] = float(kind)
            if unscaled:
                scaler.unscale_(optimizer)
                module.nn.utils.clip_grad_norm_([leaf], 0.5)
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        seen.append(
            (scaler.get_scale(), scaler._get_growth_tracker(), [x.tolist() for x in leaves])
        )
    return seen, scaler


def test_two_thousand_steps_with_injected_infs_are_pytorchs():
    choose = random.Random(3)
    plan = [
        [choose.choice(["inf", "-inf", "nan"]) if choose.random() < 0.025 else "" for _ in range(2)]
        for _ in range(2000)
    ]
    explicit = [choose.random() < 0.3 for _ in plan]
    (expected, _), (found, scaler) = [train(module, plan, explicit) for module in MODULES]
    assert [step[:2] for step in found] == [step[:2] for step in expected]
    for (*_, ours), (*_, others) in zip(found, expected, strict=True):
        assert ours[0] == pytest.approx(others[0], 1e-5)
        assert ours[1] == pytest.approx(others[1], 1e-5)
    assert scaler.skipped_steps == sum(bool(kind) for kinds in plan for kind in kinds)


def test_the_scale_stays_finite_and_may_vanish():
    answers = []
    for module in MODULES:
        (leaf,), (optimizer,), scaler = made(module, init_scale=2.0**126, growth_interval=1)
        for _ in range(4):
            scaler.scale(leaf.sum() * 2.0**-100).backward()
            scaler.step(optimizer)
            scaler.update()
        high = scaler.get_scale()
        scaler.set_backoff_factor(1e-30)
        for _ in range(4):
            leaf.grad.fill_(float("inf"))
            scaler.step(optimizer)
            scaler.update()
        answers.append((high, scaler.get_scale()))
    assert answers[0] == answers[1]


def test_outputs_in_containers_are_scaled_alike():
    for module in MODULES:
        scaler = module.amp.GradScaler("cpu", init_scale=8.0)
        one = module.ones(1)
        nested = scaler.scale([one, (one * 2, [one * 3])])
        assert type(nested) is list and type(nested[1]) is tuple
        assert [float(x) for x in (nested[0], nested[1][0], nested[1][1][0])] == [8, 16, 24]
        assert [float(x) for x in scaler.scale(x for x in (one, one))] == [8, 8]
        assert scaler.scale(one.double()).dtype is module.float64
        assert scaler.scale(one.bfloat16()).dtype is module.bfloat16


def step(module, scaler, optimizer, leaf):
    scaler.scale(leaf.sum()).backward()
    return scaler.step(optimizer)


def unscaled_twice(module):
    (leaf,), (optimizer,), scaler = made(module)
    scaler.scale(leaf.sum()).backward()
    scaler.unscale_(optimizer), scaler.unscale_(optimizer)


def unscaled_after_step(module):
    (leaf,), (optimizer,), scaler = made(module)
    step(module, scaler, optimizer, leaf)
    scaler.unscale_(optimizer)


def stepped_twice(module):
    (leaf,), (optimizer,), scaler = made(module)
    step(module, scaler, optimizer, leaf)
    scaler.step(optimizer)


def updated_without_a_step(module):
    (leaf,), _, scaler = made(module)
    scaler.scale(leaf.sum())
    scaler.update()


def stepped_without_gradients(module):
    (leaf,), (optimizer,), scaler = made(module)
    scaler.scale(leaf.sum())
    scaler.step(optimizer)


def with_closure(module):
    _, (optimizer,), scaler = made(module)
    scaler.step(optimizer, closure=lambda: 0)


def half_gradients(module):
    leaf = module.ones(1, dtype=module.float16, requires_grad=True)
    scaler = module.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(leaf.sum()).backward()
    scaler.step(module.optim.SGD([leaf], lr=1.0))


def pickled_midway(module):
    (leaf,), (optimizer,), scaler = made(module)
    step(module, scaler, optimizer, leaf)
    pickle.dumps(scaler)


def new_scale(value):
    def call(module):
        (leaf,), _, scaler = made(module)
        scaler.scale(leaf.sum())
        scaler.update(value(module))
        return scaler.get_scale()

    return call


ANSWERS = [
    unscaled_twice, unscaled_after_step, stepped_twice, updated_without_a_step,
    stepped_without_gradients, with_closure, half_gradients, pickled_midway,
    new_scale(lambda m: 3.5), new_scale(lambda m: m.tensor(7.0)),
    new_scale(lambda m: m.tensor([7.0])), new_scale(lambda m: m.ones(2)),
    new_scale(lambda m: m.ones(1, requires_grad=True)),
    lambda m: made(m)[2].unscale_(made(m)[1][0]), lambda m: made(m)[2].step(made(m)[1][0]),
    lambda m: made(m)[2].update(), lambda m: made(m)[2].scale(3),
    lambda m: made(m, growth_factor=1.0), lambda m: made(m, backoff_factor=1.0),
    lambda m: m.amp.GradScaler().is_enabled(), lambda m: m.GradScaler("cuda").get_scale(),
    lambda m: m.amp.GradScaler(enabled=False).state_dict(),
    lambda m: m.amp.GradScaler("cpu", enabled=False).scale(3),
    lambda m: made(m)[2].load_state_dict({}), lambda m: made(m)[2].state_dict(),
    lambda m: m.cuda.amp.GradScaler().is_enabled(),
    lambda m: m.cpu.amp.GradScaler(2.0).get_scale(),
    lambda m: (made(m)[2].get_growth_factor(), made(m)[2].get_backoff_factor()),
    lambda m: made(m)[2].get_growth_interval(), lambda m: m.amp.grad_scaler.OptState.READY.value,
]  # fmt: skip


def outcome_of(call, module):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = call(module)
        except Exception as error:
            answer = type(error), str(error).removeprefix("[copy_] ")
    return answer, [(w.category, str(w.message)) for w in caught]


@pytest.mark.parametrize("call", ANSWERS)
def test_answers_errors_and_warnings_are_pytorchs(call):
    assert outcome_of(call, torch) == outcome_of(call, theirs)


def test_a_disabled_scaler_only_steps():
    for module in MODULES:
        (leaf,), (optimizer,), scaler = made(module, enabled=False)
        scaler.scale(leaf.sum()).backward()
        scaler.unscale_(optimizer)
        leaf.grad[0] = float("inf")
        scaler.step(optimizer)
        scaler.update()
        assert not leaf.isfinite().all()


def test_a_state_is_saved_and_loaded():
    for module in MODULES:
        (leaf,), (optimizer,), scaler = made(module)
        for _ in range(4):
            step(module, scaler, optimizer, leaf)
            scaler.update()
        state = scaler.state_dict()
        assert (state["scale"], state["_growth_tracker"]) == (8.0, 1)
        fresh = made(module)[2]
        fresh.load_state_dict(state)
        copy = pickle.loads(pickle.dumps(scaler)) if module is torch else fresh
        assert fresh.state_dict() == copy.state_dict() == state
        step(module, fresh, optimizer, leaf)
        fresh.load_state_dict({**state, "scale": 32.0})
        assert fresh.get_scale() == 32.0


def test_an_optimizer_may_unscale_by_itself():
    found = []
    for module in MODULES:

        class Own(module.optim.SGD):
            _step_supports_amp_scaling = True

            def step(self):
                self.seen.append((float(self.grad_scale), float(self.found_inf)))

        leaf = module.ones(2, requires_grad=True)
        optimizer, scaler = Own([leaf], lr=1.0), module.amp.GradScaler("cpu", init_scale=8.0)
        optimizer.seen = []
        for bad in (False, True):
            optimizer.zero_grad()
            scaler.scale(leaf.sum()).backward()
            if bad:
                leaf.grad.fill_(float("nan"))
            scaler.step(optimizer)
            scaler.update()
        assert not hasattr(optimizer, "grad_scale")
        found.append((optimizer.seen, scaler.get_scale()))
    assert found[0] == found[1]


def test_what_vanishes_in_float16_is_counted():
    (leaf,), (optimizer,), scaler = made(torch, init_scale=1.0, log=True)
    scaler.scale((leaf * torch.tensor([1.0, 2.0**-30])).sum()).backward()
    scaler.step(optimizer)
    assert scaler.underflow_share == 0.5 and scaler.skipped_steps == 0
    with pytest.raises(RuntimeError, match="log=True"):
        made(torch)[2].underflow_share  # noqa: B018
