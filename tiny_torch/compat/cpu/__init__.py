"""`torch.cpu`: of PyTorch's names, those of mixed precision; beside them, the CPU's memory."""

from tiny_torch.compat.cpu import amp, memory
from tiny_torch.compat.cpu.memory import *

__all__ = ["amp", *memory.__all__]
