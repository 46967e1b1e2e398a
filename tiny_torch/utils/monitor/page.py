"""A watch as one HTML page: heat maps of layers over iterations, then the curves of each layer.

The page needs no other file and no script.
"""

from __future__ import annotations

import base64
import html
import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from tiny_torch.utils.monitor.table import Row
from tiny_torch.utils.pages import document

COLUMNS = 120  # at most, of a curve or a heat map: more iterations share a column
POINTS = 90_000  # of all curves together, so that the page stays below 2 MB
FINDINGS = 12
DEAD, LARGE, SMALL = 0.9, 0.1, 1e-6  # a share of zeros; updates against their weights
STYLE = """
.heat { display: grid; grid-template-columns: minmax(150px, 26%) 1fr; gap: 0 8px; }
.heat div { font: 11px/14px ui-monospace, monospace; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; direction: rtl; text-align: right; }
.ends { display: flex; justify-content: space-between; margin: 0; font-size: 12px; }
.heat img { width: 100%; image-rendering: pixelated; }
.tensor { display: grid; grid-template-columns: repeat(auto-fill, minmax(160px, 1fr)); gap: 10px; }
.layer { background: var(--card); border-radius: 8px; padding: 4px 12px 12px; margin: 10px 0; }
h4 { font-size: 13px; font-weight: normal; margin: 8px 0 4px; color: var(--dim); }
figure { margin: 0; min-width: 0; display: flex; flex-direction: column;
  justify-content: space-between; }
figcaption { font-size: 12px; line-height: 1.35; overflow-wrap: anywhere; }
svg { width: 100%; height: 56px; display: block; border-bottom: 1px solid var(--line); }
polyline { fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
polygon { opacity: .22; stroke: none; }
.a { stroke: var(--curve); fill: var(--curve); } .b { stroke: var(--second); }
polyline.a { fill: none; } figcaption .a { color: var(--curve); }
figcaption .b { color: var(--second); }
.bad { stroke: var(--bad); stroke-width: 1; vector-effect: non-scaling-stroke; }
:root { --second: #b7600a; }
@media (prefers-color-scheme: dark) { :root { --second: #f0a35a; } }
"""
Values = list[float | None]


