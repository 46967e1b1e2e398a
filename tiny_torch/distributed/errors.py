"""What goes wrong between processes, by PyTorch's names."""

from __future__ import annotations


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
