"""What a tensor's memory is and where: predicates, sizes that change, sharing between processes."""

from __future__ import annotations

import copy
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import check_inplace, edges_of
from tiny_torch.autograd.graph import Node, Op
from tiny_torch.autograd.view import LEAF
from tiny_torch.autograd.writes import reach_of, rebase
from tiny_torch.base import devices, layouts
from tiny_torch.base.arguments import wrong_kind
from tiny_torch.base.devices import array_module
from tiny_torch.base.dtypes import TYPE_STRINGS
from tiny_torch.base.layouts import contiguous_strides
from tiny_torch.functions.creation.fill import as_dtype, as_sizes, resize_array
from tiny_torch.functions.offsets import offset_of
from tiny_torch.functions.public import METHODS, function, function_and_method, method
from tiny_torch.functions.storage import TypedStorage, UntypedStorage
from tiny_torch.functions.whole_memory import copy_with_storage
from tiny_torch.tensor import Tensor, wrap

# -------------------------------------------------------------------------------------- predicates


def is_meta(self: Tensor) -> bool:
    """Whether it has a shape and a dtype, but no memory."""
    return self.array.device == "meta"


@function_and_method
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return input.array.dtype.is_signed


@function_and_method
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero; RuntimeError if there is not just one.

    https://pytorch.org/docs/stable/generated/torch.is_nonzero.html
    """
    return bool(input)


@function
def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are floating point numbers."""
    return input.array.dtype.is_floating_point


@function
def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.array.size


@function_and_method
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape."""
    return input.array.shape == other.array.shape


@function
def result_type(
    *operands: Any,
    scalar: Any = None,
    scalar1: Any = None,
    tensor: Any = None,
    other: Any = None,
    scalar2: Any = None,
) -> Any:
    """The dtype of an arithmetic result of two tensors or Python numbers: (tensor, other), (scalar,
    tensor) or (scalar1, scalar2).

    Tensors with dimensions outrank 0-d ones, which outrank numbers; a lower rank counts only if its
    category (bool < integer < float) is higher. Raises TypeError for anything else.
    https://pytorch.org/docs/stable/generated/torch.result_type.html

    >>> import tiny_torch as torch
    >>> torch.result_type(torch.tensor([1, 2], dtype=torch.int8), 1.0)
    torch.float32
    """
    named = (scalar, scalar1, tensor, other, scalar2)
    operands = (*operands, *[value for value in named if value is not None])
    numeric = [isinstance(value, Tensor | bool | int | float) for value in operands]
    if numeric != [True, True]:
        got = ", ".join([type(value).__name__ for value in operands])
        raise TypeError(
            "result_type() received an invalid combination of arguments: expected two tensors or "
            f"numbers, got ({got})"
        )
    arrays = [x.array if isinstance(x, Tensor) else x for x in operands]
    module = next((array_module(a.device) for a in arrays if hasattr(a, "device")), _core)
    return module.result_type(*arrays)


@method
def get_device(self: Tensor) -> int:
    """The number of the GPU; -1 for a tensor on the CPU."""
    return 0 if self.is_cuda else -1


def layout(self: Tensor) -> Any:
    """How the elements are stored: torch.strided."""
    return layouts.strided


def no(self: Tensor) -> bool:
    """False: there is nothing of the kind here."""
    return False


def never(name: str) -> Any:
    """A function that answers False: there is nothing of the kind here."""

    def function(input: Tensor) -> bool:
        return False

    function.__name__ = function.__qualname__ = name
    function.__doc__ = never.__doc__
    return function


@method
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether it is in pinned memory of the host: copies to a GPU need not be waited for."""
    return devices.is_pinned(self.array)


