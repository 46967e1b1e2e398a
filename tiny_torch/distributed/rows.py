"""`Flat`: a tensor's memory in one row, as the algorithms of rings.py send and combine it."""

from __future__ import annotations

from tiny_torch import _core
from tiny_torch.tensor import Tensor, wrap


class Flat:
    """A contiguous CPU tensor in one row: its elements, and the same memory as bytes."""

    __slots__ = ("bytes", "elements", "itemsize")

    def __init__(self, elements: Tensor, view: memoryview, itemsize: int) -> None:
        self.elements, self.bytes, self.itemsize = elements, view, itemsize

    def __len__(self) -> int:
        return len(self.bytes) // self.itemsize

    def __getitem__(self, part: slice) -> Flat:
        start, stop, _ = part.indices(len(self))
        array, stop = self.elements.array, max(start, stop)
        inner = array.reinterpret(array.dtype, (stop - start,), (1,), array.offset + start)
        view = self.bytes[start * self.itemsize : stop * self.itemsize]
        return Flat(wrap(inner), view, self.itemsize)

    def new(self) -> Flat:
        """As large, with whatever values."""
        return flat(wrap(self.elements.array.empty_like()))

    def copy_(self, other: Flat) -> None:
        self.bytes[:] = other.bytes


def flat(tensor: Tensor) -> Flat:
    """The memory of a contiguous CPU tensor."""
    array, size = tensor.array, tensor.numel()
    itemsize = array.itemsize
    row = array.reinterpret(array.dtype, (size,), (1,), array.offset)
    raw = array.reinterpret(_core.uint8, (size * itemsize,), (1,), array.offset * itemsize)
    return Flat(wrap(row), memoryview(raw.numpy()), itemsize)
