"""The largest first, each as low as it can be: small ones fit into the gaps that are left."""

from __future__ import annotations

UNIT = 64

Launch = tuple[bool, tuple[int, ...], tuple[int, ...]]  # elementwise, reads, writes


def plan(launches: list[Launch], sizes: list[int], kept: list[int]) -> list[int]:
    first, last = lives(launches, kept)
    block = list(range(len(sizes)))  # of each buffer: the first one that lies there
    taken = set()
    for t, (elementwise, reads, writes) in enumerate(launches):
        for new in writes if elementwise else ():
            for old in reads:
                over = first[new] == t == last[old] and sizes[old] == sizes[new]
                if over and old not in taken:
                    block[new] = block[old]
                    taken.add(old)
                    break
    ends = dict(last)
    for buffer, head in enumerate(block):
        ends[head] = max(ends[head], last[buffer])
    places: dict[int, tuple[int, int]] = {}  # of blocks: where each begins and ends
    heads = sorted(set(block), key=lambda head: -sizes[head])
    for head in heads:
        alive = [
            places[other]
            for other in places
            if first[other] <= ends[head] and first[head] <= ends[other]
        ]
        places[head] = lowest(sizes[head], sorted(alive))
    return [places[head][0] for head in block]


def lives(launches: list[Launch], kept: list[int]) -> tuple[dict[int, int], dict[int, int]]:
    """The first and the last launch that use each buffer."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for t, (_, reads, writes) in enumerate(launches):
        for buffer in (*reads, *writes):
            first.setdefault(buffer, t)
            last[buffer] = t
    last.update(dict.fromkeys(kept, len(launches)))
    return first, last


def lowest(size: int, alive: list[tuple[int, int]]) -> tuple[int, int]:
    size = (size + UNIT - 1) // UNIT * UNIT
    offset = 0
    for begin, end in alive:
        if offset + size <= begin:
            break
        offset = max(offset, end)
    return offset, offset + size
