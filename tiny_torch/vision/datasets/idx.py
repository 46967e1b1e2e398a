"""The IDX format of MNIST: a magic number, sizes, bytes. Its files may be packed by gzip.

    00 00 08 03 | 00 00 27 10 | 00 00 00 1c | 00 00 00 1c | 10,000 x 28 x 28 bytes

The third byte is the dtype (08: uint8, the only one here), the fourth the number of sizes, which
follow as big-endian 32-bit numbers. Source: http://yann.lecun.com/exdb/mnist/
"""

from __future__ import annotations

import gzip
import math
import zlib
from typing import BinaryIO, cast

import numpy as np

import tiny_torch as torch

MOST_BYTES = 2**30  # a larger file is none of these sets
BLOCK = 2**20


def read_idx(path: str, shape: tuple[int, ...]) -> torch.Tensor:
    """The uint8 tensor of an IDX file, (N, *shape); `.gz` files are unpacked in memory.

    Raises RuntimeError that names the file if it is not of this shape, short, too long or damaged.

    >>> import os, tempfile
    >>> from tiny_torch.datasets.idx import read_idx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "labels")
    ...     with open(path, "wb") as file:
    ...         _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    ...     read_idx(path, ())
    tensor([7, 2, 1], dtype=torch.uint8)
    """
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        try:
            return torch.from_numpy(_parse(cast(BinaryIO, file), shape))
        except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise RuntimeError(f"{path}: {error}") from None


def _parse(file: BinaryIO, shape: tuple[int, ...]) -> np.ndarray:
    dims = 1 + len(shape)
    magic = _read(file, 4)
    if magic != bytes([0, 0, 8, dims]):
        raise ValueError(f"begins with {magic.hex(' ')}, not with 00 00 08 {dims:02x}")
    header = _read(file, 4 * dims)
    sizes = tuple(int.from_bytes(header[i : i + 4], "big") for i in range(0, 4 * dims, 4))
    if sizes[1:] != shape:
        raise ValueError(f"elements of shape {sizes[1:]}, expected {shape}")
    count = math.prod(sizes)
    if count > MOST_BYTES:
        raise ValueError(f"{count} bytes, at most {MOST_BYTES} are read")
    data = _read(file, count)
    if file.read(1):
        raise ValueError(f"more than the {count} bytes that its header says")
    return np.frombuffer(data, np.uint8).reshape(sizes)


def _read(file: BinaryIO, count: int) -> bytearray:
    """That many bytes: memory grows with what the file has, not with what its header says."""
    data = bytearray()
    while len(data) < count:
        block = file.read(min(BLOCK, count - len(data)))
        if not block:
            raise ValueError(f"ends {count - len(data)} bytes short")
        data += block
    return data
