"""Collectives of tensors: all ranks of a group call the same one, with tensors of the same shape.

Contiguous tensors are sent from where they are and received into their place, others by way of a
copy; so are tensors of a GPU without NCCL. What a call is, such as `broadcast(0) int64 [2]`,
travels with it: where ranks do not call the same, all of them raise and say who does what.
https://docs.pytorch.org/docs/stable/distributed.html#collective-functions
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.process_group import ProcessGroup
from tiny_torch.distributed.reduce_op import ReduceOp
from tiny_torch.distributed.rows import Rows
from tiny_torch.distributed.staging import (
    Staged,
    check_dtypes,
    check_shapes,
    check_tensor,
    check_tensors,
    describe,
    describe_kind,
    is_outside,
    root_of,
    stage,
    writer,
)
from tiny_torch.distributed.work import Work
from tiny_torch.distributed.world import group_of

Tensor = torch.Tensor


# -------------------------------------------------------------------------------------- broadcasts


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives all ranks the tensor of `src`, in place.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast
    """
    check_tensor(tensor, "tensor")
    group = group_of(group)
    root = root_of("broadcast", group, src, group_src, None)
    by = group.backend_for(tensor.device.type)
    staged = Staged(tensor, True, by.device)
    return by.run(
        f"broadcast({root}) {describe(tensor)}",
        lambda call: by.broadcast(staged.row, root, call),
        [tensor],
        async_op,
        staged.report_write if group.rank() != root else None,
    )


