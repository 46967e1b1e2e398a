"""What a metric is: counts that batches add to, merged across parts, read at the end."""

from __future__ import annotations

import abc
from typing import Any, TypeVar

import tiny_torch as torch

Self = TypeVar("Self", bound="Metric")


class Metric(abc.ABC):
    """Streaming figures: `update` with each batch, `compute` at the end, `reset` to begin anew.

    The result does not depend on how the samples were cut into batches. A subclass defines `reset`,
    `update`, `_compute`, `_add`; `settings` are the arguments that two metrics must share to merge.

    >>> from tiny_torch.metrics import Mean
    >>> first, second = Mean(), Mean()
    >>> first.update(1.0)
    >>> second.update(4.0, weight=2)
    >>> first.merge(second).compute()
    3.0
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.reset()

    @abc.abstractmethod
    def reset(self) -> None:
        """Forgets all samples."""

    @abc.abstractmethod
    def _compute(self) -> Any: ...

    @abc.abstractmethod
    def _add(self, other: Any) -> None: ...

    @property
    @abc.abstractmethod
    def count(self) -> float:
        """How many samples were counted, or their weight."""

    def compute(self) -> Any:
        """The figure over all samples so far. Raises RuntimeError where there were none."""
        if self.count == 0:
            raise RuntimeError(f"{type(self).__name__}.compute: no samples, call update first")
        return self._compute()

    def merge(self: Self, *others: Self) -> Self:
        """Adds the samples of other metrics to this one, and returns it.

        Raises TypeError for a metric of another class, ValueError for other arguments.
        """
        for other in others:
            if type(other) is not type(self):
                raise TypeError(
                    f"{type(self).__name__}.merge: got a {type(other).__name__}, which counts "
                    "something else"
                )
            if other.settings != self.settings:
                raise ValueError(
                    f"{type(self).__name__}.merge: got {other!r}, which differs from {self!r}"
                )
        for other in others:
            self._add(other)
        return self

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return f"{type(self).__name__}({settings})"


def tensor_on_cpu(metric: Metric, name: str, value: Any) -> torch.Tensor:
    """A tensor on the CPU outside of any graph; TypeError for anything else."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{type(metric).__name__}.update: {name} must be a Tensor, got {value!r}")
    return value.detach().cpu()


def as_labels(metric: Metric, name: str, value: Any, classes: int | None) -> torch.Tensor:
    """Integers from 0 to classes - 1, as int64; else TypeError or ValueError."""
    labels = tensor_on_cpu(metric, name, value)
    if labels.is_floating_point():
        raise TypeError(
            f"{type(metric).__name__}.update: {name} must hold integers, got {labels.dtype}"
        )
    labels = labels.long()
    most = 2**63 - 1 if classes is None else classes - 1
    if labels.numel() and not 0 <= int(labels.min()) <= int(labels.max()) <= most:
        raise ValueError(
            f"{type(metric).__name__}.update: {name} must be from 0 to {most}, got "
            f"{int(labels.min())} to {int(labels.max())}"
        )
    return labels


def as_scores(metric: Metric, value: Any, shape: tuple[int, ...]) -> torch.Tensor:
    """Finite or infinite numbers of this shape, where -1 stands for any size."""
    scores = tensor_on_cpu(metric, "input", value)
    fits = len(shape) == scores.ndim and all(
        want in (-1, size) for want, size in zip(shape, scores.shape, strict=True)
    )
    if not fits:
        text = ", ".join("C" if size == -1 else str(size) for size in shape)
        raise ValueError(
            f"{type(metric).__name__}.update: input must be of shape ({text}), got "
            f"{tuple(scores.shape)}"
        )
    if bool(scores.isnan().any()):
        raise ValueError(f"{type(metric).__name__}.update: input holds NaN")
    return scores


def check_at_least(metric: str, name: str, value: Any, least: int) -> None:
    if type(value) is not int or value < least:
        raise ValueError(f"{metric}: {name} must be an int of at least {least}, got {value!r}")
