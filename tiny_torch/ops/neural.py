"""Functions of nn.functional that torch has too: activations, dropout and similarities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, apply_inplace
from tiny_torch.autograd.grad_mode import no_grad
from tiny_torch.creation import empty, ones_like
from tiny_torch.dtypes import cannot_cast, not_implemented
from tiny_torch.ops import activation
from tiny_torch.ops.join import broadcast_tensors
from tiny_torch.ops.lapack import check_precision
from tiny_torch.ops.norms import vector_norm
from tiny_torch.ops.pointwise import check_number, result_type
from tiny_torch.ops.public import check_tensor, write_out
from tiny_torch.ops.random import draw
from tiny_torch.ranges import triu_indices
from tiny_torch.tensor import Tensor, wrap

# ------------------------------------------------------------------------------------ activations


def require_float(name: str, input: Tensor) -> None:
    if not isinstance(input, Tensor):
        check_tensor(name, "input", 1, input)
    if not input.array.dtype.is_floating_point:
        raise not_implemented(f"{name}_cpu", input.dtype)


def check_celu(input: Tensor, alpha: float) -> None:
    if check_number("celu", "alpha", alpha) == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    require_float("elu", input)


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """x where x > 0, alpha (exp(x / alpha) - 1) elsewhere. RuntimeError where alpha is 0.

    Source: PyTorch, nn.functional.celu; Barron 2017.

    >>> import tiny_torch as torch
    >>> torch.celu(torch.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
    check_celu(input, alpha)
    return apply(activation.Celu, input, alpha)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """celu in place."""
    check_celu(input, alpha)
    return apply_inplace(activation.Celu, input, alpha)


def selu(input: Tensor) -> Tensor:
    """scale elu(x, alpha) with the two constants that keep mean 0 and variance 1.

    Source: PyTorch, nn.functional.selu; Klambauer et al. 2017.

    >>> import tiny_torch as torch
    >>> torch.selu(torch.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    require_float("elu", input)
    return apply(activation.Selu, input)


def selu_(input: Tensor) -> Tensor:
    """selu in place."""
    require_float("elu", input)
    return apply_inplace(activation.Selu, input)


def relu_(input: Tensor) -> Tensor:
    """relu in place."""
    check_tensor("relu_", "input", 1, input)
    return input.relu_()


def limits(name: str, input: Tensor, *numbers: float) -> tuple:
    """The numbers as kernels of the input's dtype take them: cut to integers where it is one."""
    check_tensor(name, "input", 1, input)
    for number in numbers:
        check_number(name, "value", number)
    if input.is_floating_point():
        return numbers
    if input.dtype is _core.bool:
        raise not_implemented(f"{name}_cpu", input.dtype)
    return tuple(int(number) for number in numbers)


def threshold(
    input: Tensor, threshold: float, value: float, *, out: Tensor | None = None
) -> Tensor:
    """x where x > threshold (or is NaN), `value` elsewhere. Any number dtype.

    Source: PyTorch, nn.functional.threshold.

    >>> import tiny_torch as torch
    >>> torch.threshold(torch.tensor([0.5, 2.0]), 1, -1)
    tensor([-1.,  2.])
    """
    numbers = limits("threshold", input, threshold, value)
    if out is not None:
        return write_out(activation.Threshold, "threshold", out, input, *numbers)
    return apply(activation.Threshold, input, *numbers)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """threshold in place."""
    numbers = limits("threshold", input, threshold, value)
    return apply_inplace(activation.Threshold, input, *numbers)


def check_rrelu(input: Tensor, lower: float, upper: float) -> None:
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    require_float("leaky_relu", input)


def random_slopes(input: Tensor, lower: float, upper: float, generator: Any) -> Tensor:
    """Draws where x <= 0, in the order of its elements; 1 elsewhere."""
    with no_grad():
        below = input <= 0
        count = int(below.sum())
        draws = empty(count, dtype=_core.float64).uniform_(lower, upper, generator=generator)
        return ones_like(input).masked_scatter_(below, draws.to(input.dtype))


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """leaky_relu whose slopes are drawn from U(lower, upper) in training, else their mean.

    RuntimeError where the bounds are not finite or lower > upper.
    Source: PyTorch, nn.functional.rrelu; Xu et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.rrelu(torch.tensor([-2.0, 3.0]), 0.25, 0.75)
    tensor([-1.,  3.])
    """
    check_rrelu(input, lower, upper)
    input = input.contiguous()  # as PyTorch's result
    if not training:
        return apply(activation.LeakyRelu, input, (lower + upper) / 2)
    return apply(activation.RreluWithNoise, input, random_slopes(input, lower, upper, generator))


def rrelu_(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """rrelu in place."""
    check_rrelu(input, lower, upper)
    if not training:
        return leaky_relu_(input, (lower + upper) / 2)
    slopes = random_slopes(input, lower, upper, generator)
    return apply_inplace(activation.RreluWithNoise, input, slopes)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """leaky_relu in place."""
    check_number("leaky_relu_", "negative_slope", negative_slope)
    require_float("leaky_relu", input)
    op = activation.LeakyReluInPlace if negative_slope >= 0 else activation.LeakyRelu
    return apply_inplace(op, input, negative_slope)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where x > 0, weight x elsewhere; input (N, C, *), weight () or (1) or (C), of one dtype.

    Raises RuntimeError for a weight of more dims, of another size than C, or of another dtype.
    Source: PyTorch, nn.functional.prelu; He et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.prelu(torch.tensor([-2.0, 3.0]), torch.tensor([0.5]))
    tensor([-1.,  3.])
    """
    check_tensor("prelu", "input", 1, input)
    check_tensor("prelu", "weight", 2, weight)
    if weight.dtype != input.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}"
        )
    per_channel = weight.numel() != 1
    if per_channel and input.ndim == 0:
        raise RuntimeError("Not allow zero-dim input tensor.")
    channels = input.shape[1] if input.ndim > 1 else 1
    if per_channel and weight.numel() != channels:
        raise RuntimeError(
            "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
            f"{weight.numel()} and channel size = {channels}."
        )
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    require_float("prelu", input)
    weight = weight.reshape((channels,) + (1,) * (input.ndim - 2) if per_channel else ())
    return apply(activation.PreluKernel, input, weight)


# --------------------------------------------------------------------------------------- dropout


def is_dropping(input: Tensor, p: float, train: bool) -> bool:
    check_tensor("dropout", "input", 1, input)
    if p < 0 or p > 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    return bool(train) and p != 0 and input.numel() != 0


def noise_of(input: Tensor, p: float, by_channel: bool, scaled: bool = True) -> Tensor:
    """0 with probability p, else 1, or 1 / (1 - p) if `scaled`: per element or per channel."""
    if by_channel and input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if p == 1:  # draws nothing
        return input.new_zeros(())
    if not input.is_floating_point():
        raise cannot_cast(_core.float32, input.dtype)
    kept = _core.full((), 1, input.dtype).div(1 - p).item() if scaled else 1.0
    array = input.array
    if by_channel:
        array = input.new_empty((*input.shape[:2], *(1,) * (input.ndim - 2))).array
    else:
        array = array.empty_like()
    return draw(wrap(array), _core.bernoulli_, None, 1 - p, kept)


def dropout_of(name: str, by_channel: bool) -> tuple[Callable, Callable]:
    """dropout of elements or of whole channels; and in place."""

    def function(input: Tensor, p: float, train: bool) -> Tensor:
        """In training sets elements to 0 with probability p and divides the others by 1 - p.

        Raises RuntimeError unless 0 <= p <= 1, and for integers.
        """
        return input * noise_of(input, p, by_channel) if is_dropping(input, p, train) else input

    def in_place(input: Tensor, p: float, train: bool) -> Tensor:
        """The same in place."""
        return input.mul_(noise_of(input, p, by_channel)) if is_dropping(input, p, train) else input

    return named(name, function, in_place)


def alpha_dropout_of(name: str, by_channel: bool) -> tuple[Callable, Callable]:
    """alpha_dropout of elements or of whole channels; and in place."""

    def noises(input: Tensor, p: float) -> tuple[Tensor, Tensor]:
        """What the input is multiplied by, and what is then added."""
        noise = noise_of(input, p, by_channel, scaled=False)
        scale = 1 / math.sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
        return noise * scale, (noise - 1).mul_(ALPHA * scale).add_(ALPHA * scale * p)

    def function(input: Tensor, p: float, train: bool) -> Tensor:
        """In training sets elements to what selu of -inf is, with probability p.

        All are scaled and shifted so that mean and variance stay. Raises RuntimeError unless
        0 <= p <= 1, and for integers. Source: PyTorch, nn.functional.alpha_dropout.
        """
        if not is_dropping(input, p, train):
            return input
        if p == 1:
            return input * input.new_zeros(())
        noise, shift = noises(input, p)
        return input * noise + shift

    def in_place(input: Tensor, p: float, train: bool) -> Tensor:
        """The same in place."""
        if not is_dropping(input, p, train):
            return input
        if p == 1:
            return input.mul_(input.new_zeros(()))
        noise, shift = noises(input, p)
        return input.mul_(noise).add_(shift)

    return named(name, function, in_place)


def named(name: str, function: Callable, in_place: Callable) -> tuple[Callable, Callable]:
    function.__name__ = function.__qualname__ = name
    in_place.__name__ = in_place.__qualname__ = name + "_"
    return function, in_place


ALPHA = activation.SELU_SCALE * activation.SELU_ALPHA
dropout, dropout_ = dropout_of("dropout", False)
feature_dropout, feature_dropout_ = dropout_of("feature_dropout", True)
alpha_dropout, alpha_dropout_ = alpha_dropout_of("alpha_dropout", False)
feature_alpha_dropout, feature_alpha_dropout_ = alpha_dropout_of("feature_alpha_dropout", True)

# ----------------------------------------------------------------------- similarities, distances


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (max(|x1|, eps) max(|x2|, eps)) along `dim` of their broadcast shape, without it.

    Floating dtypes. Raises RuntimeError where the shapes do not broadcast or neither is floating,
    IndexError for a dim out of range.
    Source: PyTorch, nn.functional.cosine_similarity.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.cosine_similarity(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1.0]), 0)
    tensor(0.7071)
    """
    check_tensor("cosine_similarity", "x1", 1, x1)
    check_tensor("cosine_similarity", "x2", 2, x2)
    dtype = result_type(x1, x2)
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {dtype}"
        )
    x1, x2 = x1.to(dtype), x2.to(dtype)
    if x1.shape != x2.shape:
        x1, x2 = broadcast_tensors(x1, x2)
    return (x1 / length(x1, dim, eps) * (x2 / length(x2, dim, eps))).sum(dim)


def length(x: Tensor, dim: int, eps: float) -> Tensor:
    """The norm along a dim, at least eps; the limit does not count in its gradient."""
    norm = x.norm(2, dim, keepdim=True).clone()
    with no_grad():
        norm.clamp_min_(eps)
    return norm


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dim of their broadcast shape, without it.

    Raises RuntimeError where the shapes do not broadcast.
    Source: PyTorch, nn.functional.pairwise_distance.

    >>> import tiny_torch as torch
    >>> torch.pairwise_distance(torch.tensor([0.0, 3.0]), torch.tensor([4.0, 0.0]))
    tensor(5.)
    """
    check_tensor("pairwise_distance", "x1", 1, x1)
    check_tensor("pairwise_distance", "x2", 2, x2)
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norm distances of all pairs of different rows: (N, M) -> (N (N - 1) / 2).

    Raises RuntimeError for other than 2 dims, integers, and p < 0.
    Source: PyTorch, nn.functional.pdist.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]))
    tensor([5., 3., 4.])
    """
    check_tensor("pdist", "input", 1, input)
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    check_precision("pdist", input)
    first, second = triu_indices(len(input), len(input), 1)
    pairs = input[first] - input[second]
    return vector_norm(pairs, p, -1) if input.shape[1] else pairs.sum(-1)


METHODS: dict[str, Callable] = {"prelu": prelu}
FUNCTIONS: dict[str, Callable] = {
    function.__name__: function
    for function in (
        prelu, celu, celu_, selu, selu_, relu_, threshold, threshold_, rrelu, rrelu_,
        dropout, dropout_, feature_dropout, feature_dropout_, alpha_dropout, alpha_dropout_,
        feature_alpha_dropout, feature_alpha_dropout_, cosine_similarity, pairwise_distance, pdist,
    )
}  # fmt: skip
