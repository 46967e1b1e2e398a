"""scaled_dot_product_attention, and which way it is computed."""

from __future__ import annotations

import math
import threading
from contextlib import ContextDecorator
from enum import Enum
from functools import partial

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.graph import edge_of
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.modes import Scope
from tiny_torch.functions.common import check_kind, check_tensor, check_tensors
from tiny_torch.functions.nn.dropout import check_probability, dropout
from tiny_torch.ops.nn.attention import ScaledDotProductFlashAttentionForCpu, compose
from tiny_torch.ops.shape.join import broadcast_shapes
from tiny_torch.tensor import Tensor

FUNCTION = "scaled_dot_product_attention"


class SDPBackend(Enum):
    """Ways to compute attention. Here MATH is made of simple ops; all others are one kernel.

    Source: PyTorch, torch.nn.attention.SDPBackend.
    """

    __module__ = "tiny_torch.nn.attention"

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return self.value


class _Allowed(threading.local):
    backends: tuple[SDPBackend, ...] = tuple(SDPBackend)


_allowed = _Allowed()


def is_allowed(backend: SDPBackend) -> bool:
    return backend in _allowed.backends


def allow(backend: SDPBackend, allowed: bool) -> None:
    others = tuple(other for other in _allowed.backends if other is not backend)
    _allowed.backends = (*others, backend) if allowed else others


def only_composed() -> bool:
    """Whether the kernel is not to be used. RuntimeError if neither it nor MATH may be."""
    backends = _allowed.backends
    if SDPBackend.FLASH_ATTENTION in backends:
        return False
    if SDPBackend.MATH not in backends:
        raise RuntimeError("No viable backend for scaled_dot_product_attention was found.")
    return True


class Kernels(Scope, ContextDecorator):
    """What `sdpa_kernel` answers."""

    def __init__(self, backends: list[SDPBackend] | SDPBackend) -> None:
        self.backends = backends

    def current(self) -> tuple[SDPBackend, ...]:
        return _allowed.backends

    def begin(self) -> dict:
        backends = self.backends
        if not isinstance(backends, list | SDPBackend):
            raise AssertionError(
                "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                f"{type(backends).__name__}"
            )
        _allowed.backends = (backends,) if isinstance(backends, SDPBackend) else tuple(backends)
        return {}

    def restore(self, before: tuple[SDPBackend, ...]) -> None:
        _allowed.backends = before


def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Kernels:
    """Within it attention is computed in one of these ways: by the kernel if FLASH_ATTENTION is in.

    Raises AssertionError for anything else.
    Source: PyTorch, torch.nn.attention.sdpa_kernel.

    >>> import tiny_torch as torch
    >>> with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    ...     x = torch.nn.functional.scaled_dot_product_attention(*torch.ones(3, 1, 2))
    >>> x
    tensor([[1., 1.]])
    """
    return Kernels(backends)


