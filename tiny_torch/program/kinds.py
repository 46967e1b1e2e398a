"""Kinds of calls: what those have in common that one recording may stand for."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.amp.state import kind_of_casts
from tiny_torch.base.modes import modes
from tiny_torch.base.switches import settings
from tiny_torch.nn.parameter import Buffer, Parameter
from tiny_torch.program.guards import PLAIN
from tiny_torch.tensor import Tensor

TENSORS: set[type] = {Tensor, Parameter, Buffer}
LEAVES = {*TENSORS, float, int, bool, str, type(None)}  # arguments that need no pytree
CONTAINERS = (list, tuple, dict, set, frozenset)  # of which some are no nodes of a pytree


def is_flat(args: tuple, kwargs: dict) -> bool:
    """Whether the arguments are their own leaves."""
    return not kwargs and all(type(x) in LEAVES for x in args)


def kind_of(leaves: Any, spec: Any, numbers: list[float]) -> Any:
    """What a recording fits: equal for calls that do the same; None where none can be made.

    The values of floats are put into `numbers` instead.
    """
    casts = kind_of_casts()
    if casts is None:
        return None
    parts: list[Any] = [
        spec and repr(spec), modes.bits, casts, _core.get_default_dtype(), settings.fills,
    ]  # fmt: skip
    for x in leaves:
        if type(x) in TENSORS:
            array = x.array
            if array.device != "cpu":
                if not isinstance(array, _core.NDArray) or array.device == "meta":
                    return None
                parts.append(array.device)
            parts.append((array.shape, array.strides, array.dtype, x.requires_grad))
        elif type(x) is float:
            parts.append(float)
            numbers.append(x)
        elif isinstance(x, PLAIN):
            parts.append((type(x), x, repr(x) if isinstance(x, (float, complex)) else None))
        elif hasattr(x, "__dict__") and not isinstance(x, (Tensor, *CONTAINERS)):
            parts.append((type(x), id(x)))  # whose attributes are guarded; a case keeps it
        else:
            return None
    return tuple(parts)
