"""What views, joins and indices become in ONNX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch.ops.index.brackets import Copy, CopyIntoView, Fill, Index, Zero
from tiny_torch.ops.index.gather import Gather, Scatter, ScatterAdd
from tiny_torch.ops.index.slices import IndexSelect
from tiny_torch.ops.index.within import SelectScatter, SliceScatter
from tiny_torch.ops.nn.embedding import Embedding
from tiny_torch.ops.nn.shuffle import ChannelShuffle, PixelShuffle, PixelUnshuffle
from tiny_torch.ops.shape.arrange import Flip, Repeat, Roll, Tril, Triu
from tiny_torch.ops.shape.join import Cat, Stack
from tiny_torch.ops.shape.split import Pieces, Rows
from tiny_torch.ops.shape.views import (
    Alias,
    Diagonal,
    Expand,
    Part,
    Permute,
    Reshape,
    Select,
    Slice,
    Squeeze,
    T,
    Transpose,
    Unsqueeze,
    View,
)
from tiny_torch.tools.export.graph import ExportError, Node, Value
from tiny_torch.tools.export.onnx.building import Builder, form
from tiny_torch.tools.export.sizes import Size

END = 2**62  # beyond all sizes


def permutation(dim: int, ndim: int) -> int:
    return dim % max(ndim, 1)


@form(View, Reshape)
def reshape(b: Builder, node: Node, x: Value, shape: tuple) -> str:
    return b.reshape(b.name(x), node.outputs[0].shape)


@form(Expand)
def expand(b: Builder, node: Node, x: Value, shape: tuple) -> str:
    return b.Expand(b.name(x), b.ints(node.outputs[0].shape))


@form(Transpose, T, Permute)
def permute(b: Builder, node: Node, x: Value, *dims: Any) -> str:
    ndim = len(x.shape)
    order = list(range(ndim))
    if node.op is Permute:
        order = [permutation(dim, ndim) for dim in dims[0]]
    elif ndim:
        first, second = (permutation(dim, ndim) for dim in dims or (0, 1))
        order[first], order[second] = order[second], order[first]
    return b.Transpose(b.name(x), perm=order)


# ---- parts: chains of view methods, which ops/shape/views.py calls steps ------------------------


def cut(b: Builder, x: str, dim: int, start: Any, stop: Any, step: int = 1) -> str:
    return b.Slice(x, b.ints([start]), b.ints([stop]), b.ints([dim]), b.ints([step]))


def part(b: Builder, node: Node, x: str, step: tuple, ndim: int) -> tuple[str, int]:
    """What one step shows of x, and of how many dims that is."""
    method, given = step
    if method == "select":
        dim, i = permutation(given[0], ndim), given[1]
        return b.Gather(x, b.name(i, torch.int64), axis=dim), ndim - 1
    if method == "slice":
        dim, start, stop, stride = given
        return cut(b, x, permutation(dim, ndim), start, stop, stride), ndim
    if method == "unsqueeze":
        return b.Unsqueeze(x, b.ints([given[0] % (ndim + 1)])), ndim + 1
    if method == "squeeze":
        dims = given[0] if isinstance(given[0], tuple) else given
        dims = [permutation(dim, ndim) for dim in dims]
        return b.Squeeze(x, b.ints(dims)), ndim - len(dims)
    raise ExportError(f"{node.name} by {method} has no form in ONNX; {node.place}")


@form(Alias)
def alias(b: Builder, node: Node, x: Value, steps: tuple) -> str:
    return b.name(x)


@form(Part, Select, Slice, Squeeze, Unsqueeze, Diagonal)
def parts(b: Builder, node: Node, x: Value, steps: tuple) -> str:
    name, ndim = b.name(x), len(x.shape)
    if steps and all(method == "squeeze" for method, _ in steps):
        return b.reshape(name, node.outputs[0].shape)
    for step in steps:
        name, ndim = part(b, node, name, step, ndim)
    return name


@form(SliceScatter, SelectScatter)
def scatter_into(b: Builder, node: Node, x: Value, source: Value, steps: tuple) -> str:
    return put(b, node, b.name(x), b.name(source, x.dtype), steps, len(x.shape))


def put(b: Builder, node: Node, x: str, source: str, steps: tuple, ndim: int) -> str:
    """x with `source` where the steps lead."""
    if not steps:
        return source
    (method, given), rest = steps[0], steps[1:]
    inner, inner_ndim = part(b, node, x, steps[0], ndim)
    new = put(b, node, inner, source, rest, inner_ndim)
    if method == "unsqueeze":
        return b.Squeeze(new, b.ints([given[0] % (ndim + 1)]))
    if method not in ("select", "slice") or (method == "slice" and given[3] != 1):
        raise ExportError(f"a write through {method}{given} has no form in ONNX; {node.place}")
    dim, start = permutation(given[0], ndim), given[1]
    if method == "select":
        new = b.Unsqueeze(new, b.ints([dim]))
    stop = given[2] if method == "slice" else END if start == -1 else start + 1
    return b.Concat(cut(b, x, dim, 0, start), new, cut(b, x, dim, stop, END), axis=dim)


@form(Copy, CopyIntoView, Fill, Zero)
def copy(b: Builder, node: Node, x: Value, source: Any = 0) -> str:
    return b.Expand(b.name(source, x.dtype), b.ints(x.shape))


# ---- joining and splitting ----------------------------------------------------------------------


@form(Cat)
def cat(b: Builder, node: Node, *arguments: Any) -> str:
    *values, dim = arguments
    values = [x for x in values if x.shape != (0,)] or values
    dtype = node.outputs[0].dtype
    return b.Concat(*[b.name(x, dtype) for x in values], axis=dim)


@form(Stack)
def stack(b: Builder, node: Node, *arguments: Any) -> str:
    *values, dim = arguments
    out = node.outputs[0]
    dim = permutation(dim, len(out.shape))
    names = [b.Unsqueeze(b.name(x, out.dtype), b.ints([dim])) for x in values]
    return b.Concat(*names, axis=dim)


@form(Pieces)
def split(b: Builder, node: Node, x: Value, dim: int, sizes: tuple) -> Any:
    if len(sizes) == 1:
        return b.name(x)
    return b.Split(b.name(x), b.ints(sizes), outputs=len(sizes), axis=dim)


@form(Rows)
def unbind(b: Builder, node: Node, x: Value, dim: int) -> Any:
    name = b.name(x)
    found = [b.Gather(name, b.name(i, torch.int64), axis=dim) for i in range(len(node.outputs))]
    return tuple(found)


@form(Repeat)
def repeat(b: Builder, node: Node, x: Value, repeats: tuple) -> str:
    lead = len(repeats) - len(x.shape)
    name = b.name(x)
    if lead:
        name = b.Unsqueeze(name, b.ints(range(lead)))
    return b.Tile(name, b.ints(repeats))


@form(Flip)
def flip(b: Builder, node: Node, x: Value, dims: tuple) -> str:
    name = b.name(x)
    for dim in dims:
        name = cut(b, name, permutation(dim, len(x.shape)), -1, -END, -1)
    return name


@form(Roll)
def roll(b: Builder, node: Node, x: Value, shifts: Sequence[int], dims: Sequence[int]) -> str:
    name = b.name(x)
    if not dims:
        name = b.reshape(name, [-1])
    for shift, dim in zip(shifts, dims or (0,), strict=True):
        size = x.shape[dim] if dims else math.prod(b.constant_numbers(node, "sizes", x.shape))
        shift = -shift if isinstance(size, Size) else (-shift) % max(size, 1)
        if shift:
            dim = permutation(dim, len(x.shape))
            name = b.Concat(cut(b, name, dim, shift, END), cut(b, name, dim, 0, shift), axis=dim)
    return name if dims else b.reshape(name, x.shape)


@form(Tril, Triu)
def triangle(b: Builder, node: Node, x: Value, diagonal: Any) -> str:
    return b.Trilu(b.name(x), b.name(diagonal, torch.int64), upper=int(node.op is Triu))


# ---- indices ------------------------------------------------------------------------------------


@form(Embedding)
def rows(b: Builder, node: Node, table: Value, index: Value, *rest: Any) -> str:
    return b.Gather(b.name(table), b.name(index), axis=0)


@form(IndexSelect)
def index_select(b: Builder, node: Node, x: Value, index: Value, dim: int) -> str:
    name = b.name(index)
    if not index.shape:
        name = b.Unsqueeze(name, b.ints([0]))
    return b.Gather(b.name(x), name, axis=dim)


@form(Gather)
def gather(b: Builder, node: Node, x: Value, index: Value, dim: int) -> str:
    return b.GatherElements(b.name(x), b.name(index), axis=dim)


@form(Scatter, ScatterAdd)
def scatter(b: Builder, node: Node, x: Value, source: Any, index: Value, dim: int) -> str:
    name = b.name(source, x.dtype)
    if not isinstance(source, Value):
        name = b.Expand(name, b.ints(index.shape))
    elif source.shape != index.shape:
        for d, size in enumerate(index.shape):
            name = cut(b, name, d, 0, size)
    kind = "add" if node.op is ScatterAdd else None
    return b.ScatterElements(b.name(x), b.name(index), name, axis=dim, reduction=kind)


@form(Index)
def index(b: Builder, node: Node, x: Value, *indices: Any) -> str:
    at = [i for i, k in enumerate(indices) if k is not None]
    picks = [indices[i] for i in at]
    if any(k.dtype is torch.bool for k in picks):
        raise ExportError(
            f"a mask as an index: the result's shape depends on its elements; {node.place}"
        )
    if len(picks) == 1:
        return b.Gather(b.name(x), b.name(picks[0], torch.int64), axis=at[0])
    rest = [dim for dim in range(len(x.shape)) if dim not in at]
    name = b.Transpose(b.name(x), perm=[*at, *rest])
    out = node.outputs[0]
    picked = len(out.shape) - len(rest)
    first = at[0] if at == list(range(at[0], at[0] + len(at))) else 0
    shape = b.ints(out.shape[first : first + picked])
    last = b.ints([picked])
    columns = [b.Unsqueeze(b.Expand(b.name(k, torch.int64), shape), last) for k in picks]
    name = b.GatherND(name, b.Concat(*columns, axis=-1))
    if first:
        order = [
            *range(picked, picked + first),
            *range(picked),
            *range(picked + first, len(out.shape)),
        ]
        name = b.Transpose(name, perm=order)
    return name


# ---- rearrangements of channels -----------------------------------------------------------------


def arrange(b: Builder, x: str, split_shape: list, order: list[int], shape: Sequence[Any]) -> str:
    """x with its dims split up, permuted, and joined to `shape`."""
    return b.reshape(b.Transpose(b.reshape(x, split_shape), perm=order), shape)


@form(PixelShuffle)
def pixel_shuffle(b: Builder, node: Node, x: Value, r: int) -> str:
    if len(x.shape) == 4:
        return b.DepthToSpace(b.name(x), blocksize=r, mode="CRD")
    *lead, c, h, w = x.shape
    n = len(lead)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return arrange(b, b.name(x), [*lead, c // (r * r), r, r, h, w], order, node.outputs[0].shape)


@form(PixelUnshuffle)
def pixel_unshuffle(b: Builder, node: Node, x: Value, r: int) -> str:
    *lead, c, h, w = x.shape
    n = len(lead)
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return arrange(b, b.name(x), [*lead, c, h // r, r, w // r, r], order, node.outputs[0].shape)


@form(ChannelShuffle)
def channel_shuffle(b: Builder, node: Node, x: Value, groups: int) -> str:
    n, c, *rest = x.shape
    order = [0, 2, 1, *range(3, len(x.shape) + 1)]
    return arrange(b, b.name(x), [n, groups, c // groups, *rest], order, x.shape)
