"""What `torch.cuda` says of its first use; alone, because looking for a GPU starts its driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch.base.devices import cuda_count

_initialized = cuda_count() > 0  # a GPU that is here is used from the first import on


def _lazy_call(callable: Callable[[], Any], **kwargs: Any) -> None:
    """Calls it where there is a GPU; elsewhere it would wait for one for ever."""
    if _initialized:
        callable()