@as_one
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(scale q kᵀ + mask) v: query (*, L, E), key (*, S, E), value (*, S, V) -> (*, L, V).

    Leading dims are broadcast. `attn_mask`, broadcast to (*, L, S), is bool (True where a key may
    be seen) or added to the scores; with `is_causal` query i sees the keys up to i. A row that sees
    no key is 0. `scale` is by default 1 / sqrt(E). With `enable_gqa` heads (dim -3) of key and
    value each serve several of the query. Probabilities are dropped by `dropout_p`, also in
    evaluation. Memory grows with L + S, but for dropout, a mask that requires grad, and second
    derivatives. Raises RuntimeError where shapes or dtypes do not fit.
    Source: PyTorch, nn.functional.scaled_dot_product_attention; Dao et al. 2022.

    >>> import tiny_torch as torch
    >>> q, k, v = torch.zeros(1, 2), torch.ones(2, 2), torch.tensor([[1.0], [3.0]])
    >>> torch.nn.functional.scaled_dot_product_attention(q, k, v)
    tensor([[2.]])
    """
    check_arguments(query, key, value, attn_mask, dropout_p, scale)
    factor = 1 / math.sqrt(query.shape[-1] or 1) if scale is None else float(scale)
    if enable_gqa:
        key, value = shared_heads(query, key, value)
    query, key, value = expand_leading(query, key, value)
    if key.shape[-2] != value.shape[-2]:
        raise RuntimeError(
            f"{FUNCTION}: expected as many values as keys, got {list(key.shape)} and "
            f"{list(value.shape)}"
        )
    if attn_mask is not None:
        simply = only_composed() or dropout_p or edge_of(attn_mask) is not None
        if is_causal and (simply or query.ndim != 4 or attn_mask.ndim == 3):
            raise RuntimeError(  # else PyTorch's kernel takes both
                f"_{FUNCTION}: Explicit attn_mask should not be set when is_causal=True"
            )
        check_mask(attn_mask, query, key)
        if attn_mask.ndim < 2:
            attn_mask = attn_mask.expand(query.shape[-2], key.shape[-2])
    if dropout_p or only_composed() or (attn_mask is not None and edge_of(attn_mask) is not None):
        drop = partial(dropout, p=dropout_p)
        return compose(query, key, value, attn_mask, is_causal, factor, drop)
    arguments = query, key, value, attn_mask, is_causal, factor
    return apply(ScaledDotProductFlashAttentionForCpu, *arguments)


def check_arguments(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    scale: float | None,
) -> None:
    check_tensors(FUNCTION, {"query": query, "key": key, "value": value})
    if attn_mask is not None:
        check_tensor(FUNCTION, "attn_mask", 4, attn_mask)
    for name, number in (("dropout_p", dropout_p), ("scale", scale)):
        check_kind(FUNCTION, name, None, number, "float", float | int | None)
    dtype = query.dtype
    if key.dtype is not dtype or value.dtype is not dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if not dtype.is_floating_point:
        raise RuntimeError(f"{FUNCTION}: expected a floating dtype, got {query.dtype}")
    if query.shape[-1] != key.shape[-1]:
        raise RuntimeError(
            f"{FUNCTION}: query and key must have the same size in the last dim, got "
            f"{list(query.shape)} and {list(key.shape)}"
        )
    check_probability(dropout_p)
    if attn_mask is not None and attn_mask.dtype not in (_core.bool, _core.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {attn_mask.dtype} and  query.dtype: {query.dtype} instead."
        )


def check_mask(mask: Tensor, query: Tensor, key: Tensor) -> None:
    if query.ndim == 4:
        mask.size(-2)  # raises IndexError
    wanted = (*query.shape[:-1], key.shape[-2])
    fits = mask.ndim <= len(wanted) and all(
        n in (1, size) for n, size in zip(mask.shape[::-1], wanted[::-1], strict=False)
    )
    if not fits:
        raise RuntimeError(
            f"{FUNCTION}: attn_mask of shape {list(mask.shape)} does not broadcast to "
            f"{list(wanted)}"
        )


def shared_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Key and value with each head repeated, as many times as the query has heads for it."""
    heads = query.size(-3)
    result = []
    for tensor in (key, value):
        own, shape = tensor.size(-3), tensor.shape
        if own == 0:  # of no keys a query sees nothing
            result.append(tensor.new_zeros((*shape[:-3], heads, *shape[-2:])))
            continue
        if heads % own:
            raise RuntimeError(
                "Number of heads in key and value must divide the number of heads in query, got "
                f"{own} and {heads}"
            )
        times = heads // own
        repeated = tensor.unsqueeze(-3).expand(*shape[:-2], times, *shape[-2:])
        result.append(repeated.flatten(-4, -3))
    return result[0], result[1]


def expand_leading(*tensors: Tensor) -> list[Tensor]:
    """The tensors with the same leading dims."""
    leading = [tensor.shape[:-2] for tensor in tensors]
    if leading[0] == leading[1] == leading[2]:
        return list(tensors)
    shape = broadcast_shapes(*leading)
    return [tensor.expand(*shape, *tensor.shape[-2:]) for tensor in tensors]
