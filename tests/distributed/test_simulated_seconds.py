"""The simulator's seconds next to those of real processes: printed, because machines are busy.

pytest -m slow -s tests/distributed/test_simulated_seconds.py

Processes of one machine share its cores. So layers here do not compute, they wait: as a rank does
whose GPU computes. What a link takes is measured by the collective that the strategy uses, while
all ranks use it, and the steps right behind it.
"""

import statistics
import time

import pytest
import test_simulate
from ranks import values
from test_simulate import REAL, deep, loss_of

import tiny_torch as torch
import tiny_torch.distributed as dist
from benchmarks.machines import let_wait
from tiny_torch.distributed.simulate import STRATEGIES, Link, Step, record_step

ROUNDS, STEPS = 5, 3
WIDTH, BATCH = 1024, 16
FORWARD, BACKWARD = 0.010, 0.020  # seconds of a whole layer
KIB, MIB = 1 << 10, 1 << 20


def fit(send, sizes, count):
    """A link on which `send(size)`, which is `count` messages of that size, takes as long."""
    seconds = []
    for size in sizes:
        found = []
        for _ in range(7):
            dist.barrier()
            begin = time.perf_counter()
            send(size)
            found.append((time.perf_counter() - begin) / count)
        seconds.append(statistics.median(found))
    bandwidth = (sizes[1] - sizes[0]) / max(seconds[1] - seconds[0], 1e-9)
    return max(seconds[0] - sizes[0] / bandwidth, 0.0), bandwidth


def links(rank, n):
    """A link as each strategy's messages see it."""

    def ring(size):
        dist.all_reduce(torch.zeros(size * n // 4))

    def gather(size):
        dist.all_gather_into_tensor(torch.zeros(size * n // 4), torch.zeros(size // 4))
        dist.reduce_scatter_tensor(torch.zeros(size // 4), torch.zeros(size * n // 4))

    def pass_on(size):
        x = torch.zeros(size // 4)
        work = dist.isend(x, (rank + 1) % n)
        dist.recv(torch.zeros(size // 4), (rank - 1) % n)
        work.wait()

    by = dist.group.WORLD.backend_for("cpu").runs_beside
    sizes = [64 * KIB, MIB]
    yield "DDP, ring", Link(*fit(ring, sizes, 2 * (n - 1)), by)
    yield "FSDP", Link(*fit(gather, sizes, 2 * (n - 1)))
    yield "pipeline", Link(*fit(pass_on, sizes, 1))
    yield "tensor", Link(*fit(ring, [8 * KIB, 64 * KIB], 2 * (n - 1)))


def measured(rank, n):
    """For each strategy its ratios of predicted to real seconds, and the medians of both."""
    torch.set_num_threads(1)
    test_simulate.WIDTH, test_simulate.BATCH = WIDTH, BATCH
    test_simulate.deep = deep_and_waiting
    runs = {name: REAL[name](rank, n) for name, _ in links(rank, n)}
    net = deep_and_waiting()
    found = {name: [] for name in runs}
    for _ in range(ROUNDS):
        step = record_step(net, torch.optim.SGD(net.parameters()), loss_of, repeats=STEPS)
        alone = Step(step.layers, 0.0, step.activations, 0.0)  # those below have no optimizer
        for name, link in links(rank, n):
            told, seconds = STRATEGIES[name](alone, n, link), []
            for _ in range(STEPS):
                dist.barrier()
                begin = time.perf_counter()
                runs[name]()
                dist.barrier()
                seconds.append(time.perf_counter() - begin)
            found[name].append((told.seconds, statistics.median(seconds)))
    return found


def deep_and_waiting():
    net = deep()
    for layer in net:
        let_wait(layer, FORWARD, BACKWARD)
    return net


@pytest.mark.slow
def test_seconds_are_printed():
    print(f"\n{'ranks':>5}  {'strategy':<10}{'predicted':>12}{'measured':>12}   ratio")
    for n in (2, 4, 8):
        for name, found in values(measured, n, seconds=300)[0].items():
            told, seconds = (statistics.median(column) * 1e3 for column in zip(*found, strict=True))
            ratios = sorted(a / b for a, b in found)
            assert told > 0 and seconds > 0
            row = f"{n:>5}  {name:<10}{told:>9.1f} ms{seconds:>9.1f} ms"
            print(f"{row}{statistics.median(ratios):>8.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
