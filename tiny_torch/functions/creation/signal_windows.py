"""torch.signal.windows: windows of signals, which are symmetric unless `sym` is False.

With `sym=False` a window is the symmetric one of one more sample, without its last: what a Fourier
transform takes. https://pytorch.org/docs/stable/signal.html
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.base import layouts
from tiny_torch.base.arguments import as_int
from tiny_torch.base.docstrings import give_name
from tiny_torch.functions.creation.fill import as_dtype, ones
from tiny_torch.functions.creation.ranges import linspace
from tiny_torch.tensor import Tensor

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip


def window_options(
    name: str, length: Any, dtype: Any, layout: Any, device: Any, requires_grad: bool
) -> tuple[int, dict[str, Any]]:
    """The number of samples, and how they are stored.

    The number may be a 0-d tensor, and 0 and 1 of any type, as in PyTorch.
    """
    if isinstance(length, Tensor) and length.ndim == 0:
        length = length.item()
    if isinstance(length, (bool, float)) and length in (0, 1):
        length = int(length)
    count = as_int(name, "M", 1, length)
    if count < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={count}")
    if layout is not layouts.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    dtype = as_dtype(name, dtype) or _core.get_default_dtype()
    if dtype not in (_core.float32, _core.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return count, {"dtype": dtype, "device": device, "requires_grad": requires_grad}


def evenly(start: float, step: float, count: int, options: dict[str, Any]) -> Tensor:
    """(count,): start * step, (start + 1) * step, ..."""
    return linspace(start * step, (start + count - 1) * step, count, **options)


def sum_of_cosines(coefficients: Any, count: int, sym: bool, options: dict[str, Any]) -> Tensor:
    """(count,): a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) - ..."""
    if count < 2:
        return ones(count, **options)
    angle = evenly(0, 2 * math.pi / (count - 1 if sym else count), count, options)
    terms = [(-1) ** i * a * (i * angle).cos() for i, a in enumerate(coefficients)]
    return sum(terms[1:], terms[0])


def of_cosines(name: str, coefficients: tuple[float, ...], doc: str, in_errors: str = "") -> Any:
    """A window that is a sum of cosines with these coefficients."""

    @give_name(name, doc)
    def make(
        M: int,
        *,
        sym: bool = True,
        dtype: Any = None,
        layout: Any = layouts.strided,
        device: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:
        speaker = in_errors or "general_cosine"
        count, options = window_options(speaker, M, dtype, layout, device, requires_grad)
        return sum_of_cosines(coefficients, count, sym, options)

    return make


hann: Callable[..., Tensor] = of_cosines(
    "hann",
    (0.5, 0.5),
    """(M,), float32 or float64: a raised cosine, 0.5 - 0.5 cos(2 pi n / N), which begins at 0.

    ValueError for a negative M and another dtype or layout.
    https://pytorch.org/docs/stable/generated/torch.signal.windows.hann.html

    >>> import tiny_torch as torch
    >>> torch.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """,
)
hamming: Callable[..., Tensor] = of_cosines(
    "hamming",
    (0.54, 1 - 0.54),
    """(M,), float32 or float64: 0.54 - 0.46 cos(2 pi n / N).

    ValueError for a negative M and another dtype or layout.
    https://pytorch.org/docs/stable/generated/torch.signal.windows.hamming.html

    >>> import tiny_torch as torch
    >>> torch.signal.windows.hamming(5)
    tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """,
)
blackman: Callable[..., Tensor] = of_cosines(
    "blackman",
    (0.42, 0.5, 0.08),
    """(M,), float32 or float64: 0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N).

    ValueError for a negative M and another dtype or layout.
    https://pytorch.org/docs/stable/generated/torch.signal.windows.blackman.html

    >>> import tiny_torch as torch
    >>> torch.signal.windows.blackman(5)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """,
    "blackman",
)
nuttall: Callable[..., Tensor] = of_cosines(
    "nuttall",
    (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    """(M,), float32 or float64: four cosines, whose sum has low side lobes.

    ValueError for a negative M and another dtype or layout. Source: Nuttall, "Some windows with
    very good sidelobe behavior", 1981; PyTorch, torch.signal.windows.nuttall.

    >>> import tiny_torch as torch
    >>> torch.signal.windows.nuttall(5)[1:4]
    tensor([0.2270, 1.0000, 0.2270])
    """,
)


def general_cosine(
    M: int,
    *,
    a: Any,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """(M,), float32 or float64: a[0] - a[1] cos(2 pi n / N) + a[2] cos(4 pi n / N) - ...

    TypeError unless `a` is a list or tuple; ValueError for an empty one, a negative M and another
    dtype or layout. https://pytorch.org/docs/stable/generated/torch.signal.windows.general_cosine.html

    >>> import tiny_torch as torch
    >>> torch.signal.windows.general_cosine(5, a=[0.4, 0.6])
    tensor([-0.2000,  0.4000,  1.0000,  0.4000, -0.2000])
    """
    count, options = window_options("general_cosine", M, dtype, layout, device, requires_grad)
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return sum_of_cosines(a, count, sym, options)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """(M,), float32 or float64: alpha - (1 - alpha) cos(2 pi n / N).

    ValueError for a negative M and another dtype or layout.
    https://pytorch.org/docs/stable/generated/torch.signal.windows.general_hamming.html

    >>> import tiny_torch as torch
    >>> torch.signal.windows.general_hamming(5, alpha=0.7)
    tensor([0.4000, 0.7000, 1.0000, 0.7000, 0.4000])
    """
    count, options = window_options("general_cosine", M, dtype, layout, device, requires_grad)
    return sum_of_cosines((alpha, 1.0 - alpha), count, sym, options)


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """(M,), float32 or float64: a triangle, 1 - |2 n / N - 1|.

    ValueError for a negative M and another dtype or layout.
    https://pytorch.org/docs/stable/generated/torch.signal.windows.bartlett.html

    >>> import tiny_torch as torch
    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    count, options = window_options("bartlett", M, dtype, layout, device, requires_grad)
    if count < 2:
        return ones(count, **options)
    last = 1 if sym else -1 + 2 * (count - 1) / count
    return 1 - linspace(-1, last, count, **options).abs()


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """(M,), float32 or float64: sin(pi (n + 0.5) / M), half a wave.

    ValueError for a negative M and another dtype or layout.
    https://pytorch.org/docs/stable/generated/torch.signal.windows.cosine.html

    >>> import tiny_torch as torch
    >>> torch.signal.windows.cosine(5)
    tensor([0.3090, 0.8090, 1.0000, 0.8090, 0.3090])
    """
    count, options = window_options("cosine", M, dtype, layout, device, requires_grad)
    if count == 0:
        return ones(0, **options)
    step = math.pi / (count if sym or count == 1 else count + 1)
    return evenly(0.5, step, count, options).sin()


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """(M,), float32 or float64: exp(-|n - center| / tau), about the middle without `center`.

    ValueError for a negative M, another dtype or layout, tau <= 0, and a center if `sym`.
    https://pytorch.org/docs/stable/generated/torch.signal.windows.exponential.html

    >>> import tiny_torch as torch
    >>> torch.signal.windows.exponential(5)
    tensor([0.1353, 0.3679, 1.0000, 0.3679, 0.1353])
    """
    count, options = window_options("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if count == 0:
        return ones(0, **options)
    middle = (count - 1 if sym or count == 1 else count) / 2 if center is None else center
    return (-evenly(-middle, 1 / tau, count, options).abs()).exp()


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """(M,), float32 or float64: exp(-((n - middle) / std)^2 / 2).

    ValueError for a negative M, another dtype or layout, and std <= 0.
    https://pytorch.org/docs/stable/generated/torch.signal.windows.gaussian.html

    >>> import tiny_torch as torch
    >>> torch.signal.windows.gaussian(5, std=1.5)
    tensor([0.4111, 0.8007, 1.0000, 0.8007, 0.4111])
    """
    count, options = window_options("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if count == 0:
        return ones(0, **options)
    middle = (count - 1 if sym or count == 1 else count) / 2
    step = 1 / (std * math.sqrt(2))
    return (-(evenly(-middle, step, count, options) ** 2)).exp()


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """(M,), float32 or float64: I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta); I0 is Bessel's.

    ValueError for a negative M or beta, and another dtype or layout.
    https://pytorch.org/docs/stable/generated/torch.signal.windows.kaiser.html

    >>> import tiny_torch as torch
    >>> torch.signal.windows.kaiser(5, beta=8.0)
    tensor([0.0023, 0.3690, 1.0000, 0.3690, 0.0023])
    """
    count, options = window_options("kaiser", M, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if count < 2:
        return ones(count, **options)
    last = beta if sym else beta * (1 - 2 / count)
    offset = linspace(-beta, last, count, **options)
    width = (beta * beta - offset**2).clamp_min(0).sqrt()
    return width.i0() / offset.new_full((), beta).i0()
