"""What `torch` has and hardly explains, which packages call: assertions, shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch.compat.refused import refusing_class
from tiny_torch.functions.creation.from_data import tensor
from tiny_torch.tensor import Tensor

PyTorchFileReader = refusing_class("torch.PyTorchFileReader", "torch.load reads its files")
PyTorchFileWriter = refusing_class("torch.PyTorchFileWriter", "torch.save writes its files")

NO_MARKS = "it marks no ranges for other tools' timelines"
emit_itt = refusing_class("torch.autograd.profiler.emit_itt", NO_MARKS)
emit_nvtx = refusing_class("torch.autograd.profiler.emit_nvtx", NO_MARKS)


def check_with(error: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Callable[[], str] | None = None) -> None:
        if not cond:
            raise error(
                "Expected cond to be True, but got False. (Could this error message be improved? "
                "If so, please report an enhancement request to PyTorch.)"
                if message is None
                else str(message())
            )

    check.__doc__ = f"Raises {error.__name__} with the message's text unless `cond` is true."
    return check


_check = check_with(RuntimeError)
_check_index = check_with(IndexError)
_check_not_implemented = check_with(NotImplementedError)
_check_type = check_with(TypeError)
_check_value = check_with(ValueError)


def _check_is_size(i: int, message: Callable[[], str] | None = None, *, max: Any = None) -> None:
    """Raises RuntimeError for a negative size, or one above `max`."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _assert(condition: Any, message: str) -> None:
    """Raises AssertionError unless the condition is true."""
    if not condition:
        raise AssertionError(message)


def _assert_async(x: Tensor, assert_msg: str | None = None) -> None:
    """Raises RuntimeError where a tensor of one element is 0."""
    if not bool(x):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _shape_as_tensor(x: Tensor) -> Tensor:
    """A tensor's shape, int64 (ndim,)."""
    return tensor(list(x.shape))
