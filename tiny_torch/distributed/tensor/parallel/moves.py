"""From one placement to another, forward and backward: the four collectives of tensor parallelism.

    Replicate -> Shard      each rank cuts its part out      (no message)
    Shard     -> Replicate  all_gather
    Partial   -> Replicate  all_reduce
    Partial   -> Shard      reduce_scatter

A gradient has a placement, too. What each rank computes from the same x with its columns of W has
for a gradient of x a summand only: x is Replicate, its gradient Partial. So backward is a move as
forward is, from the gradient's placement to that of what came in.
"""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

Tensor = torch.Tensor


def own_part(x: Tensor, dim: int, group: Any) -> Tensor:
    """This rank's part along a dim, a view."""
    ranks = group.size()
    if x.shape[dim] % ranks:
        raise NotImplementedError(
            f"tensor parallelism: {x.shape[dim]} of {tuple(x.shape)} over {ranks} ranks: parts "
            "must be of the same size"
        )
    return x.chunk(ranks, dim)[group.rank()]


def all_gather(x: Tensor, dim: int, group: Any) -> Tensor:
    """The parts of all ranks, along a dim."""
    parts = [torch.empty_like(x, memory_format=torch.contiguous_format) for _ in group.ranks]
    torch.distributed.all_gather(parts, x.contiguous(), group)
    return torch.cat(parts, dim)


def all_reduce(x: Tensor, group: Any) -> Tensor:
    """The sum over all ranks."""
    total = x.clone(memory_format=torch.contiguous_format)
    torch.distributed.all_reduce(total, group=group)
    return total


def reduce_scatter(x: Tensor, dim: int, group: Any) -> Tensor:
    """This rank's part, along a dim, of the sum over all ranks."""
    parts = [part.contiguous() for part in x.chunk(group.size(), dim)]
    total = torch.empty_like(own_part(x, dim, group), memory_format=torch.contiguous_format)
    torch.distributed.reduce_scatter(total, parts, group=group)
    return total


def move(x: Tensor, source: Placement, target: Placement, group: Any) -> Tensor:
    """The tensor that is held as `source` says, held as `target` says."""
    if source == target or group.size() == 1:
        return x
    if isinstance(target, Partial):
        raise NotImplementedError(f"tensor parallelism: from {source} to {target}")
    if isinstance(source, Partial):
        if source.reduce_op != "sum":
            raise NotImplementedError(f"tensor parallelism: reduce_op={source.reduce_op!r}")
        if isinstance(target, Shard):
            return reduce_scatter(x, target.dim, group)
        return all_reduce(x, group)
    if isinstance(source, Shard):
        x = all_gather(x, source.dim, group)
    return own_part(x, target.dim, group) if isinstance(target, Shard) else x


class Redistribute(torch.autograd.Function):
    """A move whose backward is the move of the gradient, which comes as `gradient` says."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, source: Placement, target: Placement, gradient: Placement, group: Any
    ) -> Tensor:
        ctx.gradient, ctx.group = gradient, group
        ctx.source = Replicate() if isinstance(source, Partial) else source
        y = move(x, source, target, group)
        return x.view_as(x) if y is x else y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return move(grads[0], ctx.gradient, ctx.source, ctx.group), None, None, None, None


def redistribute(
    x: Tensor,
    source: Placement,
    target: Placement,
    group: Any,
    gradient: Placement | None = None,
) -> Tensor:
    """The same, with its gradient, which comes as the target is placed if nothing else is said."""
    gradient = target if gradient is None else gradient
    if source == target and gradient == source:
        return x
    if not x.is_floating_point():
        return move(x, source, target, group)
    answer: Tensor = Redistribute.apply(x, source, target, gradient, group)
    return answer
