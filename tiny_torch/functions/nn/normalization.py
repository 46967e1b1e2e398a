"""local_response_norm and normalize, and what all norms check."""

from __future__ import annotations

from typing import Any

from tiny_torch.functions.common import rounded_once
from tiny_torch.functions.elementwise.arithmetic import div
from tiny_torch.functions.nn.padding import pad
from tiny_torch.functions.nn.pool import avg_pool
from tiny_torch.tensor import Tensor


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """x / (k + alpha mean(x^2 over `size` neighbouring channels)) ** beta; input (N, C, *).

    Raises ValueError for fewer than 3 dims, RuntimeError for a size below 1.
    Source: PyTorch, nn.functional.local_response_norm; Krizhevsky et al. 2012.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.local_response_norm(torch.ones(1, 2, 1), 2, alpha=2.0, beta=1.0)
    tensor([[[0.5000],
             [0.3333]]])
    """
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)"
        )
    if input.numel() == 0:
        return input
    if size < 1:
        raise RuntimeError(f"kernel size should be greater than zero, but got kH: {size} kW: 1")
    return _over_neighbours(input, size, alpha, beta, k)


@rounded_once
def _over_neighbours(input: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    channels = input.shape[1]
    before, after = min(size // 2, channels), min((size - 1) // 2, channels)  # the rest is zeros
    squares = (input * input).reshape((len(input), 1, channels, -1))
    squares = pad(squares, (0, 0, before, after))
    mean = avg_pool(squares, (before + 1 + after, 1), stride=1, divisor_override=size).reshape(
        input.shape
    )
    return input / (mean * alpha + k) ** beta


def normalize(
    input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """x / max(norm_p(x), eps), the norm taken along `dim`. Any shape, floating dtypes.

    Raises IndexError for a dim out of range.
    Source: PyTorch, nn.functional.normalize.

    >>> import tiny_torch as torch
    >>> torch.nn.functional.normalize(torch.tensor([3.0, 4.0]), dim=0)
    tensor([0.6000, 0.8000])
    """
    length = input.norm(p, dim, keepdim=True).clamp_min(eps)
    return input / length if out is None else div(input, length, out=out)
