"""Joining tensors, and taking them apart: cat, stack, split, unbind and their family.

What takes a tensor apart is one op with several outputs, all views of its memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tiny_torch.autograd.apply import applyn, apply_view
from tiny_torch.autograd.graph import Op, run
from tiny_torch.devices import array_module
from tiny_torch.ops.reduce import Cast
from tiny_torch.ops.shape import Part, Slice, Steps, int_tuple, show, wrap_dim, zeros
from tiny_torch.tensor import Tensor

# ------------------------------------------------------------------------------------- taking apart


class Parts(Op):
    """Several parts of x at once, each by its own chain of view methods; see `several`."""

    @staticmethod
    def forward(x, *parts):
        return tuple([show(x, steps) for steps in parts]), (x.shape, *parts)

    @staticmethod
    def backward(saved, grad, needs):
        shape, *parts = saved
        grads = grad if isinstance(grad, tuple) else (grad,)  # an engine's gradient of one output
        given = [(g, steps) for g, steps in zip(grads, parts, strict=True) if g is not None]
        return run_many(PlaceParts, [g for g, _ in given], shape, [steps for _, steps in given])


class PlaceParts(Op):
    """Zeros, with each x where its steps lead: the transpose of Parts."""

    @staticmethod
    def forward(*arguments):
        *arrays, shape, parts = arguments
        result = zeros(arrays[0], shape)
        for array, steps in zip(arrays, parts, strict=True):
            show(result, steps).copy_(array)
        return result, (parts,)

    @staticmethod
    def backward(saved, grad, needs):
        return tuple([run(Part, grad, steps) for steps in saved[0]])


@functools.lru_cache(maxsize=256)
def several(name: str, count: int) -> type[Parts]:
    """Parts under PyTorch's name for it, with so many outputs."""
    return type(name, (Parts,), {"outputs": count})


def run_many(op: type[Op], operands: Sequence, *constants: Any) -> Any:
    """graph.run for an op of any number of inputs."""
    if isinstance(operands[0], Tensor):
        return applyn(op, operands, *constants)
    return op.forward(*operands, *constants)[0]


def take_apart(name: str, x: Tensor, parts: list[Steps]) -> tuple:
    return apply_view(several(name, len(parts)), x, *parts)


def pieces(name: str, x: Tensor, dim: int, sizes: Sequence[int]) -> tuple:
    """Views of the next sizes[0], sizes[1], ... positions along a dim."""
    parts: list[Steps] = []
    start = 0
    for size in sizes:
        parts.append((("slice", (dim, start, start + size, 1)),))
        start += size
    return take_apart(name, x, parts)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all positions along a dim, which is gone then.

    https://pytorch.org/docs/stable/generated/torch.unbind.html

    >>> import tiny_torch as torch
    >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    shape = input.array.shape
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, len(shape))
    return take_apart("Unbind", input, [(("select", (dim, i)),) for i in range(shape[dim])])


