"""Activation functions of nn.functional; torch's own of these names stand in rectifiers.py."""

from __future__ import annotations

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace, quick
from tiny_torch.base.arguments import as_number, check_bool
from tiny_torch.base.dtypes import finfo
from tiny_torch.functions.common import check_tensor, require_float, rounded_once
from tiny_torch.functions.elementwise.arithmetic import relu as torch_relu
from tiny_torch.functions.nn import rectifiers
from tiny_torch.functions.nn.rectifiers import leaky_relu_
from tiny_torch.ops.elementwise.unary import Relu
from tiny_torch.ops.nn.activation import (
    Elu,
    Gelu,
    GeluTanh,
    Glu,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    HardtanhInPlace,
    LeakyRelu,
    LogSigmoid,
    Mish,
    Silu,
    Softplus,
    Softshrink,
)
from tiny_torch.tensor import Tensor


@quick(Relu)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0) for each element of a tensor of any shape and number dtype.

    Source: PyTorch, nn.functional.relu.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return input.relu_() if inplace else torch_relu(input)


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
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    require_float("gelu", input)
    return apply(Gelu if approximate == "none" else GeluTanh, input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x sigmoid(x) for each element. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.silu; Elfwing et al. 2017.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.silu(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """
    require_float("silu", input)
    return apply_inplace(Silu, input) if inplace else apply(Silu, input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(softplus(x)) for each element. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.mish; Misra 2019.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.mish(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8651])
    """
    require_float("mish", input)
    return apply_inplace(Mish, input) if inplace else apply(Mish, input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where x > 0, negative_slope x elsewhere. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.leaky_relu.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.leaky_relu(torch.tensor([-2.0, 3.0]), 0.5)
    tensor([-1.,  3.])
    """
    if inplace:
        return leaky_relu_(input, negative_slope)
    if type(negative_slope) is not float:
        negative_slope = as_number("leaky_relu", "negative_slope", 2, negative_slope)
    require_float("leaky_relu", input)
    return apply(LeakyRelu, input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, alpha (exp(x) - 1) elsewhere. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.elu; Clevert et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.elu(torch.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
    if type(alpha) is not float:
        alpha = as_number("elu", "alpha", 2, alpha)
    require_float("elu", input)
    return apply_inplace(Elu, input, alpha) if inplace else apply(Elu, input, alpha)


def elu_(input: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    """elu in place. NotImplementedError for scales that are not 1."""
    as_number("elu_", "alpha", None, alpha)
    if scale != 1 or input_scale != 1:
        raise NotImplementedError("elu_(): scale and input_scale are not supported")
    return elu(input, alpha, True)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, alpha (exp(x / alpha) - 1) elsewhere. RuntimeError where alpha is 0.

    Any shape; NotImplementedError for integers.
    Source: PyTorch, nn.functional.celu; Barron 2017.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.celu(torch.tensor([-1.0, 1.0]), 2.0)
    tensor([-0.7869,  1.0000])
    """
    return rectifiers.celu_(input, alpha) if inplace else rectifiers.celu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """scale elu(x, alpha) with the two constants that keep mean 0 and variance 1.

    Any shape; NotImplementedError for integers.
    Source: PyTorch, nn.functional.selu; Klambauer et al. 2017.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.selu(torch.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    return rectifiers.selu_(input) if inplace else rectifiers.selu(input)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """leaky_relu whose slopes are drawn from U(lower, upper) in training, else their mean.

    Any shape; NotImplementedError for integers, RuntimeError where the bounds are not finite or
    lower > upper.
    Source: PyTorch, nn.functional.rrelu; Xu et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.rrelu(torch.tensor([-2.0, 3.0]), 0.25, 0.75)
    tensor([-1.,  3.])
    """
    check_bool("rrelu", "training", 4, training)
    function = rectifiers.rrelu_ if inplace else rectifiers.rrelu
    return function(input, lower, upper, training)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > threshold (or is NaN), `value` elsewhere. Any shape and number dtype.

    Source: PyTorch, nn.functional.threshold.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.threshold(torch.tensor([0.5, 2.0]), 1, -1)
    tensor([-1.,  2.])
    """
    function = rectifiers.threshold_ if inplace else rectifiers.threshold
    return function(input, threshold, value)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 where -lambd <= x <= lambd, x elsewhere. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.hardshrink.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.hardshrink(torch.tensor([0.3, -2.0]))
    tensor([ 0., -2.])
    """
    require_float("hardshrink", input)
    return apply(Hardshrink, input, as_number("hardshrink", "lambd", 2, lambd))


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved by lambd towards 0, as far as that. Any shape; NotImplementedError for integers.

    Raises RuntimeError for a negative lambd.
    Source: PyTorch, nn.functional.softshrink.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.softshrink(torch.tensor([0.3, -2.0]))
    tensor([ 0.0000, -1.5000])
    """
    require_float("softshrink", input)
    lambd = as_number("softshrink", "lambd", 2, lambd)
    if not 0 <= lambd <= finfo(input.dtype).max:
        raise RuntimeError(
            f"lambda must be in range [0, {finfo(input.dtype).max:g}] for input dtype "
            f"{input.dtype}, but found {lambd}"
        )
    return apply(Softshrink, input, lambd)


@rounded_once
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x) for each element.

    Source: PyTorch, nn.functional.tanhshrink.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.tanhshrink(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|) for each element.

    Source: PyTorch, nn.functional.softsign.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.softsign(torch.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return input / (input.abs() + 1)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta for each element; x itself where beta x > threshold.

    Any shape; NotImplementedError for integers.
    Source: PyTorch, nn.functional.softplus.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.softplus(torch.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """
    require_float("softplus", input)
    if type(beta) is not float or type(threshold) is not float:
        beta = as_number("softplus", "beta", 2, beta)
        threshold = as_number("softplus", "threshold", 3, threshold)
    return apply(Softplus, input, beta, threshold)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)) for each element, stably. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.logsigmoid.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.logsigmoid(torch.tensor([-100.0, 0.0]))
    tensor([-100.0000,   -0.6931])
    """
    require_float("log_sigmoid", input)
    return apply(LogSigmoid, input.contiguous())  # as PyTorch's result


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
    require_float("glu", input)
    return apply(Glu, input, dim % input.ndim)


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
    return _clamp(input, min_val, max_val, inplace)


def _clamp(input: Tensor, min_val: float, max_val: float, inplace: bool) -> Tensor:
    check_tensor("hardtanh", "input", 1, input)
    if type(min_val) is not float or type(max_val) is not float:
        min_val = as_number("hardtanh", "min_val", 2, min_val)
        max_val = as_number("hardtanh", "max_val", 3, max_val)
    if input.is_floating_point():
        if inplace:
            return apply_inplace(HardtanhInPlace, input, min_val, max_val)
        return apply(Hardtanh, input, min_val, max_val)
    if input.dtype == _core.bool:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if input.dtype == _core.uint8 and min(min_val, max_val) <= -1:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    clamp = input.clamp_ if inplace else input.clamp
    return clamp(int(min_val), int(max_val))


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """hardtanh in place, which is max_val everywhere if min_val is larger."""
    return _clamp(input, min_val, max_val, True)


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
    require_float("hardsigmoid", input)
    return apply_inplace(Hardsigmoid, input) if inplace else apply(Hardsigmoid, input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x hardsigmoid(x) for each element. Any shape; NotImplementedError for integers.

    Source: PyTorch, nn.functional.hardswish; Howard et al. 2019.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.hardswish(torch.tensor([0.0, 3.0]))
    tensor([0., 3.])
    """
    require_float("hardswish", input)
    return apply_inplace(Hardswish, input) if inplace else apply(Hardswish, input)
