"""What convolutions, pooling, norms and recurrent layers become in C."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tiny_torch.ops.nn.batch_norm import NativeBatchNorm, NativeGroupNorm
from tiny_torch.ops.nn.conv import Convolution, ConvolutionTranspose
from tiny_torch.ops.nn.layer_norm import NativeLayerNorm, RmsNorm
from tiny_torch.ops.nn.pool import AdaptiveAvgPool, AvgPool, MaxPool
from tiny_torch.ops.nn.recurrent import Gru, Lstm, RnnRelu, RnnTanh
from tiny_torch.tools.export.c.plan import View, whole
from tiny_torch.tools.export.c.writing import SCRATCH, Writer, form, number
from tiny_torch.tools.export.graph import ExportError, Node, Value


def in_plane(node: Node, sizes: Sequence[int], fill: int) -> tuple[int, int]:
    """The sizes of one or two spatial dims as two."""
    if len(sizes) > 2:
        raise ExportError(f"{node.name} in {len(sizes)} dims has no form in C; {node.place}")
    return (fill, sizes[0]) if len(sizes) == 1 else (sizes[0], sizes[1])


@form(Convolution, ConvolutionTranspose)
def write_convolution(w: Writer, node: Node, x: Value, weight: Value, bias: Value | None,
                *rest: Any) -> None:  # fmt: skip
    out = node.outputs[0]
    turned = node.op is ConvolutionTranspose
    stride, padding, dilation, groups = rest[1] if turned else rest[0]
    n, c, *sizes = x.shape
    w.call(
        "conv_transpose2d" if turned else "conv2d", w.pointer(x), w.pointer(weight),
        w.or_null(bias), w.pointer(out), n, c, *in_plane(node, sizes, 1), out.shape[1],
        *in_plane(node, weight.shape[2:], 1), *in_plane(node, out.shape[2:], 1),
        *in_plane(node, stride, 1), *in_plane(node, padding, 0), *in_plane(node, dilation, 1),
        groups,
    )  # fmt: skip


def pool(w: Writer, node: Node, function: str, x: Value, size: tuple, *settings: Any) -> None:
    dims = len(size)
    planes = prod(x.shape[:-dims])
    w.call(function, w.pointer(x), w.pointer(node.outputs[0]), planes,
           *in_plane(node, x.shape[-dims:], 1), *in_plane(node, size, 1), *settings)  # fmt: skip


@form(MaxPool)
def write_max_pool(w: Writer, node: Node, x: Value, size: tuple, windows: tuple) -> None:
    if not windows[0]:
        return pool(w, node, "adaptive_pool2d", x, size, 1)
    kernel, stride, padding, dilation = windows
    return pool(
        w, node, "max_pool2d", x, size, *in_plane(node, kernel, 1), *in_plane(node, stride, 1),
        *in_plane(node, padding, 0), *in_plane(node, dilation, 1),
    )  # fmt: skip


@form(AvgPool, AdaptiveAvgPool)
def write_avg_pool(w: Writer, node: Node, x: Value, size: tuple, settings: tuple) -> None:
    kernel, stride, padding, counted, divisor = settings
    if not kernel:
        return pool(w, node, "adaptive_pool2d", x, size, 0)
    return pool(
        w, node, "avg_pool2d", x, size, *in_plane(node, kernel, 1), *in_plane(node, stride, 1),
        *in_plane(node, padding, 0), int(counted), divisor or 0,
    )  # fmt: skip


@form(NativeBatchNorm)
def write_batch_norm(w: Writer, node: Node, x: Value, *rest: Any) -> None:
    if node.arguments[5]:
        raise ExportError(f"batch norm by the batch's statistics: eval() first; {node.place}")
    out = node.outputs[0]
    operands = [(w.pointer(x), whole(x.shape))]
    per_channel = View(x.shape, (0, 1) + (0,) * (len(x.shape) - 2))
    for array, name in zip(channel_map(node), ("scale", "shift"), strict=True):
        pointer = w.constant(array.astype(np.float32), f"{node.module}.{name}")
        operands.append((pointer, per_channel))
    w.loops(w.pointer(out), whole(out.shape), operands, "{0} * {1} + {2}")


def channel_map(norm: Node) -> tuple[np.ndarray, np.ndarray]:
    """(a, b) with a x + b for what a batch norm does to a channel x, in double precision."""
    _, weight, bias, mean, var, _, _, eps = norm.arguments
    factor = 1 / np.sqrt(var.numpy().astype(np.float64) + eps)
    if weight is not None:
        factor = factor * weight.numpy()
    term = -factor * mean.numpy()
    return factor, term if bias is None else term + bias.numpy()


@form(NativeLayerNorm, RmsNorm)
def write_layer_norm(w: Writer, node: Node, x: Value, weight: Value | None, bias: Value | None,
               dims: int, eps: float) -> None:  # fmt: skip
    rows, n = prod(x.shape[:-dims]), prod(x.shape[-dims:])
    w.call("norm", w.pointer(x), w.or_null(weight), w.or_null(bias), w.pointer(node.outputs[0]),
           rows, n, 1, 1, number(eps, "float"), int(node.op is not RmsNorm))  # fmt: skip


@form(NativeGroupNorm)
def write_group_norm(w: Writer, node: Node, x: Value, weight: Value | None, bias: Value | None,
               groups: int, eps: float, *running: Any) -> None:  # fmt: skip
    inner = prod(x.shape[2:])
    w.call("norm", w.pointer(x), w.or_null(weight), w.or_null(bias), w.pointer(node.outputs[0]),
           x.shape[0] * groups, x.shape[1] // groups * inner, inner, groups,
           number(eps, "float"), 1)  # fmt: skip


RECURRENT = {Lstm: ("lstm", 4), Gru: ("gru", 3), RnnTanh: ("rnn", 1), RnnRelu: ("rnn", 1)}


@form(*RECURRENT)
def write_recurrent(w: Writer, node: Node, x: Value, h0: Value, c0: Value | None, w_ih: Value,
              w_hh: Value, b_ih: Value | None, b_hh: Value | None, sizes: tuple,
              reverse: bool) -> None:  # fmt: skip
    if len(set(sizes)) > 1:
        raise ExportError(f"{node.name} of packed sequences has no form in C; {node.place}")
    y, *states = (w.pointer(value) for value in node.outputs)
    batch, hidden = sizes[0], w_hh.shape[1]
    for state, first in zip(states, (h0, c0), strict=False):
        if first is not None:
            w.lines.append(
                f"memcpy({state}, {w.pointer(first)}, {batch * hidden} * sizeof(float));"
            )
    function, _ = RECURRENT[node.op]
    last = [int(node.op is RnnRelu)] if function == "rnn" else []
    w.call(function, w.pointer(x), w.transpose_weight(w_ih), w.transpose_weight(w_hh),
           w.or_null(b_ih), w.or_null(b_hh), *states, y, w.scratch(node), len(sizes), batch,
           x.shape[1], hidden, int(reverse), *last)  # fmt: skip


def gates(node: Node) -> int:
    """Floats for the shares of the input and of the state in one step's gates."""
    hidden, batch = node.arguments[4].shape[1], node.arguments[7][0]
    return 2 * RECURRENT[node.op][1] * batch * hidden


SCRATCH.update(dict.fromkeys(RECURRENT, gates))
