"""Task 2.7: the order of the backward pass."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.graph import Node


def collect(self: Any, roots: list) -> list[Node]:
    """All nodes behind the roots, the youngest first; counts in self.waiting the edges of leaves.

    An edge is (node or leaf, output number), or None; isinstance(target, Node) tells which.
    """
    raise NotImplementedError("task 2.7: the order of the backward pass")
