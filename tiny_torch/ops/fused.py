"""prelu, mse_loss and dropout."""

from __future__ import annotations

from tiny_torch.autograd.apply import apply2, applyn
from tiny_torch.autograd.graph import Op, run
from tiny_torch.ops.elementwise import Where
from tiny_torch.ops.pointwise import result_type
from tiny_torch.ops.public import check_tensor
from tiny_torch.tensor import Tensor, wrap


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


FUNCTIONS = {"prelu": prelu}
METHODS = FUNCTIONS
