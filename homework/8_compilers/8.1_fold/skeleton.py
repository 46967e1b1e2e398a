"""Task 8.1: constants folded."""

from __future__ import annotations

from typing import Any


def fold(expression: Any) -> Any:
    """The expression with all that is known computed; for every input it gives the same bits.

    >>> fold(("add", "x", ("mul", 2.0, 3.0)))
    ('add', 'x', 6.0)
    """
    raise NotImplementedError("task 8.1: constants folded")
