"""Functions of nn.functional that belong to no larger family: linear, dropout, one_hot, ..."""

from __future__ import annotations

import tiny_torch as torch
from tiny_torch import ops

from ...tensor import Tensor
from .normalization import normalize


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b: input (*, in), weight (out, in) or (in), bias (out) or (), result (*, out) or (*).

    Raises RuntimeError where the shapes or dtypes do not fit.
    Source: PyTorch, nn.functional.linear.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.linear(torch.ones(1, 3), torch.ones(2, 3), torch.ones(2))
    tensor([[4., 4.]])
    """
    return ops.linear(input, weight, bias)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training sets each element to 0 with probability p and divides the others by 1 - p.

    Any shape, floating dtypes. Raises ValueError unless 0 <= p <= 1.
    Source: PyTorch, nn.functional.dropout; Hinton et al. 2012.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0 or input.numel() == 0:
        return input
    # p = 1 draws nothing from the generator
    dropped = input * input.new_zeros(()) if p == 1 else ops.dropout(input, p)
    return input.copy_(dropped) if inplace else dropped


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 (*) of class numbers -> int64 (*, num_classes), 1 at the class and 0 elsewhere.

    By default num_classes is the largest number plus 1. Raises RuntimeError for another dtype, a
    class outside of [0, num_classes), and an empty tensor without num_classes.
    Source: PyTorch, nn.functional.one_hot.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.dtype != torch.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return tensor.new_zeros((*tensor.shape, num_classes))
    if tensor.min().item() < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = int(tensor.max())
    if num_classes == -1:
        num_classes = largest + 1
    elif largest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    zeros = tensor.new_zeros((*tensor.shape, num_classes))
    return zeros.scatter_(-1, tensor.unsqueeze(-1), 1)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (max(|x1|, eps) max(|x2|, eps)) along `dim` of their broadcast shape, without it.

    Floating dtypes. Raises RuntimeError where the shapes do not broadcast or neither is floating,
    IndexError for a dim out of range.
    Source: PyTorch, nn.functional.cosine_similarity.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.cosine_similarity(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1.0]), 0)
    tensor(0.7071)
    """
    if not (x1.is_floating_point() or x2.is_floating_point()):
        raise RuntimeError(
            "expected common dtype to be floating point, yet the dtypes are "
            f"{x1.dtype} and {x2.dtype}"
        )
    if x1.dtype != x2.dtype:
        dtype = (x1.new_zeros(1) + x2.new_zeros(1)).dtype
        x1, x2 = x1.to(dtype), x2.to(dtype)
    if x1.shape != x2.shape:
        x1, x2 = torch.broadcast_tensors(x1, x2)
    return (normalize(x1, 2.0, dim, eps) * normalize(x2, 2.0, dim, eps)).sum(dim)
