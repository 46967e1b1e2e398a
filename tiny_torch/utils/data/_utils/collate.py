"""Samples → batch: tensors are stacked, numbers become tensors, containers are collated inside."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

import tiny_torch as torch

_MESSAGE = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)
CollateMap = dict[Any, Callable[..., Any]]


def default_convert(data: Any) -> Any:
    """NumPy arrays and numbers → tensors, also inside of containers; anything else stays.

    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.default_convert

    >>> import numpy as np
    >>> from tiny_torch.utils.data import default_convert
    >>> default_convert({"x": np.arange(2), "name": "a"})
    {'x': tensor([0, 1]), 'name': 'a'}
    """
    if isinstance(data, torch.Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SUO" else torch.as_tensor(np.asarray(data))
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [default_convert(item) for item in data])
    return data


def default_collate(batch: Any) -> Any:
    """A list of samples → one batch, with a new dim 0 in each of its tensors.

    Tensors and NumPy arrays of one shape are stacked; numbers become a tensor (Python floats
    float64); strings and bytes stay a list; of dicts, lists and (named) tuples the entries are
    collated, a plain tuple becoming a list.
    Raises TypeError for other types, RuntimeError if shapes or lengths differ.
    Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.default_collate

    >>> from tiny_torch.utils.data import default_collate
    >>> default_collate([(0, "a"), (1, "b")])
    [tensor([0, 1]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """`default_collate` with other functions for the types of samples.

    `collate_fn_map` maps a type, or a tuple of types, to function(batch, collate_fn_map=…).
    """
    sample = batch[0]
    function = _function_for(sample, collate_fn_map or {})
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)

    def inner(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(sample, Mapping):
        return _like_mapping(sample, {key: inner([item[key] for item in batch]) for key in sample})
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return type(sample)(*map(inner, zip(*batch, strict=False)))
    if isinstance(sample, Sequence):
        length = len(sample)
        if not all(len(item) == length for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return _like_sequence(sample, [inner(samples) for samples in zip(*batch, strict=True)])
    raise TypeError(_MESSAGE.format(type(sample)))


def _function_for(sample: Any, collate_fn_map: CollateMap) -> Callable[..., Any] | None:
    function = collate_fn_map.get(type(sample))
    if function is not None:
        return function
    for types, function in collate_fn_map.items():
        if isinstance(sample, types):
            return function
    return None


def _like_mapping(original: Any, entries: dict[Any, Any]) -> Any:
    """`entries` in a mapping like `original`, which may carry more than its entries."""
    try:
        if not isinstance(original, MutableMapping):
            return type(original)(entries)
        clone = copy.copy(original)
        clone.update(entries)
        return clone
    except TypeError:
        return entries


def _like_sequence(original: Any, items: list[Any]) -> Any:
    if isinstance(original, tuple):
        return items
    try:
        if not isinstance(original, MutableSequence):
            return type(original)(items)
        clone = copy.copy(original)
        for index, item in enumerate(items):
            clone[index] = item
        return clone
    except TypeError:
        return items


# ---- the default functions by type -----------------------------------------------------------


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> torch.Tensor:
    """Tensors of one shape → a stack of them."""
    return torch.stack(batch, 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """NumPy arrays of one shape → a stack of them."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(_MESSAGE.format(batch[0].dtype))
    return collate([torch.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """NumPy numbers → a tensor of their type."""
    return torch.as_tensor(np.asarray(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> torch.Tensor:
    """Python floats → float64, which loses nothing."""
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> torch.Tensor:
    """Python ints → int64, bools → bool."""
    return torch.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Text stays as it is."""
    return batch


default_collate_fn_map: CollateMap = {
    torch.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
