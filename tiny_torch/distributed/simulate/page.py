"""The table of a simulation, as text and as a page with curves that a browser opens."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tiny_torch.distributed.simulate.step import Step
from tiny_torch.distributed.simulate.strategies import STRATEGIES, Link
from tiny_torch.distributed.simulate.weather import Weather

COLOURS = ("#1f77b4", "#2ca02c", "#d62728", "#9467bd", "#ff7f0e")
WIDTH, HEIGHT, LEFT, BOTTOM = 420, 260, 60, 30


@dataclass(frozen=True)
class Row:
    """A strategy at some workers: seconds of a step, bytes of a worker, and how it scales.

    `speed` is how many times as many batches a second as the recorded step; failures are in it.
    """

    strategy: str
    workers: int
    seconds: float
    memory: float
    sent: float
    speed: float


def simulate(step: Step, link: Link, weather: Weather, workers: Sequence[int]) -> list[Row]:
    """A row for each strategy and number of workers that it can have."""
    rows = []
    for name, strategy in STRATEGIES.items():
        for n in workers:
            found = strategy(step, n, link)
            if found is None:
                continue
            found = weather.slow_down(found, n)
            speed = found.batches * step.seconds / found.seconds * weather.useful(n)
            rows.append(Row(name, n, found.seconds, found.memory, found.sent, speed))
    return rows


def format_rows(rows: Sequence[Row]) -> str:
    """The rows as text."""
    lines = [
        f"{'strategy':10} {'workers':>7} {'step, ms':>11} {'memory, MiB':>11} {'sent, MiB':>9} "
        f"{'speed':>9} {'of ideal':>8}"
    ]
    for row in rows:
        lines.append(
            f"{row.strategy:10} {row.workers:7} {row.seconds * 1e3:11.2f} "
            f"{row.memory / 2**20:11.1f} {row.sent / 2**20:9.1f} {row.speed:9.2f} "
            f"{row.speed / row.workers:8.0%}"
        )
    return "\n".join(lines)


def curves(rows: Sequence[Row], of: str, title: str) -> str:
    """An SVG of one figure over the number of workers, both in powers of ten."""
    values = [max(getattr(row, of), 1e-9) for row in rows]
    across = span([row.workers for row in rows])
    up = span(values)

    def place(x: float, y: float) -> str:
        right = LEFT + (math.log10(x) - across[0]) / (across[1] - across[0]) * WIDTH
        down = HEIGHT - (math.log10(y) - up[0]) / (up[1] - up[0]) * HEIGHT + 10
        return f"{right:.1f},{down:.1f}"

    parts = [f"<text x='{LEFT}' y='{HEIGHT + 45}'>{html.escape(title)}, by workers</text>"]
    for power in range(across[0], across[1] + 1):
        x, _ = place(10.0**power, 10.0 ** up[0]).split(",")
        parts.append(f"<text x='{x}' y='{HEIGHT + 25}'>{10**power:,}</text>")
    for power in range(up[0], up[1] + 1):
        _, y = place(10.0 ** across[0], 10.0**power).split(",")
        parts.append(f"<text x='0' y='{y}'>{10.0**power:g}</text>")
        parts.append(f"<path stroke='#8884' d='M{LEFT} {y}h{WIDTH}'/>")
    for colour, name in zip(COLOURS, STRATEGIES, strict=True):
        points = [
            place(row.workers, value)
            for row, value in zip(rows, values, strict=True)
            if row.strategy == name
        ]
        if points:
            parts.append(f"<polyline stroke='{colour}' points='{' '.join(points)}'/>")
            x, y = points[-1].split(",")
            parts.append(f"<text fill='{colour}' x='{x}' y='{y}'>{html.escape(name)}</text>")
    size = f"viewBox='0 0 {LEFT + WIDTH + 70} {HEIGHT + BOTTOM + 25}'"
    look = "font-size='11' fill='currentColor'"
    drawn = "".join(parts).replace("<polyline", "<polyline fill='none' stroke-width='2'")
    told = html.escape(title)
    return f"<svg {size} {look} role='img' aria-label='{told}'>{drawn}</svg>"


def span(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten around some values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def page(rows: Sequence[Row], about: str) -> str:
    """A page with the table and the curves of all strategies."""
    names = " ".join(
        f"<span style='color:{colour}'>{html.escape(name)}</span>"
        for colour, name in zip(COLOURS, STRATEGIES, strict=True)
    )
    figures = "".join(
        curves(rows, of, title)
        for of, title in (
            ("seconds", "seconds of a step"),
            ("memory", "bytes of memory of a worker"),
            ("speed", "batches, of one worker's"),
        )
    )
    style = "body{font:14px sans-serif;margin:2em}svg{width:32em;margin:1em}"
    return (
        f"<!doctype html><meta charset='utf-8'><title>Steps at many workers</title>"
        f"<style>{style}</style><h1>Steps at many workers</h1><p>{html.escape(about)}</p>"
        f"<p>{names}</p>{figures}<pre>{html.escape(format_rows(rows))}</pre>\n"
    )
