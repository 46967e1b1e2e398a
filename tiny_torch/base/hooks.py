"""How a hook is added to a tensor, module or optimiser, and taken away again."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from tiny_torch.base.modes import Scope


class RemovableHandle(Scope):
    """Removes a hook from the dicts that hold it; as a context manager, when the block ends.

    `hooks_dict` holds the hook under `id`; `extra_dict`, one or a list, has entries under the same
    id. All must be OrderedDicts, since plain dicts take no weak references.
    Source: PyTorch, torch.utils.hooks.RemovableHandle.
    """

    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        extras = [extra_dict] if isinstance(extra_dict, dict) else extra_dict or ()
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras)

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, int, tuple[Any, ...]]:
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Also from PyTorch's pickles; later ids are above this one."""
        hooks, self.id, *extras = state
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(
            weakref.ref(extra) for extra in (extras[0] if extras else ()) or () if extra is not None
        )

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
    handle = RemovableHandle(hooks, extra_dict=marks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    for mark in marks:
        mark[handle.id] = True
    return handle
