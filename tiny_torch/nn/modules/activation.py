"""Activations, softmax and attention as modules.

Most keep their settings and call the function that they are `of`.

All take and return tensors of any one shape, unless their text says otherwise.
"""

from __future__ import annotations

import warnings
from typing import Any

import tiny_torch as torch
from tiny_torch.functions.nn.multihead import canonical_mask
from tiny_torch.nn import functional as F
from tiny_torch.nn import init as initialisers
from tiny_torch.nn.modules._parts.layer import Layer
from tiny_torch.nn.modules.linear import NonDynamicallyQuantizableLinear
from tiny_torch.nn.modules.module import Module
from tiny_torch.nn.parameter import Parameter
from tiny_torch.tensor import Tensor

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class Tanh(Layer, of=F.tanh): ...


class Sigmoid(Layer, of=F.sigmoid): ...


class LogSigmoid(Layer, of=F.logsigmoid): ...


class Tanhshrink(Layer, of=F.tanhshrink): ...


class Softsign(Layer, of=F.softsign): ...


class Softplus(Layer, of=F.softplus): ...


class GLU(Layer, of=F.glu): ...


class GELU(Layer, of=F.gelu):
    def extra_repr(self) -> str:
        """The settings."""
        return f"approximate={self.approximate!r}"


class _Shrink(Layer):
    def extra_repr(self) -> str:
        """The edge."""
        return str(self.lambd)


class Hardshrink(_Shrink, of=F.hardshrink): ...


class Softshrink(_Shrink, of=F.softshrink): ...


class _InPlace(Layer):
    """What activations share that may write over their input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """The settings; `inplace` unless it is the default."""
        shown = super().extra_repr()
        return ", ".join([text for text in (shown, "inplace=True" if self.inplace else "") if text])


class ReLU(_InPlace, of=F.relu): ...


class SiLU(_InPlace, of=F.silu): ...


class Mish(_InPlace, of=F.mish): ...


class SELU(_InPlace, of=F.selu): ...


class Hardsigmoid(_InPlace, of=F.hardsigmoid):
    extra_repr = Module.extra_repr


class Hardswish(_InPlace, of=F.hardswish):
    extra_repr = Module.extra_repr


class LeakyReLU(_InPlace, of=F.leaky_relu): ...


class ELU(_InPlace, of=F.elu): ...


class CELU(_InPlace, of=F.celu): ...


class RReLU(_InPlace, of=F.rrelu): ...


class Threshold(_InPlace, of=F.threshold): ...


class Hardtanh(_InPlace, of=F.hardtanh):
    """x limited to [min_val, max_val].

    Raises AssertionError unless min_val < max_val. `min_value`, `max_value` are deprecated names.

    Source: PyTorch, torch.nn.Hardtanh.

    >>> import tiny_torch as torch
    >>> torch.nn.Hardtanh()(torch.tensor([-2.0, 2.0]))
    tensor([-1.,  1.])
    """

    _shown: tuple[str, ...] = ("min_val", "max_val")

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        self.min_val = _read_old_name("min_value", min_value, "min_val", min_val)
        self.max_val = _read_old_name("max_value", max_value, "max_val", max_val)
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )


def _read_old_name(old: str, old_value: float | None, new: str, value: float) -> float:
    if old_value is None:
        return value
    warnings.warn(
        f"keyword argument `{old}` is deprecated and renamed to `{new}`",
        FutureWarning,
        stacklevel=3,
    )
    return old_value


class ReLU6(Hardtanh):
    """x limited to [0, 6].

    Source: PyTorch, torch.nn.ReLU6.

    >>> import tiny_torch as torch
    >>> torch.nn.ReLU6()(torch.tensor([-1.0, 7.0]))
    tensor([0., 6.])
    """

    _shown = ()

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class PReLU(Module):
    """x where x > 0, weight x elsewhere, with a learned weight for all channels or one for each.

    Input (N, C, *), weight (num_parameters), which is 1 or C. Raises RuntimeError for another C.

    Source: PyTorch, torch.nn.PReLU.

    >>> import tiny_torch as torch
    >>> torch.nn.PReLU()(torch.tensor([-2.0, 3.0])).tolist()
    [-0.5, 3.0]
    """

    _shown = ("num_parameters",)

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(torch.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all weights to `init`."""
        initialisers.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise, by channel."""
        return F.prelu(input, self.weight)


class _AlongDim(Layer):
    _stacklevel = 5  # a guess of `dim` warns whoever calls the layer


class Softmax(_AlongDim, of=F.softmax): ...


class LogSoftmax(_AlongDim, of=F.log_softmax): ...


class Softmin(_AlongDim, of=F.softmin): ...


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W), position by position.

    Raises ValueError for another number of dims.
    Source: PyTorch, torch.nn.Softmax2d.

    >>> import tiny_torch as torch
    >>> torch.nn.Softmax2d()(torch.zeros(4, 1, 1)).flatten()
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Along the channels."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3, _stacklevel=5)


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
            initialisers.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                initialisers.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            initialisers.constant_(self.in_proj_bias, 0.0)
            initialisers.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                initialisers.xavier_normal_(bias)

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