@method
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in pinned memory of the host; itself if it is pinned. RuntimeError without a GPU.

    https://pytorch.org/docs/stable/generated/torch.Tensor.pin_memory.html
    """
    if devices.cuda_count() and not self.is_cpu:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    pinned = devices.pin(self.array)
    return self if pinned is self.array else wrap(pinned)


@method
def record_stream(self: Tensor, stream: Any) -> None:
    """Another stream uses the memory, too: once freed, it waits for what that was given by then.

    Raises RuntimeError for what is no stream, and for a tensor that is not on a GPU.
    https://pytorch.org/docs/stable/generated/torch.Tensor.record_stream.html
    """
    if not hasattr(stream, "stream_id"):
        raise RuntimeError("unknown parameter type")
    if not self.is_cuda:
        raise RuntimeError(f"record_stream: a tensor on {self.device}, not on a GPU")
    devices.cuda_accelerator().record_stream(self.array, stream.stream_id)


def cuda_array_interface(self: Tensor) -> dict[str, Any]:
    """How other libraries take the memory of a tensor on a GPU.

    Raises AttributeError for a tensor elsewhere, RuntimeError for one that requires grad.
    https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
    """
    if not self.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} "
            "If CUDA data is required use tensor.cuda() to copy tensor to device memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients "
            "aren't required, use var.detach() to get Variable that doesn't require grad."
        )
    array = self.array
    strides = None
    if not array.is_contiguous():
        strides = tuple(step * array.itemsize for step in array.strides)
    return {
        "typestr": TYPE_STRINGS[array.dtype],
        "shape": tuple(array.shape),
        "strides": strides,
        "data": (array.data_ptr if array.size else 0, False),
        "version": 2,
    }


# ------------------------------------------------------------------------------------------ sharing


@method
def storage_offset(self: Tensor) -> int:
    """Elements of the memory before its first."""
    return offset_of(self.array)


@method
def _is_view(self: Tensor) -> bool:
    _core.refuse_given(self.array, "asks whether an argument is a view")
    return self._view is not None


@method
def is_shared(self: Tensor) -> bool:
    """Whether processes that are forked share the memory."""
    _core.refuse_given(self.array, "asks whether processes share an argument")
    return self.is_cpu and self.array.is_shared()


@method
def share_memory_(self: Tensor) -> Tensor:
    """Moves the memory, for all that look at it, where processes forked from now on share it.

    https://pytorch.org/docs/stable/generated/torch.Tensor.share_memory_.html
    """
    self.array.share_memory()
    return self


# -------------------------------------------------------------------------------------------- sizes


@method
def resize_(self: Tensor, *sizes: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Another shape for the elements as they lie in memory; new ones are whatever it held.

    Others that look at the memory keep sharing it. Raises RuntimeError for a tensor that requires
    grad, and where the memory would have to grow but NumPy or another library has its address.
    https://pytorch.org/docs/stable/generated/torch.Tensor.resize_.html

    >>> import tiny_torch as torch
    >>> torch.arange(6).resize_(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    shape = as_sizes("resize_", sizes, size)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if shape == self.array.shape and memory_format is None:
        return self
    if memory_format in layouts.ORDERS:
        strides = layouts.strides_of(shape, memory_format)
    elif memory_format is None or memory_format is layouts.contiguous_format:
        strides = contiguous_strides(shape)
    else:
        layouts.check_format("resize_", memory_format)
        raise RuntimeError("Unsupported memory format Preserve")
    return resize_array(self, shape, strides)


def view_as_dtype(x: Tensor, dtype: Any) -> Tensor:
    """The same bytes as elements of another dtype; the last size grows or shrinks with theirs.

    Without a gradient. Raises RuntimeError where the bytes of the new elements do not lie together.
    """
    array, dtype = x.array, as_dtype("view", dtype)
    old, new, shape, strides = array.itemsize, dtype.itemsize, array.shape, array.strides
    what = f"to view {array.dtype} as {dtype} (different element sizes)"
    offset = array.offset
    if old != new:
        if not shape:
            raise RuntimeError(f"self.dim() cannot be 0 {what}")
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {what}, but got {strides[-1]}")
    if old > new:
        ratio = old // new
        shape = (*shape[:-1], shape[-1] * ratio)
        strides = (*(stride * ratio for stride in strides[:-1]), 1)
        offset *= ratio
    elif old < new:
        ratio = new // old
        numbers = {"self.size(-1)": shape[-1], "self.storage_offset()": offset}
        numbers |= {f"self.stride({i})": stride for i, stride in enumerate(strides[:-1])}
        for name, number in numbers.items():
            if number % ratio:
                raise RuntimeError(f"{name} must be divisible by {ratio} {what}, but got {number}")
        shape = (*shape[:-1], shape[-1] // ratio)
        strides = (*(stride // ratio for stride in strides[:-1]), 1)
        offset //= ratio
    return wrap(array.reinterpret(dtype, shape, strides, offset))


@method
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor; `preserve_format` gives its memory format, too."""
    if memory_format is layouts.preserve_format:
        memory_format = layouts.suggested_format(the_template.array)
    return resize_(self, the_template.array.shape, memory_format=memory_format)


NOTHING: Any = object()  # where None would be an argument like any other


class Set(Op):
    """Another memory: no gradient leads to what was there, and none to where it is from."""

    @staticmethod
    def backward(saved, grad, needs):
        raise RuntimeError("derivative for set_ is not implemented")


