"""A profile as one HTML page: where the time goes by phase, op, module and line; what ops reach of
the machine's limits; who made memory's peak; what to do.

The page needs no other file and no script. `python -m tiny_torch profile script.py` writes it.
"""

from __future__ import annotations

import html
import linecache
from collections.abc import Callable, Iterable, Sequence
from threading import get_ident

import tiny_torch as torch
from tiny_torch.autograd._profiler.table import format_memory, format_time
from tiny_torch.distributed.spans import Span
from tiny_torch.tools.profiler.drawing import bar, curve, roofline
from tiny_torch.tools.profiler.hints import hints
from tiny_torch.tools.profiler.peak import Change, Peak, peak_of
from tiny_torch.tools.profiler.processes import processes_part
from tiny_torch.tools.profiler.totals import Sum, Totals
from tiny_torch.utils.pages import document

MOST = 40  # lines of a table
MAKERS = 12  # of memory's peak
STYLE = """
th, td { text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 180px;
  overflow-wrap: anywhere; font-family: ui-monospace, monospace; font-size: 13px; }
.lines th:last-child, .lines td:last-child { text-align: left; font-size: 13px;
  font-family: ui-monospace, monospace; }
@media (max-width: 600px) { th, td { padding: 3px 5px; font-size: 13px; } }
.hints { background: var(--card); border-left: 4px solid var(--mark); margin: 12px 0;
  padding: 8px 12px 8px 32px; }
.bar { display: flex; height: 26px; border-radius: 4px; overflow: hidden; margin-top: 12px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 13px; }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 2px;
  margin-right: 5px; }
.p0 { background: #4269d0; } .p1 { background: #3ca951; } .p2 { background: #a463f2; }
.p3 { background: #efb118; } .p4 { background: #ff8a6b; } .p5 { background: #d9480f; }
svg { width: 100%; display: block; }
.axes { display: grid; grid-template-columns: max-content 1fr; gap: 4px 8px; font-size: 12px;
  color: var(--dim); margin-top: 12px; }
.curve { height: 220px; border: solid var(--line); border-width: 0 0 1px 1px; }
.curve .grid { stroke: var(--line); vector-effect: non-scaling-stroke; }
.sizes, .times { display: flex; justify-content: space-between; }
.sizes { flex-direction: column; text-align: right; height: 224px; padding-top: 3px;
  box-sizing: border-box; } .times { grid-column: 2; }
.roof { min-width: 600px; }
.roof text { fill: var(--dim); font-size: 12px; } .roof .label { fill: var(--fg); }
.grid line { stroke: var(--line); }
.point { fill: var(--curve); fill-opacity: 0.55; stroke: var(--curve); }
.processes { height: 68px; } .busy { fill: #4269d0; } .sent { fill: #3ca951; }
.idle { fill: #efb118; }
.hollow { fill: none; stroke: var(--curve); stroke-width: 2; }
"""


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


def flops_rate(name: str, found: Sum) -> str:
    return f"{found.flops / found.own / 1e3:.2f}" if found.flops and found.own else ""


def bytes_rate(name: str, found: Sum) -> str:
    return f"{found.bytes / found.own / 1e3:.2f}" if found.bytes and found.own else ""


def source(name: str, found: Sum) -> str:
    """The text of a line of the script."""
    path, _, rest = name.partition("(")
    number = rest.partition(")")[0]
    return linecache.getline(path, int(number)).strip()[:80] if number.isdigit() else ""


def makers(peak: Peak) -> list[tuple[float, list[str]]]:
    """Who made the blocks that were live at the peak."""
    lines = []
    for maker, (size, blocks) in list(peak.makers.items())[:MAKERS]:
        share = size / peak.bytes
        cells = [maker.op or "outside of ops", f"{share:.1%}", format_memory(size), str(blocks)]
        lines.append((share, [*cells, maker.module, maker.line]))
    return lines


def profile_page(
    totals: Totals, changes: list[Change], script: str, note: str = "", spans: Sequence[Span] = ()
) -> str:
    """The page's text; `spans` are what other processes had to do with it."""
    peak = peak_of(changes, totals)
    recording, limits, wall = totals.recording, totals.limits, totals.wall
    whole = (recording.stop - recording.start) / 1e3
    moment = format_time((peak.time - recording.start) / 1e3)

    def of_limit(name: str, found: Sum) -> str:
        return f"{found.share_of(limits):.0%}" if found.flops or found.bytes else ""

    title = f"Profile of {script}"
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="dim">{format_time(whole)}, of which {format_time(wall)} from the first op to '
        f"the last, and {format_time(totals.recorder)} this profile; {len(totals.calls)} calls, "
        f"{torch.get_num_threads()} threads. {html.escape(note)}</p>",
        bar(totals.shares, wall),
        "<h2>What to do</h2>",
        enumeration([hint.text for hint in hints(totals, peak)]),
        processes_part(spans, get_ident(), recording.start, recording.stop, table),
        "<h2>Ops</h2>",
        table(
            ("op", "share", "own time", "total", "calls", "GFLOP/s", "GB/s",
             "of the limit"),
            by_time(totals.ops, wall, total, calls, flops_rate, bytes_rate, of_limit),
        ),
        "<h2>The roofline</h2>",
        f"<p>This machine: {limits.flops / 1e9:.0f} GFLOP/s in float32 products, "
        f"{limits.bytes / 1e9:.1f} GB/s of copies through memory. Each op is as large as its share "
        "of the time; hollow ones have no count of operations, only of bytes. What lies in caches "
        "is faster than the slope.</p>",
        roofline(totals.ops, limits, wall),
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
        f"<p>At most {format_memory(peak.bytes)} in tensors, after {moment}. Made by:</p>",
        '<div class="lines">',
        table(("op", "share", "bytes", "blocks", "module", "line"), makers(peak)),
        "</div>",
        curve(peak, recording.start, recording.stop),
    ]  # fmt: skip
    return document(title, STYLE, "".join(parts))


def enumeration(texts: list[str]) -> str:
    if not texts:
        return "<p>None of the rules of tiny_torch/tools/profiler/hints.py applies.</p>"
    return f'<ol class="hints">{"".join(f"<li>{html.escape(text)}</li>" for text in texts)}</ol>'
