"""Tensors in Python's own pickle and in `copy.copy`, which know nothing of archives.

A tensor is a call of PyTorch's names on its storage, and a storage the bytes of a file of its own:
under the runner, PyTorch reads what was pickled here, and what PyTorch pickled is read here.

Like every pickle, and unlike a file of `save`, the result must come from a source that one trusts.
"""

from __future__ import annotations

import copyreg
from collections import OrderedDict
from typing import Any

import tiny_torch as torch
from tiny_torch.exchange import core
from tiny_torch.functions.storage import TypedStorage
from tiny_torch.tensor import wrap

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
    return with_attributes(tensor, type(tensor), function, arguments)


def reduce_sparse(tensor: torch.Tensor, protocol: Any = None) -> tuple[Any, ...]:
    """What `__reduce_ex__` of a sparse tensor returns; PyTorch has no class of its own for it."""
    array = tensor.array
    parts = wrap(array.indices), wrap(array.values), tensor.shape, array.is_coalesced
    arguments = torch.sparse_coo, parts
    return with_attributes(tensor, torch.Tensor, rooms._utils._rebuild_sparse_tensor, arguments)


def with_attributes(tensor: Any, kind: type, function: Any, arguments: tuple) -> tuple[Any, ...]:
    """The call that rebuilds a tensor, within one that adds its class and its user's attributes."""
    attributes = core.user_attributes(tensor)
    if not attributes and kind is torch.Tensor:
        return function, arguments
    return rooms._tensor._rebuild_from_type_v2, (function, kind, arguments, attributes)


def reduce_layout(layout: torch.layout) -> tuple[Any, ...]:
    """What pickle is told of a layout."""
    return rooms.serialization._get_layout, (str(layout),)


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


copyreg.pickle(torch.layout, reduce_layout)
METHODS = {"__reduce_ex__": reduce_tensor}
torch.nn.Parameter.__reduce_ex__ = reduce_parameter  # type: ignore[assignment, method-assign]
TypedStorage.__reduce__ = reduce_storage  # type: ignore[assignment, method-assign]
