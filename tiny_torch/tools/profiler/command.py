"""`python -m tiny_torch profile [-o PAGE] script.py [args…]`: runs a script, and leaves a page."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd._profiler.events import FOLDER, Recording, Row
from tiny_torch.autograd._profiler.files import write_whole
from tiny_torch.autograd.record import (
    ORDINARY,
    enter,
    leave,
    start_record,
    stop_record,
    watch_modules,
)
from tiny_torch.compat import run
from tiny_torch.distributed import spans
from tiny_torch.tensor import Tensor
from tiny_torch.tools.profiler.limits import Limits, limits
from tiny_torch.tools.profiler.peak import Change
from tiny_torch.tools.profiler.report import profile_page
from tiny_torch.tools.profiler.totals import Totals

PAGE = "profile.html"
MOST = 100_000  # calls, which the page takes 300 MB and some seconds for; no more are recorded
LARGE = 1 << 16  # bytes of a block, from which on its line is looked for
USAGE = f"""\
usage: python -m tiny_torch profile [-o PAGE] script.py [args…]
       python -m tiny_torch profile [-o PAGE] -m module [args…]

Runs a PyTorch script on tiny_torch and writes where its time and memory went: {PAGE}, or PAGE.
Where there are several ranks, each writes a page of its own: profile.rank0.html.
It ends as the script does; a script that fails, exits or is interrupted leaves its page, too."""


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


class ScriptRecord:
    """The record of a script's main thread and of memory, up to some number of calls."""

    def __init__(self, most: int = MOST) -> None:
        self.left = most
        self.rows: list[Any] = []
        self.costs: list[int] = []  # of each row, ns
        self.changes: list[Change] = []
        self.spans: list[spans.Span] = []  # of collectives
        self.start = self.stop = 0

    def begin(self) -> None:
        watch_modules(self, True)
        watch_items(True)
        spans.record_spans(True)
        start_record(True, False, self.place)
        _core.listen_to_storages(self.on_storage)
        self.start = perf_counter_ns()

    def place(self) -> tuple:
        """Where a call stands; after the last that counts it ends the record."""
        begin = perf_counter_ns()
        self.left -= 1
        if self.left < 0:
            self.end()
            return ()
        found = line_of_user()
        self.costs.append(perf_counter_ns() - begin)
        return found

    def on_storage(self, storage: int, size: int, device: str) -> None:
        """A storage is made, or given back if its size is -1."""
        if len(self.changes) >= 10 * MOST:
            self.end()
            return
        place = line_of_user() if size >= LARGE else ()
        self.changes.append(Change(perf_counter_ns(), storage, size, place))

    def end(self) -> None:
        """Nothing more is recorded."""
        if self.stop:
            return
        self.stop = perf_counter_ns()
        _core.listen_to_storages(None)
        self.rows = stop_record()
        self.spans = spans.record_spans(False)
        watch_items(False)
        watch_modules(self, False)

    def totals(self, limits: Limits) -> Totals:
        """What was recorded."""
        self.end()
        rows = [Row(*row) for row in self.rows]
        recording = Recording(rows, threading.get_native_id(), self.start, self.stop)
        return Totals(recording, limits, self.costs[: len(rows)])


def watch_items(on: bool) -> None:
    """Whether it is recorded that a tensor becomes a Python number."""
    for name, plain in NUMBERS.items():
        setattr(Tensor, name, record_item(plain) if on else plain)


NUMBERS: dict[str, Any] = {
    name: getattr(Tensor, name) for name in ("item", "__bool__", "__float__", "__int__")
}


def record_item(plain: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    @functools.wraps(plain)
    def to_number(self: Tensor) -> Any:
        row = enter("aten::item", ORDINARY, -1)
        try:
            return plain(self)
        finally:
            leave(row)

    return to_number


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
    if os.environ.get("WORLD_SIZE", "1") != "1":
        stem, end = os.path.splitext(target)
        target = f"{stem}.rank{os.environ.get('RANK', '0')}{end}"
    if not os.path.isdir(os.path.dirname(target)):
        print(f"profile: there is no folder for {target}", file=sys.stderr)
        return 2
    watch, began = ScriptRecord(), True
    os.register_at_fork(after_in_child=watch.end)  # whose time is its own
    watch.begin()
    try:
        run.main(arguments)
    except run.NothingToRun:  # the page that is there stays
        began = False
        raise
    except SyntaxError as error:
        began = error.filename != os.path.abspath(arguments[0])
        raise
    finally:
        watch.end()
        if began:
            note = f"Only the first {MOST} calls are here." if watch.left < 0 else ""
            script, totals = " ".join(arguments), watch.totals(limits())
            text = profile_page(totals, watch.changes, script, note, watch.spans)
            write_whole(target, text)
            print(f"profile: {target}", file=sys.stderr)
    return 0
