"""`torch.distributed.tensor.parallel`: layers whose weights are cut over the ranks of a mesh.

https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
"""

from tiny_torch.compat.refused import refusing, refusing_class
from tiny_torch.distributed.tensor.parallel.api import parallelize_module
from tiny_torch.distributed.tensor.parallel.prepare import PrepareModuleInput, PrepareModuleOutput
from tiny_torch.distributed.tensor.parallel.style import (
    ColwiseParallel,
    ParallelStyle,
    RowwiseParallel,
    SequenceParallel,
)

PrepareModuleInputOutput = refusing_class(
    "torch.distributed.tensor.parallel.PrepareModuleInputOutput",
    "PrepareModuleInput and PrepareModuleOutput are",
)
loss_parallel = refusing(
    "torch.distributed.tensor.parallel.loss_parallel",
    "ColwiseParallel(output_layouts=Replicate()) gathers the logits",
)

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput",
    "PrepareModuleOutput", "RowwiseParallel", "SequenceParallel", "loss_parallel",
    "parallelize_module",
]  # fmt: skip
