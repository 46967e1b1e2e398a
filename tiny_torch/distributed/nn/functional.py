"""Collectives through which gradients flow: the backward of each is a collective, too.

All ranks run backward as they run forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.reduce_op import ReduceOp
from tiny_torch.distributed.world import get_world_size

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
        everyone = [torch.empty_like(tensor) for _ in range(get_world_size(group))]
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


class Reduce(torch.autograd.Function):
    """The sum at one rank, whose gradient goes to all."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, op: ReduceOp, group: Any) -> Tensor:
        ctx.dst, ctx.group = dst, group
        total = tensor.clone(memory_format=torch.contiguous_format)
        torch.distributed.reduce(total, dst, op, group)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        grad = gradients[0].clone(memory_format=torch.contiguous_format)
        torch.distributed.broadcast(grad, ctx.dst, ctx.group)
        return grad, None, None, None


class Gather(torch.autograd.Function):
    """The tensors of all ranks at one, zeros at the others; its gradients are scattered."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, group: Any) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        return gather_at(tensor, dst, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return scatter_from(gradients, ctx.dst, ctx.group), None, None


class Scatter(torch.autograd.Function):
    """This rank's tensor of those of one rank, which gathers the gradients."""

    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        return scatter_from(tensors, src, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return None, None, *gather_at(gradients[0], ctx.src, ctx.group)


class ReduceScatter(torch.autograd.Function):
    """The sum of all ranks' tensors for this one; their gradients are gathered."""

    @staticmethod
    def forward(ctx: Any, output: Tensor, op: ReduceOp, group: Any, *tensors: Tensor) -> Tensor:
        ctx.group = group
        torch.distributed.reduce_scatter(output, tensors, op, group)
        return output.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        everyone = [torch.empty_like(gradients[0]) for _ in range(get_world_size(ctx.group))]
        torch.distributed.all_gather(everyone, gradients[0], ctx.group)
        return None, None, None, *everyone


class AllToAll(torch.autograd.Function):
    """One tensor of each rank; the gradients go back."""

    @staticmethod
    def forward(ctx: Any, outputs: Any, group: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.shapes = group, [tensor.shape for tensor in tensors]
        torch.distributed.all_to_all(outputs, tensors, group)
        return tuple(output.detach() for output in outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        own = [gradients[0].new_empty(shape) for shape in ctx.shapes]
        torch.distributed.all_to_all(own, gradients, ctx.group)
        return None, None, *own


def gather_at(tensor: Tensor, dst: int, group: Any) -> tuple[Tensor, ...]:
    """The tensors of all ranks at `dst`, zeros elsewhere."""
    everyone = [torch.zeros_like(tensor) for _ in range(get_world_size(group))]
    is_root = torch.distributed.get_rank() == dst
    torch.distributed.gather(tensor, everyone if is_root else None, dst, group)
    return tuple(everyone)


def scatter_from(tensors: Sequence[Tensor], src: int, group: Any) -> Tensor:
    """This rank's tensor of those that `src` has."""
    own = torch.zeros_like(tensors[0])
    is_root = torch.distributed.get_rank() == src
    torch.distributed.scatter(own, tensors if is_root else None, src, group)
    return own


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


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum, or what `op` says, of the tensors of all ranks at `dst`."""
    answer: Tensor = Reduce.apply(tensor, dst, op, group)
    return answer


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks at `dst`; zeros at the others."""
    answer: tuple[Tensor, ...] = Gather.apply(tensor, dst, group)
    return answer


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """This rank's tensor of those of `src`; the others' say its shape."""
    answer: Tensor = Scatter.apply(src, group, *tensors)
    return answer


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """The sum, or what `op` says, of this rank's tensors in all lists; `output` has it, too."""
    answer: Tensor = ReduceScatter.apply(output, op, group, *input_list)
    return answer


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """The tensors that all ranks have for this one; the first list has them, too."""
    answer: tuple[Tensor, ...] = AllToAll.apply(output_tensor_list, group, *input_tensor_list)
    return answer


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
) -> Tensor:
    """`all_to_all` of pieces along dim 0, equal ones without sizes; `output` has them, too."""
    outputs, inputs = (
        tensor.split(sizes or len(tensor) // get_world_size(group))
        for tensor, sizes in ((output.detach(), output_split_sizes), (input, input_split_sizes))
    )
    return torch.cat(all_to_all(outputs, inputs, group))


__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
    "reduce_scatter", "scatter",
]  # fmt: skip
