"""`torch.backends.nnpack`: whether Winograd's minimal filtering computes convolutions.

PyTorch has it of the library NNPACK, this build of `src/cpu/conv/winograd.h`. Without it, sums of
products are computed as they are written, in twice the time (docs/kernels.md has the errors).
"""

from __future__ import annotations

import contextlib

from tiny_torch import _core
from tiny_torch.compat.backends._flags import within


def is_available() -> bool:
    """True: kernels of our own do what NNPACK does."""
    return True


def set_flags(_enabled: bool) -> tuple[bool]:
    """Turns it on or off; answers what it was, in a tuple."""
    return (_core.set_winograd(_enabled),)


def flags(enabled: bool = False) -> contextlib.AbstractContextManager[None]:
    """Turns it on or off, until the ``with`` ends.

    >>> import tiny_torch as torch
    >>> with torch.backends.nnpack.flags(enabled=False):
    ...     y = torch.nn.functional.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 3, 3))
    """
    return within(set_flags, enabled)
