"""`torch._inductor`: the settings of PyTorch's generator of code, for scripts that make them."""

from tiny_torch._inductor import config as config
