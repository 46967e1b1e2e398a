"""Fused ops: softmax, losses, dropout. `composite` is each one's explanation from simple ops."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.apply import apply1, apply2, applyn
from tiny_torch.autograd.graph import Op, run
from tiny_torch.devices import array_module
from tiny_torch.ops.elementwise import Where, narrowed, widened
from tiny_torch.ops.gather import SET
from tiny_torch.ops.pointwise import result_type
from tiny_torch.ops.public import check_tensor, into_same
from tiny_torch.tensor import Tensor, wrap


class Softmax(Op):
    saves = (~0,)

    @staticmethod
    def forward(x, dim):
        half, x = x.dtype, widened(x.contiguous())  # contiguous as PyTorch's result
        shifted = (x - x.amax((dim,), True)).exp() if x.size else x.clone()
        y = narrowed(shifted / shifted.sum((dim,), True), half)
        return y, (y, dim)

    @staticmethod
    def backward(saved, grad, needs):
        y, dim = saved
        half, y = y.dtype, widened(y)
        weighted = widened(grad) * y
        return narrowed(weighted - y * weighted.sum((dim,), True), half)


class LogSoftmax(Op):
    saves = (~0,)

    @staticmethod
    def forward(x, dim):
        half, x = x.dtype, widened(x.contiguous())  # contiguous as PyTorch's result
        shifted = x - x.amax((dim,), True) if x.size else x.clone()
        y = narrowed(shifted - shifted.exp().sum((dim,), True).log(), half)
        return y, (y, dim)

    @staticmethod
    def backward(saved, grad, needs):
        y, dim = saved
        half, grad = y.dtype, widened(grad)
        return narrowed(grad - widened(y).exp() * grad.sum((dim,), True), half)


class ScatterRows(Op):
    """x (M,) -> (M, C), zeros but for x[i] in column columns[i]."""

    arity = 2
    saves = (1,)

    @staticmethod
    def forward(x, columns, shape):
        result = array_module(x.device).full(shape, 0, x.dtype)
        result.scatter_(1, columns.unsqueeze(1), x.unsqueeze(1), SET)
        return result, (columns,)

    @staticmethod
    def backward(saved, grad, needs):
        return run(GatherRows, grad, saved[0]), None


class GatherRows(Op):
    """x (M, C) -> (M,), the element of each row in column columns[i]."""

    arity = 2
    saves = (1,)

    @staticmethod
    def forward(x, columns):
        return x.gather(1, columns.unsqueeze(1)).squeeze((1,)), (columns, x.shape)

    @staticmethod
    def backward(saved, grad, needs):
        columns, shape = saved
        return run(ScatterRows, grad, columns, shape), None


class NllLoss(Op):
    """-log p of the right class, weighted: (M, C), (M,), (C,) or None -> (M,) or ().

    "mean" divides by the sum of the weights that counted.
    """

    arity = 3

    @staticmethod
    def forward(log_p, target, weight, reduction, ignore_index):
        counted = target != ignore_index
        columns = counted.where(target, 0)
        check_classes(columns, log_p.shape[1])
        factor = counted.astype(log_p.dtype)  # (M,)
        if weight is not None:
            factor = factor * weight.index((columns,))
        if reduction == "mean":
            factor = factor / factor.sum(None, False)
        factor = -factor
        picked = log_p.gather(1, columns.unsqueeze(1)).squeeze((1,))
        loss = counted.where(picked * factor, 0.0)
        result = loss if reduction == "none" else loss.sum(None, False)
        return result, (factor, columns, log_p.shape)

    @staticmethod
    def backward(saved, grad, needs):
        factor, columns, shape = saved
        return run(ScatterRows, grad * factor, columns, shape), None, None


def check_classes(columns, classes: int) -> None:
    if columns.size == 0:
        return
    for extreme in (columns.amin(None, False).item(), columns.amax(None, False).item()):
        if not 0 <= extreme < classes:
            raise IndexError(f"Target {extreme} is out of bounds.")


class MseLoss(Op):
    """The (mean or sum of the) squared differences."""

    arity = 2
    broadcasts = True
    saves = (0, 1)

    @staticmethod
    def forward(x, y, reduction):
        squares = (x - y).square()
        if reduction == "none":
            return squares, (x, y, 2.0)
        if reduction == "sum":
            return squares.sum(None, False), (x, y, 2.0)
        scale = 2.0 / squares.size if squares.size else float("nan")
        return squares.mean(None, False), (x, y, scale)

    @staticmethod
    def backward(saved, grad, needs):
        x, y, scale = saved
        change = (x - y) * (grad * scale)
        return change, -change if needs[1] else None


# ------------------------------------------------------------------------------ public functions


def softmax(input: Tensor, dim: int, dtype: Any = None, *, out: Tensor | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along dim. https://pytorch.org/docs/stable/generated/torch.softmax.html"""
    return into_same(out, along(Softmax, "softmax", input, dim, dtype), "softmax")


