"""Writing a part of a tensor that a view shows: *_scatter, fill_diagonal_; and unravel_index."""

from __future__ import annotations

from itertools import accumulate
from operator import mul
from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import Op
from tiny_torch.base.arguments import wrong_kind
from tiny_torch.functions.common import into_same
from tiny_torch.functions.creation.from_data import tensor
from tiny_torch.functions.public import function, function_and_method, method
from tiny_torch.ops.index.within import DiagonalScatter, SelectScatter, SliceScatter
from tiny_torch.ops.shape.views import Steps, show, wrap_dim
from tiny_torch.tensor import Tensor


def scatter_view(op: type[Op], x: Any, src: Any, steps: Steps) -> Tensor:
    part = show(x.array, steps)
    if part.shape != src.array.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.array.shape)}, slice size = {list(part.shape)}"
        )
    return apply(op, x, src, steps)


@function_and_method
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy with src on a diagonal. Raises RuntimeError unless it has the diagonal's shape.

    https://pytorch.org/docs/stable/generated/torch.diagonal_scatter.html

    >>> import tiny_torch as torch
    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    steps = (("diagonal", (offset, dim1, dim2)),)
    return scatter_view(DiagonalScatter, input, src, steps)


@function_and_method
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with src at one position of a dim. Raises RuntimeError unless it has that shape.

    https://pytorch.org/docs/stable/generated/torch.select_scatter.html

    >>> import tiny_torch as torch
    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    steps = (("select", (dim, index)),)
    return scatter_view(SelectScatter, input, src, steps)


@function_and_method
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy with src in a slice of a dim. Raises RuntimeError unless it has the slice's shape.

    https://pytorch.org/docs/stable/generated/torch.slice_scatter.html

    >>> import tiny_torch as torch
    >>> torch.slice_scatter(torch.zeros(4), torch.ones(2), start=0, end=4, step=2)
    tensor([1., 0., 1., 0.])
    """
    if step < 1:
        raise RuntimeError("slice step must be positive")
    shape = input.array.shape
    dim = wrap_dim(dim, len(shape))
    last = shape[dim] if shape else 1
    first = 0 if start is None else start
    steps = (("slice", (dim, first, last if end is None else end, step)),)
    return into_same(out, scatter_view(SliceScatter, input, src, steps))


@method
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Writes one number on the main diagonal; with `wrap` that of a tall matrix begins anew.

    Raises RuntimeError for less than 2 dims, or more of different sizes.
    https://pytorch.org/docs/stable/generated/torch.Tensor.fill_diagonal_.html

    >>> import tiny_torch as torch
    >>> torch.zeros(2, 2).fill_diagonal_(5)
    tensor([[5., 0.],
            [0., 5.]])
    """
    if not hasattr(type(fill_value), "__float__"):
        raise wrong_kind("fill_diagonal_", "fill_value", "Number", fill_value, 1)
    shape, strides = self.array.shape, self.array.strides
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    size, step, offset = min(shape), (sum(strides),), self.array.offset
    self.as_strided((size,), step).fill_(fill_value)
    rows, columns = shape[:2]
    if wrap and len(shape) == 2 and rows > columns + 1:
        rest = -(-rows * columns // (columns + 1)) - size
        begin = offset + strides[0] * (columns + 1)
        self.as_strided((rest,), step, begin).fill_(fill_value)
    return self


@function
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates, one int64 tensor per dim, of positions in a flat tensor of a shape.

    Raises TypeError for indices that are no integers, ValueError for a negative size.
    https://pytorch.org/docs/stable/generated/torch.unravel_index.html

    >>> import tiny_torch as torch
    >>> torch.unravel_index(torch.tensor([5, 7]), (3, 4))
    (tensor([1, 1]), tensor([1, 3]))
    """
    dtype = indices.array.dtype
    if dtype.is_floating_point or dtype.name == "bool":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, int | tuple | list):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    if not sizes:
        return ()
    steps = list(accumulate((*sizes[1:], 1)[::-1], mul))[::-1]
    coordinates = indices.unsqueeze(-1).floor_divide(tensor(steps)) % tensor(sizes)
    return coordinates.unbind(-1)
