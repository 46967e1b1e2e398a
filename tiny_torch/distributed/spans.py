"""When collectives went on, and when a thread waited for them: what a profile asks for."""

from __future__ import annotations

from threading import get_ident
from time import perf_counter_ns
from typing import NamedTuple

MOST = 100_000  # spans that are kept
BESIDE, WITHIN, WAIT = range(3)  # in the group's thread; in the caller's; a wait for it


class Span(NamedTuple):
    """A collective or a wait, from when to when (ns), and in which thread."""

    text: str
    kind: int
    begin: int
    end: int
    thread: int


heard: list[Span] | None = None  # where spans go while a profile records


def note(text: str, kind: int, begin: int) -> None:
    """Keeps a span that ends now."""
    if heard is not None and len(heard) < MOST:
        heard.append(Span(text, kind, begin, perf_counter_ns(), get_ident()))


def record_spans(on: bool) -> list[Span]:
    """Begins or ends to keep spans; those that were kept."""
    global heard
    found, heard = heard or [], [] if on else None
    return found
