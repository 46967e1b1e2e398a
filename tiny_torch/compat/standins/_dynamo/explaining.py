"""`torch._dynamo.explain`: what a call of a function becomes, a program or why there is none."""

from __future__ import annotations

import dataclasses
import re
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from tiny_torch.program import Compiled
from tiny_torch.program.show import name_of_kernel

PLACE = re.compile(r"(.*) \((.*):(\d+)\)")  # "reads an element (train.py:12)"


@dataclasses.dataclass
class GraphCompileReason:
    """Why a function runs as it is written, and where."""

    reason: str
    user_stack: list[traceback.FrameSummary]
    graph_break: bool = True


@dataclasses.dataclass
class ExplainOutput:
    """What a call became: its programs, their launches as `ops_per_graph`, and refusals.

    A function is one graph here, or none: where it cannot be recorded it runs as it is written,
    and each reason counts as a break.
    """

    graphs: list[Any]
    graph_count: int
    graph_break_count: int
    break_reasons: list[GraphCompileReason]
    op_count: int
    ops_per_graph: list[list[str]] | None = None
    out_guards: list[Any] | None = None
    compile_times: str | None = None

    def __str__(self) -> str:
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            "Break Reasons:",
        ]
        for number, why in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {why.reason}", "    User Stack:"]
            lines += [f"      {frame}" for frame in why.user_stack]
        if self.ops_per_graph is not None:
            lines.append("Ops per Graph:")
            for number, ops in enumerate(self.ops_per_graph, 1):
                lines += [f"  Ops {number}:", *[f"    {op}" for op in ops]]
        return "\n".join(lines) + "\n"


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """A function that calls `f` and answers an `ExplainOutput` of it. `f` itself is called.

    PyTorch's older form, with the arguments of the call here, is deprecated and does so at once.
    The graphs are programs (docs/program.md), of what the call itself launches: backward has its
    own when it runs. Guards and times are None.
    https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html

    >>> import tiny_torch as torch
    >>> found = torch._dynamo.explain(lambda x: x * x + 1)(torch.ones(3))
    >>> found.graph_count, found.graph_break_count, found.op_count
    (1, 0, 2)
    >>> torch._dynamo.explain(lambda x: x * x.sum().item())(torch.ones(3)).break_reasons[0].reason
    'reads an element'
    """

    def call(*args: Any, **kwargs: Any) -> ExplainOutput:
        plain = getattr(f, "_orig_mod", f)  # of what is compiled already
        compiled = Compiled(plain.function if isinstance(plain, Compiled) else plain)
        compiled(*args, **kwargs)
        programs = [program for _, program, _ in compiled.programs()]
        ops = [[name_of_kernel(*kernel) for kernel, *_ in p.launches] for p in programs]
        reasons = [reason_of(text) for text in compiled.refusals]
        count = sum(map(len, ops))
        return ExplainOutput(programs, len(programs), len(reasons), reasons, count, ops)

    if not extra_args and not extra_kwargs:
        return call
    warnings.warn(
        "explain(f, *args, **kwargs) is deprecated, use explain(f)(*args, **kwargs) instead.  "
        "If you don't migrate, we may break your explain call in the future if your user defined "
        "kwargs conflict with future kwargs added to explain(f).",
        FutureWarning,
        stacklevel=2,
    )
    return call(*extra_args, **extra_kwargs)


def reason_of(text: str) -> GraphCompileReason:
    found = PLACE.fullmatch(text)
    if not found:
        return GraphCompileReason(text, [])
    what, file, line = found.groups()
    return GraphCompileReason(what, [traceback.FrameSummary(file, int(line), "<unknown>")])
