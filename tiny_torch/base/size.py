"""Size: a tuple of a tensor's sizes."""

from __future__ import annotations

import math
from typing import Any

from tiny_torch import _core


class Size(_core.SizeBase):
    """A shape: a tuple of ints that prints as PyTorch's and counts its elements.

    >>> Size((2, 3)).numel()
    6
    """

    __module__ = "tiny_torch"  # where it is public, as its repr says

    __slots__ = ()

    def __new__(cls, iterable: Any = ()) -> Size:
        self = tuple.__new__(cls, iterable)
        if _core.are_ints(tuple(self)):
            return self
        for place, item in enumerate(self):
            if type(item) is not int and not hasattr(item, "__index__"):
                raise TypeError(
                    f"torch.Size() takes an iterable of 'int' (item {place} is "
                    f"'{type(item).__name__}')"
                )
        return tuple.__new__(cls, [item.__index__() for item in self])

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            name = type(other).__name__
            raise TypeError(f"can only concatenate tuple (not {name}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:  # a list's `+=` comes here first
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: Any) -> Size:
        return Size(tuple.__mul__(self, count))

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)
