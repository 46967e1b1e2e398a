"""Loss functions of pairs of numbers.

`size_average` and `reduce` are PyTorch's deprecated form of `reduction`; they warn.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from tiny_torch._core import is_pair
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.dtypes import check_cast, promote_types, scalar_type
from tiny_torch.functions.common import check_tensor, require_float, rounded_once
from tiny_torch.functions.memory import result_type
from tiny_torch.functions.shape.join import broadcast_tensors
from tiny_torch.ops.nn.losses import (
    BinaryCrossEntropy,
    BinaryCrossEntropyWithLogits,
    HuberLoss,
    L1Loss,
    MseLoss,
    SmoothL1Loss,
    reduce_loss,
)
from tiny_torch.ops.shape.join import broadcast_shapes
from tiny_torch.tensor import Tensor


def legacy_reduction(size_average: bool | None, reduce: bool | None, stacklevel: int = 4) -> str:
    """The `reduction` that the truth of two deprecated flags means; None counts as True."""
    is_mean, reduces = size_average is None or bool(size_average), reduce is None or bool(reduce)
    reduction = "none" if not reduces else "mean" if is_mean else "sum"
    warnings.warn(
        "size_average and reduce args will be deprecated, "
        f"please use reduction='{reduction}' instead.",
        stacklevel=stacklevel,
    )
    return reduction


def refuse_several_targets(target: Any) -> None:
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")


def check_reduction(reduction: str, words: str = "a valid value for reduction") -> None:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not {words}")


def checked_reduction(
    reduction: str, size_average: bool | None = None, reduce: bool | None = None
) -> str:
    """ "none", "mean" or "sum"; ValueError for anything else."""
    if size_average is not None or reduce is not None:
        return legacy_reduction(size_average, reduce)
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            stacklevel=3,
        )
        return "mean"
    check_reduction(reduction)
    return reduction


@rounded_once
def _reduce_weighted(
    op: type[Op], name: str, input: Tensor, target: Tensor, weight: Tensor, reduction: str
) -> Tensor:
    """The mean is over the weights, not over the elements."""
    _require_weight_shape(input, weight)
    weighted = _of_pairs(op, name, input, target, "none") * weight
    return (
        weighted.sum() / weight.sum() if reduction == "mean" else reduce_loss(weighted, reduction)
    )


def _warn_of_shapes(input: Tensor, target: Tensor) -> None:
    if target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=4,
        )


def require_constant(function: str, name: str, weight: Tensor) -> None:
    check_tensor(function, name, 3, weight)
    if weight.requires_grad:
        raise RuntimeError(
            f"The function '{function}' is not differentiable with respect to argument '{name}'. "
            "This input cannot have requires_grad True."
        )


def _constant(function: str, name: str, weight: Tensor, input: Tensor) -> Tensor:
    """A weight, in the input's dtype; it has no gradient, and does not make the loss larger."""
    require_constant(function, name, weight)
    if broadcast_shapes(weight.shape, input.shape) != input.shape:
        raise RuntimeError(
            f"output with shape {list(input.shape)} doesn't match the broadcast shape "
            f"{list(broadcast_shapes(weight.shape, input.shape))}"
        )
    return weight.to(input.dtype)


