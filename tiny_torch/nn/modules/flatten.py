"""`Flatten` and `Unflatten`."""

from __future__ import annotations

from typing import Any

from tiny_torch.nn.modules._parts.layer import Layer
from tiny_torch.nn.modules.module import Module
from tiny_torch.tensor import Tensor

__all__ = ["Flatten", "Unflatten"]


class Flatten(Layer, of=Tensor.flatten, start_dim=1):
    """Merges the dims from start_dim to end_dim into one; by default all but the batch.

    Raises IndexError for a dim out of range, RuntimeError where start_dim comes after end_dim.
    Source: PyTorch, torch.nn.Flatten.

    >>> import tiny_torch as torch
    >>> torch.nn.Flatten()(torch.ones(32, 1, 5, 5)).shape
    torch.Size([32, 25])
    """


class Unflatten(Module):
    """Splits one dim into several; one of `unflattened_size` may be -1.

    Raises TypeError unless that is a tuple or list of ints, RuntimeError where it does not fit.
    Source: PyTorch, torch.nn.Unflatten.

    >>> import tiny_torch as torch
    >>> torch.nn.Unflatten(1, (2, 5, 5))(torch.ones(3, 50)).shape
    torch.Size([3, 2, 5, 5])
    """

    _shown = ("dim", "unflattened_size")

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                "unflattened_size must be a tuple of ints, "
                f"but found type {type(unflattened_size).__name__}"
            )
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, "
                    f"but found element of type {type(size).__name__} at pos {i}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """(..., d, ...) -> (..., *unflattened_size, ...)."""
        return input.unflatten(self.dim, self.unflattened_size)
