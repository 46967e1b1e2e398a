"""Modules that hold other modules: `Sequential`, `ModuleList`, `ModuleDict`.

The containers of parameters stand in `_parts/parameter_container.py` and are public here too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from itertools import chain
from typing import Any, TypeVar

from tiny_torch import _core
from tiny_torch.nn.modules._parts.parameter_container import (
    ParameterDict,
    ParameterList,
    check_iterable,
    index_from_front,
    pairs_of,
    without_digits,
)
from tiny_torch.nn.modules.module import Module, add_indent

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

_S = TypeVar("_S", bound="Sequential")
_L = TypeVar("_L", bound="ModuleList")
_I = TypeVar("_I", bound="_Indexed")


class _Indexed(Module):
    """What Sequential and ModuleList share: children in order, looked up by position."""

    _modules: dict[str, Module]

    def _key(self, index: Any) -> str:
        return list(self._modules)[index_from_front(index, len(self))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: int | slice) -> None:
        gone = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for key in gone:
            delattr(self, key)
        self._modules = {str(i): module for i, module in enumerate(self._modules.values())}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return without_digits(super().__dir__())

    def append(self: _I, module: Module) -> _I:
        """Add a module at the end, named by its position."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self: Any, key: int | slice) -> Any:
        """Remove and return a module or, for a slice, a container of this kind."""
        value = self[key]
        del self[key]
        return value

    def _insert(self, index: int, module: Module) -> None:
        """Shift what follows by one; names are positions from then on."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._modules = {str(i): child for i, child in enumerate(modules)}


class Sequential(_Indexed):
    """Modules in a row: each gets the output of the one before.

    Takes modules, or one OrderedDict that names them. Input and output are those of the first and
    the last module; an empty Sequential is the identity. Can be indexed, sliced, added, multiplied.
    Raises TypeError for an argument that is no Module, IndexError for an index out of range.
    Source: PyTorch, torch.nn.Sequential.

    >>> import tiny_torch as torch
    >>> torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            self.extend(args)

    def forward(self, input: Any) -> Any:
        """Run all modules in order."""
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def extend(self: _S, sequential: Iterable[Module]) -> _S:
        """Add modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def insert(self: _S, index: int, module: Module) -> _S:
        """Put a module before position `index`; all modules are renamed by position.

        Raises AssertionError for a value that is no Module, IndexError out of range.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self._insert(index, module)
        return self

    def __add__(self, other: Any) -> Sequential:
        return Sequential(*self, *_require_sequential(other))

    def __iadd__(self: _S, other: Any) -> _S:
        return self.extend(list(_require_sequential(other)))

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*(list(self) * self._require_count(other)))

    __rmul__ = __mul__

    def __imul__(self: _S, other: int) -> _S:
        return self.extend(list(self) * (self._require_count(other) - 1))

    def _require_count(self, other: Any) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        _core.expect_memory(float(other) * len(self) * 200)  # of their names
        return other


def _require_sequential(other: Any) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(
            f"add operator supports only objects of Sequential class, but {type(other)} is given."
        )
    return other


class ModuleList(_Indexed):
    """A list of modules, all of them registered. It has no forward.

    Takes any iterable of modules; can be indexed, sliced, added and iterated over.
    Raises TypeError for what is not iterable or no Module, IndexError for an index out of range.
    Source: PyTorch, torch.nn.ModuleList.

    >>> import tiny_torch as torch
    >>> torch.nn.ModuleList(torch.nn.ReLU() for _ in range(3))
    ModuleList(
      (0-2): 3 x ReLU()
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._key(index)]

    def extend(self: _L, modules: Iterable[Module]) -> _L:
        """Add modules at the end; TypeError for what is not iterable."""
        check_iterable("ModuleList.extend", modules)
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Put a module before position `index`."""
        self._insert(index, module)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self: _L, modules: Iterable[Module]) -> _L:
        return self.extend(modules)

    def __repr__(self) -> str:
        """Runs of modules with the same text are shown once, with their number."""
        runs: list[list[Any]] = []  # [first, last, text]
        for i, text in enumerate(repr(module) for module in self):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {text}"
            if first == last
            else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        return "{}(\n  {}\n)".format(self._get_name(), "\n  ".join(map(add_indent, lines)))


class ModuleDict(Module):
    """A dict of modules in the order of insertion, all of them registered. It has no forward.

    Takes a mapping or an iterable of (name, module) pairs.
    Raises TypeError or ValueError for anything else, KeyError for a name that is missing or bad.
    Source: PyTorch, torch.nn.ModuleDict.

    >>> import tiny_torch as torch
    >>> acts = torch.nn.ModuleDict({"relu": torch.nn.ReLU(), "tanh": torch.nn.Tanh()})
    >>> acts["tanh"]
    Tanh()
    """

    _modules: dict[str, Module]

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove and return the module under `key`; KeyError where there is none."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """The (name, module) pairs."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Set all entries of a mapping or an iterable of pairs, in their order."""
        for key, module in pairs_of(modules, "ModuleDict", "ModuleDict"):
            self[key] = module
