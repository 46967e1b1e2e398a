"""Normalisation over the last dims, over groups of channels, and across channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch.base.arguments import is_int
from tiny_torch.nn import functional as F
from tiny_torch.nn import init
from tiny_torch.nn.modules._parts.layer import Layer
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.parameter import Parameter
from tiny_torch.tensor import Tensor

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _shape_of(normalized_shape: Any) -> tuple[int, ...]:
    return (normalized_shape,) if is_int(normalized_shape) else tuple(normalized_shape)


class AffineNorm(Layer):
    """What norms share: a weight, which begins as ones, and a bias, as zeros; each may be None."""

    def _register(self, shape: Any, weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, there in (("weight", weight), ("bias", bias)):
            empty = Parameter(torch.empty(shape, device=device, dtype=dtype)) if there else None
            self.register_parameter(name, empty)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(AffineNorm, of=F.layer_norm):
    """Layer norm over the last dims, whose shape is given: see `functional.layer_norm`.

    Source: PyTorch, torch.nn.LayerNorm.

    >>> import tiny_torch as torch
    >>> torch.nn.LayerNorm(2)(torch.tensor([1.0, 3.0])).detach()
    tensor([-1.0000,  1.0000])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_of(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        affine = elementwise_affine
        self._register(self.normalized_shape, affine, affine and bias, device, dtype)
        self.reset_parameters()

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """RMS norm over the last dims, whose shape is given: see `functional.rms_norm`.

    Source: PyTorch, torch.nn.RMSNorm.

    >>> import tiny_torch as torch
    >>> torch.nn.RMSNorm(2)(torch.tensor([3.0, 4.0])).detach()
    tensor([0.8485, 1.1314])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_of(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = None
        if elementwise_affine:
            weight = Parameter(torch.empty(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Over the last dims."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(AffineNorm, of=F.group_norm):
    """Group norm of (N, C, *): see `functional.group_norm`.

    Raises ValueError where the groups do not divide the channels.
    Source: PyTorch, torch.nn.GroupNorm.

    >>> import tiny_torch as torch
    >>> torch.nn.GroupNorm(2, 4)(torch.tensor([[1.0, 3.0, 2.0, 6.0]])).detach()
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._register(num_channels, affine, affine and bias, device, dtype)
        self.reset_parameters()

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Layer, of=F.local_response_norm):
    """Normalisation across neighbouring channels: see `functional.local_response_norm`.

    Source: PyTorch, torch.nn.LocalResponseNorm.

    >>> import tiny_torch as torch
    >>> torch.nn.LocalResponseNorm(2)(torch.zeros(1, 4, 3)).shape
    torch.Size([1, 4, 3])
    """

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
