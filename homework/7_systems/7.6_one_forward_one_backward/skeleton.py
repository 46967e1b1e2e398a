"""Task 7.6: one forward, one backward."""

from __future__ import annotations


def one_forward_one_backward(
    stage: int, stages: int, microbatches: int
) -> list[tuple[str, int, int]]:
    """(kind, stage, microbatch) of what a stage computes, in order; the kind is "F" or "B".

    >>> one_forward_one_backward(1, 3, 3)
    [('F', 1, 0), ('F', 1, 1), ('B', 1, 0), ('F', 1, 2), ('B', 1, 1), ('B', 1, 2)]
    """
    raise NotImplementedError("task 7.6: one forward, one backward")
