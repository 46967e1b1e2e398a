"""Tensors in Python's own pickle and in `copy.copy`, which know nothing of archives.

Like every pickle, and unlike a file of `save`, the result must come from a source that one trusts.
"""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.exchange import core
from tiny_torch.tensor import wrap


class _Storage:
    """The storage of an array: shared by `copy.copy`, copied byte by byte by pickle."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __reduce__(self) -> tuple[object, ...]:
        return _storage, (bytes(core.storage_bytes(self.array)), self.array.dtype)


def _storage(data: bytes, dtype: torch.dtype) -> _Storage:
    return _Storage(_core.from_bytes(data, dtype))


def reduce_tensor(tensor: torch.Tensor, protocol: Any = None) -> tuple[object, ...]:
    """What `Tensor.__reduce_ex__` returns, for any protocol."""
    device = tensor.device.type
    array = tensor.array if device in ("cpu", "cuda") else tensor.cpu().array
    region = tuple(array.shape), tuple(array.strides), array.offset
    attributes = core.user_attributes(tensor)
    parts = (_Storage(array), region, device, tensor.requires_grad, attributes)
    cls = type(tensor)
    return (_rebuild, parts) if cls is torch.Tensor else (_rebuild_of_class, (cls, *parts))


def _rebuild(
    storage: _Storage,
    region: tuple[Any, ...],
    device: str,
    requires_grad: bool,
    attributes: dict[str, Any],
) -> torch.Tensor:
    tensor = wrap(storage.array.as_strided(*region))
    if device != "cpu":
        tensor = tensor.to(device)
    tensor.__dict__.update(attributes)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_of_class(cls: type, *parts: Any) -> torch.Tensor:
    """The same of a tensor of a user's class."""
    tensor = _rebuild(*parts)
    made: Any = torch.Tensor._make_subclass(cls, tensor, tensor.requires_grad)  # type: ignore[attr-defined]
    made.__dict__.update(tensor.__dict__)
    return made


METHODS = {"__reduce_ex__": reduce_tensor}
