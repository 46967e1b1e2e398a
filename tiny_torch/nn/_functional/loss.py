"""Loss functions. Cross-entropy, nll_loss and mse_loss are fused ops; the others are compositions.

`size_average` and `reduce` are PyTorch's deprecated form of `reduction`; they warn.
"""

from __future__ import annotations

import math
import warnings

import tiny_torch as torch
from tiny_torch import ops

from ...tensor import Tensor
from .activation import log_softmax, logsigmoid


def _legacy_reduction(size_average: bool | None, reduce: bool | None, stacklevel: int = 4) -> str:
    """The `reduction` that the two deprecated flags mean; a flag that is None counts as True."""
    reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(
        "size_average and reduce args will be deprecated, "
        f"please use reduction='{reduction}' instead.",
        stacklevel=stacklevel,
    )
    return reduction


def _reduction(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """ "none", "mean" or "sum"; ValueError for anything else."""
    if size_average is not None or reduce is not None:
        return _legacy_reduction(size_average, reduce)
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            stacklevel=3,
        )
        return "mean"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _reduce(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


def _reduce_weighted(loss: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """The mean is over the weights, not over the elements."""
    weighted = loss * weight
    return weighted.sum() / weight.sum() if reduction == "mean" else _reduce(weighted, reduction)


def _warn_of_shapes(input: Tensor, target: Tensor) -> None:
    if target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )


def _require_weight_shape(input: Tensor, weight: Tensor) -> None:
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")


# ---- classification -------------------------------------------------------------------------


def _as_rows(input: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Classes last, positions flat: input (C), (N, C) or (N, C, *) -> (M, C), target -> (M).

    Checks shapes and the target's dtype.
    """
    if target.dtype not in (torch.int64, torch.uint8):
        raise RuntimeError(f"expected target dtype to be int64 or uint8, but got {target.dtype}")
    if input.ndim == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    classes = input.shape[0 if input.ndim == 1 else 1]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {list(weight.shape)}"
        )
    if input.ndim == 1:
        if target.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.numel() != 1:
            raise ValueError(
                f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}"
            )
        return input.unsqueeze(0), target.reshape((1,))
    batch = target.shape[0] if target.ndim else 1
    if input.shape[0] != batch:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({batch})."
        )
    if input.ndim == 2:
        if target.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        return input, target.reshape((1,)) if target.ndim == 0 else target
    expected = [input.shape[0], *input.shape[2:]]
    if list(target.shape) != expected:
        raise RuntimeError(f"Expected target size {expected}, got {list(target.shape)}")
    rows = math.prod(expected)
    columns = input.reshape((input.shape[0], classes, math.prod(input.shape[2:])))
    return columns.transpose(1, 2).reshape((rows, classes)), target.reshape((rows,))


def _unflatten(loss: Tensor, input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """The losses of all rows back in the shape of the positions; a reduced loss as it is."""
    if reduction != "none":
        return loss
    if input.ndim == 1:
        return loss.reshape(())
    return loss if input.ndim == 2 else loss.reshape(target.shape)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-weight[t] logp[t]: input log-probabilities (C), (N, C) or (N, C, *), target (), (N), (N, *).

    Targets are int64 or uint8 class numbers; `weight` (C). The mean is over the weights of what is
    not `ignore_index`. Raises ValueError or RuntimeError where shapes or dtypes do not fit,
    IndexError for a class out of range.
    Source: PyTorch, nn.functional.nll_loss.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.nll_loss(torch.tensor([[-1.0, -2.0]]), torch.tensor([1]))
    tensor(2.)
    """
    reduction = _reduction(reduction, size_average, reduce)
    rows, classes = _as_rows(input, target, weight)
    loss = ops.nll_loss(rows, classes, weight, reduction, ignore_index)
    return _unflatten(loss, input, target, reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """nll_loss of log_softmax: input logits (C), (N, C) or (N, C, *), target (), (N), (N, *).

    A floating target of the input's shape gives class probabilities instead of class numbers.
    `weight` (C); `label_smoothing` mixes the target with the uniform distribution. Raises
    ValueError or RuntimeError where shapes, dtypes or settings do not fit, IndexError for a class
    out of range.
    Source: PyTorch, nn.functional.cross_entropy; Szegedy et al. 2015.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.cross_entropy(torch.zeros(1, 4), torch.tensor([1]))
    tensor(1.3863)
    """
    reduction = _reduction(reduction, size_average, reduce)
    if label_smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if target.shape == input.shape:
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    rows, classes = _as_rows(input, target, weight)
    smoothing = max(label_smoothing, 0.0)
    loss = ops.cross_entropy(rows, classes, weight, reduction, ignore_index, smoothing)
    return _unflatten(loss, input, target, reduction)


def _soft_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float
) -> Tensor:
    """-sum over classes of weight target log_softmax(input): target holds class probabilities."""
    if not target.is_floating_point():
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype}"
        )
    dim = 0 if input.ndim == 1 else 1
    classes = input.shape[dim]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or "
            f"no classes but got weight tensor of shape: {list(weight.shape)}"
        )
    if label_smoothing > 0.0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    products = log_softmax(input, dim) * target
    if weight is not None:
        products = products * weight.reshape((classes,) + (1,) * max(input.ndim - 2, 0))
    return _reduce(-products.sum(dim), reduction)


