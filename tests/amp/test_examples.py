"""The examples of PyTorch's documentation, read from its docstrings, and run under tiny_torch."""

from __future__ import annotations

import re
import textwrap

import pytest

import tiny_torch as torch
from tiny_torch import nn, optim

theirs = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def examples(thing):
    """The blocks of code in a docstring: what is indented behind a line that ends in "::"."""
    text = textwrap.dedent("    " * (thing.__doc__[0] != "\n") + thing.__doc__)
    found = re.split(r"(?m)^[^\n]*::\n\n", text)[1:]
    return [textwrap.dedent(re.split(r"(?m)^(?=\S)", part)[0]) for part in found]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(x)


def names():
    """What the examples take for granted: a model, data, an optimizer."""
    torch.manual_seed(0)
    model = Net()
    output = model(torch.rand(2, 4))

    class WithoutRate:  # they write `...` for SGD's options
        @staticmethod
        def SGD(parameters, *rest):
            return optim.SGD(parameters, lr=0.1)

    batches = [(torch.rand(2, 4), torch.tensor([0, 2])) for _ in range(3)]

    class Data(list):  # batches for training, or for inference
        def __iter__(self):
            return iter(batches if "for input, target in data" in self.text else INPUTS)

    INPUTS = [x for x, _ in batches]
    return {
        "torch": torch, "nn": nn, "optim": WithoutRate, "Net": Net, "model": model,
        "epochs": range(2), "data": Data(), "loss_fn": nn.functional.cross_entropy,
        "loss": nn.functional.cross_entropy(output, batches[0][1]), "max_norm": 1.0,
        "optimizer": optim.SGD(model.parameters(), lr=0.1),
        "GradScaler": lambda: torch.amp.GradScaler("cpu"),
    }  # fmt: skip


def executed(text, **more):
    space = {**names(), **more}
    space["data"].text = text
    exec(text, space)
    return space


# Those of the device "cuda" run on the CPU, whose products are bfloat16; jit is not covered.
OF_AUTOCAST = [
    text.replace('device="cuda"', 'device="cpu"')
    .replace('device_type="cuda"', 'device_type="cpu"')
    .replace(".cuda()", "")
    for text in examples(theirs.autocast)
    if "torch.jit" not in text
]


def test_there_are_examples():
    assert len(OF_AUTOCAST) == 6 and len(examples(theirs.amp.GradScaler)) == 1


@pytest.mark.parametrize("text", OF_AUTOCAST)
def test_of_autocast(text):
    space = executed(text)
    for name, dtype in (("float16", torch.bfloat16), ("float32", torch.float32)):
        for key, value in space.items():
            if key.endswith("_" + name):
                assert value.dtype is dtype, key


def test_of_the_scaler():
    (text,) = examples(theirs.amp.GradScaler)
    space = executed(text)
    assert space["scaler"].get_scale() == 2.0**16 and space["model"].fc.weight.grad is not None


def test_of_unscale():
    (text,) = examples(theirs.amp.GradScaler.unscale_)
    scaler = torch.amp.GradScaler("cpu")
    space = executed(text, scaler=scaler)
    assert scaler.state_dict()["_growth_tracker"] == 1 and space["loss"].requires_grad


# ---- accumulation, several losses and optimizers, penalties: what the notes describe ------------


def same_as_without(train):
    """The parameters after a training with a scaler are those of one without, in float32."""
    results = []
    for scaler in (torch.amp.GradScaler("cpu"), torch.amp.GradScaler("cpu", enabled=False)):
        torch.manual_seed(0)
        nets = Net(), Net()
        optimizers = [optim.SGD(net.parameters(), lr=0.1) for net in nets]
        train(scaler, nets, optimizers)
        results.append([p.detach() for net in nets for p in net.parameters()])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_gradients_accumulate_over_batches():
    def train(scaler, nets, optimizers):
        for i in range(4):
            scaler.scale(nets[0](torch.ones(2, 4)).square().mean() / 2).backward()
            if i % 2:
                scaler.step(optimizers[0])
                scaler.update()
                optimizers[0].zero_grad()

    same_as_without(train)


def test_several_losses_and_optimizers_share_a_scaler():
    def train(scaler, nets, optimizers):
        for _ in range(3):
            for optimizer in optimizers:
                optimizer.zero_grad()
            a, b = [net(torch.ones(2, 4)) for net in nets]
            scaler.scale((2 * a + 3 * b).square().mean()).backward(retain_graph=True)
            scaler.scale((3 * a - 5 * b).square().mean()).backward()
            scaler.unscale_(optimizers[0])
            nn.utils.clip_grad_norm_(nets[0].parameters(), 1.0)
            for optimizer in optimizers:
                scaler.step(optimizer)
            scaler.update()

    same_as_without(train)


def test_a_penalty_of_unscaled_gradients():
    def train(scaler, nets, optimizers):
        net, optimizer = nets[0], optimizers[0]
        with torch.autocast("cpu", enabled=False):
            loss = net(torch.ones(2, 4)).square().mean()
        scaled = torch.autograd.grad(scaler.scale(loss), net.parameters(), create_graph=True)
        grads = [grad / scaler.get_scale() for grad in scaled]
        loss = loss + sum(grad.square().sum() for grad in grads).sqrt()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    same_as_without(train)
