"""`torch.cpu`: of PyTorch's names, those of mixed precision; beside them, the CPU's memory."""

from tiny_torch.cpu import amp, memory
from tiny_torch.cpu.memory import *

__all__ = ["amp", *memory.__all__]
