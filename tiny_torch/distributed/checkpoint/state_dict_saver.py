"""`save`: every rank writes some of what the ranks have, each thing once."""

from __future__ import annotations

import os
import secrets
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.checkpoint.api import CheckpointException, Ranks, leaves, state_of
from tiny_torch.distributed.checkpoint.filesystem import FileSystemWriter, at
from tiny_torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorProperties,
    TensorStorageMetadata,
)
from tiny_torch.distributed.errors import refuse
from tiny_torch.distributed.pieces import piece_of

# What a rank has: {path: (dtype, whole shape, offset, shape)}; of an object the dtype is None.
Have = dict[str, tuple[Any, Any, Any, Any]]


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Writes a state dict of all ranks into a folder; all of them call it.

    A tensor that several ranks have is written by one, parts of sharded ones by their owners. A
    value with `state_dict()` is written as that. Objects are pickled, and read by `torch.load`.
    Answers what was written. Raises CheckpointException at all ranks if one fails; then, and if a
    rank is killed, the checkpoint that was there stays as it was.
    https://docs.pytorch.org/docs/stable/distributed.checkpoint.html

    >>> import tempfile
    >>> import tiny_torch as torch
    >>> import tiny_torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"w": torch.ones(2), "step": 3}, checkpoint_id=folder)
    ...     state = {"w": torch.zeros(2), "step": 0}
    ...     dcp.load(state, checkpoint_id=folder)
    >>> state
    {'w': tensor([1., 1.]), 'step': 3}
    """
    refuse("save", planner=(planner, None), use_collectives=(use_collectives, True))
    writer = at(checkpoint_id, storage_writer, FileSystemWriter)
    ranks = Ranks(process_group, no_dist)
    ours = {path: value for path, _, _, value in leaves(parts_of(state_dict))}

    def prepare() -> tuple[Have, str]:
        if ranks.rank == 0:
            writer.prepare()
        return {path: have(value) for path, value in ours.items()}, secrets.token_hex(4)

    told = ranks.gather("prepare", prepare)
    token = told[0][1]
    metadata, writers = share([have for have, _ in told], token)

    def write() -> None:
        name = file_name(ranks.rank, token)
        mine = {path: ours[path] for path in writers[ranks.rank]}
        if mine:
            writer.write(name, {path: alone(value) for path, value in mine.items()})

    try:
        ranks.gather("write", write)
    except CheckpointException:  # all ranks have it; of another error rank 0 may not know
        writer.delete([file_name(ranks.rank, token)])
        raise
    ranks.gather("finish", lambda: writer.finish(metadata) if ranks.rank == 0 else None)
    return metadata


def parts_of(state_dict: dict[str, Any]) -> dict[str, Any]:
    return {key: state_of(value) for key, value in state_dict.items()}


def file_name(rank: int, token: str) -> str:
    return f"__{rank}_{token}.distcp"


def have(value: Any) -> tuple[Any, Any, Any, Any]:
    if not isinstance(value, torch.Tensor):
        return None, (), (), ()
    shape = tuple(value.shape)
    piece = piece_of(value)
    whole, offset = (shape, (0,) * len(shape)) if piece is None else (piece.shape, piece.offset)
    return value.dtype, whole, offset, shape


def alone(value: Any) -> Any:
    """A tensor in a storage of its own: a file has whole storages."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.untyped_storage().nbytes() > value.numel() * value.element_size():
            value = value.clone()
    return value


def share(everyone: list[Have], token: str) -> tuple[Metadata, list[list[str]]]:
    """Who writes what. All ranks find the same: a part goes to who has least to write so far."""
    owners: dict[str, dict[Any, list[int]]] = {}
    about: dict[str, tuple[Any, Any]] = {}
    for rank, theirs in enumerate(everyone):
        for path, (dtype, whole, offset, shape) in theirs.items():
            if about.setdefault(path, (dtype, whole)) != (dtype, whole):
                raise ValueError(f"{path} is {about[path]} at one rank, {(dtype, whole)} at {rank}")
            owners.setdefault(path, {}).setdefault((offset, shape), []).append(rank)
    load = [0] * len(everyone)
    writers: list[list[str]] = [[] for _ in everyone]
    metadata = Metadata({})
    for path, parts in owners.items():
        dtype, whole = about[path]
        chunks: list[Any] = []
        for (offset, shape), having in parts.items():
            if dtype is not None and 0 in shape and 0 not in whole:
                continue  # a rank without a share
            rank = min(having, key=lambda r: load[r])
            load[rank] += 1 if dtype is None else torch.Size(shape).numel()
            writers[rank].append(path)
            metadata.storage_data[path, len(chunks)] = file_name(rank, token)
            chunks.append(ChunkStorageMetadata(torch.Size(offset), torch.Size(shape)))
        metadata.state_dict_metadata[path] = BytesStorageMetadata() if dtype is None else (
            TensorStorageMetadata(TensorProperties(dtype), torch.Size(whole), chunks)
        )  # fmt: skip
    return metadata, writers


__all__ = ["save"]
