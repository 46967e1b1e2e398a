"""Means: of any figure, and of a language model's surprise."""

from __future__ import annotations

import math

import tiny_torch as torch
from tiny_torch.nn import functional as F
from tiny_torch.utils.metrics.metric import Metric, as_labels, as_scores, tensor_on_cpu


class Mean(Metric):
    """The mean of numbers or of all elements of tensors, summed in float64.

    `update(value, weight=1)`: with a batch's mean as value, `weight` is the size of the batch.
    Raises ValueError for a negative or infinite weight.

    >>> import tiny_torch as torch
    >>> from tiny_torch.metrics import Mean
    >>> mean = Mean()
    >>> mean.update(torch.tensor([1.0, 2.0]))
    >>> mean.update(6.0, weight=3)
    >>> mean.compute()
    4.2
    """

    def reset(self) -> None:
        self.total, self.weight = 0.0, 0.0

    @property
    def count(self) -> float:
        return self.weight

    def update(self, value: torch.Tensor | float, weight: float = 1) -> None:
        """Adds a number, or each element of a tensor."""
        if not 0 <= weight < math.inf:
            raise ValueError(f"Mean.update: weight must be at least 0 and finite, got {weight}")
        if isinstance(value, int | float):
            self.total += value * weight
            self.weight += weight
            return
        values = tensor_on_cpu(self, "value", value)
        self.total += values.double().sum().item() * weight
        self.weight += values.numel() * weight

    def _compute(self) -> float:
        return self.total / self.weight

    def _add(self, other: Mean) -> None:
        self.total += other.total
        self.weight += other.weight


class Perplexity(Metric):
    """exp of the mean negative log-likelihood of the targets, summed in float64.

    `update(input, target)`: logits (..., C) and target (...) of ints below C. Targets that equal
    `ignore_index` do not count.

    >>> import tiny_torch as torch
    >>> from tiny_torch.metrics import Perplexity
    >>> perplexity = Perplexity()
    >>> perplexity.update(torch.zeros(2, 3, 8), torch.zeros(2, 3, dtype=torch.int64))
    >>> round(perplexity.compute(), 6)
    8.0
    """

    def __init__(self, ignore_index: int = -100) -> None:
        self.ignore_index = ignore_index
        super().__init__(ignore_index=ignore_index)

    def reset(self) -> None:
        self.surprise, self.tokens = 0.0, 0

    @property
    def count(self) -> int:
        return self.tokens

    def update(self, input: torch.Tensor, target: torch.Tensor) -> None:
        """Adds the tokens of a batch."""
        targets = tensor_on_cpu(self, "target", target)
        logits = as_scores(self, input, (*targets.shape, -1))
        kept = targets != self.ignore_index
        labels = as_labels(self, "target", targets[kept], logits.shape[-1])
        if len(labels):
            chosen = logits[kept].double()  # (tokens, C)
            self.surprise += F.cross_entropy(chosen, labels, reduction="sum").item()
            self.tokens += len(labels)

    def _compute(self) -> float:
        mean = self.surprise / self.tokens
        return math.exp(mean) if mean < 709 else math.inf

    def _add(self, other: Perplexity) -> None:
        self.surprise += other.surprise
        self.tokens += other.tokens
