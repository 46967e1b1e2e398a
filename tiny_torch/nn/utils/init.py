"""Modules whose parameters nobody needs the first values of."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

import tiny_torch as torch
from tiny_torch.nn.modules import Module

__all__ = ["skip_init"]

M = TypeVar("M", bound=Module)


def skip_init(module_cls: type[M], *args: Any, **kwargs: Any) -> M:
    """module_cls(*args, **kwargs), for values that are loaded later: no random numbers are used up.

    Raises RuntimeError for what is no Module and for a class without a `device` argument.
    Source: PyTorch, torch.nn.utils.skip_init.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.utils.skip_init(torch.nn.Linear, 4, 3)
    >>> layer.weight.shape
    torch.Size([3, 4])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with torch.random.fork_rng(devices=[]):
        return module_cls(*args, **kwargs)
