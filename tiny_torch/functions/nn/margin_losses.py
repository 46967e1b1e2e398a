"""Losses with a margin, of classes and of embeddings; and those of distributions' parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.grad_mode import no_grad
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.dtypes import (
    SINGLE_AND_DOUBLE,
    check_cast,
    check_implemented,
    check_same_type,
)
from tiny_torch.functions.common import check_tensor, require_float, rounded_once
from tiny_torch.functions.creation.fill import full_like, ones_like, zeros_like
from tiny_torch.functions.elementwise import declared
from tiny_torch.functions.index.masks import where
from tiny_torch.functions.linalg.distances import pairwise_distance
from tiny_torch.functions.nn.activation import logsigmoid
from tiny_torch.functions.nn.losses import (
    check_reduction,
    checked_reduction,
    legacy_reduction,
    refuse_several_targets,
    require_constant,
)
from tiny_torch.functions.reduce import sums
from tiny_torch.ops.nn.activation import LogSigmoid
from tiny_torch.ops.nn.losses import MultilabelMarginLoss, reduce_loss
from tiny_torch.tensor import Tensor


@as_one
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """exp(x) - t x, x being the log of the rate; without `log_input` x - t log(x + eps).

    `full` adds Stirling's approximation of log t! where t > 1. The shapes broadcast. Raises
    ValueError for another reduction.
    Source: PyTorch, nn.functional.poisson_nll_loss.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.poisson_nll_loss(torch.zeros(2), torch.ones(2))
    tensor(1.)
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    return _poisson_nll(input, target, log_input, full, eps, reduction)


