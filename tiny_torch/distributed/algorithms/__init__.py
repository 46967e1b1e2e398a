"""`torch.distributed.algorithms`: what DistributedDataParallel can do beside the plain average."""
