"""Making tensors that are filled by a rule. From data: from_data.py; sequences: ranges.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.autograd.view import LEAF
from tiny_torch.base import layouts
from tiny_torch.base.arguments import as_ints, as_number, check_bool, wrong_kind
from tiny_torch.base.devices import array_module, cuda_count, pin
from tiny_torch.base.docstrings import give_name
from tiny_torch.base.dtypes import HALVES, RANGES, check_range
from tiny_torch.base.layouts import contiguous_strides
from tiny_torch.base.switches import settings
from tiny_torch.functions.common import check_given, check_kind, check_tensor, refuse_history
from tiny_torch.functions.public import function, method
from tiny_torch.tensor import Tensor, wrap

int64 = _core.int64
are_ints = _core.are_ints  # (values): whether it is a tuple of ints
are_sizes = _core.are_sizes  # the same, and that none is negative
PYTHON_TYPES: dict[Any, Any] = {float: _core.float64, int: _core.int64, bool: _core.bool}


def check_differentiable(dtype: Any, requires_grad: Any) -> None:
    if requires_grad and not dtype.is_floating_point:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")


def finish(
    array: Any, requires_grad: Any = False, pin_memory: Any = False, function: str = "tensor"
) -> Tensor:
    if requires_grad is not False and requires_grad is not None:
        check_bool(function, "requires_grad", None, requires_grad)
    check_differentiable(array.dtype, requires_grad)
    if pin_memory:
        array = pin(array)
    return wrap(array, LEAF if requires_grad else None)


def fill_unset(array: Any) -> None:
    """Gives what nobody has written known values: where `settings.fills` wants it."""
    dtype = array.dtype
    array.copy_(math.nan if dtype.is_floating_point else RANGES[dtype][2])


def check_options(function: str, layout: Any, pin_memory: Any) -> None:
    """Only strided tensors exist here; memory is pinned for a GPU."""
    if layout is not None:
        check_kind(function, "layout", None, layout, "torch.layout", layouts.layout)
        if layout is not layouts.strided:
            raise NotImplementedError(
                f"{function}: layout={layout}; it makes strided tensors, and "
                "torch.sparse_coo_tensor and Tensor.to_sparse sparse ones"
            )
    if pin_memory is not None:
        check_bool(function, "pin_memory", None, pin_memory)
    if pin_memory and not cuda_count():
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
            "allocator is available on this system."
        )


def as_sizes(function: str, size: tuple, named: Any = None) -> tuple:
    """Sizes given one by one, as one sequence or by name; ints, of which none is negative."""
    if named is not None:
        size = (named,)
    if size and are_sizes(size):
        return size
    check_given(function, "size", size)
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    if are_sizes(size):
        return size
    for value in (sizes := as_ints(function, "size", None, size)):
        if value < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {value}: {list(size)}"
            )
    return sizes


def as_dtype(function: str, dtype: Any) -> Any:
    """A dtype, which may be given as Python's float, int or bool; None for None."""
    if dtype is None or isinstance(dtype, _core.dtype):
        return dtype
    if isinstance(dtype, type) and dtype in PYTHON_TYPES:
        return PYTHON_TYPES[dtype]
    raise wrong_kind(function, "dtype", "torch.dtype", dtype)


def new_filled(function, shape, value, dtype, device, requires_grad, layout=None, pin_memory=False):
    if layout is not None or pin_memory is not False:
        check_options(function, layout, pin_memory)
    module = array_module(device)
    if dtype is not None:
        dtype = as_dtype(function, dtype)
    if dtype is None:
        dtype = _core.get_default_dtype()
    array = module.empty(shape, dtype) if value is None else module.full(shape, value, dtype)
    if value is None and settings.fills:
        fill_unset(array)
    plain = requires_grad is False and not pin_memory
    return wrap(array) if plain else finish(array, requires_grad, pin_memory, function)


