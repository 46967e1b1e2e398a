"""`torch.distributed.nn`: collectives through which gradients flow: functional.py."""
