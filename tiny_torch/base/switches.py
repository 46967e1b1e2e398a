"""Settings that PyTorch's scripts make. Most of them change nothing here.

Every kernel is deterministic, and there is one kind of threads (`set_num_threads`). On the CPU
float32 is always computed in float32; a GPU may round it to TF32 (`set_float32_matmul_precision`).
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from tiny_torch import _core
from tiny_torch.base.arguments import check_bool

PRECISIONS = ("highest", "high", "medium")
DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


class Settings:
    matmul_precision = "highest"
    deterministic = False
    warn_only = False
    fill_uninitialized = True  # utils.deterministic.fill_uninitialized_memory
    interop_threads: int | None = None
    warn_always = False

    def __init__(self) -> None:
        self.fills = False  # whether `empty` does: both of the above are on

    def fill(self, deterministic: bool, fill_uninitialized: bool) -> None:
        self.deterministic, self.fill_uninitialized = deterministic, fill_uninitialized
        self.fills = deterministic and fill_uninitialized


settings = Settings()


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` has set: "highest", "high" or "medium"."""
    return settings.matmul_precision


def set_float32_matmul_precision(precision: str) -> None:
    """Allows less than float32's precision in matrix products: on a GPU TF32, unless "highest".

    Warns where `precision` is not "highest", "high" or "medium"; RuntimeError where it is no text.
    https://pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html
    """
    if not isinstance(precision, str):
        raise RuntimeError(
            "set_float32_matmul_precision expects a str, but got " + type(precision).__name__
        )
    if precision not in PRECISIONS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current "
            "setFloat32MatmulPrecision call has no effect.",
            stacklevel=2,
        )
        return
    settings.matmul_precision = precision
    _core.set_matmul_tf32(precision != "highest")


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was called with. Without it, too, all are."""
    return settings.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The `warn_only` that `use_deterministic_algorithms` was called with."""
    return settings.warn_only


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for deterministic algorithms. Only memory that nobody has written depends on it.

    All kernels are deterministic: bits depend on inputs, dtype and instruction set alone, not on
    threads or runs, so nothing is ever refused or warned of, and `warn_only` is only noted. The
    same holds for `backends.cudnn.deterministic`, and for CUBLAS_WORKSPACE_CONFIG, which is not
    read: no kernel is cuBLAS's. But `empty` and its kin, and `resize_`, are filled with NaN, the
    largest integer or True, unless `utils.deterministic.fill_uninitialized_memory` is False.
    https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html

    >>> import tiny_torch as torch
    >>> torch.use_deterministic_algorithms(True)
    >>> torch.empty(2)
    tensor([nan, nan])
    >>> torch.use_deterministic_algorithms(False)
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        check_bool("use_deterministic_algorithms", name, None, value)
    settings.fill(mode, settings.fill_uninitialized)
    settings.warn_only = warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by a name or number: "default" (0), "warn" (1), "error" (2).

    Raises TypeError for what is neither text nor int, RuntimeError for another text or number.
    https://pytorch.org/docs/stable/generated/torch.set_deterministic_debug_mode.html
    """
    if not isinstance(debug_mode, int | str):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str) and debug_mode not in DEBUG_MODES:
        raise RuntimeError(
            "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
            + debug_mode
        )
    number = DEBUG_MODES[debug_mode] if isinstance(debug_mode, str) else debug_mode
    if number not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: what `set_deterministic_debug_mode` calls "default", "warn" and "error"."""
    if not settings.deterministic:
        return 0
    return 1 if settings.warn_only else 2


def set_num_threads(num: int, /) -> None:
    """The number of threads that one kernel may use; RuntimeError for what is not 1 or more.

    https://pytorch.org/docs/stable/generated/torch.set_num_threads.html
    """
    if isinstance(num, bool) or not isinstance(num, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    _core.set_num_threads(num)


def get_num_interop_threads() -> int:
    """The number of threads for operations that run beside each other: none does here."""
    return settings.interop_threads or os.cpu_count() or 1


def set_num_interop_threads(num: Any) -> None:
    """Can be set once, as in PyTorch; RuntimeError for a second time or a number below 1."""
    if isinstance(num, bool) or not isinstance(num, int):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type(num).__name__}")
    if num < 1:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    if settings.interop_threads is not None:
        raise RuntimeError(
            "Error: cannot set number of interop threads after parallel work has started or "
            "set_num_interop_threads called"
        )
    settings.interop_threads = num


def set_flush_denormal(mode: bool, /) -> bool:
    """Answers whether it has been set: to keep denormal numbers, as all kernels do; never to flush.

    https://pytorch.org/docs/stable/generated/torch.set_flush_denormal.html
    """
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return not mode


def set_warn_always(b: bool, /) -> None:
    """Noted only: how often a warning is shown, Python's `warnings` decide, of each alike.

    https://pytorch.org/docs/stable/generated/torch.set_warn_always.html
    """
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    settings.warn_always = b


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was called with."""
    return settings.warn_always


FUNCTIONS = {
    f.__name__: f
    for f in (
        get_float32_matmul_precision, set_float32_matmul_precision,
        are_deterministic_algorithms_enabled, use_deterministic_algorithms,
        is_deterministic_algorithms_warn_only_enabled,
        get_deterministic_debug_mode, set_deterministic_debug_mode,
        set_num_threads, get_num_interop_threads, set_num_interop_threads,
        set_flush_denormal, set_warn_always, is_warn_always_enabled,
    )
}  # fmt: skip
