"""What graphs hold, and backward in several threads."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import ClassVar

import pytest
from helpers import leaf

import tiny_torch
from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op


def held() -> int:
    """Bytes of array memory in use."""
    return _core.memory_statistics()["allocated"]


# ------------------------------------------------------------------------------------- memory


class Watched(Op):
    """An op that saves nothing, and whose backward says what is held."""

    seen: ClassVar[list] = []

    @staticmethod
    def forward(x):
        return x + 0, ()

    @staticmethod
    def backward(saved, grad, needs):
        Watched.seen.append(held())
        return grad


SIZE = 1 << 20


def test_adds_hold_nothing_and_activations_die():
    torch = tiny_torch
    gc.collect()  # what other tests left
    x = torch.ones(SIZE, requires_grad=True)
    before = held()
    z = x
    for _ in range(100):
        z = z + x
    assert held() - before <= 4 * SIZE  # z itself
    w = z.exp()
    del z
    assert held() - before <= 2 * 4 * SIZE  # exp saves its output only
    w = w * 2.0  # and a number's product nothing
    assert held() - before <= 2 * 4 * SIZE
    w = w * torch.ones(SIZE)  # a constant's, the constant
    assert held() - before <= 3 * 4 * SIZE
    del w
    assert held() == before


def test_backward_frees_as_it_goes_and_holds_few_buffers():
    torch = tiny_torch
    x = torch.ones(SIZE, requires_grad=True)
    before = held()
    y = apply(Watched, x)
    z = y
    for _ in range(20):
        z = (z + y).exp().sigmoid()
    Watched.seen.clear()
    z.backward(torch.ones(SIZE))
    assert Watched.seen[-1] - before <= 6 * 4 * SIZE  # of 40 saved none is left
    del y, z
    assert held() - before == 4 * SIZE  # x.grad


def test_no_reference_cycle_keeps_a_graph(torch):
    gc.collect()
    gc.disable()
    try:
        x = leaf(torch, 1.0, 2.0)
        y = x * 2
        y.retain_grad()
        handle = y.register_hook(lambda g: None)
        v = y[0:1]
        v.mul_(3.0)
        z = (y * v).sum()
        z.backward()
        dead = [weakref.ref(t) for t in (x, y, v, z)]
        nodes = [weakref.ref(t) for t in (z.grad_fn,)] if torch is tiny_torch else []
        del x, y, v, z
        assert [ref() for ref in dead + nodes] == [None] * len(dead + nodes)
        handle.remove()
    finally:
        gc.enable()


def test_a_deep_graph_is_deleted_without_recursion(torch):
    x = leaf(torch, 1.0)
    z = x
    for _ in range(200_000):
        z = z * x
    del z


# ------------------------------------------------------------------------------------ threads


@pytest.mark.parametrize("size", [1, 1 << 17])  # the larger lets go of the GIL while it adds
def test_backward_in_two_threads_adds_up(torch, size):
    x = torch.ones(size, requires_grad=True)
    rounds = 50
    problems = []

    def work():
        try:
            for _ in range(rounds):
                (x * 2.0).sum().backward()
        except Exception as error:  # pragma: no cover
            problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert x.grad.min().item() == x.grad.max().item() == 2 * 2 * rounds


def test_modes_are_per_thread(torch):
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]
