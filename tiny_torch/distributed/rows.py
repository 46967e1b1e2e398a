"""`Flat`: a tensor's memory in one row, as the algorithms of rings.py send and combine it.

`Rows`: several of them, each where it is, cut as if they were one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.tensor import Tensor, wrap


class Flat:
    """A contiguous CPU tensor in one row: its elements, and the same memory as bytes."""

    __slots__ = ("_bytes", "elements", "itemsize", "nbytes")

    def __init__(self, elements: Tensor) -> None:
        array = elements.array
        self.elements, self.itemsize = elements, array.itemsize
        self.nbytes = elements.numel() * self.itemsize
        self._bytes: memoryview | None = None

    @property
    def bytes(self) -> memoryview:
        """Its memory."""
        if self._bytes is None:
            array = self.elements.array
            place = array.offset * self.itemsize
            raw = array.reinterpret(_core.uint8, (self.nbytes,), (1,), place)
            self._bytes = memoryview(raw.numpy())
        return self._bytes

    def __len__(self) -> int:
        return self.nbytes // self.itemsize

    def __getitem__(self, part: slice) -> Flat:
        start, stop, _ = part.indices(len(self))
        array, stop = self.elements.array, max(start, stop)
        return Flat(
            wrap(array.reinterpret(array.dtype, (stop - start,), (1,), array.offset + start))
        )

    def new(self) -> Flat:
        """As large, with whatever values."""
        return Flat(wrap(self.elements.array.empty_like()))

    def copy_(self, other: Flat) -> None:
        self.elements.array.copy_(other.elements.array)


class Rows:
    """Rows of a dtype, one behind the other, wherever they lie."""

    def __init__(self, rows: Sequence[Flat]) -> None:
        self.rows, self.itemsize = rows, rows[0].itemsize
        self.nbytes = sum(row.nbytes for row in rows)

    def __len__(self) -> int:
        return self.nbytes // self.itemsize

    def cut(self, lengths: Sequence[int]) -> list[Rows]:
        """Pieces of these lengths, which make up the whole."""
        pieces, rows = [], iter(self.rows)
        row, at = next(rows), 0
        for length in lengths:
            found = []
            while length > (left := len(row) - at):
                if left:
                    found.append(row[at:] if at else row)
                length -= left
                row, at = next(rows), 0
            found.append(row[at : at + length] if at or length < len(row) else row)
            at += length
            pieces.append(Rows(found))
        return pieces

    def join(self, whole: Flat) -> None:
        """Writes the elements into one row."""
        torch.cat([row.elements for row in self.rows], out=whole.elements)

    def copy_(self, whole: Flat) -> None:
        for row, (place,) in self.places(whole):
            row.copy_(place)

    def add(self, a: Flat, b: Flat) -> None:
        """Takes the sums of two rows."""
        for row, (one, other) in self.places(a, b):
            torch.add(one.elements, other.elements, out=row.elements)

    def places(self, *wholes: Flat) -> Iterator[tuple[Flat, list[Flat]]]:
        """Each row, and its places in rows of the whole's length."""
        begin = 0
        for row in self.rows:
            yield row, [whole[begin : begin + len(row)] for whole in wholes]
            begin += len(row)


def lengths_of(total: int, count: int) -> list[int]:
    """The lengths of `count` pieces of a row, the longer ones first."""
    size, longer = divmod(total, count)
    return [size + (i < longer) for i in range(count)]


def flat(tensor: Tensor) -> Flat:
    """The memory of a contiguous CPU tensor, which may be written in inference mode or not."""
    array = tensor.array.alias()
    return Flat(wrap(array.reinterpret(array.dtype, (tensor.numel(),), (1,), array.offset)))


def join(rows: Sequence[Flat]) -> Flat | None:
    """Rows that lie one behind the other in the same memory, as one; None if they do not."""
    first = rows[0].elements.array
    for before, row in pairwise(r.elements.array for r in rows):
        if row.storage_id != first.storage_id or row.offset != before.offset + before.size:
            return None
    size = sum(map(len, rows))
    return Flat(wrap(first.reinterpret(first.dtype, (size,), (1,), first.offset)))
