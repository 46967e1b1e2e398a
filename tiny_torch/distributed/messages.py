"""Messages of tensors between two ranks: send, recv, isend, irecv and batches of them.

https://docs.pytorch.org/docs/stable/distributed.html#point-to-point-communication
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.errors import DistBackendError
from tiny_torch.distributed.process_group import ProcessGroup
from tiny_torch.distributed.staging import Staged, check_tensor, describe, is_outside
from tiny_torch.distributed.work import Work
from tiny_torch.distributed.world import get_group_rank, group_of

Tensor = torch.Tensor


def peer_of(name: str, group: ProcessGroup, rank: int | None, group_rank: int | None) -> int:
    """The other's place in the group; ValueError for this process's own."""
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if rank is None and group_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    peer = get_group_rank(group, rank) if rank is not None else group_rank
    if not isinstance(peer, int):
        raise TypeError(f"{name}: a rank must be int, got {type(peer).__name__}")
    if not 0 <= peer < group.size():
        raise RuntimeError(f"{name}: there is no rank {peer} in a group of {group.size()}")
    if peer == group.rank():
        kind = "destination" if "send" in name else "source"
        raise ValueError(
            f"Invalid {kind} rank: {kind} rank should not be the same as the rank of the current "
            "process."
        )
    return peer


def begin(
    name: str, group: ProcessGroup, tensor: Tensor, peer: int | None, tag: int, sending: bool
) -> Work:
    if group.broken:
        raise DistBackendError(f"{name}: the group has failed before: {group.broken}")
    by = group.backend_for(tensor.device.type)
    staged = Staged(tensor, sending, by.device)
    whom = "any rank" if peer is None else f"rank {group.ranks[peer]}"
    text = f"{name} {'to' if sending else 'from'} {whom}, tag {tag}, {describe(tensor)}"
    after = None if sending else staged.report_write
    return by.begin(text, staged.row, tensor, peer, tag, after)


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begins to send a tensor, which must not change until `wait` of the Work has returned."""
    if is_outside(group, "isend"):
        return None
    group = group_of(group)
    check_tensor(tensor, "tensor")
    return begin("isend", group, tensor, peer_of("isend", group, dst, group_dst), tag, True)


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begins to receive into a tensor, from anyone where no rank is given."""
    if is_outside(group, "irecv"):
        return None
    group = group_of(group)
    check_tensor(tensor, "tensor")
    anyone = src is None and group_src is None
    peer = None if anyone else peer_of("irecv", group, src, group_src)
    return begin("irecv", group, tensor, peer, tag, False)


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Sends a tensor.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.send
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receives into a tensor, from anyone where no rank is given; answers the sender's rank.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.recv
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return group_of(group).ranks[work.source]


class P2POp:
    """An `isend` or `irecv` of a batch."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        self.op, self.tensor = op, check_tensor(tensor, "tensor")
        self.group, self.tag = group_of(group), tag
        if peer is None and group_peer is None:
            raise ValueError("Must specify global_rank or group_rank")
        self.group_peer = get_group_rank(self.group, peer) if peer is not None else group_peer
        assert self.group_peer is not None
        self.peer = self.group.ranks[self.group_peer]

    def __repr__(self) -> str:
        ours = self.group.rank()
        to, source = (ours, self.group_peer) if self.op is irecv else (self.group_peer, ours)
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={source}, "
            f"group_dst={to},  {self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begins all of the sends and receives; by NCCL they are one Work, and tags are not looked at.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.batch_isend_irecv
    """
    if not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type "
            "``torch.distributed.P2POp``."
        )
    if not p2p_op_list:
        raise IndexError("list index out of range")
    by = p2p_op_list[0].group.backend_for(p2p_op_list[0].tensor.device.type)
    with by.batch() as works:
        begun = [op.op(op.tensor, op.peer, op.group, op.tag) for op in p2p_op_list]
    return works or begun


__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]
