"""Steps that go on after an optimizer's: the bits of eager."""

import copy
import random
import sys
from pathlib import Path

import pytest
from helpers import same_bits

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F
from tiny_torch.program import plan, record

sys.path.append(str(Path(__file__).parents[2]))
from benchmarks.steps import dcgan


def variables_of(step):
    cells = zip(step.__code__.co_freevars, step.__closure__, strict=True)
    return {name: cell.cell_contents for name, cell in cells}


def test_dcgan_has_the_bits_of_eager():
    found = []
    for wrap in (lambda step: step, lambda step: record(step, fullgraph=True)):
        torch.manual_seed(0)
        step = dcgan(torch, batch=4)
        run = wrap(step)
        for _ in range(20):
            run()
        nets = nn.ModuleList([variables_of(step)[name] for name in ("generator", "discriminator")])
        grads = [p.grad for p in nets.parameters()]
        found.append([*nets.state_dict().values(), *grads, torch.get_rng_state()])
    assert all(map(same_bits, *found)) and run.recorded == 2


def gan(wrap):
    """Losses of a training with two optimizers, one of which has a schedule, and the nets."""
    torch.manual_seed(3)
    maker = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
    judge = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Linear(8, 1))
    opt_m, opt_j = torch.optim.Adam(maker.parameters()), torch.optim.RMSprop(judge.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(opt_j, 2, 0.5)

    def step(real):
        fake = maker(torch.randn(len(real), 3))
        opt_j.zero_grad(set_to_none=False)
        loss_j = F.softplus(-judge(real)).mean() + F.softplus(judge(fake.detach())).mean()
        loss_j.backward()
        nn.utils.clip_grad_norm_(judge.parameters(), 0.5)
        opt_j.step()
        schedule.step()
        opt_m.zero_grad()
        loss_m = F.softplus(-judge(fake)).mean()
        loss_m.backward()
        opt_m.step()
        return loss_j, loss_m, (loss_j + loss_m).detach()

    run = wrap(step)
    losses = [[loss.item() for loss in run(torch.randn(6, 4))] for _ in range(8)]
    return losses, nn.ModuleList([maker, judge]), run


def test_two_optimizers_in_a_step():
    expected, eager, _ = gan(lambda step: step)
    found, nets, run = gan(lambda step: record(step, fullgraph=True))
    assert found == expected and run.recorded == 2
    assert all(map(same_bits, eager.state_dict().values(), nets.state_dict().values()))


EVENTS = ("backward 0", "backward 1", "backward both", "step 0", "step 1", "zero 0", "zero 1",
          "fill 0", "clip 0", "clip 1", "draw", "drop 0", "average")  # fmt: skip


def play(events, nets, wrap):
    """What a step of these events answers, five times; and gradients at the end."""
    opts = [torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.5) for net in nets]
    torch.manual_seed(5)

    def step(x):
        results = [nets[0](x).sum()]
        for event in events:
            what, _, which = event.partition(" ")
            if what == "backward":
                loss = torch.zeros(())
                for net in nets if which == "both" else [nets[int(which)]]:
                    loss = loss + net(x + len(results)).square().mean()
                loss.backward()
                results.append(loss.detach() * 2)
            elif what == "draw":
                results.append(F.dropout(x, 0.5).sum())
            elif what == "average":
                with torch.no_grad():
                    nets[1].weight.lerp_(nets[0].weight, 0.1)
            elif what == "drop":
                for p in nets[int(which)].parameters():
                    p.grad = None
            elif what == "clip":
                nn.utils.clip_grad_norm_(nets[int(which)].parameters(), 0.3)
            elif what == "step":
                opts[int(which)].step()
            else:
                opts[int(which)].zero_grad(set_to_none=what == "zero")
        return [results[0].detach(), *results[1:]]

    run = wrap(step)
    found = []
    for _ in range(5):
        found += run(torch.randn(4, 3))
    for p in [p for net in nets for p in net.parameters()]:
        found += [p.detach(), torch.zeros(1) if p.grad is None else p.grad]
    return found, run


@pytest.mark.parametrize("seed", range(60))
def test_random_steps_have_the_bits_of_eager(seed):
    dice = random.Random(seed)
    events = [dice.choice(EVENTS) for _ in range(dice.randint(2, 9))]
    nets = [nn.Linear(3, 3), nn.Linear(3, 3)]
    twins = copy.deepcopy(nets)
    expected, _ = play(events, nets, lambda step: step)
    found, run = play(events, twins, record)
    assert all(map(same_bits, expected, found)), events
    assert not run.refusals, events


def test_a_step_within_itself():
    w = torch.ones(2, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    calls = []

    def step():
        opt.zero_grad()
        (w * w).sum().backward()
        opt.step()
        return w.sum()

    run = record(step)
    for _ in range(2):
        run()
    opt.register_step_post_hook(lambda *_: calls.append(1) or (len(calls) == 1 and run()))
    with pytest.raises(RuntimeError, match="within a step, gradients are others"):
        run()
    run()
    assert len(calls) == 3 and w.tolist() == pytest.approx([0.8**5] * 2)


def test_the_plan_of_a_step_of_pieces():
    found = plan(dcgan(torch, batch=4))
    assert "calls" not in {launch.kernel for launch in found.launches}
    assert found.peak_bytes > found.given_bytes + found.result_bytes > 0
