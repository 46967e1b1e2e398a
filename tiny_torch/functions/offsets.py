"""Where an array begins in its memory: within vmap, as if each sample were the first."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.writes import reach_of
from tiny_torch.base.modes import thread


def offset_of(array: Any) -> int:
    """The array's offset, less what lies between the first sample of a vmap and its own.

    PyTorch's tensors within vmap hold all samples: one offset, the first sample's, stands for all.
    Raises NotImplementedError where the array may be of two samples, which lie in each other.

    >>> import tiny_torch as torch
    >>> torch.vmap(lambda row: row + row[1:].storage_offset())(torch.zeros(2, 3))
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    if thread.watch is not None:
        thread.watch.note_offset(array)
    for samples in reversed(thread.samples):  # the innermost vmap's first
        shifts = {
            shift // array.dtype.itemsize for sample, shift in samples if lies_in(array, sample)
        }
        if len(shifts) > 1:
            raise NotImplementedError(
                "vmap: the storage offset of a view of two arguments' memory is not supported"
            )
        if shifts:
            return array.offset - shifts.pop()
    return array.offset


def shift_of(batch: Any, dim: int, place: int) -> int:
    """The bytes between a batch's first sample and that at `place`, over all vmaps around."""
    return (place * batch.strides[dim] + batch.offset - offset_of(batch)) * batch.dtype.itemsize


def lies_in(array: Any, whole: Any) -> bool:
    """Whether an array's memory is among another's, from its first byte to its last."""
    if array.storage_id != whole.storage_id:
        return False
    (first, end), (start, stop) = span_of(array), span_of(whole)
    return start <= first and end <= stop


def span_of(array: Any) -> tuple[int, int]:
    """The first byte of an array, and the byte behind its last."""
    end = array.offset + reach_of(array.shape, array.strides)
    return array.offset * array.dtype.itemsize, end * array.dtype.itemsize
