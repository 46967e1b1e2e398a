"""Models that leave: a trace of a model as a graph, and what is written of it.

`trace` and `Graph` are the start of both ways out: ONNX (tiny_torch/onnx) and C (`to_c`).
"""

from tiny_torch.tools.export.c import Report, to_c
from tiny_torch.tools.export.graph import ExportError, Graph, Node, Value
from tiny_torch.tools.export.tracing import trace

__all__ = ["ExportError", "Graph", "Node", "Report", "Value", "to_c", "trace"]
