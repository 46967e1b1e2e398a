"""Windows of signals: weights that fade a frame of samples in and out.

A periodic window is the symmetric one of one more sample, without its last.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.base.arguments import as_float, as_int
from tiny_torch.base.docstrings import give_name
from tiny_torch.base.dtypes import HALVES
from tiny_torch.functions.creation.fill import as_dtype, check_options, finish, ones
from tiny_torch.functions.creation.ranges import arange
from tiny_torch.functions.public import function
from tiny_torch.tensor import Tensor


def window(name: str, shape: Any, length: Any, periodic: bool, options: tuple) -> Tensor:
    """`length` values of a window; shape(samples, last) gives those of 0, ..., last."""
    count = as_int(name, "window_length", 1, length)
    dtype, layout, device, pin_memory, requires_grad = options
    check_options(name, layout, pin_memory)
    dtype = as_dtype(name, dtype) or _core.get_default_dtype()
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype={dtype.cpp_name}, "
            f"device={device or 'cpu'}, layout=Strided (default), requires_grad=false (default), "
            "pinned_memory=false, memory_format=(nullopt))"
        )
    if count < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={count}")
    if count <= 1:
        values = ones(count, dtype=dtype, device=device)
    else:
        last = count if periodic else count - 1
        values = shape(arange(last + 1, dtype=dtype, device=device), last)[:count]
    return finish(values.array, requires_grad, pin_memory, name)


def cosine_sum(alpha: float, beta: float) -> Any:
    return lambda samples, last: alpha - beta * (samples * (2 * math.pi / last)).cos()


def check_beside(name: str, periodic: bool | None, *, given: bool) -> bool:
    """PyTorch has no overload with a coefficient and without `periodic`."""
    if periodic is None and given:
        raise TypeError(
            f"{name}() received an invalid combination of arguments: coefficients are given, but "
            "not `periodic` (bool)"
        )
    return periodic is not False


def by(shape: Any, name: str, doc: str) -> Callable[..., Tensor]:
    """A window without coefficients, from its shape: shape(samples, last)."""

    @function
    @give_name(name, doc)
    def make(
        window_length: int,
        periodic: bool = True,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        options = (dtype, layout, device, pin_memory, requires_grad)
        return window(name, shape, window_length, periodic, options)

    return make


def rise_and_fall(samples: Tensor, last: int) -> Tensor:
    rise = samples * (2 / last)
    return rise.minimum(2 - rise)


def two_cosines(samples: Tensor, last: int) -> Tensor:
    angle = samples * (math.pi / last)
    return (angle * 4).cos() * 0.08 - (angle * 2).cos() * 0.5 + 0.42


hann_window = by(
    cosine_sum(0.5, 0.5),
    "hann_window",
    """(window_length,): a raised cosine, 0.5 - 0.5 cos(2 pi n / N), which begins at 0.

    RuntimeError for a negative length and for a dtype that is not floating.
    https://pytorch.org/docs/stable/generated/torch.hann_window.html

    >>> import tiny_torch as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """,
)


@function
def hamming_window(
    window_length: int,
    periodic: bool | None = None,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """(window_length,): alpha - beta cos(2 pi n / N), periodic unless `periodic` is False.

    RuntimeError for a negative length and for a dtype that is not floating; TypeError for alpha or
    beta without `periodic`.
    https://pytorch.org/docs/stable/generated/torch.hamming_window.html

    >>> import tiny_torch as torch
    >>> torch.hamming_window(4, False)
    tensor([0.0800, 0.7700, 0.7700, 0.0800])
    """
    name = "hamming_window"
    periodic = check_beside(name, periodic, given=(alpha, beta) != (0.54, 0.46))
    shape = cosine_sum(as_float(name, "alpha", 3, alpha), as_float(name, "beta", 4, beta))
    options = (dtype, layout, device, pin_memory, requires_grad)
    return window(name, shape, window_length, periodic, options)


bartlett_window = by(
    rise_and_fall,
    "bartlett_window",
    """(window_length,): a triangle, 1 - |2 n / N - 1|.

    RuntimeError for a negative length and for a dtype that is not floating.
    https://pytorch.org/docs/stable/generated/torch.bartlett_window.html

    >>> import tiny_torch as torch
    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """,
)
blackman_window = by(
    two_cosines,
    "blackman_window",
    """(window_length,): 0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N).

    RuntimeError for a negative length and for a dtype that is not floating.
    https://pytorch.org/docs/stable/generated/torch.blackman_window.html

    >>> import tiny_torch as torch
    >>> torch.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """,
)


@function
def kaiser_window(
    window_length: int,
    periodic: bool | None = None,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """(window_length,): I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta), I0 being a Bessel function.

    RuntimeError for a negative length and for a dtype that is not floating; TypeError for beta
    without `periodic`. https://pytorch.org/docs/stable/generated/torch.kaiser_window.html

    >>> import tiny_torch as torch
    >>> torch.kaiser_window(5, False, 8.0)
    tensor([0.0023, 0.3690, 1.0000, 0.3690, 0.0023])
    """
    periodic = check_beside("kaiser_window", periodic, given=beta != 12.0)
    beta = as_float("kaiser_window", "beta", 3, beta)

    def shape(samples: Tensor, last: int) -> Tensor:
        x = samples.float() if samples.dtype in HALVES else samples
        width = (1 - (x * (2 / last) - 1).square()).clamp_min(0).sqrt()
        return ((width * beta).i0() / x.new_full((), beta).i0()).to(samples.dtype)

    options = (dtype, layout, device, pin_memory, requires_grad)
    return window("kaiser_window", shape, window_length, periodic, options)
