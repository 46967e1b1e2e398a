"""Making tensors that are filled by a rule. From data: from_data.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.autograd.graph import LEAF
from tiny_torch.devices import array_module, to_device
from tiny_torch.ops.public import resize_out
from tiny_torch.tensor import Tensor, wrap

int64 = _core.int64


def finish(array, requires_grad: bool = False) -> Tensor:
    if requires_grad and not array.dtype.is_floating_point:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return wrap(array, LEAF if requires_grad else None)


def check_options(function: str, layout: Any, pin_memory: Any) -> None:
    """Only strided tensors in ordinary memory exist here."""
    if layout is not None and str(layout) != "torch.strided":
        raise NotImplementedError(f"{function}(layout={layout})")
    if pin_memory:
        raise NotImplementedError(f"{function}(pin_memory=True)")


def as_sizes(function: str, size: tuple) -> tuple:
    """Sizes given one by one or as one sequence; ints, of which none is negative."""
    if len(size) == 1 and isinstance(size[0], tuple | list):
        size = tuple(size[0])
    for position, n in enumerate(size):
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(
                f"{function}(): argument 'size' must be tuple of ints, but found element of type "
                f"{type(n).__name__} at pos {position}"
            )
        value = n.__index__()
        if abs(value) >= 2**63:
            raise TypeError(
                f"{function}(): argument 'size' failed to unpack the object at pos {position + 1} "
                f'with error "Overflow when unpacking long long"'
            )
        if value < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {value}: {list(size)}"
            )
    return tuple(n.__index__() for n in size)


def check_dtype(function: str, dtype: Any) -> None:
    if dtype is not None and not isinstance(dtype, _core.dtype):
        raise TypeError(
            f"{function}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}"
        )


def filled(function, size, value, dtype, device, requires_grad, layout=None, pin_memory=False):
    check_options(function, layout, pin_memory)
    check_dtype(function, dtype)
    shape = as_sizes(function, size)
    module = array_module(device)
    dtype = dtype or _core.get_default_dtype()
    array = module.empty(shape, dtype) if value is None else module.full(shape, value, dtype)
    return finish(array, requires_grad)


def zeros(
    *size: Any,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of zeros. https://pytorch.org/docs/stable/generated/torch.zeros.html

    >>> import tiny_torch as torch
    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    if out is not None:
        return fill_out("zeros", out, size, 0)
    return filled("zeros", size, 0, dtype, device, requires_grad, layout, pin_memory)


def ones(
    *size: Any,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of ones. https://pytorch.org/docs/stable/generated/torch.ones.html"""
    if out is not None:
        return fill_out("ones", out, size, 1)
    return filled("ones", size, 1, dtype, device, requires_grad, layout, pin_memory)


def empty(
    *size: Any,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor whose elements are whatever the memory held."""
    if memory_format is not None and str(memory_format) != "torch.contiguous_format":
        raise NotImplementedError(f"empty(memory_format={memory_format})")
    if out is not None:
        return fill_out("empty", out, size, None)
    return filled("empty", size, None, dtype, device, requires_grad, layout, pin_memory)


def fill_out(function: str, out: Tensor, size: tuple, value: Any) -> Tensor:
    shape = as_sizes(function, size)
    if tuple(out.shape) != shape:
        resize_out(out, array_module(out.array.device).empty(shape, out.array.dtype))
    return out if value is None else out.fill_(value)


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
    size = tuple(size) if isinstance(size, tuple | list) else (size,)
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    if out is not None:
        return fill_out("full", out, size, fill_value)
    if dtype is None:
        dtype = dtype_of_number(fill_value)
    return filled("full", size, fill_value, dtype, device, requires_grad, layout, pin_memory)


def dtype_of_number(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return _core.bool
    if isinstance(value, float | np.floating):
        return _core.get_default_dtype()
    return int64


def like(function, input, value, dtype, device, requires_grad, layout, memory_format):
    check_options(function, layout, False)
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{function}(): argument 'input' (position 1) must be Tensor, not "
            f"{type(input).__name__}"
        )
    if memory_format is not None and str(memory_format) not in (
        "torch.preserve_format",
        "torch.contiguous_format",
    ):
        raise NotImplementedError(f"{function}(memory_format={memory_format})")
    array = input.array
    if str(memory_format) == "torch.contiguous_format":
        result = array_module(array.device).empty(array.shape, dtype or array.dtype)
    else:
        result = array.empty_like(dtype)
    if device is not None:
        result = to_device(result, device)
    if value is not None:
        result.copy_(value)
    return finish(result, requires_grad)


def empty_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """An uninitialised tensor of the shape, dtype and (dense) strides of `input`."""
    return like("empty_like", input, None, dtype, device, requires_grad, layout, memory_format)


def zeros_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Zeros of the shape, dtype and (dense) strides of `input`."""
    return like("zeros_like", input, 0, dtype, device, requires_grad, layout, memory_format)


def ones_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Ones of the shape, dtype and (dense) strides of `input`."""
    return like("ones_like", input, 1, dtype, device, requires_grad, layout, memory_format)


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """One value, in the shape, dtype and (dense) strides of `input`."""
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    return like("full_like", input, fill_value, dtype, device, requires_grad, layout, memory_format)


def as_number(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.item()
    if isinstance(value, np.generic):
        return value.item()
    return value


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """An (n, m) matrix with ones on the diagonal.

    https://pytorch.org/docs/stable/generated/torch.eye.html
    """
    check_options("eye", layout, pin_memory)
    columns = n if m is None else m
    if n < 0 or columns < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {min(n, columns)}")
    result = zeros(n, columns, out=out, dtype=dtype, device=device)
    result.array.diagonal(0, 0, 1).copy_(1)
    return finish(result.array, requires_grad) if out is None else out


# ------------------------------------------------------------------------------------ x.new_*(...)


def new(function, self, size, value, dtype, device, requires_grad):
    device = self.array.device if device is None else device
    return filled(function, size, value, dtype or self.array.dtype, device, requires_grad)


def new_empty(
    self: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    return new("new_empty", self, size, None, dtype, device, requires_grad)


def new_zeros(
    self: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    return new("new_zeros", self, size, 0, dtype, device, requires_grad)


def new_ones(
    self: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    return new("new_ones", self, size, 1, dtype, device, requires_grad)


def new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    return new("new_full", self, tuple(size), fill_value, dtype, device, requires_grad)


FUNCTIONS = {
    f.__name__: f
    for f in (
        zeros, ones, empty, full, empty_like, zeros_like, ones_like, full_like, eye,
    )
}  # fmt: skip
METHODS = {f.__name__: f for f in (new_empty, new_zeros, new_ones, new_full)}
