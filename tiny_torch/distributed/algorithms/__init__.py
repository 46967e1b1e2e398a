"""`torch.distributed.algorithms`: what DistributedDataParallel can do beside the plain average."""

from tiny_torch.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
