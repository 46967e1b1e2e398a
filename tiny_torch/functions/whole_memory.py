"""Arrays over the whole of a memory: a storage's, a copy's, a file's."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tiny_torch import _core


def array_of(array: Any, dtype: Any) -> Any:
    """The whole memory of an array, as a 1-d array of a dtype."""
    count = array.storage_nbytes // dtype.itemsize
    if array.dtype is dtype:
        return array.as_strided((count,), (1,), 0)
    return array.reinterpret(dtype, (count,), (1,), 0)


def copy_with_storage(array: Any, memo: dict) -> Any:
    """A copy of an array with all of its storage, which other copies of the same `memo` share."""
    if array.device != "cpu" or not array.storage_nbytes:
        return array.clone()
    copies = memo.setdefault("torch", {})  # where PyTorch has them, too
    key = array.storage_id
    if key not in copies:
        copies[key] = _core.from_bytes(_core.storage_bytes(array), _core.uint8)
    return copies[key].reinterpret(array.dtype, array.shape, array.strides, array.offset)


def map_file(filename: Any, shared: bool, nbytes: int) -> Any:
    """A file's first `nbytes` bytes, as an array of uint8.

    Writes go into the file where it is `shared`, which is made as long as it must be; else the file
    stays as it is. RuntimeError for one that is missing or shorter.
    """
    if shared:
        with open(filename, "ab") as file:
            file.truncate(max(nbytes, file.tell()))
    elif not os.path.isfile(filename):
        raise RuntimeError(
            f"unable to open file <{filename}> in read-only mode: No such file or directory (2)"
        )
    held = os.path.getsize(filename)
    if not shared and nbytes > held:
        raise RuntimeError(
            f"file <{filename}> size <{held}> is smaller than the required mapping size <{nbytes}>"
        )
    if not nbytes:
        return _core.empty((0,), _core.uint8)
    return _core.from_numpy(np.memmap(filename, np.uint8, "r+" if shared else "c", 0, (nbytes,)))
