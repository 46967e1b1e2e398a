"""Task 6.8: sequences side by side."""

from __future__ import annotations

from typing import Any


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Any:
    """Sequences (length, *) as one (longest, batch, *), with batch_first (batch, longest, *)."""
    raise NotImplementedError("task 6.8: sequences side by side")
