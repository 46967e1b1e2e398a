"""`torch.cuda.nvtx`: ranges on the time line of NVIDIA's tools, as in a PyTorch without CUDA.

Packages decorate functions by `range` at their import; each raises RuntimeError once it is called.
https://docs.pytorch.org/docs/stable/cuda.html#nvidia-tools-extension-nvtx
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def absent(name: str) -> Callable[..., Any]:
    def call(*arguments: Any, **keywords: Any) -> Any:
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Raises RuntimeError: tiny_torch marks no ranges for other tools."
    return call


mark, range_push, range_pop = absent("mark"), absent("range_push"), absent("range_pop")
range_start, range_end = absent("range_start"), absent("range_end")


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block, or a decorated function, as a range. Raises RuntimeError when it begins."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
