"""What ran in both runs of a checkpointed call, for the error that tells where they differ."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tiny_torch as torch
from tiny_torch.autograd.op_mode import OpMode
from tiny_torch.tensor import Tensor


class Log(OpMode):
    """The ops that ran, and the lines of the user's that called them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self) -> Log:
        self.lines.clear()
        return super().begin()

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        shapes = [tuple(a.shape) if isinstance(a, Tensor) else a for a in arguments]
        ours = str(Path(torch.__file__).parent)
        frames = [f for f in traceback.extract_stack() if not f.filename.startswith(ours)]
        where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
        self.lines.append(f"{op.__name__}{tuple(shapes)}  # {where}")
        return call(op, arguments)


def comparison(logs: tuple[Log, Log]) -> str:
    """The ops of both runs, with a mark where they differ first."""
    first, second = (log.lines for log in logs)
    pairs = enumerate(itertools.zip_longest(first, second))
    differs = next((i for i, (a, b) in pairs if a != b), None)

    def table(title: str, lines: list[str]) -> str:
        marked = [f"{'>' if i == differs else ' '} {i:4} {line}" for i, line in enumerate(lines)]
        return "\n".join([f"{title}:", *marked])

    return "\n\n".join(
        [
            table("Operations executed during the original forward", first),
            table("Operations executed during recomputation", second),
        ]
    )
