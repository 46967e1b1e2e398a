"""What differs between an answer and the right one, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

SHOWN = 6  # differing elements


def difference(got: Any, expected: Any, tolerance: float, place: str = "the result") -> str:
    """Empty where they agree: types, lengths, shapes, dtypes; floats within `tolerance`, relative
    to the largest element for arrays."""
    if isinstance(expected, np.ndarray):
        return array_difference(got, expected, tolerance, place)
    if isinstance(expected, tuple | list | dict):
        if type(got) is not type(expected):
            return f"{place} is {value_line(got)}, expected {value_line(expected)}"
        if len(got) != len(expected):
            return f"{place} has {len(got)} items, expected {len(expected)}"
        keys = expected if isinstance(expected, dict) else range(len(expected))
        for key in keys:
            if isinstance(got, dict) and key not in got:
                return f"{place} has no {key!r}"
            name = key if isinstance(expected, dict) else f"item {key}"
            found = difference(got[key], expected[key], tolerance, f"{name} of {place}")
            if found:
                return found
        return ""
    if isinstance(expected, float) and isinstance(got, float):
        agree = abs(got - expected) <= tolerance * max(abs(expected), 1.0) or (
            got == expected or (got != got and expected != expected)
        )
        return "" if agree else f"{place} is {got!r}, expected {expected!r}"
    agree = type(got) is type(expected) and got == expected
    return "" if agree else f"{place} is {value_line(got)}, expected {value_line(expected)}"


def array_difference(got: Any, expected: np.ndarray, tolerance: float, place: str) -> str:
    if not isinstance(got, np.ndarray):
        return f"{place} is {value_line(got)}, expected {value_line(expected)}"
    if got.shape != expected.shape:
        return f"{place} has shape {got.shape}, expected {expected.shape}"
    if got.dtype != expected.dtype:
        return f"{place} is of {got.dtype}, expected {expected.dtype}"
    if got.dtype.kind != "f":
        wrong = got != expected
    else:
        scale = np.abs(expected[np.isfinite(expected)]).max(initial=0.0) or 1.0
        wrong = ~np.isclose(got, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    if not wrong.any():
        return ""
    count = int(wrong.sum())
    lines = [f"{place}: {count} of {wrong.size} elements differ"]
    for index in np.argwhere(wrong)[:SHOWN]:
        at = tuple(int(i) for i in index)
        where = f"[{', '.join(map(str, at))}]" if at else "its element"
        lines.append(f"  {where}: got {got[at]!s}, expected {expected[at]!s}")
    if count > SHOWN:
        lines.append(f"  and {count - SHOWN} more")
    if expected.ndim == 2 and expected.size <= 64:
        lines += side_by_side(got, expected, wrong)
    return "\n".join(lines)


def side_by_side(got: np.ndarray, expected: np.ndarray, wrong: np.ndarray) -> list[str]:
    """Rows of both; a star stands at what differs."""

    def cell(value: Any, mark: bool) -> str:
        text = f"{value:.4g}" if expected.dtype.kind == "f" else str(value)
        return f"{text}{'*' if mark else ' '}"

    ours = [
        [cell(v, m) for v, m in zip(*pair, strict=True)] for pair in zip(got, wrong, strict=True)
    ]
    right = [[cell(v, False) for v in row] for row in expected]
    width = max((len(text) for row in [*ours, *right] for text in row), default=1)
    lines = []
    for a, b in zip(ours, right, strict=True):
        left, other = (" ".join(text.rjust(width) for text in row) for row in (a, b))
        lines.append(f"  {left}  |  {other}")
    title = "got".ljust(max(len(lines[0]) // 2 - 2, 3)) if lines else ""
    return [f"  {title}|  expected", *lines] if lines else []


def value_line(value: Any) -> str:
    """A value in a line."""
    if isinstance(value, np.ndarray):
        return f"an array {value.shape} of {value.dtype}"
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."