def watch_page(rows: Sequence[Row], paths: Iterable[str], root: str, every: int) -> str:
    """The page's text; `paths` are those of the model's modules in order, `root` its own name."""
    title = f"Training of {root}"
    iterations = sorted({row.iteration for row in rows})
    if not iterations:
        return document(title, STYLE, f"<h1>{html.escape(title)}</h1><p>Nothing was noted.</p>")
    series: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        series.setdefault((row.kind, row.name), []).append(row)
    layers: dict[str, list[tuple[str, str]]] = {path: [] for path in paths}
    for kind, name in series:
        layers.setdefault(layer_of(kind, name, root), []).append((kind, name))
    curves = 7 * len(series)
    columns = max(2, min(COLUMNS, len(iterations), POINTS // curves))
    axis = Axis(iterations, columns)
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="dim">Iterations {iterations[0]} to {iterations[-1]}, one in {every} noted. '
        "Red lines stand where values are not finite.</p>",
        *stands_out(series),
        *heat_maps(series, axis),
        "<h2>Layers</h2>",
        '<p class="dim">Curves span their own smallest and largest value; numbers are the last '
        "ones. Bands are one standard deviation to each side of the mean.</p>",
        *(layer(path, keys, series, axis) for path, keys in layers.items() if keys),
    ]
    return document(title, STYLE, "".join(parts))


def layer_of(kind: str, name: str, root: str) -> str:
    """The path of the module to which a parameter or an output belongs."""
    if kind == "activation":
        return name.partition("[")[0]
    return name.rpartition(".")[0] or root


class Axis:
    """Iterations as columns."""

    def __init__(self, iterations: list[int], columns: int) -> None:
        count = len(iterations)
        self.columns = columns
        self.first, self.last = iterations[0], iterations[-1]
        self.place = {iteration: i * columns // count for i, iteration in enumerate(iterations)}

    def values(self, rows: Iterable[Row], field: str) -> Values:
        """The largest magnitude of each column; None where there is no finite one."""
        found: Values = [None] * self.columns
        for row in rows:
            value, place = getattr(row, field), self.place[row.iteration]
            if value is not None and math.isfinite(value):
                so_far = found[place]
                if so_far is None or abs(value) > abs(so_far):
                    found[place] = value
        return found

    def gaps(self, rows: Iterable[Row]) -> list[int]:
        """The columns in which an element is not finite."""
        return sorted({self.place[row.iteration] for row in rows if row.non_finite})


# ---- what stands out ----------------------------------------------------------------------------


def stands_out(series: dict[tuple[str, str], list[Row]]) -> list[str]:
    """The first values that are not finite, outputs that are zeros, updates of unusual size."""
    found: list[tuple[int, str]] = []
    broken = [row for rows in series.values() for row in rows if row.non_finite]
    if broken:
        first = min(row.iteration for row in broken)
        for row in broken:
            if row.iteration == first:
                text = f"{row.non_finite} of {row.elements} elements are not finite"
                found.append((0, f"{row.kind} {row.name}: {text} in iteration {first}"))
    for (kind, name), rows in series.items():
        last = rows[-1]
        if kind == "activation" and last.zeros >= DEAD:
            found.append((1, f"activation {name}: {last.zeros:.0%} are zeros at the end"))
        if kind == "gradient" and last.norm == 0:
            found.append((1, f"gradient {name}: all zeros at the end"))
        ratios = sorted(row.update_ratio for row in rows if row.update_ratio is not None)
        usual = ratios[len(ratios) // 2] if ratios else None
        if usual is not None and (usual > LARGE or usual < SMALL):
            found.append((2, f"weight {name}: a usual update is {usual:.2g} of the weight"))
    if not found:
        return []
    texts = [html.escape(text) for _, text in sorted(found, key=lambda pair: pair[0])]
    more = [f"and {len(texts) - FINDINGS} more"] if len(texts) > FINDINGS else []
    items = "".join(f"<li>{text}</li>" for text in texts[:FINDINGS] + more)
    return [f"<h2>What stands out</h2><ul>{items}</ul>"]


# ---- heat maps ----------------------------------------------------------------------------------

MAPS = (
    ("Norm of gradients", "gradient", "norm", True),
    ("Size of updates against weights", "weight", "update_ratio", True),
    ("Standard deviation of activations", "activation", "std", True),
    ("Share of zeros in activations", "activation", "zeros", False),
)
COLOURS = ((13, 8, 60), (150, 40, 120), (240, 130, 60), (250, 240, 150))  # small to large
NOTHING = (128, 128, 128)


def heat_maps(series: dict[tuple[str, str], list[Row]], axis: Axis) -> Iterable[str]:
    for title, wanted, field, log in MAPS:
        lines = {
            name: [axis_value(value, log) for value in axis.values(rows, field)]
            for (kind, name), rows in series.items()
            if kind == wanted
        }
        found = [value for line in lines.values() for value in line if value is not None]
        if not found:
            continue
        low, high = (min(found), max(found)) if log else (0.0, 1.0)
        pixels = [[colour(value, low, high) for value in line] for line in lines.values()]
        labels = "".join(f"<div>&lrm;{html.escape(name)}</div>" for name in lines)
        ends = [f"{10**end:.2g}" if log else f"{end:.0%}" for end in (low, high)]
        image = base64.b64encode(png(pixels)).decode()
        yield (
            f'<h2>{title}</h2><p class="dim">From {ends[0]} (dark) to {ends[1]} (bright)'
            f"{', by orders of magnitude' if log else ''}; grey where there is none.</p>"
            f'<div class="heat"><div>{labels}</div><img alt="{title}, a row for each" '
            f'style="height:{14 * len(lines)}px" src="data:image/png;base64,{image}">'
            f'<span></span><p class="ends dim"><span>iteration {axis.first}</span>'
            f"<span>{axis.last}</span></p></div>"
        )


def axis_value(value: float | None, log: bool) -> float | None:
    if value is None or not log:
        return value
    return math.log10(value) if value > 0 else None


def colour(value: float | None, low: float, high: float) -> tuple[int, ...]:
    if value is None:
        return NOTHING
    place = (value - low) / (high - low) * (len(COLOURS) - 1) if high > low else 0.0
    i = min(int(place), len(COLOURS) - 2)
    pairs = zip(COLOURS[i], COLOURS[i + 1], strict=True)
    return tuple([round(a + (b - a) * (place - i)) for a, b in pairs])


def png(pixels: list[list[tuple[int, ...]]]) -> bytes:
    """An image, of 8 bits per colour (W3C, Portable Network Graphics)."""

    def chunk(name: bytes, data: bytes) -> bytes:
        check = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)

    lines = b"".join(b"\0" + bytes([part for pixel in line for part in pixel]) for line in pixels)
    head = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


# ---- curves -------------------------------------------------------------------------------------


def layer(path: str, keys: list[tuple[str, str]], series: Any, axis: Axis) -> str:
    """The charts of a module's parameters and outputs."""
    parts = [f'<section class="layer"><h3><code>{html.escape(path)}</code></h3>']
    for kind, name in keys:
        if kind == "weight":
            charts = of_parameter(series[kind, name], series.get(("gradient", name), []), axis)
            own = name.rpartition(".")[2]
        elif kind == "activation":
            charts = of_output(series[kind, name], axis)
            own = f"output {name[len(path) :]}"
        else:
            continue
        parts.append(f'<h4>{html.escape(own)}</h4><div class="tensor">{"".join(charts)}</div>')
    return "".join(parts) + "</section>"


def of_parameter(weights: list[Row], gradients: list[Row], axis: Axis) -> Iterable[str]:
    both = {"weight": weights, "gradient": gradients}
    yield chart("norm", both, "norm", axis, log=True)
    yield band("weight", weights, axis)
    if gradients:
        yield band("gradient", gradients, axis)
    yield chart("zeros", both, "zeros", axis)
    if any(row.update_ratio is not None for row in weights):
        yield chart("update / weight", {"": weights}, "update_ratio", axis, log=True)


def of_output(rows: list[Row], axis: Axis) -> Iterable[str]:
    yield chart("norm", {"": rows}, "norm", axis, log=True)
    yield band("", rows, axis)
    yield chart("zeros", {"": rows}, "zeros", axis)


def chart(
    title: str, lines: dict[str, list[Row]], field: str, axis: Axis, log: bool = False
) -> str:
    """Curves over iterations, on a scale of their own."""
    curves = [
        [axis_value(value, log) for value in axis.values(rows, field)] for rows in lines.values()
    ]
    broken = sorted({place for rows in lines.values() for place in axis.gaps(rows)})
    drawn = [*marks(broken, axis.columns)]
    frame = Frame(curves, axis.columns)
    for style, curve in zip("ab", curves, strict=False):
        drawn += [f'<polyline class="{style}" points="{p}"/>' for p in frame.runs(curve)]
    legend = [
        f'<span class="{style}">{html.escape(name)} {last(rows, field)}</span>'
        for style, (name, rows) in zip("ab", lines.items(), strict=False)
        if rows
    ]
    return figure(f"{title}{', log' if log else ''}", legend, drawn)


def band(name: str, rows: list[Row], axis: Axis) -> str:
    """The mean, and a standard deviation to each side of it."""
    means, stds = axis.values(rows, "mean"), axis.values(rows, "std")
    pairs = list(zip(means, stds, strict=True))
    low = [None if m is None or s is None else m - s for m, s in pairs]
    high = [None if m is None or s is None else m + s for m, s in pairs]
    frame = Frame([low, high], axis.columns)
    drawn = [*marks(axis.gaps(rows), axis.columns)]
    for under, over in zip(frame.runs(low), frame.runs(high), strict=True):
        back = " ".join(reversed(over.split()))
        drawn.append(f'<polygon class="a" points="{under} {back}"/>')
    drawn += [f'<polyline class="a" points="{points}"/>' for points in frame.runs(means)]
    legend = [f'<span class="a">{last(rows, "mean")} ± {last(rows, "std")}</span>']
    return figure(f"{html.escape(name)} mean ± std".strip(), legend, drawn)


def last(rows: list[Row], field: str) -> str:
    value = getattr(rows[-1], field)
    return "" if value is None else f"{value:.3g}"


def figure(caption: str, legend: list[str], drawn: list[str]) -> str:
    return (
        f"<figure><figcaption>{caption}<br>{' '.join(legend)}</figcaption>"
        f'<svg viewBox="0 0 100 40" preserveAspectRatio="none">{"".join(drawn)}</svg></figure>'
    )


def marks(places: Iterable[int], columns: int) -> Iterable[str]:
    for place in places:
        x = round(100 * place / max(columns - 1, 1), 1)
        yield f'<line class="bad" x1="{x}" x2="{x}" y1="0" y2="40"/>'


class Frame:
    """Where values stand in a drawing of 100 by 40."""

    def __init__(self, curves: Iterable[Values], columns: int) -> None:
        found = [value for curve in curves for value in curve if value is not None]
        self.low, high = (min(found), max(found)) if found else (0.0, 0.0)
        self.span = high - self.low
        self.step = 100 / max(columns - 1, 1)

    def runs(self, curve: Values) -> list[str]:
        """The points of each part of a curve that has no gap."""
        runs: list[list[str]] = [[]]
        for i, value in enumerate(curve):
            if value is None:
                runs.append([])
                continue
            share = (value - self.low) / self.span if self.span else 0.5
            runs[-1].append(f"{round(i * self.step, 1):g},{round(38 - 36 * share, 1):g}")
        # a point alone is drawn as a short line
        return [" ".join(run if len(run) > 1 else [*run, *after(run)]) for run in runs if run]


def after(run: list[str]) -> list[str]:
    x, _, y = run[0].partition(",")
    return [f"{float(x) + 1:g},{y}"]