def log_softmax(input: Tensor, dim: int, dtype: Any = None, *, out: Tensor | None = None) -> Tensor:
    """log(softmax(x)) along dim, without overflow."""
    return into_same(out, along(LogSoftmax, "log_softmax", input, dim, dtype), "log_softmax")


def along(op: type[Op], name: str, input: Tensor, dim: int, dtype: Any) -> Tensor:
    check_tensor(name, "input", 1, input)
    if dtype is not None:
        input = input.to(dtype)
    if input.ndim or dim not in (0, -1):
        input.size(dim)  # raises IndexError where dim is out of range
    if input.is_floating_point():
        return apply1(op, input, dim)
    if input.array.size:
        raise NotImplementedError(f'"{name}_lastdim_kernel_impl" not implemented for {input.dtype}')
    return input.clone()


class PreluKernel(Op):
    arity = 2
    broadcasts = True
    saves = (0, 1)
    used_by = ((0, 1), (0,))

    @staticmethod
    def forward(x, weight):
        return (x > 0).where(x, weight * x), (x, weight)

    @staticmethod
    def backward(saved, grad, needs):
        x, weight = saved
        positive = x > 0
        return (
            run(Where, positive, grad, weight * grad) if needs[0] else None,
            run(Where, positive, 0.0, x * grad) if needs[1] else None,
        )


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
    if not input.is_floating_point():
        raise NotImplementedError(f'"prelu_cpu" not implemented for {input.dtype}')
    weight = weight.reshape((channels,) + (1,) * (input.ndim - 2) if per_channel else ())
    return apply2(PreluKernel, input, weight)


def nll_loss(
    log_p: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int
) -> Tensor:
    """-log_p[i, target[i]], weighted: (M, C), (M,) int64 -> (M,) or ()."""
    return applyn(NllLoss, (log_p, target.long(), weight), reduction, ignore_index)


def cross_entropy(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
) -> Tensor:
    """The cross-entropy of logits (M, C) and classes (M,), as log_softmax and nll_loss.

    With smoothing, a share of the target is spread evenly over all classes.
    """
    log_p = log_softmax(logits, 1)
    loss = nll_loss(log_p, target, weight, reduction, ignore_index)
    if label_smoothing == 0:
        return loss
    classes = logits.shape[1]
    weighted = log_p if weight is None else log_p * weight
    counted = (target != ignore_index).to(log_p.dtype)
    smooth = -weighted.sum(1) * counted
    if reduction == "mean":
        total = counted if weight is None else counted * weight[target * counted.long()]
        smooth = smooth.sum() / total.sum()
    elif reduction == "sum":
        smooth = smooth.sum()
    return (1 - label_smoothing) * loss + label_smoothing / classes * smooth


def mse_loss(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    if not (input.is_floating_point() or target.is_floating_point()):
        raise NotImplementedError(f'"mse_cpu" not implemented for {input.dtype}')
    if input.dtype is not target.dtype:
        dtype = result_type(input, target)
        input, target = input.to(dtype), target.to(dtype)
    return applyn(MseLoss, (input, target), reduction)


def dropout(input: Tensor, p: float) -> Tensor:
    """Zeros with probability p, the rest divided by 1 - p: 0 < p < 1."""
    noise = input.array.empty_like()
    wrap(noise).bernoulli_(1 - p)
    return input * wrap(noise.div(1 - p, noise))


FUNCTIONS = {f.__name__: f for f in (softmax, log_softmax, prelu)}
METHODS = FUNCTIONS
