"""Trainings on `cuda-emulated`: the CPU's losses to rounding, and the same bits every time."""

from __future__ import annotations

import pytest
from helpers import CUDA as DEVICE

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F


class Dropout(nn.Module):
    """nn.Dropout whose draws are the CPU's on every device."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return x * (torch.rand(x.shape) >= self.p).to(x.device) / (1 - self.p)


class LeNet(nn.Sequential):
    def __init__(self):
        features = nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.BatchNorm2d(6)
        more = nn.Conv2d(6, 16, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten()
        super().__init__(*features, *more, nn.Linear(16, 32), Dropout(0.1), nn.Linear(32, 4))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.out = nn.Embedding(4, 8), nn.Linear(12, 4)
        self.lstm = nn.LSTM(8, 12, num_layers=2, batch_first=True)

    def forward(self, tokens):
        return self.out(self.lstm(self.embedding(tokens))[0])


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.place = nn.Embedding(4, 16), nn.Embedding(8, 16)
        self.norm, self.qkv, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))
        self.head = nn.Linear(16, 4)

    def forward(self, tokens):
        batch, length = tokens.shape
        x = self.embedding(tokens) + self.place(torch.arange(length, device=tokens.device))
        q, k, v = (
            part.view(batch, length, 2, 8).transpose(1, 2)
            for part in self.qkv(self.norm(x)).chunk(3, dim=2)
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, 16))
        return self.head(x + self.mlp(x))


def mlp():
    return nn.Sequential(nn.Linear(8, 32), nn.Tanh(), Dropout(0.25), nn.Linear(32, 4))


def numbers(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def tokens():
    return torch.arange(32).view(4, 8).remainder(7).remainder(4)


TRAININGS = {
    "MLP": (mlp, lambda: numbers(16, 8), torch.optim.Adam),
    "LeNet": (LeNet, lambda: numbers(8, 1, 8, 8), torch.optim.SGD),
    "LSTM": (Recurrent, tokens, torch.optim.RMSprop),
    "GPT": (GPT, tokens, torch.optim.AdamW),
}


def trained(name, device):
    """The losses of five steps, and the parameters that they leave, on the CPU."""
    make, data, optimizer = TRAININGS[name]
    torch.manual_seed(0)
    net, x = make().to(device), data().to(device)
    labels = tokens().to(device) if x.dtype == torch.int64 else torch.arange(len(x)).remainder(4)
    opt = optimizer(net.parameters(), lr=0.02)
    losses = []
    for _ in range(5):
        loss = F.cross_entropy(net(x).reshape(-1, 4), labels.reshape(-1).to(device))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    return losses, [p.detach().cpu() for p in net.parameters()]


@pytest.mark.parametrize("name", TRAININGS)
def test_training(name):
    expected, _ = trained(name, "cpu")
    losses, found = trained(name, DEVICE)
    assert losses == pytest.approx(expected, rel=1e-5)
    again = trained(name, DEVICE)
    assert again[0] == losses
    assert all(torch.equal(a, b) for a, b in zip(again[1], found, strict=True))
