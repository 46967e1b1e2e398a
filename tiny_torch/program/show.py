"""A program as text: a line per launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiny_torch.utils.sizes import size_text

FIRST, INNER, LAST, ALTERNATIVE = "┌", "│", "└", "or"


def text_of(what: str, program: Any, places: list[tuple[str, str]]) -> str:
    """What each pass has changed, and the launches with their modules or phases and lines."""
    rows = [("", "kernel", "memory", "in", "line")]
    marks = dict.fromkeys(range(len(program.launches)), "")
    for first, last in program.chains:
        marks |= dict.fromkeys(range(first, last + 1), INNER) | {first: FIRST, last: LAST}
    seen: set[int] = set()
    launches, buffers = program.launches, program.buffers
    for i, (kernel, uses, alternative, _, recorded) in enumerate(launches):
        part, line = places[recorded]
        memory = " ".join([name_of(k, buffers, seen) for k in uses])
        mark = ALTERNATIVE if alternative else marks[i]
        rows.append((f"{i} {mark}", name_of_kernel(*kernel), memory, part, Path(line).name))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    runs = "one CUDA graph" if program.is_graph else f"{program.steps} steps"
    head = (
        f"{what}: {len(launches)} launches in {runs}; "
        f"{size_text(program.born_bytes)} made within, of which "
        f"{size_text(program.temporary_bytes)} in the block and "
        f"{size_text(program.kept_bytes)} kept for backward"
    )
    lines = [
        "  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=True)]).rstrip()
        for row in rows
    ]
    passes, before = [], None
    for name, *found in program.passed:
        if found != before:
            passes.append(f"{name}: {found[0]} launches, {size_text(found[1])} at once")
        before = found
    return "\n".join([head, *passes, *lines])


def name_of_kernel(family: str | None, name: str | None, dtype: Any) -> str:
    if family is None:
        return "a kernel"
    kernel = name if name and name != family else family
    return kernel if dtype is None else f"{kernel} {str(dtype).removeprefix('torch.')}"


def name_of(number: int, buffers: list[tuple], seen: set[int]) -> str:
    """%4, and where it is first named also what memory it has."""
    if number in seen:
        return f"%{number}"
    seen.add(number)
    size, kind, *_ = buffers[number]
    return f"%{number}({kind}, {size_text(size)})"