@rounded_once
def _poisson_nll(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: str
) -> Tensor:
    rate, log_rate = (input.exp(), input) if log_input else (input, (input + eps).log())
    loss = rate - target * log_rate
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduce_loss(loss, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log v + (x - t)² / v) / 2, where v = max(var, eps); `full` adds log(2π) / 2.

    `var` is a float, or of the input's shape, which may lack its last dim or have a dim of size 1.
    Raises ValueError for another shape, a negative variance and another reduction.
    Source: PyTorch, nn.functional.gaussian_nll_loss; Nix & Weigend 1994.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.gaussian_nll_loss(torch.zeros(2), torch.ones(2), torch.ones(2))
    tensor(0.5000)
    """
    if var < 0 if isinstance(var, float) else sums.any(var < 0):
        raise ValueError("var has negative entry/entries")
    if isinstance(var, float):
        var = var * ones_like(input)
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or _sizes_that_differ(input, var) != 1:
            raise ValueError("var is of incorrect size")
    check_reduction(reduction, "valid")
    return _gaussian_nll(input, target, var, full, eps, reduction)


@rounded_once
def _gaussian_nll(
    input: Tensor, target: Tensor, var: Tensor, full: bool, eps: float, reduction: str
) -> Tensor:
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    distance = input - target
    loss = 0.5 * (var.log() + distance * (distance / var))
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss(loss, reduction)


def _sizes_that_differ(input: Tensor, var: Tensor) -> int:
    """The sum of var's sizes that are not the input's: 1 for one dim of size 1."""
    return sum(n for m, n in zip(input.shape, var.shape, strict=True) if m != n)


# ---- classes ----------------------------------------------------------------------------------


@as_one
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-t x)) of targets t = 1 or -1, stably: PyTorch's overflows above 88.

    The shapes broadcast. Raises ValueError for another reduction, RuntimeError for integers.
    Source: PyTorch, nn.functional.soft_margin_loss.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.soft_margin_loss(torch.zeros(2), torch.ones(2))
    tensor(0.6931)
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    check_tensor("soft_margin_loss", "input", 1, input)
    check_cast(_core.float32, input.dtype)
    require_constant("soft_margin_loss", "target", target)
    return reduce_loss(-apply(LogSigmoid, (target * input).to(input.dtype)), reduction)


def check_power(p: Any) -> None:
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")


def _require_rows(input: Tensor) -> tuple[int, int]:
    """(rows, classes) of (rows, classes), (classes) or ()."""
    if input.ndim > 2 or (input.ndim and input.shape[-1] == 0):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(input.shape)}"
        )
    return input.shape[0] if input.ndim == 2 else 1, input.shape[-1] if input.ndim else 1


def _require_classes(name: str, target: Tensor) -> None:
    check_tensor(name, "target", 2, target)
    check_same_type(_core.int64, target.dtype)


@as_one
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum over the other classes j of max(0, margin - x[t] + x[j])^p weight[t] / C.

    Input (N, C) or (C), class numbers (N) or (). Raises ValueError unless p is 1 or 2 and the
    weight has one dim; RuntimeError where the sizes do not fit and for classes out of range.
    Source: PyTorch, nn.functional.multi_margin_loss.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.multi_margin_loss(torch.tensor([0.5, 1.0]), torch.tensor(0))
    tensor(0.7500)
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    check_power(p)
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    require_float("multi_margin_loss", input)
    check_implemented("multi_margin_loss_cpu", input.dtype, SINGLE_AND_DOUBLE)
    rows, classes = _require_rows(input)
    if target.ndim > 1 or target.numel() != rows:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{rows}], but got {list(target.shape)}. "
            f"Input has shape {list(input.shape)}"
        )
    _require_classes("multi_margin_loss", target)
    if target.numel() and not 0 <= target.min() <= target.max() < classes:
        raise RuntimeError("target out of range")
    at = target.reshape(rows, 1)
    x = input.reshape(rows, classes)
    margins = (margin - x.gather(1, at) + x).relu()
    if p == 2:
        margins = margins.square()
    if weight is not None:
        require_constant("multi_margin_loss", "weight", weight)
        if weight.numel() != classes:
            raise RuntimeError(
                f"inconsistent weight size, expected {classes} but got {list(weight.shape)}"
            )
        check_same_type(input.dtype, weight.dtype)
        margins = margins * weight[at]
    loss = margins.scatter(1, at, 0.0).mean(1)
    return _of_rows(loss, target.ndim > 0, reduction)


def _of_rows(loss: Tensor, batched: bool, reduction: str) -> Tensor:
    """The loss of each row reduced; that of no rows is 0, of one row without a batch a number."""
    if reduction == "none":
        return loss if batched else loss.squeeze(0)
    return reduce_loss(loss, reduction if loss.numel() else "sum")


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum of max(0, 1 - (x[j] - x[i])) / C over the target classes j and all others i.

    Input (N, C) or (C); the targets, of the same shape, are the class numbers before the first -1.
    Raises RuntimeError where the shapes do not fit and for classes out of range.
    Source: PyTorch, nn.functional.multilabel_margin_loss.

    >>> import tiny_torch as torch
    >>> x = torch.tensor([0.1, 0.2, 0.4, 0.8])
    >>> torch.nn.functional.multilabel_margin_loss(x, torch.tensor([3, 0, -1, 1]))
    tensor(0.8500)
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    require_float("multilabel_margin_loss", input)
    shape = _require_rows(input)
    check_tensor("multilabel_margin_loss", "target", 2, target)
    if target.shape != input.shape and (input.ndim or target.numel() != 1):
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    _require_classes("multilabel_margin_loss", target)
    loss = apply(MultilabelMarginLoss, input.reshape(shape), target.reshape(shape).array)
    return _of_rows(loss, input.ndim == 2, reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """binary_cross_entropy_with_logits, averaged over the classes, which are the last dim.

    The shapes broadcast. Raises ValueError for another reduction, IndexError without dims.
    Source: PyTorch, nn.functional.multilabel_soft_margin_loss.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.zeros(1, 3), torch.ones(1, 3))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, 3)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    dim = input.ndim - 1
    loss = (loss / input.size(dim)).sum(dim)
    check_reduction(reduction, "valid")
    return reduce_loss(loss, reduction)


