"""Events as a table of text: PyTorch's columns, widths and units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

WIDTH = 12  # of a column of numbers
SCALES = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def format_time(microseconds: float, unit: str | None = None) -> str:
    """In s, ms or us; in the largest that leaves a digit before the point unless a unit is given.

    >>> format_time(1234.5), format_time(1234.5, "us")
    ('1.234ms', '1234.500us')
    """
    sizes = {"s": 1e6, "ms": 1e3, "us": 1.0}
    if unit not in sizes:
        unit = "s" if microseconds >= 1e6 else "ms" if microseconds >= 1e3 else "us"
    return f"{microseconds / sizes[unit]:.3f}{unit}"


def format_share(part: float, total: float) -> str:
    return "NaN" if total == 0 else f"{part * 100.0 / total:.2f}%"


def format_memory(count: int) -> str:
    """Bytes in the unit that fits, with their sign."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(count) >= 1024**power:
            return f"{count / 1024**power:.2f} {unit}"
    return f"{count} B"


def shorten(text: str, width: int | None) -> str:
    return text if width is None or len(text) < width - 3 else text[: width - 3] + "..."


def shorten_left(path: str, width: int) -> str:
    """A place in the source, whose end tells more than its beginning."""
    if len(path) <= width:
        return path
    path = path[-width:]
    return "..." + path[3:] if len(path) > 3 else path


def column_width(texts: Iterable[str], most: int | None) -> int:
    """The width of a column that holds these."""
    width = max(map(len, texts)) + 4
    return width if most is None else min(width, most)


def table_of(
    events: Sequence[Any],
    *,
    sort_by: str | None,
    row_limit: int,
    max_src_column_width: int | None,
    max_name_column_width: int | None,
    max_shapes_column_width: int | None,
    header: str | None,
    top_level_events_only: bool,
    time_unit: str | None,
    profile_memory: bool,
    with_flops: bool,
) -> str:
    """AttributeError where no event has the attribute `sort_by`."""
    if not events:
        return ""
    if sort_by is not None:
        key = sort_by
        for device in ("cuda", "xpu", "privateuse1"):
            key = key.replace(device, "device")
        events = sorted(events, key=lambda event: getattr(event, key), reverse=True)
    total = sum(event.self_cpu_time_total for event in events)
    shapes = [str(event.input_shapes) for event in events if event.input_shapes]
    stacks = [event.stack for event in events if event.stack]
    counted = [event.flops for event in events if event.flops] if with_flops else []
    thousands = min(int(math.log10(min(counted)) / 3), len(SCALES) - 1) if counted else 0

    # (title, width, what an event shows)
    columns: list[tuple[str, int, Any]] = [
        ("Name", column_width((e.key for e in events), max_name_column_width),
         lambda e: shorten(e.key, max_name_column_width)),
        ("Self CPU %", WIDTH, lambda e: format_share(e.self_cpu_time_total, total)),
        ("Self CPU", WIDTH, lambda e: format_time(e.self_cpu_time_total, time_unit)),
        ("CPU total %", WIDTH, lambda e: format_share(e.cpu_time_total, total)),
        ("CPU total", WIDTH, lambda e: format_time(e.cpu_time_total, time_unit)),
        ("CPU time avg", WIDTH, lambda e: format_time(e.cpu_time, time_unit)),
    ]  # fmt: skip
    if profile_memory:
        columns.append(("CPU Mem", WIDTH, lambda e: format_memory(e.cpu_memory_usage)))
        columns.append(("Self CPU Mem", WIDTH, lambda e: format_memory(e.self_cpu_memory_usage)))
    columns.append(("# of Calls", WIDTH, lambda e: str(e.count)))
    if shapes:
        width = column_width((str(event.input_shapes) for event in events), max_shapes_column_width)
        columns.append(("Input Shapes", width, lambda e: str(e.input_shapes)[:width]))
    source = 0
    if stacks:
        source = column_width((entry for stack in stacks for entry in stack), max_src_column_width)
        columns.append(
            (
                "Source Location",
                -source,
                lambda e: shorten_left(e.stack[0], source) if e.stack else "",
            )
        )
    if counted:
        scale = 10.0 ** (-3 * thousands)
        columns.append(
            (f"Total {SCALES[thousands]}", WIDTH,
             lambda e: f"{e.flops * scale:8.3f}" if e.flops else "--")
        )  # fmt: skip

    def line(cells: Iterable[str]) -> str:
        return "".join(
            (cell.ljust(-width) if width < 0 else cell.rjust(width)) + "  "
            for cell, (_, width, _) in zip(cells, columns, strict=True)
        )

    rule = line("-" * abs(width) for _, width, _ in columns)
    double = "=" * (len(rule) - 2)
    lines = [double, header] if header is not None else []
    if top_level_events_only:
        lines += [double, "This report only display top-level ops statistics"]
    lines += [rule, line(title for title, _, _ in columns), rule]
    shown = [e for e in events if not (top_level_events_only and e.cpu_parent is not None)]
    for event in shown if row_limit < 0 else shown[:row_limit]:
        lines.append(line(value(event) for _, _, value in columns))
        if source:
            rest = [shorten_left(entry, source) for entry in event.stack[1:]] if event.stack else []
            place = [title for title, _, _ in columns].index("Source Location")
            for entry in (*rest, ""):
                lines.append(line(entry if i == place else "" for i in range(len(columns))))
    lines += [rule, f"Self CPU time total: {format_time(total, time_unit)}"]
    return "\n".join(lines) + "\n"
