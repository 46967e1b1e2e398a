"""Whether all ranks have the same parameters: the same names and shapes, the same bits."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import tiny_torch as torch

Named = Sequence[tuple[str, torch.Tensor]]


def check_shapes(named: Named, group: Any) -> None:
    """RuntimeError where a rank's parameters are not those of rank 0, by name and shape."""
    ours = [(n, str(p.dtype), tuple(p.shape), p.requires_grad) for n, p in named]
    everyone = of_ranks(ours, group)
    for rank, theirs in enumerate(everyone):
        if len(theirs) != len(everyone[0]):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank 0 has {len(everyone[0])} "
                f"params, while rank {rank} has inconsistent {len(theirs)} params."
            )
        for one, other in zip(everyone[0], theirs, strict=True):
            if one != other:
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but parameter {one[0]} of rank 0 is "
                    f"{one[1]} {one[2]}, and that of rank {rank}, {other[0]}, is {other[1]} "
                    f"{other[2]}"
                )


def check_bits(named: Named, group: Any, when: str) -> None:
    """RuntimeError, which names the first parameter that differs and who has it how."""
    from_all = of_ranks([digest(parameter) for _, parameter in named], group)
    differing = [i for i, digests in enumerate(zip(*from_all, strict=True)) if len({*digests}) > 1]
    if not differing:
        return
    first = differing[0]
    camps: dict[bytes, list[int]] = {}
    for rank, digests in enumerate(from_all):
        camps.setdefault(digests[first], []).append(rank)
    said = ", others at ".join(str(ranks) for ranks in camps.values())
    raise RuntimeError(
        f"DistributedDataParallel, {when}: parameter {named[first][0]} is not alike at all ranks: "
        f"one value at {said}. It is the first of {len(differing)} that differ, of {len(named)}."
    )


def of_ranks(ours: Any, group: Any) -> list[Any]:
    found: list[Any] = [None] * torch.distributed.get_world_size(group)
    torch.distributed.all_gather_object(found, ours, group=group)
    return found


def digest(tensor: torch.Tensor) -> bytes:
    row = tensor.detach().cpu().contiguous().view(-1).view(torch.uint8)
    return hashlib.blake2b(row.numpy(), digest_size=8).digest()
