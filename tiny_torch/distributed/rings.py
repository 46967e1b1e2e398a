"""The algorithms: how n ranks of a group come to a common result by messages between two of them.

Each is written with `exchange` of `links.py` (sockets) or `mpi.py`; those of large tensors among
ranks that share memory are in `memory.py`. A `Flat` is a tensor's memory
in one row; `combine(a, b)` puts the sum, or whatever is asked for, of two tensors into the first.

Ring (large): the tensor is cut into n segments. In each of n - 1 rounds every rank sends one to
its right neighbour, receives another from the left one, and adds it to its own. Then each rank has
one segment of the whole sum; in n - 1 more rounds these travel on. Every rank sends 2 (n - 1) / n
times the tensor, however many ranks there are.
https://www.cs.fsu.edu/~xyuan/paper/09jpdc.pdf (Patarasu and Yuan, 2009)

Where ranks share memory, large rows go through that instead, with the ring's bits: memory.py.

Tree (broadcast, reduce): in round k the ranks that know send to those 2^k further, so that n ranks
are reached in log2(n) rounds.

Direct (small): all send to all at once, and every rank adds in the order of ranks. A small
broadcast is direct where ranks share memory.

In all of them who is added to whom follows from n and the size alone: the same bits in every run.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tiny_torch.distributed import memory
from tiny_torch.distributed.errors import DistBackendError
from tiny_torch.distributed.links import Call
from tiny_torch.distributed.memory import NOTHING, Combine
from tiny_torch.distributed.rows import Flat, Rows, lengths_of
from tiny_torch.tensor import Tensor

SMALL = 16 * 1024  # bytes up to which collectives are direct


def segments(whole: Flat, count: int) -> list[Flat]:
    """The row cut into `count` pieces, the longer ones first."""
    ends = itertools.accumulate(lengths_of(len(whole), count), initial=0)
    return [whole[start:end] for start, end in itertools.pairwise(ends)]


# -------------------------------------------------------------------------------------------- ring


def ring_reduce_scatter(links: Any, parts: Sequence[Flat], combine: Combine, call: Call) -> None:
    """Afterwards part r of rank r is that of all ranks combined; the others are used up."""
    rank, n = links.rank, links.size
    right, left = (rank + 1) % n, (rank - 1) % n
    arriving = max(parts, key=len).new()
    for step in range(1, n):
        ours, theirs = parts[(rank - step) % n], parts[(rank - step - 1) % n]
        incoming = arriving[: len(theirs)]
        links.exchange([(right, ours.bytes)], [(left, incoming.bytes)], call)
        combine(theirs.elements, incoming.elements)


def ring_all_gather(links: Any, parts: Sequence[Flat], call: Call) -> None:
    """Afterwards every rank has part r of rank r, for all r."""
    rank, n = links.rank, links.size
    right, left = (rank + 1) % n, (rank - 1) % n
    for step in range(n - 1):
        ours, theirs = parts[(rank - step) % n], parts[(rank - step - 1) % n]
        links.exchange([(right, ours.bytes)], [(left, theirs.bytes)], call)


def all_gather(links: Any, ours: Flat, parts: Sequence[Flat], call: Call) -> None:
    """Every rank's row, at every rank: small ones at once, large ones by the ring."""
    if ours.nbytes <= SMALL:
        for part, row in zip(parts, links.share(ours, call), strict=True):
            part.copy_(row)
        return
    parts[links.rank].copy_(ours)
    gather = ring_all_gather if links.mailbox is None else memory.all_gather
    gather(links, parts, call)


def reduce_scatter(links: Any, parts: Sequence[Flat], combine: Combine, call: Call) -> None:
    """Afterwards part r of rank r is that of all ranks combined; the others are used up."""
    in_memory = links.mailbox is not None and any(map(len, parts))
    reduce = memory.reduce_scatter if in_memory else ring_reduce_scatter
    reduce(links, parts, combine, call)


def all_reduce(links: Any, whole: Flat, combine: Combine, call: Call) -> None:
    """Every rank's row combined, at every rank."""
    if links.size == 1:
        return
    if whole.nbytes <= SMALL:
        direct_all_reduce(links, whole, combine, call)
        return
    parts = segments(whole, links.size)
    if links.mailbox is not None:
        memory.all_reduce(links, parts, combine, call)
        return
    ring_reduce_scatter(links, parts, combine, call)
    ring_all_gather(links, parts, call)


