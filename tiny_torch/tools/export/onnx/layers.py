"""What products, convolutions, pooling, norms and recurrent layers become in ONNX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tiny_torch.ops.linalg.matmul import Bmm, Dot, Linear, Matmul, MatmulDot, MatmulMv, Mm, Mv
from tiny_torch.ops.linalg.products import Addmm, Addmv, Baddbmm
from tiny_torch.ops.nn.batch_norm import NativeBatchNorm, NativeGroupNorm
from tiny_torch.ops.nn.conv import Convolution, ConvolutionTranspose
from tiny_torch.ops.nn.layer_norm import NativeLayerNorm
from tiny_torch.ops.nn.padding import CIRCULAR, REFLECT, ConstantPadNd, PadFromInput
from tiny_torch.ops.nn.pool import AdaptiveAvgPool, AvgPool, MaxPool, MaxPoolWithIndices
from tiny_torch.ops.nn.recurrent import Gru, Lstm, RnnRelu, RnnTanh
from tiny_torch.ops.nn.resample import CUBIC, LINEAR, NEAREST, NEAREST_EXACT, Interpolate
from tiny_torch.tools.export.graph import ExportError, Node, Value, is_plain
from tiny_torch.tools.export.onnx.building import Builder, form
from tiny_torch.tools.export.onnx.shapes import END, cut
from tiny_torch.tools.export.sizes import Size

# ---- products -----------------------------------------------------------------------------------


@form(Matmul, Mm, Bmm, Mv, Dot, MatmulMv, MatmulDot)
def matmul(b: Builder, node: Node, x: Value, y: Value) -> str:
    return b.MatMul(b.name(x), b.name(y))


@form(Linear)
def linear(b: Builder, node: Node, x: Value, weight: Value, bias: Value | None) -> str:
    rest = [] if bias is None else [b.name(bias)]
    if len(x.shape) == 2 and (bias is None or len(bias.shape) == 1):
        return b.Gemm(b.name(x), b.name(weight), *rest, transB=1)
    turned = b.Transpose(b.name(weight), perm=[1, 0])
    result = b.MatMul(b.name(x), turned)
    return b.Add(result, *rest) if rest else result


@form(Addmm, Addmv, Baddbmm)
def addmm(
    b: Builder, node: Node, x: Value, left: Value, right: Value, beta: Any, alpha: Any
) -> str:
    result = b.MatMul(b.name(left), b.name(right))
    dtype = node.outputs[0].dtype
    if alpha != 1:
        result = b.Mul(result, b.name(alpha, dtype))
    added = b.name(x) if beta == 1 else b.Mul(b.name(x), b.name(beta, dtype))
    return b.Add(added, result)


# ---- convolution and pooling --------------------------------------------------------------------


@form(Convolution)
def convolution(b: Builder, node: Node, x: Value, w: Value, bias: Value | None, settings: tuple,
                size: Any = None, last: Any = None) -> str:  # fmt: skip
    stride, padding, dilation, groups = settings
    rest = [] if bias is None else [b.name(bias)]
    return b.Conv(b.name(x), b.name(w), *rest, strides=stride,
        pads=[*b.constant_numbers(node, "paddings", padding), *padding], dilations=dilation,
        group=groups, kernel_shape=w.shape[2:],
    )  # fmt: skip


@form(ConvolutionTranspose)
def transposed_convolution(b: Builder, node: Node, x: Value, w: Value, bias: Value | None,
                           size: tuple, settings: tuple) -> str:  # fmt: skip
    stride, padding, dilation, groups = settings
    taps = w.shape[2:]
    more = [
        out - ((n - 1) * s - 2 * p + d * (k - 1) + 1)
        for out, n, s, p, d, k in zip(
            size, x.shape[2:], stride, padding, dilation, taps, strict=True
        )
    ]
    rest = [] if bias is None else [b.name(bias)]
    return b.ConvTranspose(b.name(x), b.name(w), *rest, strides=stride, pads=[*padding, *padding],
        dilations=dilation, group=groups, kernel_shape=taps,
        output_padding=b.constant_numbers(node, "output sizes", more),
    )  # fmt: skip


def add_batch(b: Builder, x: Value, dims: int) -> tuple[str, bool]:
    """x with a batch, and whether it had none."""
    alone = len(x.shape) == dims + 1
    return (b.Unsqueeze(b.name(x), b.ints([0])) if alone else b.name(x)), alone


def ends(node: Node, b: Builder, x: Value, size: tuple, windows: Sequence[tuple]) -> list[int]:
    """How far the last windows of ceil_mode reach beyond the padding."""
    more = []
    for n, out, taps, stride, side, gap in zip(x.shape[-len(size) :], size, *windows, strict=True):
        reach = (out - 1) * stride + gap * (taps - 1) + 1 - (n + 2 * side)
        if isinstance(reach, Size):  # some windows end before the padding does
            reach = 0 if max(reach.values) <= 0 else reach
        more.append(reach if isinstance(reach, Size) else max(reach, 0))
    return b.constant_numbers(node, "windows beyond the padding", more)


@form(MaxPool, MaxPoolWithIndices)
def max_pool(b: Builder, node: Node, x: Value, size: tuple, windows: tuple) -> Any:
    name, alone = add_batch(b, x, len(size))
    if not windows[0]:
        even = even_windows(x.shape[-len(size) :], size)
        if even is None:
            return adaptive_max(b, node, x, size)
        windows = (even, even, (0,) * len(size), (1,) * len(size))
    kernel, stride, padding, dilation = windows
    more = [p + e for p, e in zip(padding, ends(node, b, x, size, windows), strict=True)]
    indices = node.op is MaxPoolWithIndices
    settings = {"kernel_shape": kernel, "strides": stride, "pads": [*padding, *more]}
    found = b.MaxPool(name, outputs=1 + indices, dilations=dilation, **settings)
    if indices:  # ONNX counts through the whole tensor
        plane = b.ints([math.prod(b.constant_numbers(node, "planes", x.shape[-len(size) :]))])
        found = (found[0], b.Mod(found[1], plane))
    if alone:
        squeezed = [b.Squeeze(y, b.ints([0])) for y in (found if indices else (found,))]
        found = tuple(squeezed) if indices else squeezed[0]
    return found


@form(AvgPool, AdaptiveAvgPool)
def avg_pool(b: Builder, node: Node, x: Value, size: tuple, settings: tuple) -> str:
    kernel, stride, padding, counted, divisor = settings
    dims = len(size)
    if not kernel:
        if all(n == 1 for n in size):
            return b.reduce("ReduceMean", b.name(x), range(-dims, 0), True)
        kernel = even_windows(x.shape[-dims:], size)
        if kernel is None:
            return adaptive_mean(b, node, x, size)
        stride, padding = kernel, (0,) * dims
    name, alone = add_batch(b, x, dims)
    windows = (kernel, stride, padding, (1,) * dims)
    more = ends(node, b, x, size, windows)
    if counted and any(padding):  # padding counts, what lies beyond it does not
        sides = [0, 0, *padding]
        name = b.Pad(name, b.ints(sides * 2))
        padding = (0,) * dims
    tail = [p + e for p, e in zip(padding, more, strict=True)]
    y = b.AveragePool(name, kernel_shape=kernel, strides=stride, pads=[*padding, *tail])
    if divisor is not None:
        if any(more) or (any(padding) and not counted):
            raise ExportError(f"{node.name}: divisor_override with partial windows; {node.place}")
        y = b.Mul(y, b.name(math.prod(kernel) / divisor, x.dtype))
    return b.Squeeze(y, b.ints([0])) if alone else y


def even_windows(sizes: Sequence[Any], wanted: Sequence[Any]) -> tuple | None:
    """The windows of adaptive pooling, if all are of one size and do not overlap."""
    pairs = list(zip(sizes, wanted, strict=True))
    windows = [n // out if not isinstance(out, Size) or out == n else None for n, out in pairs]
    if any(type(k) is not int or k * out != n for k, (n, out) in zip(windows, pairs, strict=True)):
        return None
    return tuple(windows)


def bounds(b: Builder, node: Node, n: Any, out: Any) -> list[tuple[int, int]]:
    """Where the windows of adaptive pooling begin and end."""
    n, out = b.constant_numbers(node, "windows", [n, out])
    return [(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]


def adaptive_mean(b: Builder, node: Node, x: Value, size: tuple) -> str:
    """Each dim times a matrix of shares: windows are of several sizes."""
    name, ndim = b.name(x), len(x.shape)
    for d, out in enumerate(size, ndim - len(size)):
        n = x.shape[d]
        shares = np.zeros((n if type(n) is int else 0, out), str(x.dtype).rpartition(".")[2])
        for i, (start, stop) in enumerate(bounds(b, node, n, out)):
            shares[start:stop, i] = 1 / (stop - start)
        order = [*range(ndim)]
        order[d], order[-1] = order[-1], order[d]
        turned = b.MatMul(b.Transpose(name, perm=order), b.constant(shares))
        name = b.Transpose(turned, perm=order)
    return name


def adaptive_max(b: Builder, node: Node, x: Value, size: tuple) -> str:
    """One dim after the other, window for window."""
    if node.op is MaxPoolWithIndices:
        raise ExportError(f"positions of windows of several sizes; {node.place}")
    name = b.name(x)
    for d, out in enumerate(size, len(x.shape) - len(size)):
        rows = [
            b.reduce("ReduceMax", cut(b, name, d, start, stop), [d], True)
            for start, stop in bounds(b, node, x.shape[d], out)
        ]
        name = b.Concat(*rows, axis=d)
    return name


# ---- padding and resampling ---------------------------------------------------------------------


@form(ConstantPadNd)
def pad(b: Builder, node: Node, x: Value, sides: tuple, value: float) -> str:
    first: list[Any] = [0] * len(x.shape)
    last = list(first)
    for i in range(0, len(sides), 2):
        first[-1 - i // 2], last[-1 - i // 2] = sides[i], sides[i + 1]
    return b.Pad(b.name(x), b.ints([*first, *last]), b.name(value, x.dtype), mode="constant")


@form(PadFromInput)
def pad_from_input(b: Builder, node: Node, x: Value, mode: int, plan: tuple, _: bool) -> str:
    firsts, sizes, starts, lengths = plan
    ndim, dims = len(x.shape), len(firsts)
    left = [0 - start for start in starts]
    right = [n + start - size for n, start, size in zip(lengths, starts, sizes, strict=True)]
    left, right = b.constant_numbers(node, "sides", left), b.constant_numbers(node, "sides", right)
    if mode != CIRCULAR:
        sides = [0] * (ndim - dims)
        kind = "reflect" if mode == REFLECT else "edge"
        return b.Pad(b.name(x), b.ints([*sides, *left, *sides, *right]), mode=kind)
    name = b.name(x)
    if any(firsts) or min(left + right) < 0:
        raise ExportError(f"circular padding that cuts off has no form in ONNX; {node.place}")
    for d, before, behind in zip(range(ndim - dims, ndim), left, right, strict=True):
        pieces = [cut(b, name, d, -before, END)] if before else []
        pieces += [name, *([cut(b, name, d, 0, behind)] if behind else [])]
        name = b.Concat(*pieces, axis=d)
    return name


@form(Interpolate)
def interpolate(b: Builder, node: Node, x: Value, size: tuple, settings: tuple) -> str:
    kind, corners, antialias, *scales = settings
    if antialias or kind not in (NEAREST, NEAREST_EXACT, LINEAR, CUBIC):
        raise ExportError(f"{node.name} with antialias has no form in ONNX here; {node.place}")
    attributes: dict[str, Any] = {"mode": "nearest"}
    if kind == NEAREST:
        attributes |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    elif kind == NEAREST_EXACT:
        attributes |= {"coordinate_transformation_mode": "half_pixel",
                       "nearest_mode": "round_prefer_ceil"}  # fmt: skip
    else:
        way = "align_corners" if corners else "half_pixel"
        attributes = {"mode": "linear" if kind == LINEAR else "cubic",
                      "coordinate_transformation_mode": way}  # fmt: skip
        if kind == CUBIC:
            attributes["cubic_coeff_a"] = -0.75
    scales = scales[: len(size)]
    if None not in scales:
        factors = b.constant(np.array([1, 1, *scales], np.float32))
        return b.Resize(b.name(x), "", factors, **attributes)
    return b.Resize(b.name(x), "", "", b.ints([*x.shape[:2], *size]), **attributes)


# ---- norms --------------------------------------------------------------------------------------


def constant_per_channel(b: Builder, node: Node, x: Value, channels: Any, value: float) -> str:
    shape = b.constant_numbers(node, "channels", [channels])
    return b.constant(np.full(shape, value, str(x.dtype).rpartition(".")[2]))


def scale_channels(b: Builder, y: str, weight: Value | None, bias: Value | None, dims: int) -> str:
    """y times a weight per channel, plus a bias."""
    for write, value in ((b.Mul, weight), (b.Add, bias)):
        if value is not None:
            y = write(y, b.reshape(b.name(value), [-1, *[1] * dims]))
    return y


@form(NativeBatchNorm)
def batch_norm(b: Builder, node: Node, x: Value, weight: Value | None, bias: Value | None,
               mean: Any, var: Any, training: bool, *rest: float) -> str:  # fmt: skip
    eps, channels = rest[-1], x.shape[1]
    if not training:
        names = [
            b.name(value)
            if value is not None
            else constant_per_channel(b, node, x, channels, default)
            for value, default in ((weight, 1.0), (bias, 0.0), (mean, 0.0), (var, 1.0))
        ]
        return b.BatchNormalization(b.name(x), *names, epsilon=eps)
    if mean is not None:
        raise ExportError(f"batch norm in training updates its statistics: eval(); {node.place}")
    dims = [0, *range(2, len(x.shape))]
    away = b.Sub(b.name(x), b.reduce("ReduceMean", b.name(x), dims, True))
    variance = b.reduce("ReduceMean", b.Mul(away, away), dims, True)
    root = b.Sqrt(b.Add(variance, b.name(eps, x.dtype)))
    return scale_channels(b, b.Div(away, root), weight, bias, len(x.shape) - 2)


@form(NativeGroupNorm)
def group_norm(b: Builder, node: Node, x: Value, weight: Value | None, bias: Value | None,
               groups: int, eps: float, *running: Any) -> str:  # fmt: skip
    ones, zeros = (constant_per_channel(b, node, x, groups, value) for value in (1.0, 0.0))
    if groups == x.shape[1] and len(x.shape) > 2:
        ones = ones if weight is None else b.name(weight)
        zeros = zeros if bias is None else b.name(bias)
        return b.InstanceNormalization(b.name(x), ones, zeros, epsilon=eps)
    rows = b.Reshape(b.name(x), b.ints([0, groups, -1]))
    y = b.InstanceNormalization(rows, ones, zeros, epsilon=eps)
    y = b.Reshape(y, b.Shape(b.name(x)))
    return scale_channels(b, y, weight, bias, len(x.shape) - 2)


@form(NativeLayerNorm)
def layer_norm(b: Builder, node: Node, x: Value, weight: Value | None, bias: Value | None,
               dims: int, eps: float) -> str:  # fmt: skip
    shape = b.constant_numbers(node, "normalised sizes", x.shape[-dims:])
    if weight is not None:
        scale = b.name(weight)
    else:
        scale = b.constant(np.ones(shape, str(x.dtype).rpartition(".")[2]))
    rest = [] if bias is None else [b.name(bias)]
    return b.LayerNormalization(b.name(x), scale, *rest, axis=-dims, epsilon=eps)


# ---- recurrent layers ---------------------------------------------------------------------------

RECURRENT = {RnnTanh: "RNN", RnnRelu: "RNN", Lstm: "LSTM", Gru: "GRU"}
# where ONNX's gates stand among PyTorch's: LSTM i o f c of i f g o, GRU z r h of r z n
GATES = {"RNN": [0], "LSTM": [0, 3, 1, 2], "GRU": [1, 0, 2]}


def gates(b: Builder, kind: str, weight: Value) -> np.ndarray:
    """A weight of the gates in ONNX's order."""
    if not is_plain(weight) or weight.from_input:
        raise ExportError(f"{kind}: its weights must be parameters")
    parts = np.split(weight.numpy(), len(GATES[kind]))
    return np.concatenate([parts[i] for i in GATES[kind]])


