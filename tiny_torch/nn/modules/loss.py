"""Losses as modules: each keeps its settings and calls the function that it is `of`."""

from __future__ import annotations

from tiny_torch.functions.nn.losses import legacy_reduction
from tiny_torch.functions.nn.margin_losses import check_power
from tiny_torch.nn import functional as F
from tiny_torch.nn.modules._parts.layer import Layer
from tiny_torch.nn.modules.distance import PairwiseDistance
from tiny_torch.tensor import Tensor

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss",
    "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss",
    "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss",
    "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip


class _Loss(Layer):
    """What all losses share: the reduction, "none", "mean" or "sum"."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        legacy = size_average is not None or reduce is not None
        self.reduction = legacy_reduction(size_average, reduce, 3) if legacy else reduction

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class _WeightedLoss(_Loss):
    """A loss with a weight per class or element, kept as a buffer."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


# ---- of pairs of numbers ------------------------------------------------------------------------


class MSELoss(_Loss, of=F.mse_loss, without=["weight"]): ...


class L1Loss(_Loss, of=F.l1_loss, without=["weight"]): ...


class SmoothL1Loss(_Loss, of=F.smooth_l1_loss): ...


class HuberLoss(_Loss, of=F.huber_loss, without=["weight"]):
    def __post_init__(self) -> None:
        if not isinstance(self.delta, (int, float)):
            raise TypeError(f"delta must be a float or int, got: {type(self.delta)}")


# ---- of distributions ---------------------------------------------------------------------------


class BCELoss(_WeightedLoss, of=F.binary_cross_entropy): ...


class BCEWithLogitsLoss(_Loss, of=F.binary_cross_entropy_with_logits): ...


class KLDivLoss(_Loss, of=F.kl_div): ...


class PoissonNLLLoss(_Loss, of=F.poisson_nll_loss): ...


class GaussianNLLLoss(_Loss, of=F.gaussian_nll_loss):
    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps


# ---- of classes ---------------------------------------------------------------------------------


class NLLLoss(_WeightedLoss, of=F.nll_loss): ...


class CrossEntropyLoss(_WeightedLoss, of=F.cross_entropy): ...


class SoftMarginLoss(_Loss, of=F.soft_margin_loss): ...


class MultiMarginLoss(_WeightedLoss, of=F.multi_margin_loss):
    def __post_init__(self) -> None:
        check_power(self.p)
        if self.weight is not None and self.weight.ndim != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, got "
                f"{self.weight.ndim}D instead"
            )


class MultiLabelMarginLoss(_Loss, of=F.multilabel_margin_loss): ...


class MultiLabelSoftMarginLoss(_WeightedLoss, of=F.multilabel_soft_margin_loss): ...


class CTCLoss(_Loss, of=F.ctc_loss): ...


# ---- of rankings and embeddings -----------------------------------------------------------------


class HingeEmbeddingLoss(_Loss, of=F.hinge_embedding_loss): ...


class MarginRankingLoss(_Loss, of=F.margin_ranking_loss, margin=0.0): ...


class CosineEmbeddingLoss(_Loss, of=F.cosine_embedding_loss, margin=0.0): ...


class _TripletLoss(_Loss):
    def __post_init__(self) -> None:
        if self.margin <= 0:
            raise ValueError(
                f"{type(self).__name__}: expected margin to be greater than 0, got {self.margin} "
                "instead"
            )


class TripletMarginLoss(_TripletLoss, of=F.triplet_margin_loss, p=2.0): ...


class TripletMarginWithDistanceLoss(_TripletLoss, of=F.triplet_margin_with_distance_loss):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.distance_function = self.distance_function or PairwiseDistance()
