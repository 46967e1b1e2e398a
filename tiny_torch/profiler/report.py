"""A profile as one HTML page: where the time goes by op, module and line; who made memory's peak.

The page needs no other file and no script. `python -m tiny_torch profile script.py` writes it.
"""

from __future__ import annotations

import html
import linecache
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import tiny_torch as torch
from tiny_torch.autograd._profiler.events import FOLDER, Recording, events_of
from tiny_torch.autograd._profiler.table import format_memory, format_time
from tiny_torch.autograd.profiler_util import FunctionEvent
from tiny_torch.autograd.record import MODULE

MOST = 40  # lines of a table
POINTS = 1000  # of the curve of memory
OPTIMIZER, LOADER = "Optimizer.", "enumerate(DataLoader)"
STYLE = """
:root { color-scheme: light dark; --bg: #fff; --fg: #1d2530; --dim: #66707d; --line: #d8dde4;
  --bar: #cfe2f7; --curve: #2b6cb0; --mark: #c2185b; }
@media (prefers-color-scheme: dark) { :root { --bg: #14181d; --fg: #e4e8ee; --dim: #98a2af;
  --line: #333b45; --bar: #24405f; --curve: #6cb2f5; --mark: #ff5c93; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 16px; max-width: 1100px; background: var(--bg); color: var(--fg);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 28px 0 8px; }
p { margin: 4px 0; } .dim { color: var(--dim); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 8px; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th { color: var(--dim); font-weight: normal; }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 180px;
  overflow-wrap: anywhere; font-family: ui-monospace, monospace; font-size: 13px; }
.lines th:last-child, .lines td:last-child { text-align: left; font-size: 13px;
  font-family: ui-monospace, monospace; }
svg { width: 100%; height: 220px; display: block; border-bottom: 1px solid var(--line); }
"""


class Sum(NamedTuple):
    """What one line of a table adds up, in microseconds."""

    calls: int = 0
    own: float = 0.0
    total: float = 0.0
    flops: int = 0

    def plus(self, event: FunctionEvent, calls: int = 1) -> Sum:
        """With an event; its whole time counts where it is a call."""
        return Sum(
            self.calls + calls,
            self.own + event.self_cpu_time_total,
            self.total + event.cpu_time_total * calls,
            self.flops + event.flops,
        )


def line_of_user() -> tuple:
    """As events.py's `stack`, the innermost frame that is not ours alone: cheap to keep."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(OURS) and not code.co_filename.startswith("<frozen"):
            return ((code, frame.f_lineno),)
        frame = frame.f_back
    return ()


OURS = FOLDER + "tiny_torch"


def paths_of(recording: Recording) -> dict[int, str]:
    """{id of a module: its way from the outermost one that was called}, as in "Net.layers.0"."""
    found: dict[int, str] = {}
    for row in recording.rows:
        if row.form == MODULE and id(row.what) not in found:
            root = type(row.what).__name__
            for name, module in row.what.named_modules():
                found.setdefault(id(module), f"{root}.{name}" if name else root)
    return found


class Totals:
    """The sums of a recording, by op, module and line."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.wall = (recording.stop - recording.start) / 1e3
        self.ops: dict[str, Sum] = {}
        self.modules: dict[str, Sum] = {}
        self.lines: dict[str, Sum] = {}
        self.shares: dict[str, float] = defaultdict(float)
        paths = paths_of(recording)
        self.events = events_of(recording, with_flops=True, with_shapes=False)
        module: dict[int, str] = {}  # the module within which an event runs
        by_sequence: dict[int, str] = {}
        loading: set[int] = set()  # events within a loader
        for row, event in zip(recording.rows, self.events, strict=True):
            parent = event.cpu_parent
            inside = module.get(parent.id, "") if parent else ""
            time = event.self_cpu_time_total
            if event.name.startswith(LOADER) or (parent and parent.id in loading):
                loading.add(event.id)
                self.shares["waiting for data"] += time
            elif row.form == MODULE:
                inside = paths[id(row.what)]
                self.shares["Python, within modules"] += time
            elif event.scope == 1:
                inside = by_sequence.get(event.sequence_nr, inside)
                self.shares["backward"] += time
            elif event.name.startswith(OPTIMIZER):
                self.shares["optimizers"] += time
            elif event.is_user_annotation:
                self.shares["Python, within blocks"] += time
            else:
                self.shares["forward"] += time
                if event.sequence_nr >= 0:
                    by_sequence.setdefault(event.sequence_nr, inside)
            module[event.id] = inside
            if row.form != MODULE:
                line = event.stack[0] if event.stack else "elsewhere"
                self.ops[event.name] = self.ops.get(event.name, Sum()).plus(event)
                self.lines[line] = self.lines.get(line, Sum()).plus(event)
            if inside:
                so_far = self.modules.get(inside, Sum())
                self.modules[inside] = so_far.plus(event, int(row.form == MODULE))
        self.shares["Python, elsewhere"] = max(0.0, self.wall - sum(self.shares.values()))

    def peak(self) -> tuple[int, int, str]:
        """The most bytes in use, when in ns, and who ran then."""
        most, when, who = 0, self.recording.start, ""
        for row, event in zip(self.recording.rows, self.events, strict=True):
            for count, time in ((row.before, row.start), (row.after, row.end)):
                if count > most:
                    where = event.stack[0] if event.stack else ""
                    most, when, who = count, time, f"{event.name} {where}".strip()
        return most, when, who