def gate_constant(b: Builder, kind: str, *weights: Value) -> str:
    """Weights behind each other; by their name, or by what they hold if one was computed."""
    array = np.concatenate([gates(b, kind, w) for w in weights])[None]
    named = all(w.name for w in weights)
    return b.constant(array, f"{weights[0].name}.gates" if named else "constant")


@form(*RECURRENT)
def recurrent(b: Builder, node: Node, x: Value, h0: Value, c0: Value | None, w_ih: Value,
              w_hh: Value, b_ih: Value | None, b_hh: Value | None, sizes: tuple,
              reverse: bool) -> tuple[str, ...]:  # fmt: skip
    kind = RECURRENT[node.op]
    batch = sizes[0]
    if any(size != batch for size in sizes):
        raise ExportError(f"{kind} of packed sequences has no form in ONNX here; {node.place}")
    steps = x.shape[0] // batch
    hidden = w_hh.shape[1]
    sequence = b.reshape(b.name(x), [steps, batch, x.shape[1]])
    weights = [gate_constant(b, kind, w) for w in (w_ih, w_hh)]
    biases = ""
    if b_ih is not None and b_hh is not None:
        biases = gate_constant(b, kind, b_ih, b_hh)
    states = [b.Unsqueeze(b.name(s), b.ints([0])) for s in (h0, c0) if s is not None]
    attributes: dict[str, Any] = {"direction": "reverse" if reverse else "forward"}
    if kind == "GRU":
        attributes["linear_before_reset"] = 1
    if kind == "RNN":
        attributes["activations"] = [node.name.removeprefix("Rnn")]
    found = b.op(
        kind, sequence, *weights, biases, "", *states, outputs=1 + len(states), hidden_size=hidden,
        **attributes,
    )  # fmt: skip
    y = b.reshape(found[0], [-1, hidden])
    return y, *[b.Squeeze(state, b.ints([0])) for state in found[1:]]
