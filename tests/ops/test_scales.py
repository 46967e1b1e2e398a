"""No step on the way overflows, vanishes or is rounded where the answer is a number of the dtype.

Every expression is asked for elements of 10**k, for k from -38 to 38, and for elements far from 0
next to their distances, and compared with itself in float64, rounded once. PyTorch's answers are
inf, 0 or NaN for many of these.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers import CUDA

import tiny_torch as torch
import tiny_torch.nn.functional as F

EPS = {"float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}
TINY = {"float32": 2.0**-126, "bfloat16": 2.0**-126, "float16": 2.0**-14}
POWERS = {
    "float32": (-37, -30, -24, -19, -12, -6, 0, 3, 6, 12, 19, 24, 30, 36, 37),
    "bfloat16": (-37, -30, -24, -19, -6, 0, 6, 19, 24, 30, 37),
    "float16": (-4, -3, -2, 0, 2, 4),
}
OFFSETS = {"float32": (1e3, 1e6), "bfloat16": (), "float16": ()}

# Of x and y, (9, 12), and what they are multiples of, C.
MOMENTS = [
    "x.std(1)", "x.std(0)", "x.std()", "x.var(1)", "x.var(0)", "x.var(1, correction=0)",
    "torch.std_mean(x, 1)[0]", "torch.var_mean(x, 0)[0]", "x[:, ::2].std(1)", "x.t().std(0)",
    "x[None].expand(3, 9, 12).std((0, 2))",
]  # fmt: skip
NORMS = [
    "x.norm()", "x.norm(2, 1)", "x.norm(2, 0)", "x.norm(1, 1)", "x.norm(3, 1)", "x.norm(1.5, 0)",
    "torch.linalg.vector_norm(x, -2, 1)", "torch.linalg.vector_norm(x, -1, 1)",
    "torch.linalg.vector_norm(x, 7)", "torch.linalg.norm(x)", "torch.linalg.matrix_norm(x)",
    "F.pairwise_distance(x, y, eps=0)", "F.pairwise_distance(x, y, 3, eps=0)", "torch.dist(x, y)",
    "torch.hypot(x, y)", "F.normalize(x, dim=1, eps=0)", "x.renorm(2, 0, C)",
]  # fmt: skip
DISTANCES = ["torch.cdist(x, y)", "torch.cdist(x, y, 3)", "F.pdist(x)"]  # not of halves
LAYERS = [
    "F.layer_norm(x, (12,))", "F.layer_norm(x, (12,), eps=0)", "F.rms_norm(x, (12,), eps=0)",
    "F.layer_norm(x, (12,), y[0] / C, y[1] / C, 0)", "F.group_norm(x, 3)",
    "F.batch_norm(x, None, None, training=True)", "F.instance_norm(x[None])",
    "F.batch_norm(x.view(3, 3, 12), None, None, training=True)",
    "F.batch_norm(x.view(3, 3, 2, 6).to(memory_format=torch.channels_last), None, None, training="
    "True)",
    "F.batch_norm(x[:, :, None].expand(9, 12, 70).contiguous(), None, None, training=True)",
]  # fmt: skip
OTHERS = [
    "x.logsumexp(1)", "x.softmax(1)", "x.sum(1)", "x.nanmean()", "x.nanmean(1)",
    "torch.trapezoid(x)", "torch.cumulative_trapezoid(x)", "torch.gradient(x, dim=1)[0]",
    "torch.cumulative_trapezoid(x, dx=2.0)", "torch.cov(x / C * C**0.5)",
    "torch.trapezoid(x, y / C)", "F.cosine_similarity(x, y, 1, 0)", "torch.corrcoef(x)",
]  # fmt: skip


LOSSES = [
    "F.mse_loss(x / 2, y / 2)", "F.mse_loss(x / 2, y / 2, weight=w / 128)",
    "F.l1_loss(x, y)", "F.l1_loss(x, y, weight=w / 128)",
    "F.smooth_l1_loss(x, y, beta=C)", "F.huber_loss(x, y, delta=C)", "F.huber_loss(x, y, weight=w)",
    "F.binary_cross_entropy_with_logits(x, p)", "F.binary_cross_entropy_with_logits(x, p, w)",
    "F.kl_div(x, p, reduction='batchmean')",
    "F.nll_loss(x.abs(), t)", "F.nll_loss(x.abs(), t, w[0])",
    "F.cross_entropy(x, t)", "F.cross_entropy(x, p)", "F.cross_entropy(x, t, w[0])",
    "F.poisson_nll_loss(x.abs(), p, log_input=False, eps=0)",
    "F.gaussian_nll_loss(x / 8, y / 8, p)",
    "F.gaussian_nll_loss(x / 16, y / 16, p * C, eps=0)", "F.hinge_embedding_loss(x, s, margin=C)",
    "F.margin_ranking_loss(x, y, s, margin=C)", "F.soft_margin_loss(x, s)",
    "F.multilabel_soft_margin_loss(x, (s + 1) / 2)",
    "F.multilabel_soft_margin_loss(x, (s + 1) / 2, w)",
    "F.cosine_embedding_loss(x, y, s[:, 0], -0.5)",
    "F.cosine_embedding_loss(x, y, s[:, 0], margin=0.2)",
    "F.triplet_margin_loss(x, y, x.flip(0), margin=C, eps=0)",
    "F.triplet_margin_loss(x, y, x.flip(0), margin=C, p=3, eps=0, swap=True)",
]  # fmt: skip
LOSSES_OF_FLOATS = [
    "F.multi_margin_loss(x, t, margin=C)", "F.multi_margin_loss(x, t, 1, C, w[0])",
    "F.multilabel_margin_loss(x, t[:, None] * 0 + torch.arange(12, device=t.device))",
    "F.ctc_loss(x[:, None], torch.tensor([[1, 2]], device=x.device), (9,), (2,))",
]  # fmt: skip


def operands(dtype, device, power, offset, wide):
    rng = np.random.default_rng(power % 100)
    scale = 10.0**power
    x, y = (torch.from_numpy(a * scale + offset) for a in rng.uniform(-1, 1, (2, 9, 12)))
    x, y = (a.to(getattr(torch, dtype)).to(device) for a in (x, y))
    rng = np.random.default_rng(5)
    p, w = rng.uniform(0.05, 0.95, (9, 12)), rng.uniform(0.5, 2, (9, 12))
    s = rng.choice([-1.0, 1.0], (9, 12))
    p, w, s = (torch.from_numpy(a).to(x.dtype).to(device) for a in (p, w, s))
    t = torch.from_numpy(rng.integers(0, 12, 9)).to(device)
    if wide:
        x, y, p, w = x.double(), y.double(), p.double(), w.double()
    names = {"x": x, "y": y, "p": p, "w": w, "s": s.to(x.dtype), "t": t}
    return names | {"torch": torch, "F": F, "C": scale}


def check(expression, dtype, device, power, offset=0.0, ulps=8):
    """Next to float64, in ulps of the largest element of the answer."""
    found = eval(expression, operands(dtype, device, power, offset, False))
    right = eval(expression, operands(dtype, device, power, offset, True))
    where = (expression, dtype, power, offset)
    assert str(found.dtype) == f"torch.{dtype}", where
    exact, rounded = right.cpu().numpy(), right.to(found.dtype).double().cpu().numpy()
    found = found.double().cpu().numpy()
    with np.errstate(all="ignore"):
        size = max(np.abs(exact[np.isfinite(rounded)]).max(initial=0), TINY[dtype])
        near = np.abs(found - exact) <= ulps * EPS[dtype] * size
    assert (near | (found == rounded)).all(), (*where, found, exact)


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("dtype", EPS)
def test_moments_and_norms(dtype, device):
    for expression in MOMENTS + NORMS + ([] if dtype != "float32" else DISTANCES):
        if device == CUDA and "norm(" in expression and "-" in expression:
            continue
        for power in POWERS[dtype] if device == "cpu" else POWERS[dtype][::3]:
            check(expression, dtype, device, power)
        for offset in OFFSETS[dtype] if expression in MOMENTS else ():
            check(expression, dtype, device, 0, offset)


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("dtype", EPS)
def test_layers(dtype, device):
    for expression in LAYERS:
        for power in POWERS[dtype] if device == "cpu" else POWERS[dtype][::3]:
            if dtype == "float16" and power < -1 and "eps=0" in expression:
                continue  # which float16 holds with few digits
            check(expression, dtype, device, power, ulps=32)
        for offset in OFFSETS[dtype] if device == "cpu" else ():
            check(expression, dtype, device, 0, offset, ulps=32)


def gradients(expression, wide, *operands_of):
    """Those of every operand, for fixed gradients of the answer; `wide`: in float64."""
    names = operands(*operands_of, wide)
    letters = sorted(set(re.findall(r"\b[xy]\b", expression)))
    leaves = [names[letter].requires_grad_() for letter in letters]
    answer = eval(expression, names)
    given = np.random.default_rng(1).uniform(-1, 1, tuple(answer.shape))
    given = torch.from_numpy(given).to(answer.device).to(getattr(torch, operands_of[0]))
    return torch.autograd.grad(answer, leaves, given.to(answer.dtype))


def check_gradients(expression, dtype, device, power, offset=0.0, ulps=32):
    """Next to float64, in ulps of the largest element of each gradient."""
    where = (dtype, device, power, offset)
    for found, right in zip(
        gradients(expression, False, *where), gradients(expression, True, *where), strict=True
    ):
        exact, got = right.cpu().numpy(), found.double().cpu().numpy()
        size = max(np.abs(exact).max(initial=0), TINY[dtype])
        assert (np.abs(got - exact) <= ulps * EPS[dtype] * size).all(), (expression, *where)


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("dtype", EPS)
def test_gradients_of_layers_and_moments(dtype, device):
    for expression in LAYERS + (MOMENTS if device == "cpu" else []):
        for power in POWERS[dtype][::2] if device == "cpu" else POWERS[dtype][-1:]:
            if "eps=0" in expression and abs(power) > 30:
                continue  # the gradient, or 1 over the deviation, is no normal number
            if dtype == "float16" and "eps" in expression and power < -1:
                continue  # nor is it here
            check_gradients(expression, dtype, device, power)
        for offset in OFFSETS[dtype]:
            check_gradients(expression, dtype, device, 0, offset)


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("dtype", EPS)
def test_losses(dtype, device):
    for expression in LOSSES + (LOSSES_OF_FLOATS if dtype == "float32" else []):
        for power in POWERS[dtype] if device == "cpu" else POWERS[dtype][-1::-4]:
            if "p * C" in expression and 10.0**power < 20 * TINY[dtype]:
                continue
            check(expression, dtype, device, power)
            if "ctc" not in expression:  # whose gradient is a difference of two that are equal
                check_gradients(expression, dtype, device, power)
        for offset in OFFSETS[dtype] if "cosine" not in expression else ():
            check(expression, dtype, device, 0, offset)


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("dtype", ["float64", *EPS])
def test_sums_that_overflow_on_the_way(dtype, device):
    large = torch.finfo(getattr(torch, dtype)).max / 4
    line = torch.tensor([3.0, 2.0, -1.0, 3.0, -4.0, 0.5] * 50, dtype=torch.float64)[:, None]
    for count in (1, 3, 40, 5000) if device == "cpu" else (1, 40):
        parts = torch.arange(count) % 7 / 16
        wide = ((line + parts) * 0.75 - parts.mean()) * large
        x = wide.to(getattr(torch, dtype)).to(device)
        layouts = ((x, 0), (x.t(), 1), (x.t().contiguous(), 1), (x.t()[None, :, ::2], 2))
        for y, dim in layouts:
            right = (y.double() * 2.0**-20).mean(dim) * 2.0**20
            assert torch.allclose(y.mean(dim).double(), right, 4 * eps_of(x), 0), (count, dim)
            assert torch.equal(y.mean(dim), torch.var_mean(y, dim)[1]), (count, dim)
        pair = torch.stack([x[0], x[0], -x[0], x[1]])
        assert torch.equal(pair.sum(0), x[0] + x[1]) and torch.equal(pair.nansum(0), x[0] + x[1])
    inf, nan = float("inf"), float("nan")
    for numbers, total in (
        ([3.0, 3.0, -inf], -inf), ([inf, -inf, 1.0], nan), ([3.0, 3.0, nan], nan),
        ([3.0, 3.0, 1.0], inf), ([-3.0, -3.0, 1.0], -inf),
    ):  # fmt: skip
        x = torch.tensor(numbers, dtype=torch.float64) * large
        found = float(x.to(getattr(torch, dtype)).to(device).sum())
        assert found == total or (total != total and found != found), numbers
    assert torch.tensor([nan, 3.0, 3.0, -3.0], device=device).mul(1e38).nansum() == 3e38
    assert torch.full((3000,), 100.0, device=device).to(getattr(torch, dtype)).nanmean() == 100


AVERAGES = [
    "F.cross_entropy(x, t, label_smoothing=0.1)", "F.cross_entropy(x, t, w[0], label_smoothing=.1)",
    "F.multi_margin_loss(x, t)", "F.multi_margin_loss(x / 2, t, weight=w[0])",
]  # fmt: skip


@pytest.mark.parametrize("expression", AVERAGES)
def test_averages_of_what_has_no_sum(expression):
    check(expression, "float32", "cpu", 38)
    check_gradients(expression, "float32", "cpu", 38)


def eps_of(x):
    return torch.finfo(x.dtype).eps


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("dtype", EPS)
def test_composites(dtype, device):
    for expression in OTHERS:
        for power in POWERS[dtype] if device == "cpu" else POWERS[dtype][-1::-4]:
            check(expression, dtype, device, power)


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("dtype", EPS)
def test_gradients_of_composites(dtype, device):
    others = [e for e in OTHERS if "softmax" not in e]  # a difference of what is nearly equal
    quotients = [
        "torch.atan2(x, y)",
        "torch.addcdiv(x, x, y + 2 * C)",
        "x / (y + 2 * C)",
        "x.nanmean(1)",
    ]
    for expression in NORMS + others + quotients + (DISTANCES if dtype == "float32" else []):
        powers = POWERS[dtype][1::2] if dtype != "float16" else (-3, -2, 0, 2)
        for power in powers if device == "cpu" else powers[-1:]:
            check_gradients(expression, dtype, device, power)


STEPS = [
    "F.local_response_norm(x[None], 3)", "F.local_response_norm(x[None], 4, 1.0, 0.6, 2.0)",
    "F.lp_pool1d(x[None], 2, 3)", "F.lp_pool1d(x[None].abs(), 3, 2)", "F.lp_pool2d(x[None], 2, 3)",
    "F.lp_pool3d(x.view(1, 1, 9, 4, 3).abs(), 1.5, 2)", "F.tanhshrink(x)", "x.logsumexp(1)",
    "x.diff(n=2)", "x.diff(n=3, dim=0)", "torch.special.i1(x.clamp(-9, 9))", "torch.cov(x)",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_steps_of_halves(dtype):
    for expression in STEPS:
        for power in (-1, 0, 1, 2, 3):
            check(expression, dtype, "cpu", power, ulps=1)
            check_gradients(expression, dtype, "cpu", power, ulps=2)


def test_many_elements():
    """Lines that are cut into parts."""
    rng = np.random.default_rng(0)
    for shape, dim in (((30000,), 0), ((3, 20001), 1), ((20001, 3), 0), ((9000, 130), 0)):
        for scale, offset in ((1, 0), (1e30, 0), (1e-30, 0), (1, 1e6)):
            x = torch.from_numpy(rng.uniform(-1, 1, shape) * scale + offset).float()
            for f in (torch.std, torch.linalg.vector_norm):
                found, right = (f(a, dim=dim).double() for a in (x, x.double()))
                assert torch.allclose(found, right, 6e-7, 0), (shape, scale, offset, f)


def test_a_line_of_one_number_has_no_variance():
    assert torch.full((1000,), 0.5).std() == 0 and torch.zeros(5).var() == 0
    assert torch.full((20000,), 999424.0).bfloat16().std() == 0
    assert torch.tensor([1.0, float("inf")]).var().isnan() and torch.tensor([1.0]).var().isnan()


@pytest.mark.parametrize("p", [2, 3, 1.5, 0.5, -2])
def test_gradients_of_norms(p):
    for scale in (1e-30, 1.0, 1e30):
        x = torch.tensor([[3.0, -4.0, 1.0]]) * scale
        grads = []
        for wide in (False, True):
            leaf = x.double() if wide else x.clone()
            leaf.requires_grad_()
            torch.linalg.vector_norm(leaf, p).backward()
            grads.append(leaf.grad.double())
        assert torch.allclose(*grads, 2e-6, 0), (p, scale, grads)


def test_gradients_of_norms_of_one_row():
    x = torch.tensor([1e30, 1e30], requires_grad=True)
    torch.cosine_similarity(x, x.detach(), 0).backward()
    assert float(x.grad.abs().max()) < 1e-36


@pytest.mark.parametrize("dtype", EPS)
def test_products_of_subnormals(dtype):
    """What a factor below the normal numbers adds counts, and changes no other sum."""
    rng = np.random.default_rng(0)
    small = TINY[dtype] / 8
    for rows, depth, columns in ((1, 50, 40), (2, 7, 3), (30, 70, 50), (13, 600, 33)):
        a = torch.from_numpy(rng.uniform(-1, 1, (rows, depth))).to(getattr(torch, dtype))
        b = torch.from_numpy(rng.uniform(-1, 1, (depth, columns))).to(a.dtype)
        product, tiny, large = a @ b, (a.double() * small).to(a.dtype), b * 6e4
        right = tiny.double() @ large.double()
        error = ((tiny @ large).double() - right).abs().max() / right.abs().max()
        assert float(error) < 6 * EPS[dtype], (dtype, rows, float(error))
        if rows > 1:
            a[1, 3], b[5, 2] = small, small
            changed = a @ b
            kept = [c for c in range(columns) if c != 2]
            assert changed[0][kept].equal(product[0][kept])
