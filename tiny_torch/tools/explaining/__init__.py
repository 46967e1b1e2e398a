"""The way of each op of a line, from Python to the kernel: `explain`.

`python -m tiny_torch explain script.py:LINE` tells it of a script's line (command.py, lines.py).

Parts: `watching` (what is noted, and when), `steps` (what the notes say, in words), `rules`
(promotion and broadcasting), `places` (files and lines), `explanation` (text), `page` (HTML).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiny_torch.tools.explaining.explanation import Explanation


def explain(code: str | Callable[[], Any], namespace: dict[str, Any] | None = None) -> Explanation:
    """Runs an expression, statements or a function, and tells the way of each op to its kernel.

    `code`: source, which sees the caller's names or those of `namespace`, or a function without
    arguments. What statements assign stays among themselves. Of each op, in order, and of each node
    if the code runs backward: what it was given (shape, strides, dtype, whether it is a view), how
    dtypes were promoted and shapes broadcast, what came out, what backward keeps, which kernels
    ran, with which instruction set and threads, for how long, what they moved, what was copied. The
    answer prints as text; its `value` is the expression's, `steps` are the ops, `save(path)` writes
    a page. An op is timed again where that has no effect but its result.

    Only this thread's ops are seen, at most 300. Raises SyntaxError for source that is none,
    TypeError for what is neither source nor a function, RuntimeError while a profile or a recording
    of memory is on; and whatever the code raises. PyTorch has no such function.

    >>> import tiny_torch as torch
    >>> a, b = torch.ones(2, 3), torch.ones(2, 4)
    >>> how = torch.utils.explain("a.T @ b")
    >>> [(step.source_text, step.title) for step in how.steps]
    [('a.T', 'aten::permute'), ('a.T @ b', 'aten::mm')]
    >>> how.value.shape
    torch.Size([3, 4])
    >>> how.steps[0].facts["out"]
    ['(3, 2) float32, strides (1, 3), not contiguous: a view of a, no kernel ran']
    """
    from tiny_torch.tools.explaining import explanation  # which loads the ref device

    return explanation.explain_for_caller(code, namespace, sys._getframe(1))


__all__ = ["explain"]
