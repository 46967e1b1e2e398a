"""Tensors in Python's own pickle and in `copy.copy`, which know nothing of archives.

A tensor is a call of PyTorch's names on its storage, and a storage the bytes of a file of its own:
under the runner, PyTorch reads what was pickled here, and what PyTorch pickled is read here.

Like every pickle, and unlike a file of `save`, the result must come from a source that one trusts.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import tiny_torch as torch
from tiny_torch.exchange import core
from tiny_torch.functions.storage import TypedStorage

rooms: Any = torch  # those that are loaded when they are asked for


def reduce_tensor(tensor: torch.Tensor, protocol: Any = None) -> tuple[Any, ...]:
    """What `Tensor.__reduce_ex__` returns, for any protocol."""
    array, requires_grad = tensor.array, tensor.requires_grad
    shape, strides = tuple(array.shape), tuple(array.strides)
    function: Any = rooms._utils._rebuild_tensor_v2
    # Hooks are never saved, but PyTorch expects the argument.
    arguments: Any = TypedStorage.over(array), array.offset, shape, strides, requires_grad
    arguments += (OrderedDict(),)
    if tensor.is_meta:
        function = rooms._utils._rebuild_meta_tensor_no_storage
        arguments = array.dtype, shape, strides, requires_grad
    attributes = core.user_attributes(tensor)
    if not attributes and type(tensor) is torch.Tensor:
        return function, arguments
    return rooms._tensor._rebuild_from_type_v2, (function, type(tensor), arguments, attributes)


def reduce_parameter(parameter: torch.nn.Parameter, protocol: Any = None) -> tuple[Any, ...]:
    """What `Parameter.__reduce_ex__` returns, for any protocol."""
    attributes = core.user_attributes(parameter)
    arguments: Any = parameter.data, parameter.requires_grad, OrderedDict()
    if not attributes:
        return rooms._utils._rebuild_parameter, arguments
    return rooms._utils._rebuild_parameter_with_state, (*arguments, attributes)


def reduce_storage(storage: TypedStorage) -> tuple[Any, ...]:
    """What pickle is told of a TypedStorage."""
    return rooms.serialization.reduce_storage(storage)


METHODS = {"__reduce_ex__": reduce_tensor}
torch.nn.Parameter.__reduce_ex__ = reduce_parameter  # type: ignore[assignment, method-assign]
TypedStorage.__reduce__ = reduce_storage  # type: ignore[assignment, method-assign]
