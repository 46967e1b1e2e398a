"""`torch.nn.init`: fill a tensor in place with a distribution that suits training.

Every function writes under `no_grad`, returns its tensor, and draws in PyTorch's order, so that the
same seed gives the same weights. Lazily sized parameters are not handled.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tiny_torch as torch
from tiny_torch.autograd import no_grad
from tiny_torch.base.parts import check_whole, whole_shape
from tiny_torch.functions.linalg.lapack import check_precision
from tiny_torch.functions.methods import publish_function
from tiny_torch.tensor import Tensor

_CONV = tuple(f"{kind}{n}d" for kind in ("conv", "conv_transpose") for n in (1, 2, 3))


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor on the weights before a nonlinearity that keeps the variance of its output.

    `param` is the slope of "leaky_relu", 0.01 by default.
    Raises ValueError for an unknown nonlinearity or a slope that is no number.
    Source: PyTorch, torch.nn.init.calculate_gain; He et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.init.calculate_gain("leaky_relu", 1.0)
    1.0
    """
    if nonlinearity in ("linear", "sigmoid", *_CONV):
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + slope**2))


@no_grad()
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Fill a tensor of any shape with draws from the uniform distribution on [a, b).

    Source: PyTorch, torch.nn.init.uniform_.

    >>> import tiny_torch as torch
    >>> torch.nn.init.uniform_(torch.empty(3, 5), -1.0, 1.0).shape
    torch.Size([3, 5])
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Fill a tensor of any shape with draws from the normal distribution N(mean, std²).

    Source: PyTorch, torch.nn.init.normal_.

    >>> import tiny_torch as torch
    >>> torch.nn.init.normal_(torch.empty(3, 5), std=0.02).shape
    torch.Size([3, 5])
    """
    return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Fill a tensor of any shape with draws from N(mean, std²) conditioned on [a, b].

    Warns where the mean lies more than two standard deviations outside of [a, b].
    Source: PyTorch, torch.nn.init.trunc_normal_.

    >>> import tiny_torch as torch
    >>> w = torch.nn.init.trunc_normal_(torch.empty(3, 5), std=0.02, a=-0.04, b=0.04)
    >>> bool((w.abs() <= 0.04).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )
    if tensor.device.type == "meta":
        return tensor
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    redraw = _redraw_normal if inside > 0.3 else _redraw_uniform
    with no_grad():
        redraw(tensor, mean, std, a, b, generator)
    return tensor


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redraw_normal(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: torch.Generator | None
) -> None:
    """Draw normal numbers; while some lie outside, draw all anew and take those where needed."""
    low, high = (tensor.new_tensor(bound).item() for bound in (a, b))  # rounded to the dtype
    tensor.normal_(mean, std, generator=generator)
    while (outside := (tensor < low) | (tensor > high)).any():
        fresh = torch.empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(torch.where(outside, fresh, tensor))


def _redraw_uniform(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: torch.Generator | None
) -> None:
    """Rejection sampling for a far or narrow [a, b], where few normal draws would fall inside.

    A uniform candidate x is taken with probability pdf(x) / pdf(peak). Where that is hardly ever,
    what no round has filled is drawn from the tail itself.
    """
    peak = max(a, min(mean, b))
    log_peak = -0.5 * ((peak - mean) / std) ** 2
    candidate, chance = torch.empty_like(tensor), torch.empty_like(tensor)
    pending: Any = None  # all of them
    chance_each = std**2 / (abs(peak - mean) * (b - a)) if a < b and peak != mean else 1.0
    for _ in range(1000 if chance_each < 1e-7 else 100_000):
        candidate.uniform_(a, b, generator=generator)
        tensor.copy_(candidate if pending is None else torch.where(pending, candidate, tensor))
        log_pdf = candidate.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        rejected = chance.uniform_(generator=generator).log_() > log_pdf
        pending = rejected if pending is None else pending & rejected
        if not pending.any():
            return
    tail = _normal_tail(tensor.shape, abs(peak - mean) / std, (b - a) / std, generator)
    inner = peak + math.copysign(std, peak - mean) * tail.to(tensor.device)
    tensor.copy_(torch.where(pending, inner.clamp_(a, b), tensor))


def _normal_tail(
    shape: Sequence[int], start: float, width: float, generator: torch.Generator | None
) -> Tensor:
    """How far behind `start` a standard normal number lies, given [start, start + width]; float64.

    Source: Robert, Simulation of truncated normal variables (1995): an exponential candidate of the
    best rate is taken with a probability of over 3/4, however far the tail.
    """
    shift = 2 / (start + math.hypot(start, 2))  # the rate lies so far behind `start`
    rate = start + shift
    result = torch.empty(shape, dtype=torch.float64)
    pending = torch.ones(shape, dtype=torch.bool)
    while pending.any():
        u, chance = (torch.rand(shape, dtype=torch.float64, generator=generator) for _ in range(2))
        candidate = (u * math.expm1(-rate * width)).log1p_().neg_().div_(rate)
        result = torch.where(pending, candidate, result)
        pending &= chance.log_() > (candidate - shift).pow_(2).mul_(-0.5)
    return result


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill a tensor of any shape with `val`.

    Source: PyTorch, torch.nn.init.constant_.

    >>> import tiny_torch as torch
    >>> torch.nn.init.constant_(torch.empty(2), 0.3)
    tensor([0.3000, 0.3000])
    """
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """Fill a tensor of any shape with 1.

    Source: PyTorch, torch.nn.init.ones_.

    >>> import tiny_torch as torch
    >>> torch.nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fill a tensor of any shape with 0.

    Source: PyTorch, torch.nn.init.zeros_.

    >>> import tiny_torch as torch
    >>> torch.nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    return tensor.zero_()


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity: a Linear layer keeps as many inputs as it can.

    Raises ValueError unless the tensor has two dims.
    Source: PyTorch, torch.nn.init.eye_.

    >>> import tiny_torch as torch
    >>> torch.nn.init.eye_(torch.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    _require_dims(tensor.ndim == 2, "2")
    check_whole("eye_", tensor)
    return tensor.copy_(torch.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight (out, in, *kernel) so that it keeps as many channels as it can.

    Each of the `groups` groups of output channels starts again at the first input channel.
    Raises ValueError unless the tensor has 3, 4 or 5 dims and `groups` divides the first.
    Source: PyTorch, torch.nn.init.dirac_.

    >>> import tiny_torch as torch
    >>> torch.nn.init.dirac_(torch.empty(2, 2, 3))[1]
    tensor([[0., 0., 0.],
            [0., 1., 0.]])
    """
    _require_dims(3 <= tensor.ndim <= 5, "3, 4, or 5")
    check_whole("dirac_", tensor)
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.shape[0] // groups
    center = tuple(size // 2 for size in tensor.shape[2:])
    tensor.zero_()
    for channel in range(min(per_group, tensor.shape[1])):
        for group in range(groups):  # which may be any number if there are no channels
            place = (group * per_group + channel, channel, *center)
            tensor[place] = 1
    return tensor


def _require_dims(holds: bool, dims: str) -> None:
    if not holds:
        raise ValueError(f"Only tensors with {dims} dimensions are supported")


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs one output of a weight (out, in, *kernel) has, and the other way round."""
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _fans(tensor: Tensor) -> tuple[int, int]:
    """Fan in and fan out of what a tensor is a rank's part of: itself, if it is whole."""
    shape = whole_shape(tensor)
    is_whole = shape == tuple(tensor.shape)
    return _calculate_fan_in_and_fan_out(tensor if is_whole else torch.empty(shape, device="meta"))


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _fans(tensor)[modes.index(mode.lower())]


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Fill a weight (out, in, *kernel) from U(-b, b) of variance gain² · 2 / (fan_in + fan_out).

    Raises ValueError below two dims.
    Source: PyTorch, torch.nn.init.xavier_uniform_; Glorot & Bengio 2010.

    >>> import tiny_torch as torch
    >>> bool((torch.nn.init.xavier_uniform_(torch.empty(3, 5)).abs() <= 0.75**0.5).all())
    True
    """
    fan_in, fan_out = _fans(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Fill a weight (out, in, *kernel) from N(0, gain² · 2 / (fan_in + fan_out)).

    Raises ValueError below two dims.
    Source: PyTorch, torch.nn.init.xavier_normal_; Glorot & Bengio 2010.

    >>> import tiny_torch as torch
    >>> torch.nn.init.xavier_normal_(torch.empty(3, 5)).shape
    torch.Size([3, 5])
    """
    fan_in, fan_out = _fans(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: torch.Generator | None = None,
) -> Tensor:
    """Fill a weight (out, in, *kernel) from U(-b, b) of variance gain(nonlinearity, a)² / fan.

    Raises ValueError below two dims and for an unknown mode; warns for a tensor without elements.
    Source: PyTorch, torch.nn.init.kaiming_uniform_; He et al. 2015.

    >>> import tiny_torch as torch
    >>> bool((torch.nn.init.kaiming_uniform_(torch.empty(3, 6)).abs() <= 1).all())
    True
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: torch.Generator | None = None,
) -> Tensor:
    """Fill a weight (out, in, *kernel) from N(0, gain(nonlinearity, a)² / fan).

    Raises ValueError below two dims and for an unknown mode; warns for a tensor without elements.
    Source: PyTorch, torch.nn.init.kaiming_normal_; He et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.init.kaiming_normal_(torch.empty(3, 5), mode="fan_out").shape
    torch.Size([3, 5])
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """He's standard deviation; None for a tensor without elements, where fan may be zero."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@no_grad()
def orthogonal_(
    tensor: Tensor, gain: float = 1, generator: torch.Generator | None = None
) -> Tensor:
    """Fill a tensor (rows, ...), seen as a matrix (rows, cols), with orthonormal rows or columns.

    Raises ValueError below two dims.
    Source: PyTorch, torch.nn.init.orthogonal_; Saxe et al. 2013; signs after Mezzadri 2006.

    >>> import tiny_torch as torch
    >>> q = torch.nn.init.orthogonal_(torch.empty(3, 5))
    >>> torch.allclose(q @ q.t(), torch.eye(3), atol=1e-6)
    True
    """
    _require_dims(tensor.ndim >= 2, "2 or more")
    check_whole("orthogonal_", tensor)
    if tensor.numel() == 0 or tensor.device.type == "meta":
        return tensor
    check_precision("orthogonal_", tensor)
    rows = tensor.shape[0]
    draws = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
    wide = draws.shape[0] < draws.shape[1]
    factors = np.linalg.qr(
        (draws.t() if wide else draws).cpu().numpy()
    )  # LAPACK's, as PyTorch's is
    q, r = (torch.from_numpy(factor) for factor in factors)
    q = q * torch.diag(r).sign()  # a positive diagonal of R makes the distribution uniform
    tensor.copy_((q.t() if wide else q).reshape(tensor.shape))
    return tensor.mul_(gain)


@no_grad()
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: torch.Generator | None = None
) -> Tensor:
    """Fill a matrix from N(0, std²), then set the share `sparsity` of each column to zero.

    Raises ValueError unless the tensor has two dims.
    Source: PyTorch, torch.nn.init.sparse_; Martens 2010.

    >>> import tiny_torch as torch
    >>> int((torch.nn.init.sparse_(torch.empty(4, 3), sparsity=0.5) == 0).sum())
    6
    """
    _require_dims(tensor.ndim == 2, "2")
    check_whole("sparse_", tensor)
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[torch.randperm(rows)[:zeros], column] = 0
    return tensor


# What is no tensor is refused by name.
for _name in (
    "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_",
    "zeros_",
):  # fmt: skip
    globals()[_name] = publish_function(__name__, _name, globals()[_name], {})
# PyTorch's own names for what writes; some libraries import them.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_


def _deprecated_alias(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The old name of an initialiser, without the underscore: it warns and calls the new one."""
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def warn_and_call(*args, **kwargs):
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    warn_and_call.__name__ = warn_and_call.__qualname__ = old
    warn_and_call.__doc__ = f"The deprecated name of `{new}`."
    return warn_and_call


uniform = _deprecated_alias(uniform_)
normal = _deprecated_alias(normal_)
constant = _deprecated_alias(constant_)
eye = _deprecated_alias(eye_)
dirac = _deprecated_alias(dirac_)
xavier_uniform = _deprecated_alias(xavier_uniform_)
xavier_normal = _deprecated_alias(xavier_normal_)
kaiming_uniform = _deprecated_alias(kaiming_uniform_)
kaiming_normal = _deprecated_alias(kaiming_normal_)
orthogonal = _deprecated_alias(orthogonal_)
sparse = _deprecated_alias(sparse_)
