"""`torch._C`: what packages ask of PyTorch's compiled module and means something here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tiny_torch._core import TensorBase, dtype
from tiny_torch.base.devices import device
from tiny_torch.base.layouts import layout
from tiny_torch.base.size import Size
from tiny_torch.functions import torch_linalg
from tiny_torch.functions.random.generator import Generator
from tiny_torch.nn.modules._conversion import arguments_of_to
from tiny_torch.tensor import Tensor

__all__ = ["Generator", "Size", "TensorBase", "device", "dtype", "layout"]

_TensorMeta = type(Tensor)
_LinAlgError = torch_linalg.LinAlgError


def _log_api_usage_once(event: str) -> None:
    """Logs nothing: nobody counts."""


def _get_tracing_state() -> None:
    """None: no program is traced."""


def _are_functorch_transforms_active() -> bool:
    """False: `torch.func` calls functions as they are."""
    return False


def _cuda_isInBadFork() -> bool:
    """False: a forked process that uses CUDA is told so by the call itself."""
    return False


def parse_to(*arguments: Any, **named: Any) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) of the arguments of `Module.to`."""
    memory_format = named.pop("memory_format", None)
    given = arguments_of_to(*arguments, **named)
    parts = (given.get("device"), given.get("dtype"), given.get("non_blocking", False))
    return *parts, memory_format


_nn = SimpleNamespace(_parse_to=parse_to)
