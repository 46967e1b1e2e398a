"""Transforms of the parts of a tensor, each by its own. Made public by transforms.py."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions import constraints
from tiny_torch.distributions._transform import Transform
from tiny_torch.distributions.utils import sum_rightmost
from tiny_torch.tensor import Tensor


class _Parts(Transform):
    """Several transforms, each of a part of a dim."""

    def __init__(self, tseq: Sequence[Any], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _join(self, values: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _check(self, value: Tensor, length: int) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for tensor with {value.dim()} dimensions"
            )
        if value.size(self.dim) != length:
            raise AssertionError(f"size {value.size(self.dim)} of dim {self.dim} must be {length}")

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(x), strict=True)
        return self._join([t(part) for t, part in parts])

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(y), strict=True)
        return self._join([t.inv(part) for t, part in parts])

    def _jacobians(self, x: Tensor, y: Tensor) -> list[Tensor]:
        parts = zip(self.transforms, self._split(x), self._split(y), strict=True)
        return [t.log_abs_det_jacobian(start, end) for t, start, end in parts]


class CatTransform(_Parts):
    """Transforms of the parts of a dim, of `lengths`, joined as by torch.cat."""

    def __init__(
        self,
        tseq: Sequence[Any],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )

    def _arguments(self) -> tuple:
        return self.transforms, self.dim, self.lengths

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        return sum(self.lengths)

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        self._check(value, self.length)
        return value.split(self.lengths, self.dim)

    def _join(self, values: list[Tensor]) -> Tensor:
        return torch.cat(values, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        event_dim = self.event_dim
        terms = [
            sum_rightmost(term, event_dim - t.event_dim)
            for t, term in zip(self.transforms, self._jacobians(x, y), strict=True)
        ]
        dim = (self.dim if self.dim < 0 else self.dim - x.dim()) + event_dim
        # Within an event the parts' terms add up.
        return torch.cat(terms, dim=dim) if dim < 0 else functools.reduce(operator.add, terms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Parts):
    """Transforms of the slices of a dim, joined as by torch.stack."""

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def _arguments(self) -> tuple:
        return self.transforms, self.dim

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        self._check(value, len(self.transforms))
        return value.unbind(self.dim)

    def _join(self, values: list[Tensor]) -> Tensor:
        return torch.stack(values, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.stack(self._jacobians(x, y), dim=self.dim)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
