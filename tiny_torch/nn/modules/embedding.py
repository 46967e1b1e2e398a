"""`Embedding` and `EmbeddingBag`: tables of learned rows."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.functions.nn.embedding import padding_row
from tiny_torch.nn import functional as F
from tiny_torch.nn import init
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.parameter import Parameter
from tiny_torch.tensor import Tensor

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """What both have: the weight (num_embeddings, embedding_dim), drawn from N(0, 1)."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse: bool

    def _set_up(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        weight: Tensor | None,
        freeze: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx and padding_row(padding_idx, num_embeddings)
        shape = (num_embeddings, embedding_dim)
        if weight is None:
            empty = torch.empty(shape, device=device, dtype=dtype)
            self.weight = Parameter(empty, requires_grad=not freeze)
            self.reset_parameters()
            return
        if tuple(weight.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw the weight anew; the row of padding is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with torch.no_grad():
                self.weight[self.padding_idx].fill_(0)

    @property
    def _sizes(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"

    @property
    def _options(self) -> str:
        text = ""
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm!r}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type!r}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq!r}"
        return text

    @property
    def _padding(self) -> str:
        return "" if self.padding_idx is None else f", padding_idx={self.padding_idx!r}"


class Embedding(_Table):
    """Rows of a learned weight (num_embeddings, embedding_dim) by number: int (*) -> (*, dim).

    The weight is drawn from N(0, 1); its row `padding_idx` starts as 0 and is never trained. Other
    arguments as functional.embedding. Raises AssertionError for a `padding_idx` out of range.
    Source: PyTorch, torch.nn.Embedding.

    >>> import tiny_torch as torch
    >>> torch.nn.Embedding(10, 3, padding_idx=0)(torch.tensor([[1, 2], [0, 0]]))[1]
    tensor([[0., 0., 0.],
            [0., 0., 0.]], grad_fn=<SelectBackward0>)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        arguments = num_embeddings, embedding_dim, padding_idx, _weight, _freeze, device, dtype
        self._set_up(*arguments)

    def forward(self, input: Tensor) -> Tensor:
        """(*) -> (*, embedding_dim)."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        """The sizes, and what is not as by default."""
        sparse = ", sparse=True" if self.sparse is not False else ""
        return f"{self._sizes}{self._padding}{self._options}{sparse}"

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A layer whose weight is a tensor (rows, dim), which is not trained if `freeze`."""
        _check_table(embeddings)
        return cls(
            embeddings.shape[0],
            embeddings.shape[1],
            _weight=embeddings,
            _freeze=freeze,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of rows of a learned weight: functional.embedding_bag.

    int (B, N), or int (N) with offsets (B), -> (B, embedding_dim). The weight is as Embedding's.
    Source: PyTorch, torch.nn.EmbeddingBag.

    >>> import tiny_torch as torch
    >>> torch.nn.EmbeddingBag(10, 3, mode="sum")(torch.tensor([[1, 2], [4, 5]])).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        arguments = num_embeddings, embedding_dim, padding_idx, _weight, False, device, dtype
        self._set_up(*arguments)
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """(B, N), or (N) with offsets (B), -> (B, embedding_dim)."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """The sizes, the mode, and what is not as by default."""
        return f"{self._sizes}{self._options}, mode={self.mode!r}{self._padding}"

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A layer whose weight is a tensor (rows, dim), which is not trained if `freeze`."""
        _check_table(embeddings)
        layer = cls(
            embeddings.shape[0],
            embeddings.shape[1],
            _weight=embeddings,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        layer.weight.requires_grad = not freeze
        return layer


def _check_table(embeddings: Tensor) -> None:
    if embeddings.ndim != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
