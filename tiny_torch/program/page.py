"""Programs as one HTML page: where each buffer lies, and for which launches.

From left to right the launches, in their order; from top to bottom addresses. The strip above tells
which launches are one chain. What a rectangle is, a pointer that rests on it tells.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from tiny_torch.program.plan import Buffer, Plan
from tiny_torch.program.show import name_of_kernel, text_of
from tiny_torch.utils.pages import document
from tiny_torch.utils.sizes import size_text

WIDTH, HEIGHT, STRIP = 1000.0, 420.0, 14.0  # of a drawing
PLACED = ("block", "kept", "result")  # memory that the plan has chosen
STYLE = """
svg { width: 100%; border: 1px solid var(--line); background: var(--card); margin: 6px 0; }
rect { stroke: var(--bg); stroke-width: 0.6; }
rect:hover { stroke: var(--mark); stroke-width: 2; }
.block { fill: var(--curve); } .kept { fill: var(--mark); } .result { fill: #2e8b57; }
.launch { fill: var(--bar); } .chain { fill: var(--curve); }
.name { fill: var(--dim); font-size: 11px; } .edge { stroke: var(--dim); stroke-dasharray: 4 3; }
pre { overflow-x: auto; font: 12px/1.5 ui-monospace, monospace; }
.key { display: inline-block; width: 10px; height: 10px; margin: 0 4px 0 12px; }
"""
KEY = "".join(
    f'<svg class="key" viewBox="0 0 1 1"><rect class="{name}" width="1" height="1"/></svg>{text}'
    for name, text in zip(PLACED, ("block", "kept for backward", "results"), strict=True)
)


def page(title: str, functions: Iterable[tuple[str, list[tuple], list[str]]]) -> str:
    """The page's text. Of each function: name, programs as `Compiled` has them, refusals."""
    parts = [f"<h1>{html.escape(title)}</h1><p class='dim'>Launches from left to right, addresses "
             f"downwards. {KEY}</p>"]  # fmt: skip
    for name, programs, refusals in functions:
        parts.append(f"<h2>{html.escape(name)}</h2>")
        parts += [f"<p>refused: the function {html.escape(why)}</p>" for why in refusals]
        for what, program, places in programs:
            text = text_of(what, program, places)
            head, rest = text.split("\n", 1)
            parts.append(
                f"<h3>{html.escape(head)}</h3>{drawing(Plan(program, places))}"
                f"<details><summary>launches</summary><pre>{html.escape(rest)}</pre></details>"
            )
    return document(title, STYLE, "".join(parts))


def drawing(plan: Plan) -> str:
    """The plan's memory as SVG."""
    launches = [
        " ".join([name_of_kernel(*kernel), *plan.places[recorded]])
        for kernel, *_, recorded in plan.program.launches
    ]
    count = max(len(launches), 1)
    drawn = [(i, b) for i, b in enumerate(plan.buffers) if b.memory in PLACED and b.first >= 0]
    ends: dict[int, int] = {}  # bytes of each piece of memory
    for _, b in drawn:
        ends[b.region] = max(ends.get(b.region, 0), b.offset + b.bytes)
    begins, total = {}, 0
    for region in sorted(ends):
        begins[region], total = total, total + ends[region]
    scale = HEIGHT / max(total, 1)

    def box(kind: str, first: int, last: int, y: float, height: float, text: str) -> str:
        x, width = first * WIDTH / count, (last + 1 - first) * WIDTH / count
        return (
            f'<rect class="{kind}" x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" '
            f'height="{max(height, 0.5):.2f}"><title>{html.escape(text)}</title></rect>'
        )

    parts = [box("launch", i, i, 0, STRIP, f"{i}: {launches[i]}") for i in range(len(launches))]
    for first, last in plan.program.chains:
        names = ", ".join(launches[i].split(" ", 1)[0] for i in range(first, last + 1))
        parts.append(box("chain", first, last, 0, STRIP, f"one chain, {first} to {last}: {names}"))
    top = STRIP + 4
    for i, b in drawn:
        y = top + (begins[b.region] + b.offset) * scale
        last = b.last if b.memory == "block" else count - 1  # the others outlive the program
        parts.append(box(b.memory, b.first, last, y, b.bytes * scale, about(i, b, launches)))
    for region, begin in begins.items():
        y = top + begin * scale
        if ends[region] * scale > 12:
            size = size_text(ends[region])
            parts.append(f'<line class="edge" x1="0" x2="{WIDTH:g}" y1="{y:.2f}" y2="{y:.2f}"/>')
            parts.append(f'<text class="name" x="4" y="{y + 11:.2f}">{size}</text>')
    return f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT + top:g}" role="img">{"".join(parts)}</svg>'


def about(number: int, b: Buffer, launches: list[str]) -> str:
    return (
        f"%{number}, {size_text(b.bytes)} of {b.memory}, launches {b.first} to {b.last}; "
        f"made by {launches[b.first]}"
    )
