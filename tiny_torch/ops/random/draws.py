"""Draws that an op makes on the CPU, for any device."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.graph import Op


def on_cpu(function: str, *arrays: Any) -> None:
    for array in arrays:
        if type(array) is not _core.NDArray:  # it is in plain Python
            where = array.device
            raise NotImplementedError(
                f"[{function}] is not implemented on {where}: draw on the cpu, then .to({where!r})"
            )


class Draw(Op):
    """A sampler's draws in place of x."""

    draws = True

    @staticmethod
    def forward(x, sampler, core, *numbers, out):
        sampler(out, core, *numbers)
        return out, ()
