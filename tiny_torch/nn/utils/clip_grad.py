"""Gradients kept from growing too large: by their common norm, or element by element.

One call of C++ handles gradients that lie densely on one device, the CPU or a GPU, in float32 or
float64; the others go through Tensor operations, and so do all of them under `foreach=False`.
"""

from __future__ import annotations

import math
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.autograd import no_grad
from tiny_torch.base.modes import outside_of_program
from tiny_torch.functions.common import check_kind
from tiny_torch.functions.foreach import in_one_call, scale_in_one_call
from tiny_torch.functions.torch_linalg import vector_norm
from tiny_torch.tensor import Tensor, wrap

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]

Tensors = Tensor | Iterable[Tensor]
# The norm of gradients of which each rank has a part: distributed/pieces.py, when it is loaded,
# puts its function here. It takes them, what tells of each that it is a part, and the options.
over_ranks: list[Callable[..., Tensor]] = []


@no_grad()
def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors together, as if they were one vector: a 0-d tensor.

    `norm_type` is the order, which may be "inf". Raises TypeError for what is no tensor,
    RuntimeError for tensors of integers and, where `error_if_nonfinite`, for a norm that is
    infinite or NaN.
    Source: PyTorch, torch.nn.utils.get_total_norm.

    >>> import tiny_torch as torch
    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0, 12.0])])
    tensor(13.)
    """
    listed = _list_of("get_total_norm", "tensors", tensors)
    return _norm_over_ranks(listed, listed, norm_type, error_if_nonfinite, foreach)


def _norm_over_ranks(grads: list[Any], owners: list[Any], *options: Any) -> Tensor:
    return over_ranks[0](grads, owners, *options) if over_ranks else norm_here(grads, *options)


def norm_here(
    tensors: list[Any], norm_type: float, error_if_nonfinite: bool, foreach: bool | None
) -> Tensor:
    norm_type = float(norm_type)
    if not tensors:
        return torch.tensor(0.0)
    total = vector_norm(_norms(tensors, norm_type, foreach), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from "
            "`parameters` is non-finite, so it cannot be clipped. To disable "
            "this error and scale the gradients by the non-finite norm anyway, "
            "set `error_if_nonfinite=False`"
        )
    return total


def _norms(tensors: list[Any], norm_type: float, foreach: bool | None) -> Tensor:
    """The norm of each tensor."""
    arrays = [tensor.array for tensor in tensors]
    dtypes = {array.dtype for array in arrays}
    if (
        foreach is not False
        and norm_type in (1, 2, math.inf)
        and (dtypes == {torch.float32} or dtypes == {torch.float64})
        and {type(array) for array in arrays} == {_core.NDArray}
        and len({array.device for array in arrays}) == 1
        and (norm_type != math.inf or all(tensor.numel() for tensor in tensors))
    ):
        return wrap(_core.foreach_norm(arrays, norm_type))
    first = tensors[0].device
    return torch.stack([vector_norm(t, norm_type).to(first) for t in tensors])


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients of the parameters by max_norm / total_norm, where that is below 1.

    Source: PyTorch, torch.nn.utils.clip_grads_with_norm_.

    >>> import tiny_torch as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grads_with_norm_(w, 1.0, torch.tensor(5.0))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    _scale(_grads("clip_grads_with_norm_", parameters), max_norm, total_norm, foreach)


def _scale(grads: list[Any], max_norm: float, total_norm: Tensor, foreach: bool | None) -> None:
    max_norm = float(max_norm)
    if not grads:
        return
    factor = torch.clamp(max_norm / (total_norm + 1e-6), max=1.0)
    for grad in scale_in_one_call(grads, factor, foreach=foreach):
        grad.mul_(factor.to(grad.device))


@no_grad()
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of the parameters so that their common norm is at most `max_norm`.

    Returns the norm before. Raises as `get_total_norm`; warns for a generator without parameters.
    Source: PyTorch, torch.nn.utils.clip_grad_norm_; Pascanu et al. 2012, "On the difficulty of
    training recurrent neural networks".

    >>> import tiny_torch as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_([w], max_norm=1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    if not isinstance(parameters, Tensor):
        generated = isinstance(parameters, types.GeneratorType)
        parameters = list(parameters)
        if generated and not parameters:
            warnings.warn(
                "`parameters` is an empty generator, no gradient clipping will occur.",
                stacklevel=3,
            )
    if _core.is_recording():
        return outside_of_program(
            clip_grad_norm_, parameters, max_norm, norm_type, error_if_nonfinite, foreach
        )
    owners = _owners("clip_grad_norm_", parameters)
    grads: list[Any] = [owner.grad for owner in owners]
    total = _norm_over_ranks(grads, owners, norm_type, error_if_nonfinite, foreach)
    _scale(grads, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The deprecated name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated "
        "in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp each element of the parameters' gradients to [-clip_value, clip_value].

    Source: PyTorch, torch.nn.utils.clip_grad_value_.

    >>> import tiny_torch as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, -0.5])
    >>> torch.nn.utils.clip_grad_value_(w, 1.0)
    >>> w.grad
    tensor([ 1.0000, -0.5000])
    """
    if _core.is_recording():
        parameters = parameters if isinstance(parameters, Tensor) else list(parameters)
        return outside_of_program(clip_grad_value_, parameters, clip_value, foreach)
    value = float(clip_value)
    grads = _grads("clip_grad_value_", parameters)
    for grad in in_one_call(_core.foreach_clamp, grads, foreach, -value, value):
        grad.clamp_(min=-value, max=value)


def _list_of(function: str, argument: str, tensors: Tensors) -> list[Any]:
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    for tensor in listed:
        check_kind(function, argument, None, tensor, "Tensors", Tensor)
    return listed


def _owners(function: str, parameters: Tensors) -> list[Any]:
    listed = _list_of(function, "parameters", parameters)
    return [parameter for parameter in listed if parameter.grad is not None]


def _grads(function: str, parameters: Tensors) -> list[Any]:
    return [owner.grad for owner in _owners(function, parameters)]
