"""Batches in pinned memory, from which a GPU is copied to without waiting."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from tiny_torch.tensor import Tensor


def pin_memory(data: Any, device: Any = None) -> Any:
    """A batch with its tensors in pinned memory, and with what has a method `pin_memory` so, too.

    Mappings and sequences keep their types where these can be built; anything else stays as it is.
    """
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        return _mapping(data, {key: pin_memory(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):  # a named tuple
        return type(data)(*(pin_memory(value) for value in data))
    if isinstance(data, tuple):
        return type(data)(pin_memory(value) for value in data)
    if isinstance(data, Sequence):
        return _sequence(data, [pin_memory(value) for value in data])
    return data


def _mapping(original: Any, entries: dict) -> Any:
    try:
        if not isinstance(original, MutableMapping):
            return type(original)(entries)
        result = copy.copy(original)  # which may carry more than its entries
        result.update(entries)
        return result
    except TypeError:
        return entries


def _sequence(original: Any, values: list) -> Any:
    try:
        if not isinstance(original, MutableSequence):
            return type(original)(values)
        result = copy.copy(original)
        for i, value in enumerate(values):
            result[i] = value
        return result
    except TypeError:
        return values
