"""The functions of torch that do what a method of Tensor or a function of nn.functional does.

Where PyTorch has both, the function of torch is the one in C++: other arguments, or in another
order; numbers for names of reductions; fewer checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.base.arguments import as_int
from tiny_torch.functions.common import check_tensor, into
from tiny_torch.functions.creation.fill import ones_like
from tiny_torch.functions.nn.batch_norm import statistics_of
from tiny_torch.functions.nn.dropout import noise_of
from tiny_torch.functions.nn.embedding import apply_embedding
from tiny_torch.nn import functional
from tiny_torch.ops.nn.batch_norm import NativeBatchNorm
from tiny_torch.ops.nn.losses import reduce_loss
from tiny_torch.tensor import Tensor

OF_METHODS = """
    abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_
    atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ detach detach_ erf_ erfc_
    exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ get_device i0_ index_put_ lcm_ ldexp_ log10_
    log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ resize_as_ round_
    rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_
"""
SAME = """
    adaptive_avg_pool1d bilinear channel_shuffle pixel_shuffle pixel_unshuffle
"""


def of_method(name: str) -> Callable:
    """torch.exp_(input), of Tensor.exp_."""
    method = getattr(Tensor, name)

    def function(input, *args, **kwargs):
        if not isinstance(input, Tensor):
            check_tensor(name, "input", 1, input)
        return method(input, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As Tensor.{name}."
    return function


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like `input`, filled with a number or a tensor of no dims."""
    return input.clone().fill_(value)


def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """As nn.functional.hardshrink."""
    return into(out, functional.hardshrink(input, lambd))


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """As nn.functional.pad, with a constant."""
    return functional.pad(input, pad, "constant", value)


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """As nn.functional.affine_grid."""
    return functional.affine_grid(theta, size, align_corners)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """As nn.functional.grid_sample, whose modes are numbers; RuntimeError for another number."""
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    if interpolation_mode not in range(3) or padding_mode not in range(3):
        raise RuntimeError(
            "grid_sampler(): expected modes from 0 to 2, but got interpolation_mode "
            f"{interpolation_mode} and padding_mode {padding_mode}"
        )
    return functional.grid_sample(
        input, grid, modes[interpolation_mode], paddings[padding_mode], align_corners
    )


# ---------------------------------------------------------------------------------------- losses

# Without a `reduction` they do not reduce: PyTorch's schemas say "mean", its Python functions do 0.


def reduction_of(number: Any) -> str:
    """The name of PyTorch's number for a reduction; those that it does not know mean "none"."""
    return {1: "mean", 2: "sum"}.get(number.__index__(), "none")


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    """As nn.functional.binary_cross_entropy_with_logits."""
    return functional.binary_cross_entropy_with_logits(
        input, target, weight, reduction=reduction_of(reduction), pos_weight=pos_weight
    )


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """As nn.functional.cosine_embedding_loss."""
    return functional.cosine_embedding_loss(
        input1, input2, target, margin, reduction=reduction_of(reduction)
    )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """As nn.functional.ctc_loss."""
    kind = reduction_of(reduction)
    return functional.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, kind, zero_infinity
    )


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0
) -> Tensor:
    """As nn.functional.hinge_embedding_loss."""
    return functional.hinge_embedding_loss(input, target, margin, reduction=reduction_of(reduction))


def kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Tensor:
    """As nn.functional.kl_div, without "batchmean"."""
    kind = reduction_of(reduction)
    loss = functional.kl_div(input, target, reduction="none", log_target=log_target)
    return reduce_loss(loss, kind)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """As nn.functional.margin_ranking_loss."""
    return functional.margin_ranking_loss(
        input1, input2, target, margin, reduction=reduction_of(reduction)
    )


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """As nn.functional.poisson_nll_loss."""
    kind = reduction_of(reduction)
    return functional.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=kind)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """As nn.functional.triplet_margin_loss."""
    return functional.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=reduction_of(reduction)
    )


# --------------------------------------------------------------------------------------- layers


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> Any:
    """As nn.functional.adaptive_max_pool1d, with the positions."""
    return functional.adaptive_max_pool1d(input, output_size, return_indices=True)


def max_pool3d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """As nn.functional.max_pool3d, without positions."""
    return functional.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """As nn.functional.embedding, the weight first; a negative `padding_idx` stands for no row."""
    padding = max(as_int("embedding", "padding_idx", 3, padding_idx), -1)
    if sparse or padding >= len(weight):  # which says so
        return functional.embedding(indices, weight, None, None, 2.0, scale_grad_by_freq, sparse)
    return apply_embedding(weight, indices, padding, scale_grad_by_freq)


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """As nn.functional.batch_norm, of a single value, too; `cudnn_enabled` has no effect."""
    mean, var = statistics_of(running_mean, running_var)
    return apply(NativeBatchNorm, input, weight, bias, mean, var, training, momentum, eps)


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """As nn.functional.instance_norm; `cudnn_enabled` has no effect."""
    return functional.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:
    """As nn.functional.layer_norm; `cudnn_enable` has no effect."""
    return functional.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """As nn.functional.rms_norm."""
    return functional.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    """As nn.functional.group_norm; `cudnn_enabled` has no effect."""
    if as_int("group_norm", "num_groups", 2, num_groups) <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    return functional.group_norm(input, num_groups, weight, bias, eps)


def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """As nn.functional.layer_norm; with the means and 1 / sqrt(variance + eps)."""
    y = functional.layer_norm(input, normalized_shape, weight, bias, eps)
    dims = tuple(range(-len(normalized_shape), 0))
    return (y, *moments(input, weight, dims, True, eps))


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """As batch_norm; with the batch's means and 1 / sqrt(variance + eps), empty if not training."""
    rest = (running_mean, running_var, training, momentum, eps, True)
    y = batch_norm(input, weight, bias, *rest)
    if not training:
        return y, input.new_empty(0), input.new_empty(0)
    return (y, *moments(input, weight, (0, *range(2, input.ndim)), False, eps))


def moments(
    x: Tensor, weight: Tensor | None, dims: tuple[int, ...], keepdim: bool, eps: float
) -> tuple[Tensor, Tensor]:
    """The means along dims and 1 / sqrt(variance + eps), computed in float32 at least."""
    dtype = x.dtype if weight is None else weight.dtype
    x = x.float() if x.dtype.itemsize == 2 else x
    var = x.var(dims, correction=0, keepdim=keepdim)
    return x.mean(dims, keepdim=keepdim).to(dtype), (var + eps).rsqrt().to(dtype)


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """As nn.functional.dropout, in training unless `train` is False; with a mask of what stays."""
    if train is False or p == 0:
        return input.clone(), ones_like(input, dtype=_core.bool)
    noise = noise_of(input, p, False)
    return input * noise, (noise != 0).expand(input.shape)


FUNCTIONS: dict[str, Callable] = {
    **{name: of_method(name) for name in OF_METHODS.split()},
    **{name: getattr(functional, name) for name in SAME.split()},
    **{
        f.__name__: f
        for f in (
            adaptive_max_pool1d, affine_grid_generator, batch_norm,
            binary_cross_entropy_with_logits, constant_pad_nd, cosine_embedding_loss, ctc_loss,
            embedding, fill, grid_sampler, group_norm, hardshrink, hinge_embedding_loss,
            instance_norm, kl_div, layer_norm, margin_ranking_loss, max_pool3d, native_batch_norm,
            native_dropout, native_layer_norm, poisson_nll_loss, rms_norm, triplet_margin_loss,
        )
    },
}  # fmt: skip
