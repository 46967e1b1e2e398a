"""Finds a line of a script as it runs, by Python's trace function, and watches what it does."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from tiny_torch.tools.explaining.watching import Watch


def extent(source: str, line: int) -> tuple[int, int] | None:
    """(first, last) line of the innermost statement that has the line; None where none has it.

    What a statement holds (the body of a loop, of a function) is not part of it.
    """
    found = None
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            continue
        if isinstance(node, ast.match_case):
            first = node.pattern.lineno
            last = max(first, node.body[0].lineno - 1)
        else:
            decorators = [d.lineno for d in getattr(node, "decorator_list", ())]
            first, last = min([node.lineno, *decorators]), node.end_lineno or node.lineno
            inner = getattr(node, "body", None) or getattr(node, "cases", None)
            if inner:
                begin = (
                    inner[0].pattern.lineno
                    if isinstance(inner[0], ast.match_case)
                    else (
                        min(
                            [
                                inner[0].lineno,
                                *[d.lineno for d in getattr(inner[0], "decorator_list", ())],
                            ]
                        )
                    )
                )
                last = max(first, begin - 1)
        if first <= line <= last and (found is None or last - first <= found[1] - found[0]):
            found = first, last
    return found


class Line:
    """Watches the executions of lines `first` to `last` of a file, until one is explained.

    `nth`: the one to explain, counted from 1; 0: the first that runs an op. `done(watch,
    failed)` is called as it ends; then nothing is traced any more.
    """

    def __init__(
        self, file: str, first: int, last: int, nth: int, done: Callable[[Watch, bool], None]
    ) -> None:
        self.file, self.first, self.last = file, first, last
        self.nth, self.done = nth, done
        self.count = 0  # executions so far
        self.frame: FrameType | None = None  # that runs it now
        self.watch: Watch | None = None
        self.failed = False  # by an exception that the line does not catch
        self.codes: dict[CodeType, bool] = {}

    def begin(self) -> None:
        sys.settrace(self.trace)

    def stop(self) -> None:
        """Ends the trace, and an execution that an exception has left."""
        sys.settrace(None)
        if self.watch is not None:
            self.watch.finish()

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """A call: whether its lines are to be seen."""
        code = frame.f_code
        wanted = self.codes.get(code)
        if wanted is None:
            wanted = os.path.realpath(code.co_filename) == self.file and any(
                line is not None and self.first <= line <= self.last
                for _, _, line in code.co_lines()
            )
            self.codes[code] = wanted
        return self.step if wanted and self.frame is None else None

    def step(self, frame: FrameType, event: str, arg: Any) -> Any:
        """The next line of a function that has the one that is looked for, or its end."""
        here = self.first <= frame.f_lineno <= self.last
        if self.frame is frame:
            self.failed = event == "exception" or (self.failed and event == "return")
            if event == "return" or (event == "line" and not here):
                self.leave()
        elif self.frame is None and event == "line" and here:
            self.count += 1
            if not self.nth or self.count == self.nth:
                self.frame = frame
                self.watch = Watch(base=frame)
                self.watch.begin()
        return self.step

    def leave(self) -> None:
        watch = self.watch
        assert watch is not None
        watch.finish()
        self.frame = self.watch = None
        if self.nth or watch.rows or watch.launches:
            sys.settrace(None)
            self.nth = -1  # explained: no other is
            self.done(watch, self.failed)
