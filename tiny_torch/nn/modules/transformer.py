"""The Transformer of "Attention is all you need": its layers, and stacks of them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.functions.nn.multihead import canonical_mask
from tiny_torch.nn import functional as F
from tiny_torch.nn import init
from tiny_torch.nn.modules.activation import GELU, MultiheadAttention, ReLU
from tiny_torch.nn.modules.container import ModuleList
from tiny_torch.nn.modules.dropout import Dropout
from tiny_torch.nn.modules.linear import Linear
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.modules.normalization import LayerNorm
from tiny_torch.tensor import Tensor

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]


class _Layer(Module):
    """What layers of the encoder and of the decoder have: attention to itself, two products."""

    _attentions: tuple[str, ...]  # their names; as many norms follow, and one more

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        for name in self._attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **kind
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **kind)
        self.norm_first = norm_first
        numbers = range(1, len(self._attentions) + 2)
        for i in numbers:
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind))
        for i in numbers:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self._set_activation(activation)

    def _set_activation(self, activation: Activation) -> None:
        self.activation = _get_activation_fn(activation)

    def _feed_forward(self, x: Tensor, drop: Module) -> Tensor:
        return drop(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def _attend(
        self,
        attention: Module,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        padding: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        return attention(
            x,
            memory,
            memory,
            attn_mask=mask,
            key_padding_mask=padding,
            is_causal=is_causal,
            need_weights=False,
        )[0]


class TransformerEncoderLayer(_Layer):
    """Attention to itself, then two products with an activation between; each added to its input.

    src (S, N, d_model), or (N, S, d_model) with `batch_first`, or without N, -> the same. Layer
    norm follows each sum, or with `norm_first` precedes each part. Masks as MultiheadAttention.
    Source: PyTorch, torch.nn.TransformerEncoderLayer; Vaswani et al. 2017.

    >>> import tiny_torch as torch
    >>> torch.nn.TransformerEncoderLayer(8, 2, 16)(torch.ones(10, 32, 8)).shape
    torch.Size([10, 32, 8])
    """

    _attentions = ("self_attn",)

    def _set_activation(self, activation: Activation) -> None:
        super()._set_activation(activation)
        rectifies = self.activation is F.relu or isinstance(self.activation, ReLU)
        gelu = self.activation is F.gelu or isinstance(self.activation, GELU)
        self.activation_relu_or_gelu = 1 if rectifies else 2 if gelu else 0

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """(S, N, d_model) -> (S, N, d_model)."""
        padding = canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", src.dtype, src_mask, "src_mask"
        )
        mask = canonical_mask(src_mask, "src_mask", src.dtype)

        def attend(x: Tensor) -> Tensor:
            return self.dropout1(self._attend(self.self_attn, x, x, mask, padding, is_causal))

        x = src
        if self.norm_first:
            x = x + attend(self.norm1(x))
            return x + self._feed_forward(self.norm2(x), self.dropout2)
        x = self.norm1(x + attend(x))
        return self.norm2(x + self._feed_forward(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """As an encoder's layer, with attention to the encoder's result in between.

    tgt (T, N, d_model) and memory (S, N, d_model) -> (T, N, d_model).
    Source: PyTorch, torch.nn.TransformerDecoderLayer; Vaswani et al. 2017.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.TransformerDecoderLayer(8, 2, 16)
    >>> layer(torch.ones(20, 32, 8), torch.ones(10, 32, 8)).shape
    torch.Size([20, 32, 8])
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """(T, N, d_model), (S, N, d_model) -> (T, N, d_model)."""

        def attend(x: Tensor) -> Tensor:
            masks = tgt_mask, tgt_key_padding_mask, tgt_is_causal
            return self.dropout1(self._attend(self.self_attn, x, x, *masks))

        def attend_to_memory(x: Tensor) -> Tensor:
            masks = memory_mask, memory_key_padding_mask, memory_is_causal
            return self.dropout2(self._attend(self.multihead_attn, x, memory, *masks))

        x = tgt
        if self.norm_first:
            x = x + attend(self.norm1(x))
            x = x + attend_to_memory(self.norm2(x))
            return x + self._feed_forward(self.norm3(x), self.dropout3)
        x = self.norm1(x + attend(x))
        x = self.norm2(x + attend_to_memory(x))
        return self.norm3(x + self._feed_forward(x, self.dropout3))


