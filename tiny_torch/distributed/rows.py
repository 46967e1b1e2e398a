"""`Flat`: a tensor's memory in one row, as the algorithms of rings.py send and combine it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

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


def flat(tensor: Tensor) -> Flat:
    """The memory of a contiguous CPU tensor."""
    array = tensor.array
    return Flat(wrap(array.reinterpret(array.dtype, (tensor.numel(),), (1,), array.offset)))


def join(rows: Sequence[Flat]) -> Flat | None:
    """Rows that lie one behind the other in the same memory, as one; None if they do not."""
    first = rows[0].elements.array
    for before, row in pairwise(r.elements.array for r in rows):
        if row.storage_id != first.storage_id or row.offset != before.offset + before.size:
            return None
    size = sum(map(len, rows))
    return Flat(wrap(first.reinterpret(first.dtype, (size,), (1,), first.offset)))
