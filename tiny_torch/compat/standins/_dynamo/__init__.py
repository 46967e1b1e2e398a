"""`torch._dynamo`, the front of PyTorch's compiler: what scripts call of it, without a compiler."""

from __future__ import annotations

from typing import Any

from tiny_torch import compiler
from tiny_torch._dynamo import config as config
from tiny_torch._dynamo import eval_frame as eval_frame
from tiny_torch._dynamo.explaining import explain
from tiny_torch.compat.refused import refusing
from tiny_torch.compiler import (
    InvalidBackend,
    OptimizedModule,
    allow_in_graph,
    assume_constant_result,
    disable,
    identity_decorator,
    is_compiling,
    list_backends,
    reset,
    set_stance,
    substitute_in_graph,
)
from tiny_torch.tensor import Tensor

disallow_in_graph = identity_decorator("disallow_in_graph")
forbid_in_graph = identity_decorator("forbid_in_graph")
run = identity_decorator("run")


def optimize(backend: Any = "inductor", *, nopython: bool = False, **options: Any) -> Any:
    """The decorator that `torch.compile(backend=backend, fullgraph=nopython)` is."""
    return compiler.compile(backend=backend, fullgraph=nopython, **options)


def is_dynamo_supported() -> bool:
    """True: `torch.compile` takes functions, and a `backend` that is one."""
    return True


def graph_break(msg: str = "") -> None:
    """Ends a graph, of which there is none."""


def mark_dynamic(t: Tensor, index: Any, **bounds: Any) -> None:
    """Marks a dimension whose size varies: every size may, as nothing is compiled for one."""


def maybe_mark_dynamic(t: Tensor, index: Any) -> None:
    """As `mark_dynamic`."""


def mark_static(t: Any, index: Any = None) -> None:
    """Marks a dimension whose size stays: nothing is compiled for one."""


export = refusing("torch._dynamo.export", "it has no graphs of programs")

__all__ = [
    "InvalidBackend", "OptimizedModule", "allow_in_graph", "assume_constant_result", "config",
    "disable", "disallow_in_graph", "explain", "export", "forbid_in_graph", "graph_break",
    "is_compiling", "is_dynamo_supported", "list_backends", "mark_dynamic", "mark_static",
    "maybe_mark_dynamic", "optimize", "reset", "run", "set_stance", "substitute_in_graph",
]  # fmt: skip
