"""`torch.onnx`: models for other runtimes. How ops become nodes: building.py, and what it lists.

Source: https://pytorch.org/docs/stable/onnx.html; https://onnx.ai/onnx/operators/.
"""

from tiny_torch.tools.export.onnx import elementwise, layers, shapes  # the forms
from tiny_torch.tools.export.onnx.exporting import (
    OnnxExporterError,
    ONNXProgram,
    TrainingMode,
    export,
    is_in_onnx_export,
)

__all__ = ["ONNXProgram", "OnnxExporterError", "TrainingMode", "export", "is_in_onnx_export"]
