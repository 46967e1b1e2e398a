"""`torch._C`: what packages ask of PyTorch's compiled module and means something here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tiny_torch import _core
from tiny_torch._core import TensorBase, dtype
from tiny_torch.autograd.overrides import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    switched_on,
)
from tiny_torch.base.devices import device
from tiny_torch.base.layouts import layout
from tiny_torch.base.size import Size
from tiny_torch.compat.private import _is_in_bad_fork
from tiny_torch.compat.refused import refusing_class
from tiny_torch.functions import torch_linalg
from tiny_torch.functions.random.generator import Generator
from tiny_torch.nn.modules._parts.conversion import arguments_of_to
from tiny_torch.tensor import Tensor

__path__: list[str] = []  # below it stand names of paths.py
__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "Generator",
    "Size",
    "TensorBase",
    "device",
    "dtype",
    "layout",
]

NO_GRAPHS = "it has no graphs of programs"
Graph = refusing_class("torch._C.Graph", NO_GRAPHS)
Node = refusing_class("torch._C.Node", NO_GRAPHS)
Value = refusing_class("torch._C.Value", NO_GRAPHS)

_has_mps = _has_xpu = False
_cuda_isInBadFork = _is_in_bad_fork
_TensorMeta = type(Tensor)
_LinAlgError = torch_linalg.LinAlgError
_disabled_torch_function_impl = _core._disabled_torch_function_impl
_is_torch_function_enabled = switched_on
_has_torch_function_unary = _has_torch_function_variadic = _core.is_asked


def _has_torch_function(arguments: Any) -> bool:
    """Whether one of them has a `__torch_function__` of its own, or a mode is on."""
    return _core.is_asked(*arguments)


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode is on."""
    return _len_torch_function_stack() > 0


def _len_torch_function_stack() -> int:
    """How many modes are on."""
    return len(_core.function_modes())


def _get_function_stack_at(level: int) -> Any:
    """A mode that is on; 0 is the outermost."""
    return _core.function_modes()[level]


def _push_on_torch_function_stack(mode: Any) -> None:
    """Switches a mode on."""
    _core.use_function_modes((*_core.function_modes(), mode))


def _pop_torch_function_stack() -> Any:
    """Switches the innermost mode off, and answers it."""
    *outer, mode = _core.function_modes()
    _core.use_function_modes(tuple(outer))
    return mode


def _log_api_usage_once(event: str) -> None:
    """Logs nothing: nobody counts."""


def _get_tracing_state() -> None:
    """None: no program is traced."""


def _is_tracing() -> bool:
    """False, likewise."""
    return False


def _are_functorch_transforms_active() -> bool:
    """False: `torch.func` calls functions as they are."""
    return False


def parse_to(*arguments: Any, **named: Any) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) of the arguments of `Module.to`."""
    memory_format = named.pop("memory_format", None)
    given = arguments_of_to(*arguments, **named)
    parts = (given.get("device"), given.get("dtype"), given.get("non_blocking", False))
    return *parts, memory_format


_nn = SimpleNamespace(_parse_to=parse_to)
