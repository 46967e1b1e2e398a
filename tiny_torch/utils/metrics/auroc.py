"""The area under the ROC curve, exactly: all scores are kept until `compute`."""

from __future__ import annotations

import tiny_torch as torch
from tiny_torch.utils.metrics.metric import Metric, as_labels, as_scores, check_at_least


class AUROC(Metric):
    """The chance that a positive sample has a higher score than a negative one; a tie counts half.

    `update(input, target)`: binary, scores (N,) and target (N,) of 0 and 1; with `num_classes`,
    scores (N, C) and target (N,), and the result is the mean over classes, each against the rest.
    `compute` raises ValueError where a class has no sample, or has all.
    Source: https://scikit-learn.org/stable/modules/model_evaluation.html

    >>> import tiny_torch as torch
    >>> from tiny_torch.metrics import AUROC
    >>> auroc = AUROC()
    >>> auroc.update(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
    >>> auroc.compute()
    0.75
    """

    def __init__(self, num_classes: int | None = None) -> None:
        if num_classes is not None:
            check_at_least("AUROC", "num_classes", num_classes, 2)
        self.num_classes = num_classes
        super().__init__(num_classes=num_classes)

    def reset(self) -> None:
        self.scores: list[torch.Tensor] = []
        self.targets: list[torch.Tensor] = []

    @property
    def count(self) -> int:
        return sum(len(target) for target in self.targets)

    def update(self, input: torch.Tensor, target: torch.Tensor) -> None:
        """Keeps a batch."""
        labels = as_labels(self, "target", target, self.num_classes or 2)
        if labels.ndim != 1:
            raise ValueError(
                f"AUROC.update: target must be of shape (N,), got {tuple(labels.shape)}"
            )
        shape = (len(labels),) if self.num_classes is None else (len(labels), self.num_classes)
        self.scores.append(as_scores(self, input, shape).clone())
        self.targets.append(labels.clone())

    def _compute(self) -> float:
        scores, targets = torch.cat(self.scores), torch.cat(self.targets)
        if self.num_classes is None:
            return _area(scores, targets == 1, 1)
        areas = [_area(scores[:, c], targets == c, c) for c in range(self.num_classes)]
        return sum(areas) / len(areas)

    def _add(self, other: AUROC) -> None:
        self.scores += other.scores
        self.targets += other.targets


def _area(scores: torch.Tensor, positive: torch.Tensor, label: int) -> float:
    """The statistic of Mann and Whitney, over the number of pairs."""
    positives = int(positive.sum())
    negatives = len(positive) - positives
    if positives == 0 or negatives == 0:
        raise ValueError(
            f"AUROC.compute: {positives} samples of class {label} and {negatives} others, "
            "which has no curve"
        )
    levels, index = torch.unique(scores, return_inverse=True)
    ups = torch.bincount(index[positive], minlength=len(levels))
    downs = torch.bincount(index[~positive], minlength=len(levels))
    below = downs.cumsum(0) - downs
    twice = int((ups * (2 * below + downs)).sum())  # an integer: no rounding
    return twice / (2 * positives * negatives)
