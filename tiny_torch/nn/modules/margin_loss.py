"""The less common losses as modules; the others stand in loss.py.

Each keeps its settings and calls the function of the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch.functions.nn.losses import _legacy_reduction
from tiny_torch.nn import functional as F
from tiny_torch.nn.modules.distance import PairwiseDistance
from tiny_torch.nn.modules.module import Module
from tiny_torch.tensor import Tensor

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "PoissonNLLLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class _Loss(Module):
    """What all losses share: the reduction, "none", "mean" or "sum"."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        legacy = size_average is not None or reduce is not None
        self.reduction = _legacy_reduction(size_average, reduce, 3) if legacy else reduction


class _WeightedLoss(_Loss):
    """A loss with a weight per class or element, kept as a buffer."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class PoissonNLLLoss(_Loss):
    """Negative log-likelihood of Poisson counts: see `functional.poisson_nll_loss`.

    Source: PyTorch, torch.nn.PoissonNLLLoss.

    >>> import tiny_torch as torch
    >>> torch.nn.PoissonNLLLoss()(torch.zeros(2), torch.ones(2))
    tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors -> loss."""
        return F.poisson_nll_loss(
            input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """Negative log-likelihood of normal targets: see `functional.gaussian_nll_loss`.

    Source: PyTorch, torch.nn.GaussianNLLLoss.

    >>> import tiny_torch as torch
    >>> torch.nn.GaussianNLLLoss()(torch.zeros(2), torch.ones(2), torch.ones(2))
    tensor(0.5000)
    """

    def __init__(
        self,
        *,
        full: bool = False,
        eps: float = 1e-6,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Means, targets and variances -> loss."""
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class SoftMarginLoss(_Loss):
    """Logistic loss of targets 1 and -1: see `functional.soft_margin_loss`.

    Source: PyTorch, torch.nn.SoftMarginLoss.

    >>> import tiny_torch as torch
    >>> torch.nn.SoftMarginLoss()(torch.zeros(2), torch.ones(2))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors -> loss."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """Hinge loss of classes: see `functional.multi_margin_loss`.

    Raises ValueError unless p is 1 or 2 and the weight has one dim.

    Source: PyTorch, torch.nn.MultiMarginLoss.

    >>> import tiny_torch as torch
    >>> torch.nn.MultiMarginLoss()(torch.tensor([0.5, 1.0]), torch.tensor(0))
    tensor(0.7500)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.ndim != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.ndim}D "
                "instead"
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Scores and class numbers -> loss."""
        return F.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )


class MultiLabelMarginLoss(_Loss):
    """Hinge loss of several classes each: see `functional.multilabel_margin_loss`.

    Source: PyTorch, torch.nn.MultiLabelMarginLoss.

    >>> import tiny_torch as torch
    >>> x = torch.tensor([0.1, 0.2, 0.4, 0.8])
    >>> torch.nn.MultiLabelMarginLoss()(x, torch.tensor([3, 0, -1, 1]))
    tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Scores and class numbers before a -1 -> loss."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Binary cross-entropy averaged over classes: see `functional.multilabel_soft_margin_loss`.

    Source: PyTorch, torch.nn.MultiLabelSoftMarginLoss.

    >>> import tiny_torch as torch
    >>> torch.nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 3), torch.ones(1, 3))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Logits and probabilities of classes -> loss."""
        return F.multilabel_soft_margin_loss(
            input, target, weight=self.weight, reduction=self.reduction
        )


class HingeEmbeddingLoss(_Loss):
    """Distances x where t = 1, max(0, margin - x) where t = -1.

    Source: PyTorch, torch.nn.HingeEmbeddingLoss.

    >>> import tiny_torch as torch
    >>> torch.nn.HingeEmbeddingLoss()(torch.tensor([0.25, 0.25]), torch.tensor([1, -1]))
    tensor(0.5000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors -> loss."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class _PairLoss(_Loss):
    _function: Any

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Three tensors -> loss."""
        return self._function(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_PairLoss):
    """max(0, -t (x1 - x2) + margin): see `functional.margin_ranking_loss`.

    Source: PyTorch, torch.nn.MarginRankingLoss.

    >>> import tiny_torch as torch
    >>> one = torch.ones(1)
    >>> torch.nn.MarginRankingLoss()(one, 3 * one, one)
    tensor(2.)
    """

    _function = staticmethod(F.margin_ranking_loss)


class CosineEmbeddingLoss(_PairLoss):
    """1 - cos where t = 1, max(0, cos - margin) where t = -1.

    Source: PyTorch, torch.nn.CosineEmbeddingLoss.

    >>> import tiny_torch as torch
    >>> x, y = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> torch.nn.CosineEmbeddingLoss()(x, y, torch.tensor([1]))
    tensor(1.)
    """

    _function = staticmethod(F.cosine_embedding_loss)


class TripletMarginLoss(_Loss):
    """max(0, margin + d(a, p) - d(a, n)): see `functional.triplet_margin_loss`.

    Raises ValueError unless margin > 0.

    Source: PyTorch, torch.nn.TripletMarginLoss.

    >>> import tiny_torch as torch
    >>> x = torch.zeros(1, 2)
    >>> torch.nn.TripletMarginLoss()(x, x, x)
    tensor(1.)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Three tensors -> loss."""
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with any distance of two tensors, by default PairwiseDistance().

    Raises ValueError unless margin > 0.

    Source: PyTorch, torch.nn.TripletMarginWithDistanceLoss.

    >>> import tiny_torch as torch
    >>> x = torch.zeros(1, 2)
    >>> torch.nn.TripletMarginWithDistanceLoss(margin=2.0)(x, x, x)
    tensor(2.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                "TripletMarginWithDistanceLoss: expected margin to be greater than 0, got "
                f"{margin} instead"
            )
        self.distance_function: Any = distance_function or PairwiseDistance()
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Three tensors -> loss."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class CTCLoss(_Loss):
    """Connectionist temporal classification: see `functional.ctc_loss`.

    Source: PyTorch, torch.nn.CTCLoss.

    >>> import tiny_torch as torch
    >>> even = torch.zeros(2, 1, 3).log_softmax(2)
    >>> torch.nn.CTCLoss()(even, torch.tensor([[1]]), (2,), (1,)).exp()
    tensor(3.)
    """

    def __init__(
        self,
        blank: int = 0,
        reduction: str = "mean",
        zero_infinity: bool = False,
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        """Log-probabilities, targets and the lengths of both -> loss."""
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
