"""TransformedDistribution: what becomes of a distribution through transforms."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.base.size import Size
from tiny_torch.distributions import constraints
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.independent import Independent
from tiny_torch.distributions.transforms import ComposeTransform, Transform
from tiny_torch.distributions.utils import same_as, sum_rightmost
from tiny_torch.tensor import Tensor


class TransformedDistribution(Distribution):
    """The distribution of y = f(x), x of `base_distribution`, f the transforms one after another.

    log p(y) = log p(x) - log |dy/dx|.

    https://pytorch.org/docs/stable/distributions.html#transformeddistribution

    >>> from tiny_torch import distributions as d
    >>> transforms = [d.transforms.SigmoidTransform().inv, d.transforms.AffineTransform(1.0, 2.0)]
    >>> logistic = d.TransformedDistribution(d.Uniform(0.0, 1.0), transforms)
    >>> logistic.sample((3,)).shape
    torch.Size([3])
    """

    arg_constraints: Any = {}
    _parameters: tuple[str, ...] = ()  # beside those of the base

    def __init__(
        self,
        base_distribution: Any,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        else:
            self.transforms = transforms

        transform = ComposeTransform(self.transforms)
        domain_dim, codomain_dim = transform.domain.event_dim, transform.codomain.event_dim
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dim = len(base_distribution.event_shape)
        if len(base_shape) < domain_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {domain_dim}, but got "
                f"{base_shape}."
            )
        # Parameters of transforms may broadcast the base; its events are at least theirs.
        shape = Size(transform.forward_shape(base_shape))
        needed = transform.inverse_shape(shape)
        if base_shape != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - base_dim])
        if domain_dim > base_dim:
            base_distribution = Independent(base_distribution, domain_dim - base_dim)
        self.base_dist = base_distribution

        cut = len(shape) - max(codomain_dim, base_dim + codomain_dim - domain_dim)
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._begin_expand(Size(batch_shape), _instance)
        shape = Size(batch_shape) + self.event_shape
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        return self._finish_expand(new, batch_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self.event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    has_rsample = same_as("base_dist.has_rsample")

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        event_dim = len(self.event_shape)
        log_prob: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            log_prob = log_prob - sum_rightmost(
                transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim
            )
            y = x
        base = self.base_dist.log_prob(y)
        return log_prob + sum_rightmost(base, event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """Flips probabilities where the transforms decrease."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))
