"""`torch.nn.parallel`: one module in several processes; on more than one device is refused."""

from tiny_torch.nn.parallel.data_parallel import DataParallel, data_parallel
from tiny_torch.nn.parallel.distributed import DistributedDataParallel
from tiny_torch.nn.parallel.synced_norm import synced_batch_norm

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
