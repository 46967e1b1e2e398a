"""Tensors from numbers, nested sequences, NumPy arrays and buffers."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.base.arguments import wrong_kind
from tiny_torch.base.devices import default, to_device
from tiny_torch.base.dtypes import check_elements, check_range
from tiny_torch.functions.creation.dlpack import from_cuda_array, from_dlpack
from tiny_torch.functions.creation.fill import (
    as_dtype,
    check_differentiable,
    check_options,
    finish,
    int64,
)
from tiny_torch.functions.public import function
from tiny_torch.tensor import Tensor, wrap

MOST_DIMS = 128
PLAIN = {bool, float, int, list, tuple}

# plain_array(data, dtype=None): a number, or nested lists of numbers, as an array of bool, int64,
# float32 or float64; None where there is more to ask.
plain_array = _core.plain_array


@function
def tensor(
    data: object,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A copy of data: numbers, nested sequences, NumPy arrays or tensors.

    Ints become int64, floats the default dtype, bools bool. Raises ValueError for ragged
    sequences, TypeError and RuntimeError for what is no number.
    https://pytorch.org/docs/stable/generated/torch.tensor.html

    >>> import tiny_torch as torch
    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if pin_memory:
        check_options("tensor", None, pin_memory)
    if dtype is not None:
        dtype = as_dtype("tensor", dtype)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            "torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    array = from_data(data, dtype)
    if type(data) not in PLAIN and is_array_like(data):  # whose memory it may have
        array = array.clone()
    array = place_on(array, device)
    return finish(array, requires_grad, pin_memory)


def place_on(array: Any, where: Any) -> Any:
    """The array on a device; on the default one where none is named."""
    where = default.device if where is None else where
    return array if where is None else to_device(array, where)


def from_data(data: Any, dtype: Any):
    """An NDArray of numbers, nested sequences or NumPy data; it may share memory."""
    array = plain_array(data, dtype)
    if array is not None:
        return array
    if isinstance(data, Tensor):
        array = data.array
        return array if dtype is None or array.dtype is dtype else array.astype(dtype)
    if type(data) in (list, tuple) and data:
        if type(data) is list and isinstance(data[0], np.ndarray):
            warn_of_arrays()
        # Numbers that an integer may not hold are looked at one by one.
        if dtype is None or dtype.is_floating_point:
            array = stack_arrays(data)
            data = data if array is None else array
    if isinstance(data, np.ndarray):
        # Of a read-only array nothing is said: what is shared is copied after.
        array = _core.from_numpy(data if data.flags.writeable else data.copy())
        return array if dtype is None or array.dtype is dtype else array.astype(dtype)
    refuse_text(data)
    if hasattr(data, "__cuda_array_interface__"):
        array = from_cuda_array(data)
        return array if dtype is None or array.dtype is dtype else array.astype(dtype)
    sizes = sizes_of(data)
    leaves = Leaves(len(sizes))
    leaves.collect(data, sizes)
    if dtype is None:
        dtype = leaves.dtype()
    flat = flat_array(leaves.values, dtype) if leaves.values else _core.empty((0,), dtype)
    return flat if len(sizes) == 1 else flat.view(sizes)


def is_array_like(data: Any) -> bool:
    return isinstance(data, np.ndarray | Tensor) or hasattr(data, "__cuda_array_interface__")


def is_sequence(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return True
    if isinstance(data, Tensor | dict | np.generic | int | float):  # an IntEnum's class has items
        return False
    if isinstance(data, np.ndarray):
        return data.ndim > 0
    _core.refuse_pytorchs(data)
    return hasattr(type(data), "__getitem__") and hasattr(type(data), "__len__")


@functools.cache
def warn_of_arrays() -> None:
    """Once, of a list of arrays: PyTorch is slow there, and says so."""
    warnings.warn(
        "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
        "converting the list to a single numpy.ndarray with numpy.array() before converting to a "
        "tensor.",
        stacklevel=4,
    )


def sizes_of(data: Any) -> tuple:
    """The shape that the first elements of nested sequences show."""
    sizes: list[int] = []
    while is_sequence(data):
        sizes.append(len(data))
        if len(sizes) > MOST_DIMS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if sizes[-1] == 0:
            break
        data = data[0]
    return tuple(sizes)


def stack_arrays(rows: Any) -> np.ndarray | None:
    """What nested lists of arrays hold; None where these are not of one shape and dtype."""
    if type(rows[0]) in (list, tuple):
        rows = [stack_arrays(row) if type(row) in (list, tuple) and row else None for row in rows]
    first = rows[0]
    if type(first) is not np.ndarray or not first.dtype.isnative or not (first.ndim and first.size):
        return None
    dtype, shape = first.dtype, first.shape
    alike = all(type(x) is np.ndarray and x.shape == shape and x.dtype == dtype for x in rows)
    return np.stack(rows) if alike else None


class Leaves:
    """The numbers of nested sequences, and what tells their common dtype."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.values: list = []  # an array's as numbers of Python
        self.kinds: dict = {}  # of each type of value, and of each dtype of an array, one of it

    def collect(self, data: Any, sizes: tuple) -> None:
        """Appends the numbers of nested sequences of that shape."""
        refuse_text(data)
        if not sizes:
            self.values.append(data)
            self.kinds[type(data)] = data
            return
        if not is_sequence(data):
            raise TypeError("not a sequence")
        if type(data) is np.ndarray:
            self.kinds[data.dtype] = data
            if data.shape == sizes:
                self.values.extend(data.ravel().tolist())
                return
        if 0 in sizes:  # as in PyTorch, whatever the lengths
            self.kinds.update((row.dtype, row) for row in data if type(row) is np.ndarray)
            return
        if len(data) != sizes[0]:
            dim = self.depth - len(sizes)
            raise ValueError(
                f"expected sequence of length {sizes[0]} at dim {dim} (got {len(data)})"
            )
        if len(sizes) == 1:
            self.values.extend(data)
            self.kinds.update(zip(map(type, data), data, strict=True))
        else:
            for row in data:
                self.collect(row, sizes[1:])

    def dtype(self) -> Any:
        """The dtype that holds all; the default one for none."""
        kinds = self.kinds.keys()
        if float in kinds and kinds <= {float, int, bool}:  # the common case, at once
            return _core.get_default_dtype()
        if kinds == {int}:
            return int64
        dtypes = set(map(dtype_of_leaf, self.kinds.values()))
        if any(isinstance(kind, type) and issubclass(kind, Tensor) for kind in kinds):
            dtypes |= {leaf.array.dtype for leaf in self.values if isinstance(leaf, Tensor)}
        return functools.reduce(_core.promote_types, dtypes or {_core.get_default_dtype()})


