"""What draws the pages' figures: functions from tensors to SVG, in the page's own colours."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

import tiny_torch as torch

__all__ = ["chart", "graph", "layout", "sums", "tiles"]

CELL = 30
COLOURS = ("var(--md-primary-fg-color)", "#c2185b", "#00897b", "#ef6c00")


def svg(width: float, height: float, parts: Sequence[str], told: str, least: float = 0.5) -> str:
    """A picture that narrow columns shrink to `least` of its size; `told` is what it shows."""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'style="min-width:{least * width:.0f}px" role="img" '
        f'aria-label="{html.escape(told, quote=True)}">{"".join(parts)}</svg>'
    )


def text(x: float, y: float, content: object, anchor: str = "middle", kind: str = "") -> str:
    shown = html.escape(str(content))
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{shown}</text>'


def box(x: float, y: float, width: float, height: float, fill: str = "none", more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {more}{place} fill="{fill}"/>'


def line(x: float, y: float, to_x: float, to_y: float, kind: str = "") -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" class="{kind}"/>'


# ---- memory --------------------------------------------------------------------------------------


def shade(address: int, count: int) -> str:
    """One colour per element of memory, the same in each view."""
    return f"hsl({300 * address // max(count, 1)} 65% 60% / 0.45)"


def layout(**tensors: torch.Tensor) -> str:
    """A storage as a line of cells, and tensors of up to two dims as what each of them shows of it.

    A cell holds its address: how many elements lie before it in the storage.
    """
    views = {name: t[None] if t.ndim == 1 else t for name, t in tensors.items()}
    count = max(addresses(view)[-1][-1] for view in views.values()) + 1
    parts = [text(0, 14, "memory", "start", "dim")]
    for address in range(count):
        parts.append(box(address * CELL, 22, CELL, CELL, shade(address, count)))
        parts.append(text((address + 0.5) * CELL, 42, address))
    y, width = 92.0, float(count * CELL)
    for name, view in views.items():
        shown = tensors[name]
        facts = f"{name}: shape {tuple(shown.shape)}, strides {shown.stride()}"
        facts += f", offset {shown.storage_offset()}"
        parts.append(text(0, y - 8, facts, "start", "dim"))
        for i, row in enumerate(addresses(view)):
            for j, address in enumerate(row):
                parts.append(box(j * CELL, y + i * CELL, CELL, CELL, shade(address, count)))
                parts.append(text((j + 0.5) * CELL, y + i * CELL + 20, address))
        width = max(width, 8.2 * len(facts), view.shape[1] * CELL)
        y += view.shape[0] * CELL + 34
    return svg(width + 2, y - 26, parts, f"the memory of {', '.join(tensors)}")


def addresses(view: torch.Tensor) -> list[list[int]]:
    (rows, columns), (down, right) = view.shape, view.stride()
    first = view.storage_offset()
    return [[first + i * down + j * right for j in range(columns)] for i in range(rows)]


# ---- graphs --------------------------------------------------------------------------------------


def graph(result: torch.Tensor, **leaves: torch.Tensor) -> str:
    """The nodes behind a tensor, and leaves; each says what it has saved for backward."""
    facts = torch.utils.viz.draw(result, params=leaves).facts
    rows: dict[tuple[str, int], int] = {}
    for op in facts.ops:  # the oldest first: an op's inputs have their rows
        above = [rows.get((source.kind, source.number), 0) for source in op.sources]
        rows["op", op.number] = max(above, default=0) + 1
        for source in op.sources:  # a leaf stands above the first op that takes it
            if source.kind == "leaf":
                rows.setdefault(("leaf", source.number), rows["op", op.number] - 1)
    places: dict[tuple[str, int], tuple[float, float]] = {}
    width, height = 250, 84
    widest = max(list(rows.values()).count(row) for row in rows.values()) * width
    for row in range(max(rows.values()) + 1):
        keys = [key for key, of in rows.items() if of == row]
        for i, key in enumerate(keys):
            places[key] = ((i + 0.5) * widest / len(keys), row * height + 26)
    parts = []
    for op in facts.ops:
        x, y = places["op", op.number]
        for source in op.sources:
            if (source.kind, source.number) in places:
                from_x, from_y = places[source.kind, source.number]
                parts.append(line(from_x, from_y + 24, x, y - 24, "edge"))
    for leaf in facts.leaves:
        parts += node(*places["leaf", leaf.number], leaf.name, f"leaf {leaf.kind}", COLOURS[2])
    for op in facts.ops:
        saved = f", saved {', '.join(each.role for each in op.saved)}" if op.saved else ""
        name = f"{op.number}. {op.name}"
        parts += node(*places["op", op.number], name, f"{op.results[0]}{saved}", COLOURS[0])
    return svg(widest, max(rows.values()) * height + 54, parts, f"the graph of {facts.title}", 0.8)


def node(x: float, y: float, name: str, facts: str, colour: str) -> list[str]:
    edge = f'rx="6" style="stroke:{colour};stroke-width:2" '
    frame = box(x - 120, y - 24, 240, 48, "var(--md-default-bg-color)", edge)
    return [frame, text(x, y - 4, name), text(x, y + 14, facts, kind="dim small")]


# ---- curves --------------------------------------------------------------------------------------


def chart(curves: Mapping[str, Sequence[float]], across: str, up: str) -> str:
    """Curves over 0, 1, 2, ..., from 0 upwards."""
    width, height, left, top = 640.0, 240.0, 64.0, 12.0
    most = max(max(values) for values in curves.values()) or 1.0
    count = max(len(values) for values in curves.values())
    parts = []
    for i in range(5):
        y = top + height * (1 - i / 4)
        parts += [
            line(left, y, left + width, y, "grid"),
            text(left - 6, y + 5, f"{most * i / 4:,.{0 if most > 100 else 3}f}", "end", "dim"),
        ]
    for n, (name, values) in enumerate(curves.items()):
        points = " ".join(
            f"{left + width * i / max(count - 1, 1):.1f},{top + height * (1 - value / most):.1f}"
            for i, value in enumerate(values)
        )
        colour = COLOURS[n % len(COLOURS)]
        parts.append(f'<polyline points="{points}" style="stroke:{colour}"/>')
        parts.append(box(left + 12 + 160 * n, top + height + 40, 14, 4, colour))
        parts.append(text(left + 32 + 160 * n, top + height + 46, name, "start"))
    parts.append(text(left + width / 2, top + height + 22, across, kind="dim"))
    parts.append(text(left + 8, top + 12, up, "start", "dim"))
    return svg(left + width + 12, top + height + 56, parts, f"{up} over {across}")


# ---- kernels -------------------------------------------------------------------------------------


def sums(lanes: int, count: int) -> str:
    """Which lane adds which of `count` elements, and how the lanes' sums meet in halves."""
    parts = [text(0, 14, "elements, coloured by lane", "start", "dim")]
    per_row = 16
    for i in range(count):
        x, y = i % per_row * CELL, 22 + i // per_row * CELL
        parts += [box(x, y, CELL, CELL, shade(i % lanes, lanes)), text(x + CELL / 2, y + 20, i)]
    y = 22 + -(-count // per_row) * CELL + 26
    step, width = lanes, per_row * CELL
    while step:
        note = "lanes" if step == lanes else f"{step} apart are added"
        parts.append(text(width, y + 20, note, "end", "dim"))
        for i in range(step):
            parts += [
                box(i * CELL, y, CELL, CELL, shade(i, lanes)),
                text((i + 0.5) * CELL, y + 20, i),
            ]
        y, step = y + CELL + 10, step // 2
    return svg(width + 2, y, parts, f"{count} elements summed in {lanes} lanes")


def tiles(rows: int, depth: int, columns: int, tile: tuple[int, int]) -> str:
    """C = A B in tiles: the rows of A and the columns of B that one tile of C reads."""
    size, gap = 11, 24
    parts = []

    def matrix(
        name: str, x: float, y: float, shape: tuple[int, int], marked: Sequence[int]
    ) -> None:
        height, width = shape[0] * size, shape[1] * size
        parts.append(box(x, y, width, height))
        top, left, down, right = (each * size for each in marked)
        parts.append(box(x + left, y + top, right, down, shade(len(parts), 12)))
        parts.append(text(x + width / 2, y - 6, f"{name} {shape}", kind="dim"))

    left, top = depth * size + gap, depth * size + gap + 20
    matrix("A", 0, top, (rows, depth), (tile[0], 0, tile[0], depth))
    matrix("B", left, 20, (depth, columns), (0, tile[1], depth, tile[1]))
    matrix("C", left, top, (rows, columns), (tile[0], tile[1], *tile))
    return svg(left + columns * size + 2, top + rows * size + 2, parts, "a product in tiles")
