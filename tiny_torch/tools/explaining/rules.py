"""Promotion of dtypes and broadcasting of shapes, in words."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.tools.explaining.watching import Launch, Value

CATEGORIES = ("bool", "integer", "floating point")


def text_of_dtype(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def category(dtype: Any) -> int:
    if dtype.is_floating_point:
        return 2
    return int(dtype is not _core.bool)


def rank(x: Value) -> int:
    """2 of a tensor with dims, 1 of one without, 0 of a number."""
    return 0 if x.dtype is None else 1 + bool(x.shape)


def category_of(x: Value) -> int:
    if x.dtype is not None:
        return category(x.dtype)
    return 0 if x.text in ("True", "False") else 2 if not x.text.lstrip("-").isdigit() else 1


def promotion(
    names: list[str], operands: list[Value], walk: Any, launches: list[Launch]
) -> list[str]:
    """Which operand was converted from what to what, how, and by which rule."""
    tensors = [x for x in operands if x.dtype is not None]
    if walk is None or not tensors:
        return []
    computed = walk[1]
    lines = []
    for name, x in zip(names, operands, strict=True):
        if x.dtype is None or x.dtype is computed:
            continue
        change = f"{name}: {text_of_dtype(x.dtype)} -> {text_of_dtype(computed)}"
        read = [dtype for address, dtype, _ in walk[3][1:] if address == x.address]
        how = "converted as the kernel reads it, block by block: no copy" if read else ""
        lines.append(f"{change}, {how}" if how else change)
    reason = why(names, operands, computed)
    if reason and (lines or any(x.dtype is None for x in operands)):
        lines.append(reason)
    return lines


def why(names: list[str], operands: list[Value], computed: Any) -> str:
    """The rule that has chosen the dtype: dims over 0-d over numbers, then category, then width."""
    dtypes = {x.dtype for x in operands if x.dtype is not None}
    half = len(dtypes) == 1 and all(x.itemsize == 2 and category(x) == 2 for x in dtypes)
    if half and computed.itemsize == 4:
        return "halves are computed in float32 and rounded once"
    highest = max(rank(x) for x in operands)
    first = [x for x in operands if rank(x) == highest]
    top = max(category_of(x) for x in first)
    above = [
        (name, x) for name, x in zip(names, operands, strict=True)
        if rank(x) < highest and category_of(x) > top
    ]  # fmt: skip
    if above:
        name, x = max(above, key=lambda pair: category_of(pair[1]))
        what = "a number" if rank(x) == 0 else "a tensor without dims"
        kind = CATEGORIES[category_of(x)]
        return (
            f"rule: {name} is {what}, which counts here because {kind} is above {CATEGORIES[top]}"
        )
    if category(computed) > top:
        return "rule: this op computes in floating point, so others become the default dtype"
    lower = [
        (name, x) for name, x in zip(names, operands, strict=True)
        if rank(x) < highest and x.dtype is not computed
    ]  # fmt: skip
    kinds = {category_of(x) for x in first}
    if len(kinds) > 1:
        least, most = CATEGORIES[min(kinds)], CATEGORIES[max(kinds)]
        return (
            f"rule: of tensors with dims {most} is above {least}"
            if highest == 2
            else (f"rule: {most} is above {least}")
        )
    if len({x.dtype for x in first}) > 1:
        return "rule: of one category the wider dtype is taken"
    if lower:
        name, x = lower[0]
        what = "a number" if rank(x) == 0 else "a tensor without dims"
        return f"rule: {name} is {what}: its dtype counts only if its category is higher"
    return ""


def broadcasting(names: list[str], operands: list[Value], shape: tuple[int, ...]) -> list[str]:
    """Which dims of which operand are read again and again."""
    lines = []
    for name, x in zip(names, operands, strict=True):
        if x.dtype is None or x.shape == shape or len(x.shape) > len(shape):
            continue
        if not x.shape:
            lines.append(f"{name}: one element for all of {shape}, stride 0, no copy")
            continue
        new = len(shape) - len(x.shape)
        stretched = [
            f"dim {d} from {'nothing' if d < new else 1} to {size}"
            for d, size in enumerate(shape)
            if d < new or (x.shape[d - new] == 1 and size != 1)
        ]
        if stretched:
            lines.append(f"{name}: {x.shape} -> {shape}, {', '.join(stretched)}: stride 0, no copy")
    return lines
