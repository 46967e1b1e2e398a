"""The simulator's seconds next to those of real processes: printed, because machines are busy.

pytest -m slow -s tests/distributed/test_simulated_seconds.py

Processes of one machine share its cores and its memory. So what the simulator is given is measured
while all of them compute, or send, at the same time.
"""

import statistics
import time

import pytest
import test_simulate
from ranks import values
from test_simulate import REAL, deep, loss_of

import tiny_torch as torch
from tiny_torch.distributed.links import Call
from tiny_torch.distributed.simulate import STRATEGIES, Link, Step, record_step

STEPS, SMALL, LARGE = 7, 64, 1 << 20


def message(group, size, number):
    """Seconds of a message of a ring in which all send at once."""
    links, out, into = (
        group.backend_for("cpu").links,
        memoryview(bytearray(size)),
        memoryview(bytearray(size)),
    )
    right, left = (links.rank + 1) % links.size, (links.rank - 1) % links.size
    begin = time.perf_counter()
    for i in range(30):
        call = Call(number + i, "message", 20.0, group.ranks)
        links.exchange([(right, out)], [(left, into)], call)
    return (time.perf_counter() - begin) / 30


def measured(rank, n):
    """A step of one process, beside the others; messages; and the steps of each strategy."""
    torch.set_num_threads(1)
    test_simulate.WIDTH, test_simulate.BATCH = 512, 256  # what Python takes is not simulated
    group = torch.distributed.group.WORLD
    net = deep()
    torch.distributed.barrier()
    step = record_step(net, torch.optim.SGD(net.parameters()), loss_of, repeats=STEPS)
    torch.distributed.barrier()
    small, large = message(group, SMALL, 10_000), message(group, LARGE, 20_000)
    torch.distributed.barrier()
    found = {}
    for name, make in REAL.items():
        run = make(rank, n)
        run()
        seconds = []
        for _ in range(STEPS):
            torch.distributed.barrier()
            begin = time.perf_counter()
            run()
            torch.distributed.barrier()
            seconds.append(time.perf_counter() - begin)
        found[name] = statistics.median(seconds)
    return step, small, large, found


@pytest.mark.slow
def test_seconds_are_printed():
    print(f"\n{'ranks':>5}  {'strategy':<10}{'predicted':>12}{'measured':>12}{'ratio':>8}")
    for n in (2, 4, 8):
        step, small, large, found = values(measured, n, seconds=200)[0]
        link = Link(small, LARGE / max(large - small, 1e-9))
        alone = Step(step.layers, 0.0, step.activations, 0.0)  # the steps above have no optimizer
        for name, seconds in found.items():
            if name == "DDP, tree":  # whose real steps have no backward
                continue
            told = STRATEGIES[name](alone, n, link)
            assert told is not None and told.seconds > 0 and seconds > 0
            row = f"{n:>5}  {name:<10}{told.seconds * 1e3:>9.1f} ms{seconds * 1e3:>9.1f} ms"
            print(f"{row}{told.seconds / seconds:>8.2f}")
