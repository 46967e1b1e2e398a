"""`torch.distributed.elastic.multiprocessing.errors`: the decorator of a launched script's main.

The launcher shows the first failing rank's traceback whether or not `main` is decorated.
https://docs.pytorch.org/docs/stable/elastic/errors.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def record(fn: F, error_handler: Any = None) -> F:
    """The function itself: its traceback reaches the launcher as it is."""
    return fn


__all__ = ["record"]