@method
def set_(
    self: Tensor,
    source: Any = NOTHING,
    storage_offset: int | None = None,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Looks at the memory of `source` from now on: a tensor, a storage, or nothing at all.

    All of a storage, or what a tensor shows of it, unless an offset and a size (and strides)
    say which part; the memory grows if that is beyond its end. There is no gradient. Raises
    RuntimeError for a source of another dtype, TypeError for what is none.
    https://pytorch.org/docs/stable/generated/torch.Tensor.set_.html

    >>> import tiny_torch as torch
    >>> x = torch.arange(4)
    >>> torch.tensor([], dtype=torch.int64).set_(x.untyped_storage(), 1, (3,)).add_(10)
    tensor([11, 12, 13])
    >>> x
    tensor([ 0, 11, 12, 13])
    """
    dtype = self.array.dtype
    if source is NOTHING:
        array = array_module(self.array.device).empty((0,), dtype)
    elif isinstance(source, Tensor):
        array = source.array
        if array.dtype is not dtype:
            raise RuntimeError(
                f"Could not set tensor of type {array.dtype} to a tensor of type {dtype}"
            )
    elif isinstance(source, UntypedStorage | TypedStorage):
        array = source.array_of(dtype)
    else:
        raise wrong_kind("set_", "source", "Tensor or Storage", source)
    if storage_offset is not None or size is not None or stride is not None:
        array = part_of(array, storage_offset or 0, size, stride)
    edges = edges_of(None, self, source)
    if edges is not None:
        check_inplace(self)
        if self._view is not None:
            raise RuntimeError("set_(): a view that requires grad cannot leave its base")
    self.array.mark_written()  # what was saved of it is no more, as in PyTorch
    self.array = array.alias()
    if self._view is not None:
        self._view.stamp = self.array.stamp
    if edges is not None:
        rebase(self, Node(Set, edges, ()))
    return self


def part_of(array: Any, offset: int, size: Any, stride: Any) -> Any:
    """A part of a storage, whose end moves if need be; offsets count from the array's first."""
    for name, sizes in (("size", size), ("stride", stride)):
        if not isinstance(sizes, tuple | list) and (name == "size" or sizes is not None):
            raise wrong_kind("set_", name, "tuple of ints", sizes)
    shape = as_sizes("set_", (size,))
    strides = contiguous_strides(shape) if stride is None else tuple(stride)
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if len(shape) != len(strides):
        raise RuntimeError(f"unequal size length ({len(shape)}) and stride length ({len(strides)})")
    if min(strides, default=0) < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported, got {list(strides)}")
    offset += array.offset
    if 0 not in shape:
        array.grow_memory((offset + reach_of(shape, strides)) * array.itemsize)
    return array.reinterpret(array.dtype, shape, strides, offset)


@method
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both show the same elements of the same memory.

    https://pytorch.org/docs/stable/generated/torch.Tensor.is_set_to.html
    """
    x, y = self.array, tensor.array
    places = [(a.storage_id, a.offset, a.shape, a.strides) for a in (x, y)]
    return places[0] == places[1]


@method("__setstate__")
def set_state(self: Tensor, state: tuple) -> None:
    """The state of a tensor in the pickles of very old PyTorch."""
    if not self.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    if len(state) < 3:
        raise ValueError(f"not enough values to unpack (expected 3, got {len(state)})")
    if len(state) == 4:
        storage, offset, size, stride = state
        self.array = storage.array_of(self.array.dtype).as_strided(size, stride, offset)
        return
    if len(state) == 5:
        self.data, requires_grad = state[0], state[2]
    else:
        requires_grad = state[0]
    self.requires_grad = requires_grad


@function
def is_inference(input: Tensor) -> bool:
    """Whether its memory was made in `inference_mode`: then it may not be written outside.

    https://pytorch.org/docs/stable/generated/torch.is_inference.html
    """
    return input.is_inference()


@method("__deepcopy__")
def deep_copied(tensor: Any, memo: dict) -> Any:
    """What copy.deepcopy answers for a leaf; RuntimeError for another tensor."""
    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    edge = LEAF if tensor.requires_grad else None
    result = wrap(copy_with_storage(tensor.array, memo), edge, type(tensor))
    memo[id(tensor)] = result
    if tensor._grad is not None:
        result._grad = copy.deepcopy(tensor._grad, memo)
    result.__dict__.update(copy.deepcopy(tensor.__dict__, memo))
    return result


for _name in ("is_complex", "is_conj", "is_distributed", "is_neg"):
    function_and_method(never(_name))
METHODS |= {
    "__cuda_array_interface__": property(cuda_array_interface),
    "is_meta": property(is_meta),
    "layout": property(layout),
    **{
        f"is_{kind}": property(no)
        for kind in (
            "ipu", "maia", "mkldnn", "mps", "mtia", "nested", "quantized", "sparse", "sparse_csr",
            "vulkan", "xla", "xpu",
        )
    },
}  # fmt: skip
