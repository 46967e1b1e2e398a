"""nll_loss and cross_entropy: losses of classes, and of class probabilities."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch._core import class_dim
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import edge_of
from tiny_torch.base.arguments import as_float, as_int
from tiny_torch.base.dtypes import (
    FLOATING,
    check_implemented,
    promote_types,
    scalar_type,
)
from tiny_torch.functions.common import check_dim_exists, check_tensor
from tiny_torch.functions.nn.losses import checked_reduction, refuse_several_targets
from tiny_torch.ops.nn.cross_entropy import MEAN, NONE, SUM, CrossEntropy, NllLoss
from tiny_torch.tensor import Tensor


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
    if reduction != "mean" or size_average is not None or reduce is not None:
        reduction = checked_reduction(reduction, size_average, reduce)
    plain = weight is None and type(ignore_index) is int
    dim = class_dim(input, target) if plain else None
    if dim is None:
        ignore_index = _require_kinds("nll_loss_nd", input, target, weight, ignore_index)
        check_implemented("nll_loss_out_frame", input.dtype, FLOATING)
        dim, target = _check_classes(input, target, weight)
    return apply(NllLoss, input, target, weight, dim, REDUCTIONS[reduction], ignore_index)


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
    if reduction != "mean" or size_average is not None or reduce is not None:
        reduction = checked_reduction(reduction, size_average, reduce)
    smoothing = 0.0
    if label_smoothing != 0.0:
        label_smoothing = as_float("cross_entropy_loss", "label_smoothing", 6, label_smoothing)
        if label_smoothing > 1.0:
            raise RuntimeError(
                f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}"
            )
        smoothing = max(label_smoothing, 0.0)
    plain = weight is None and type(ignore_index) is int
    dim = class_dim(input, target) if plain else None
    if dim is None:
        ignore_index = _require_kinds("cross_entropy_loss", input, target, weight, ignore_index)
        if input.shape == target.shape:
            input, target, weight = _of_probabilities(input, target, weight, ignore_index)
            dim = 0 if input.ndim == 1 else 1
        else:
            dim, target = _check_classes(input, target, weight)
        check_implemented("log_softmax_lastdim_kernel_impl", input.dtype, FLOATING)
    arguments = input, target, weight, dim, REDUCTIONS[reduction], ignore_index, smoothing
    if weight is not None and edge_of(weight) is not None:  # beside probabilities only
        return CrossEntropy.composite(*arguments)
    return apply(CrossEntropy, *arguments)


def _require_kinds(name: str, input: Any, target: Any, weight: Any, ignore_index: Any) -> int:
    """`ignore_index` as an int; TypeError where an argument is of another kind."""
    named = ("input", input), ("target", target), ("weight", weight)
    for position, (argument, value) in enumerate(named, 1):
        if value is not None or position < 3:
            check_tensor(name, argument, position, value)
    return as_int(name, "ignore_index", 5, ignore_index)


def _check_classes(input: Tensor, target: Tensor, weight: Tensor | None) -> tuple[int, Tensor]:
    """The dim of the classes, and the target as int64 of the input's shape without that dim."""
    x, t = input.array, target.array
    _check_batch(x.shape, t.shape)
    if t.dtype is not _core.int64:
        if t.dtype is not _core.uint8:
            raise RuntimeError(
                f"expected target dtype to be Long or Byte, but got {scalar_type(target.dtype)}"
            )
        target = target.long()
    sizes = x.shape
    ndim = len(sizes)
    if ndim == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    dim = 0 if ndim == 1 else 1
    if weight is not None:
        _check_weight(input, weight, sizes[dim])
    if ndim <= 2:
        refuse_several_targets(t)
    if ndim == 1:
        if t.size != 1:
            raise ValueError(
                f"For 1D input, 1D target must have size 1, but got target size: {t.shape[0]}"
            )
        return dim, target.reshape(())
    expected = sizes[:1] + sizes[2:]
    if t.shape == expected:
        return dim, target
    if t.ndim == 0 and ndim == 2:
        return dim, target.reshape((1,))
    raise RuntimeError(f"Expected target size {list(expected)}, got {list(t.shape)}")


def _check_batch(sizes: tuple[int, ...], of_target: tuple[int, ...]) -> None:
    batch = of_target[0] if of_target else 1
    if len(sizes) > 1 and sizes[0] != batch:
        raise ValueError(
            f"Expected input batch_size ({sizes[0]}) to match target batch_size ({batch})."
        )


def _check_weight_shape(where: str, weight: Tensor, classes: int) -> None:
    if weight.shape != (classes,):
        raise RuntimeError(
            f"{where}weight tensor should be defined either for all {classes} classes or no "
            f"classes but got weight tensor of shape: {list(weight.shape)}"
        )


def _check_weight(input: Tensor, weight: Tensor, classes: int) -> None:
    _check_weight_shape("", weight, classes)
    if edge_of(weight) is not None:
        raise RuntimeError(
            "The function 'nll_loss_forward' is not differentiable with respect to argument "
            "'weight'. This input cannot have requires_grad True."
        )


def _of_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    """All three in the dtype that they promote to."""
    if not target.is_floating_point():
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    check_dim_exists(input, 1)
    classes = input.shape[0 if input.ndim == 1 else 1]
    dtype = promote_types(input.dtype, target.dtype)
    if weight is not None:
        _check_weight_shape("cross_entropy: ", weight, classes)
        dtype = promote_types(dtype, weight.dtype)
        weight = weight.to(dtype)
    if not input.is_floating_point():
        return input, target, weight  # which is refused
    return input.to(dtype), target.to(dtype), weight


REDUCTIONS = {"none": NONE, "mean": MEAN, "sum": SUM}
