"""What goes wrong between processes, by PyTorch's names."""

from __future__ import annotations

from typing import Any


class DistError(RuntimeError):
    """An error of `torch.distributed`."""


class DistBackendError(DistError):
    """A collective that could not be finished: who is missing, or does something else."""


class DistNetworkError(DistError):
    """A connection that could not be made, or broke."""


class DistStoreError(DistError):
    """A key of a store that nobody set in time, or a store that could not be opened."""


class QueueEmptyError(DistStoreError):
    """A store's queue that has nothing."""


def refuse(name: str, **given: Any) -> None:
    """NotImplementedError for the first argument that has another value than PyTorch's default."""
    for argument, (value, default) in given.items():
        if value != default:
            raise NotImplementedError(f"{name}: {argument}={value!r} is not in tiny_torch")
