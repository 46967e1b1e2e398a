"""`torch.distributed.optim`: an optimizer whose state is spread over the ranks."""

from tiny_torch.compat.refused import refusing_class
from tiny_torch.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

DistributedOptimizer = refusing_class(
    "torch.distributed.optim.DistributedOptimizer", "it has no RPC; ZeroRedundancyOptimizer is"
)
PostLocalSGDOptimizer = refusing_class(
    "torch.distributed.optim.PostLocalSGDOptimizer", "ZeroRedundancyOptimizer is"
)

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]
