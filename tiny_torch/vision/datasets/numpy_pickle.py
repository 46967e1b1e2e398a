"""Pickles of dicts of text, numbers and NumPy arrays of bytes, from any source.

The unpickler of `tiny_torch.exchange` interprets the opcodes. The names of NumPy in such a
file stand for the small classes here, so that nothing of NumPy runs on what a file says.
"""

from __future__ import annotations

import math
import os
from pickle import UnpicklingError
from typing import Any, NoReturn

import numpy as np

from tiny_torch.exchange.unpickler import Allowed, Unpickler

MOST_BYTES = 2**28  # the largest of CIFAR's files has 2**27.2


class _Dtype:
    """What `numpy.dtype` stands for: uint8 alone."""

    def __init__(self, name: object, *_: object) -> None:
        if name not in ("u1", "|u1", "uint8"):
            raise UnpicklingError(f"an array of {name!r}, not of bytes")

    def __setstate__(self, state: object) -> None:
        """Byte order and fields, which bytes do not have."""


class _Array:
    """What `numpy.ndarray` stands for, until its state says shape and bytes."""

    value: np.ndarray | None = None

    def __setstate__(self, state: object) -> None:
        if type(state) is not tuple or len(state) != 5:
            raise UnpicklingError(
                "an array whose state is not (version, shape, dtype, order, data)"
            )
        _, shape, dtype, fortran, data = state
        if type(shape) is not tuple or any(type(size) is not int or size < 0 for size in shape):
            raise UnpicklingError("an array whose shape is no tuple of sizes")
        if type(data) is str:  # of Python 2
            data = data.encode("latin1")
        if type(dtype) is not _Dtype or type(data) is not bytes:
            raise UnpicklingError("an array that is not made of bytes")
        if len(data) != math.prod(shape):
            raise UnpicklingError(f"an array of shape {shape}, but {len(data)} bytes")
        self.value = np.frombuffer(data, np.uint8).reshape(shape, order="F" if fortran else "C")


def _encode(text: object, encoding: object) -> bytes:
    """`_codecs.encode`, as Python 3 writes bytes for Python 2."""
    if type(text) is not str or encoding != "latin1":
        raise UnpicklingError("text that stands for bytes must be latin1")
    return text.encode("latin1")


def _array_of(kind: object, *_: object) -> _Array:
    if kind is not _Array:
        raise UnpicklingError("an array of another class")
    return _Array()


_ARRAY = Allowed("numpy's _reconstruct", _array_of)
_GLOBALS = {
    "numpy.core.multiarray._reconstruct": _ARRAY,
    "numpy._core.multiarray._reconstruct": _ARRAY,
    "numpy.ndarray": Allowed(_Array, of_user=True),
    "numpy.dtype": Allowed(_Dtype, _Dtype, of_user=True),
    "_codecs.encode": Allowed(_encode, _encode),
}


def _find_global(name: str) -> Allowed:
    if name not in _GLOBALS:
        raise UnpicklingError(f"names {name!r}, which a file of bytes, text and numbers does not")
    return _GLOBALS[name]


def _refuse(id: object) -> NoReturn:
    raise UnpicklingError("names an object outside of the file")


def load_arrays(path: str) -> dict[Any, Any]:
    """The dict in a pickle of protocol 2 to 5; its arrays are read-only uint8.

    Raises RuntimeError that names the file if it holds anything else, or is damaged.

    >>> import os, pickle, tempfile
    >>> import numpy as np
    >>> from tiny_torch.datasets.numpy_pickle import load_arrays
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "batch")
    ...     with open(path, "wb") as file:
    ...         pickle.dump({"data": np.arange(3, dtype="uint8"), "labels": [1]}, file, protocol=2)
    ...     load_arrays(path)
    {'data': array([0, 1, 2], dtype=uint8), 'labels': [1]}
    """
    if os.path.getsize(path) > MOST_BYTES:
        raise RuntimeError(f"{path}: {os.path.getsize(path)} bytes, at most {MOST_BYTES} are read")
    with open(path, "rb") as file:
        data = file.read()
    try:
        entry = Unpickler(data, _find_global, _refuse, encoding="latin1").load()
    except (UnpicklingError, MemoryError, TypeError) as error:  # TypeError: arguments for a class
        raise RuntimeError(f"{path}: {error}") from None
    if type(entry) is not dict:
        raise RuntimeError(f"{path}: holds no dict")
    arrays = {key: value for key, value in entry.items() if type(value) is _Array}
    if any(array.value is None for array in arrays.values()):
        raise RuntimeError(f"{path}: an array without shape and bytes")
    return {**entry, **{key: array.value for key, array in arrays.items()}}
