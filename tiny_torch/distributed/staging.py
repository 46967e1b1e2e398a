"""What collectives ask of tensors before anything is sent, and tensors as rows of memory."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.process_group import ProcessGroup
from tiny_torch.distributed.rows import flat
from tiny_torch.distributed.world import GroupMember, get_group_rank

Tensor = torch.Tensor


# ------------------------------------------------------------------------------------------ checks


def check_tensor(tensor: Any, name: str) -> Tensor:
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(tensor)} instead."
        )
    if tensor.is_sparse:
        raise NotImplementedError("collectives of sparse tensors are not in tiny_torch: to_dense()")
    return tensor


def check_tensors(tensors: Any, name: str) -> Sequence[Tensor]:
    if not isinstance(tensors, list | tuple) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(tensors)} instead."
        )
    return tensors


def check_dtypes(*tensors: Tensor) -> None:
    for tensor in tensors[1:]:
        if tensor.dtype != tensors[0].dtype:
            raise ValueError(
                "Invalid usage of tensors with different dtypes"
                f"Found {tensors[0].dtype} and  {tensor.dtype}"
            )


def shape_text(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"


def check_shapes(what: str, tensors: Sequence[Tensor], like: Tensor) -> None:
    for i, tensor in enumerate(tensors):
        if tensor.shape != like.shape:
            raise RuntimeError(
                f"ProcessGroupGloo::{what}: invalid tensor size at index {i} "
                f"(expected {shape_text(like)}, got {shape_text(tensor)})"
            )


def is_outside(group: Any, name: str) -> bool:
    """True in a process that the group does not have, which is warned."""
    if group is not GroupMember.NON_GROUP_MEMBER:
        return False
    warnings.warn(
        f"Running {name} on global rank {torch.distributed.get_rank()} which does not belong to "
        "the given group.",
        stacklevel=3,
    )
    return True


def root_of(
    what: str, group: ProcessGroup, rank: int | None, group_rank: int | None, default: int | None
) -> int:
    """The root's place in the group, of its global rank or that place."""
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if group_rank is None:
        rank = default if rank is None else rank
        if rank is None:
            raise ValueError("Must specify global_rank or group_rank")
        group_rank = rank if group is GroupMember.WORLD else get_group_rank(group, rank)
    if not isinstance(group_rank, int):
        raise TypeError(f"{what}: a rank must be int, got {type(group_rank).__name__}")
    if not 0 <= group_rank < group.size():
        raise RuntimeError(f"ProcessGroupGloo::{what}: invalid root rank: {group_rank}")
    return group_rank


# ------------------------------------------------------------------------------------- their memory


class Staged:
    """A tensor's memory as a row: its own if it is contiguous and on `device`, else a copy's."""

    def __init__(self, tensor: Tensor, read: bool = True, device: str = "cpu") -> None:
        self.tensor = self.place = tensor
        if not (tensor.device.type == device and tensor.is_contiguous()):
            plain = tensor.detach()
            self.place = plain.to(device).contiguous() if read else torch.empty_like(
                plain, device=device, memory_format=torch.contiguous_format
            )  # fmt: skip
            if self.place is plain or self.place.data_ptr() == plain.data_ptr():
                self.place = plain.clone(memory_format=torch.contiguous_format)
        self.row = flat(self.place)

    def report_write(self) -> None:
        """Says that the row was written: to what saved the tensor, and to the tensor itself."""
        if self.place is not self.tensor:
            target, place = self.tensor.data, self.place
            for dim, stride in enumerate(target.stride()):
                if stride == 0:  # expanded: one element in memory, which is written once
                    length = min(target.shape[dim], 1)
                    target, place = target.narrow(dim, 0, length), place.narrow(dim, 0, length)
            target.copy_(place)
        if not self.tensor.is_inference():
            self.tensor.array.mark_written()


def stage(tensors: Sequence[Tensor], read: bool, device: str) -> list[Staged]:
    return [Staged(tensor, read, device) for tensor in tensors]


def writer(staged: Sequence[Staged]) -> Callable[[], None]:
    def after() -> None:
        for one in staged:
            one.report_write()

    return after


def describe(tensor: Tensor) -> str:
    return describe_kind(tensor.dtype, tensor.shape)


@functools.lru_cache(1024)
def describe_kind(dtype: torch.dtype, shape: torch.Size) -> str:
    return f"{str(dtype).removeprefix('torch.')} {list(shape)}"
