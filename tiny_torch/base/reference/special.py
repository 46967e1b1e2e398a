"""Formulas of special functions and of bits, for formulas.py: short rather than fast."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np


def each(function: Callable[..., float]) -> Callable[..., Any]:
    """A function of numbers, on arrays of them."""
    return np.vectorize(lambda *row: function(*map(float, row)), otypes=[float])


def log_gamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


def inverse_erf(x: float) -> float:
    """The normal distribution's quantile, made better by one step of Newton's method."""
    if not abs(x) < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    y = NormalDist().inv_cdf((1 + x) / 2) / math.sqrt(2) if abs(x) > 1e-8 else x / 1.13
    miss = math.erf(y) - x if abs(x) < 0.5 else math.copysign(1 - abs(x) - math.erfc(abs(y)), x)
    return y - miss * math.sqrt(math.pi) / 2 * math.exp(y * y)


def digamma(x: float) -> float:
    """By digamma(x) = digamma(x + 1) - 1 / x up to 20, then the asymptotic series."""
    if x == 0:
        return -math.copysign(math.inf, x)
    if x < 0:
        if x == math.floor(x):
            return math.nan
        return digamma(1 - x) - math.pi / math.tan(math.pi * (x - round(x)))
    result = 0.0
    while x < 20:
        result -= 1 / x
        x += 1
    series = sum(b / x ** (2 * k) / (2 * k) for k, b in enumerate(BERNOULLI, 1))
    return result + math.log(x) - 0.5 / x - series if x < math.inf else x


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def hurwitz_zeta(s: int, q: float) -> float:
    """The sum of 1 / (q + k)^s over k >= 0: terms up to 20, then the Euler-Maclaurin formula."""
    result = 0.0
    while q < 20:
        if q == 0:
            return math.inf
        result += q**-s
        q += 1
    result += q ** (1 - s) / (s - 1) + q**-s / 2
    for k, b in enumerate(BERNOULLI, 1):
        rising = math.prod(range(s, s + 2 * k - 1))
        result += b / math.factorial(2 * k) * rising * q ** (1 - s - 2 * k)
    return result


def polygamma(x: float, n: float) -> float:
    if x != x:
        return x
    return (-1) ** (int(n) + 1) * math.factorial(int(n)) * hurwitz_zeta(int(n) + 1, x)


# I0(x) and I1(x) are means of cosh(x cos t) and of sinh(x cos t) cos t over a period, which equal
# steps give to all digits.
COSINES = np.cos((np.arange(64) + 0.5) * (math.pi / 128))


def i0(x: Any) -> Any:
    return np.cosh(np.multiply.outer(x, COSINES)).mean(-1)


def i1(x: Any) -> Any:
    return (np.sinh(np.multiply.outer(x, COSINES)) * COSINES).mean(-1)


def sinc(x: Any) -> Any:
    angle = x * x.dtype.type(math.pi)
    return np.where(x == 0, 1, np.sin(angle) / angle)


def logit(x: Any, eps: Any) -> Any:
    inside = np.where(x < eps, eps, np.where(x > 1 - eps, 1 - eps, x))
    z = np.where(eps < 0, x, inside)
    return np.log(z / (1 - z))


def xlogy(x: Any, y: Any) -> Any:
    return np.where((x == 0) & (y == y), 0, x * np.log(y))


def heaviside(x: Any, values: Any) -> Any:
    return np.where(x == 0, values, x > 0)


def scalbn(x: Any, y: Any) -> Any:
    return np.ldexp(x, np.clip(np.floor(y), -3000, 3000).astype(int))


def nextafter(x: Any, y: Any, largest: Any, smallest: Any) -> Any:
    """The neighbour of x towards y, among the numbers of a dtype with these limits."""
    size, inward = np.abs(x), (y > x) != (x > 0)
    mantissa, exponent = np.frexp(size)
    # eps is 2 (1 - mantissa(largest)). Below a power of two the neighbours are half as far apart.
    half_eps = 1 - np.frexp(largest)[0]
    gap = np.maximum(np.ldexp(half_eps, exponent - (inward & (mantissa == 0.5))), smallest)
    moved = np.where(np.isinf(x), largest, np.where(inward, size - gap, size + gap))
    moved = np.copysign(np.where(x == 0, smallest, moved), np.where(x == 0, y, x))
    return np.where(np.isnan(x) | np.isnan(y), x + y, np.where(x == y, y, moved))


def left_shift(x: Any, y: Any) -> Any:
    """No bit is left where the count is the width or more, or negative."""
    inside = (y >= 0) & (y < 8 * x.itemsize)
    return np.where(inside, x << np.where(inside, y, 0), 0)


def right_shift(x: Any, y: Any) -> Any:
    """Only the sign is left where the count is the width or more, or negative."""
    inside = (y >= 0) & (y < 8 * x.itemsize)
    return np.where(inside, x >> np.where(inside, y, 0), np.where(x < 0, -1, 0))


def is_float(x: Any) -> bool:
    return x.dtype.kind == "f"


def never(x: Any) -> Any:
    return np.zeros(x.shape, bool)


def of_floats(test: Callable) -> Callable:
    """A test that no integer meets."""
    return lambda x: test(x) if is_float(x) else never(x)


def signbit(x: Any) -> Any:
    return np.signbit(x) if is_float(x) else x.astype(int) < 0
