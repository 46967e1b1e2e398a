"""The algorithms: how n ranks of a group come to a common result by messages between two of them.

Each is written with `exchange` of `links.py` (sockets) or `mpi.py`. A `Flat` is a tensor's memory
in one row; `combine(a, b)` puts the sum, or whatever is asked for, of two tensors into the first.

Ring (large): the tensor is cut into n segments. In each of n - 1 rounds every rank sends one to
its right neighbour, receives another from the left one, and adds it to its own. Then each rank has
one segment of the whole sum; in n - 1 more rounds these travel on. Every rank sends 2 (n - 1) / n
times the tensor, however many ranks there are.
https://www.cs.fsu.edu/~xyuan/paper/09jpdc.pdf (Patarasu and Yuan, 2009)

Memory (large, where ranks share some): each rank puts its row there, and adds one segment of all;
then everyone takes the sums of the others. The order of additions is the ring's.

Tree (broadcast, reduce): in round k the ranks that know send to those 2^k further, so that n ranks
are reached in log2(n) rounds.

Direct (small): all send to all at once, and every rank adds in the order of ranks.

In all of them who is added to whom follows from n and the size alone: the same bits in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.errors import DistBackendError
from tiny_torch.distributed.links import Call
from tiny_torch.distributed.mailbox import PIECE
from tiny_torch.distributed.rows import Flat, flat

Combine = Callable[[torch.Tensor, torch.Tensor], Any]
SMALL = 16 * 1024  # bytes up to which all_reduce and all_gather are direct
NOTHING = flat(torch.empty(0, dtype=torch.uint8))


def segments(whole: Flat, count: int) -> list[Flat]:
    """The row cut into `count` pieces, the longer ones first."""
    size, longer = divmod(len(whole), count)
    ends = [size * i + min(i, longer) for i in range(count + 1)]
    return [whole[start:end] for start, end in pairwise(ends)]


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
    ring_all_gather(links, parts, call)


def all_reduce(links: Any, whole: Flat, combine: Combine, call: Call) -> None:
    """Every rank's row combined, at every rank."""
    if links.size == 1:
        return
    if whole.nbytes <= SMALL:
        direct_all_reduce(links, whole, combine, call)
        return
    if links.mailbox is not None:
        reduce_in_memory(links, whole, combine, call)
        return
    parts = segments(whole, links.size)
    ring_reduce_scatter(links, parts, combine, call)
    ring_all_gather(links, parts, call)


def reduce_in_memory(links: Any, whole: Flat, combine: Combine, call: Call) -> None:
    """Every rank's row combined, at every rank, as much at once as the memory holds."""
    n, step = links.size, PIECE // whole.itemsize
    if n == 2:  # a segment's way there and back is as long as that of the whole row there
        for start in range(0, len(whole), step):
            combine_pair(links, whole[start : start + step], combine, call)
        return
    step //= n
    parts = segments(whole, n)
    for start in range(0, len(parts[0]), step):
        combine_segments(links, [part[start : start + step] for part in parts], combine, call)


def combine_pair(links: Any, ours: Flat, combine: Combine, call: Call) -> None:
    rows = [row[: len(ours)] for row in links.mailbox.pieces(ours)]
    rows[links.rank].copy_(ours)
    links.share(NOTHING, call)
    combine(ours.elements, rows[1 - links.rank].elements)


def combine_segments(links: Any, ours: Sequence[Flat], combine: Combine, call: Call) -> None:
    """Rank r combines the segments r of all, in the order in which the ring comes round."""
    rank, n, size = links.rank, links.size, len(ours[0])
    rows = links.mailbox.pieces(ours[0])
    parts = [[row[i * size :][: len(ours[i])] for i in range(n)] for row in rows]
    for place in range(n):
        if place != rank:
            parts[rank][place].copy_(ours[place])
    links.share(NOTHING, call)
    order = [(rank + 1 + i) % n for i in range(n)]
    first, *others = [ours[rank] if r == rank else parts[r][rank] for r in order]
    total = parts[rank][rank]
    total.copy_(first)
    for other in others:
        combine(total.elements, other.elements)
    links.share(NOTHING, call)
    for place in range(n):
        ours[place].copy_(parts[place][place])


def direct_all_reduce(links: Any, whole: Flat, combine: Combine, call: Call) -> None:
    """All send to all, and each combines 0, 1, 2, ... in this order."""
    rows = links.share(whole, call)
    if links.rank:
        whole.copy_(rows[0])
    for row in rows[1:]:
        combine(whole.elements, row.elements)


# -------------------------------------------------------------------------------------------- tree


def broadcast(links: Any, whole: Flat, root: int, call: Call) -> None:
    """The root's row, at every rank."""
    n = links.size
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
