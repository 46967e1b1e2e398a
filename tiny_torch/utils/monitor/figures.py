"""What a watch notes of a tensor: a few numbers, by kernels on arrays.

Arrays meet no mode: nothing here is recorded for backward, cast or seen by a profile.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tiny_torch as torch

EXTREME = 1e12  # squares of what is larger, or smaller than its inverse, may leave float32's range


class Figures(NamedTuple):
    """Counts of a tensor's elements, and moments of the finite ones."""

    elements: int
    non_finite: int = 0
    zeros: int = 0
    mean: float = math.nan
    spread: float = math.nan  # the norm of the distances from the mean
    low: float = math.nan
    high: float = math.nan

    @property
    def finite(self) -> int:
        return self.elements - self.non_finite

    @property
    def norm(self) -> float:
        return math.hypot(self.spread, math.sqrt(self.finite) * self.mean)

    @property
    def std(self) -> float:
        """With a divisor of n: that of a single element is 0."""
        return self.spread / math.sqrt(self.finite) if self.finite else math.nan

    @property
    def share_of_zeros(self) -> float:
        return self.zeros / self.elements if self.elements else math.nan

    def merge(self, other: Figures) -> Figures:
        """Those of both tensors' elements together (Chan, Golub and LeVeque 1979)."""
        elements, non_finite = self.elements + other.elements, self.non_finite + other.non_finite
        if not self.finite or not other.finite:
            some = self if self.finite else other
            return some._replace(elements=elements, non_finite=non_finite)
        share = other.finite / (self.finite + other.finite)
        apart = other.mean - self.mean
        return Figures(
            elements,
            non_finite,
            self.zeros + other.zeros,
            self.mean + share * apart,
            math.hypot(self.spread, other.spread, math.sqrt(share * self.finite) * apart),
            min(self.low, other.low),
            max(self.high, other.high),
        )


def figures_of(array: Any) -> Figures:
    """The figures of an array of floats."""
    elements = math.prod(array.shape)
    if not elements:
        return Figures(0)
    array = computed_in(array)
    low, high = ends(array)
    non_finite = 0
    if not (math.isfinite(low) and math.isfinite(high)):
        array = array.masked_select(array.isfinite())
        non_finite = elements - math.prod(array.shape)
        if non_finite == elements:
            return Figures(elements, non_finite)
        low, high = ends(array)
    zeros = total(array.eq(0)) if low <= 0 <= high else 0
    scale = scale_of(low, high)
    if scale != 1.0:
        array = array.div(scale)
    mean = array.mean(None, False).item()
    spread = math.sqrt(array.sub(mean).square_sum(None, False).item())
    return Figures(elements, non_finite, zeros, mean * scale, spread * scale, low, high)


def norm_of(array: Any) -> float:
    """The square root of the sum of squares; NaN where an element is not finite."""
    if not math.prod(array.shape):
        return 0.0
    array = computed_in(array)
    low, high = ends(array)
    if not (math.isfinite(low) and math.isfinite(high)):
        return math.nan
    scale = scale_of(low, high)
    if scale != 1.0:
        array = array.div(scale)
    return scale * math.sqrt(array.square_sum(None, False).item())


def computed_in(array: Any) -> Any:
    """Halves as float32."""
    return array if array.dtype.itemsize >= 4 else array.astype(torch.float32)


def ends(array: Any) -> tuple[float, float]:
    """The smallest and the largest element; NaN if one is."""
    return array.amin(None, False).item(), array.amax(None, False).item()


def total(mask: Any) -> int:
    return mask.sum(None, False).item()


def scale_of(low: float, high: float) -> float:
    """What to divide by, so that squares neither overflow nor vanish."""
    largest = max(-low, high)
    return 1.0 if largest == 0 or 1 / EXTREME < largest < EXTREME else largest
