"""`torch.backends`: what PyTorch computes with. The flags can be set and read, and change nothing.

https://pytorch.org/docs/stable/backends.html
"""

from tiny_torch.compat.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, nnpack, openmp
