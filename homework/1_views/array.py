"""The array that the tasks of this track hand to a student's method: where its elements lie."""

from __future__ import annotations

MEMORY = 1000  # elements


class Array:
    """A view of a memory of MEMORY elements, which nobody reads here."""

    def __init__(self, shape, strides, offset, memory):
        self.shape, self.strides, self.offset = shape, strides, offset
        self.memory = memory

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        count = 1
        for n in self.shape:
            count *= n
        return count

    def as_strided(self, shape, strides, offset):
        """Any view at all, as long as no element lies outside of the memory."""
        for numbers in (shape, strides, (offset,)):
            if not isinstance(numbers, tuple) or not all(type(n) is int for n in numbers):
                raise TypeError(f"as_strided takes tuples of ints and an int, got {numbers!r}")
        if len(shape) != len(strides):
            raise RuntimeError(f"{len(shape)} sizes, but {len(strides)} strides")
        for number in (*shape, *strides, offset):
            if not 0 <= number < 1 << 63:
                raise RuntimeError(f"sizes, strides and offsets are from 0 on, got {number}")
        view = Array(shape, strides, offset, self.memory)
        last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if view.size and last >= MEMORY:
            raise RuntimeError(f"a view's last element would be number {last} of {MEMORY}")
        return view

    def _view(self, shape, strides, offset):  # as the framework's own array has it
        return self.as_strided(tuple(shape), tuple(strides), offset)


def memory():
    """A new memory, whole."""
    return Array((MEMORY,), (1,), 0, object())