# ---- rankings and embeddings ------------------------------------------------------------------


@as_one
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -t (x1 - x2) + margin): t = 1 where x1 should be the larger, -1 where x2.

    The shapes broadcast, but have as many dims, else RuntimeError.
    Source: PyTorch, nn.functional.margin_ranking_loss.

    >>> import tiny_torch as torch
    >>> one = torch.ones(1)
    >>> torch.nn.functional.margin_ranking_loss(one, 3 * one, one)
    tensor(2.)
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduce_loss((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@as_one
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """x where t = 1, max(0, margin - x) where t = -1; x is a distance. The shapes broadcast.

    Source: PyTorch, nn.functional.hinge_embedding_loss.

    >>> import tiny_torch as torch
    >>> distances = torch.tensor([0.25, 0.25])
    >>> torch.nn.functional.hinge_embedding_loss(distances, torch.tensor([1, -1]))
    tensor(0.5000)
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    zeros = zeros_like(input)
    apart = where(target != 1, (full_like(input, margin) - input).clamp_min(0), zeros)
    return reduce_loss(apart + where(target != -1, input, zeros), reduction)


@as_one
@rounded_once
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(x1, x2) where t = 1, max(0, cos(x1, x2) - margin) where t = -1.

    Inputs (N, D) with targets (N), or (D) with (): else RuntimeError.
    Source: PyTorch, nn.functional.cosine_embedding_loss.

    >>> import tiny_torch as torch
    >>> x, y = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> torch.nn.functional.cosine_embedding_loss(x, y, torch.tensor([1]))
    tensor(1.)
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    refuse_several_targets(target)
    dim = target.ndim
    if not input1.ndim == input2.ndim == dim + 1:
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    cosine = (_direction(input1, dim) * _direction(input2, dim)).sum(dim)
    zeros = zeros_like(cosine)
    together = where(target == 1, 1 - cosine, zeros)
    apart = where(target == -1, (cosine - margin).clamp_min(0), zeros)
    return reduce_loss(together + apart, reduction)


def _direction(x: Tensor, dim: int) -> Tensor:
    """x / sqrt(sum of squares + 1e-12), without a square that overflows or vanishes."""
    x = x if x.is_floating_point() else x * 1.0
    unit = x.detach().norm(2, dim, keepdim=True).clamp_min(1e-6)
    scaled = x / unit
    return scaled / ((scaled * scaled).sum(dim, keepdim=True) + (1e-6 / unit) ** 2).sqrt()


@as_one
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + d(anchor, positive) - d(anchor, negative)), d being pairwise_distance.

    With `swap` the negative's distance is the smaller of those from anchor and positive. Shapes
    (N, D) or (D) broadcast, but have as many dims, else RuntimeError. Raises ValueError unless
    margin > 0.
    Source: PyTorch, nn.functional.triplet_margin_loss; Balntas et al. 2016.

    >>> import tiny_torch as torch
    >>> x = torch.zeros(1, 2)
    >>> torch.nn.functional.triplet_margin_loss(x, x, x)
    tensor(1.)
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
        margin=margin,
        swap=swap,
        reduction=reduction,
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss with any distance; that of two tensors is by default pairwise_distance.

    Raises ValueError unless margin > 0 and for another reduction, RuntimeError where the numbers of
    dims differ.
    Source: PyTorch, nn.functional.triplet_margin_with_distance_loss.

    >>> import tiny_torch as torch
    >>> x = torch.zeros(1, 2)
    >>> loss = torch.nn.functional.triplet_margin_with_distance_loss
    >>> loss(x, x, x + 3, distance_function=lambda a, b: (a - b).abs().sum(-1), margin=7.0)
    tensor(1.)
    """
    check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs"
        )
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = declared.FUNCTIONS["minimum"](far, distance(positive, negative))
    return reduce_loss((margin + near - far).clamp_min(0), reduction)
