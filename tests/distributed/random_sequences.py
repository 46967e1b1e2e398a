"""Random collectives among random groups: the same sequence at all ranks, from a seed.

`run` calls them, under tiny_torch or PyTorch; `model` says by NumPy what each rank must have. Every
TURNOVER steps a group ends and another one begins.
"""

import random
from dataclasses import dataclass

import numpy as np

TURNOVER = 50
GROUPS = 4  # besides the one of all ranks


@dataclass
class Step:
    group: int  # its place among the groups of the moment
    members: list[int]
    name: str
    root: int
    size: int
    dtype: str
    waits: bool
    ends: int | None  # which group ends before it
    begins: list[int]  # and who is in the one that takes its place


def plan(n, seed, count):
    """The groups at the start, and the steps."""
    draw = random.Random(int(seed))

    def members():
        return sorted(draw.sample(range(n), draw.randint(1, n)))

    start = [list(range(n)), *(members() for _ in range(GROUPS))]
    groups, steps = list(start), []
    for i in range(int(count)):
        ends = draw.randint(1, GROUPS) if i % TURNOVER == TURNOVER - 1 else None
        if ends is not None:
            groups[ends] = members()
        place = draw.randrange(len(groups))
        size = draw.choice([1, 2, 5, 64, 3000])
        dtype = draw.choice(["float32", "int64", "float64", "uint8", "bfloat16"])
        step = Step(place, groups[place], draw.choice(sorted(KINDS)), draw.choice(groups[place]),
                    size, dtype, draw.random() < 0.7, ends, groups[ends or 0])  # fmt: skip
        steps.append(step)
    return start, steps


def elements(step, number, rank):
    """What a rank brings along: whole numbers, whose sums every dtype has."""
    return (np.arange(step.size * len(step.members)) * (rank + 3) + number) % 4


def run(lib, rank, n, seed, count):
    """What this rank had after each collective that it was in, as digests, by the step's number."""
    dist = lib.distributed
    start, steps = plan(n, seed, count)
    groups = [None, *(dist.new_group(members) for members in start[1:])]
    found, pending = {}, {}

    def settle(*numbers):
        for number in numbers:
            results, work = pending.pop(number)
            if work is not None:
                work.wait()
            found[number] = [digest(t.double().numpy()) for t in results]

    for number, step in enumerate(steps):
        if step.ends is not None:
            settle(*list(pending))
            dist.destroy_process_group(groups[step.ends])
            groups[step.ends] = dist.new_group(step.begins)
        if rank not in step.members:
            continue
        x = lib.tensor(elements(step, number, rank)).to(getattr(lib, step.dtype))
        group = groups[step.group]
        pending[number] = KINDS[step.name](dist, lib, x, step.members, step.root, group, rank)
        if step.waits:
            settle(number)
    settle(*list(pending))
    return found


def model(n, seed, count):
    """What `run` must return at each rank."""
    found = [{} for _ in range(n)]
    for number, step in enumerate(plan(n, seed, count)[1]):
        rows = np.stack([elements(step, number, rank) for rank in step.members]).astype(float)
        answers = EXPECTED[step.name](rows, step.members.index(step.root))
        for rank, results in zip(step.members, answers, strict=True):
            found[rank][number] = [digest(x) for x in results]
    return found


def digest(x):
    return x.size, float(x.sum()), float((x * (np.arange(1, x.size + 1) % 7)).sum())


def all_reduce(dist, lib, x, members, root, group, rank):
    return [x], dist.all_reduce(x, group=group, async_op=True)


def broadcast(dist, lib, x, members, root, group, rank):
    return [x], dist.broadcast(x, root, group=group, async_op=True)


def all_gather(dist, lib, x, members, root, group, rank):
    out = [lib.zeros_like(x) for _ in members]
    return out, dist.all_gather(out, x, group=group, async_op=True)


def gather(dist, lib, x, members, root, group, rank):
    out = [lib.zeros_like(x) for _ in members] if rank == root else []
    return out, dist.gather(x, out or None, root, group=group, async_op=True)


def scatter(dist, lib, x, members, root, group, rank):
    out = lib.zeros_like(x[: len(x) // len(members)])
    parts = list(x.chunk(len(members))) if rank == root else None
    return [out], dist.scatter(out, parts, root, group=group, async_op=True)


def reduce_scatter(dist, lib, x, members, root, group, rank):
    out = lib.zeros_like(x[: len(x) // len(members)])
    return [out], dist.reduce_scatter_tensor(out, x, group=group, async_op=True)


def all_to_all(dist, lib, x, members, root, group, rank):
    out = lib.zeros_like(x)
    return [out], dist.all_to_all_single(out, x, group=group, async_op=True)


def reduce(dist, lib, x, members, root, group, rank):
    work = dist.reduce(x, root, group=group, async_op=True)
    return [x] if rank == root else [], work


def barrier(dist, lib, x, members, root, group, rank):
    return [x], dist.barrier(group, async_op=True)


def ring(dist, lib, x, members, root, group, rank):
    if len(members) == 1:
        return [x], None
    place, out = members.index(rank), lib.zeros_like(x)
    right, left = members[(place + 1) % len(members)], members[place - 1]
    send = dist.isend(x, right, group=group)
    dist.irecv(out, left, group=group).wait()
    send.wait()
    return [out], None


KINDS = {
    f.__name__: f
    for f in (
        all_reduce, broadcast, all_gather, gather, scatter, reduce_scatter, all_to_all, reduce,
        barrier, ring,
    )
}  # fmt: skip


def parts(row, ranks):
    return np.split(row, ranks)


def at_root(rows, root, results):
    return [results if place == root else [] for place in range(len(rows))]


# What each member has, by the rows that all of them bring along and the root's place.
EXPECTED = {
    "all_reduce": lambda rows, root: [[rows.sum(0)]] * len(rows),
    "broadcast": lambda rows, root: [[rows[root]]] * len(rows),
    "all_gather": lambda rows, root: [list(rows)] * len(rows),
    "gather": lambda rows, root: at_root(rows, root, list(rows)),
    "scatter": lambda rows, root: [[part] for part in parts(rows[root], len(rows))],
    "reduce_scatter": lambda rows, root: [[part] for part in parts(rows.sum(0), len(rows))],
    "all_to_all": lambda rows, root: [
        [np.concatenate([parts(row, len(rows))[place] for row in rows])]
        for place in range(len(rows))
    ],
    "reduce": lambda rows, root: at_root(rows, root, [rows.sum(0)]),
    "barrier": lambda rows, root: [[row] for row in rows],
    "ring": lambda rows, root: [[rows[place - 1]] for place in range(len(rows))],
}
