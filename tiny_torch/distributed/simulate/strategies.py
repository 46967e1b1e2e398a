"""Strategies: the time of a step at n workers, what each of them sends, and its memory.

A message of B bytes takes latency + B / bandwidth; a worker has one link, which sends and receives
at the same time. Collectives are those of rings.py:

    ring all-reduce       2 (n - 1) messages of B / n
    ring gather, reduce     (n - 1) messages of B / n
    tree all-reduce       2 log2(n) messages of B, of which the root sends half

Data parallel strategies give each worker a batch of its own; a pipeline's microbatches and tensor
parallelism's batch are that of the recorded step. So `batches` says how many of those a step has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tiny_torch.distributed.pipelining.schedules import one_forward_one_backward
from tiny_torch.distributed.simulate.step import Layer, Step

MIB = 1024 * 1024
FIRST_BUCKET, BUCKET = 1 * MIB, 25 * MIB  # DistributedDataParallel's


@dataclass(frozen=True)
class Link:
    """Seconds before a message's first byte, and bytes in a second.

    `beside`: whether workers compute while it carries messages. Where it does not, as in memory
    that ranks share, DistributedDataParallel sends when backward is done (`runs_beside`).
    """

    latency: float
    bandwidth: float
    beside: bool = True

    def message(self, size: float, count: float = 1) -> float:
        """Seconds of so many messages, one after the other."""
        return count * (self.latency + size / self.bandwidth)


@dataclass(frozen=True)
class Estimate:
    """A step: its seconds, the batches that it has, and of a worker the bytes of memory and sent.

    `compute` is what the busiest worker computes.
    """

    seconds: float
    batches: float
    memory: float
    sent: float
    messages: float
    compute: float


def growing(gradients: float, activations: float) -> float:
    """The most of both: in backward gradients come as activations go."""
    return max(gradients, activations)


# ------------------------------------------------------------------------------------ data parallel


def buckets_of(step: Step) -> list[tuple[float, int]]:
    """When in backward each bucket of gradients is full, and its bytes, as in reducer.py."""
    found: list[tuple[float, int]] = []
    size, full, now = 0, 0.0, 0.0  # of the bucket that is being filled
    for layer in reversed(step.layers):
        now += layer.backward
        for parameter in reversed(layer.sizes):
            if size and size + parameter > (BUCKET if found else FIRST_BUCKET):
                found.append((full, size))
                size = 0
            size, full = size + parameter, now
    return [*found, (full, size)]


def data_parallel(
    step: Step,
    workers: int,
    link: Link,
    all_reduce: Callable[[float], tuple[float, float, float]],
) -> Estimate:
    """Buckets are reduced one after the other, each as soon as it is full and the link takes it."""
    link_free = 0.0 if link.beside else step.backward
    sent = messages = 0.0
    for full, size in buckets_of(step):
        seconds, of_bucket, count = all_reduce(size)
        link_free = max(link_free, full) + seconds
        sent, messages = sent + of_bucket, messages + count
    seconds = step.forward + max(step.backward, link_free) + step.optimizer
    # gradients are sent from where they are
    memory = step.parameters * (1 + step.state) + growing(step.parameters, step.activations)
    return Estimate(seconds, workers, memory, sent, messages, step.seconds)


def ring(step: Step, workers: int, link: Link) -> Estimate:
    """DistributedDataParallel, buckets by the ring."""

    def all_reduce(size: float) -> tuple[float, float, float]:
        count = 2 * (workers - 1)
        return link.message(size / workers, count), count * size / workers, count

    return data_parallel(step, workers, link, all_reduce)


def tree(step: Step, workers: int, link: Link) -> Estimate:
    """DistributedDataParallel, buckets up a tree and down again."""

    def all_reduce(size: float) -> tuple[float, float, float]:
        height = math.ceil(math.log2(workers))
        return link.message(size, 2 * height), height * size, height

    return data_parallel(step, workers, link, all_reduce)


def fsdp(step: Step, workers: int, link: Link) -> Estimate:
    """fully_shard of each layer: gathered before forward and backward, one layer ahead."""
    count = workers - 1

    def share(layer: Layer) -> float:
        return link.message(layer.parameters / workers, count) if layer.parameters else 0.0

    now = link_free = 0.0  # when the last layer's compute ends, when the link is free
    began = 0.0  # when the layer before began: the next one's gathering may begin then
    for layer in step.layers:
        link_free = max(link_free, began) + share(layer)
        began = max(now, link_free)
        now = began + layer.forward
    sums = 0.0  # of the layer behind, whose gradients travel after this one's parameters
    for layer in reversed(step.layers):
        gathered = max(link_free, began) + share(layer)
        link_free = max(gathered, now) + sums
        began = max(now, gathered)
        now, sums = began + layer.backward, share(layer)
    link_free = max(link_free, now) + sums
    seconds = max(now, link_free) + step.optimizer / workers
    largest = max(layer.parameters for layer in step.layers)
    part = step.parameters / workers
    # whole: a layer, the next one, the layer's gradient, a table
    memory = part * (1 + step.state) + 4 * largest + growing(part, step.activations)
    sent = 3 * count * step.parameters / workers
    messages = 3 * count * sum(1 for layer in step.layers if layer.parameters)
    compute = step.forward + step.backward + step.optimizer / workers
    return Estimate(seconds, workers, memory, sent, messages, compute)


# --------------------------------------------------------------------------------- model parallel


def stages_of(layers: Sequence[Layer], count: int) -> list[list[Layer]]:
    """Layers cut into so many neighbours that the slowest stage is as fast as can be."""
    costs = [layer.forward + layer.backward for layer in layers]

    def cut(limit: float) -> list[list[Layer]]:
        found: list[list[Layer]] = [[]]
        total = 0.0
        for i, (layer, cost) in enumerate(zip(layers, costs, strict=True)):
            must = len(layers) - i <= count - len(found)  # one layer for each stage that is left
            if found[-1] and (total + cost > limit or must):
                found.append([])
                total = 0.0
            found[-1].append(layer)
            total += cost
        return found

    low, high = max(costs), sum(costs)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if len(cut(middle)) <= count else (middle, high)
    return cut(high)


def pipeline(step: Step, workers: int, link: Link) -> Estimate | None:
    """1F1B of four microbatches a stage; None for more stages than layers."""
    if workers > len(step.layers):
        return None
    stages, microbatches = stages_of(step.layers, workers), 4 * workers
    forward = [sum(layer.forward for layer in stage) for stage in stages]
    backward = [sum(layer.backward for layer in stage) for stage in stages]
    moves = [stage[-1].output for stage in stages[:-1]]
    orders = [list(one_forward_one_backward(i, workers, microbatches)) for i in range(workers)]
    free = [0.0] * workers
    done: dict[tuple[str, int, int], float] = {}
    while any(orders):
        for stage, order in enumerate(orders):
            while order:
                kind, _, i = order[0]
                source = stage - 1 if kind == "F" else stage + 1
                arrived = 0.0
                if 0 <= source < workers:
                    if (kind, source, i) not in done:
                        break
                    moved = moves[min(stage, source)]
                    arrived = done[kind, source, i] + link.message(moved)
                order.pop(0)
                cost = forward[stage] if kind == "F" else backward[stage]
                free[stage] = done[kind, stage, i] = max(free[stage], arrived) + cost
    held = [sum(layer.parameters for layer in stage) for stage in stages]
    shares = [part / max(step.parameters, 1) for part in held]
    seconds = max(f + s * step.optimizer for f, s in zip(free, shares, strict=True))
    kept = step.activations * max(
        min(workers - i, microbatches) * len(stage) / len(step.layers)
        for i, stage in enumerate(stages)
    )
    memory = max(held) * (1 + step.state) + growing(max(held), kept)
    ways = [(*moves[max(i - 1, 0) : i], *moves[i : i + 1]) for i in range(workers)]
    sent = float(microbatches * max(map(sum, ways)))
    messages = float(microbatches * max(map(len, ways)))
    compute = max(microbatches * (f + b) for f, b in zip(forward, backward, strict=True))
    return Estimate(seconds, microbatches, memory, sent, messages, compute)


def tensor(step: Step, workers: int, link: Link) -> Estimate:
    """Layers cut in pairs, by columns and by rows: an all-reduce a pair, in both directions."""
    count = 2 * (workers - 1)
    outputs = [layer.output for layer in step.layers[1::2]]
    moving = 2 * sum(link.message(size / workers, count) for size in outputs)
    seconds = step.seconds / workers + moving
    part = step.parameters / workers
    memory = part * (1 + step.state) + growing(part, step.activations)
    sent = 2 * sum(count * size / workers for size in outputs)
    messages = 2.0 * count * len(outputs)
    return Estimate(seconds, 1, memory, sent, messages, step.seconds / workers)


STRATEGIES: dict[str, Callable[[Step, int, Link], Estimate | None]] = {
    "DDP, ring": ring,
    "DDP, tree": tree,
    "FSDP": fsdp,
    "pipeline": pipeline,
    "tensor": tensor,
}
