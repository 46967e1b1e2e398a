"""`torch.nn.attention`: which way scaled_dot_product_attention is computed."""

from tiny_torch.functions.nn.attention import SDPBackend, sdpa_kernel

__all__ = ["SDPBackend", "sdpa_kernel"]
