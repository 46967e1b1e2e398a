"""`Linear`, `LazyLinear`, `Bilinear` and `Identity`."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.autograd.apply import apply_unasked
from tiny_torch.autograd.grad_mode import no_grad
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.parameter import Parameter
from tiny_torch.ops.linalg import matmul
from tiny_torch.tensor import Tensor

if TYPE_CHECKING:  # what lazy.py attaches
    from tiny_torch.nn.modules.lazy import LazyLinear

# That of init.kaiming_uniform_(weight, a=sqrt(5)), rounded as there, whose bound is then close to
# 1 / sqrt(in_features).
GAIN = math.sqrt(2.0 / (1 + math.sqrt(5) ** 2))

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input. Takes and ignores any arguments.

    Source: PyTorch, torch.nn.Identity.

    >>> import tiny_torch as torch
    >>> torch.nn.Identity(54, unused=True)(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input itself."""
        return input


class Linear(Module):
    """x Wᵀ + b with a learned weight W (out_features, in_features) and bias b (out_features).

    Input (*, in_features), output (*, out_features), of the weight's dtype. Both are drawn from
    U(-k, k), k = 1 / sqrt(in_features). Raises RuntimeError where the shapes do not fit.
    Source: PyTorch, torch.nn.Linear.

    >>> import tiny_torch as torch
    >>> torch.nn.Linear(20, 30)(torch.ones(128, 20)).shape
    torch.Size([128, 30])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(
            torch.empty((out_features, in_features), device=device, dtype=dtype)
        )
        if bias:
            self.bias = Parameter(torch.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        with no_grad():
            if 0 in self.weight.shape:
                warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
            else:
                bound = math.sqrt(3.0) * (GAIN / math.sqrt(self.weight.shape[1]))
                self.weight.uniform_(-bound, bound)
            if self.bias is not None:
                bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
                self.bias.uniform_(-bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """(*, in_features) -> (*, out_features)."""
        weight, bias = self.weight, self.bias
        try:
            return apply_unasked(matmul.Linear, input, weight, bias)
        except (AttributeError, IndexError, RuntimeError, TypeError):
            plain = isinstance(input, Tensor) and not _core.is_asked(input, weight, bias)
            if plain and weight.ndim == 2 and (bias is None or bias.ndim == 1):
                raise
            return torch.nn.functional.linear(input, weight, bias)  # or it says what is wrong

    def extra_repr(self) -> str:
        """The sizes, and whether there is a bias."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name that it has in MultiheadAttention."""


class Bilinear(Module):
    """x1ᵀ W x2 + b with a learned weight W (out, in1, in2) and bias b (out).

    Inputs (*, in1_features) and (*, in2_features), output (*, out_features). Both are drawn from
    U(-k, k), k = 1 / sqrt(in1_features). Raises ValueError unless in1_features > 0, RuntimeError
    where the shapes do not fit.
    Source: PyTorch, torch.nn.Bilinear.

    >>> import tiny_torch as torch
    >>> torch.nn.Bilinear(20, 30, 40)(torch.ones(128, 20), torch.ones(128, 30)).shape
    torch.Size([128, 40])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(torch.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        if self.in1_features <= 0:
            raise ValueError(
                f"in1_features must be > 0, but got (in1_features={self.in1_features})"
            )
        bound = 1 / math.sqrt(self.in1_features)
        torch.nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            torch.nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """(*, in1_features), (*, in2_features) -> (*, out_features)."""
        return torch.nn.functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes, and whether there is a bias."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
