"""Task 3.6: gradient descent with momentum."""

from __future__ import annotations

from typing import Any


def _update(self: Any, param: Any, grad: Any, group: Any) -> None:
    """One step of one parameter, in place; its velocity is self.state[param]["momentum_buffer"]."""
    raise NotImplementedError("task 3.6: gradient descent with momentum")
