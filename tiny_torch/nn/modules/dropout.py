"""`Dropout` of elements and of channels, and `AlphaDropout`."""

from __future__ import annotations

from tiny_torch.functions.nn.dropout import as_probability
from tiny_torch.nn import functional as F
from tiny_torch.nn.modules._parts.layer import Layer

__all__ = [
    "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout",
]  # fmt: skip


class _DropoutNd(Layer):
    """What all kinds of dropout share: the probability and `inplace`."""

    _shown = ("p", "inplace")

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        as_probability(p)
        self.p = p
        self.inplace = inplace


class Dropout(_DropoutNd, of=F.dropout): ...


class Dropout1d(_DropoutNd, of=F.dropout1d): ...


class Dropout2d(_DropoutNd, of=F.dropout2d): ...


class Dropout3d(_DropoutNd, of=F.dropout3d): ...


class AlphaDropout(_DropoutNd, of=F.alpha_dropout, without=["inplace"]): ...


class FeatureAlphaDropout(_DropoutNd, of=F.feature_alpha_dropout, without=["inplace"]): ...
