"""`MultiheadAttention`."""

from __future__ import annotations

from typing import Any

import tiny_torch as torch
from tiny_torch.functions.nn.multihead import canonical_mask
from tiny_torch.nn import functional as F
from tiny_torch.nn import init
from tiny_torch.nn.modules.linear import NonDynamicallyQuantizableLinear
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.parameter import Parameter
from tiny_torch.tensor import Tensor

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention in several heads: functional.multi_head_attention_forward with learned weights.

    query (L, N, E), key (S, N, kdim), value (S, N, vdim) -> (L, N, E) and, with `need_weights`, the
    probabilities; N comes first with `batch_first`. Projection weights start as Xavier's, biases
    as 0. Raises ValueError for sizes of 0, AssertionError unless num_heads divides embed_dim.
    Source: PyTorch, torch.nn.MultiheadAttention; Vaswani et al. 2017.

    >>> import tiny_torch as torch
    >>> attention, x = torch.nn.MultiheadAttention(8, 2, batch_first=True), torch.ones(4, 5, 8)
    >>> y, probabilities = attention(x, x, x)
    >>> y.shape, probabilities.shape
    (torch.Size([4, 5, 8]), torch.Size([4, 5, 5]))
    """

    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def empty(*shape: int) -> Parameter:
            return Parameter(torch.empty(shape, device=device, dtype=dtype))

        same = self._qkv_same_embed_dim
        for name, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            weight = None if same else empty(embed_dim, width)
            self.register_parameter(f"{name}_proj_weight", weight)
        packed = empty(3 * embed_dim, embed_dim) if same else None
        self.register_parameter("in_proj_weight", packed)
        self.register_parameter("in_proj_bias", empty(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        if add_bias_kv:
            self.bias_k, self.bias_v = empty(1, 1, embed_dim), empty(1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """What is attended to, and the probabilities or None."""
        key_padding_mask = canonical_mask(
            key_padding_mask, "key_padding_mask", query.dtype, attn_mask, "attn_mask"
        )
        attn_mask = canonical_mask(attn_mask, "attn_mask", query.dtype)
        turned = self.batch_first and query.ndim == 3
        if turned:  # what is the same tensor stays so: it is projected in one product
            same_key, same_value = key is query, value is key
            query = query.transpose(1, 0)
            key = query if same_key else key.transpose(1, 0)
            value = key if same_value else value.transpose(1, 0)
        result, probabilities = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return result.transpose(1, 0) if turned else result, probabilities
