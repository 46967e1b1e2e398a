"""Activations as modules: each keeps its settings and calls the function of the same name.

All take and return tensors of any one shape, unless their text says otherwise.
"""

from __future__ import annotations

import warnings
from typing import Any

import tiny_torch as torch
from tiny_torch.nn import functional as F
from tiny_torch.nn import init as initialisers
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.modules.rectifiers import *  # noqa: F403
from tiny_torch.nn.modules.rectifiers import __all__ as _less_common
from tiny_torch.nn.modules.rectifiers import _InPlace, _Plain, _WithAlpha
from tiny_torch.nn.parameter import Parameter
from tiny_torch.tensor import Tensor

__all__ = [
    "ELU",
    "GELU",
    "GLU",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softplus",
    "Tanh",
]
__all__ += _less_common


class Tanh(_Plain):
    """The hyperbolic tangent.

    Source: PyTorch, torch.nn.Tanh.

    >>> import tiny_torch as torch
    >>> torch.nn.Tanh()(torch.zeros(2))
    tensor([0., 0.])
    """

    _function = staticmethod(F.tanh)


class Sigmoid(_Plain):
    """1 / (1 + exp(-x)).

    Source: PyTorch, torch.nn.Sigmoid.

    >>> import tiny_torch as torch
    >>> torch.nn.Sigmoid()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    _function = staticmethod(F.sigmoid)


class LogSigmoid(_Plain):
    """log(1 / (1 + exp(-x))).

    Source: PyTorch, torch.nn.LogSigmoid.

    >>> import tiny_torch as torch
    >>> torch.nn.LogSigmoid()(torch.zeros(2))
    tensor([-0.6931, -0.6931])
    """

    _function = staticmethod(F.logsigmoid)


class ReLU(_InPlace):
    """max(x, 0).

    Source: PyTorch, torch.nn.ReLU.

    >>> import tiny_torch as torch
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    _function = staticmethod(F.relu)


class SiLU(_InPlace):
    """x sigmoid(x), also called swish.

    Source: PyTorch, torch.nn.SiLU.

    >>> import tiny_torch as torch
    >>> torch.nn.SiLU()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """

    _function = staticmethod(F.silu)


class Mish(_InPlace):
    """x tanh(softplus(x)).

    Source: PyTorch, torch.nn.Mish.

    >>> import tiny_torch as torch
    >>> torch.nn.Mish()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8651])
    """

    _function = staticmethod(F.mish)


class SELU(_InPlace):
    """ELU with the constants of self-normalising networks.

    Source: PyTorch, torch.nn.SELU.

    >>> import tiny_torch as torch
    >>> torch.nn.SELU()(torch.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """

    _function = staticmethod(F.selu)


class Hardsigmoid(_InPlace):
    """relu6(x + 3) / 6.

    Source: PyTorch, torch.nn.Hardsigmoid.

    >>> import tiny_torch as torch
    >>> torch.nn.Hardsigmoid()(torch.tensor([0.0, 4.0]))
    tensor([0.5000, 1.0000])
    """

    _function = staticmethod(F.hardsigmoid)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Hardswish(_InPlace):
    """x relu6(x + 3) / 6.

    Source: PyTorch, torch.nn.Hardswish.

    >>> import tiny_torch as torch
    >>> torch.nn.Hardswish()(torch.tensor([0.0, 3.0]))
    tensor([0., 3.])
    """

    _function = staticmethod(F.hardswish)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Hardtanh(_InPlace):
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
        self.min_val = _renamed("min_value", min_value, "min_val", min_val)
        self.max_val = _renamed("max_value", max_value, "max_val", max_val)
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


def _renamed(old: str, old_value: float | None, new: str, value: float) -> float:
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


class LeakyReLU(_InPlace):
    """x where x > 0, negative_slope x elsewhere.

    Source: PyTorch, torch.nn.LeakyReLU.

    >>> import tiny_torch as torch
    >>> torch.nn.LeakyReLU(0.5)(torch.tensor([-2.0, 3.0]))
    tensor([-1.,  3.])
    """

    _shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class ELU(_WithAlpha):
    """x where x > 0, alpha (exp(x) - 1) elsewhere.

    Source: PyTorch, torch.nn.ELU.

    >>> import tiny_torch as torch
    >>> torch.nn.ELU()(torch.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """

    _function = staticmethod(F.elu)


class GELU(Module):
    """x Φ(x), or with approximate="tanh" an approximation of it.

    Source: PyTorch, torch.nn.GELU.

    >>> import tiny_torch as torch
    >>> torch.nn.GELU()(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8413])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """The settings."""
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """log(1 + exp(beta x)) / beta; x itself where beta x > threshold.

    Source: PyTorch, torch.nn.Softplus.

    >>> import tiny_torch as torch
    >>> torch.nn.Softplus()(torch.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

    _shown = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise."""
        return F.softplus(input, self.beta, self.threshold)


class GLU(Module):
    """a sigmoid(b), a and b being the halves of the input along `dim`.

    Source: PyTorch, torch.nn.GLU.

    >>> import tiny_torch as torch
    >>> torch.nn.GLU()(torch.tensor([3.0, 0.0]))
    tensor([1.5000])
    """

    _shown = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Along `dim`."""
        return F.glu(input, self.dim)


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
