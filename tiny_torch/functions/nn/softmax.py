"""softmax, log_softmax and what is made of them."""

from __future__ import annotations

import warnings
from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op
from tiny_torch.base.arguments import as_int
from tiny_torch.base.dtypes import not_implemented
from tiny_torch.functions.common import check_tensor, compute_for_out, into_same
from tiny_torch.functions.public import function_and_method
from tiny_torch.ops.nn.softmax import LogSoftmax, Softmax
from tiny_torch.tensor import Tensor


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`; cast to `dtype` first if that is given.

    Any shape. Without `dim` warns and guesses. Raises IndexError for a dim out of range,
    NotImplementedError for integers.
    Source: PyTorch, nn.functional.softmax.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.softmax(torch.zeros(2, 4), dim=1)[0]
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    if dim is None:
        dim = _guess_dim("softmax", input, _stacklevel)
    return along(Softmax, "softmax", input, dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """log(softmax(x)) along `dim`, computed stably; cast to `dtype` first if that is given.

    Any shape. Without `dim` warns and guesses. Raises IndexError for a dim out of range,
    NotImplementedError for integers.
    Source: PyTorch, nn.functional.log_softmax.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.log_softmax(torch.zeros(2), dim=0)
    tensor([-0.6931, -0.6931])
    """
    if dim is None:
        dim = _guess_dim("log_softmax", input, _stacklevel)
    return along(LogSoftmax, "log_softmax", input, dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """softmax(-x) along `dim`; as softmax otherwise.

    Source: PyTorch, nn.functional.softmin.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.softmin(torch.tensor([0.0, 100.0]), dim=0)
    tensor([1.0000e+00, 3.7835e-44])
    """
    if dim is None:
        dim = _guess_dim("softmin", input, _stacklevel)
    return along(Softmax, "softmax", -input, dim, dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """softmax((logits + noise) / tau) along `dim`: samples of classes that have gradients.

    The noise is Gumbel's. With `hard` the result is one-hot, with the gradient of the soft one.
    `eps` has no effect. Source: PyTorch, nn.functional.gumbel_softmax; Jang et al. 2016.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.gumbel_softmax(torch.zeros(4), hard=True).sum()
    tensor(1.)
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    dim = as_int("softmax", "dim", 2, dim)  # before anything is drawn
    noise = -logits.new_empty(logits.shape).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = soft.new_zeros(logits.shape).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


def _guess_dim(name: str, input: Tensor, stacklevel: int) -> int:
    check_tensor(name, "input", 1, input)
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. "
        "Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if input.ndim in (0, 1, 3) else 1


def torch_softmax(
    input: Tensor, dim: int, dtype: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """exp(x) / sum(exp(x)) along dim. https://pytorch.org/docs/stable/generated/torch.softmax.html"""
    return along(Softmax, "softmax", input, dim, dtype, out)


def torch_log_softmax(
    input: Tensor, dim: int, dtype: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """log(softmax(x)) along dim, without overflow."""
    return along(LogSoftmax, "log_softmax", input, dim, dtype, out)


def along(op: type[Op], name: str, input: Tensor, dim: int, dtype: Any, out: Any = None) -> Tensor:
    if type(input) is not Tensor or type(dim) is not int:  # or two calls: 7 % of a small softmax
        check_tensor(name, "input", 1, input)
        dim = as_int(name, "dim", 2, dim)
    if dtype is not None:
        input = input.to(dtype)
    array = input.array
    ndim = array.ndim or 1
    if not -ndim <= dim < ndim:
        (input if array.ndim else input.reshape((1,))).size(dim)  # raises IndexError
    if array.dtype.is_floating_point:
        if out is None:
            return apply(op, input, dim)
        return into_same(out, compute_for_out(out, op, (input,), dim), name)
    if array.size:
        raise not_implemented(f"{name}_lastdim_kernel_impl", input.dtype)
    return into_same(out, input.clone(), name)


function_and_method(torch_softmax, "softmax")
function_and_method(torch_log_softmax, "log_softmax")