def average(links: Any, rows: Rows, factor: float, call: Call) -> None:
    """Every rank's rows times `factor`, summed, at every rank."""
    if links.mailbox is not None and rows.nbytes > SMALL:
        memory.average(links, rows, factor, call)
        return
    if links.size == 1 and factor == 1.0:
        return
    whole = Flat(rows.rows[0].elements.new_empty(len(rows)))
    rows.join(whole)
    whole.elements.mul_(factor)
    all_reduce(links, whole, Tensor.add_, call)
    rows.copy_(whole)


def direct_all_reduce(links: Any, whole: Flat, combine: Combine, call: Call) -> None:
    """All send to all, and each combines 0, 1, 2, ... in this order."""
    rows = links.share(whole, call)
    if links.rank:
        whole.copy_(rows[0])
    for row in rows[1:]:
        combine(whole.elements, row.elements)


# -------------------------------------------------------------------------------------------- tree


def broadcast(links: Any, whole: Flat, root: int, call: Call) -> None:
    """The root's row, at every rank: a small one by memory, where there is some."""
    n = links.size
    if links.mailbox is not None and whole.nbytes <= SMALL:
        rows = links.share(whole, call, root)
        if links.rank != root:
            whole.copy_(rows[root])
        return
    place = (links.rank - root) % n  # the root stands at 0
    reach = 1
    while reach < n:
        if place < reach and place + reach < n:
            links.exchange([((place + reach + root) % n, whole.bytes)], [], call)
        elif reach <= place < 2 * reach:
            links.exchange([], [((place - reach + root) % n, whole.bytes)], call)
        reach *= 2


def reduce(links: Any, whole: Flat, root: int, combine: Combine, call: Call) -> None:
    """Every rank's row combined, at the root: the broadcast backwards. Others keep theirs."""
    n = links.size
    place = (links.rank - root) % n
    if place:
        total = whole.new()
        total.copy_(whole)
    else:
        total = whole
    reach = 1
    while reach < n:
        if place % (2 * reach) == reach:
            links.exchange([((place - reach + root) % n, total.bytes)], [], call)
            return
        if place + reach < n:
            incoming = whole.new()
            links.exchange([], [((place + reach + root) % n, incoming.bytes)], call)
            combine(total.elements, incoming.elements)
        reach *= 2


# ------------------------------------------------------------------------------- one to all, back


def gather(links: Any, ours: Flat, parts: Sequence[Flat], root: int, call: Call) -> None:
    """The rows of all ranks, at the root, which alone has `parts`."""
    if links.rank != root:
        links.exchange([(root, ours.bytes)], [], call)
        return
    parts[root].copy_(ours)
    receives = [(rank, part.bytes) for rank, part in enumerate(parts) if rank != root]
    links.exchange([], receives, call)


def scatter(links: Any, ours: Flat, parts: Sequence[Flat], root: int, call: Call) -> None:
    """Part r of the root, at rank r."""
    if links.rank != root:
        links.exchange([], [(root, ours.bytes)], call)
        return
    ours.copy_(parts[root])
    links.exchange([(r, part.bytes) for r, part in enumerate(parts) if r != root], [], call)


def all_to_all(links: Any, outputs: Sequence[Flat], inputs: Sequence[Flat], call: Call) -> None:
    """Input r of rank s becomes output s of rank r."""
    rank = links.rank
    outputs[rank].copy_(inputs[rank])
    links.exchange(
        [(peer, part.bytes) for peer, part in enumerate(inputs) if peer != rank],
        [(peer, part.bytes) for peer, part in enumerate(outputs) if peer != rank],
        call,
    )


def barrier(links: Any, call: Call) -> None:
    """Nothing, from all to all."""
    links.share(NOTHING, call)


def monitored_barrier(links: Any, wait_all_ranks: bool, call: Call) -> None:
    """All tell rank 0 that they are here, and it answers when all are; it names who is late."""
    nothing = memoryview(bytearray())
    if links.rank:
        links.exchange([(0, nothing)], [(0, nothing)], call)
        return
    late = []
    for rank in range(1, links.size):
        try:
            links.exchange([], [(rank, nothing)], call)
        except DistBackendError:
            late.append(call.ranks[rank])
            if not wait_all_ranks:
                break
    if late:
        ranks = f"Rank {late[0]}" if not wait_all_ranks else f"Ranks {', '.join(map(str, late))}"
        raise call.failure(
            f"[Rank 0]: {ranks} failed to pass monitoredBarrier in {call.seconds * 1000:.0f} ms"
        )
    links.exchange([(rank, nothing) for rank in range(1, links.size)], [], call)
