"""Activations as modules: each keeps its settings and calls the function that it is `of`.

All take and return tensors of any one shape, unless their text says otherwise.
"""

from __future__ import annotations

import warnings
from typing import Any

import tiny_torch as torch
from tiny_torch.nn import functional as F
from tiny_torch.nn import init as initialisers
from tiny_torch.nn.modules._layer import Layer
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.parameter import Parameter
from tiny_torch.tensor import Tensor

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softplus",
    "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip


class Tanh(Layer, of=F.tanh): ...


class Sigmoid(Layer, of=F.sigmoid): ...


class LogSigmoid(Layer, of=F.logsigmoid): ...


class Tanhshrink(Layer, of=F.tanhshrink): ...


class Softsign(Layer, of=F.softsign): ...


class Softplus(Layer, of=F.softplus): ...


class GLU(Layer, of=F.glu): ...


class GELU(Layer, of=F.gelu):
    def extra_repr(self) -> str:
        """The settings."""
        return f"approximate={self.approximate!r}"


class _Shrink(Layer):
    def extra_repr(self) -> str:
        """The edge."""
        return str(self.lambd)


class Hardshrink(_Shrink, of=F.hardshrink): ...


class Softshrink(_Shrink, of=F.softshrink): ...


class _InPlace(Layer):
    """What activations share that may write over their input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """The settings; `inplace` unless it is the default."""
        shown = super().extra_repr()
        return ", ".join([text for text in (shown, "inplace=True" if self.inplace else "") if text])


class ReLU(_InPlace, of=F.relu): ...


class SiLU(_InPlace, of=F.silu): ...


class Mish(_InPlace, of=F.mish): ...


class SELU(_InPlace, of=F.selu): ...


class Hardsigmoid(_InPlace, of=F.hardsigmoid):
    extra_repr = Module.extra_repr


class Hardswish(_InPlace, of=F.hardswish):
    extra_repr = Module.extra_repr


class LeakyReLU(_InPlace, of=F.leaky_relu): ...


class ELU(_InPlace, of=F.elu): ...


class CELU(_InPlace, of=F.celu): ...


class RReLU(_InPlace, of=F.rrelu): ...


class Threshold(_InPlace, of=F.threshold): ...


class Hardtanh(_InPlace, of=F.hardtanh):
    """x limited to [min_val, max_val].

    Raises AssertionError unless min_val < max_val. `min_value`, `max_value` are deprecated names.

    Source: PyTorch, torch.nn.Hardtanh.

    >>> import tiny_torch as torch
    >>> torch.nn.Hardtanh()(torch.tensor([-2.0, 2.0]))
    tensor([-1.,  1.])
    """

    _shown: tuple[str, ...] = ("min_val", "max_val")

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        self.min_val = _read_old_name("min_value", min_value, "min_val", min_val)
        self.max_val = _read_old_name("max_value", max_value, "max_val", max_val)
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )


def _read_old_name(old: str, old_value: float | None, new: str, value: float) -> float:
    if old_value is None:
        return value
    warnings.warn(
        f"keyword argument `{old}` is deprecated and renamed to `{new}`",
        FutureWarning,
        stacklevel=3,
    )
    return old_value


class ReLU6(Hardtanh):
    """x limited to [0, 6].

    Source: PyTorch, torch.nn.ReLU6.

    >>> import tiny_torch as torch
    >>> torch.nn.ReLU6()(torch.tensor([-1.0, 7.0]))
    tensor([0., 6.])
    """

    _shown = ()

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class PReLU(Module):
    """x where x > 0, weight x elsewhere, with a learned weight for all channels or one for each.

    Input (N, C, *), weight (num_parameters), which is 1 or C. Raises RuntimeError for another C.

    Source: PyTorch, torch.nn.PReLU.

    >>> import tiny_torch as torch
    >>> torch.nn.PReLU()(torch.tensor([-2.0, 3.0])).tolist()
    [-0.5, 3.0]
    """

    _shown = ("num_parameters",)

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(torch.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all weights to `init`."""
        initialisers.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise, by channel."""
        return F.prelu(input, self.weight)
