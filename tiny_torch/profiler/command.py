"""`python -m tiny_torch profile [-o PAGE] script.py [args…]`: runs a script, and leaves a page."""

from __future__ import annotations

import os
import sys
import threading
from time import perf_counter_ns
from typing import Any

from tiny_torch.autograd._profiler.events import Recording, Row
from tiny_torch.autograd._profiler.files import write_whole
from tiny_torch.autograd.profiler import watch_modules
from tiny_torch.autograd.record import start_record, stop_record
from tiny_torch.compat import run
from tiny_torch.profiler.report import line_of_user, page

PAGE = "profile.html"
MOST = 100_000  # calls, which the page takes 300 MB and some seconds for; no more are recorded
USAGE = f"""\
usage: python -m tiny_torch profile [-o PAGE] script.py [args…]
       python -m tiny_torch profile [-o PAGE] -m module [args…]

Runs a PyTorch script on tiny_torch and writes where its time and memory went: {PAGE}, or PAGE."""


class Watch:
    """The record of a script's main thread, up to some number of calls."""

    def __init__(self, most: int = MOST) -> None:
        self.left = most
        self.rows: list[Any] = []
        self.start = self.stop = 0

    def begin(self) -> None:
        watch_modules(1)
        start_record(True, True, self.place)
        self.start = perf_counter_ns()

    def place(self) -> tuple:
        """Where a call stands; after the last that counts it ends the record."""
        self.left -= 1
        if self.left < 0:
            self.end()
            return ()
        return line_of_user()

    def end(self) -> Recording:
        """What was recorded; nothing more is."""
        if not self.stop:
            self.stop = perf_counter_ns()
            self.rows = stop_record()
            watch_modules(-1)
        rows = [Row(*row) for row in self.rows]
        return Recording(rows, threading.get_native_id(), self.start, self.stop)


def main(arguments: list[str]) -> int:
    """The exit code. What the script raises goes on, after the page is written."""
    target = PAGE
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if arguments[:1] == ["-o"]:
        target, arguments = (arguments[1] if len(arguments) > 1 else ""), arguments[2:]
    if not target or not arguments or (arguments[0].startswith("-") and len(arguments) < 2):
        print(USAGE, file=sys.stderr)
        return 2
    target = os.path.abspath(target)  # the script may go elsewhere
    if not os.path.isdir(os.path.dirname(target)):
        print(f"profile: there is no folder for {target}", file=sys.stderr)
        return 2
    watch = Watch()
    watch.begin()
    try:
        run.run(arguments)
    finally:
        recording = watch.end()
        note = f"Only the first {MOST} calls are here." if watch.left < 0 else ""
        write_whole(target, page(recording, f"Profile of {' '.join(arguments)}", note))
        print(f"profile: {target}", file=sys.stderr)
    return 0
