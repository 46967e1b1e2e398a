"""multi_head_attention_forward, and the masks that it shares with the modules."""

from __future__ import annotations

import math
import warnings
from typing import Any

from tiny_torch import _core
from tiny_torch.functions.creation.fill import zeros_like
from tiny_torch.functions.nn.attention import scaled_dot_product_attention
from tiny_torch.functions.nn.dropout import dropout
from tiny_torch.functions.nn.linear import linear
from tiny_torch.functions.nn.padding import pad
from tiny_torch.functions.shape.join import cat
from tiny_torch.tensor import Tensor


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention in several heads, of projections of query, key and value, projected again.

    query (L, N, E), key (S, N, Ek), value (S, N, Ev) -> (L, N, E), all without N where unbatched;
    with `need_weights` also the probabilities, (N, L, S) or, not averaged, (N, heads, L, S), which
    otherwise are never stored. Masks are bool (True where a key may *not* be seen) or added:
    `attn_mask` (L, S) or (N heads, L, S), `key_padding_mask` (N, S). Raises AssertionError where
    shapes do not fit, RuntimeError for `is_causal`, a hint, without attn_mask.
    Source: PyTorch, nn.functional.multi_head_attention_forward; Vaswani et al. 2017.
    """
    batched = check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    key_padding_mask = canonical_mask(
        key_padding_mask, "key_padding_mask", query.dtype, attn_mask, "attn_mask"
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = canonical_mask(attn_mask, "attn_mask", query.dtype)
        is_causal = is_causal and key_padding_mask is None
    ensure(
        width == embed_dim_to_check,
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}",
    )
    ensure(width % num_heads == 0, f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        ensure(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = project_separately((query, key, value), weights, in_proj_bias)
    else:
        ensure(
            key.shape == value.shape,
            f"key shape {key.shape} does not match value shape {value.shape}",
        )
        q, k, v = project(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        attn_mask = with_heads(attn_mask, length, key.shape[0], batch, num_heads)
    if bias_k is not None and bias_v is not None:
        ensure(static_k is None, "bias cannot be added to static key.")
        ensure(static_v is None, "bias cannot be added to static value.")
        k = cat([k, bias_k.expand(1, batch, -1)])
        v = cat([v, bias_v.expand(1, batch, -1)])
        attn_mask, key_padding_mask = one_more(attn_mask), one_more(key_padding_mask)
    else:
        ensure(bias_k is None, "bias_k is set but bias_v is None")
        ensure(bias_v is None, "bias_v is set but bias_k is None")
    q = split_heads(q, num_heads)  # (N, heads, L, E / heads)
    k = split_heads(k, num_heads) if static_k is None else static_heads(static_k, q, "k")
    v = split_heads(v, num_heads) if static_v is None else static_heads(static_v, q, "v")
    if add_zero_attn:
        k, v = pad(k, (0, 0, 0, 1)), pad(v, (0, 0, 0, 1))
        attn_mask, key_padding_mask = one_more(attn_mask), one_more(key_padding_mask)
    if key_padding_mask is not None:
        sizes = key_padding_mask.shape
        ensure(
            sizes[0] == batch,
            f"Expected key_padded_mask.shape[0] to be {batch}, but got {sizes[0]}",
        )
        ensure(
            sizes[1] == k.shape[2],
            f"Expected key_padded_mask.shape[1] to be {k.shape[2]}, but got {sizes[1]}",
        )
        padding = key_padding_mask[:, None, None, :]
        attn_mask = padding if attn_mask is None else attn_mask + padding
    if not training:
        dropout_p = 0.0
    probabilities = None
    if need_weights:
        ensure(
            not is_causal or attn_mask is not None, "is_causal is not implemented for need_weights"
        )
        scores = (q * math.sqrt(1.0 / q.shape[-1])) @ k.transpose(-2, -1)
        scores = scores if attn_mask is None else scores + attn_mask
        probabilities = dropout(scores.softmax(-1), dropout_p)
        attended = probabilities @ v
        if average_attn_weights:
            probabilities = probabilities.mean(1)
        if not batched:
            probabilities = probabilities.squeeze(0)
    else:
        attended = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    rows = attended.permute(2, 0, 1, 3).reshape(length * batch, width)
    result = linear(rows, out_proj_weight, out_proj_bias).unflatten(0, (length, batch))
    return result if batched else result.squeeze(1), probabilities


def ensure(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def check_shapes(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Answers whether there is a batch dim."""
    batched = query.ndim == 3
    ensure(
        query.ndim in (2, 3),
        "query should be unbatched 2D or batched 3D tensor but received "
        f"{query.ndim}-D query tensor",
    )
    kind = f"For {'batched' if batched else 'unbatched'} ({query.ndim}-D) `query`, expected"
    ensure(
        key.ndim == value.ndim == query.ndim,
        f"{kind} `key` and `value` to be {query.ndim}-D but found {key.ndim}-D and "
        f"{value.ndim}-D tensors respectively",
    )
    if key_padding_mask is not None:
        ensure(
            key_padding_mask.ndim == query.ndim - 1,
            f"{kind} `key_padding_mask` to be `None` or {query.ndim - 1}-D but found "
            f"{key_padding_mask.ndim}-D tensor instead",
        )
    if attn_mask is not None:
        ensure(
            attn_mask.ndim in (2, 3),
            f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.ndim}-D tensor instead",
        )
        expected = (num_heads, query.shape[0], key.shape[0])
        ensure(
            batched or attn_mask.ndim == 2 or attn_mask.shape == expected,
            f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}",
        )
    return batched


