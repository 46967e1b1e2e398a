"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import broadcast_all, lazy_property, same_as
from tiny_torch.tensor import Tensor

# Polynomials of the modified Bessel functions I0 and I1. Up to 3.75, of (x / 3.75)^2, which make
# I0 and I1 / x; above, of 3.75 / x, which make I exp(-x) sqrt(x). M. Abramowitz and I. Stegun,
# Handbook of Mathematical Functions, 9.8.1 to 9.8.4.
BELOW = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
)
ABOVE = (
    (0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537,
     -0.01647633, 0.00392377),
    (0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312,
     0.01787654, -0.00420059),
)  # fmt: skip


def _evaluate(coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    result: Any = 0.0
    for coefficient in reversed(coefficients):
        result = coefficient + x * result
    return result


def _log_modified_bessel_fn(x: Tensor, order: int = 0) -> Tensor:
    """log I(x) of order 0 or 1, for x > 0."""
    below = _evaluate(BELOW[order], (x / 3.75).pow(2))
    if order == 1:
        below = x * below
    above = x - 0.5 * x.log() + _evaluate(ABOVE[order], 3.75 / x).log()
    return torch.where(x < 3.75, below.log(), above)


class VonMises(Distribution):
    """Angles around `loc`, the more concentrated the larger `concentration` is.

    `loc` and values are taken modulo 2 pi; draws lie within [-pi, pi).

    https://pytorch.org/docs/stable/distributions.html#vonmises

    >>> import tiny_torch as torch
    >>> torch.distributions.VonMises(torch.tensor(0.0), torch.tensor(1.0)).variance
    tensor(0.5536)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    _parameters = ("loc", "concentration")

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    # Of directions, all three.
    mean = same_as("loc")
    mode = same_as("loc")

    @lazy_property
    def variance(self) -> Tensor:
        log_i0 = _log_modified_bessel_fn(self.concentration, order=0)
        return 1 - (_log_modified_bessel_fn(self.concentration, order=1) - log_i0).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        height = self.concentration * torch.cos(value - self.loc)
        return height - math.log(2 * math.pi) - _log_modified_bessel_fn(self.concentration)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """In float64: in float32 all proposals for a concentration below 1e-4 are rejected."""
        with torch.no_grad():
            angle = self._draw_centred(self._extended_shape(sample_shape))
            angle = (angle + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
            return angle.to(self.loc.dtype)

    def _draw_centred(self, shape: Any) -> Tensor:
        """Draws around 0, by rejection from a wrapped Cauchy distribution.

        D. Best and N. Fisher, Efficient simulation of the von Mises distribution, 1979.
        """
        kappa = self.concentration.double().clamp_min(1e-300)  # 1 / kappa is a number
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        r = torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
        # So concentrated that no proposal is accepted: all draws are at the centre, or NaN.
        angle = torch.where(kappa.isnan(), math.nan, torch.zeros_like(kappa)).expand(shape)
        done = ~(r > 1).expand(shape)
        while not done.all():
            u = torch.rand((3, *shape), dtype=torch.float64, device=kappa.device)
            z = torch.cos(math.pi * u[0])
            cosine = (1 + r * z) / (r + z)
            c = kappa * (r - cosine)
            accepted = (c * (2 - c) - u[1] > 0) | ((c / u[1]).log() + 1 - c >= 0)
            angle = torch.where(accepted, (u[2] - 0.5).sign() * cosine.acos(), angle)
            done = done | accepted
        return angle