def all_reduce(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Gives all ranks the sum, or what `op` says, of their tensors, in place.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce
    """
    check_tensor(tensor, "tensor")
    if is_outside(group, "all_reduce"):
        return None
    group = group_of(group)
    by = group.backend_for(tensor.device.type)
    op = by.check_op(op, tensor.dtype)
    staged = Staged(tensor, True, by.device)
    return by.run(
        f"all_reduce({op.name}) {describe(tensor)}",
        lambda call: by.all_reduce(staged.row, op, call),
        [tensor],
        async_op,
        staged.report_write,
    )


def average(
    tensors: Sequence[Tensor], factor: float, group: ProcessGroup, async_op: bool
) -> Work | None:
    """Gives all ranks the sums of their tensors times `factor`, in place: of gradients of the host.

    They are of one dtype, and go off together from where each of them is.
    """
    by, staged = group.backend_for("cpu"), stage(tensors, True, "cpu")
    rows = Rows([one.row for one in staged])
    return by.run(
        f"all_reduce(SUM) {describe_kind(tensors[0].dtype, torch.Size([len(rows)]))}",
        lambda call: by.average(rows, factor, call),
        list(tensors),
        async_op,
        writer(staged),
    )


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Gives `dst` the sum, or what `op` says, of all tensors, in place; others keep theirs.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.reduce
    """
    check_tensor(tensor, "tensor")
    group = group_of(group)
    root = root_of("reduce", group, dst, group_dst, None)
    by = group.backend_for(tensor.device.type)
    op = by.check_op(op, tensor.dtype)
    staged = Staged(tensor, True, by.device)
    return by.run(
        f"reduce({op.name}, {root}) {describe(tensor)}",
        lambda call: by.reduce(staged.row, root, op, call),
        [tensor],
        async_op,
        staged.report_write if group.rank() == root else None,
    )


# ---------------------------------------------------------------------------------- gather, scatter


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Gives all ranks the tensors of all, into the list.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_gather
    """
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_dtypes(*tensor_list, tensor)
    if is_outside(group, "all_gather"):
        return None
    group = group_of(group)
    if len(tensor_list) != group.size():
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length "
            f"{group.size()}, got {len(tensor_list)})"
        )
    check_shapes("allgather", tensor_list, tensor)
    return gather_all("all_gather", group, tensor_list, tensor, async_op, list(tensor_list))


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Gives all ranks the tensors of all, one after the other along the first dim.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_gather_into_tensor
    """
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    if is_outside(group, "all_gather_into_tensor"):
        return None
    group = group_of(group)
    if output_tensor.dtype != input_tensor.dtype:
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid tensor type at index 0 (expected "
            f"{input_tensor.dtype}, got {output_tensor.dtype})"
        )
    parts = torch.tensor_split(output_tensor.detach(), group.size())
    if input_tensor.numel() * group.size() != output_tensor.numel():
        parts = torch.chunk(output_tensor.detach(), group.size())
    check_shapes("allgather", parts, input_tensor)
    return gather_all(
        "all_gather_into_tensor", group, parts, input_tensor, async_op, [output_tensor]
    )


def gather_all(
    name: str,
    group: ProcessGroup,
    outputs: Sequence[Tensor],
    tensor: Tensor,
    async_op: bool,
    result: list[Tensor],
) -> Work | None:
    by = group.backend_for(tensor.device.type)
    ours, staged = Staged(tensor, True, by.device), stage(outputs, False, by.device)
    rows = [one.row for one in staged]
    return by.run(
        f"{name} {describe(tensor)}",
        lambda call: by.all_gather(ours.row, rows, call),
        result,
        async_op,
        writer(staged),
    )


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Gives `dst` (0 if left out) the tensors of all, into its list.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.gather
    """
    check_tensor(tensor, "tensor")
    outputs = [] if gather_list is None else check_tensors(gather_list, "gather_list")
    if is_outside(group, "gather"):
        return None
    group = group_of(group)
    root = root_of("gather", group, dst, group_dst, 0)
    if group.rank() == root:
        if gather_list is None:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        check_dtypes(*outputs, tensor)
        if len(outputs) != group.size():
            raise RuntimeError(
                f"ProcessGroupGloo::gather: Incorrect output list size {len(outputs)}. Output list "
                f"size should be {group.size()}, same as size of the process group."
            )
        check_shapes("gather", outputs, tensor)
    elif outputs:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    by = group.backend_for(tensor.device.type)
    ours, staged = Staged(tensor, True, by.device), stage(outputs, False, by.device)
    rows = [one.row for one in staged]
    return by.run(
        f"gather({root}) {describe(tensor)}",
        lambda call: by.gather(ours.row, rows, root, call),
        list(outputs),
        async_op,
        writer(staged),
    )


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives each rank its tensor of the list of `src` (0 if left out).

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.scatter
    """
    check_tensor(tensor, "tensor")
    inputs = [] if scatter_list is None else check_tensors(scatter_list, "scatter_list")
    if is_outside(group, "scatter"):
        return None
    check_dtypes(tensor, *inputs)
    group = group_of(group)
    root = root_of("scatter", group, src, group_src, 0)
    if group.rank() == root:
        if scatter_list is None:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        if len(inputs) != group.size():
            raise RuntimeError(
                f"ProcessGroupGloo::scatter: Incorrect input list size {len(inputs)}. Input list "
                f"size should be {group.size()}, same as size of the process group."
            )
        check_shapes("scatter", inputs, tensor)
    elif inputs:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    by = group.backend_for(tensor.device.type)
    ours = Staged(tensor, False, by.device)
    rows = [one.row for one in stage(inputs, True, by.device)]
    return by.run(
        f"scatter({root}) {describe(tensor)}",
        lambda call: by.scatter(ours.row, rows, root, call),
        [tensor],
        async_op,
        ours.report_write,
    )


# ------------------------------------------------------------------------------- reduce and scatter


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Gives rank r the sum, or what `op` says, of the r-th tensors of all lists.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.reduce_scatter
    """
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    check_dtypes(output, *input_list)
    if is_outside(group, "reduce_scatter"):
        return None
    group = group_of(group)
    if len(input_list) != group.size():
        raise RuntimeError("invalid input tensor list size, must be world size")
    check_shapes("reduce_scatter", input_list, output)
    return scatter_reduced("reduce_scatter", group, output, input_list, op, async_op)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Gives rank r the sum, or what `op` says, of the r-th pieces of all inputs, cut along dim 0.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.reduce_scatter_tensor
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    if is_outside(group, "reduce_scatter_tensor"):
        return None
    group = group_of(group)
    if output.dtype != input.dtype:
        raise RuntimeError(
            "Check failed: outputTensors[i].dtype() == inputTensors[i].dtype() "
            f"({output.dtype} vs. {input.dtype}). "
        )
    rows = [len(tensor) if tensor.ndim else 1 for tensor in (output, input)]
    if rows[0] * group.size() != rows[1] or output.shape[1:] != input.shape[1:]:
        raise RuntimeError(
            "Check failed: outputShape[0] * worldSize == inputShape[0] "
            f"({rows[0] * group.size()} vs. {rows[1]}). "
        )
    parts = torch.tensor_split(input.detach(), group.size()) if input.ndim else [input]
    return scatter_reduced("reduce_scatter_tensor", group, output, parts, op, async_op)


def scatter_reduced(
    name: str,
    group: ProcessGroup,
    output: Tensor,
    inputs: Sequence[Tensor],
    op: ReduceOp,
    async_op: bool,
    used_up: bool = False,
) -> Work | None:
    """Gives rank r the sum of the r-th inputs, which may be used up or stay."""
    by = group.backend_for(output.device.type)
    op = by.check_op(op, output.dtype)
    ours, rows = Staged(output, False, by.device), by.rows_to_reduce(inputs, used_up)
    return by.run(
        f"{name}({op.name}) {describe(output)}",
        lambda call: by.reduce_scatter(ours.row, rows, op, call),
        [output],
        async_op,
        ours.report_write,
    )


# --------------------------------------------------------------------------------------- all to all


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Gives rank r the r-th tensors of all input lists.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_to_all
    """
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")
    check_dtypes(*output_tensor_list, *input_tensor_list)
    if is_outside(group, "all_to_all"):
        return None
    group = group_of(group)
    for kind, tensors in (("input", input_tensor_list), ("output", output_tensor_list)):
        if len(tensors) != group.size():
            raise RuntimeError(
                f"ProcessGroupGloo::alltoall: {kind} tensor list size {len(tensors)} does not "
                f"match world size {group.size()}"
            )
    return exchange_all("all_to_all", group, output_tensor_list, input_tensor_list, async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Cuts `input` along dim 0 into a piece for each rank; the pieces for this one become `output`.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_to_all_single
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_dtypes(output, input)
    if is_outside(group, "all_to_all_single"):
        return None
    group = group_of(group)
    outputs = pieces(output.detach(), output_split_sizes, group.size())
    inputs = pieces(input.detach(), input_split_sizes, group.size())
    return exchange_all("all_to_all_single", group, outputs, inputs, async_op, [output])


def pieces(tensor: Tensor, sizes: Sequence[int] | None, ranks: int) -> Sequence[Tensor]:
    rows = len(tensor) if tensor.ndim else 1
    if not sizes:
        if rows % ranks:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        return torch.tensor_split(tensor, ranks) if tensor.ndim else [tensor]
    if len(sizes) != ranks:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != rows:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    return torch.split(tensor, list(sizes))


def exchange_all(
    name: str,
    group: ProcessGroup,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    async_op: bool,
    result: list[Tensor] | None = None,
) -> Work | None:
    rank = group.rank()
    if outputs[rank].numel() != inputs[rank].numel():
        raise RuntimeError(
            f"{name}: rank {rank} sends itself {inputs[rank].numel()} elements and expects "
            f"{outputs[rank].numel()}"
        )
    by = group.backend_for(inputs[0].device.type)
    staged = stage(outputs, False, by.device)
    rows = [one.row for one in stage(inputs, True, by.device)]
    targets = [one.row for one in staged]
    return by.run(
        f"{name} {str(inputs[0].dtype).removeprefix('torch.')}",
        lambda call: by.all_to_all(targets, rows, call),
        list(outputs) if result is None else result,
        async_op,
        writer(staged),
    )


# ----------------------------------------------------------------------------------------- barriers


def barrier(
    group: Any = None,
    async_op: bool = False,
    device_ids: Any = None,
    timeout: timedelta | None = None,
) -> Work | None:
    """Waits until all ranks of the group have come here.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.barrier
    """
    if is_outside(group, "barrier"):
        return None
    group = group_of(group)
    seconds = timeout.total_seconds() if timeout is not None else None
    by = group.backend_for(group.default_device)
    return by.run("barrier", by.barrier, [], async_op, seconds=seconds)


def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """A barrier whose error at rank 0 names the first rank that did not come in time, or all.

    Raises ValueError in a group by NCCL alone.
    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.monitored_barrier
    """
    if is_outside(group, "monitored_barrier"):
        return
    group = group_of(group)
    if group.default_device != "cpu":
        raise ValueError("monitored_barrier is only implemented for GLOO backend.")
    seconds = timeout.total_seconds() if timeout is not None else None
    by = group.backend_for("cpu")
    by.run(
        "monitored_barrier",
        lambda call: by.monitored_barrier(wait_all_ranks, call),
        [],
        seconds=seconds,
    )
