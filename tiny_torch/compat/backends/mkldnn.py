"""`torch.backends.mkldnn`: Intel's kernels for nets, which this build does not use."""

from tiny_torch.compat.backends.mkl import is_available as is_available

enabled = False
