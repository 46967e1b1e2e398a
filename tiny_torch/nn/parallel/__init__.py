"""`torch.nn.parallel`: one module on one device; more devices or processes are refused."""

from tiny_torch.nn.parallel.data_parallel import DataParallel, data_parallel
from tiny_torch.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
