"""`torch.distributed.fsdp`: parameters, gradients and optimizers' states cut over the ranks.

`fully_shard` is here; FullyShardedDataParallel, which came before it, is refused by name.
https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
"""

from tiny_torch.compat.refused import refusing, refusing_class
from tiny_torch.distributed.fsdp.fully_shard import (
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    UnshardHandle,
    fully_shard,
)

WHY = "fully_shard is"
FullyShardedDataParallel = refusing_class("torch.distributed.fsdp.FullyShardedDataParallel", WHY)
CPUOffloadPolicy = refusing_class(
    "torch.distributed.fsdp.CPUOffloadPolicy", "parameters stay on their device"
)
register_fsdp_forward_method = refusing("torch.distributed.fsdp.register_fsdp_forward_method", WHY)


# options of FullyShardedDataParallel, which can be imported
(
    BackwardPrefetch, CPUOffload, FullOptimStateDictConfig, FullStateDictConfig, MixedPrecision,
    ShardedOptimStateDictConfig, ShardedStateDictConfig, ShardingStrategy, StateDictType,
) = (
    refusing_class(f"torch.distributed.fsdp.{name}", WHY)
    for name in (
        "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",
        "MixedPrecision", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
        "ShardingStrategy", "StateDictType",
    )
)  # fmt: skip

__all__ = [
    "CPUOffloadPolicy", "FSDPModule", "FullyShardedDataParallel", "MixedPrecisionPolicy",
    "OffloadPolicy", "UnshardHandle", "fully_shard", "register_fsdp_forward_method",
]  # fmt: skip
