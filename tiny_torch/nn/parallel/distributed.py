"""`DistributedDataParallel`: a name to import; making one asks for a process group."""

from __future__ import annotations

from typing import Any

from tiny_torch.nn.modules import Module


class DistributedDataParallel(Module):
    """Raises ValueError, as PyTorch does without a process group: there are none here.

    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    """

    def __init__(self, module: Module, *arguments: Any, **keywords: Any) -> None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )


__all__ = ["DistributedDataParallel"]