def refuse_text(data: Any) -> None:
    if isinstance(data, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")


def dtype_of_leaf(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        return leaf.array.dtype
    if isinstance(leaf, np.generic | np.ndarray):
        return _core.from_numpy(np.empty(0, leaf.dtype.newbyteorder("="))).dtype
    if isinstance(leaf, bool):
        return _core.bool
    if isinstance(leaf, int):
        return int64
    if isinstance(leaf, float):
        return _core.get_default_dtype()
    if isinstance(leaf, complex):
        raise NotImplementedError("complex numbers are not in tiny_torch")
    refuse_text(leaf)
    if is_sequence(leaf):
        raise TypeError(f"'{type(leaf).__name__}' object cannot be interpreted as a number")
    raise RuntimeError(f"Could not infer dtype of {type(leaf).__name__}")


def flat_array(leaves: list, dtype: Any) -> Any:
    """A 1-d NDArray of numbers. RuntimeError or ValueError where one does not fit an integer."""
    if not set(map(type, leaves)) <= {float, int, bool}:
        leaves = [leaf_number(leaf, dtype) for leaf in leaves]
    if dtype is _core.bool or dtype is _core.float64:
        return _core.numbers(leaves, dtype)
    if dtype.is_floating_point:
        array = _core.numbers(leaves, _core.float32)
        return array if array.dtype is dtype else array.astype(dtype)
    floats = [leaf for leaf in leaves if type(leaf) is float]
    if floats:
        check_range(min(floats), dtype)
        check_range(max(floats), dtype)
    try:
        array = _core.numbers([int(leaf) for leaf in leaves], int64)
    except (OverflowError, ValueError) as error:  # ValueError: of NaN
        if isinstance(error, OverflowError) and not floats:
            raise ValueError("Overflow when unpacking long long") from None
        raise RuntimeError(
            f"value cannot be converted to type {dtype.name} without overflow"
        ) from None
    if dtype is int64:
        return array
    check_elements(array.numpy(), dtype)
    return array.astype(dtype)


def leaf_number(leaf: Any, dtype: Any) -> Any:
    """A Python number of what counts as one."""
    if isinstance(leaf, Tensor):
        one_integer = leaf.numel() == 1 and not leaf.is_floating_point()
        if not dtype.is_floating_point and not one_integer:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        if leaf.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return leaf.item()
    if isinstance(leaf, np.generic):
        return leaf.item()
    if isinstance(leaf, str | bytes) or is_sequence(leaf):
        dtype_of_leaf(leaf)  # raises
    if not isinstance(leaf, int | float | np.ndarray):
        name = type(leaf).__name__
        if dtype.is_floating_point:
            raise TypeError(f"must be real number, not {name}")
        raise TypeError(f"'{name}' object cannot be interpreted as an integer")
    return leaf


@function
def as_tensor(data: object, *, dtype: Any = None, device: Any = None) -> Tensor:
    """data itself, or a tensor that shares its memory, where dtype and device allow it.

    https://pytorch.org/docs/stable/generated/torch.as_tensor.html
    """
    dtype = as_dtype("as_tensor", dtype)
    if isinstance(data, Tensor):
        return data.to(device=default.device if device is None else device, dtype=dtype)
    array = from_data(data, dtype)
    if device is None and type(data) is not list and array.device == "cuda":
        # of another library: it stays where it is
        return wrap(array)
    return wrap(place_on(array, device))


@function
def asarray(
    obj: object,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """A tensor of a tensor, a NumPy array or scalar, a DLPack object, a buffer, or a sequence.

    It shares memory where it can; `copy=True` never does, `copy=False` raises ValueError where it
    cannot. `requires_grad` is None for that of a tensor; False detaches, True keeps its history.
    https://pytorch.org/docs/stable/generated/torch.asarray.html
    """
    dtype = as_dtype("asarray", dtype)
    shares = True
    if isinstance(obj, Tensor):
        result = obj
    elif isinstance(obj, np.ndarray):
        result = from_numpy(obj)
    elif isinstance(obj, np.generic):
        if copy is False:
            raise RuntimeError(
                "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "
            )
        shares, result = False, wrap(from_data(obj, None))
    elif hasattr(obj, "__dlpack__"):
        result = from_dlpack(obj)
    elif hasattr(obj, "__cuda_array_interface__"):
        result = wrap(from_cuda_array(obj))
    elif is_buffer(obj):
        result = frombuffer(obj, dtype=dtype or _core.get_default_dtype())
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        shares, result = False, wrap(from_data(obj, dtype))
    wanted = result.to(device=default.device if device is None else device, dtype=dtype)
    if wanted is not result and copy is False:
        raise ValueError(
            f"can't alias tensor with dtype '{result.dtype}' and device '{result.device}' into "
            f"dtype '{wanted.dtype}' and device '{wanted.device}'."
        )
    if wanted is result and copy and shares:
        wanted = result.clone()
    if requires_grad is False and not wanted.is_leaf:
        return wanted.detach()
    return wanted if requires_grad is None else wanted.requires_grad_(requires_grad)


def is_buffer(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


class Writable:
    """An array's memory, which NumPy takes to be writable: `frombuffer` warns where it is not."""

    def __init__(self, array: np.ndarray) -> None:
        self.owner = array
        address = array.__array_interface__["data"][0]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}


@function
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-d tensor on the memory of bytes, a bytearray, an array.array or another buffer.

    `count` elements (all that follow if it is negative) from byte `offset`. Raises ValueError where
    the buffer does not hold them. https://pytorch.org/docs/stable/generated/torch.frombuffer.html

    >>> import tiny_torch as torch
    >>> torch.frombuffer(bytearray(b"\\1\\2\\3"), dtype=torch.uint8)
    tensor([1, 2, 3], dtype=torch.uint8)
    """
    dtype = as_dtype("frombuffer", dtype)
    if dtype is None:
        raise wrong_kind("frombuffer", "dtype", "torch.dtype", dtype)
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not view.c_contiguous:
        raise RuntimeError("could not retrieve buffer from object")
    check_differentiable(dtype, requires_grad)
    size, length = dtype.itemsize, view.nbytes
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size != 0:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({size})"
        )
    count = (length - offset) // size if count < 0 else count
    if count * size > length - offset:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({length} bytes)"
        )
    if view.readonly:
        warnings.warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. "
            "This means you can write to the underlying (supposedly non-writable) buffer using the "
            "tensor. You may want to copy the buffer to protect its data or make it writable "
            "before converting it to a tensor.",
            stacklevel=2,
        )
    data = np.frombuffer(view, np.uint8, count * size, offset)
    array = _core.from_numpy(np.asarray(Writable(data)))
    return finish(array.reinterpret(dtype, (count,), (1,), 0), requires_grad)


@function
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor on the memory of a NumPy array.

    Raises TypeError for anything else or an unknown dtype, ValueError for negative strides.
    https://pytorch.org/docs/stable/generated/torch.from_numpy.html
    """
    return wrap(_core.from_numpy(ndarray))
