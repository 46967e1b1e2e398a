"""`ParameterList` and `ParameterDict`, and the checks they share with the containers of modules."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any, TypeVar

import tiny_torch as torch
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.parameter import Parameter
from tiny_torch.tensor import Tensor

_P = TypeVar("_P", bound="ParameterList")
_D = TypeVar("_D", bound="ParameterDict")


def index_from_front(index: Any, size: int) -> int:
    """`index` counted from the front; IndexError unless -size <= index < size."""
    i = operator.index(index)
    if not -size <= i < size:
        raise IndexError(f"index {i} is out of range")
    return i % size


def without_digits(keys: Iterable[str]) -> list[str]:
    return [key for key in keys if not key.isdigit()]


def kind_name(value: Any) -> str:
    return type(value).__name__


def check_iterable(caller: str, values: Any, kind: str = "") -> None:
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{caller} should be called with an iterable{kind}, but got {kind_name(values)}"
        )


def pairs_of(source: Any, owner: str, caller: str) -> Iterable[tuple[Any, Any]]:
    """The entries of a mapping or a dict-like module, or an iterable of pairs, checked."""
    check_iterable(f"{caller}.update", source, " of key/value pairs")
    if isinstance(source, Mapping) or (isinstance(source, Module) and hasattr(source, "items")):
        return list(source.items())
    pairs = list(source)
    for i, pair in enumerate(pairs):
        where = f"{owner} update sequence element #{i}"
        if not isinstance(pair, Iterable):
            raise TypeError(f"{where} should be Iterable; is{kind_name(pair)}")
        if len(pair) != 2:  # type: ignore[arg-type]
            raise ValueError(f"{where} has length {len(pair)}; 2 is required")  # type: ignore[arg-type]
    return pairs


def _as_parameter(value: Any) -> Any:
    return (
        Parameter(value)
        if isinstance(value, Tensor) and not isinstance(value, Parameter)
        else value
    )


def _describe(key: Any, value: Any, tensor_kind: Any) -> str:
    """One line of a parameter container's repr."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {kind_name(value)}"
    name = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(extent) for extent in value.shape)
    device = f" ({value.device})" if value.device.type == "cuda" else ""
    return f"  ({key}): {name} containing: [{tensor_kind(value)} of size {size}{device}]"


class ParameterList(Module):
    """A list of parameters, all of them registered. It cannot be called.

    Takes any iterable; Tensors become Parameters on the same memory, other values are kept as they
    are. Can be indexed and sliced.
    Raises TypeError for what is not iterable, IndexError for an index out of range.
    Source: PyTorch, torch.nn.ParameterList.

    >>> import tiny_torch as torch
    >>> torch.nn.ParameterList([torch.ones(2, 3)])
    ParameterList(  (0): Parameter containing: [torch.float32 of size 2x3])
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(self[i] for i in range(*index.indices(len(self))))
        return getattr(self, str(index_from_front(index, len(self))))

    def __setitem__(self, index: int, param: Any) -> None:
        setattr(self, str(index_from_front(index, len(self))), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self: _P, parameters: Iterable[Any]) -> _P:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return without_digits(super().__dir__())

    def append(self: _P, value: Any) -> _P:
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self: _P, values: Iterable[Any]) -> _P:
        """Add values at the end; TypeError for a Tensor or what is not iterable."""
        check_iterable("ParameterList.extend", None if isinstance(values, Tensor) else values)
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """One line per entry."""
        return "\n".join(_describe(i, value, lambda t: t.dtype) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters in the order of insertion, all of them registered. It cannot be called.

    Takes a mapping or an iterable of (name, value) pairs; a plain dict is taken in sorted order.
    Tensors become Parameters on the same memory, other values are kept as they are.
    Raises TypeError or ValueError for anything else, KeyError for a missing name.
    Source: PyTorch, torch.nn.ParameterDict.

    >>> import tiny_torch as torch
    >>> params = torch.nn.ParameterDict({"w": torch.ones(2), "b": torch.zeros(2)})
    >>> list(params), type(params["w"]).__name__
    (['b', 'w'], 'Parameter')
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _require_text(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, _require_text(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A new ParameterDict with the same values."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value under `key`, which is set to `default` where it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove and return the value under `key`."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last (name, value) pair; KeyError where there is none."""
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value under `key`, or `default`."""
        return self[key] if key in self else default  # noqa: SIM401 (this is that `get`)

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new ParameterDict with the same value under every name."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The (name, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Set all entries of a mapping or an iterable of pairs; a plain dict's in sorted order."""
        pairs = pairs_of(parameters, "ParameterDict", "ParametersDict")
        plain = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        for key, value in sorted(pairs, key=operator.itemgetter(0)) if plain else pairs:
            self[key] = value

    def extra_repr(self) -> str:
        """One line per entry."""
        return "\n".join(_describe(key, value, torch.typename) for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: Any) -> ParameterDict:
        merged = ParameterDict(other)
        merged.update(self)
        return merged

    def __ior__(self: _D, other: Any) -> _D:
        self.update(other)
        return self


def _require_text(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string "
            f"(type is '{kind_name(key)}')."
        )
    return key
