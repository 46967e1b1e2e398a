"""`torch.distributed.checkpoint`: state dicts of all ranks in one folder, a file per rank.

`save` writes each tensor once, whoever has it; `load` fills tensors in place, at any number of
ranks. The folder is complete at every moment: `.metadata`, which names the other files, is replaced
last (filesystem.py). The files are not PyTorch's.
https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
"""

from tiny_torch.compat.refused import refusing
from tiny_torch.distributed.checkpoint.api import CheckpointException
from tiny_torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from tiny_torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from tiny_torch.distributed.checkpoint.state_dict_loader import load
from tiny_torch.distributed.checkpoint.state_dict_saver import save

async_save = refusing("torch.distributed.checkpoint.async_save", "`save` is")

__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "FileSystemReader",
    "FileSystemWriter", "Metadata", "TensorStorageMetadata", "async_save", "load", "save",
]  # fmt: skip
