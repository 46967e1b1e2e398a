"""Collectives through which gradients flow: the backward of each is a collective, too.

All ranks run backward as they run forward.
"""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.reduce_op import ReduceOp

Tensor = torch.Tensor


class AllReduce(torch.autograd.Function):
    """The sum over all ranks; so is its gradient."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: ReduceOp, group: Any) -> Tensor:
        ctx.op, ctx.group = op, group
        total = tensor.clone(memory_format=torch.contiguous_format)
        torch.distributed.all_reduce(total, op, group)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        total = gradients[0].clone(memory_format=torch.contiguous_format)
        torch.distributed.all_reduce(total, ctx.op, ctx.group)
        return total, None, None


class AllGather(torch.autograd.Function):
    """The tensors of all ranks; a gradient is the sum of what all ranks pass to this one's."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any) -> tuple[Tensor, ...]:
        ctx.group = group
        size = torch.distributed.get_world_size(group)
        everyone = [torch.empty_like(tensor) for _ in range(size)]
        torch.distributed.all_gather(everyone, tensor.contiguous(), group)
        return tuple(everyone)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        own = torch.empty_like(gradients[0])
        torch.distributed.reduce_scatter(own, list(gradients), group=ctx.group)
        return own, None


class Broadcast(torch.autograd.Function):
    """The tensor of one rank, whose gradient is the sum of all ranks'."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, src: int, group: Any) -> Tensor:
        ctx.src, ctx.group = src, group
        whole = tensor.clone(memory_format=torch.contiguous_format)
        torch.distributed.broadcast(whole, src, group)
        return whole

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        total = gradients[0].clone(memory_format=torch.contiguous_format)
        torch.distributed.reduce(total, ctx.src, group=ctx.group)
        if torch.distributed.get_rank() != ctx.src:
            total.zero_()
        return total, None, None


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum, or what `op` says, of the tensors of all ranks."""
    answer: Tensor = AllReduce.apply(tensor, op, group)
    return answer


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks."""
    answer: tuple[Tensor, ...] = AllGather.apply(tensor, group)
    return answer


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank `src`."""
    answer: Tensor = Broadcast.apply(tensor, src, group)
    return answer


__all__ = ["all_gather", "all_reduce", "broadcast"]
