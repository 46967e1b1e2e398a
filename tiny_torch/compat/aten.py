"""`torch.ops`: PyTorch's operators by name, which packages list or call.

https://pytorch.org/docs/stable/torch.compiler_ir.html
"""

from __future__ import annotations

from typing import Any

import tiny_torch as torch


class Operator:
    """An operator and its overloads: `aten.add`, `aten.add.Tensor`, `aten.add.default`.

    A call is one of torch's function of that name, else of nn.functional's, else of Tensor's
    method. Raises NotImplementedError where there is none: an operator may be named all the same.

    >>> import tiny_torch as torch
    >>> torch.ops.aten.mul.Tensor(torch.ones(2), 3)
    tensor([3., 3.])
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        for home in (torch, torch.nn.functional, torch.Tensor):
            function = vars(home).get(self.__name__)
            if callable(function):
                return function(*arguments, **keywords)
        raise NotImplementedError(f"torch.ops.aten.{self.__name__} is not in tiny_torch")

    def __getattr__(self, overload: str) -> Operator:
        if overload.startswith("__"):
            raise AttributeError(f"{self} has no attribute {overload}")
        return self

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"


class _Operators:
    """The operators by name: the same object each time."""

    def __getattr__(self, name: str) -> Operator:
        if name.startswith("__"):
            raise AttributeError(f"torch.ops.aten has no attribute {name}")
        return self.__dict__.setdefault(name, Operator(name))


aten = _Operators()


def load_library(path: str) -> None:
    """Raises OSError, as PyTorch does where there is no such library: all are PyTorch's own."""
    raise OSError(f"{path}: tiny_torch loads no libraries of operators")