def _require_probabilities(name: str, x: Tensor) -> None:
    if not ((x >= 0) & (x <= 1)).all():
        raise RuntimeError(f"all elements of {name} should be between 0 and 1")


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
    reduction = _reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    if target.dtype != input.dtype:
        raise RuntimeError(f"Found dtype {target.dtype} but expected {input.dtype}")
    _require_probabilities("input", input)
    _require_probabilities("target", target)
    loss = _log_likelihood_loss(input, target)
    return _reduce(loss if weight is None else loss * weight.expand_as(loss), reduction)


def _log_likelihood_loss(x: Tensor, t: Tensor) -> Tensor:
    """-(t log x + (1 - t) log(1 - x)); at the ends of [0, 1], where log's gradient is infinite, the
    value is a constant with the gradient (x - t) / 1e-12."""
    value = x.detach()
    at_end = value * (1 - value) < 1e-12
    inner = x.masked_fill(at_end, 0.5)
    inside = -(t * inner.log() + (1 - t) * (-inner).log1p())
    logs = value.log().clamp_min(-100), (-value).log1p().clamp_min(-100)
    slope = (value - t.detach()) / 1e-12
    end = (x - value) * slope - (t * logs[0] + (1 - t) * logs[1])
    return torch.where(at_end, end, inside)


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
    reduction = _reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    positive = 1 if pos_weight is None else 1 + (pos_weight - 1) * target
    loss = (1 - target) * input - positive * logsigmoid(input)
    return _reduce(loss if weight is None else loss * weight, reduction)


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
    kind = _reduction("sum" if batchmean else reduction, size_average, reduce)
    if log_target:
        loss = target.exp() * (target - input)
    else:
        t_log_t = target * target.masked_fill(target == 0, 1).log()
        loss = t_log_t - target * input
    total = _reduce(loss, kind)
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
    _warn_of_shapes(input, target)
    reduction = _reduction(reduction, size_average, reduce)
    if weight is not None:
        _require_weight_shape(input, weight)
        return _reduce_weighted((input - target).square(), weight, reduction)
    if target.shape != input.shape:
        input, target = torch.broadcast_tensors(input, target)
    return ops.mse_loss(input, target, reduction)


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
    _warn_of_shapes(input, target)
    reduction = _reduction(reduction, size_average, reduce)
    loss = (input - target).abs()
    if weight is None:
        return _reduce(loss, reduction)
    _require_weight_shape(input, weight)
    return _reduce_weighted(loss, weight, reduction)


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
    _warn_of_shapes(input, target)
    reduction = _reduction(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    distance = (input - target).abs()
    if beta == 0:
        return _reduce(distance, reduction)
    near = distance < beta
    loss = torch.where(near, distance.square() * (0.5 / beta), distance - 0.5 * beta)
    return _reduce(loss, reduction)


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
    _warn_of_shapes(input, target)
    reduction = _reduction(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    distance = (input - target).abs()
    near = distance <= delta
    loss = torch.where(near, 0.5 * distance.square(), delta * (distance - 0.5 * delta))
    if weight is not None:
        _require_weight_shape(input, weight)
        loss = loss * weight
    return _reduce(loss, reduction)