def canonical_mask(
    mask: Tensor | None,
    name: str,
    dtype: Any,
    other: Tensor | None = None,
    other_name: str = "",
) -> Tensor | None:
    """A bool mask as one to be added, -inf where True. Warns where `other` has another dtype."""
    if mask is None:
        return None
    ensure(
        mask.dtype is _core.bool or mask.is_floating_point(),
        f"only bool and floating types of {name} are supported",
    )
    if other is not None and other.dtype is not mask.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for "
            "both instead.",
            stacklevel=3,
        )
    if mask.is_floating_point():
        return mask
    return zeros_like(mask, dtype=dtype).masked_fill_(mask, float("-inf"))


def project(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """The projections by the parts of one weight (3 E, E): in one product where inputs are one."""
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    width = query.shape[-1]
    if key is value and query is key:
        return linear_of_rows(query, weight, bias).chunk(3, -1)
    parts = [width, 2 * width] if key is value else [width, width, width]
    biases = [None] * len(parts) if bias is None else bias.split(parts)
    inputs = (query, key, value)
    projected = [
        linear_of_rows(x, w, b)
        for x, w, b in zip(inputs, weight.split(parts), biases, strict=False)
    ]
    return (projected[0], *projected[1].chunk(2, -1)) if key is value else tuple(projected)


def project_separately(
    inputs: tuple[Tensor, ...], weights: tuple[Tensor | None, ...], bias: Tensor | None
) -> list[Tensor]:
    width = inputs[0].shape[-1]
    biases: Any = (None, None, None) if bias is None else bias.chunk(3)
    result = []
    for name, x, weight, b in zip("qkv", inputs, weights, biases, strict=True):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        ensure(
            weight.shape == (width, x.shape[-1]),
            f"[{name}] expecting weights shape of {(width, x.shape[-1])}, but got {weight.shape}",
        )
        ensure(
            b is None or b.shape == (width,),
            f"[{name}] expecting bias shape of {(width,)}, "
            f"but got {None if b is None else b.shape}",
        )
        result.append(linear_of_rows(x, weight, b))
    return result


def linear_of_rows(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """linear of (L, N, E), as one product also where N comes first in memory."""
    if x.stride(0) < x.stride(1):
        return linear(x.transpose(0, 1), weight, bias).transpose(0, 1)
    return linear(x, weight, bias)


def with_heads(mask: Tensor, length: int, keys: int, batch: int, heads: int) -> Tensor:
    """(L, S) or (N heads, L, S) -> (1 or N, 1 or heads, L, S)."""
    expected = (length, keys) if mask.ndim == 2 else (batch * heads, length, keys)
    if mask.shape != expected:
        raise RuntimeError(
            f"The shape of the {len(expected)}D attn_mask is {mask.shape}, but should be "
            f"{expected}."
        )
    return mask[None, None] if mask.ndim == 2 else mask.unflatten(0, (batch, heads))


def one_more(mask: Tensor | None) -> Tensor | None:
    """A key more, which may be seen."""
    return None if mask is None else pad(mask, (0, 1))


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(L, N, E) -> (N, heads, L, E / heads)."""
    return x.unflatten(-1, (heads, x.shape[-1] // heads)).permute(1, 2, 0, 3)


def static_heads(x: Tensor, q: Tensor, name: str) -> Tensor:
    """(N heads, S, E / heads) -> (N, heads, S, E / heads)."""
    batch, heads, _, width = q.shape
    ensure(
        x.shape[0] == batch * heads,
        f"expecting static_{name}.size(0) of {batch * heads}, but got {x.shape[0]}",
    )
    ensure(x.shape[2] == width, f"expecting static_{name}.size(2) of {width}, but got {x.shape[2]}")
    return x.unflatten(0, (batch, heads))
