"""Collectives of Python objects: pickled, sent as bytes behind their lengths, and unpickled.

The bytes are on the CPU, or on the GPU in a group by NCCL alone.

As in PyTorch: pickles run code when they are read, so the ranks must trust each other.
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_gather_object
"""

from __future__ import annotations

import pickle
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.collectives import all_gather, broadcast, gather, scatter
from tiny_torch.distributed.messages import recv, send
from tiny_torch.distributed.staging import is_outside
from tiny_torch.distributed.staging import root_of as place_of
from tiny_torch.distributed.world import group_of

Tensor = torch.Tensor


def pack(thing: Any, group: Any) -> Tensor:
    data = torch.frombuffer(bytearray(pickle.dumps(thing)), dtype=torch.uint8)
    return data.to(group.default_device)


def unpack(data: Tensor, size: int) -> Any:
    return pickle.loads(bytes(data[:size].cpu().numpy()))


def sizes_of(packed: list[Tensor], group: Any) -> Tensor:
    sizes = [data.numel() for data in packed]
    return torch.tensor(sizes, dtype=torch.int64, device=group.default_device)


def zeros(count: int, group: Any) -> Tensor:
    return torch.zeros(count, dtype=torch.int64, device=group.default_device)


def room(size: int, group: Any) -> Tensor:
    return torch.empty(size, dtype=torch.uint8, device=group.default_device)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Gives all ranks the objects of all, into the list."""
    if is_outside(group, "all_gather_object"):
        return
    group = group_of(group)
    data = pack(obj, group)
    sizes = gathered_sizes(data, group)
    longest = max(sizes)
    rows = [room(longest, group) for _ in sizes]
    all_gather(rows, pad_to(data, longest), group)
    for i, (row, size) in enumerate(zip(rows, sizes, strict=True)):
        object_list[i] = unpack(row, size)


def gathered_sizes(data: Tensor, group: Any) -> list[int]:
    sizes = [zeros(1, group) for _ in range(group.size())]
    all_gather(sizes, sizes_of([data], group), group)
    return [int(size) for size in sizes]


def pad_to(data: Tensor, size: int) -> Tensor:
    row = torch.zeros(size, dtype=torch.uint8, device=data.device)
    row[: data.numel()] = data
    return row


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Gives `dst` (0 if left out) the objects of all, into its list."""
    if is_outside(group, "gather_object"):
        return
    group = group_of(group)
    root = place_of("gather", group, dst, group_dst, 0)
    at_root = group.rank() == root
    if at_root and object_gather_list is None:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not at_root and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    data = pack(obj, group)
    sizes = gathered_sizes(data, group)
    longest = max(sizes)
    rows = [room(longest, group) for _ in sizes] if at_root else None
    gather(pad_to(data, longest), rows, group=group, group_dst=root)
    if rows is not None and object_gather_list is not None:
        for i, (row, size) in enumerate(zip(rows, sizes, strict=True)):
            object_gather_list[i] = unpack(row, size)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Gives all ranks the objects of `src` (0 if left out), into their lists of the same length."""
    if is_outside(group, "broadcast_object_list"):
        return
    group = group_of(group)
    root = place_of("broadcast", group, src, group_src, 0)
    at_root = group.rank() == root
    packed = [pack(thing, group) for thing in object_list] if at_root else []
    sizes = sizes_of(packed, group) if at_root else zeros(len(object_list), group)
    broadcast(sizes, group=group, group_src=root)
    data = torch.cat(packed) if packed else room(int(sizes.sum()), group)
    broadcast(data, group=group, group_src=root)
    if not at_root:
        fill_list(object_list, data, sizes)


def fill_list(things: list[Any], data: Tensor, sizes: Tensor) -> None:
    at = 0
    for i, size in enumerate(sizes.tolist()):
        things[i] = unpack(data[at:], size)
        at += size


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Gives each rank its object of the list of `src` (0 if left out), as the first of its own."""
    if is_outside(group, "scatter_object_list"):
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    group = group_of(group)
    root = place_of("scatter", group, src, group_src, 0)
    at_root = group.rank() == root
    packed: list[Tensor] | None = None
    size = zeros(2, group)  # the longest, and one's own
    sizes = None
    if at_root:
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        packed = [pack(thing, group) for thing in scatter_object_input_list]
        longest = max((data.numel() for data in packed), default=0)
        sizes = [torch.tensor([longest, data.numel()], device=data.device) for data in packed]
        packed = [pad_to(data, longest) for data in packed]
    scatter(size, sizes, group=group, group_src=root)
    longest, own = size.tolist()
    row = room(longest, group)
    scatter(row, packed, group=group, group_src=root)
    scatter_object_output_list[0] = unpack(row, own)


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Sends objects to a rank, which calls `recv_object_list` with a list of the same length."""
    if is_outside(group, "send_object_list"):
        return
    group = group_of(group)
    packed = [pack(thing, group) for thing in object_list]
    send(sizes_of(packed, group), dst, group, group_dst=group_dst)
    send(torch.cat(packed), dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receives objects into the list, from anyone where no rank is given; answers who sent."""
    if is_outside(group, "recv_object_list"):
        return -1
    group = group_of(group)
    sizes = zeros(len(object_list), group)
    sender = recv(sizes, src, group, group_src=group_src)
    data = room(int(sizes.sum()), group)
    recv(data, sender, group)
    fill_list(object_list, data, sizes)
    return sender