def check_has_dims(function: str, x: Tensor) -> None:
    if not x.array.ndim:
        raise RuntimeError(f"{function} expects at least a 1-dimensional tensor")


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of one size along a dim (the last may be smaller), or of listed sizes.

    Raises RuntimeError where the sizes do not make up the dim.
    https://pytorch.org/docs/stable/generated/torch.split.html

    >>> import tiny_torch as torch
    >>> torch.split(torch.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    if isinstance(split_size_or_sections, tuple | list):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    check_has_dims("split", tensor)
    dim = wrap_dim(dim, tensor.array.ndim)
    size, each = tensor.array.shape[dim], split_size_or_sections.__index__()
    if each < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={each}")
    if each == 0 and size:
        raise RuntimeError(
            "split_size can only be 0 if dimension size is 0, but got dimension size of "
            f"{size}"
        )
    sizes = [min(each, size - start) for start in range(0, size, each or 1)] or [0]
    return pieces("Split", tensor, dim, sizes)


def split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """torch.split"""
    return split(self, split_size, dim)


def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of listed sizes along a dim. RuntimeError where they do not make it up."""
    check_has_dims("split_with_sizes", input)
    sizes = int_tuple("split_with_sizes", "split_sizes", split_sizes)
    dim = wrap_dim(dim, input.array.ndim)
    if any(size < 0 for size in sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(sizes)}"
        )
    if sum(sizes) != input.array.shape[dim]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input.array.shape[dim]} "
            f"(input tensor's size at dimension {dim}), but got split_sizes={list(sizes)}"
        )
    return pieces("SplitWithSizes", input, dim, sizes)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most so many pieces along a dim, equal but for the last.

    https://pytorch.org/docs/stable/generated/torch.chunk.html

    >>> import tiny_torch as torch
    >>> torch.chunk(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    check_has_dims("chunk", input)
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = wrap_dim(dim, input.array.ndim)
    size = input.array.shape[dim]
    if size == 0:  # so many empty pieces, rather than one
        return pieces("SplitWithSizes", input, dim, [0] * chunks)
    return split(input, -(-size // chunks), dim)


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of so many pieces along a dim, sizes differing by 1 at most; or cut at listed indices.

    https://pytorch.org/docs/stable/generated/torch.tensor_split.html

    >>> import tiny_torch as torch
    >>> torch.tensor_split(torch.arange(5), (1, 3))
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    if not input.array.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    dim = wrap_dim(dim, input.array.ndim)
    size = input.array.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if not isinstance(indices_or_sections, tuple | list):
        count = indices_or_sections.__index__()
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        cuts = tuple([i * (size // count) + min(i, size % count) for i in range(1, count)])
    else:
        cuts = int_tuple("tensor_split", "indices", indices_or_sections)
    # Slices of their own, because listed cuts may overlap.
    bounds = zip((0, *cuts), (*cuts, size), strict=True)
    return tuple(
        [apply_view(Slice, input, (("slice", (dim, a, b, 1)),)) for a, b in bounds]
    )


def split_along(name: str, dim: int, least: int) -> Callable[..., tuple[Tensor, ...]]:
    def function(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        ndim = input.array.ndim
        if ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor "
                f"with {ndim} dimensions!"
            )
        along = 0 if ndim == 1 else dim
        size = input.array.shape[along]
        if isinstance(indices_or_sections, int) and size % max(indices_or_sections, 1):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {along}, but the size of the "
                f"dimension {size} is not divisible by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, along)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"tensor_split along dim {dim}. "
        f"https://pytorch.org/docs/stable/generated/torch.{name}.html"
    )
    return function


hsplit = split_along("hsplit", 1, 1)
vsplit = split_along("vsplit", 0, 2)
dsplit = split_along("dsplit", 2, 3)

# ------------------------------------------------------------------------------------------ joining


def is_channels_last(x: Any) -> bool:
    return x.ndim == 4 and x.permute((0, 2, 3, 1)).is_contiguous() and not x.is_contiguous()


def joined(arrays: Sequence, dim: int) -> Any:
    """Arrays joined along a dim; channels_last if all of them are."""
    cat_arrays = array_module(arrays[0].device).cat
    if not all(is_channels_last(x) for x in arrays):
        return cat_arrays(arrays, dim)
    rows = [x.permute((0, 2, 3, 1)) for x in arrays]
    return cat_arrays(rows, (0, 3, 1, 2)[dim % 4]).permute((0, 3, 1, 2))


class Cat(Op):
    @staticmethod
    def forward(*arguments):
        *arrays, dim = arguments
        result = joined(arrays, dim)
        # None for a 1-d empty array beside others of more dims
        origins = [(x.shape[dim] if x.ndim == result.ndim else None, x.dtype) for x in arrays]
        return result, (dim, origins)

    @staticmethod
    def backward(saved, grad, needs):
        dim, origins = saved
        grads = []
        start = 0
        for (size, dtype), need in zip(origins, needs, strict=True):
            part = None
            if size is not None:
                if need:
                    part = run(Part, grad, (("slice", (dim, start, start + size, 1)),))
                start += size
            grads.append(part if part is None or part.dtype is dtype else run(Cast, part, dtype))
        return tuple(grads)


class Stack(Op):
    @staticmethod
    def forward(*arguments):
        *arrays, dim = arguments
        if dim == 0 and arrays[0].ndim:
            result = joined(arrays, 0).view((len(arrays), *arrays[0].shape))
        else:
            result = array_module(arrays[0].device).cat([x.unsqueeze(dim) for x in arrays], dim)
        return result, (dim, [x.dtype for x in arrays])

    @staticmethod
    def backward(saved, grad, needs):
        dim, dtypes = saved
        grads = []
        for i, (dtype, need) in enumerate(zip(dtypes, needs, strict=True)):
            part = run(Part, grad, (("select", (dim, i)),)) if need else None
            grads.append(part if part is None or part.dtype is dtype else run(Cast, part, dtype))
        return tuple(grads)


def check_tensors(function: str, tensors: Any) -> Sequence[Tensor]:
    if not isinstance(tensors, tuple | list):
        raise TypeError(
            f"{function}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type(tensors).__name__}"
        )
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 0, but got "
                f"{type(tensor).__name__}"
            )
    return tensors


def cat(tensors: Any, dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Tensors joined along a dim; their dtypes promote. A 1-d empty tensor joins anything.

    Raises ValueError without tensors, RuntimeError where shapes do not fit.
    https://pytorch.org/docs/stable/generated/torch.cat.html

    >>> import tiny_torch as torch
    >>> torch.cat((torch.zeros(2), torch.ones(1)))
    tensor([0., 0., 1.])
    """
    tensors = check_tensors("cat", tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    dim = dim if axis is None else axis
    ndim = max([tensor.array.ndim for tensor in tensors])
    if all(tensor.array.ndim for tensor in tensors):
        dim = wrap_dim(dim, ndim)
    return applyn(Cat, tensors, dim)


def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new dim.

    Raises RuntimeError without tensors, or where shapes differ.
    https://pytorch.org/docs/stable/generated/torch.stack.html

    >>> import tiny_torch as torch
    >>> torch.stack((torch.zeros(2), torch.ones(2)))
    tensor([[0., 0.],
            [1., 1.]])
    """
    tensors = check_tensors("stack", tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = tensors[0].array.shape
    dim = wrap_dim(dim, len(shape) + 1)
    for i, tensor in enumerate(tensors):
        if tensor.array.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 "
                f"and {list(tensor.array.shape)} at entry {i}"
            )
    return applyn(Stack, tensors, dim)


def atleast(least: int) -> Callable[..., Any]:
    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
            tensors = tuple(tensors[0])
        results = tuple([with_dims(tensor, least) for tensor in tensors])
        return results[0] if len(results) == 1 else results

    function.__name__ = function.__qualname__ = f"atleast_{least}d"
    function.__doc__ = (
        f"Tensors with dims of size 1 added, up to {least} dims. "
        f"https://pytorch.org/docs/stable/generated/torch.atleast_{least}d.html"
    )
    return function


def with_dims(tensor: Tensor, least: int) -> Tensor:
    """NumPy's rule: (n) becomes (1, n), then (1, n, 1); (n, m) becomes (n, m, 1)."""
    ndim = tensor.array.ndim
    if ndim >= least:
        return tensor
    if ndim == 0:
        return tensor.reshape((1,) * least)
    if ndim == 1:
        tensor = tensor.unsqueeze(0)
    return tensor.unsqueeze(-1) if least == 3 else tensor


atleast_1d, atleast_2d, atleast_3d = atleast(1), atleast(2), atleast(3)


def hstack(tensors: Any) -> Tensor:
    """Tensors joined along dim 1, or along dim 0 where they have one dim.

    https://pytorch.org/docs/stable/generated/torch.hstack.html

    >>> import tiny_torch as torch
    >>> torch.hstack((torch.tensor([[1], [2]]), torch.tensor([[3], [4]])))
    tensor([[1, 3],
            [2, 4]])
    """
    tensors = stackable("hstack", tensors, 1)
    return cat(tensors, 0 if tensors[0].array.ndim == 1 else 1)


def vstack(tensors: Any) -> Tensor:
    """Tensors joined along dim 0, vectors as rows.

    https://pytorch.org/docs/stable/generated/torch.vstack.html

    >>> import tiny_torch as torch
    >>> torch.vstack((torch.tensor([1, 2]), torch.tensor([3, 4])))
    tensor([[1, 2],
            [3, 4]])
    """
    return cat(stackable("vstack", tensors, 2), 0)


def dstack(tensors: Any) -> Tensor:
    """Tensors joined along dim 2. https://pytorch.org/docs/stable/generated/torch.dstack.html"""
    return cat(stackable("dstack", tensors, 3), 2)


def column_stack(tensors: Any) -> Tensor:
    """Tensors joined along dim 1, vectors as columns.

    https://pytorch.org/docs/stable/generated/torch.column_stack.html
    """
    tensors = check_tensors("column_stack", tensors)
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    return cat([t.reshape(t.array.size, 1) if t.array.ndim < 2 else t for t in tensors], 1)


def stackable(function: str, tensors: Any, least: int) -> list[Tensor]:
    tensors = check_tensors(function, tensors)
    if not tensors:
        raise RuntimeError(f"{function} expects a non-empty TensorList")
    return [with_dims(tensor, least) for tensor in tensors]


# -------------------------------------------------------------------------------------- broadcasting


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that all shapes broadcast to; RuntimeError where there is none.

    https://pytorch.org/docs/stable/generated/torch.broadcast_shapes.html

    >>> import tiny_torch as torch
    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    from tiny_torch.size import Size

    ndim = max([len(shape) for shape in shapes], default=0)
    result = [1] * ndim
    for shape in shapes:
        for i, size in enumerate(shape, ndim - len(shape)):
            if size != 1 and result[i] not in (1, size):
                raise RuntimeError(
                    f"The size of tensor a ({result[i]}) must match the size of tensor b ({size}) "
                    f"at non-singleton dimension {i} (shapes {list(map(tuple, shapes))})"
                )
            result[i] = size if result[i] == 1 else result[i]
    return Size(result)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of tensors, expanded to one shape.

    https://pytorch.org/docs/stable/generated/torch.broadcast_tensors.html

    >>> import tiny_torch as torch
    >>> a, b = torch.broadcast_tensors(torch.zeros(2, 1), torch.zeros(3))
    >>> a.shape, b.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        tensors = tuple(tensors[0])
    check_tensors("broadcast_tensors", tensors)
    shape = tuple(broadcast_shapes(*[tensor.array.shape for tensor in tensors]))
    return tuple([t if t.array.shape == shape else t.expand(shape) for t in tensors])


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Views of vectors, expanded to the grid of all their combinations.

    "xy" has the first two dims the other way round. Raises RuntimeError for tensors of more dims.
    https://pytorch.org/docs/stable/generated/torch.meshgrid.html

    >>> import tiny_torch as torch
    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        tensors = tuple(tensors[0])
    check_tensors("meshgrid", tensors)
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    for tensor in tensors:
        if tensor.array.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got shape "
                f"{list(tensor.array.shape)}"
            )
    swaps = indexing == "xy" and len(tensors) >= 2
    if swaps:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = tuple([tensor.array.size for tensor in tensors])
    grids = []
    for i, tensor in enumerate(tensors):
        column = tensor.view((-1,) + (1,) * (len(tensors) - 1 - i))
        grids.append(column.expand(shape))
    if swaps:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


SHARED: dict[str, Callable] = {
    function.__name__: function
    for function in (unbind, split_with_sizes, chunk, tensor_split, hsplit, vsplit, dsplit)
}
FUNCTIONS: dict[str, Callable] = {
    **SHARED,
    **{
        function.__name__: function
        for function in (
            split, cat, stack, hstack, vstack, dstack, column_stack, atleast_1d, atleast_2d,
            atleast_3d, broadcast_shapes, broadcast_tensors, meshgrid,
        )
    },
    "concat": cat,
    "concatenate": cat,
    "row_stack": vstack,
}  # fmt: skip
METHODS: dict[str, Callable] = {**SHARED, "split": split_method}
