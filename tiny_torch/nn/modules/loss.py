"""Losses as modules: each keeps its settings and calls the function of the same name."""

from __future__ import annotations

from tiny_torch.nn import functional as F
from tiny_torch.nn.modules.margin_loss import *  # noqa: F403
from tiny_torch.nn.modules.margin_loss import __all__ as _less_common
from tiny_torch.nn.modules.margin_loss import _Loss, _WeightedLoss
from tiny_torch.tensor import Tensor

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
]
__all__ += _less_common


class NLLLoss(_WeightedLoss):
    """Negative log-likelihood of classes: see `functional.nll_loss`.

    Input log-probabilities (C), (N, C) or (N, C, *); target class numbers (), (N), (N, *).
    Source: PyTorch, torch.nn.NLLLoss.

    >>> import tiny_torch as torch
    >>> torch.nn.NLLLoss()(torch.tensor([[-1.0, -2.0]]), torch.tensor([1]))
    tensor(2.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Log-probabilities and class numbers -> loss."""
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class CrossEntropyLoss(_WeightedLoss):
    """Cross-entropy of logits and classes or class probabilities: see `functional.cross_entropy`.

    Input (C), (N, C) or (N, C, *); target class numbers (), (N), (N, *), or probabilities of the
    input's shape.
    Source: PyTorch, torch.nn.CrossEntropyLoss.

    >>> import tiny_torch as torch
    >>> torch.nn.CrossEntropyLoss()(torch.zeros(1, 4), torch.tensor([1]))
    tensor(1.3863)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Logits and class numbers or probabilities -> loss."""
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class BCELoss(_WeightedLoss):
    """Binary cross-entropy of probabilities: see `functional.binary_cross_entropy`.

    Input and target have one shape.
    Source: PyTorch, torch.nn.BCELoss.

    >>> import tiny_torch as torch
    >>> torch.nn.BCELoss()(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors of probabilities -> loss."""
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross-entropy of logits: see `functional.binary_cross_entropy_with_logits`.

    Input and target have one shape, to which `weight` and `pos_weight` broadcast.
    Source: PyTorch, torch.nn.BCEWithLogitsLoss.

    >>> import tiny_torch as torch
    >>> torch.nn.BCEWithLogitsLoss()(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Logits and probabilities -> loss."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence: see `functional.kl_div`.

    Input log-probabilities; target probabilities, or with `log_target` their logs.
    Source: PyTorch, torch.nn.KLDivLoss.

    >>> import tiny_torch as torch
    >>> half = torch.full((1, 2), 0.5)
    >>> torch.nn.KLDivLoss(reduction="batchmean")(half.log(), half)
    tensor(0.)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Log-probabilities and probabilities -> loss."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class MSELoss(_Loss):
    """Squared error: see `functional.mse_loss`. Input and target have one shape.

    Source: PyTorch, torch.nn.MSELoss.

    >>> import tiny_torch as torch
    >>> torch.nn.MSELoss()(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors -> loss."""
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """Absolute error: see `functional.l1_loss`. Input and target have one shape.

    Source: PyTorch, torch.nn.L1Loss.

    >>> import tiny_torch as torch
    >>> torch.nn.L1Loss()(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors -> loss."""
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squared error below `beta`, absolute above: see `functional.smooth_l1_loss`.

    Input and target have one shape.
    Source: PyTorch, torch.nn.SmoothL1Loss.

    >>> import tiny_torch as torch
    >>> torch.nn.SmoothL1Loss()(torch.zeros(2), torch.tensor([1.0, 3.0]))
    tensor(1.5000)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors -> loss."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Squared error up to `delta`, absolute times delta above: see `functional.huber_loss`.

    Input and target have one shape. Raises TypeError for a delta that is no number.
    Source: PyTorch, torch.nn.HuberLoss.

    >>> import tiny_torch as torch
    >>> torch.nn.HuberLoss(delta=2.0)(torch.zeros(2), torch.tensor([1.0, 3.0]))
    tensor(2.2500)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (int, float)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors -> loss."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)
