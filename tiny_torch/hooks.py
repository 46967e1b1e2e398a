"""How a hook is added to a tensor, module or optimiser, and taken away again."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from tiny_torch.modes import Scope


class RemovableHandle(Scope):
    """Removes a hook from the dicts that hold it; as a context manager, when the block ends.

    `hooks` holds the hook under `id`; `extras` are further dicts with an entry under the same id.
    All must be OrderedDicts, since plain dicts take no weak references.
    Source: PyTorch, torch.utils.hooks.RemovableHandle.
    """

    _ids = itertools.count()

    def __init__(self, hooks: Any, extras: Sequence[Any] = ()) -> None:
        self.id = next(RemovableHandle._ids)
        self._dicts = tuple(weakref.ref(d) for d in (hooks, *extras))

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        for ref in self._dicts:
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[int, tuple[Any, ...]]:
        return self.id, tuple(ref() for ref in self._dicts)

    def __setstate__(self, state: tuple[int, tuple[Any, ...]]) -> None:
        self.id, dicts = state
        self._dicts = tuple(weakref.ref(d) for d in dicts if d is not None)

    def begin(self) -> RemovableHandle:
        return self

    def restore(self, before: None) -> None:
        self.remove()


def add_hook(
    hooks: OrderedDict[int, Any],
    hook: Any,
    prepend: bool = False,
    marks: Sequence[OrderedDict[int, bool]] = (),
) -> RemovableHandle:
    """Put `hook` last (or first) in `hooks`, and its id into each of `marks`."""
    handle = RemovableHandle(hooks, marks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    for mark in marks:
        mark[handle.id] = True
    return handle
