"""Functions of nn.functional that belong to no larger family: linear, one_hot, bilinear."""

from __future__ import annotations

import tiny_torch as torch
from tiny_torch import ops

from ...ops.indexing import SET
from ...ops.public import check_int, check_tensor
from ...tensor import Tensor, wrap


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b: input (*, in), weight (out, in) or (in), bias (out) or (), result (*, out) or (*).

    Raises RuntimeError where the shapes or dtypes do not fit.
    Source: PyTorch, nn.functional.linear.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.linear(torch.ones(1, 3), torch.ones(2, 3), torch.ones(2))
    tensor([[4., 4.]])
    """
    return ops.linear(input, weight, bias)


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """int64 (*) of class numbers -> int64 (*, num_classes), 1 at the class and 0 elsewhere.

    By default num_classes is the largest number plus 1. Raises RuntimeError for another dtype, a
    class outside of [0, num_classes), and an empty tensor without num_classes.
    Source: PyTorch, nn.functional.one_hot.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    check_int("one_hot", "num_classes", 2, num_classes)
    if input.dtype is not torch.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    array = input.array
    if array.size == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return input.new_zeros((*input.shape, num_classes))
    if array.amin(None, False).item() < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = array.amax(None, False).item()
    if num_classes == -1:
        num_classes = largest + 1
    elif largest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    result = array.new_full((*array.shape, num_classes), 0)
    result.scatter_(-1, array.unsqueeze(-1), 1, SET, False)
    return wrap(result)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1ᵀ W x2 + b: inputs (*, I) and (*, J), weight (O, I, J), bias (O), result (*, O).

    Raises RuntimeError where the shapes or dtypes do not fit.
    Source: PyTorch, nn.functional.bilinear.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(1, 2, 3))
    tensor([[6.]])
    """
    for position, (name, value) in enumerate(
        (("input1", input1), ("input2", input2), ("weight", weight)), 1
    ):
        check_tensor("bilinear", name, position, value)
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
