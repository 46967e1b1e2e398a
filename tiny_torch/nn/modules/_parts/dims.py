"""What layers say of inputs that have another number of dims."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_torch.tensor import Tensor


def check_dims(input: Tensor, dims: Sequence[int]) -> None:
    if input.ndim not in dims:
        expected = " or ".join([f"{ndim}D" for ndim in dims])
        raise ValueError(f"expected {expected} input (got {input.ndim}D input)")


def check_dims_of(layer: str, name: str, x: Tensor, dims: tuple[int, int]) -> None:
    if x.ndim not in dims:
        few, many = dims
        raise ValueError(f"{layer}: Expected {name} to be {few}D or {many}D, got {x.ndim}D instead")
