"""The hints of a profile's page: each rule sees what it is about, and nothing where all is well."""

from __future__ import annotations

import re
import time

import pytest
from tiny_torch.profiler import hints
from tiny_torch.profiler.command import ScriptRecord
from tiny_torch.profiler.limits import Limits
from tiny_torch.profiler.peak import peak_of

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F
from tiny_torch.utils.data import DataLoader, Dataset

LIMITS = Limits(2e11, 3e10)


@pytest.fixture(autouse=True)
def processor(monkeypatch):
    """One without products of bfloat16, whatever runs the tests; and with little memory."""
    monkeypatch.setattr(hints._core, "instruction_set", "v4")
    monkeypatch.setattr(hints, "LARGE_PEAK", 100 << 20)


def profiled(work, limits=LIMITS):
    watch = ScriptRecord()
    watch.begin()
    try:
        work()
    finally:
        watch.end()
    totals = watch.totals(limits)
    return totals, peak_of(watch.changes, totals)


def first(attempt):
    """The first answer that is something: other work on the machine may hide a situation."""
    return next(filter(None, (attempt() for _ in range(50))), None)


class Slow(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, i):
        time.sleep(0.005)
        return torch.ones(4)


def slow_data():
    for x in DataLoader(Slow(), batch_size=4):
        x * 2


def slow_data_of_workers():
    for x in DataLoader(Slow(), batch_size=4, num_workers=1):
        x * 2


def large_table():
    table = torch.zeros(100_000, 32, requires_grad=True)
    for _ in range(5):
        F.embedding(torch.arange(200), table).sum().backward()


def small_tensors():
    x = torch.ones(3)
    for _ in range(2000):
        x = x * 1.01


def thin_matrices():
    x, w = torch.ones(100_000, 3), torch.ones(3, 64)
    for _ in range(3):
        x @ w


def thin_layer():
    net, x = nn.Linear(512, 2), torch.ones(20_000, 512)
    for _ in range(3):
        net(x).sum().backward()


def one_by_one():
    x = torch.ones(400)
    return sum(x[i].item() for i in range(400))


def zeroed():
    weight = torch.zeros(1000, 1000, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(10):
        F.linear(torch.ones(2, 1000), weight).sum().backward()
        optimizer.zero_grad(set_to_none=False)


def doubles():
    x = torch.ones(300_000, dtype=torch.float64)
    for _ in range(5):
        x.exp()


def transposed():
    x = torch.ones(1000, 1000)
    for _ in range(5):
        x.t().contiguous()


def deep():
    y = torch.ones(1 << 20, requires_grad=True)
    for _ in range(30):
        y = y.sin()
    y.sum().backward()


# A rule, what it is about, and what is said of it.
SITUATIONS = [
    ("waiting_for_data", slow_data, r"waits for data, about \S+ms per batch: .*num_workers=2"),
    ("waiting_for_data", slow_data_of_workers, "per batch: more workers"),
    ("embedding_gradients", large_table, "100,000 rows, of which at most 0.2% are used"),
    ("short_ops", small_tensors, r"ops of under 10 us .*, \d+% of all ops: .*test_profile_hints"),
    ("thin_products", thin_matrices, r"\(100000 x 3\) by \(3 x 64\) at \d+% .* because K = 3"),
    ("thin_products", thin_layer, r"\(20000 x 512\) by \(512 x 2\) at \d+% .* because N = 2"),
    ("numbers", one_by_one, r"numbers by 400 calls of \.item\(\).*test_profile_hints.py\(\d+\)"),
    ("filled_gradients", zeroed, r"% of the time fills \.grad with zeros"),
    ("double_precision", doubles, r"ops in float64.*test_profile_hints.py\(\d+\): doubles"),
    ("copies", transposed, r"copies tensors .* \(5 calls, most in .*: transposed\)"),
    ("activations", deep, r"% of memory's peak of 1\d\d\.\d+ MB is .*checkpoint"),
]


@pytest.mark.parametrize(("rule", "work", "text"), SITUATIONS)
def test_a_rule_sees_its_situation(rule, work, text):
    found = first(lambda: getattr(hints, rule)(*profiled(work)))
    assert found is not None and 0 < found.share <= 1
    assert re.search(text, found.text), found.text
    assert f"{found.share:.0%}" in found.text


def test_products_of_bfloat16(monkeypatch):
    net, x = nn.Linear(512, 512), torch.ones(512, 512)

    def steps(enabled):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            for _ in range(5):
                net(x).sum().backward()

    slow = Limits(1e9, 1e9)  # of which products reach a large part
    plain, half = profiled(lambda: steps(False), slow), profiled(lambda: steps(True), slow)
    assert hints.half_products(*plain) is None
    monkeypatch.setattr(hints._core, "instruction_set", "v4bf16")
    assert "torch.autocast('cpu', torch.bfloat16)" in hints.half_products(*plain).text
    assert hints.half_products(*half) is None
    assert hints.copies(*half) is None  # though autocast casts


# ---- where all is well --------------------------------------------------------------------------


def train(net, data, target, steps=3):
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in zip(data.chunk(steps), target.chunk(steps), strict=True):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()


def perceptron():
    net = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 100))
    train(net, torch.randn(3072, 512), torch.randint(100, (3072,)))


def convolutions():
    net = nn.Sequential(
        nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 3),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    train(net, torch.randn(48, 16, 32, 32), torch.randint(10, (48,)))


def words():
    net = nn.Sequential(nn.Embedding(64, 256), nn.Flatten(), nn.Linear(16 * 256, 64))
    train(net, torch.randint(64, (3072, 16)), torch.randint(64, (3072,)))


def evaluation():
    net, x = nn.Linear(512, 1024), torch.randn(64, 512)
    with torch.no_grad():
        return sum(F.mse_loss(net(x), torch.ones(64, 1024)).item() for _ in range(120))


@pytest.mark.parametrize("work", [perceptron, convolutions, words, evaluation])
def test_a_script_that_is_well_made(work):
    assert first(lambda: not hints.hints(*profiled(work)))


def test_nothing_ran():
    assert hints.hints(*profiled(lambda: None)) == []


def test_the_three_that_are_about_most():
    def all_of_it():
        for work in (slow_data, small_tensors, doubles, transposed, one_by_one):
            work()

    found = hints.hints(*profiled(all_of_it))
    assert len(found) <= 3 and found == sorted(found, key=lambda hint: -hint.share)
    assert any("waits for data" in hint.text for hint in found)
