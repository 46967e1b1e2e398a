"""Where PyTorch has the module that `torch.compile` makes of a module."""

from tiny_torch.compiler import OptimizedModule as OptimizedModule
