"""`load`: every rank reads what it asks for, from the files of however many ranks wrote."""

from __future__ import annotations

import functools
import os
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.checkpoint.api import Ranks, leaves, state_of
from tiny_torch.distributed.checkpoint.filesystem import FileSystemReader, at
from tiny_torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata
from tiny_torch.distributed.checkpoint.stateful import Stateful
from tiny_torch.distributed.errors import refuse
from tiny_torch.distributed.pieces import Piece, piece_of

Tensor = torch.Tensor


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: FileSystemReader | None = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fills a state dict from a checkpoint, in place; all ranks call it.

    Tensors are written into, of a sharded one this rank's part, however many ranks have saved it;
    other values are replaced. A value with `load_state_dict()` gets what was read. Raises
    CheckpointException at all ranks if one fails: there is no checkpoint, or it lacks a key or has
    another shape for it.
    https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
    """
    refuse("load", planner=(planner, None))
    reader = at(checkpoint_id, storage_reader, FileSystemReader)
    ranks = Ranks(process_group, no_dist)
    parts = {key: state_of(value) for key, value in state_dict.items()}

    def check() -> Metadata:
        metadata = reader.read_metadata()
        for path, _, _, value in leaves(parts):
            check_entry(metadata, path, value)
        return metadata

    metadata = ranks.gather("check", check)[ranks.rank]

    def read() -> None:
        file = functools.cache(reader.read)
        for path, container, key, value in list(leaves(parts)):
            about = metadata.state_dict_metadata[path]
            if isinstance(about, TensorStorageMetadata):
                for i, chunk in enumerate(about.chunks):
                    stored = file(metadata.storage_data[path, i])[path]
                    copy_overlap(value, stored, chunk.offsets)
            else:
                container[key] = file(metadata.storage_data[path, 0])[path]

    ranks.gather("read", read)
    for name, value in list(state_dict.items()):
        if isinstance(value, Stateful):
            value.load_state_dict(parts[name])
        else:
            state_dict[name] = parts[name]


def check_entry(metadata: Metadata, path: str, value: Any) -> None:
    about = metadata.state_dict_metadata.get(path)
    if about is None:
        raise RuntimeError(f"Missing key in checkpoint state_dict: {path}.")
    if not isinstance(about, TensorStorageMetadata):
        return
    if not isinstance(value, Tensor):
        raise ValueError(
            f"Invalid checkpoint metadata for {path}, expected BytesStorageMetadata but found "
            f"{type(about)}"
        )
    piece = piece_of(value)
    size = value.shape if piece is None else torch.Size(piece.shape)
    if about.size != size:
        raise ValueError(f"Size mismatch between saved {about.size} and current: {size} for {path}")


def copy_overlap(ours: Tensor, stored: Tensor, offsets: Any) -> None:
    """Copies what a stored part has of ours, both being parts of the same whole."""
    piece = piece_of(ours) or Piece(tuple(ours.shape), (0,) * ours.ndim, None)
    into, out = [], []
    for start, size, their_start, their_size in zip(
        piece.offset, ours.shape, offsets, stored.shape, strict=True
    ):
        begin, end = max(start, their_start), min(start + size, their_start + their_size)
        if begin >= end:
            return
        into.append(slice(begin - start, end - start))
        out.append(slice(begin - their_start, end - their_start))
    with torch.no_grad():
        ours.detach()[tuple(into)] = stored[tuple(out)].to(ours.dtype)


__all__ = ["load"]
