"""Changes a list of tensors by one call of C++, where all of them are its arrays."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.tensor import Tensor


def scale_in_one_call(
    grads: list[Any], factor: Tensor, found: Tensor | None = None, foreach: bool | None = None
) -> list[Any]:
    """Multiply gradients by a 0-d tensor of their device, without waiting for it.

    `found`, a float32, becomes 1 where one is inf or NaN. Returns those left to the caller.
    """
    if (
        not grads
        or grads[0].device != factor.device
        or type(factor.array) is not _core.NDArray
        or factor.dtype not in (_core.float32, _core.float64)
    ):
        return grads
    flag = None if found is None else found.array
    return in_one_call(_core.foreach_scale, grads, foreach, factor.array, flag)


def in_one_call(call: Any, grads: list[Any], foreach: bool | None, *numbers: Any) -> list[Any]:
    """Change the gradients by one C++ call; returns those that it leaves to the caller."""
    if foreach is False or any(type(grad.array) is not _core.NDArray for grad in grads):
        return grads
    return [grads[i] for i in call([grad.array for grad in grads], *numbers)]
