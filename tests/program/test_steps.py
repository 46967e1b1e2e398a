"""Whole steps as programs: the bits of eager, losses, weights, generator and schedule."""

import copy

import pytest
from helpers import same_bits

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F
from tiny_torch.program import record


def net():
    return nn.Sequential(
        nn.Linear(6, 16), nn.BatchNorm1d(16), nn.GELU(), nn.Dropout(0.2), nn.Linear(16, 3)
    )


BATCHES = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(12)]


def train(model, wrap, optimizer, clip, last, schedule):
    """Losses of a training whose step `wrap` records, or not."""
    torch.manual_seed(1)
    opt = getattr(torch.optim, optimizer)(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 3, 0.5)

    def step(x, target):
        if not last:
            opt.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        if clip == "norm":
            nn.utils.clip_grad_norm_(model.parameters(), 0.3)
        elif clip == "value":
            nn.utils.clip_grad_value_(model.parameters(), 0.01)
        opt.step()
        if schedule:
            scheduler.step()
        if last:
            model.zero_grad()
        return loss

    run = wrap(step)
    losses = [run(x, target).item() for x, target in BATCHES]
    return losses, torch.get_rng_state(), opt.param_groups[0]["lr"], run


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "RMSprop", "Adagrad"])
@pytest.mark.parametrize("clip", ["", "norm", "value"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("schedule", [False, True])
def test_a_training_has_the_bits_of_eager(optimizer, clip, last, schedule):
    first = net()
    second = copy.deepcopy(first)
    expected = train(first, lambda step: step, optimizer, clip, last, schedule)
    found = train(second, lambda s: record(s, fullgraph=True), optimizer, clip, last, schedule)
    assert found[0] == expected[0] and found[1].equal(expected[1]) and found[2] == expected[2]
    for a, b in zip(first.state_dict().values(), second.state_dict().values(), strict=True):
        assert same_bits(a, b)
    assert found[3].recorded == 1


def test_gradients_that_are_there_are_added_to():
    models = net(), None
    models = models[0], copy.deepcopy(models[0])
    steps = []
    for model in models:
        model.eval()
        steps.append(lambda x, m=model: m(x).square().sum().backward())
    run = record(steps[1], fullgraph=True)
    for k in range(6):
        if k == 3:
            for model in models:
                model.zero_grad()
        x = torch.randn(4, 6)
        steps[0](x)
        run(x)
        for p, q in zip(models[0].parameters(), models[1].parameters(), strict=True):
            assert same_bits(p.grad, q.grad)
    assert run.recorded == 2


def test_an_update_by_hand():
    w = torch.randn(4, requires_grad=True)
    v = w.detach().clone().requires_grad_()

    def step_of(w):
        def step(x):
            loss = ((w * x).sum() - 1).square()
            loss.backward()
            with torch.no_grad():
                w.sub_(0.01 * w.grad)
                w.grad = None
            return loss

        return step

    eager, run = step_of(w), record(step_of(v))
    for _ in range(5):
        x = torch.randn(4)
        assert eager(x).item() == run(x).item() and same_bits(w, v)


def test_what_a_step_may_not_do():
    model = net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def checks_after(x):
        loss = model(x).sum()
        loss.backward()
        opt.step()
        return F.cross_entropy(model(x), torch.tensor([0, 1, 2, 0]))

    def answers_a_number(x):
        model(x).sum().backward()
        opt.step()
        opt.zero_grad()
        return opt.param_groups[0]["lr"]

    def reads(x):
        loss = model(x).sum()
        loss.backward()
        return loss.item()

    for step, why in (
        (checks_after, "checks elements after an optimizer's step"),
        (answers_a_number, "answers a number"),
        (reads, "reads an element"),
    ):
        with pytest.raises(RuntimeError, match=why):
            record(step, fullgraph=True)(torch.randn(4, 6))
        opt.zero_grad()
    compiled = torch.compile(checks_after)
    weight = model[0].weight.clone()
    compiled(torch.randn(4, 6))
    assert not same_bits(weight, model[0].weight)
    with pytest.raises(RuntimeError, match=r"calls backward\(\)"):
        torch.compile(checks_after, fullgraph=True)(torch.randn(4, 6))


def test_parameters_that_are_frozen_later():
    model, opt = net(), None
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        opt.zero_grad()
        model(x).sum().backward()
        opt.step()

    run = record(step, fullgraph=True)
    for k in range(4):
        model[0].weight.requires_grad_(k % 2 == 0)
        before = model[0].weight.detach().clone()
        run(torch.randn(4, 6))
        assert same_bits(before, model[0].weight) == (k % 2 == 1)


def test_backward_goes_on_through_what_a_step_is_given():
    run = record(lambda x: x.square().sum().backward())
    w = torch.ones(3, requires_grad=True)
    for x in (w, w, w * 3, w * 3, w):
        run(x)
    assert w.grad.tolist() == [2 + 2 + 18 + 18 + 2] * 3
    assert any("with a history" in why for why in run.refusals)
    assert len(run.programs()) > 0


def test_what_a_step_reads_gets_a_history_later():
    w, v, b = (torch.ones(3, requires_grad=wants) for wants in (True, True, False))
    run = record(lambda: (b * w * w).sum().backward())
    for _ in range(2):
        run()
    b.mul_(v)
    run()
    assert w.grad.tolist() == [6.0] * 3 and v.grad.tolist() == [1.0] * 3


def test_a_step_that_is_a_method():
    class Training:
        def __init__(self, lr):
            self.weight = torch.ones(2, requires_grad=True)
            self.optimizer = torch.optim.SGD([self.weight], lr=lr)

        def step(self, x, power=2):
            self.optimizer.zero_grad()
            loss = (self.weight * x).pow(power).sum()
            loss.backward()
            self.optimizer.step()
            return loss

        recorded = record(step, fullgraph=True)

    for lr in (0.1, 0.2):
        eager, program = Training(lr), Training(lr)
        for k in range(4):
            x = torch.full((2,), 0.1 * k + 0.1)
            assert same_bits(program.recorded(x, power=2), eager.step(x))
            assert same_bits(program.weight, eager.weight)
    assert Training.recorded.recorded == 2  # one each
