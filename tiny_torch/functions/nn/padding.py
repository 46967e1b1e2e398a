"""F.pad: wider dims, filled with a constant or from the tensor itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.base.arguments import as_float
from tiny_torch.base.dtypes import check_range
from tiny_torch.base.layouts import contiguous_format, suggested_format
from tiny_torch.ops.nn.padding import (
    CIRCULAR,
    REFLECT,
    REPLICATE,
    ConstantPadNd,
    PadCircular,
    PadFromInput,
)
from tiny_torch.tensor import Tensor

# How many dims of padding an input of so many dims may have, but for constant padding.
NDIMS = {2: (2, 3), 4: (3, 4), 6: (4, 5)}


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Widen dims: `pad` is (left, right) of the last dim, then of the one before, ...

    mode "constant" fills with `value`; "reflect" mirrors at the outermost elements, "replicate"
    repeats them, "circular" goes on at the other end: of the last one, two or three dims of a batch
    of that many spatial dims, or of one element of it. Negative numbers cut off. Raises
    RuntimeError for a `pad` of odd length, of too many dims, or that cuts off more, or mirrors
    more, than there is, or a `value` that the dtype does not hold; NotImplementedError for a mode
    or number of dims that is not covered. Source: PyTorch, nn.functional.pad.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.pad(torch.ones(2), (1, 2), value=5)
    tensor([5., 1., 1., 5., 5.])
    >>> torch.nn.functional.pad(torch.tensor([[1, 2, 3]]), (2, 1), mode="reflect")
    tensor([[3, 2, 1, 2, 3, 2]])
    """
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        # as a float -1 does not wrap in uint8
        fill = 0.0 if value is None else as_float("pad", "value", None, value)
        if any(number > 0 for number in pad):
            check_range(fill, input.dtype)
        return apply(ConstantPadNd, input, tuple(pad), fill)
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    return pad_from_input(input, pad, mode)


def pad_from_input(x: Tensor, pad: Sequence[int], mode: str) -> Tensor:
    """The modes that repeat elements of x."""
    if x.ndim not in NDIMS.get(len(pad), ()):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {x.ndim}D input tensor."
        )
    spatial = len(pad) // 2
    first = 0 if x.ndim == spatial + 1 else 1  # of the dims that may not be empty
    if mode != "circular":
        if 0 in x.shape[first:]:
            raise RuntimeError(
                f"[pad] expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with "
                "possibly 0 batch size and other non-zero dimensions for input, but got: "
                f"{list(x.shape)}"
            )
        if x.dtype is _core.bool:
            raise NotImplementedError(f"[pad] mode '{mode}' is not implemented for bool")
    kind, plan = MODES[mode]
    sides = [(pad[2 * i], pad[2 * i + 1]) for i in range(spatial)]
    dims = range(x.ndim - 1, x.ndim - 1 - spatial, -1)
    planned = [plan(x, dim, *side) for dim, side in zip(dims, sides, strict=True)]
    form = contiguous_format if mode == "circular" else suggested_format(x.array)
    last = form is not contiguous_format and x.ndim == spatial + 2
    op = PadCircular if kind == CIRCULAR else PadFromInput
    result = apply(op, x, kind, tuple(zip(*planned[::-1], strict=True)), last)
    return result if last else result.contiguous(memory_format=form)


# For a dim: the first of the elements that are repeated and their number, where the result begins
# counted from the first, and how long it is.


def reflect(x: Tensor, dim: int, left: int, right: int) -> tuple[int, int, int, int]:
    """a b c -> c b a b c b: the outermost element is the mirror."""
    size = x.shape[dim]
    if left >= size or right >= size:
        raise RuntimeError(
            "Argument #4: Padding size should be less than the corresponding input dimension, but "
            f"got: padding ({left}, {right}) at dimension {dim} of input {list(x.shape)}"
        )
    return replicate(x, dim, left, right)


def replicate(x: Tensor, dim: int, left: int, right: int) -> tuple[int, int, int, int]:
    """a b c -> a a a b c c."""
    size = x.shape[dim]
    if size + left + right < 1:
        raise RuntimeError(f"[pad] ({left}, {right}) leaves nothing of dim {dim}")
    return 0, size, -left, size + left + right


def circular(x: Tensor, dim: int, left: int, right: int) -> tuple[int, int, int, int]:
    """a b c -> b c a b c a; of what negative numbers leave."""
    first, size = max(-left, 0), x.shape[dim] + min(left, 0) + min(right, 0)
    if max(left, right) > x.shape[dim]:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    if size < 1:
        raise RuntimeError("Negative padding value is resulting in an empty dimension")
    return first, size, min(-left, 0), size + max(left, 0) + max(right, 0)


MODES: dict[str, Any] = {
    "reflect": (REFLECT, reflect), "replicate": (REPLICATE, replicate),
    "circular": (CIRCULAR, circular),
}  # fmt: skip
