"""What DistributedDataParallel sends of parameters and buffers: small ones together."""

from __future__ import annotations

import itertools
from typing import Any

import tiny_torch as torch

SMALL = 1 << 16  # bytes of tensors that are sent together
ALIGN = 16  # bytes: where each of them begins


class Packet:
    """Tensors of a device, sent as one row of bytes; or a single one, from where it is."""

    def __init__(self, tensors: list[Any]) -> None:
        self.tensors = tensors
        self.row: Any = None
        self.places: list[Any] = []  # of the tensors, in the row
        if len(tensors) == 1:
            return
        sizes = [t.numel() * t.element_size() for t in tensors]
        ends = list(itertools.accumulate(-(-size // ALIGN) * ALIGN for size in sizes))
        self.row = torch.empty(ends[-1], dtype=torch.uint8, device=tensors[0].device)
        for t, start, size in zip(tensors, [0, *ends], sizes, strict=False):
            self.places.append(self.row[start : start + size].view(t.dtype).view(t.shape))

    @torch.no_grad()
    def send(self, group: Any, source: int) -> None:
        """Gives all ranks the tensors of one."""
        if self.row is None:
            torch.distributed.broadcast(self.tensors[0].detach(), group=group, group_src=source)
            return
        is_source = group.rank() == source
        if is_source:
            for place, tensor in zip(self.places, self.tensors, strict=True):
                place.copy_(tensor)
        torch.distributed.broadcast(self.row, group=group, group_src=source)
        if not is_source:
            for place, tensor in zip(self.places, self.tensors, strict=True):
                tensor.copy_(place)


def packets_of(tensors: list[Any]) -> list[Packet]:
    """What is sent of these tensors: a large one by itself, the small ones of a device together."""
    rows: dict[Any, list[Any]] = {}
    for i, t in enumerate(tensors):
        small = t.numel() * t.element_size() <= SMALL
        rows.setdefault(t.device if small else i, []).append(t)
    return [Packet(row) for row in rows.values()]


def send_all(packets: list[Packet], group: Any, source: int) -> None:
    """Gives all ranks the values of one."""
    for packet in packets:
        packet.send(group, source)