def filled_with(value: int, name: str, doc: str) -> Callable[..., Tensor]:
    """torch.zeros and torch.ones."""

    @function
    @give_name(name, doc)
    def fill(
        *sizes: Any,
        size: Any = None,
        out: Tensor | None = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        shape = as_sizes(name, sizes, size)
        if out is not None:
            return fill_out(name, out, shape, value, dtype)
        return new_filled(name, shape, value, dtype, device, requires_grad, layout, pin_memory)

    return fill


zeros = filled_with(
    0,
    "zeros",
    """A tensor of zeros. https://pytorch.org/docs/stable/generated/torch.zeros.html

    >>> import tiny_torch as torch
    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """,
)
ones = filled_with(
    1,
    "ones",
    "A tensor of ones. https://pytorch.org/docs/stable/generated/torch.ones.html",
)


@function
def empty(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor whose elements are whatever the memory held."""
    shape = as_sizes("empty", sizes, size)
    if out is not None:
        return fill_out("empty", out, shape, None, dtype)
    if memory_format is None:
        return new_filled("empty", shape, None, dtype, device, requires_grad, layout, pin_memory)
    check_options("empty", layout, pin_memory)
    layouts.check_format("empty", memory_format)
    dtype = as_dtype("empty", dtype) or _core.get_default_dtype()
    array = layouts.empty_in_format(shape, dtype, memory_format, device)
    if settings.fills:
        fill_unset(array)
    return finish(array, requires_grad, pin_memory)


@function
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """An uninitialised tensor of that shape and those strides; elements may share memory.

    https://pytorch.org/docs/stable/generated/torch.empty_strided.html

    >>> import tiny_torch as torch
    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    check_options("empty_strided", layout, pin_memory)
    dtype = as_dtype("empty_strided", dtype) or _core.get_default_dtype()
    shape = as_ints("empty_strided", "size", 1, size)
    strides = as_ints("empty_strided", "stride", 2, stride)
    as_sizes("empty_strided", (shape,))
    if len(shape) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides "
            f"({len(strides)})"
        )
    if any(step < 0 for step in strides):
        raise RuntimeError(
            "Storage size calculation overflowed with sizes="
            f"{list(shape)} and strides={list(strides)}"
        )
    last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    count = 0 if 0 in shape else last + 1
    flat = array_module(device).empty((count,), dtype)
    if settings.fills:
        fill_unset(flat)  # not what shows it: its elements may share memory
    return finish(flat.as_strided(shape, strides, 0), requires_grad, pin_memory)


def resize_array(self: Tensor, shape: tuple, strides: tuple) -> Tensor:
    """self, looking at its memory with other sizes; the memory grows where that needs more."""
    array = self.array
    count = math.prod(shape)
    if count:
        before = array.storage_nbytes // array.itemsize
        array.grow_memory((array.offset + count) * array.itemsize)
        more = array.offset + count - before
        if more > 0 and settings.fills:
            fill_unset(array.reinterpret(array.dtype, (more,), (1,), before))
    array.mark_written()  # PyTorch counts it; refused of an inference tensor outside its mode
    offset = array.offset if count else min(array.offset, array.storage_nbytes // array.itemsize)
    self.array = array.reinterpret(array.dtype, shape, strides, offset)
    return self


def dtype_of(out: Tensor | None, function: str, dtype: Any, position: int = 1) -> Any:
    """out's dtype, where there is one; RuntimeError where `dtype` is another."""
    dtype = as_dtype(function, dtype)
    if out is None:
        return dtype
    _core.check_tensor(function, "out", position, out)
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(f"dtype {dtype} does not match dtype of out parameter ({out.dtype})")
    return out.dtype


def fill_out(function: str, out: Tensor, shape: tuple, value: Any, dtype: Any) -> Tensor:
    dtype_of(out, function, dtype, 2)
    refuse_history(f"{function}(): ", out)
    if shape != out.array.shape:
        resize_array(out, shape, contiguous_strides(shape))
    return out if value is None else out.fill_(value)


@function
def full(
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of one value; its dtype follows from the value's type.

    https://pytorch.org/docs/stable/generated/torch.full.html
    """
    shape = size if are_sizes(size) else as_sizes("full", (as_ints("full", "size", 1, size),))
    fill_value = as_number("full", "fill_value", 2, fill_value)
    if out is not None:
        return fill_out("full", out, shape, fill_value, dtype)
    dtype = as_dtype("full", dtype)
    if dtype is None:
        dtype = dtype_of_number(fill_value)
    check_range(fill_value, dtype)
    return new_filled("full", shape, fill_value, dtype, device, requires_grad, layout, pin_memory)


@function
def scalar_tensor(
    s: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A 0-d tensor of a number, of the default dtype whatever the number's type."""
    value = as_number("scalar_tensor", "s", 1, s)
    dtype = as_dtype("scalar_tensor", dtype) or _core.get_default_dtype()
    if dtype not in HALVES:  # beyond those it is infinity, as in PyTorch
        check_range(value, dtype)
    return new_filled("scalar_tensor", (), value, dtype, device, requires_grad, layout, pin_memory)


def dtype_of_number(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return _core.bool
    if isinstance(value, float | np.floating):
        return _core.get_default_dtype()
    return int64


def like(
    function,
    input,
    value,
    dtype,
    device,
    requires_grad,
    layout,
    memory_format,
    pin_memory=False,
):
    if layout is not None or pin_memory is not False:
        check_options(function, layout, pin_memory)
    check_tensor(function, "input", 1, input)
    array = input.array
    if dtype is not None:
        dtype = as_dtype(function, dtype)
    if memory_format is None or memory_format is layouts.preserve_format:
        result = array.empty_like(dtype)
    else:
        layouts.check_format(function, memory_format)
        result = layouts.empty_in_format(
            array.shape, dtype or array.dtype, memory_format, array.device
        )
    if device is not None and array_module(device) is not array_module(array.device):
        result = array_module(device).empty_strided(result.shape, result.strides, result.dtype)
    if value is not None:
        result.copy_(value)
    elif settings.fills:
        fill_unset(result)
    plain = not requires_grad and not pin_memory
    return wrap(result) if plain else finish(result, requires_grad, pin_memory)


def like_with(value: int | None, name: str, what: str) -> Callable[..., Tensor]:
    """torch.empty_like, zeros_like and ones_like."""

    @function
    @as_one
    @give_name(name, f"{what} of the shape, dtype and (dense) strides of `input`.")
    def fill(
        input: Tensor,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        return like(
            name, input, value, dtype, device, requires_grad, layout, memory_format, pin_memory
        )

    return fill


empty_like = like_with(None, "empty_like", "An uninitialised tensor")
zeros_like = like_with(0, "zeros_like", "Zeros")
ones_like = like_with(1, "ones_like", "Ones")


@function
@as_one
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """One value, in the shape, dtype and (dense) strides of `input`."""
    value = as_number("full_like", "fill_value", 2, fill_value)
    result = like(
        "full_like", input, None, dtype, device, requires_grad, layout, memory_format, pin_memory
    )
    check_range(value, result.dtype)
    result.array.copy_(value)
    return result


# ------------------------------------------------------------------------------------ x.new_*(...)


def new(name: str, value: Any) -> Any:
    """x.new_zeros(...) and its kin: shape as given, dtype and device of x."""

    @method
    @give_name(
        name,
        "A tensor with this one's dtype and device, of another size.\n\n"
        f"https://pytorch.org/docs/stable/generated/torch.Tensor.{name}.html",
    )
    def fill(
        self: Tensor,
        *sizes: Any,
        size: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        shape = as_sizes(name, sizes, size)
        dtype, device = dtype or self.array.dtype, device or self.array.device
        return new_filled(name, shape, value, dtype, device, requires_grad, layout, pin_memory)

    return fill


@method
def new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of one value, with this one's dtype and device."""
    value = as_number("new_full", "fill_value", 2, fill_value)
    dtype = as_dtype("new_full", dtype) or self.array.dtype
    check_range(value, dtype)
    shape = as_sizes("new_full", (as_ints("new_full", "size", 1, size),))
    device = device or self.array.device
    return new_filled("new_full", shape, value, dtype, device, requires_grad, layout, pin_memory)


for _name, _value in (("new_empty", None), ("new_zeros", 0), ("new_ones", 1)):
    new(_name, _value)
