"""Layers of recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one, plain_of
from tiny_torch.ops.nn.recurrent import Gru, Lstm, RnnRelu, RnnTanh
from tiny_torch.tensor import Tensor

KINDS = {"RNN_TANH": RnnTanh, "RNN_RELU": RnnRelu, "LSTM": Lstm, "GRU": Gru}


@as_one
def recurrent_layer(
    mode: str,
    x: Tensor,
    sizes: list[int],
    state: tuple[Tensor | None, ...],
    weights: Sequence[Tensor],
    biases: bool,
    reverse: bool = False,
) -> tuple[Tensor, ...]:
    """One direction of a layer: (y, last h), for mode "LSTM" (y, last h, last c).

    `weights` are w_ih, w_hh, then the two biases if `biases`, then an LSTM's projection, whose
    layer computes halves in float32 as the others' op does.
    """
    op = KINDS[mode]
    dtype = x.dtype
    inputs: list[Any] = [x, *state, *weights]
    if dtype.itemsize == 2:  # autocast gives some layers weights of float32
        is_projected = len(weights) % 2
        inputs = [t if t is None else t.float() if is_projected else t.to(dtype) for t in inputs]
    x, h0, c0, w_ih, w_hh, *rest = inputs
    b_ih, b_hh = (rest.pop(0), rest.pop(0)) if biases else (None, None)
    arguments = (x, h0, c0, w_ih, w_hh, b_ih, b_hh)
    if not rest:
        return apply(op, *arguments, sizes, reverse)
    return tuple([r.to(dtype) for r in op.composite(*arguments, sizes, reverse, rest[0])])


@as_one
def recurrent_cell(
    mode: str,
    x: Tensor,
    sizes: list[int],
    state: tuple[Tensor | None, ...],
    weights: Sequence[Tensor],
    biases: bool,
) -> tuple[Tensor, ...]:
    """One step of a layer, which autocast tells from a layer."""
    return plain_of(recurrent_layer)(mode, x, sizes, state, weights, biases)
