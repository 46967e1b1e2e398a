"""torch.utils.dlpack: https://pytorch.org/docs/stable/dlpack.html"""

from typing import Any

from tiny_torch.functions.creation.dlpack import DLDeviceType, export, from_dlpack
from tiny_torch.tensor import Tensor

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule that from_dlpack, once, makes a tensor on the same memory of.

    https://pytorch.org/docs/stable/dlpack.html#torch.utils.dlpack.to_dlpack

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.dlpack import from_dlpack, to_dlpack
    >>> from_dlpack(to_dlpack(torch.ones(2)))
    tensor([1., 1.])
    """
    return export(tensor)