class TransformerEncoder(Module):
    """A stack of copies of a layer, and a norm after the last.

    With `enable_nested_tensor` what is padding comes out as 0 (before the norm) where PyTorch would
    skip it: in evaluation without gradients, with the padding at the end and no other mask, of
    layers that PyTorch has a fast path for. It warns of layers that it has none for.
    Source: PyTorch, torch.nn.TransformerEncoder.

    >>> import tiny_torch as torch
    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> torch.nn.TransformerEncoder(layer, num_layers=2)(torch.ones(3, 10, 8)).shape
    torch.Size([3, 10, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = _without_fast_path(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not reason
        if enable_nested_tensor and reason:
            warnings.warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                f"{reason}",
                stacklevel=2,
            )

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Through all layers. `is_causal` None: whether the mask is causal is looked up."""
        padding = canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", src.dtype, mask, "mask"
        )
        mask = canonical_mask(mask, "mask", src.dtype)
        causal = _is_causal(mask, is_causal, src, self.layers[0].self_attn.batch_first)
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if padding is not None and mask is None and self._skips(src, padding):
            x = x.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        return x if self.norm is None else self.norm(x)

    def _skips(self, src: Tensor, padding: Tensor) -> bool:
        """Whether PyTorch would leave the padding out."""
        first = self.layers[0]
        if not self.use_nested_tensor or first.training or src.ndim != 3:
            return False
        hidden = padding != 0
        at_the_end = not bool((hidden[:, :-1] & ~hidden[:, 1:]).any())
        if self.mask_check and not at_the_end:
            return False
        inputs = (src, *first.parameters())
        return not (torch.is_grad_enabled() and any(x.requires_grad for x in inputs))


class TransformerDecoder(Module):
    """A stack of copies of a layer, and a norm after the last.

    Source: PyTorch, torch.nn.TransformerDecoder.

    >>> import tiny_torch as torch
    >>> decoder = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(8, 2, 16), 2)
    >>> decoder(torch.ones(20, 3, 8), torch.ones(10, 3, 8)).shape
    torch.Size([20, 3, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Through all layers. `tgt_is_causal` None: whether the mask is causal is looked up."""
        batch_first = self.layers[0].self_attn.batch_first
        causal = _is_causal(tgt_mask, tgt_is_causal, tgt, batch_first)
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder and a decoder that attends to its result.

    src (S, N, d_model) and tgt (T, N, d_model) -> (T, N, d_model); N comes first with
    `batch_first`. Matrices start as Xavier's. Raises RuntimeError where batches or widths differ.
    Source: PyTorch, torch.nn.Transformer; Vaswani et al. 2017.

    >>> import tiny_torch as torch
    >>> model = torch.nn.Transformer(8, 2, 1, 1, 16)
    >>> model(torch.ones(10, 3, 8), torch.ones(20, 3, 8)).shape
    torch.Size([20, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        settings = dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first
        kind = {"device": device, "dtype": dtype}

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind)

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(d_model, nhead, *settings, bias, **kind)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            other = TransformerDecoderLayer(d_model, nhead, *settings, bias, **kind)
            self.decoder = TransformerDecoder(other, num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """(S, N, d_model), (T, N, d_model) -> (T, N, d_model)."""
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """(sz, sz), to be added: -inf above the diagonal, 0 elsewhere."""
        return torch.full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(1)

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)


def _get_clones(layer: Module, count: int) -> ModuleList:
    parameters = sum([parameter.nbytes for parameter in layer.parameters()])
    # A module takes a page beside them.
    _core.expect_memory(float(count) * (parameters + len([*layer.modules()]) * 4096))
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _get_activation_fn(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def _is_causal(mask: Tensor | None, is_causal: bool | None, x: Tensor, batch_first: bool) -> bool:
    """What the caller said, or whether the mask is the causal one."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    size = x.shape[1 if batch_first and x.ndim == 3 else 0]
    if mask.shape != (size, size):
        return False
    kind = {"dtype": mask.dtype, "device": mask.device}
    return bool((mask == Transformer.generate_square_subsequent_mask(size, **kind)).all())


def _without_fast_path(layer: Any) -> str:
    """Why PyTorch has no fast path for a layer, or ""."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention: Any = layer.self_attn
    reasons = {
        "encoder_layer.norm_first was True": layer.norm_first,
        "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference "
        "performance)": not attention.batch_first,
        "encoder_layer.self_attn._qkv_same_embed_dim was not True": (
            not attention._qkv_same_embed_dim
        ),
        "encoder_layer.self_attn was passed bias=False": attention.in_proj_bias is None,
        "encoder_layer.activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps": (
            layer.norm1.eps != layer.norm2.eps
        ),
        "encoder_layer.self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")
