"""Compiled calls within autocast, and recorded steps that hold it, with a GradScaler and without:
the bits of eager."""

import pytest
from helpers import same_bits

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.amp.state import state
from tiny_torch.nn import functional as F
from tiny_torch.program import Compiled, record

HALVES = [torch.bfloat16, torch.float16]


def recorded(compiled):
    """Names of its programs."""
    return [
        name for cases in compiled.cases.values() for case in cases for name, *_ in case.programs
    ]


def train(wrap_net, wrap_step, dtype, scaled, clipped, lost):
    """Six steps, of which one may have inf in its gradients: losses, weights, the scale."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(20, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 5))
    model = wrap_net(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", enabled=scaled, init_scale=1024.0, growth_interval=2)

    def step(x, target):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype):
            loss = F.cross_entropy(model(x), target)
        scaler.scale(loss).backward()
        if clipped:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        return loss

    run = wrap_step(step)
    losses = []
    for k in range(6):
        x, target = torch.randn(8, 20), torch.randint(0, 5, (8,))
        if k == lost:
            x[0] = torch.inf
        losses.append(run(x, target).detach())
    skipped = scaler.skipped_steps if scaled else 0
    state_of = [*losses, *net.parameters(), torch.tensor([scaler.get_scale(), skipped])]
    return state_of, model, run


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("scaled", "clipped", "lost"), [
    (False, False, None), (False, True, None), (True, False, None), (True, True, None),
    (True, False, 4), (True, True, 4), (True, False, 0),
])  # fmt: skip
def test_a_training_has_the_bits_of_eager(dtype, scaled, clipped, lost):
    case = dtype, scaled, clipped, lost
    expected, *_ = train(lambda net: net, lambda step: step, *case)
    assert expected[-1][1] == (lost is not None)
    found, compiled, _ = train(Compiled, lambda step: step, *case)
    assert all(map(same_bits, found, expected))
    assert recorded(compiled) == ["forward", "backward"] and not compiled.refusals
    found, _, step = train(lambda net: net, lambda step: record(step, fullgraph=True), *case)
    assert all(map(same_bits, found, expected))
    assert recorded(step) == ["step"]


def test_each_autocast_has_a_recording():
    layer = nn.Linear(8, 8)
    compiled = Compiled(lambda x: F.softmax(layer(layer(x)), -1), fullgraph=True)
    x = torch.randn(4, 8)
    blocks = [
        {"enabled": False}, {"dtype": torch.bfloat16}, {"dtype": torch.float16},
        {"dtype": torch.bfloat16, "cache_enabled": False},
    ]  # fmt: skip
    for _ in range(3):
        for options in blocks:
            found = []
            for function in (compiled, compiled.function):
                layer.zero_grad()
                with torch.autocast("cpu", **options):
                    y = function(x)
                y.square().sum().backward()
                found.append([y.detach(), layer.weight.grad, layer.bias.grad])
            assert found[0][0].dtype is found[1][0].dtype
            assert all(map(same_bits, *found))
    assert compiled.recorded == len(blocks)


def test_a_block_within_the_function_is_recorded():
    weight = torch.randn(8, 8, requires_grad=True)

    def function(x):
        with torch.autocast("cpu", enabled=False):
            y = x @ weight
        return y @ weight

    compiled = Compiled(function, fullgraph=True)
    for _ in range(3):
        x = torch.randn(4, 8)
        with torch.autocast("cpu"):
            assert same_bits(compiled(x).detach().float(), function(x).detach().float())


def test_casts_of_the_block_stay_its_own():
    layer = nn.Linear(8, 8)
    compiled = Compiled(layer, fullgraph=True)
    for _ in range(3):
        x = torch.randn(4, 8)
        with torch.autocast("cpu"):
            before = layer(x)
            casts = dict(state.cache)
            y = compiled(x)
            assert casts and state.cache == casts
        assert same_bits(y.detach().float(), before.detach().float()) and not state.cache
        y.sum().backward()
    assert compiled.recorded == 1


def test_what_counts_casts_runs_as_it_is():
    compiled = Compiled(nn.Linear(8, 8))
    for _ in range(3):
        with torch.autocast("cpu", log=True) as block:
            compiled(torch.randn(4, 8))
        assert sum(block.casts.values()) == 3
    assert compiled.recorded == 0
