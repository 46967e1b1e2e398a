"""linear and bilinear."""

from __future__ import annotations

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.functions.common import check_tensor, check_tensors
from tiny_torch.functions.linalg.matmul import matmul
from tiny_torch.ops.linalg.matmul import Linear
from tiny_torch.tensor import Tensor


@as_one
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1ᵀ W x2 + b: inputs (*, I) and (*, J), weight (O, I, J), bias (O), result (*, O).

    Raises RuntimeError where the shapes or dtypes do not fit.
    Source: PyTorch, nn.functional.bilinear.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(1, 2, 3))
    tensor([[6.]])
    """
    check_tensors("bilinear", {"input1": input1, "input2": input2, "weight": weight})
    if input1.dtype is not input2.dtype or input1.dtype is not weight.dtype:
        raise RuntimeError(
            f"All tensors must have the same dtype, got input1: {input1.dtype}, input2: "
            f"{input2.dtype}, weight: {weight.dtype}"
        )
    if input1.ndim != input2.ndim:
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}"
        )
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            "bilinear(): input batch dimensions do not match: got "
            f"{list(input1.shape)} and {list(input2.shape)}"
        )
    for k, value in enumerate((input1, input2), 1):
        if value.size(-1) != weight.size(k):
            raise RuntimeError(
                f"bilinear(): input{k} size does not match weight size: got {value.size(-1)} but "
                f"expected {weight.size(k)}"
            )
    if bias is not None and bias.size(0) != weight.size(0):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.size(0)} but expected "
            f"{weight.size(0)}"
        )
    left, right = input1.reshape(-1, weight.size(1)), input2.reshape(-1, weight.size(2))
    # (N, I) x (I, O J) -> (N, O, J); x (N, J, 1) -> (N, O)
    rows = left @ weight.transpose(0, 1).reshape(weight.size(1), -1)
    rows = rows.reshape(-1, weight.size(0), weight.size(2))
    result = (rows @ right.unsqueeze(2)).reshape((*input1.shape[:-1], weight.size(0)))
    return result if bias is None else result + bias


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias: input (..., in), weight (out, in), bias (out,).

    https://pytorch.org/docs/stable/generated/torch.nn.functional.linear.html

    >>> import tiny_torch as torch
    >>> torch.nn.functional.linear(torch.ones(1, 3), torch.ones(2, 3), torch.ones(2))
    tensor([[4., 4.]])
    """
    check_tensor("linear", "input", 1, input)
    check_tensor("linear", "weight", 2, weight)
    if weight.ndim != 2:
        return linear_of_vector(input, weight, bias)
    if bias is not None and bias.ndim != 1:
        return matmul(input, weight.t()) + bias
    try:
        return apply(Linear, input, weight, bias)
    except RuntimeError:
        if bias is None or bias.numel() != 1:
            raise
        return matmul(input, weight.t()) + bias  # PyTorch broadcasts it, too


def linear_of_vector(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if weight.ndim > 2:
        raise RuntimeError(
            f"linear(): expected a weight of 1 or 2 dimensions, but got shape {weight.shape}"
        )
    product = matmul(input, weight)
    if bias is None:
        return product
    if bias.ndim or input.ndim == 2:
        raise RuntimeError("linear(): a weight of 1 dimension takes a bias without dimensions")
    return product + bias
