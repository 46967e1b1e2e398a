"""F.pad: wider dims, filled with a constant or from the tensor itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tiny_torch as torch

from ...autograd.apply import apply1
from ...dtypes import check_range
from ...layouts import suggested_format
from ...ops.padding import ConstantPadNd
from ...tensor import Tensor

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
        fill = 0.0 if value is None else float_of(value)  # as a float -1 does not wrap in uint8
        if any(number > 0 for number in pad):
            check_range(fill, input.dtype)
        return apply1(ConstantPadNd, input, tuple(pad), fill)
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    return pad_from_input(input, pad, mode)


def float_of(value: Any) -> float:
    if not hasattr(value, "__float__"):
        raise TypeError(f"pad(): argument 'value' must be float, not {type(value).__name__}")
    return float(value)


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
        if x.dtype is torch.bool:
            raise NotImplementedError(f"[pad] mode '{mode}' is not implemented for bool")
    result = x
    for i in range(spatial):
        result = MODES[mode](result, x.ndim - 1 - i, pad[2 * i], pad[2 * i + 1])
    if mode == "circular":
        return result.clone(memory_format=torch.contiguous_format)
    if all(number <= 0 for number in pad):
        result = result.clone()  # a cut alone left a view
    return result.contiguous(memory_format=suggested_format(x.array))


def reflect_dim(x: Tensor, dim: int, left: int, right: int) -> Tensor:
    """a b c -> c b a b c b: the outermost element is the mirror."""
    size = x.shape[dim]
    if left >= size or right >= size:
        raise RuntimeError(
            "[pad] Padding size should be less than the corresponding input dimension, but got: "
            f"padding ({left}, {right}) at dimension {dim} of input {list(x.shape)}"
        )
    parts = [x]
    if left > 0:
        parts.insert(0, x.narrow(dim, 1, left).flip(dim))
    if right > 0:
        parts.append(x.narrow(dim, size - 1 - right, right).flip(dim))
    return joined(parts, dim, left, right)


def replicate_dim(x: Tensor, dim: int, left: int, right: int) -> Tensor:
    """a b c -> a a a b c c."""
    parts = [x]
    if left > 0:
        parts.insert(0, repeated(x.narrow(dim, 0, 1), dim, left))
    if right > 0:
        parts.append(repeated(x.narrow(dim, x.shape[dim] - 1, 1), dim, right))
    return joined(parts, dim, left, right)


def repeated(x: Tensor, dim: int, times: int) -> Tensor:
    sizes = [-1] * x.ndim
    sizes[dim] = times
    return x.expand(sizes)


def joined(parts: list[Tensor], dim: int, left: int, right: int) -> Tensor:
    """The parts side by side, less what negative numbers cut off."""
    whole = parts[0] if len(parts) == 1 else torch.cat(parts, dim)
    if left >= 0 and right >= 0:
        return whole
    length = whole.shape[dim] + min(left, 0) + min(right, 0)
    if length < 1:
        raise RuntimeError(f"[pad] ({left}, {right}) leaves nothing of dim {dim}")
    return whole.narrow(dim, max(-left, 0), length)


def circular_dim(x: Tensor, dim: int, left: int, right: int) -> Tensor:
    """a b c -> b c a b c a."""
    size = x.shape[dim]
    if left > size or right > size:
        raise RuntimeError("[pad] Padding value causes wrapping around more than once.")
    if size + left + right < 1 or size + min(left, 0) + min(right, 0) < 1:
        raise RuntimeError("[pad] Negative padding value is resulting in an empty dimension")
    if left < 0 or right < 0:
        x = x.narrow(dim, max(-left, 0), size + min(left, 0) + min(right, 0))
        size = x.shape[dim]
    left, right = min(max(left, 0), size), min(max(right, 0), size)
    parts = [x.narrow(dim, size - left, left), x, x.narrow(dim, 0, right)]
    return torch.cat(parts, dim) if left or right else x


MODES: dict[str, Any] = {
    "reflect": reflect_dim, "replicate": replicate_dim, "circular": circular_dim,
}  # fmt: skip
