"""Independent: some dims of the batch as dims of the event."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from tiny_torch.base.size import Size
from tiny_torch.distributions import constraints
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.utils import same_as, sum_rightmost
from tiny_torch.tensor import Tensor

D = TypeVar("D", bound=Distribution)


class Independent(Distribution, Generic[D]):
    """A distribution whose last `reinterpreted_batch_ndims` dims of the batch make one event.

    log_prob sums over them. https://pytorch.org/docs/stable/distributions.html#independent

    >>> from tiny_torch import distributions, zeros, ones
    >>> rows = distributions.Independent(distributions.Normal(zeros(3, 2), ones(3, 2)), 1)
    >>> rows.batch_shape, rows.event_shape
    (torch.Size([3]), torch.Size([2]))
    """

    arg_constraints: Any = {}

    def __init__(
        self,
        base_distribution: Any,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        ndims = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > ndims:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {ndims}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        cut = ndims - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Independent, _instance)
        own_shape = self.event_shape[: self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand(Size(batch_shape) + own_shape)
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        return self._finish_expand(new, batch_shape)

    has_rsample = same_as("base_dist.has_rsample")

    @property
    def has_enumerate_support(self) -> bool:
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        support = self.base_dist.support
        if self.reinterpreted_batch_ndims:
            support = constraints.independent(support, self.reinterpreted_batch_ndims)
        return support

    mean = same_as("base_dist.mean")
    mode = same_as("base_dist.mode")
    variance = same_as("base_dist.variance")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
