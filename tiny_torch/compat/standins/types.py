"""`torch.types`: names of types for annotations, as scripts import them."""

import builtins
import os
from collections.abc import Sequence
from typing import IO, TypeAlias

from tiny_torch._core import dtype as _dtype  # noqa: F401
from tiny_torch.base.devices import device as _device
from tiny_torch.base.layouts import layout as _layout  # noqa: F401
from tiny_torch.base.size import Size
from tiny_torch.tensor import Tensor

_int = builtins.int
_float = builtins.float
_bool = builtins.bool
_str = builtins.str
_bytes = builtins.bytes
_complex = builtins.complex
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_Number = (int, float, bool)
Number: TypeAlias = int | float | bool
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]

__all__ = ["Device", "FileLike", "Number"]
