"""What max, sort, cummax, ... share: elements along a dim and where they stand."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply, compute, offer
from tiny_torch.autograd.graph import Op
from tiny_torch.base.arguments import as_int
from tiny_torch.functions.common import check_outs, name_results, refuse_history
from tiny_torch.ops.common import refuse_overlap
from tiny_torch.ops.shape.views import wrap_dim
from tiny_torch.tensor import Tensor, wrap

# How `out=` may lie: APART must not overlap the input, SAME may if it is all of the input.
APART = {"kthvalue": 1, "max": 1, "min": 1, "mode": 2}  # how many of the results
SAME = {"sort", "topk"}


def select_pair(name: str, op: type[Op], out: Any, input: Tensor, *constants: Any) -> Any:
    """The op's two results with their names, written into those of `out` if it is given."""
    if out is None:
        return name_results(name, apply(op, input, *constants))
    check_outs(name, out, 2)
    for target in out[: APART.get(name, 0)]:
        refuse_overlap(target, (input,))
    if name in SAME:
        refuse_overlap(out[0], (), (input,))
    return name_results(name, offered_pair(out, op, input, *constants), out)


def offered_pair(out: Any, op: type[Op], input: Tensor, *constants: Any) -> tuple:
    """The op's values and positions: in the memory of `out`, if that has their dtypes."""
    found = None
    if out[0].array.dtype is input.array.dtype and out[1].array.dtype is _core.int64:
        found = offer(op, tuple(out), (input,), constants)
    if found is None:
        refuse_history("", input, *out)
        found = compute(op, (input, *constants))[0]
    return tuple([x if isinstance(x, Tensor) else wrap(x) for x in found])


def checked_dim(function: str, input: Any, dim: Any, position: int = 2) -> int:
    """The dim counted from the front; TypeError or IndexError where it is none."""
    if type(dim) is int and isinstance(input, Tensor):
        ndim = input.array.ndim
        if -ndim <= dim < ndim:
            return dim if dim >= 0 else dim + ndim
    return wrap_dim(as_int(function, "dim", position, dim), input.array.ndim)
