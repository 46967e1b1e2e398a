"""Kinds of calls: what those have in common that one recording may stand for."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.amp.state import kind_of_casts
from tiny_torch.base.devices import default, device
from tiny_torch.base.modes import modes
from tiny_torch.base.switches import settings
from tiny_torch.nn.parameter import Buffer, Parameter
from tiny_torch.program.values import PLAIN
from tiny_torch.tensor import Tensor

TENSORS: set[type] = {Tensor, Parameter, Buffer}
LEAVES = {*TENSORS, float, int, bool, str, type(None)}  # arguments that need no pytree
HISTORY = {"grad", "grad_fn", "is_leaf"}  # names of what a tensor says of its history
CONTAINERS = (list, tuple, dict, set, frozenset)  # of which some are no nodes of a pytree


def is_flat(args: tuple, kwargs: dict) -> bool:
    """Whether the arguments are their own leaves."""
    return not kwargs and all(type(x) in LEAVES for x in args)


def attributes_of(x: Tensor) -> tuple:
    """What a user has hung on the tensor: values, or which objects."""
    return tuple([
        (name, type(value), value if isinstance(value, PLAIN) else id(value))
        for name, value in vars(x).items()
    ])  # fmt: skip


def kind_of(leaves: Any, spec: Any, numbers: list[float]) -> Any:
    """What a recording fits: equal for calls that do the same; None where none can be made.

    The values of floats are put into `numbers` instead.
    """
    casts = kind_of_casts()
    if casts is None:
        return None
    parts: list[Any] = [
        spec and repr(spec), modes.bits, casts, _core.get_default_dtype(), default.device,
        settings.fills,
    ]  # fmt: skip
    tensors = [x for x in leaves if type(x) in TENSORS]
    parts.append(_core.layouts_of([x.array for x in tensors]))
    if parts[-1] is None:
        return None
    if len({id(x) for x in tensors}) < len(tensors):  # which `x is y` tells apart
        parts.append(tuple([[id(y) for y in tensors].index(id(x)) for x in tensors]))
    for x in leaves:
        if type(x) in TENSORS:
            parts.append((type(x), x.requires_grad, attributes_of(x) if x.__dict__ else None))
        elif type(x) is float:
            parts.append(float)
            numbers.append(x)
        elif isinstance(x, PLAIN):
            parts.append((type(x), x, repr(x) if isinstance(x, (float, complex)) else None))
        elif isinstance(x, (slice, range, device)):
            parts.append((type(x), repr(x)))
        elif hasattr(x, "__dict__") and not isinstance(x, (Tensor, *CONTAINERS)):
            parts.append((type(x), id(x)))  # whose attributes are guarded; a case keeps it
        else:
            return None
    return tuple(parts)


def histories_of(tensors: list[Tensor]) -> list[tuple]:
    """Whether each is a leaf, and has a gradient."""
    return [(t.is_leaf, t._grad is None) for t in tensors]
