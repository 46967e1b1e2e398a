"""Products by large tiles on the device `cuda-emulated`: on CUDA cores and on tensor cores.

Sizes are one above and below a tile (64, 128), and of a depth; lines lie along or across memory,
and begin at addresses that can be copied by 16 bytes, or not.
"""

from __future__ import annotations

import pytest
from helpers import CUDA as DEVICE
from helpers import compare

import tiny_torch as torch
from tiny_torch.nn import functional as F

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def across(x):
    return x.mT.contiguous().mT


def shifted(x):
    """The same numbers, from an address that is aligned to their size alone."""
    flat = torch.cat([x.new_zeros(1), x.flatten()])
    return flat[1:].view(x.shape)


def spread(x):
    wide = x.new_zeros(*x.shape[:-1], 2 * x.shape[-1])
    wide[..., ::2] = x
    return wide[..., ::2]


def plain(x):
    return x


# a (.., m, k) and b (.., k, n), and how each lies in memory
CASES = {
    "tile": ((64, 64), (64, 64), plain, plain),
    "above": ((65, 33), (33, 65), plain, plain),
    "below": ((63, 31), (31, 63), plain, plain),
    "rows by chunks": ((40, 72), (72, 48), plain, plain),
    "a across": ((72, 24), (24, 40), across, plain),
    "b across": ((66, 40), (40, 33), plain, across),
    "both across": ((72, 40), (40, 80), across, across),
    "odd, across": ((67, 21), (21, 35), across, across),
    "shifted": ((40, 48), (48, 40), shifted, shifted),
    "spread": ((33, 10), (10, 34), spread, spread),
    "batches": ((2, 3, 40, 20), (3, 20, 36), plain, plain),
    "broadcast rows": ((2, 40, 16), (16, 40), lambda x: x[:, :1].expand(2, 40, 16), plain),
    "split depth": ((40, 600), (600, 65), plain, plain),
    "split depth, across": ((2, 40, 330), (2, 330, 40), across, across),
    "large tiles": ((128, 65, 40), (128, 40, 66), plain, plain),
    "large tiles, across": ((65, 129, 24), (24, 72), across, across),
    "rows of large tiles": ((1160, 16), (16, 1672), plain, across),
}


def numbers(shape, dtype):
    """For halves such that their sums are exact in float32, in any order."""
    if dtype == torch.float32:
        return torch.randn(shape)
    return (torch.randint(-20, 20, shape) / 8).to(dtype)


def placed(name, dtype, device):
    torch.manual_seed(0)
    a, b, lay_a, lay_b = CASES[name]
    a, b = numbers(a, dtype), numbers(b, dtype)
    return lay_a(a.to(device)), lay_b(b.to(device))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_gives_what_the_cpu_gives(name, dtype):
    found, again, expected = (
        torch.matmul(*placed(name, dtype, device)) for device in (DEVICE, DEVICE, "cpu")
    )
    compare(found, expected, name, ulps=32 if dtype == torch.float32 else 0)
    assert torch.equal(found, again)


@pytest.fixture
def tf32():
    torch.set_float32_matmul_precision("high")
    yield
    torch.set_float32_matmul_precision("highest")


def rounded(x):
    """float32 with the 10 bits of mantissa of TF32, to nearest, ties away from zero."""
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


@pytest.mark.parametrize("name", CASES)
def test_tf32_rounds_what_it_multiplies(tf32, name):
    a, b = placed(name, torch.float32, "cpu")
    expected = rounded(a.contiguous()) @ rounded(b.contiguous())
    found = torch.matmul(*placed(name, torch.float32, DEVICE))
    compare(found, expected, name, ulps=32, strides=False)
    assert not torch.equal(found.cpu(), torch.matmul(a, b))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("depth", [40, 300])
def test_what_is_added_at_the_end(dtype, depth):
    torch.manual_seed(0)
    x, w, bias = (numbers(s, dtype) for s in [(66, depth), (40, depth), (40,)])
    total = numbers((66, 40), dtype)
    for call, inputs in ((F.linear, (x, w, bias)), (torch.addmm, (total, x, w.mT))):
        expected = call(*inputs)
        found = call(*(i.to(DEVICE) for i in inputs))
        compare(found, expected, "sum", ulps=32 if dtype == torch.float32 else 4)


def test_infinite_numbers_stay_in_their_rows_and_columns():
    a, b = torch.ones(65, 33, dtype=torch.float16), torch.ones(33, 65, dtype=torch.float16)
    a[64, 32] = float("inf")
    found = (a.to(DEVICE) @ b.to(DEVICE)).cpu()
    assert found[:64].eq(33).all() and found[64].eq(float("inf")).all()


# x, w and the convolution's settings: channels of which there are whole chunks, or not
CONV = {
    "chunks": ((2, 32, 7, 6), (40, 32, 3, 3), {"padding": 1}),
    "odd channels": ((2, 33, 6, 7), (35, 33, 2, 3), {"padding": (0, 1)}),
    "stride": ((2, 40, 9, 11), (48, 40, 3, 3), {"padding": 1, "stride": 2}),
    "dilation": ((1, 32, 9, 8), (33, 32, 3, 2), {"padding": 2, "dilation": (2, 3)}),
    "groups": ((2, 64, 5, 8), (80, 32, 2, 2), {"groups": 2}),
    "points": ((2, 40, 8, 8), (48, 40, 1, 1), {}),
    "many pixels": ((2, 32, 25, 16), (33, 32, 1, 2), {}),
    "large tiles": ((1, 128 * 66, 6, 11), (128 * 65, 66, 1, 1), {"groups": 128}),
    "1d": ((2, 32, 40), (33, 32, 3), {"padding": 1}),
    "3d": ((1, 32, 3, 4, 5), (34, 32, 2, 1, 2), {"padding": 1}),
}


