"""`torch.__config__`: how this was built, in the words that scripts look for.

https://pytorch.org/docs/stable/config_mod.html
"""

from __future__ import annotations

import tiny_torch as torch
from tiny_torch import _core


def show() -> str:
    """The build in some lines of text: instruction set, and what was built in or left out."""
    cuda = "ON" if torch.cuda.is_available() else "OFF"
    return (
        f"tiny_torch {torch.__version__} built with:\n"
        f"  - C++17, instruction set in use: {_core.instruction_set}\n"
        f"  - Build settings: USE_CUDA={cuda}, USE_MKL=OFF, USE_MKLDNN=OFF, USE_OPENMP=ON\n"
    )


def parallel_info() -> str:
    """The number of threads, in some lines of text."""
    return f"ATen/Parallel:\n\tat::get_num_threads() : {torch.get_num_threads()}\n"