# ---- the page -----------------------------------------------------------------------------------


def table(titles: Iterable[str], lines: Iterable[tuple[float, list[str]]]) -> str:
    """Each line with its share of the whole, as a bar behind its first cell."""
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    rows = []
    for share, (name, *cells) in lines:
        width = f"{min(share, 1.0) * 100:.1f}%"
        bar = f"background:linear-gradient(to right,var(--bar) {width},transparent {width})"
        rest = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        rows.append(f'<tr><td style="{bar}">{html.escape(name)}</td>{rest}</tr>')
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def by_time(
    sums: dict[str, Sum], wall: float, *columns: Callable[[str, Sum], str]
) -> list[tuple[float, list[str]]]:
    """The largest own times first; after them what the columns say of a line."""
    lines = []
    for name, found in sorted(sums.items(), key=lambda item: -item[1].own)[:MOST]:
        share = found.own / wall if wall else 0.0
        cells = [name, f"{share:.1%}", format_time(found.own)]
        lines.append((share, cells + [column(name, found) for column in columns]))
    return lines


def calls(name: str, found: Sum) -> str:
    return str(found.calls)


def total(name: str, found: Sum) -> str:
    return format_time(found.total)


def rate(name: str, found: Sum) -> str:
    return f"{found.flops / found.own / 1e3:.2f}" if found.flops and found.own else ""


def source(name: str, found: Sum) -> str:
    """The text of a line of the script."""
    path, _, rest = name.partition("(")
    number = rest.partition(")")[0]
    return linecache.getline(path, int(number)).strip()[:80] if number.isdigit() else ""


def curve(recording: Recording, peak: tuple[int, int, str]) -> str:
    """Bytes in use over time, with a mark at the peak."""
    looks = sorted(
        [(row.start, row.before) for row in recording.rows]
        + [(row.end, row.after) for row in recording.rows if row.end]
    )
    most, when, _ = peak
    span = max(recording.stop - recording.start, 1)
    columns: dict[int, int] = {}  # the largest of each column
    for time, count in looks:
        column = (time - recording.start) * POINTS // span
        columns[column] = max(count, columns.get(column, 0))
    points = " ".join(f"{x},{200 - 190 * y / max(most, 1):.1f}" for x, y in columns.items())
    mark = (when - recording.start) * POINTS // span
    return (
        f'<svg viewBox="0 0 {POINTS} 200" preserveAspectRatio="none" role="img" '
        f'aria-label="bytes in use over time"><polyline points="{points}" fill="none" '
        'stroke="var(--curve)" stroke-width="2" vector-effect="non-scaling-stroke"/>'
        f'<line x1="{mark}" x2="{mark}" y1="0" y2="200" stroke="var(--mark)" '
        'stroke-dasharray="4 3" vector-effect="non-scaling-stroke"/></svg>'
    )


def page(recording: Recording, title: str, note: str = "") -> str:
    """The page's text, of a recording with lines, modules, shapes and memory."""
    totals = Totals(recording)
    peak = totals.peak()
    wall = totals.wall
    shares = sorted(totals.shares.items(), key=lambda item: -item[1])
    summary = [
        (time / wall if wall else 0.0, [name, f"{time / wall:.1%}", format_time(time)])
        for name, time in shares
        if time > 0
    ]
    moment = format_time((peak[1] - recording.start) / 1e3)
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="dim">{format_time(wall)}, {len(recording.rows)} calls, '
        f"{torch.get_num_threads()} threads. {html.escape(note)}</p>",
        "<h2>Where the time goes</h2>",
        table(("", "share", "time"), summary),
        "<h2>Ops</h2>",
        table(
            ("op, or node of backward", "share", "own time", "total", "calls", "GFLOP/s"),
            by_time(totals.ops, wall, total, calls, rate),
        ),
        "<h2>Modules, with their backward</h2>",
        table(
            ("module", "share", "own time", "forward in all", "calls"),
            by_time(totals.modules, wall, total, calls),
        ),
        "<h2>Lines, with their backward</h2>",
        '<div class="lines">',
        table(
            ("line", "share", "time", "calls", "source"),
            by_time(totals.lines, wall, calls, source),
        ),
        "</div>",
        "<h2>Memory</h2>",
        f"<p>At most {format_memory(peak[0])} in use, after {moment}: "
        f"<code>{html.escape(peak[2])}</code></p>",
        curve(recording, peak),
    ]  # fmt: skip
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>{''.join(parts)}</html>\n"
    )
