"""`torch.utils.weak`: dicts that hold their keys weakly, and know them by identity.

A tensor is no key of Python's WeakKeyDictionary, whose look-up compares by `==`.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

from tiny_torch.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that equals those to the very same object."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __call__(self) -> Any:
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, its = self(), other() if isinstance(other, WeakIdRef) else None
        return self is other if mine is None or its is None else mine is its


class WeakIdKeyDictionary(MutableMapping):
    """A dict whose entries go when their keys do."""

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        own = weakref.ref(self)

        def forget(reference: Any) -> None:
            found = own()
            if found is not None:
                found.data.pop(reference, None)

        self._forget = forget
        self.update(dict or {})

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # of what there is no weak reference
            return False

    def __iter__(self) -> Iterator:
        return iter([key for key in (reference() for reference in self.data) if key is not None])

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor; a call answers it, or None."""

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
