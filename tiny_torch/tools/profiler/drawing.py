"""The pictures of a profile's page: the bar of phases, the roofline, memory over time.

All are of the page's own colours, so that they follow its light or dark style.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable

from tiny_torch.autograd._profiler.table import format_memory, format_time
from tiny_torch.tools.profiler.limits import Limits
from tiny_torch.tools.profiler.peak import Peak
from tiny_torch.tools.profiler.totals import Sum

POINTS = 1000  # of the curve of memory
LEAST = 0.002  # of the time: what takes less is not on the roofline
LABELS = 8  # ops of the roofline that have their name beside them
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 760, 400, 56, 44, 14  # of the roofline


def bar(shares: dict[str, float], whole: float) -> str:
    """One bar of all phases, and what each takes."""
    parts, legend = [], []
    for number, (name, time) in enumerate(shares.items()):
        share = time / whole if whole else 0.0
        if share <= 0:
            continue
        title = f"{name}: {share:.1%}, {format_time(time)}"
        parts.append(f'<i class="p{number}" style="width:{share * 100:.2f}%" title="{title}"></i>')
        legend.append(f'<span><i class="p{number}"></i>{title}</span>')
    return f'<div class="bar">{"".join(parts)}</div><p class="legend">{"".join(legend)}</p>'


def curve(peak: Peak, start: int, stop: int) -> str:
    """Bytes in use over time, with a mark at the peak."""
    span, most = max(stop - start, 1), max(peak.bytes, 1)
    columns: dict[int, int] = {}  # the largest of each column
    for time, count in peak.curve:
        column = (time - start) * POINTS // span
        columns[column] = max(count, columns.get(column, 0))
    points = " ".join(f"{x},{200 - 190 * y / most:.1f}" for x, y in columns.items())
    mark = (peak.time - start) * POINTS // span
    # The svg is stretched; the axes beside it are not. 190 of its 200 rows are the peak's.
    sizes = "".join([f"<span>{format_memory(size)}</span>" for size in (most, most // 2, 0)])
    times = "".join([f"<span>{format_time(span * i / 4000)}</span>" for i in range(5)])
    lines = "".join([f'<path d="M0 {y}H{POINTS}" class="grid"/>' for y in (10, 105)])
    return (
        f'<div class="axes"><div class="sizes">{sizes}</div>'
        f'<svg class="curve" viewBox="0 0 {POINTS} 200" preserveAspectRatio="none" role="img" '
        f'aria-label="bytes in use over time"><polyline points="{points}" fill="none" '
        'stroke="var(--curve)" stroke-width="2" vector-effect="non-scaling-stroke"/>'
        f'<line x1="{mark}" x2="{mark}" y1="0" y2="200" stroke="var(--mark)" '
        'stroke-dasharray="4 3" vector-effect="non-scaling-stroke"/>'
        f'{lines}</svg><div class="times">{times}</div></div>'
    )


class Scale:
    """Powers of ten along a side of the roofline."""

    def __init__(self, values: Iterable[float], start: float, end: float) -> None:
        logs = [math.log10(value) for value in values]
        self.low, self.high = math.floor(min(logs)), math.ceil(max(logs))
        self.high += self.high == self.low
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def powers(self) -> Iterable[float]:
        return (10.0**n for n in range(self.low, self.high + 1))


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:.6f}".rstrip("0")


def roofline(ops: dict[str, Sum], limits: Limits, whole: float) -> str:
    """GFLOP/s over operations per byte: what ops reach, under what the machine could.

    An op of which only bytes are known stands at the left, hollow: its distance from the slope
    says how far it is from the memory's limit.
    """
    shown = {n: found for n, found in ops.items() if found.bytes and found.own > LEAST * whole}
    peak, slope = limits.flops / 1e9, limits.bytes / 1e9
    ratios = {name: found.flops / found.bytes for name, found in shown.items() if found.flops}
    least = min([0.1, *ratios.values()]) / 2  # of those without operations
    places = {
        name: (ratios.get(name, least), found.bytes / found.own / 1e3 * ratios.get(name, least))
        for name, found in sorted(shown.items(), key=lambda item: -item[1].own)
    }
    ridge = peak / slope
    x = Scale([least, ridge * 4, *(x for x, _ in places.values())], LEFT, WIDTH - 12)
    y = Scale([peak * 1.5, peak / 1e3, *(y for _, y in places.values())], HEIGHT - BOTTOM, TOP)
    foot, high = max(10.0**x.low, 10.0**y.low / slope), 10.0**x.high
    roof = f"{x(foot)},{y(foot * slope)} {x(ridge)},{y(peak)} {x(high)},{y(peak)}"
    spots = {name: (x(ratio), y(rate)) for name, (ratio, rate) in places.items()}
    sizes = {name: 3 + 17 * math.sqrt(shown[name].own / whole) for name in spots}
    marks = [
        f'<circle class="{"point" if shown[name].flops else "hollow"}" cx="{a}" cy="{b}" '
        f'r="{sizes[name]:.1f}"><title>{point_text(name, shown[name], limits, whole)}</title>'
        "</circle>"
        for name, (a, b) in spots.items()
    ]
    return (
        f'<div class="scroll"><svg class="roof" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="roofline"><g class="grid">{grid(x, y)}</g>'
        f'<polyline points="{roof}" fill="none" stroke="var(--mark)" stroke-width="2"/>'
        f"{''.join(marks)}{labels_of(spots, sizes)}"
        f'<text x="{WIDTH - 12}" y="{HEIGHT - 6}" text-anchor="end">operations per byte</text>'
        f'<text x="4" y="{HEIGHT - 6}">up: GFLOP/s</text></svg></div>'
    )


def grid(x: Scale, y: Scale) -> str:
    """A line and a number for each power of ten."""
    lines = [
        f'<line x1="{x(n)}" x2="{x(n)}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        f'<text x="{x(n)}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{number(n)}</text>'
        for n in x.powers()
    ] + [
        f'<line x1="{LEFT}" x2="{WIDTH - 12}" y1="{y(n)}" y2="{y(n)}"/>'
        f'<text x="{LEFT - 6}" y="{y(n) + 4}" text-anchor="end">{number(n)}</text>'
        for n in y.powers()
    ]
    return "".join(lines)


def point_text(name: str, found: Sum, limits: Limits, whole: float) -> str:
    """What a point shows under the pointer."""
    share = f"{found.own / whole:.1%} of the time, {found.share_of(limits):.0%} of the roofline"
    return html.escape(f"{name}: {share}, {rates(found)}")


def labels_of(spots: dict[str, tuple[float, float]], sizes: dict[str, float]) -> str:
    """The names of the first ops, beside their points, where no other name stands."""
    taken: list[tuple[float, float]] = []
    labels = []
    for name, (a, b) in spots.items():
        left = a > WIDTH * 0.7  # of the point
        a, b = a + (-1 if left else 1) * (sizes[name] + 4), b + 4
        free = all(abs(a - c) > 150 or abs(b - d) > 13 for c, d in taken)
        if free and len(taken) < LABELS:
            taken.append((a, b))
            anchor = "end" if left else "start"
            labels.append(
                f'<text class="label" x="{a:.1f}" y="{b:.1f}" text-anchor="{anchor}">'
                f"{html.escape(name.removeprefix('aten::'))}</text>"
            )
    return "".join(labels)


def rates(found: Sum) -> str:
    """What an op reaches: the known ones of operations and bytes per second."""
    parts = [
        f"{count / found.own / 1e3:.1f} {unit}"
        for count, unit in ((found.flops, "GFLOP/s"), (found.bytes, "GB/s"))
        if count and found.own
    ]
    return ", ".join(parts)
