"""The part of a profile's page about other processes: communication beside compute, and waits."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from tiny_torch.autograd._profiler.table import format_time
from tiny_torch.distributed.spans import WAIT, WITHIN, Span
from tiny_torch.tools.profiler.drawing import bar

SHOWN = 40  # spans of the picture, the last; lines of the table, the longest
Times = list[tuple[int, int]]


def union(times: Iterable[tuple[int, int]]) -> Times:
    """Times without overlaps."""
    found: Times = []
    for begin, end in sorted(times):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found


def overlap(a: Times, b: Times) -> int:
    """How long both last, each without overlaps of its own."""
    return length(a) + length(b) - length(union([*a, *b]))


def length(times: Times) -> int:
    return sum(end - begin for begin, end in times)


def waits_of(spans: Sequence[Span], thread: int) -> Times:
    """When the script's thread waited, in a collective or for one."""
    return union((s.begin, s.end) for s in spans if s.kind >= WITHIN and s.thread == thread)


def going_on(spans: Sequence[Span]) -> Times:
    """When a collective went on."""
    return union((s.begin, s.end) for s in spans if s.kind <= WITHIN)


def processes_part(
    spans: Sequence[Span], thread: int, start: int, stop: int, table: Callable[..., str]
) -> str:
    """Shares of a record from `start` to `stop` (ns), a picture of its end, and a table."""
    if not spans:
        return ""
    waits, sending = waits_of(spans, thread), going_on(spans)
    idle, whole = length(waits), stop - start
    hidden = length(sending) - overlap(sending, waits)
    shares = {"compute": whole - idle - hidden, "compute, communication hidden": hidden,
              "idle": idle}  # fmt: skip
    lines = []
    by_text: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_text[span.text].append(span)
    longest = sorted(by_text.items(), key=lambda item: -sum(s.end - s.begin for s in item[1]))
    for text, own in longest[:SHOWN]:
        times = going_on(own)
        shown = overlap(times, waits)
        waited = length(waits_of(own, thread))
        calls = sum(span.kind != WAIT for span in own)
        cells = [text, f"{waited / whole:.1%}", format_time(waited / 1e3)]
        cells += [format_time(length(times) / 1e3), format_time((length(times) - shown) / 1e3)]
        lines.append((waited / whole, [*cells, str(calls)]))
    return "".join((
        "<h2>Other processes</h2>",
        f"<p>Collectives went on for {format_time(length(sending) / 1e3)}, of which "
        f"{format_time(hidden / 1e3)} were hidden behind compute. This process was idle, waiting "
        f"for others, for {format_time(idle / 1e3)} of {format_time(whole / 1e3)}.</p>",
        bar({name: time / 1e3 for name, time in shares.items()}, whole / 1e3),
        picture(spans, thread),
        table(("collective", "of the time", "idle", "went on", "hidden", "calls"),
              sorted(lines, key=lambda line: -line[0])),
    ))  # fmt: skip


def picture(spans: Sequence[Span], thread: int) -> str:
    """The last spans: above what the script's thread did, below what was sent meanwhile."""
    last = sorted(spans, key=lambda span: span.end)[-SHOWN:]
    start, stop = min(span.begin for span in last), max(span.end for span in last)
    scale = 1000 / max(stop - start, 1)

    def box(y: int, kind: str, begin: int, end: int, title: str) -> str:
        x, width = (begin - start) * scale, max((end - begin) * scale, 0.5)
        told = html.escape(f"{title}: {format_time((end - begin) / 1e3)}")
        place = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="26"'
        return f'<rect class="{kind}" {place}><title>{told}</title></rect>'

    boxes, at = [], start
    for begin, end in waits_of(last, thread):
        boxes += [box(4, "busy", at, begin, "compute"), box(4, "idle", begin, end, "idle")]
        at = end
    boxes.append(box(4, "busy", at, stop, "compute"))
    boxes += [box(38, "sent", s.begin, s.end, s.text) for s in last if s.kind <= WITHIN]
    label = f"The last {format_time((stop - start) / 1e3)}: compute above, communication below"
    return (
        f'<p class="dim">{label}.</p><svg class="processes" '
        f'viewBox="0 0 1000 68" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f"{''.join(boxes)}</svg>"
    )
