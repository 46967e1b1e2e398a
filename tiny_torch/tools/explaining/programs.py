"""`python -m tiny_torch explain --program script.py`: a script's programs, when it has ended.

Those of `torch.compile` and `program.record`: launches before and behind each pass, the bytes that
live at once, chains; as a page, where each buffer lies and for how long.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tiny_torch.program import compiled
from tiny_torch.program.page import page


class Held(list):
    """In the place of `compiled.every`: what is in it stays."""

    add = list.append


@contextlib.contextmanager
def hold_programs() -> Iterator[list[Any]]:
    """The compiled functions that are made meanwhile, kept alive."""
    before, held = compiled.every, Held()
    compiled.every = held  # type: ignore[assignment]
    try:
        yield held
    finally:
        compiled.every = before
        for each in held:
            before.add(each)


def explain_programs(script: str, run: Callable[[], Any], target: str | None) -> int:
    """Runs the script, and prints its programs; 1 if it has none. `target`: a page, too."""
    with hold_programs() as held:
        try:
            run()
        except SystemExit as error:
            if error.code not in (None, 0):
                raise
    functions = [each for each in held if isinstance(each, compiled.Compiled)]
    if not any(each.programs() or each.refusals for each in functions):
        print(f"explain: {script} has compiled nothing that ran", file=sys.stderr)
        return 1
    for each in functions:
        print(name_of(each))
        each.show()
    if target:
        with open(target, "w", encoding="utf-8") as file:
            facts = [(name_of(each), each.programs(), each.refusals) for each in functions]
            file.write(page(f"The programs of {os.path.basename(script)}", facts))
        print(f"explain: {target}", file=sys.stderr)
    return 0


def name_of(function: compiled.Compiled) -> str:
    """What was compiled: a function's name, or a module's class."""
    inner = function.function
    return getattr(inner, "__qualname__", None) or type(inner).__name__