def convolved(name, dtype, last, device):
    """y and the gradients of x, w and the bias."""
    torch.manual_seed(0)
    x, w, settings = CONV[name]
    convolve = (F.conv1d, F.conv2d, F.conv3d)[len(x) - 3]
    x, w, bias = numbers(x, dtype), numbers(w, dtype), numbers(w[:1], dtype)
    if last:
        x, w = (i.to(memory_format=torch.channels_last) for i in (x, w))
    leaves = [i.to(device).requires_grad_() for i in (x, w, bias)]
    y = convolve(*leaves, **settings)
    grad = numbers(tuple(y.shape), dtype).to(device)
    return y, *torch.autograd.grad(y, leaves, grad)


IMAGES = [name for name, (x, _, _) in CONV.items() if len(x) == 4]  # whose channels may be last


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("name", "last"), [*((name, False) for name in CONV), *((name, True) for name in IMAGES)]
)
def test_convolutions_give_what_the_cpu_gives(name, last, dtype):
    found, expected = (convolved(name, dtype, last, device) for device in (DEVICE, "cpu"))
    for k, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        compare(ours, theirs, f"result {k}", ulps=32 if dtype == torch.float32 else 0)


def test_convolutions_repeat_their_bits():
    found, again = (convolved("many pixels", torch.float32, True, DEVICE) for _ in range(2))
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(found, again, strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_padding_meets_an_infinite_weight_as_nothing(dtype):
    torch.manual_seed(0)
    x, w = numbers((1, 32, 6, 7), dtype), numbers((40, 32, 3, 3), dtype)
    w[3, 5, 0, 0] = w[39, 0, 2, 1] = float("inf")
    x, w = x.abs() + 1, w
    found = F.conv2d(x.to(DEVICE), w.to(DEVICE), padding=1)
    expected = F.conv2d(x, w, padding=1)
    assert not expected.isnan().any() and expected.isinf().any()
    compare(found, expected, "y", ulps=32 if dtype == torch.float32 else 0)


# (*batch, queries, keys, width, value width), and how attention is called
ATTENTION = {
    "tile": ((2, 64, 64, 64, 64), {}),
    "above": ((1, 2, 129, 65, 40, 24), {"scale": 0.3}),
    "odd widths": ((1, 33, 63, 21, 35), {}),
    "wide": ((1, 40, 97, 128, 72), {}),
    "causal": ((2, 140, 140, 16, 16), {"is_causal": True}),
    "causal, fewer keys": ((1, 160, 40, 32, 32), {"is_causal": True}),
    "causal, more keys": ((1, 40, 180, 72, 72), {"is_causal": True}),
    "large scores": ((1, 40, 70, 16, 16), {"scale": 30.0}),
    "bool mask": ((1, 2, 40, 70, 16, 16), {"attn_mask": lambda x: x > 0}),
    "float mask": ((1, 2, 70, 40, 16, 16), {"attn_mask": lambda x: x.clone()}),
}


def attended(name, dtype, lay, device, in_float=False):
    """The result and the gradients of q, k and v."""
    torch.manual_seed(0)
    (*batch, queries, keys, width, value_width), settings = ATTENTION[name]
    sizes = (queries, width), (keys, width), (keys, value_width)
    leaves = [lay((torch.randn(*batch, *size) / 2).to(dtype)) for size in sizes]
    grad, scores = torch.randn(*batch, queries, value_width).to(dtype), torch.randn(queries, keys)
    if "attn_mask" in settings:
        mask = settings["attn_mask"](scores.to(dtype))
        if mask.dtype == torch.bool:
            mask[1] = False
        settings = {"attn_mask": mask.to(device)}
    if in_float:
        leaves, grad = [i.float() for i in leaves], grad.float()
        if "attn_mask" in settings and settings["attn_mask"].dtype == dtype:
            settings = {"attn_mask": settings["attn_mask"].float()}
    leaves = [i.to(device).requires_grad_() for i in leaves]
    out = F.scaled_dot_product_attention(*leaves, **settings)
    return out, *torch.autograd.grad(out, leaves, grad.to(device))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ATTENTION)
def test_attention_gives_what_the_cpu_gives(name, dtype):
    """As exact as the halves that probabilities and results are rounded to."""
    found, again = (attended(name, dtype, plain, DEVICE) for _ in range(2))
    expected = attended(name, dtype, plain, "cpu", in_float=True)
    for ours, same, theirs in zip(found, again, expected, strict=True):
        assert ours.dtype == dtype and torch.equal(ours, same)
        worst = (ours.cpu().float() - theirs).abs().max() / theirs.abs().max()
        assert worst < 2 * torch.finfo(dtype).eps, worst


@pytest.mark.parametrize(
    "lay", [across, shifted, lambda x: x.transpose(0, 1).contiguous().transpose(0, 1)]
)
def test_attention_reads_any_layout(lay):
    found = attended("above", torch.bfloat16, lay, DEVICE)
    expected = attended("above", torch.bfloat16, plain, DEVICE)
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True))
