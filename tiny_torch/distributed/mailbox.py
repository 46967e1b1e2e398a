"""Mailbox: memory that all ranks of a group see; small messages go through it from all to all.

Each rank has two places in it, which it uses in turn. It writes there what collective this is and
its bytes, and then the number of the exchange: who sees the number sees the bytes (processors keep
the order of stores; where they do not, links.py makes no mailbox). Who has waited for others'
numbers for a while (`spin`) says so in the memory, and sleeps at its sockets: whoever comes later
wakes it by a message. When a rank has seen all numbers k + 1, everyone has read what was written
for k; so at k + 2 the place can be used again. In a broadcast only the root's number is waited for,
and the others' before the next exchange begins.

    numbers   | rank 0 | rank 1 | ...    the exchange for which a rank has written
    sleepers  | rank 0 | rank 1 | ...    the exchange for which it sleeps
    places    | rank 0: even | rank 0: odd | rank 1: even | ...
    pieces    | rank 0: even | rank 0: odd | rank 1: even | ...    of large rows: memory.py
"""

from __future__ import annotations

import mmap
import os
import platform
import threading
import time
from collections.abc import Iterable
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.rows import Flat
from tiny_torch.tensor import wrap

LARGEST = 16 * 1024  # bytes of a message
HEADER = 128  # bytes of links.HEADER
PLACE = HEADER + LARGEST
PIECE = 1 << 20  # bytes of a large row that go through at once, and stay in the caches
KINDS = 256  # of rows whose places are kept
SPIN = 50e-6  # seconds for which a rank looks before it sleeps
ALONE = 300e-6  # the same, if nobody else needs its core: to wake up takes longer than most waits
IN_ORDER = platform.machine() in ("x86_64", "AMD64")


class Mailbox:
    """The shared memory of a group, as one of its ranks sees it."""

    def __init__(self, rank: int, size: int, file: int) -> None:
        self.rank, self.size, self.count, self.uses = rank, size, 0, 0
        self.memory = mmap.mmap(file, length_of(size))
        words = memoryview(self.memory).cast("Q")
        self.numbers, self.sleepers = words[:size], words[size : 2 * size]
        self.bytes = memoryview(self.memory)
        self.array = torch.frombuffer(self.memory, dtype=torch.uint8).array
        self.start = length_of(size) - 2 * size * (PLACE + PIECE)
        self.places: dict[Any, tuple[list[memoryview], list[Flat]]] = {}  # by kind of row
        self.fence = threading.Lock()  # taking it orders a store before a later load

    def turn(self, like: Flat) -> tuple[list[memoryview], list[Flat]]:
        """Begins an exchange: all ranks' places for a header and for a row such as this one."""
        self.count += 1
        key = self.count % 2, like.elements.dtype, like.nbytes
        found = self.places.get(key)
        if found is None:
            if len(self.places) >= KINDS:
                self.places.clear()
            headers = [self.header(rank, self.count) for rank in range(self.size)]
            rows = [self.row(rank, like) for rank in range(self.size)]
            found = self.places[key] = headers, rows
        return found

    def place(self, rank: int, count: int) -> int:
        """Where a rank writes in an exchange."""
        return self.start + (2 * rank + count % 2) * PLACE

    def header(self, rank: int, count: int) -> memoryview:
        """Where a rank says in which collective it is."""
        return self.bytes[self.place(rank, count) :][:HEADER]

    def row(self, rank: int, like: Flat) -> Flat:
        """Where a rank writes as many elements, of the same dtype."""
        start = (self.place(rank, self.count) + HEADER) // like.itemsize
        dtype = like.elements.array.dtype
        return Flat(wrap(self.array.reinterpret(dtype, (len(like),), (1,), start)))

    def pieces(self, like: Flat) -> list[Flat]:
        """All ranks' memory for a piece of such a row: of two, the one that was not used last."""
        self.uses += 1
        key = "pieces", self.uses % 2, like.elements.dtype
        found = self.places.get(key)
        if found is None:
            dtype, size = like.elements.array.dtype, PIECE // like.itemsize
            starts = [self.place(self.size, 0) + (2 * r + key[1]) * PIECE for r in range(self.size)]
            arrays = [
                self.array.reinterpret(dtype, (size,), (1,), start // like.itemsize)
                for start in starts
            ]
            found = self.places[key] = [], [Flat(wrap(array)) for array in arrays]
        return found[1]

    def publish(self) -> list[int]:
        """Says that this rank has written; who sleeps until it has."""
        self.numbers[self.rank] = count = self.count
        with self.fence:
            if count not in self.sleepers:
                return []
        return [rank for rank, asleep in enumerate(self.sleepers) if asleep == count]

    def missing(self, peers: Iterable[int]) -> list[int]:
        """Which of these ranks have not written yet."""
        return [peer for peer in peers if self.numbers[peer] < self.count]

    def look(self, peers: Iterable[int]) -> list[int]:
        """Who has not written yet, after some microseconds, which let others run."""
        if not (missing := self.missing(peers)):
            return missing
        end = time.perf_counter() + spin(self.size)
        while time.perf_counter() < end:
            for _ in range(20):
                if not (missing := self.missing(missing)):
                    return missing
            os.sched_yield()
        return missing

    def sleep(self, peers: Iterable[int]) -> list[int]:
        """Says that this rank sleeps from now on, and until whose messages."""
        self.sleepers[self.rank] = self.count
        with self.fence:
            return self.missing(peers)

    def next_header(self, rank: int) -> bytes | None:
        """In which collective a rank is, if that is behind the last exchange of this one."""
        number = self.numbers[rank]
        return bytes(self.header(rank, number)) if number > self.count else None


def spin(size: int) -> float:
    """Seconds for which a rank of a group of so many looks before it sleeps."""
    world = torch.distributed
    ranks = world.get_world_size() if world.is_initialized() else size
    has_core = ranks * torch.get_num_threads() <= len(os.sched_getaffinity(0))
    return ALONE if has_core else SPIN


def length_of(size: int) -> int:
    """The bytes of a mailbox: two lines of words, the places, and the pieces."""
    return -(-16 * size // 128) * 128 + 2 * size * (PLACE + PIECE)
