"""`torch.overrides`: no function here asks its arguments for their `__torch_function__`.

https://pytorch.org/docs/stable/torch.overrides.html
"""

from __future__ import annotations

import contextlib
from typing import Any

from tiny_torch.compat.refused import refusing, refusing_class
from tiny_torch.tensor import Tensor

WHY = "its functions do not ask arguments for their __torch_function__"

TorchFunctionMode = refusing_class("torch.overrides.TorchFunctionMode", WHY)
BaseTorchFunctionMode = refusing_class("torch.overrides.BaseTorchFunctionMode", WHY)
handle_torch_function = refusing("torch.overrides.handle_torch_function", WHY)
get_overridable_functions = refusing("torch.overrides.get_overridable_functions", WHY)
get_testing_overrides = refusing("torch.overrides.get_testing_overrides", WHY)
wrap_torch_function = refusing("torch.overrides.wrap_torch_function", WHY)


def has_torch_function(relevant_args: Any) -> bool:
    """False: no argument is asked."""
    return False


has_torch_function_unary = has_torch_function_variadic = has_torch_function


def is_tensor_like(inp: Any) -> bool:
    """True for a Tensor, and for what has a `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def enable_reentrant_dispatch() -> Any:
    """A context that changes nothing, as no function is dispatched."""
    return contextlib.nullcontext()


__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch",
    "get_overridable_functions", "get_testing_overrides", "handle_torch_function",
    "has_torch_function", "is_tensor_like", "wrap_torch_function",
]  # fmt: skip
