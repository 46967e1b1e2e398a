"""An explanation: its steps, and what it is as text. page.py makes the page."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from os import PathLike
from types import FrameType
from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.autograd._profiler.files import write_whole
from tiny_torch.tools.explaining.page import explanation_page
from tiny_torch.tools.explaining.steps import Step, Steps
from tiny_torch.tools.explaining.watching import MOST, Place, Watch, call

SOURCE = "<explain>"
WIDTH = 100


class Explanation:
    """What `explain` answers: steps in the order in which they ran; text when printed."""

    def __init__(self, title: str, watch: Watch, value: Any = None) -> None:
        self.title = title
        self.value = value
        self.steps: list[Step] = Steps(watch).found
        self.note = f"Only the first {MOST} ops are here." if watch.full else ""

    @property
    def machine(self) -> str:
        """What the times depend on."""
        return f"instruction set {_core.instruction_set}, {torch.get_num_threads()} threads"

    def all(self) -> Iterator[Step]:
        """Each step, those within others too, as they began."""
        for step in self.steps:
            yield from step.all()

    def groups(self) -> Iterator[tuple[list[Place], list[Step]]]:
        """Steps that one piece of source has run, with its way from the line inwards."""
        group: list[Step] = []
        for step in self.steps:
            if group and group[0].path != step.path:
                yield group[0].path, group
                group = []
            group.append(step)
        if group:
            yield group[0].path, group

    def __str__(self) -> str:
        lines = [self.title, f"({self.machine})"]
        for path, steps in self.groups():
            lines.append("")
            lines += [f"{'  ' * depth}{place.text}{at(place)}" for depth, place in enumerate(path)]
            for step in steps:
                lines += text_of(step, 1)
        return "\n".join([*lines, *([self.note] if self.note else [])])

    __repr__ = __str__

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a page that needs no other file; OSError where it cannot be written."""
        write_whole(path, explanation_page(self))


def at(place: Place) -> str:
    return f"    {place.where}" if place.where else ""


def text_of(step: Step, depth: int) -> list[str]:
    """A step's number and name; below them its facts, and the steps within."""
    lead = "  " * depth
    lines = [f"{lead}{step.number}. {step.title}"]
    for label, facts in step.facts.items():
        for i, fact in enumerate(facts):
            head = f"{lead}   {label if i == 0 else '':10}"
            lines += textwrap.wrap(
                fact, WIDTH, initial_indent=head, subsequent_indent=" " * (len(head) + 2),
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip
    for inner in step.steps:
        lines += text_of(inner, depth + 1)
    return lines


def explain_for_caller(
    code: str | Callable[[], Any], namespace: dict[str, Any] | None, caller: FrameType
) -> Explanation:
    """`explain` of what its caller has given."""
    if not isinstance(code, str):
        if not callable(code):
            raise TypeError(f"explain expected source or a function, got {type(code).__name__}")
        if namespace is not None:
            raise TypeError("explain: a function has names of its own, it takes no namespace")
        name = getattr(code, "__name__", type(code).__name__)
        title = "a function" if name == "<lambda>" else f"{name}()"
        return watch_call(title, code, {})
    known = {**caller.f_globals, **caller.f_locals} if namespace is None else {**namespace}
    source = textwrap.dedent(code).strip()
    try:
        expression = compile(source, SOURCE, "eval", dont_inherit=True)
    except SyntaxError:
        expression = compile(source, SOURCE, "exec", dont_inherit=True)
    return watch_call(source, lambda: eval(expression, known), {SOURCE: source})


def watch_call(title: str, function: Callable[[], Any], texts: dict[str, str]) -> Explanation:
    watch = Watch(texts=texts)
    value = _core.within(watch, call, function)
    return Explanation(title, watch, value)
