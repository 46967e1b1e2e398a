"""Layers on the device `cuda-emulated` give what they give on the CPU: values and gradients.

Their families: matmul, embedding, pool, conv, fold, resample, attention and recurrent. Sizes are
such that tiles and blocks are full, cut off at an edge, and many.
"""

from __future__ import annotations

import pytest
from helpers import CUDA as DEVICE
from helpers import agreed, compare

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F


def floats(*shape, dtype=torch.float32, last=False):
    """Random numbers that require gradients; `last`: channels are last in memory."""

    def make():
        x = torch.randn(shape, dtype=dtype)
        if last:
            x = x.to(memory_format=torch.channels_last)
        return x.requires_grad_()

    return make


def numbers(*shape, low=0, below=7, dtype=torch.int64):
    return lambda: torch.randint(low, below, shape, dtype=dtype)


def values(*list, dtype=None):
    return lambda: torch.tensor(list, dtype=dtype)


def ties(*shape):
    """Small integers, of which windows have several that are the largest; and NaN."""

    def make():
        x = torch.randint(0, 3, shape).float()
        x.view(-1)[:: max(x.numel() // 5, 1)] = float("nan")
        return x.requires_grad_()

    return make


def option(function, **options):
    return lambda *inputs: function(*inputs, **options)


def module(make, *arguments, **options):
    return lambda: make(*arguments, **options)


DOUBLE, HALF, BFLOAT = torch.float64, torch.float16, torch.bfloat16

MATMUL = {
    "one tile": (torch.matmul, floats(5, 7), floats(7, 3)),
    "tiles": (torch.matmul, floats(33, 40), floats(40, 50)),
    "whole tiles": (torch.matmul, floats(32, 16, dtype=DOUBLE), floats(16, 48, dtype=DOUBLE)),
    "transposed": (lambda a, b: a.T @ b.T, floats(20, 17), floats(18, 20)),
    "batches": (torch.matmul, floats(2, 3, 17, 18), floats(3, 18, 5)),
    "broadcast": (torch.matmul, floats(2, 1, 5, 4), floats(7, 4, 3)),
    "vectors": (torch.matmul, floats(40), floats(40)),
    "long vectors": (torch.matmul, floats(3000), floats(3000)),
    "long sums": (torch.matmul, floats(2, 3, 1030, dtype=DOUBLE), floats(2, 1030, 5, dtype=DOUBLE)),
    "row": (torch.matmul, floats(1, 40), floats(40, 20)),
    "no columns": (torch.matmul, floats(3, 0), floats(0, 4)),
    "bias": (F.linear, floats(6, 20), floats(19, 20), floats(19)),
    "bias alone": (F.linear, floats(3, 0), floats(5, 0), floats(5)),
    "half": (torch.matmul, floats(5, 7, dtype=HALF), floats(7, 3, dtype=HALF)),
    "bfloat16": (F.linear, *(floats(*s, dtype=BFLOAT) for s in ((4, 6), (5, 6), (5,)))),
    "addmm": (option(torch.addmm, beta=0.5), floats(5, 3), floats(5, 7), floats(7, 3)),
    **{
        f"wraps {dtype}": (
            torch.matmul,
            numbers(18, 19, below=127, dtype=dtype),
            numbers(19, 17, below=127, dtype=dtype),
        )
        for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    },
}

BAG = (numbers(9), floats(7, 8), values(0, 2, 2))
EMBEDDING = {
    "rows": (F.embedding, numbers(5, 3), floats(7, 8)),
    "padding": (option(F.embedding, padding_idx=2), numbers(50), floats(7, 8)),
    "by frequency": (option(F.embedding, scale_grad_by_freq=True), numbers(50), floats(7, 8)),
    "many entries": (F.embedding, numbers(600, below=3), floats(3, 2, dtype=DOUBLE)),
    "many rows, few entries": (F.embedding, numbers(9, below=700), floats(700, 3)),
    "several tiles of a sort": (F.embedding, numbers(600, below=90), floats(90, 2, dtype=DOUBLE)),
    "many columns": (F.embedding, numbers(9), floats(7, 300)),
    "half": (F.embedding, numbers(9), floats(7, 8, dtype=BFLOAT)),
    "sum": (option(F.embedding_bag, mode="sum"), *BAG),
    "mean": (option(F.embedding_bag, padding_idx=2), *BAG),
    "max": (option(F.embedding_bag, mode="max"), *BAG),
    "max, padding": (option(F.embedding_bag, mode="max", padding_idx=2), *BAG),
    "mean, double": (F.embedding_bag, numbers(9), floats(7, 8, dtype=DOUBLE), values(0, 2, 2)),
    "mean, frequency": (option(F.embedding_bag, scale_grad_by_freq=True), *BAG),
    "weights": (
        lambda i, w, o, s: F.embedding_bag(i, w, o, per_sample_weights=s, mode="sum"),
        *(*BAG, floats(9)),
    ),
    "no entries": (F.embedding_bag, numbers(0), floats(7, 8), values(0, 0)),
}


def pooled(function, size, **options):
    return lambda x: function(x, size, **options)


def pooled_at(function, size, **options):
    return lambda x: function(x, size, return_indices=True, **options)


POOL = {
    "max": (pooled_at(F.max_pool2d, 2), floats(2, 3, 8, 6)),
    "max, last": (pooled_at(F.max_pool2d, 2), floats(2, 3, 8, 6, last=True)),
    "max, overlaps": (pooled_at(F.max_pool2d, 3, stride=1, padding=1), ties(2, 3, 7, 6)),
    "max, dilation": (pooled_at(F.max_pool2d, 3, padding=1, dilation=3), ties(1, 2, 19, 17)),
    "max, 1d": (pooled_at(F.max_pool1d, 3, stride=2, ceil_mode=True), floats(2, 3, 12)),
    "max, 3d": (pooled_at(F.max_pool3d, 2, stride=1), floats(2, 2, 4, 5, 3, dtype=DOUBLE)),
    "max, wide": (pooled_at(F.max_pool2d, 17), floats(1, 2, 20, 19)),
    "max, adaptive": (pooled_at(F.adaptive_max_pool2d, (3, 5)), floats(2, 2, 7, 9)),
    "max, half": (pooled(F.max_pool2d, 2), floats(1, 2, 4, 4, dtype=HALF)),
    "max, integers": (pooled(F.max_pool2d, 2), numbers(1, 2, 4, 4)),
    "average": (pooled(F.avg_pool2d, 3, stride=2, padding=1), floats(2, 3, 9, 8)),
    "average, last": (pooled(F.avg_pool2d, 2), floats(2, 3, 9, 8, last=True)),
    "average, uncounted": (
        pooled(F.avg_pool2d, 3, padding=1, count_include_pad=False),
        floats(2, 3, 9, 8),
    ),
    "average, 3d": (pooled(F.avg_pool3d, 2), floats(1, 2, 4, 5, 6, dtype=DOUBLE)),
    "average, adaptive": (pooled(F.adaptive_avg_pool2d, (3, 4)), floats(2, 2, 7, 9)),
    "average, all": (pooled(F.adaptive_avg_pool2d, 1), floats(2, 3, 20, 19)),
    "average, integers": (pooled(F.avg_pool2d, 2), numbers(1, 2, 6, 6, low=-9)),
    "unpool": (
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
        floats(1, 2, 4, 6),
    ),
}

RESAMPLE = {
    mode: (option(F.interpolate, size=size, mode=mode), floats(2, 3, 5, 6))
    for mode, size in {"nearest": (11, 9), "bilinear": (8, 13), "bicubic": (9, 4)}.items()
} | {
    "area": (option(F.interpolate, size=(3, 4), mode="area"), floats(2, 3, 7, 6)),
    "linear": (option(F.interpolate, scale_factor=1.7, mode="linear"), floats(2, 3, 8)),
    "trilinear": (
        option(F.interpolate, size=(3, 5, 4), mode="trilinear", align_corners=True),
        floats(1, 2, 4, 3, 6, dtype=DOUBLE),
    ),
    "nearest, last": (
        option(F.interpolate, scale_factor=2),
        floats(2, 3, 5, 4, last=True),
    ),
    "smooth": (
        option(F.interpolate, size=(3, 3), mode="bilinear", antialias=True),
        floats(1, 2, 9, 8),
    ),
    "half": (option(F.interpolate, scale_factor=2), floats(1, 2, 3, 3, dtype=BFLOAT)),
    "bytes": (
        option(F.interpolate, scale_factor=2),
        numbers(1, 2, 3, 3, below=255, dtype=torch.uint8),
    ),
}

FOLD = {
    "unfold": (option(F.unfold, kernel_size=3), floats(2, 3, 7, 6)),
    "unfold, spread": (
        option(F.unfold, kernel_size=(2, 3), dilation=(3, 1), padding=(2, 1), stride=(1, 2)),
        floats(2, 3, 7, 6, dtype=DOUBLE),
    ),
    "fold": (
        option(F.fold, output_size=(7, 6), kernel_size=(2, 3), padding=1, stride=2),
        floats(2, 12, 12),
    ),
    "fold, half": (
        option(F.fold, output_size=4, kernel_size=2),
        floats(1, 8, 9, dtype=BFLOAT),
    ),
}


def conv(spatial, **options):
    return option((F.conv1d, F.conv2d, F.conv3d)[spatial - 1], **options)


def transposed(**options):
    return option(F.conv_transpose2d, **options)


def infinite(x, w):
    """Padding meets an infinite weight as nothing, not as a zero."""
    return F.conv2d(x, w / (w.abs() > 0.3), padding=1)


CONV = {
    "2d": (conv(2, padding=1), floats(2, 3, 7, 6), floats(4, 3, 3, 3), floats(4)),
    "tiles": (conv(2), floats(2, 17, 6, 5), floats(18, 17, 3, 2), floats(18)),
    "last": (
        conv(2, padding=1),
        *(floats(2, 3, 7, 6, last=True), floats(4, 3, 3, 3, last=True), floats(4)),
    ),
    "stride, dilation": (
        conv(2, stride=(2, 3), padding=(2, 1), dilation=(1, 2)),
        *(floats(2, 3, 9, 11, dtype=DOUBLE), floats(4, 3, 3, 2, dtype=DOUBLE)),
    ),
    "many pixels": (conv(2, padding=1), floats(2, 2, 41, 40), floats(3, 2, 3, 3)),
    "groups": (conv(2, groups=2), floats(2, 6, 5, 5), floats(8, 3, 2, 2), floats(8)),
    "1d": (conv(1, padding=2), floats(2, 3, 20), floats(5, 3, 4)),
    "3d": (conv(3, stride=2, padding=1), floats(1, 2, 4, 5, 6), floats(3, 2, 2, 3, 3)),
    "points": (conv(2), floats(2, 5, 4, 6), floats(7, 5, 1, 1), floats(7)),
    "whole image": (conv(2), floats(3, 2, 5, 4), floats(6, 2, 5, 4)),
    "depthwise": (conv(2, groups=6, padding=1), floats(2, 6, 7, 5), floats(6, 1, 3, 3), floats(6)),
    "depthwise, strides": (
        conv(2, groups=3, stride=2, dilation=2),
        *(floats(2, 3, 20, 30, dtype=DOUBLE), floats(3, 1, 2, 3, dtype=DOUBLE)),
    ),
    "transposed": (
        transposed(stride=2, padding=1, output_padding=1),
        *(floats(2, 4, 4, 5), floats(4, 3, 3, 3), floats(3)),
    ),
    "transposed, unseen": (transposed(stride=3), floats(1, 2, 3, 3), floats(2, 2, 1, 2)),
    "transposed, groups": (
        transposed(stride=2, groups=2),
        *(floats(1, 4, 3, 3, last=True), floats(4, 3, 2, 3)),
    ),
    "half": (conv(2), floats(1, 2, 4, 4, dtype=HALF), floats(3, 2, 2, 2, dtype=HALF)),
    "infinite weights": (infinite, floats(1, 2, 4, 5), floats(3, 2, 3, 3)),
    "integers": (
        conv(2, padding=1, stride=2),
        *(numbers(2, 3, 5, 6, below=99), numbers(4, 3, 3, 2, low=-99), numbers(4)),
    ),
    "bytes": (
        conv(2, groups=2, dilation=2),
        *(numbers(2, 4, 5, 6, below=255, dtype=torch.uint8),),
        *(numbers(6, 2, 2, 2, below=255, dtype=torch.uint8),),
    ),
    "transposed, integers": (transposed(stride=2), numbers(1, 4, 3, 3), numbers(4, 2, 2, 3)),
}


def attention(**options):
    return option(F.scaled_dot_product_attention, **options)


def heads(*shape, dtype=torch.float32):
    """q, k and v of (*, queries, keys, width, value_width)."""
    *batch, queries, keys, width, value_width = shape
    sizes = (queries, width), (keys, width), (keys, value_width)
    return [floats(*batch, *size, dtype=dtype) for size in sizes]


def seen(queries, keys):
    """A mask, one row of which hides all keys."""
    return lambda: (torch.rand(queries, keys) > 0.4).index_fill(0, torch.tensor([1]), False)


def masked(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


ATTENTION = {
    "one tile": (attention(), *heads(1, 2, 5, 7, 8, 8)),
    "tiles": (attention(scale=0.3), *heads(2, 3, 33, 40, 20, 18)),
    "whole tiles, double": (attention(), *heads(1, 1, 32, 16, 16, 64, dtype=DOUBLE)),
    "chunks": (attention(), *heads(1, 5, 6, 70, 130)),
    "causal": (attention(is_causal=True), *heads(1, 2, 40, 40, 8, 8)),
    "causal, fewer keys": (attention(is_causal=True), *heads(1, 2, 40, 20, 8, 8)),
    "causal, more keys": (attention(is_causal=True), *heads(1, 2, 18, 40, 8, 8)),
    "bool mask": (masked, *heads(1, 2, 20, 30, 8, 8), seen(20, 30)),
    "float mask": (masked, *heads(2, 1, 6, 5, 4, 4), lambda: torch.randn(2, 1, 6, 5)),
    "half": (attention(is_causal=True), *heads(1, 1, 5, 5, 4, 4, dtype=BFLOAT)),
    "large scores": (attention(scale=30.0), *heads(1, 1, 18, 40, 8, 8)),
    "module": (
        lambda module, x: module(x, x, x)[0],
        module(nn.MultiheadAttention, 8, 2, batch_first=True),
        floats(2, 5, 8),
    ),
}


def packed(module, x):
    sequences = nn.utils.rnn.PackedSequence(x, torch.tensor([3, 3, 2, 1]))  # sizes: on the CPU
    out, state = module(sequences)
    return out.data, *(state if isinstance(state, tuple) else (state,))


def padded(module, x):
    out, state = module(x)
    return out, *(state if isinstance(state, tuple) else (state,))


RNN = {"input_size": 3, "hidden_size": 5, "num_layers": 2, "bidirectional": True}
WIDE = {"input_size": 4, "hidden_size": 20}
RECURRENT = {
    "rnn": (packed, module(nn.RNN, **RNN), floats(9, 3)),
    "rnn, relu": (padded, module(nn.RNN, nonlinearity="relu", **WIDE), floats(6, 18, 4)),
    "lstm": (packed, module(nn.LSTM, **RNN), floats(9, 3)),
    "lstm, padded": (padded, module(nn.LSTM, **WIDE), floats(6, 18, 4)),
    "lstm, double": (padded, module(nn.LSTM, dtype=DOUBLE, **RNN), floats(3, 2, 3, dtype=DOUBLE)),
    "gru": (packed, module(nn.GRU, **RNN), floats(9, 3)),
    "gru, padded": (padded, module(nn.GRU, **WIDE), floats(6, 18, 4)),
    "gru, no bias": (padded, module(nn.GRU, bias=False, **WIDE), floats(5, 3, 4)),
    "lstm cell": (lambda module, x: module(x), module(nn.LSTMCell, 3, 4), floats(5, 3)),
    "gru cell": (lambda module, x: module(x), module(nn.GRUCell, 3, 4), floats(5, 3)),
}

FAMILIES = {
    "attention": ATTENTION,
    "recurrent": RECURRENT,
    "conv": CONV,
    "matmul": MATMUL,
    "embedding": EMBEDDING,
    "pool": POOL,
    "resample": RESAMPLE,
    "fold": FOLD,
}
CASES = [
    pytest.param(case, id=f"{family}: {name}")
    for family, cases in FAMILIES.items()
    for name, case in cases.items()
]


def results(case, device):
    """What the call answers on a device, and the gradients of its first answer."""
    torch.manual_seed(0)
    call, *makers = case
    inputs = [make() for make in makers]
    grads = torch.randn(100000)
    for k, i in enumerate(inputs):
        if isinstance(i, nn.Module):
            inputs[k] = i.to(device)
        else:
            inputs[k] = i.detach().to(device).requires_grad_(i.requires_grad)
    answer = call(*inputs)
    answer = answer if isinstance(answer, tuple) else (answer,)
    leaves = [p for i in inputs if isinstance(i, nn.Module) for p in i.parameters()]
    leaves += [i for i in inputs if isinstance(i, torch.Tensor) and i.requires_grad]
    first = answer[0]
    if not first.requires_grad:
        return answer
    grad = grads[: first.numel()].view(first.shape).to(first.dtype).to(device)
    return *answer, *torch.autograd.grad(first, leaves, grad)


@pytest.mark.parametrize("case", CASES)
def test_gives_what_the_cpu_gives(case):
    expected, found = results(case, "cpu"), results(case, DEVICE)
    assert {t.device.type for t in found} == {DEVICE}
    for k, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        compare(ours, theirs, f"result {k}", ulps=32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int16, torch.int64])
def test_products_by_tiles_are_those_of_the_definition(dtype):
    a, b, bias = (torch.randint(-9, 9, s).to(dtype) for s in [(3, 33, 20), (20, 17), (17,)])
    fast, naive = (
        getattr(a.to(DEVICE).array, name)(b.to(DEVICE).array, bias.to(DEVICE).array)
        for name in ("matmul", "matmul_naive")
    )
    assert fast.tolist() == naive.tolist() == (a @ b + bias).tolist()


WRONG = {
    "first offset": (F.embedding_bag, numbers(9), floats(7, 8), values(1, 2)),
    "offsets that decrease": (F.embedding_bag, numbers(9), floats(7, 8), values(0, 4, 3)),
    "offset beyond": (F.embedding_bag, numbers(9), floats(7, 8), values(0, 10)),
    "row": (F.embedding_bag, values(1, 7), floats(7, 8), values(0, 1)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_numbers_raise_as_on_the_cpu(name):
    with pytest.raises((IndexError, RuntimeError)):
        results(WRONG[name], "cpu")
    assert agreed(lambda device: results(WRONG[name], device)) == ([], [])
