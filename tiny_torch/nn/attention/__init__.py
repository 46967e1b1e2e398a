"""`torch.nn.attention`: which way scaled_dot_product_attention is computed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(Enum):
    """Ways to compute attention. Here MATH is made of simple ops; all others are one kernel.

    Source: PyTorch, torch.nn.attention.SDPBackend.
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return self.value


class _Allowed(threading.local):
    backends: tuple[SDPBackend, ...] = tuple(SDPBackend)


_allowed = _Allowed()


def only_composed() -> bool:
    """Whether the kernel is not to be used. RuntimeError if neither it nor MATH may be."""
    backends = _allowed.backends
    if SDPBackend.FLASH_ATTENTION in backends:
        return False
    if SDPBackend.MATH not in backends:
        raise RuntimeError("No viable backend for scaled_dot_product_attention was found.")
    return True


@contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict]:
    """Within it attention is computed in one of these ways: by the kernel if FLASH_ATTENTION is in.

    Raises AssertionError for anything else.
    Source: PyTorch, torch.nn.attention.sdpa_kernel.

    >>> import tiny_torch as torch
    >>> with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    ...     x = torch.nn.functional.scaled_dot_product_attention(*torch.ones(3, 1, 2))
    >>> x
    tensor([[1., 1.]])
    """
    if not isinstance(backends, list | SDPBackend):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    before = _allowed.backends
    _allowed.backends = (backends,) if isinstance(backends, SDPBackend) else tuple(backends)
    try:
        yield {}
    finally:
        _allowed.backends = before