def _promote(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both in their common dtype, which must be floating; one of 0 dims counts as any other."""
    check_tensor(name, "input", 1, input)
    check_tensor(name, "target", 2, target)
    if input.dtype is not target.dtype:
        dtype = promote_types(input.dtype, target.dtype)
        input, target = input.to(dtype), target.to(dtype)
    require_float(name, input)
    return input, target


def _of_pairs(
    op: type[Op], name: str, input: Tensor, target: Tensor, reduction: str, *settings: Any
) -> Tensor:
    """The op's loss, of tensors whose shapes broadcast; different shapes warn."""
    if not is_pair(input, target):
        _warn_of_shapes(input, target)
        input, target = broadcast_tensors(*_promote(name, input, target))
    return apply(op, input, target, reduction, *settings)


def _require_weight_shape(input: Tensor, weight: Tensor) -> None:
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")


def _require_probabilities(name: str, x: Tensor) -> None:
    if not x.is_meta and not ((x >= 0) & (x <= 1)).all():
        raise RuntimeError(f"all elements of {name} should be between 0 and 1")


@as_one
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-weight (t log x + (1 - t) log(1 - x)) of probabilities x and t of one shape and dtype.

    The logarithms are limited to -100, the divisor x (1 - x) of the gradient to 1e-12. Raises
    ValueError for different shapes, RuntimeError for different dtypes and values outside of [0, 1].
    Source: PyTorch, nn.functional.binary_cross_entropy.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    if reduction != "mean" or size_average is not None or reduce is not None:
        reduction = checked_reduction(reduction, size_average, reduce)
    if not is_pair(input, target):
        _refuse_unlike(input, target)
    if weight is not None:
        weight = _constant("binary_cross_entropy", "weight", weight, input)
    loss = apply(BinaryCrossEntropy, input, target, "none" if weight is not None else reduction)
    total = loss.detach() if loss.ndim == 0 else loss.detach().sum()
    if not total.is_meta and math.isnan(total.item()):
        _require_probabilities("input", input)
        _require_probabilities("target", target)
    return loss if weight is None else reduce_loss(loss * weight, reduction)


def _refuse_unlike(input: Tensor, target: Tensor) -> None:
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    if target.dtype != input.dtype:
        raise RuntimeError(
            f"Found dtype {scalar_type(target.dtype)} but expected {scalar_type(input.dtype)}"
        )
    require_float("binary_cross_entropy", input)


@as_one
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy of sigmoid(input), computed stably; `pos_weight` multiplies the t log x.

    Input and target have one shape; the weights broadcast to it. Raises ValueError for different
    shapes.
    Source: PyTorch, nn.functional.binary_cross_entropy_with_logits.

    >>> import tiny_torch as torch
    >>> loss = torch.nn.functional.binary_cross_entropy_with_logits
    >>> loss(torch.tensor([-200.0]), torch.tensor([1.0]))
    tensor(200.)
    """
    if reduction != "mean" or size_average is not None or reduce is not None:
        reduction = checked_reduction(reduction, size_average, reduce)
    name, dtype = "binary_cross_entropy_with_logits", None
    if not is_pair(input, target):
        if target.shape != input.shape:
            raise ValueError(
                f"Target size ({target.shape}) must be the same as input size ({input.shape})"
            )
        check_cast(result_type(input, target), target.dtype)
        dtype = target.dtype  # the result's, too
        input, target = _promote("log_sigmoid", input, target)
    positive: Any = 1.0
    if pos_weight is not None:
        positive = _constant(name, "pos_weight", pos_weight, input).array
    if weight is not None:
        weight = _constant(name, "weight", weight, input)
    kind = "none" if weight is not None else reduction
    loss = apply(BinaryCrossEntropyWithLogits, input, target, kind, positive)
    loss = loss if dtype is None else loss.to(dtype)
    return loss if weight is None else reduce_loss(loss * weight, reduction)


@as_one
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """t (log t - x) of log-probabilities x and probabilities t (with `log_target` their logs).

    The shapes broadcast. reduction "batchmean" is the sum over the first dim's size, the
    mathematical definition; "mean" warns. Raises ValueError for another reduction.
    Source: PyTorch, nn.functional.kl_div.

    >>> import tiny_torch as torch
    >>> half = torch.full((1, 2), 0.5)
    >>> torch.nn.functional.kl_div(half.log(), half, reduction="batchmean")
    tensor(0.)
    """
    legacy = size_average is not None or reduce is not None
    batchmean = reduction == "batchmean"
    if reduction == "mean" and not legacy:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release.",
            stacklevel=2,
        )
    kind = checked_reduction("sum" if batchmean else reduction, size_average, reduce)
    for argument in (input, target):
        if not argument.is_floating_point():
            raise RuntimeError("kl_div: Integral inputs not supported.")
    return _divergence(input, target, log_target, kind, batchmean)


@rounded_once
def _divergence(
    input: Tensor, target: Tensor, log_target: bool, kind: str, batchmean: bool
) -> Tensor:
    if log_target:
        loss = target.exp() * (target - input)
    else:
        t_log_t = target * target.masked_fill(target == 0, 1).log()
        loss = t_log_t - target * input
    total = reduce_loss(loss, kind)
    return total / input.shape[0] if batchmean and input.ndim != 0 else total


# ---- regression -----------------------------------------------------------------------------


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(x - t)² of tensors whose shapes broadcast; different shapes warn.

    `weight` has the input's shape (else ValueError); the mean is then over the weights.
    Source: PyTorch, nn.functional.mse_loss.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    if reduction != "mean" or size_average is not None or reduce is not None:
        reduction = checked_reduction(reduction, size_average, reduce)
    if weight is not None:
        return _reduce_weighted(MseLoss, "mse", input, target, weight, reduction)
    return _of_pairs(MseLoss, "mse", input, target, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|x - t| of tensors whose shapes broadcast; different shapes warn.

    `weight` has the input's shape (else ValueError); the mean is then over the weights.
    Source: PyTorch, nn.functional.l1_loss.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(1.)
    """
    if reduction != "mean" or size_average is not None or reduce is not None:
        reduction = checked_reduction(reduction, size_average, reduce)
    if weight is not None:
        return _reduce_weighted(L1Loss, "abs", input, target, weight, reduction)
    try:
        return _of_pairs(L1Loss, "abs", input, target, reduction)
    except NotImplementedError:  # integers
        input, target = broadcast_tensors(input, target)
        return reduce_loss((input - target).abs(), reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d² / (2 beta) where d = |x - t| < beta, d - beta / 2 elsewhere; shapes broadcast and warn.

    Raises RuntimeError for a negative beta; with beta = 0 it is l1_loss.
    Source: PyTorch, nn.functional.smooth_l1_loss; Girshick 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.smooth_l1_loss(torch.zeros(2), torch.tensor([1.0, 3.0]))
    tensor(1.5000)
    """
    if reduction != "mean" or size_average is not None or reduce is not None:
        reduction = checked_reduction(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return _of_pairs(SmoothL1Loss, "smooth_l1", input, target, reduction, beta)


@as_one
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """d² / 2 where d = |x - t| <= delta, delta (d - delta / 2) elsewhere; shapes as in l1_loss.

    `weight` has the input's shape (else ValueError); the mean stays over the elements. Raises
    RuntimeError for a delta that is not positive.
    Source: PyTorch, nn.functional.huber_loss; Huber 1964.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.huber_loss(torch.zeros(2), torch.tensor([1.0, 3.0]))
    tensor(1.5000)
    """
    if reduction != "mean":
        reduction = checked_reduction(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    kind = reduction if weight is None else "none"
    loss = _of_pairs(HuberLoss, "huber", input, target, kind, delta)
    if loss.dtype is not input.dtype:
        loss = loss.to(input.dtype)
    if weight is None:
        return loss
    _require_weight_shape(input, weight)
    return reduce_loss(loss * weight, reduction)
