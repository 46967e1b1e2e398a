"""Attention: one kernel forward and one backward, neither of which stores the probabilities."""

from __future__ import annotations

from typing import Any

from tiny_torch.autograd.graph import Op
from tiny_torch.base.devices import array_module
from tiny_torch.tensor import Tensor


class ScaledDotProductFlashAttentionForCpu(Op):
    """softmax(scale q kᵀ + mask) v: (*, L, E), (*, S, E), (*, S, V) -> (*, L, V).

    A mask is bool (where a key may be seen) or added. A row that sees no key is 0.
    """

    arity = 4
    saves = (0, 1, 2, 3, ~0)
    aten = "scaled_dot_product_attention"
    words = "result:output"
    cost = "attention"

    @staticmethod
    def forward(q, k, v, mask, causal, scale):
        out, log_sums = array_module(q.device).attention(q, k, v, mask, causal, scale)
        return out, (q, k, v, mask, out, log_sums, causal, scale)

    @staticmethod
    def backward(saved, grad, needs):
        return *array_module(grad.device).attention_backward(grad, *saved), None

    @staticmethod
    def composite(q, k, v, mask, causal, scale):
        return compose(q, k, v, mask, causal, scale, lambda weights: weights)


def compose(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float, drop: Any
) -> Tensor:
    """From simple ops, in float32 for halves: `drop` is called with the probabilities."""
    dtype = q.dtype
    if dtype.itemsize == 2:
        q, k, v = q.float(), k.float(), v.float()
        if mask is not None and mask.is_floating_point():
            mask = mask.float()
    return (drop(probabilities(q, k, mask, causal, scale)) @ v).to(dtype)


def probabilities(q: Tensor, k: Tensor, mask: Tensor | None, causal: bool, scale: float) -> Tensor:
    """softmax(scale q kᵀ + mask) along keys, 0 in rows that see none."""
    scores = (q * scale) @ k.transpose(-2, -1)
    if causal:
        ones = q.new_ones((q.shape[-2], k.shape[-2]))
        scores = scores.masked_fill(ones.triu(1) != 0, float("-inf"))
    if mask is None:
        return scores.softmax(-1)
    added = mask.is_floating_point()
    scores = scores + mask if added else scores.masked_fill(~mask, float("-inf"))
    blind = (scores == float("-inf")).all(-1, keepdim=True)
    return scores.masked_fill(blind, 0.0).softmax(-1).masked_fill(blind, 0.0)
