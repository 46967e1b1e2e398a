"""`torch.backends.cuda`: whether CUDA is there, and how it computes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tiny_torch.base import switches
from tiny_torch.base.devices import has_cuda
from tiny_torch.functions.nn.attention import (
    Kernels,
    SDPBackend,
    allow,
    is_allowed,
    sdpa_kernel,
)


def is_built() -> bool:
    """Whether this build has CUDA, though there may be no GPU: `cuda.is_available` tells."""
    return has_cuda()


class _MatmulFlags:
    """The flags of matrix products on a GPU; AttributeError for a name that is none."""

    __slots__ = ("allow_bf16_reduced_precision_reduction", "allow_fp16_reduced_precision_reduction")

    def __init__(self) -> None:
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True

    @property
    def allow_tf32(self) -> bool:
        """Whether float32 may be rounded: `set_float32_matmul_precision` in another form."""
        return switches.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: Any) -> None:
        switches.set_float32_matmul_precision("high" if value else "highest")


matmul = _MatmulFlags()


def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Kernels:
    """`nn.attention.sdpa_kernel` of the ways that are True. Warns that it is deprecated."""
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager "
        "will be removed. Please see `torch.nn.attention.sdpa_kernel()` for the new context "
        "manager, with updated signature.",
        FutureWarning,
        stacklevel=2,
    )
    allowed = {
        SDPBackend.FLASH_ATTENTION: enable_flash,
        SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
        SDPBackend.MATH: enable_math,
        SDPBackend.CUDNN_ATTENTION: enable_cudnn,
    }
    return sdpa_kernel([backend for backend, wanted in allowed.items() if wanted])


def _switch(backend: SDPBackend) -> tuple[Callable[[bool], None], Callable[[], bool]]:
    """What allows a way of attention from here on, or not; and what says whether it is allowed."""

    def enable(enabled: bool) -> None:
        if not isinstance(enabled, bool):
            kind = type(enabled).__name__
            raise RuntimeError(f"set_sdp_use_math expects a bool, but got {kind}")
        allow(backend, enabled)

    return enable, lambda: is_allowed(backend)


enable_flash_sdp, flash_sdp_enabled = _switch(SDPBackend.FLASH_ATTENTION)
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch(SDPBackend.EFFICIENT_ATTENTION)
enable_math_sdp, math_sdp_enabled = _switch(SDPBackend.MATH)
enable_cudnn_sdp, cudnn_sdp_enabled = _switch(SDPBackend.CUDNN_ATTENTION)
