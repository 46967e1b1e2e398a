"""Where a tensor of this rank stands in a larger one that several ranks hold together.

A sharded parameter is an ordinary tensor, of the shape of this rank's part. Its `Piece` says which
part of what that is; checkpoints, state dicts and optimizers' states read it. (PyTorch has DTensor,
a tensor of the whole's shape, in the same place.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import tiny_torch as torch
from tiny_torch.nn.utils import clip_grad

Tensor = torch.Tensor


@dataclass(frozen=True)
class Piece:
    """The whole's shape, where the part begins in it, and the group that holds all parts."""

    shape: tuple[int, ...]
    offset: tuple[int, ...]
    group: Any

    def place(self, part: Tensor) -> tuple[slice, ...]:
        """The indices at which the part stands in the whole."""
        spans = zip(self.offset, part.shape, strict=True)
        return tuple(slice(start, start + size) for start, size in spans)


setattr(Tensor, "_piece", None)  # noqa: B010 -- what the class has, too, is not pickled


def piece_of(tensor: Tensor) -> Piece | None:
    """Which part of what the tensor is; None if it is whole."""
    found: Piece | None = tensor.__dict__.get("_piece")
    return found


def mark(tensor: Tensor, piece: Piece | None) -> Tensor:
    """The tensor, known as that part of a larger one."""
    if piece is not None:
        tensor.__dict__["_piece"] = piece
    return tensor


def mark_parts(module: Any, state_dict: Any, prefix: str, _: Any) -> None:
    """A hook of `state_dict`: what it has of the module's own parameters is known as parts."""
    for name, parameter in module._parameters.items():
        if parameter is not None and prefix + name in state_dict:
            mark(state_dict[prefix + name], piece_of(parameter))


def shard_sizes(length: int, parts: int) -> list[int]:
    """How `torch.chunk` cuts a dim, with zeros for ranks that get nothing: 5 over 4 is 2 2 1 0."""
    most = -(-length // parts)
    return [max(0, min(most, length - rank * most)) for rank in range(parts)]


def cut(whole: Tensor, dim: int, rank: int, parts: int) -> tuple[Tensor, int]:
    """A rank's part of a tensor along a dim, a view; and where it begins."""
    sizes = shard_sizes(whole.shape[dim], parts)
    start = sum(sizes[:rank])
    return whole.narrow(dim, start, sizes[rank]), start


def whole_of(part: Tensor) -> Tensor:
    """The whole tensor, at every rank of the group, all of which call this."""
    piece = piece_of(part)
    if piece is None:
        return part.detach()
    found: list[Any] = [None] * piece.group.size()
    torch.distributed.all_gather_object(found, (piece.offset, tuple(part.shape)), piece.group)
    longest = max(torch.Size(shape).numel() for _, shape in found)
    ours = torch.zeros(longest, dtype=part.dtype, device=part.device)
    ours[: part.numel()] = part.detach().reshape(-1)
    rows = [torch.empty_like(ours) for _ in found]
    torch.distributed.all_gather(rows, ours, piece.group)
    whole = torch.empty(piece.shape, dtype=part.dtype, device=part.device)
    for row, (offset, shape) in zip(rows, found, strict=True):
        theirs = row[: torch.Size(shape).numel()].view(shape)
        whole[Piece(piece.shape, offset, None).place(theirs)] = theirs
    return whole


def mark_gradient(parameter: Tensor) -> None:
    """A hook of a parameter that is a part: its gradient is one."""
    assert parameter.grad is not None
    mark(parameter.grad, piece_of(parameter))


def total_norm(
    tensors: list[Tensor],
    owners: list[Tensor],
    norm_type: float,
    error_if_nonfinite: bool,
    foreach: bool | None,
) -> Tensor:
    """The norm of all gradients together; of parts, those of all ranks, which all call this.

    `owners` are the parameters that they are of, or the gradients.
    """
    grads: dict[Any, list[Tensor]] = {}
    for tensor, owner in zip(tensors, owners, strict=True):
        piece = piece_of(owner)
        grads.setdefault(piece and piece.group, []).append(tensor)
    if grads.keys() <= {None}:
        return clip_grad.norm_here(tensors, norm_type, error_if_nonfinite, foreach)
    if norm_type == 0:
        raise NotImplementedError("norm_type=0 of gradients of which ranks have parts")
    norms = []
    for group, theirs in grads.items():
        norm = clip_grad.norm_here(theirs, norm_type, False, foreach)
        if group is not None:
            largest = norm_type == math.inf
            norm = norm if largest else norm**norm_type
            op = torch.distributed.ReduceOp.MAX if largest else torch.distributed.ReduceOp.SUM
            torch.distributed.all_reduce(norm, op, group)
            norm = norm if largest else norm ** (1 / norm_type)
        norms.append(norm)
    return clip_grad.norm_here(norms, norm_type, error_if_nonfinite, foreach)


clip_grad.over_ranks.append(total_norm)
