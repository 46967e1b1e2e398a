"""From a constraint to a transform whose codomain it is.

https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.constraint_registry

>>> import tiny_torch as torch
>>> from tiny_torch.distributions import constraints, transform_to
>>> transform_to(constraints.positive)(torch.zeros(1))
tensor([1.])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch.distributions import constraints, transforms
from tiny_torch.tensor import Tensor


class ConstraintRegistry:
    """A table from constraint classes to functions that make a transform of such a constraint."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Enters a factory for a class of constraints, or for that of one constraint."""
        if factory is None:  # as a decorator
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform for a constraint; NotImplementedError if there is none."""
        if type(constraint) not in self._registry:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return self._registry[type(constraint)](constraint)


biject_to = ConstraintRegistry()  # bijective transforms only
transform_to = ConstraintRegistry()


def _interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if not isinstance(low, Tensor) and not isinstance(high, Tensor) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    affine = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), affine])


def _beyond(bound: str, scale: int) -> Callable[[Any], Any]:
    """exp(x), counted from a bound upwards or downwards."""

    def factory(constraint: Any) -> Any:
        affine = transforms.AffineTransform(getattr(constraint, bound), scale)
        return transforms.ComposeTransform([transforms.ExpTransform(), affine])

    return factory


for registry in (biject_to, transform_to):

    def _independent(c: Any, registry: Any = registry) -> Any:
        base = registry(c.base_constraint)
        return transforms.IndependentTransform(base, c.reinterpreted_batch_ndims)

    def _cat(c: Any, registry: Any = registry) -> Any:
        return transforms.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths)

    def _stack(c: Any, registry: Any = registry) -> Any:
        return transforms.StackTransform([registry(part) for part in c.cseq], c.dim)

    registry.register(constraints.real, lambda c: transforms.identity_transform)
    registry.register(constraints.independent, _independent)
    for kind in (constraints.greater_than, constraints.greater_than_eq):
        registry.register(kind, _beyond("lower_bound", 1))
    registry.register(constraints.less_than, _beyond("upper_bound", -1))
    registry.register(constraints.interval, _interval)
    registry.register(constraints.half_open_interval, _interval)
    registry.register(constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform())
    registry.register(constraints.cat, _cat)
    registry.register(constraints.stack, _stack)

biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
for matrix in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(matrix, lambda c: transforms.PositiveDefiniteTransform())
