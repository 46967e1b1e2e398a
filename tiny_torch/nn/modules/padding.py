"""Layers that widen their input on all sides, as F.pad does."""

from __future__ import annotations

from typing import Any

from tiny_torch.base.docstrings import in_dims
from tiny_torch.nn import functional as F
from tiny_torch.nn.modules._parts.dims import check_dims
from tiny_torch.nn.modules.module import Module
from tiny_torch.tensor import Tensor

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """`padding` is one number for all sides, or (left, right) of the last dim, then of the one
    before, ..."""

    _dims: int
    _mode: str

    def __init_subclass__(cls, dims: int = 0, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if dims:
            cls._dims, cls.__doc__ = dims, in_dims(cls.__base__.__doc__ or "", dims)

    def __init__(self, padding: Any) -> None:
        super().__init__()
        one = not isinstance(padding, tuple | list)
        self.padding = (padding,) * (2 * self._dims) if one else tuple(padding)

    def extra_repr(self) -> str:
        """The padding."""
        return f"{self.padding}"

    def forward(self, input: Tensor) -> Tensor:
        """F.pad, in the layer's mode."""
        return F.pad(input, self.padding, self._mode)


class _ConstantPad(_Pad):
    """A border of `value`, along H and W: (N, C, H, W) or (C, H, W).

    https://pytorch.org/docs/stable/generated/torch.nn.ConstantPad2d.html
    """

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        """The padding and the value."""
        return f"padding={self.padding}, value={self.value}"

    def forward(self, input: Tensor) -> Tensor:
        """F.pad with the layer's value."""
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad1d(_ConstantPad, dims=1): ...


class ConstantPad2d(_ConstantPad, dims=2): ...


class ConstantPad3d(_ConstantPad, dims=3): ...


class _ZeroPad(_ConstantPad):
    """A border of zeros, along H and W: (N, C, H, W) or (C, H, W).

    https://pytorch.org/docs/stable/generated/torch.nn.ZeroPad2d.html
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _Pad.extra_repr


class ZeroPad1d(_ZeroPad, dims=1): ...


class ZeroPad2d(_ZeroPad, dims=2): ...


class ZeroPad3d(_ZeroPad, dims=3): ...


class _CircularPad(_Pad):
    """A border of what is at the other end, along H and W: (N, C, H, W) or (C, H, W).

    https://pytorch.org/docs/stable/generated/torch.nn.CircularPad2d.html
    """

    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        """F.pad in mode "circular"; ValueError for another number of dims."""
        check_dims(input, (self._dims + 1, self._dims + 2))
        return super().forward(input)


class CircularPad1d(_CircularPad, dims=1): ...


class CircularPad2d(_CircularPad, dims=2): ...


class CircularPad3d(_CircularPad, dims=3): ...


class _ReflectionPad(_Pad):
    """A mirrored border, along H and W: (N, C, H, W) or (C, H, W).

    https://pytorch.org/docs/stable/generated/torch.nn.ReflectionPad2d.html

    >>> import tiny_torch as torch
    >>> torch.nn.ReflectionPad1d((2, 1))(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1., 2., 3., 2.]])
    """

    _mode = "reflect"


class ReflectionPad1d(_ReflectionPad, dims=1): ...


class ReflectionPad2d(_ReflectionPad, dims=2): ...


class ReflectionPad3d(_ReflectionPad, dims=3): ...


class _ReplicationPad(_Pad):
    """The outermost elements repeated, along H and W: (N, C, H, W) or (C, H, W).

    https://pytorch.org/docs/stable/generated/torch.nn.ReplicationPad2d.html
    """

    _mode = "replicate"


class ReplicationPad1d(_ReplicationPad, dims=1): ...


class ReplicationPad2d(_ReplicationPad, dims=2): ...


class ReplicationPad3d(_ReplicationPad, dims=3): ...
