"""Random collectives among random groups: the same sequence at all ranks, from a seed."""

import random


def run(lib, rank, n, seed, count):
    """What this rank had after each collective that it was in, as lists."""
    dist, draw = lib.distributed, random.Random(int(seed))
    groups = [(list(range(n)), None)]
    for _ in range(4):
        members = sorted(draw.sample(range(n), draw.randint(1, n)))
        groups.append((members, dist.new_group(members)))
    found, pending = [], []
    for step in range(int(count)):
        members, group = draw.choice(groups)
        name, root = draw.choice(sorted(KINDS)), draw.choice(members)
        size = draw.choice([1, 2, 5, 64, 3000])
        dtype = draw.choice(["float32", "int64", "float64", "uint8", "bfloat16"])
        wait = draw.random() < 0.7
        if rank not in members:
            continue
        x = ((lib.arange(size * len(members)) * (rank + 3) + step) % 4).to(getattr(lib, dtype))
        results, work = KINDS[name](dist, lib, x, members, root, group, rank)
        if not wait:
            pending.append((work, results))
            continue
        if work is not None:
            work.wait()
        found.append((step, name, [digest(t) for t in results]))
    for work, results in pending:
        if work is not None:
            work.wait()
        found.append([digest(t) for t in results])
    return found


def digest(tensor):
    x = tensor.double()
    return tensor.numel(), x.sum().item(), (x * (1 + lib_arange(x))).sum().item()


def lib_arange(x):
    return x.new_ones(x.shape).cumsum(0) % 7


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
