"""`torch.utils.hooks`: the handle that registering a hook answers, and a mark of hooks."""

from __future__ import annotations

from typing import Any

from tiny_torch.base.hooks import RemovableHandle


def unserializable_hook(f: Any) -> Any:
    """Marks a hook as one that is known not to be saved, and answers it."""
    f.__torch_unserializable__ = True
    return f


__all__ = ["RemovableHandle", "unserializable_hook"]
