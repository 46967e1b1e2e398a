"""Activation functions: what they check; what they compute is in ops/activation.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch import ops

from ...autograd.apply import apply1
from ...ops.activation import (
    Elu,
    Gelu,
    GeluTanh,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyRelu,
    LogSigmoid,
    Mish,
    Silu,
    Softplus,
)
from ...tensor import Tensor

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def _require_float(name: str, input: Tensor) -> None:
    if not input.is_floating_point():
        raise NotImplementedError(f"[{name}] is not implemented for {input.dtype}")


def _in_place(function: Callable[..., Tensor], input: Tensor, *settings: Any) -> Tensor:
    """Write function(input) into `input`; backward reads the copy, which the write leaves alone."""
    return input.copy_(function(input.clone(), *settings))


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0) for each element of a tensor of any shape and number dtype.

    Source: PyTorch, nn.functional.relu.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return input.relu_() if inplace else ops.relu(input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element.

    Source: PyTorch, nn.functional.tanh.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.tanh(torch.zeros(2))
    tensor([0., 0.])
    """
    return input.tanh()


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)) for each element.

    Source: PyTorch, nn.functional.sigmoid.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.sigmoid(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """
    return input.sigmoid()


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x Φ(x) for each element, Φ being the normal distribution function, or its tanh approximation.

    Any shape, floating dtypes (NotImplementedError for others). Raises RuntimeError unless
    `approximate` is "none" or "tanh".
    Source: PyTorch, nn.functional.gelu; Hendrycks & Gimpel 2016.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.gelu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    _require_float("gelu", input)
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return apply1(Gelu if approximate == "none" else GeluTanh, input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x sigmoid(x) for each element. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.silu; Elfwing et al. 2017.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.silu(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """
    if inplace:
        return _in_place(silu, input)
    _require_float("silu", input)
    return apply1(Silu, input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(softplus(x)) for each element. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.mish; Misra 2019.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.mish(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8651])
    """
    if inplace:
        return _in_place(mish, input)
    _require_float("mish", input)
    return apply1(Mish, input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where x > 0, negative_slope x elsewhere. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.leaky_relu.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.leaky_relu(torch.tensor([-2.0, 3.0]), 0.5)
    tensor([-1.,  3.])
    """
    if inplace:
        return _in_place(leaky_relu, input, negative_slope)
    _require_float("leaky_relu", input)
    return apply1(LeakyRelu, input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, alpha (exp(x) - 1) elsewhere. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.elu; Clevert et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.elu(torch.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
    if inplace:
        return _in_place(elu, input, alpha)
    _require_float("elu", input)
    return apply1(Elu, input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """scale elu(x, alpha) with the two constants that keep mean 0 and variance 1.

    Any shape; NotImplementedError for integers.
    Source: PyTorch, nn.functional.selu; Klambauer et al. 2017.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.selu(torch.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    if inplace:
        return _in_place(selu, input)
    return _SELU_SCALE * elu(input, _SELU_ALPHA)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta for each element; x itself where beta x > threshold.

    Any shape; NotImplementedError for integers.
    Source: PyTorch, nn.functional.softplus.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.softplus(torch.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """
    _require_float("softplus", input)
    return apply1(Softplus, input, beta, threshold)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)) for each element, stably. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.logsigmoid.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.logsigmoid(torch.tensor([-100.0, 0.0]))
    tensor([-100.0000,   -0.6931])
    """
    _require_float("logsigmoid", input)
    return apply1(LogSigmoid, input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a sigmoid(b), a and b being the halves of the input along `dim`: that dim's size is halved.

    Raises RuntimeError for a size that is odd and for a tensor without dims, IndexError for a dim
    out of range.
    Source: PyTorch, nn.functional.glu; Dauphin et al. 2016.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.glu(torch.tensor([3.0, 0.0]))
    tensor([1.5000])
    """
    if input.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    size = input.size(dim)
    if size % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim % input.ndim} is size {size}"
        )
    return input.narrow(dim, 0, size // 2) * input.narrow(dim, size // 2, size // 2).sigmoid()


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x limited to [min_val, max_val]; the gradient is 0 at the limits, unlike clamp's.

    Any shape and number dtype. Raises ValueError where min_val > max_val.
    Source: PyTorch, nn.functional.hardtanh.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.hardtanh(torch.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        return _in_place(hardtanh, input, min_val, max_val)
    if not input.is_floating_point():
        return input.clamp(int(min_val), int(max_val))
    return apply1(Hardtanh, input, min_val, max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x limited to [0, 6]. Any shape and number dtype.

    Source: PyTorch, nn.functional.relu6.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.relu6(torch.tensor([-1.0, 7.0]))
    tensor([0., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6 for each element. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.hardsigmoid.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.hardsigmoid(torch.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    if inplace:
        return _in_place(hardsigmoid, input)
    _require_float("hardsigmoid", input)
    return apply1(Hardsigmoid, input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x hardsigmoid(x) for each element. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.hardswish; Howard et al. 2019.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.hardswish(torch.tensor([0.0, 3.0]))
    tensor([0., 3.])
    """
    if inplace:
        return _in_place(hardswish, input)
    _require_float("hardswish", input)
    return apply1(Hardswish, input)
