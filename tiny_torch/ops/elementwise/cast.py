"""Copies that keep the shape: clone, and to another dtype, memory format or device."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.graph import run
from tiny_torch.base import layouts
from tiny_torch.base.devices import to_device
from tiny_torch.base.dtypes import HALVES
from tiny_torch.ops.common import Elementwise
from tiny_torch.ops.elementwise.arithmetic import Cast


def widen(x: Any) -> Any:
    """x in float32 if it is of a half dtype: several steps are then rounded once, at the end."""
    return run(Cast, x, _core.float32) if x.dtype in HALVES else x


def narrow(x: Any, dtype: Any) -> Any:
    return x if x.dtype is dtype else run(Cast, x, dtype)


class Clone(Elementwise):
    cost = "copy"

    @staticmethod
    def forward(x):
        return x.clone(), ()

    @staticmethod
    def backward(saved, grad, needs):
        return grad


class ToCopy(Cast):
    """A dtype that has a gradient."""


class ToInteger(Elementwise):
    """A dtype that has no gradient: integers and bool."""

    aten = "to"
    cost = "cast"

    @staticmethod
    def forward(x, dtype):
        return x.astype(dtype), ()


class Arranged(Clone):
    """A copy whose elements lie in a memory format's order."""

    @staticmethod
    def forward(x, form):
        result = layouts.empty_in_format(x.shape, x.dtype, form, x.device)
        result.copy_(x)
        return result, ()


Arranged.__name__ = "Clone"  # in the graph it is one


class ToDevice(Elementwise):
    aten = "to"

    @staticmethod
    def forward(x, where, non_blocking=False):
        return to_device(x, where, non_blocking), (x.device,)

    @staticmethod
    def backward(saved, grad, needs):
        return run(ToDevice, grad, saved[0])
