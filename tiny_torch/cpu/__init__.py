"""`torch.cpu`: of PyTorch's names, those of mixed precision."""

from tiny_torch.cpu import amp

__all__ = ["amp"]
