"""What a checkpoint says of itself: which tensors of which shapes there are, and in which files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import tiny_torch as torch


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor: where it begins, and its shape."""

    offsets: torch.Size
    sizes: torch.Size


@dataclass
class TensorProperties:
    """A tensor's dtype."""

    dtype: torch.dtype


@dataclass
class TensorStorageMetadata:
    """A tensor: its dtype, its whole shape, and the parts that are stored."""

    properties: TensorProperties
    size: torch.Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """An object that is no tensor."""


@dataclass
class Metadata:
    """All of a checkpoint, by the path of keys to it, such as "model.0.weight".

    `storage_data` has the file of each part of it: {(path, number of the part): name}.
    """

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    storage_data: dict[tuple[str, int], str] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """The same of lists and numbers, which `torch.load` reads without trusting the file."""
        entries: dict[str, Any] = {}
        for path, about in self.state_dict_metadata.items():
            if isinstance(about, BytesStorageMetadata):
                entries[path] = [None, [], [[[], self.storage_data[path, 0]]]]
                continue
            parts = [
                [[list(chunk.offsets), list(chunk.sizes)], self.storage_data[path, i]]
                for i, chunk in enumerate(about.chunks)
            ]
            entries[path] = [about.properties.dtype, list(about.size), parts]
        return {"tiny_torch checkpoint": 1, "entries": entries}

    @staticmethod
    def of_plain(plain: Any) -> Metadata:
        """What `plain` wrote; RuntimeError for anything else."""
        if not isinstance(plain, dict) or plain.get("tiny_torch checkpoint") != 1:
            raise RuntimeError("this .metadata is not that of a checkpoint of tiny_torch")
        found = Metadata({})
        for path, (dtype, size, parts) in plain["entries"].items():
            found.storage_data.update({(path, i): file for i, (_, file) in enumerate(parts)})
            if dtype is None:
                found.state_dict_metadata[path] = BytesStorageMetadata()
                continue
            chunks = [
                ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes))
                for (offsets, sizes), _ in parts
            ]
            found.state_dict_metadata[path] = TensorStorageMetadata(
                TensorProperties(dtype), torch.Size(size), chunks
            )
        return found
