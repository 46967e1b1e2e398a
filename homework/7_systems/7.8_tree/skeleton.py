"""Task 7.8: broadcast along a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def tree_broadcast(
    rank: int,
    ranks: int,
    root: int,
    value: Any,
    send: Callable[[int, Any], None],
    receive: Callable[[int], Any],
) -> Any:
    """The root's value, at every rank.

    send(to, value) sends to a rank; receive(source) waits for what a rank sends, and answers it.
    """
    raise NotImplementedError("task 7.8: broadcast along a tree")
