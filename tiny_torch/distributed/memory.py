"""Large rows through memory that all ranks see: what rings.py does by messages, with its bits.

The memory is the mailbox's (mailbox.py). A row goes through in pieces, for which there are two
places: one is written while others may still read what was in the other before. Between stands a
message of nothing, `share`, which everyone has seen before the next begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.links import Call
from tiny_torch.distributed.mailbox import PIECE
from tiny_torch.distributed.rows import Flat, Rows, flat, lengths_of

Combine = Callable[[torch.Tensor, torch.Tensor], Any]
NOTHING = flat(torch.empty(0, dtype=torch.uint8))


def all_gather(links: Any, parts: Sequence[Flat], call: Call) -> None:
    """Afterwards every rank has part r of rank r, for all r."""
    rank, step = links.rank, PIECE // parts[0].itemsize
    for start in range(0, max(map(len, parts)), step):
        pieces = [part[start : start + step] for part in parts]
        rows = links.mailbox.pieces(parts[0])
        rows[rank][: len(pieces[rank])].copy_(pieces[rank])
        links.share(NOTHING, call)
        for place, piece in enumerate(pieces):
            if place != rank:
                piece.copy_(rows[place][: len(piece)])


def reduce_scatter(links: Any, parts: Sequence[Flat], combine: Combine, call: Call) -> None:
    """Afterwards part r of rank r is that of all ranks combined."""
    step = PIECE // parts[0].itemsize // links.size
    for start in range(0, max(map(len, parts)), step):
        combine_segments(links, [part[start : start + step] for part in parts], combine, call)


def places_of(links: Any, segments: Sequence[Sized], like: Flat) -> list[list[Flat]]:
    """Where in memory each rank has such segments, by rank."""
    size = max(map(len, segments))
    return [
        [row[i * size :][: len(segment)] for i, segment in enumerate(segments)]
        for row in links.mailbox.pieces(like)
    ]


def combine_segments(
    links: Any, ours: Sequence[Flat], combine: Combine, call: Call
) -> list[list[Flat]]:
    """Rank r combines the segments r of all, in the order in which the ring comes round.

    Answers where in memory the segments are, by rank.
    """
    rank, n = links.rank, links.size
    parts = places_of(links, ours, ours[0])
    for place in range(n):
        if place != rank:
            parts[rank][place].copy_(ours[place])
    links.share(NOTHING, call)
    total, *others = [parts[(rank + i) % n][rank] for i in range(1, n)]
    for other in others:
        combine(total.elements, other.elements)
    combine(ours[rank].elements, total.elements)
    return parts


def all_reduce(links: Any, segments: Sequence[Flat], combine: Combine, call: Call) -> None:
    """Afterwards every rank has the segments of all ranks combined, the first one the longest."""
    rank, step = links.rank, PIECE // segments[0].itemsize // links.size
    for start in range(0, len(segments[0]), step):
        ours = [segment[start : start + step] for segment in segments]
        if links.size == 2:
            combine_pairs(links, ours, combine, call)
            continue
        parts = combine_segments(links, ours, combine, call)
        parts[rank][rank].copy_(ours[rank])
        links.share(NOTHING, call)
        for place in range(links.size):
            if place != rank:
                ours[place].copy_(parts[place][place])


def combine_pairs(links: Any, ours: Sequence[Flat], combine: Combine, call: Call) -> None:
    """Of two ranks: a segment's way there and back is as long as that of both there."""
    rows, size = links.mailbox.pieces(ours[0]), len(ours[0])
    for i, segment in enumerate(ours):
        rows[links.rank][i * size :][: len(segment)].copy_(segment)
    links.share(NOTHING, call)
    for i, segment in enumerate(ours):
        combine(segment.elements, rows[1 - links.rank][i * size :][: len(segment)].elements)


def average(links: Any, rows: Rows, factor: float, call: Call) -> None:
    """Afterwards every rank has the sums of the rows times `factor`, as `all_reduce` adds them.

    What is read is scaled in memory, and the sums go from there into their places: once there and
    once back, also where that is many places.
    """
    rank, n, lengths = links.rank, links.size, lengths_of(len(rows), links.size)
    step = PIECE // rows.itemsize // n
    starts = range(0, lengths[0], step)
    cuts = [max(0, min(step, length - start)) for length in lengths for start in starts]
    pieces, count = rows.cut(cuts), len(starts)
    for ours in (pieces[i::count] for i in range(count)):
        parts = places_of(links, ours, rows.rows[0])
        for segment, part in zip(ours, parts[rank], strict=True):
            segment.join(part)
            part.elements.mul_(factor)
        links.share(NOTHING, call)
        if n == 2:  # as in `combine_pairs`
            for segment, *pair in zip(ours, *parts, strict=True):
                segment.add(*pair)
            continue
        total, *others = [parts[(rank + i) % n][rank] for i in range(1, n + 1)]
        for other in others:
            total.elements.add_(other.elements)
        links.share(NOTHING, call)
        for place, segment in enumerate(ours):
            segment.copy_(parts[(place + 1) % n][place])
