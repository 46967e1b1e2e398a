"""A checkpoint as a folder: a file per rank, __RANK_TOKEN.distcp, and `.metadata`.

The token is new for every save, and `.metadata`, which names the files, takes the old one's place
in one step when all ranks have written theirs. So a rank may be killed at any moment: what can be
read is the old checkpoint or the new one, and never some of both.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.checkpoint.metadata import Metadata
from tiny_torch.distributed.errors import refuse

METADATA = ".metadata"


class FileSystemWriter:
    """Writes a checkpoint into a folder, which is made if it is not there.

    https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Any = None,
        serialization_format: Any = None,
    ) -> None:
        refuse(
            "FileSystemWriter",
            single_file_per_rank=(single_file_per_rank, True),
            sync_files=(sync_files, True),
            thread_count=(thread_count, 1),
            per_thread_copy_ahead=(per_thread_copy_ahead, 10_000_000),
            cache_staged_state_dict=(cache_staged_state_dict, False),
            _extensions=(_extensions, None),
            serialization_format=(serialization_format, None),
        )
        self.path, self.overwrite = Path(path), overwrite

    def prepare(self) -> None:
        """Makes the folder; RuntimeError if a checkpoint is in it that must stay."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.overwrite and (self.path / METADATA).exists():
            raise RuntimeError(f"Checkpoint already exists and {self.overwrite=}.")

    def write(self, name: str, parts: dict[str, Any]) -> None:
        """Writes a rank's file."""
        torch.save(parts, self.path / name)

    def finish(self, metadata: Metadata) -> None:
        """Puts the checkpoint in the place of the one before, whose files go."""
        torch.save(metadata.plain(), self.path / METADATA)
        self.delete(set(self.files()) - set(metadata.storage_data.values()))

    def files(self) -> list[str]:
        """The names of all ranks' files."""
        return [file.name for file in self.path.glob("__*.distcp")]

    def delete(self, names: Iterable[str]) -> None:
        """Deletes files that no checkpoint names."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path / name)


class FileSystemReader:
    """Reads a checkpoint from a folder.

    https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
    """

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any = None) -> None:
        refuse("FileSystemReader", _extension_registry=(_extension_registry, None))
        self.path = Path(path)

    def read_metadata(self) -> Metadata:
        """What is in the checkpoint; FileNotFoundError if there is none."""
        return Metadata.of_plain(torch.load(self.path / METADATA))

    def read(self, name: str) -> dict[str, Any]:
        """A rank's file. Its tensors are read when they are looked at."""
        answer: dict[str, Any] = torch.load(self.path / name, mmap=True)
        return answer


def at(checkpoint_id: str | os.PathLike[str] | None, storage: Any, kind: Any) -> Any:
    """The reader or writer that is meant."""
    if storage is not None:
        if not isinstance(storage, kind):
            raise NotImplementedError(
                f"torch.distributed.checkpoint: storage {type(storage).__name__}: "
                f"{kind.__name__} is in tiny_torch"
            )
        if checkpoint_id is not None:
            storage.path = Path(checkpoint_id)
        return storage
    if checkpoint_id is None:
        raise RuntimeError(
            "`checkpoint_id` must be specified if storage_reader/storage_writer is None."
        )
    return kind(checkpoint_id)
