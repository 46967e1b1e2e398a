"""The less common activations as modules; the others stand in activation.py.

All take and return tensors of any one shape.
"""

from __future__ import annotations

from typing import Any

from tiny_torch.nn import functional as F
from tiny_torch.nn.modules.module import Module
from tiny_torch.tensor import Tensor

__all__ = [
    "CELU",
    "Hardshrink",
    "RReLU",
    "Softshrink",
    "Softsign",
    "Tanhshrink",
    "Threshold",
]


class _Plain(Module):
    """What activations without settings share."""

    _function: Any

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return self._function(input)


class _InPlace(Module):
    """What activations share that may write over their input."""

    _function: Any

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return self._function(input, self.inplace)

    def extra_repr(self) -> str:
        """The settings; `inplace` unless it is the default."""
        shown = super().extra_repr()
        return ", ".join([text for text in (shown, "inplace=True" if self.inplace else "") if text])


class _WithAlpha(_InPlace):
    _function: Any
    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return self._function(input, self.alpha, self.inplace)


class CELU(_WithAlpha):
    """x where x > 0, alpha (exp(x / alpha) - 1) elsewhere.

    Source: PyTorch, torch.nn.CELU.

    >>> import tiny_torch as torch
    >>> torch.nn.CELU()(torch.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """

    _function = staticmethod(F.celu)


class RReLU(_InPlace):
    """x where x > 0; elsewhere times a draw from U(lower, upper), or their mean after eval().

    Source: PyTorch, torch.nn.RReLU.

    >>> import tiny_torch as torch
    >>> torch.nn.RReLU(0.25, 0.75).eval()(torch.tensor([-2.0, 3.0]))
    tensor([-1.,  3.])
    """

    _shown = ("lower", "upper")

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Threshold(_InPlace):
    """x where x > threshold, `value` elsewhere.

    Source: PyTorch, torch.nn.Threshold.

    >>> import tiny_torch as torch
    >>> torch.nn.Threshold(1, -1)(torch.tensor([0.5, 2.0]))
    tensor([-1.,  2.])
    """

    _shown = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return F.threshold(input, self.threshold, self.value, self.inplace)


class _Shrink(Module):
    """What Hardshrink and Softshrink share: the edge."""

    _function: Any

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return self._function(input, self.lambd)

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

    _function = staticmethod(F.hardshrink)


class Softshrink(_Shrink):
    """x moved by lambd towards 0, as far as that.

    Source: PyTorch, torch.nn.Softshrink.

    >>> import tiny_torch as torch
    >>> torch.nn.Softshrink()(torch.tensor([0.3, -2.0]))
    tensor([ 0.0000, -1.5000])
    """

    _function = staticmethod(F.softshrink)


class Tanhshrink(_Plain):
    """x - tanh(x).

    Source: PyTorch, torch.nn.Tanhshrink.

    >>> import tiny_torch as torch
    >>> torch.nn.Tanhshrink()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """

    _function = staticmethod(F.tanhshrink)


class Softsign(_Plain):
    """x / (1 + |x|).

    Source: PyTorch, torch.nn.Softsign.

    >>> import tiny_torch as torch
    >>> torch.nn.Softsign()(torch.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    _function = staticmethod(F.softsign)
