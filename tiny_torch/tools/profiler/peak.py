"""Memory's peak, and who made the blocks that were live then."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import Any, NamedTuple

from tiny_torch.autograd._profiler.events import source_line
from tiny_torch.autograd.record import MODULE, RANGE
from tiny_torch.tools.profiler.totals import BACKWARDS, FORWARD, Call, Totals

ACTIVATIONS, GRADIENTS, OTHERS = "activations", "of backward", "others"


class Change(NamedTuple):
    """A storage's memory, made or given back."""

    time: int  # in ns
    storage: int
    bytes: int  # -1: given back
    place: tuple  # where Python was, of a large one


class Maker(NamedTuple):
    """What made a block."""

    kind: str
    op: str  # "" outside of ops
    module: str
    line: str


class Peak(NamedTuple):
    bytes: int
    time: int  # in ns
    makers: dict[Maker, tuple[int, int]]  # bytes and blocks, the largest first
    curve: list[tuple[int, int]]  # (time, bytes in use after it)

    def share(self, kind: str) -> float:
        """The part of the peak that blocks of this kind have, from 0 to 1."""
        found = sum(size for maker, (size, _) in self.makers.items() if maker.kind == kind)
        return found / self.bytes if self.bytes else 0.0


def peak_of(changes: list[Change], totals: Totals) -> Peak:
    live: dict[int, int] = {}  # {storage: its bytes}
    curve, count, most, at = [], 0, 0, 0
    for number, change in enumerate(changes):
        count += max(change.bytes, 0) - live.pop(change.storage, 0)
        if change.bytes >= 0:
            live[change.storage] = change.bytes
        curve.append((change.time, count))
        if count > most:
            most, at = count, number + 1
    then: dict[int, Change] = {}
    for change in changes[:at]:
        then.pop(change.storage, None)
        if change.bytes > 0:
            then[change.storage] = change
    makers: dict[Maker, list[int]] = defaultdict(list)
    starts = [row.start for row in totals.recording.rows]
    for change in then.values():
        makers[maker_of(change, totals, starts)].append(change.bytes)
    sums = {maker: (sum(sizes), len(sizes)) for maker, sizes in makers.items()}
    largest = dict(sorted(sums.items(), key=lambda item: -item[1][0]))
    return Peak(most, curve[at - 1][0] if at else totals.recording.start, largest, curve)


def maker_of(change: Change, totals: Totals, starts: list[int]) -> Maker:
    call = call_at(change.time, totals, starts)
    line = source_line(change.place[0]) if change.place else ""
    if call is None:
        return Maker(OTHERS, "", "", line)
    if call.form in (MODULE, RANGE):
        return Maker(OTHERS, call.name, call.module, call.line or line)
    kind = GRADIENTS if call.phase == BACKWARDS else OTHERS
    if call.phase == FORWARD and call.event.sequence_nr >= 0:
        kind = ACTIVATIONS
    return Maker(kind, call.name, call.module, call.line)


def call_at(time: int, totals: Totals, starts: list[int]) -> Call | None:
    """The innermost that ran then."""
    number = bisect_right(starts, time) - 1
    if number < 0:
        return None
    moment = (time - totals.recording.start) / 1e3
    event: Any = totals.calls[number].event
    while event is not None and event.time_range.end < moment:
        event = event.cpu_parent
    return None if event is None else totals.calls[event.id]
