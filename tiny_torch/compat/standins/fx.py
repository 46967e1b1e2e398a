"""`torch.fx`: the names, for scripts that import them; tracing a program into a graph is refused.

https://pytorch.org/docs/stable/fx.html
"""

from __future__ import annotations

from typing import Any

from tiny_torch.compat.refused import refusing, refusing_class
from tiny_torch.nn import Module

__path__: list[str] = []  # below it stand names of paths.py
WHY = "it traces no program into a graph; torch.utils.viz draws what ran"

Graph = refusing_class("torch.fx.Graph", WHY)
Interpreter = refusing_class("torch.fx.Interpreter", WHY)
Node = refusing_class("torch.fx.Node", WHY)
Proxy = refusing_class("torch.fx.Proxy", WHY)
Tracer = refusing_class("torch.fx.Tracer", WHY)
Transformer = refusing_class("torch.fx.Transformer", WHY)
symbolic_trace = refusing("torch.fx.symbolic_trace", WHY)
replace_pattern = refusing("torch.fx.replace_pattern", WHY)


class GraphModule(Module):
    """What a backend of `torch.compile` is given: a module that calls a function of tensors.

    NotImplementedError for one of one's own, and for what would show a graph.
    """

    refusal = WHY

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        refusing("torch.fx.GraphModule", WHY)()

    graph = property(refusing("torch.fx.GraphModule.graph", WHY))
    code = property(refusing("torch.fx.GraphModule.code", WHY))
    print_readable = refusing("torch.fx.GraphModule.print_readable", WHY)
    recompile = refusing("torch.fx.GraphModule.recompile", WHY)
    to_folder = refusing("torch.fx.GraphModule.to_folder", WHY)


def wrap(fn_or_name: Any) -> Any:
    """The function or name itself: it says what tracing is to leave alone.

    RuntimeError for what is neither. https://pytorch.org/docs/stable/fx.html#torch.fx.wrap
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    return fn_or_name


__all__ = [
    "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer",
    "replace_pattern", "symbolic_trace", "wrap",
]  # fmt: skip
