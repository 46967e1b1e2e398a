"""Metrics of classes, from labels or from scores of each class, by counts in integers."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.utils.metrics.metric import (
    Metric,
    as_labels,
    as_scores,
    check_at_least,
    tensor_on_cpu,
)

AVERAGES = ("micro", "macro", "weighted", None, "none")


class Accuracy(Metric):
    """The part of samples whose target is among the `top_k` classes of highest score.

    `update(input, target)`: scores (N, C), or with `top_k=1` labels (N,); target (N,) of ints.
    If two classes have the same score, the lower one comes first, as in argmax.

    >>> import tiny_torch as torch
    >>> from tiny_torch.metrics import Accuracy
    >>> accuracy = Accuracy(top_k=2)
    >>> accuracy.update(torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]), torch.tensor([1, 0]))
    >>> accuracy.compute()
    0.5
    """

    def __init__(self, top_k: int = 1) -> None:
        check_at_least("Accuracy", "top_k", top_k, 1)
        self.top_k = top_k
        super().__init__(top_k=top_k)

    def reset(self) -> None:
        self.correct, self.total = 0, 0

    @property
    def count(self) -> int:
        return self.total

    def update(self, input: torch.Tensor, target: torch.Tensor) -> None:
        """Counts a batch."""
        labels = as_labels(self, "target", target, None)
        if self.top_k == 1 and tensor_on_cpu(self, "input", input).ndim == 1:
            correct = as_labels(self, "input", input, None) == _same_length(self, input, labels)
        else:
            scores = as_scores(self, input, (len(_vector(self, labels)), -1))
            if self.top_k > scores.shape[1]:
                raise ValueError(f"Accuracy.update: {scores.shape[1]} classes, top_k={self.top_k}")
            as_labels(self, "target", labels, scores.shape[1])
            own = scores.gather(1, labels[:, None])
            lower = torch.arange(scores.shape[1]) < labels[:, None]
            before = (scores > own) | ((scores == own) & lower)
            correct = before.sum(1) < self.top_k
        self.correct += int(correct.sum())
        self.total += len(labels)

    def _compute(self) -> float:
        return self.correct / self.total

    def _add(self, other: Accuracy) -> None:
        self.correct += other.correct
        self.total += other.total


def _vector(metric: Metric, labels: torch.Tensor) -> torch.Tensor:
    if labels.ndim != 1:
        raise ValueError(
            f"{type(metric).__name__}.update: target must be of shape (N,), got "
            f"{tuple(labels.shape)}"
        )
    return labels


def _same_length(metric: Metric, input: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    if len(input) != len(_vector(metric, labels)):
        raise ValueError(
            f"{type(metric).__name__}.update: {len(input)} inputs, but {len(labels)} targets"
        )
    return labels


class ConfusionMatrix(Metric):
    """Counts of each pair of classes: row = target, column = prediction, (C, C) int64.

    `update(input, target)`: scores (N, C) or labels (N,); target (N,) of ints below C.

    >>> import tiny_torch as torch
    >>> from tiny_torch.metrics import ConfusionMatrix
    >>> matrix = ConfusionMatrix(2)
    >>> matrix.update(torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1]))
    >>> matrix.compute()
    tensor([[1, 1],
            [0, 1]])
    """

    def __init__(self, num_classes: int, **settings: Any) -> None:
        check_at_least(type(self).__name__, "num_classes", num_classes, 2)
        self.num_classes = num_classes
        super().__init__(num_classes=num_classes, **settings)

    def reset(self) -> None:
        self.matrix = torch.zeros(self.num_classes, self.num_classes, dtype=torch.int64)

    @property
    def count(self) -> int:
        return int(self.matrix.sum())

    def update(self, input: torch.Tensor, target: torch.Tensor) -> None:
        """Counts a batch."""
        labels = as_labels(self, "target", target, self.num_classes)
        if tensor_on_cpu(self, "input", input).ndim == 1:
            predicted = as_labels(self, "input", input, self.num_classes)
            _same_length(self, predicted, labels)
        else:
            shape = len(_vector(self, labels)), self.num_classes
            predicted = as_scores(self, input, shape).argmax(1)
        pairs = torch.bincount(labels * self.num_classes + predicted, minlength=self.matrix.numel())
        self.matrix += pairs.view(self.matrix.shape)

    def _compute(self) -> torch.Tensor:
        return self.matrix.clone()

    def _add(self, other: ConfusionMatrix) -> None:
        self.matrix += other.matrix


class _OfClasses(ConfusionMatrix):
    """A ratio of each class, averaged over the classes."""

    def __init__(self, num_classes: int, average: str | None = "macro") -> None:
        if average not in AVERAGES:
            raise ValueError(
                f"{type(self).__name__}: average must be 'micro', 'macro', 'weighted' or 'none', "
                f"got {average!r}"
            )
        self.average = average or "none"
        super().__init__(num_classes, average=self.average)

    def _ratio(self, hits: Any, predicted: Any, targets: Any) -> tuple[Any, Any]:
        """Numerator and denominator, from counts of each class."""
        raise NotImplementedError

    def _compute(self) -> Any:
        hits, predicted, targets = self.matrix.diag(), self.matrix.sum(0), self.matrix.sum(1)
        if self.average == "micro":
            hits, predicted, targets = hits.sum(), predicted.sum(), targets.sum()
        above, below = self._ratio(hits, predicted, targets)
        ratios = torch.where(below > 0, above.double() / below.clamp(min=1), 0.0)
        if self.average == "none":
            return ratios
        if self.average == "weighted":
            return float((ratios * targets).sum() / targets.sum())
        return float(ratios[predicted + targets > 0].mean())


class Precision(_OfClasses):
    """The part of a class's predictions that is right: hits / predicted, 0 without any.

    `average`: "macro", the mean over classes that occur; "weighted", by their targets; "micro",
    over all samples; "none", each class, (C,) float64. `update` as of ConfusionMatrix.
    Source: https://scikit-learn.org/stable/modules/model_evaluation.html

    >>> import tiny_torch as torch
    >>> from tiny_torch.metrics import Precision
    >>> precision = Precision(2, average="none")
    >>> precision.update(torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1]))
    >>> precision.compute()
    tensor([1.0000, 0.5000], dtype=torch.float64)
    """

    def _ratio(self, hits: Any, predicted: Any, targets: Any) -> tuple[Any, Any]:
        return hits, predicted


class Recall(_OfClasses):
    """The part of a class's samples that is found: hits / targets, 0 without any.

    `average` and `update` as of Precision.

    >>> import tiny_torch as torch
    >>> from tiny_torch.metrics import Recall
    >>> recall = Recall(2)
    >>> recall.update(torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1]))
    >>> recall.compute()
    0.75
    """

    def _ratio(self, hits: Any, predicted: Any, targets: Any) -> tuple[Any, Any]:
        return hits, targets


class F1(_OfClasses):
    """The harmonic mean of precision and recall: 2 hits / (predicted + targets).

    `average` and `update` as of Precision.

    >>> import tiny_torch as torch
    >>> from tiny_torch.metrics import F1
    >>> f1 = F1(2, average="micro")
    >>> f1.update(torch.tensor([0, 1, 1, 0]), torch.tensor([0, 0, 1, 0]))
    >>> f1.compute()
    0.75
    """

    def _ratio(self, hits: Any, predicted: Any, targets: Any) -> tuple[Any, Any]:
        return 2 * hits, predicted + targets
