"""What tests need: comparison with tolerances, random tensors. https://pytorch.org/docs/stable/testing.html"""

from tiny_torch.utils.testing._comparison import assert_close
from tiny_torch.utils.testing._creation import make_tensor

__all__ = ["assert_close", "make_tensor"]
