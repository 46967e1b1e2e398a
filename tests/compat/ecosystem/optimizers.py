"""Typical uses of packages of optimizers and averages: some steps each, from the same net."""

import torch
from torch import nn
from uses import fit, normal, small_net, use


def steps(make, **options):
    """Losses of five steps by an optimizer."""
    torch.manual_seed(0)
    net, x = small_net(), normal(8, 4)
    optimizer = make(net.parameters(), **options)
    return fit(net, lambda: net(x).square().mean(), optimizer, steps=5)


@use("lion-pytorch")
def lion():
    from lion_pytorch import Lion

    return steps(Lion, lr=1e-2, weight_decay=1e-2), steps(Lion, lr=1e-2, use_triton=False)


@use("pytorch-optimizer")
def many_optimizers():
    import pytorch_optimizer

    names = (
        "AdaBelief AdaBound Adan AdamP DAdaptAdam DiffGrad Lamb LARS Lion MADGRAD NovoGrad Prodigy "
        "QHAdam RAdam Ranger ScheduleFreeAdamW SGDP Shampoo Tiger Yogi"
    )
    return {name: steps(pytorch_optimizer.load_optimizer(name), lr=1e-2) for name in names.split()}


@use("torch-optimizer")
def more_optimizers():
    import torch_optimizer

    names = (
        "A2GradExp AccSGD AdaBelief AdaBound AdaMod Adafactor AdamP AggMo Apollo DiffGrad LARS "
        "Lamb MADGRAD NovoGrad PID QHAdam QHM RAdam Ranger RangerQH RangerVA SGDP SGDW SWATS "
        "Shampoo Yogi"
    )
    return {name: steps(getattr(torch_optimizer, name)) for name in names.split()}


@use("schedulefree")
def schedule_free():
    from schedulefree import AdamWScheduleFree, SGDScheduleFree

    found = []
    for kind in (AdamWScheduleFree, SGDScheduleFree):
        torch.manual_seed(0)
        net, x = small_net(), normal(8, 4)
        optimizer = kind(net.parameters(), lr=0.05, warmup_steps=2)
        optimizer.train()
        found.append(fit(net, lambda net=net, x=x: net(x).square().mean(), optimizer, 5))
        optimizer.eval()
        found.append(net(x))
    return found


@use("ema-pytorch")
def average_of_weights():
    from ema_pytorch import EMA

    net, x = small_net(), normal(8, 4)
    ema = EMA(net, beta=0.9, update_after_step=1, update_every=1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        losses += fit(net, lambda: net(x).square().mean(), optimizer, steps=1)
        ema.update()
    return losses, ema(x), list(ema.ema_model.parameters())


@use("higher")
def steps_within_steps():
    import higher

    net, x, y = small_net(), normal(8, 4), normal(8, 1)
    inner = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    with higher.innerloop_ctx(net, inner, copy_initial_weights=False) as (copy, differentiable):
        for _ in range(3):
            differentiable.step(nn.functional.mse_loss(copy(x), y))
        nn.functional.mse_loss(copy(x), y).backward()
    return [p.grad for p in net.parameters()]


@use("prodigyopt")
def rates_by_distance():
    from prodigyopt import Prodigy

    net, x = small_net(), normal(5, 4)
    return fit(net, lambda: net(x).square().mean(), Prodigy(net.parameters()), steps=5)


@use("dadaptation")
def adapt_rates():
    from dadaptation import DAdaptAdam

    net, x = small_net(), normal(5, 4)
    return fit(net, lambda: net(x).square().mean(), DAdaptAdam(net.parameters()), steps=5)


@use("came-pytorch")
def confident_steps():
    from came_pytorch import CAME

    net, x = small_net(), normal(5, 4)
    return fit(net, lambda: net(x).square().mean(), CAME(net.parameters(), lr=1e-3), steps=5)
