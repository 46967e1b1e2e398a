"""Distribution: what all of them have in common."""

from __future__ import annotations

import warnings
from typing import Any

import tiny_torch as torch
from tiny_torch.base.size import Size
from tiny_torch.distributions import constraints
from tiny_torch.distributions.utils import lazy_property
from tiny_torch.tensor import Tensor

NO_SHAPE = Size()


class Distribution:
    """A batch of independent distributions, each over events of one shape.

    A sample has the shape (*sample_shape, *batch_shape, *event_shape).

    https://pytorch.org/docs/stable/distributions.html#distribution
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    # The tensors of shape (*batch_shape, ...) that are all of a subclass: then `expand` works.
    _parameters: tuple[str, ...]

    arg_constraints: Any
    support: Any
    mean: Any
    mode: Any
    variance: Any

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether arguments are checked where a constructor is not told."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Any = NO_SHAPE,
        event_shape: Any = NO_SHAPE,
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        try:
            conditions = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints "
                "= {}` or initialize the distribution with `validate_args=False` to turn off "
                "validation.",
                stacklevel=3,
            )
            return
        for name, constraint in conditions.items():
            lazy = isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or (lazy and name not in self.__dict__):
                continue  # it cannot be checked, or follows from what is
            value = getattr(self, name)
            if not constraints.all_true(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}"
                )

    @property
    def batch_shape(self) -> Size:
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        return self._event_shape

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution in a larger batch: a view of the parameters."""
        batch_shape = Size(batch_shape)
        return self._finish_expand(self._begin_expand(batch_shape, _instance), batch_shape)

    def _begin_expand(self, batch_shape: Size, _instance: Any) -> Any:
        """An instance with the parameters of the class that names them."""
        cls: Any = next((c for c in type(self).__mro__ if "_parameters" in c.__dict__), None)
        if cls is None:
            raise NotImplementedError
        new = self._get_checked_instance(cls, _instance)
        for name in cls._parameters:
            if name in self.__dict__:
                value = self.__dict__[name]
                own_shape = value.shape[len(self._batch_shape) :]
                setattr(new, name, value.expand(batch_shape + own_shape))
        return new

    def _finish_expand(self, new: Any, batch_shape: Any) -> Any:
        Distribution.__init__(new, Size(batch_shape), self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """An instance to be filled, unless a subclass of `cls` has state that `cls` cannot know."""
        if _instance is not None:
            return _instance
        if type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        return object.__new__(type(self))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws, without a gradient."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws that are differentiable in the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density (or mass) at `value`, one per event."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, (number of values, *batch_shape, *event_shape).

        Without `expand` the dims of the batch have size 1.
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _full_like(self, like: Tensor, value: float) -> Tensor:
        """One value for the whole batch, in dtype and on device of `like`."""
        return torch.full(self._extended_shape(), value, dtype=like.dtype, device=like.device)

    def _enumerate(self, values: Tensor, expand: bool) -> Tensor:
        """`values` along dim 0, before the dims of the batch."""
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def _validate_sample(self, value: Tensor) -> None:
        """ValueError unless `value` fits the shapes and lies within the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        actual, event = value.size(), self._event_shape
        if actual[len(actual) - len(event) :] != event:
            raise ValueError(
                f"The right-most size of value must match event_shape: {actual} vs {event}."
            )
        expected = self._batch_shape + event
        for i, j in zip(reversed(actual), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{actual} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not constraints.all_true(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(actual)}) to be "
                f"within the support ({support!r}) of the distribution {self!r}, but found invalid "
                f"values:\n{value}"
            )

    def __repr__(self) -> str:
        parts = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                parts.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _absent(name: str, message: bool = False) -> property:
    """A property that a subclass has to define."""

    def get(self):
        text = f"{self.__class__} does not implement {name}" if message else ""
        raise NotImplementedError(*[text] if message else [])

    return property(get)


for _name in ("arg_constraints", "support", "mean", "variance"):
    setattr(Distribution, _name, _absent(_name))
Distribution.mode = _absent("mode", message=True)
