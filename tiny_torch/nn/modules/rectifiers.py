"""The less common activations as modules; the others stand in activation.py.

All take and return tensors of any one shape.
"""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = [
    "CELU",
    "Hardshrink",
    "RReLU",
    "Softshrink",
    "Softsign",
    "Tanhshrink",
    "Threshold",
]


def _in_place_text(module: Any) -> str:
    return ", inplace=True" if module.inplace else ""


class _WithAlpha(Module):
    _function: Any

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return self._function(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """The settings."""
        return f"alpha={self.alpha}{_in_place_text(self)}"


class CELU(_WithAlpha):
    """x where x > 0, alpha (exp(x / alpha) - 1) elsewhere.

    Source: PyTorch, torch.nn.CELU.

    >>> import tiny_torch as torch
    >>> torch.nn.CELU()(torch.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """

    _function = staticmethod(F.celu)


class RReLU(Module):
    """x where x > 0; elsewhere times a draw from U(lower, upper), or their mean after eval().

    Source: PyTorch, torch.nn.RReLU.

    >>> import tiny_torch as torch
    >>> torch.nn.RReLU(0.25, 0.75).eval()(torch.tensor([-2.0, 3.0]))
    tensor([-1.,  3.])
    """

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The settings."""
        return f"lower={self.lower}, upper={self.upper}{_in_place_text(self)}"


class Threshold(Module):
    """x where x > threshold, `value` elsewhere.

    Source: PyTorch, torch.nn.Threshold.

    >>> import tiny_torch as torch
    >>> torch.nn.Threshold(1, -1)(torch.tensor([0.5, 2.0]))
    tensor([-1.,  2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """The settings."""
        return f"threshold={self.threshold}, value={self.value}{_in_place_text(self)}"


class _Shrink(Module):
    """What Hardshrink and Softshrink share: the edge."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """The edge."""
        return str(self.lambd)


class Hardshrink(_Shrink):
    """0 where -lambd <= x <= lambd, x elsewhere.

    Source: PyTorch, torch.nn.Hardshrink.

    >>> import tiny_torch as torch
    >>> torch.nn.Hardshrink()(torch.tensor([0.3, -2.0]))
    tensor([ 0., -2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """x moved by lambd towards 0, as far as that.

    Source: PyTorch, torch.nn.Softshrink.

    >>> import tiny_torch as torch
    >>> torch.nn.Softshrink()(torch.tensor([0.3, -2.0]))
    tensor([ 0.0000, -1.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return F.softshrink(input, self.lambd)


class Tanhshrink(Module):
    """x - tanh(x).

    Source: PyTorch, torch.nn.Tanhshrink.

    >>> import tiny_torch as torch
    >>> torch.nn.Tanhshrink()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return F.tanhshrink(input)


class Softsign(Module):
    """x / (1 + |x|).

    Source: PyTorch, torch.nn.Softsign.

    >>> import tiny_torch as torch
    >>> torch.nn.Softsign()(torch.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return F.softsign(input)
