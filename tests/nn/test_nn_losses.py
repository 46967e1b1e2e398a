"""Losses next to PyTorch's: values, gradients, extremes, arguments."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import tiny_torch
from tiny_torch.nn import functional as F

# ---- sums without a temporary --------------------------------------------------------------------

PAIRS = {
    "mse_loss": {}, "l1_loss": {}, "smooth_l1_loss": {"beta": 0.3}, "huber_loss": {"delta": 0.3},
    "binary_cross_entropy": {}, "binary_cross_entropy_with_logits": {},
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PAIRS)
def test_totals_are_those_of_the_elements(name, dtype):
    """Bit for bit, whatever the layout and the number of threads."""
    tiny_torch.manual_seed(0)
    before = tiny_torch.get_num_threads()
    for shape in ((5,), (16384,), (16385,), (100, 1031)):
        x, y = (tiny_torch.rand(shape, dtype=getattr(tiny_torch, dtype)) for _ in range(2))
        loss = getattr(F, name)(x, y, reduction="none", **PAIRS[name])
        apart = x.unsqueeze(-1).expand(*shape, 2).contiguous()[..., 0]  # not contiguous
        for threads in (1, 2):
            tiny_torch.set_num_threads(threads)
            for a in (x, apart):
                for reduction in ("sum", "mean"):
                    total = getattr(F, name)(a, y, reduction=reduction, **PAIRS[name])
                    assert total.item() == getattr(loss, reduction)().item()
    tiny_torch.set_num_threads(before)


# ---- values and gradients ------------------------------------------------------------------------


def inputs(m, dtype="float64"):
    """x, y (3, 4), z (3, 4) in (0, 1), signs s (3), classes c (3), labels (3, 4) before a -1."""
    rng = np.random.default_rng(0)
    kind = getattr(m, dtype)
    x, y = (m.tensor(rng.standard_normal((3, 4)), dtype=kind) for _ in range(2))
    z = m.tensor(rng.uniform(0.1, 0.9, (3, 4)), dtype=kind)
    labels = m.tensor([[3, 0, -1, 1], [0, 1, 2, 3], [-1, 0, 0, 0]])
    return (
        x.requires_grad_(), y.requires_grad_(), z.requires_grad_(),
        m.tensor([1.0, -1.0, 1.0], dtype=kind), m.tensor([0, 3, 1]), labels,
    )  # fmt: skip


def w(x, *sizes):
    return x.new_tensor(np.linspace(0.2, 1.5, math.prod(sizes)).reshape(sizes))


LOSSES = {
    "poisson": lambda F, x, y, z, s, c, n, **o: F.poisson_nll_loss(x, y, **o),
    "poisson full": lambda F, x, y, z, s, c, n, **o: F.poisson_nll_loss(x, z * 3, full=True, **o),
    "poisson rate": lambda F, x, y, z, s, c, n, **o: F.poisson_nll_loss(z, y[0], False, **o),
    "gaussian": lambda F, x, y, z, s, c, n, **o: F.gaussian_nll_loss(x, y, z, **o),
    "gaussian full": lambda F, x, y, z, s, c, n, **o: F.gaussian_nll_loss(x, y, z, True, 0.5, **o),
    "gaussian short": lambda F, x, y, z, s, c, n, **o: F.gaussian_nll_loss(x, y, z[:, 0], **o),
    "gaussian one": lambda F, x, y, z, s, c, n, **o: F.gaussian_nll_loss(x, y, z[:1], **o),
    "gaussian float": lambda F, x, y, z, s, c, n, **o: F.gaussian_nll_loss(x, y, 2.0, **o),
    "soft margin": lambda F, x, y, z, s, c, n, **o: F.soft_margin_loss(x, z.data, **o),
    "soft margin row": lambda F, x, y, z, s, c, n, **o: F.soft_margin_loss(x, z.data[0], **o),
    "multi margin": lambda F, x, y, z, s, c, n, **o: F.multi_margin_loss(x, c, **o),
    "multi margin 2": lambda F, x, y, z, s, c, n, **o: F.multi_margin_loss(
        x, c, 2, 0.5, w(x, 4), **o
    ),
    "multi margin 1-d": lambda F, x, y, z, s, c, n, **o: F.multi_margin_loss(x[1], c[1], **o),
    "multi margin (1)": lambda F, x, y, z, s, c, n, **o: F.multi_margin_loss(x[1], c[:1], **o),
    "multi margin 0-d": lambda F, x, y, z, s, c, n, **o: F.multi_margin_loss(x[1, 1], c[0], **o),
    "labels": lambda F, x, y, z, s, c, n, **o: F.multilabel_margin_loss(x, n, **o),
    "labels 1-d": lambda F, x, y, z, s, c, n, **o: F.multilabel_margin_loss(x[0], n[0], **o),
    "labels 0-d": lambda F, x, y, z, s, c, n, **o: F.multilabel_margin_loss(x[0, 0], c[0], **o),
    "labels turned": lambda F, x, y, z, s, c, n, **o: F.multilabel_margin_loss(
        x[:, :3].t(), n[:, :3].clamp(-1, 2), **o
    ),
    "soft labels": lambda F, x, y, z, s, c, n, **o: F.multilabel_soft_margin_loss(x, z, **o),
    "soft labels w": lambda F, x, y, z, s, c, n, **o: F.multilabel_soft_margin_loss(
        x, z, w(x, 4), **o
    ),
    "ranking": lambda F, x, y, z, s, c, n, **o: F.margin_ranking_loss(x[:, 0], y[:, 0], s, **o),
    "ranking row": lambda F, x, y, z, s, c, n, **o: F.margin_ranking_loss(x, y[:1], z, 0.5, **o),
    "hinge": lambda F, x, y, z, s, c, n, **o: F.hinge_embedding_loss(x, s[:, None], 0.5, **o),
    "hinge other": lambda F, x, y, z, s, c, n, **o: F.hinge_embedding_loss(x, s[:, None] * 2, **o),
    "cosine": lambda F, x, y, z, s, c, n, **o: F.cosine_embedding_loss(x, y, s, **o),
    "cosine margin": lambda F, x, y, z, s, c, n, **o: F.cosine_embedding_loss(x, z, -s, 0.3, **o),
    "cosine 1-d": lambda F, x, y, z, s, c, n, **o: F.cosine_embedding_loss(x[0], y[0], s[0], **o),
    "triplet": lambda F, x, y, z, s, c, n, **o: F.triplet_margin_loss(x, y, z, **o),
    "triplet swap": lambda F, x, y, z, s, c, n, **o: F.triplet_margin_loss(
        x, y, z, 2.0, 3, 1e-3, True, **o
    ),
    "triplet 1-d": lambda F, x, y, z, s, c, n, **o: F.triplet_margin_loss(x[0], y[0], z[0], **o),
    "triplet any": lambda F, x, y, z, s, c, n, **o: F.triplet_margin_with_distance_loss(
        x, y, z, **o
    ),
    "triplet own": lambda F, x, y, z, s, c, n, **o: F.triplet_margin_with_distance_loss(
        x, y, z, distance_function=lambda a, b: (a - b).abs().sum(-1), margin=3.0, swap=True, **o
    ),
    "bce": lambda F, x, y, z, s, c, n, **o: F.binary_cross_entropy(z, z.flip(0), **o),
    "bce w": lambda F, x, y, z, s, c, n, **o: F.binary_cross_entropy(z, z[[1, 2, 0]], w(x, 4), **o),
    "logits": lambda F, x, y, z, s, c, n, **o: F.binary_cross_entropy_with_logits(x, z, **o),
    "logits w": lambda F, x, y, z, s, c, n, **o: F.binary_cross_entropy_with_logits(
        x, z, w(x, 4), pos_weight=w(x, 3, 4), **o
    ),
    "logits float w": lambda F, x, y, z, s, c, n, **o: F.binary_cross_entropy_with_logits(
        x, z, w(x, 4).float(), **o
    ),
}  # fmt: skip


@pytest.mark.parametrize("loss", ["multi_margin_loss", "multilabel_margin_loss"])
def test_margins_of_no_rows_are_0(loss):
    """PyTorch leaves memory unset there."""
    function = getattr(tiny_torch.nn.functional, loss)
    x, target = tiny_torch.rand(0, 4), tiny_torch.zeros(0, dtype=tiny_torch.int64)
    target = target if loss == "multi_margin_loss" else target.reshape(0, 1).expand(0, 4)
    assert function(x, target, reduction="none").shape == (0,)
    assert function(x, target).item() == function(x, target, reduction="sum").item() == 0


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(oracle, name, reduction):
    results = []
    for m in (tiny_torch, oracle):
        values = inputs(m)
        loss = LOSSES[name](m.nn.functional, *values, reduction=reduction)
        (loss * loss).sum().backward()
        grads = [None if v.grad is None else v.grad.numpy() for v in values[:3]]
        results.append((loss.detach().numpy(), grads))
    (ours, our_grads), (theirs, their_grads) = results
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    assert ours.shape == theirs.shape
    for a, b in zip(our_grads, their_grads, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


SECOND = ["logits", "logits w", "poisson", "soft margin", "cosine", "triplet", "gaussian"]


@pytest.mark.parametrize("name", SECOND)
def test_second_gradients(oracle, name):
    results = []
    for m in (tiny_torch, oracle):
        values = inputs(m)
        loss = LOSSES[name](m.nn.functional, *values, reduction="mean")
        (g,) = m.autograd.grad(loss * loss, values[0], create_graph=True)
        results.append(m.autograd.grad((g * g).sum(), values[0])[0].numpy())
    np.testing.assert_allclose(*results, rtol=1e-7, atol=1e-10)


def test_extremes():
    """Finite where the result is: PyTorch's soft margin is not."""
    big = tiny_torch.tensor([-1e4, -500.0, 500.0, 1e4], requires_grad=True)
    ones = tiny_torch.ones(4)
    for loss in (
        F.soft_margin_loss(big, ones, reduction="none"),
        F.binary_cross_entropy_with_logits(big, ones, reduction="none"),
        F.multilabel_soft_margin_loss(big.unsqueeze(1), ones.unsqueeze(1), reduction="none"),
    ):
        assert loss.tolist() == [1e4, 500.0, 0.0, 0.0]
        (grad,) = tiny_torch.autograd.grad(loss.sum(), big)
        assert grad.tolist() == [-1.0, -1.0, 0.0, 0.0]
    tiny = tiny_torch.tensor([-90.0], requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(tiny, tiny_torch.zeros(1))
    (grad,) = tiny_torch.autograd.grad(loss, tiny)
    assert 0 < grad.item() < 1e-38 and loss.item() == 0


def test_extremes_of_probabilities(oracle):
    results = []
    for m in (tiny_torch, oracle):
        x = m.tensor([0.0, 1e-30, 1.0, 1 - 1e-7, 0.0, 1.0], requires_grad=True)
        t = m.tensor([0.0, 1.0, 1.0, 0.0, 1.0, 0.0], requires_grad=True)
        loss = m.nn.functional.binary_cross_entropy(x, t, reduction="none")
        loss.sum().backward()
        results.append((loss.tolist(), x.grad.tolist(), t.grad.tolist()))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


# ---- ctc -----------------------------------------------------------------------------------------

CTC = {
    "plain": ((6, 2, 5), [[1, 2, 2], [3, 1, 0]], (6, 5), (3, 2), {}),
    "blank 4": ((6, 2, 5), [[1, 2, 2], [3, 1, 0]], (6, 5), (3, 2), {"blank": 4}),
    "behind each other": ((6, 2, 5), [1, 2, 2, 3, 1], (6, 5), (3, 2), {}),
    "too short": ((6, 2, 5), [[1, 2, 2], [3, 1, 0]], (3, 5), (3, 2), {"zero_infinity": True}),
    "no targets": ((4, 2, 3), [[1], [2]], (4, 0), (0, 0), {}),
    "one": ((5, 4), [1, 3, 1], (5,), (3,), {}),
    "one of a batch": ((5, 4), [[1, 3, 1]], (4,), (2,), {}),
    "one class": ((3, 1, 1), [[0]], (3,), (0,), {}),
    "long": ((60, 4, 9), [[(i * k) % 8 + 1 for i in range(20)] for k in range(1, 5)],
             (60, 45, 41, 50), (20, 20, 11, 1), {}),
}  # fmt: skip


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CTC)
def test_ctc(oracle, name, dtype, reduction):
    shape, targets, times, lengths, options = CTC[name]
    logits = np.random.default_rng(1).standard_normal(shape) * 2
    results = []
    for m in (tiny_torch, oracle):
        x = m.tensor(logits, dtype=getattr(m, dtype), requires_grad=True)
        log_probs = x.log_softmax(-1)
        log_probs.retain_grad()
        loss = m.nn.functional.ctc_loss(
            log_probs, m.tensor(targets), m.tensor(times), m.tensor(lengths),
            reduction=reduction, **options,
        )  # fmt: skip
        (loss * loss).sum().backward()
        results.append([v.detach().numpy() for v in (loss, log_probs.grad, x.grad)])
    for ours, theirs in zip(*results, strict=True):
        assert ours.shape == theirs.shape
        tolerance = {"float64": 1e-10, "float32": 5e-3 if name == "long" else 1e-4}[dtype]
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_ctc_of_any_layout_and_threads():
    """The same bits for any layout and number of threads; lengths as tuples; int32 targets."""
    tiny_torch.manual_seed(0)
    before = tiny_torch.get_num_threads()
    x = tiny_torch.randn(50, 8, 20).log_softmax(2)
    targets = tiny_torch.randint(1, 20, (8, 12))
    results = []
    for threads in (1, 2):
        tiny_torch.set_num_threads(threads)
        for layout in (x, x.permute(1, 2, 0).contiguous().permute(2, 0, 1)):
            leaf = layout.detach().requires_grad_()
            loss = F.ctc_loss(leaf, targets.int(), (50,) * 8, (12,) * 8)
            loss.backward()
            results.append((loss.item(), leaf.grad.tolist()))
    tiny_torch.set_num_threads(before)
    assert all(result == results[0] for result in results)


def test_ctc_is_infinite_where_targets_do_not_fit(torch):
    x = torch.zeros(2, 1, 3).log_softmax(2).requires_grad_()
    target, times, length = torch.tensor([[1, 1]]), torch.tensor([2]), torch.tensor([2])
    assert torch.nn.functional.ctc_loss(x, target, times, length).item() == math.inf
    loss = torch.nn.functional.ctc_loss(x, target, times, length, zero_infinity=True)
    loss.backward()
    assert loss.item() == 0 and not x.grad.any()


# ---- AdaptiveLogSoftmaxWithLoss ------------------------------------------------------------------


@pytest.mark.parametrize("bias", [False, True])
def test_adaptive_softmax(oracle, bias):
    results = []
    for m in (tiny_torch, oracle):
        m.manual_seed(0)
        model = m.nn.AdaptiveLogSoftmaxWithLoss(16, 30, [4, 10, 20], 2.0, bias)
        x = m.linspace(-1, 1, 96).reshape(6, 16).sin().requires_grad_()
        output, loss = model(x, m.tensor([0, 5, 29, 12, 3, 11]))
        loss.backward()
        one = model(x[0], m.tensor(25))
        results.append({
            "values": [output, loss, one.output, one.loss, model.log_prob(x), model.predict(x)],
            "grads": [x.grad, *[p.grad for p in model.parameters()]],
            "state": list(model.state_dict()), "repr": repr(model),
        })  # fmt: skip
    ours, theirs = results
    assert ours["state"] == theirs["state"] and ours["repr"] == theirs["repr"]
    for kind in ("values", "grads"):
        for a, b in zip(ours[kind], theirs[kind], strict=True):
            assert tuple(a.shape) == tuple(b.shape)
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 2e-5, 2e-6)


# ---- modules and what is refused -----------------------------------------------------------------

MODULES = {
    "PoissonNLLLoss": [(), (False, True)], "GaussianNLLLoss": [()], "SoftMarginLoss": [()],
    "MultiMarginLoss": [(), (2, 0.5)], "MultiLabelMarginLoss": [()],
    "MultiLabelSoftMarginLoss": [()], "HingeEmbeddingLoss": [(), (2.0,)],
    "MarginRankingLoss": [(), (0.5,)], "CosineEmbeddingLoss": [(), (0.2,)],
    "TripletMarginLoss": [(), (2.0, 1.0, 1e-3, True)], "TripletMarginWithDistanceLoss": [()],
    "CTCLoss": [(), (1, "sum", True)],
}  # fmt: skip
ARGUMENTS = {
    "PoissonNLLLoss": lambda x, y, z, s, c, n: (z, z),
    "GaussianNLLLoss": lambda x, y, z, s, c, n: (x, y, z),
    "SoftMarginLoss": lambda x, y, z, s, c, n: (x, z.data),
    "MultiMarginLoss": lambda x, y, z, s, c, n: (x, c),
    "MultiLabelMarginLoss": lambda x, y, z, s, c, n: (x, n),
    "MultiLabelSoftMarginLoss": lambda x, y, z, s, c, n: (x, z),
    "HingeEmbeddingLoss": lambda x, y, z, s, c, n: (x, s[:, None]),
    "MarginRankingLoss": lambda x, y, z, s, c, n: (x, y, z),
    "CosineEmbeddingLoss": lambda x, y, z, s, c, n: (x, y, s),
    "TripletMarginLoss": lambda x, y, z, s, c, n: (x, y, z),
    "TripletMarginWithDistanceLoss": lambda x, y, z, s, c, n: (x, y, z),
    "CTCLoss": lambda x, y, z, s, c, n: (x.log_softmax(1), c[:2] + 1 - c[:2], (3,), (2,)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules(oracle, name):
    for arguments in MODULES[name]:
        results = []
        for m in (tiny_torch, oracle):
            module = getattr(m.nn, name)(*arguments)
            loss = module(*ARGUMENTS[name](*inputs(m)))
            settings = {k: v for k, v in vars(module).items() if k[0] != "_"}
            results.append((loss.item(), repr(module), settings, list(module.state_dict())))
        ours, theirs = results
        assert ours[0] == pytest.approx(theirs[0], rel=1e-9) and ours[1:] == theirs[1:]


REFUSED = {
    "reduction": lambda m, F, x, c: F.poisson_nll_loss(x, x, reduction="a"),
    "gaussian shape": lambda m, F, x, c: F.gaussian_nll_loss(x, x, x[:2] ** 2),
    "gaussian negative": lambda m, F, x, c: F.gaussian_nll_loss(x, x, -(x**2)),
    "gaussian negative float": lambda m, F, x, c: F.gaussian_nll_loss(x, x, -1.0),
    "gaussian int": lambda m, F, x, c: F.gaussian_nll_loss(x, x, 2),
    "gaussian reduction": lambda m, F, x, c: F.gaussian_nll_loss(x, x, x**2, reduction="a"),
    "soft margin target": lambda m, F, x, c: F.soft_margin_loss(x, m.ones(4, requires_grad=True)),
    "soft margin int": lambda m, F, x, c: F.soft_margin_loss(c, c),
    "soft margin reduction": lambda m, F, x, c: F.soft_margin_loss(x, x, reduction="a"),
    "multi p": lambda m, F, x, c: F.multi_margin_loss(x, c, 3),
    "multi weight dims": lambda m, F, x, c: F.multi_margin_loss(x, c, weight=x),
    "multi weight size": lambda m, F, x, c: F.multi_margin_loss(x, c, weight=x[0, :3]),
    "multi weight dtype": lambda m, F, x, c: F.multi_margin_loss(x, c, weight=x[0].double()),
    "multi weight grad": lambda m, F, x, c: F.multi_margin_loss(
        x, c, weight=m.ones(4, requires_grad=True)
    ),
    "multi high": lambda m, F, x, c: F.multi_margin_loss(x, c + 3),
    "multi low": lambda m, F, x, c: F.multi_margin_loss(x, c - 3),
    "multi size": lambda m, F, x, c: F.multi_margin_loss(x, c[:2]),
    "multi float": lambda m, F, x, c: F.multi_margin_loss(x, c.float()),
    "multi int32": lambda m, F, x, c: F.multi_margin_loss(x, c.int()),
    "multi 3-d": lambda m, F, x, c: F.multi_margin_loss(x[None], c),
    "multi no classes": lambda m, F, x, c: F.multi_margin_loss(x[:, :0], c),
    "multi half": lambda m, F, x, c: F.multi_margin_loss(x.half(), c),
    "labels high": lambda m, F, x, c: F.multilabel_margin_loss(x, m.full((3, 4), 4)),
    "labels low": lambda m, F, x, c: F.multilabel_margin_loss(x, m.full((3, 4), -2)),
    "labels size": lambda m, F, x, c: F.multilabel_margin_loss(x, m.zeros(2, 4).long()),
    "labels float": lambda m, F, x, c: F.multilabel_margin_loss(x, m.zeros(3, 4)),
    "labels 3-d": lambda m, F, x, c: F.multilabel_margin_loss(x[None], m.zeros(1, 3, 4).long()),
    "labels half": lambda m, F, x, c: F.multilabel_margin_loss(x.half(), m.zeros(3, 4).long()),
    "soft labels reduction": lambda m, F, x, c: F.multilabel_soft_margin_loss(x, x, reduction="a"),
    "soft labels size": lambda m, F, x, c: F.multilabel_soft_margin_loss(x, x[:2]),
    "soft labels 0-d": lambda m, F, x, c: F.multilabel_soft_margin_loss(x[0, 0], x[0, 0]),
    "ranking dims": lambda m, F, x, c: F.margin_ranking_loss(x, x, c),
    "hinge size": lambda m, F, x, c: F.hinge_embedding_loss(x, c),
    "cosine size": lambda m, F, x, c: F.cosine_embedding_loss(x, x, c[:2]),
    "cosine target 0-d": lambda m, F, x, c: F.cosine_embedding_loss(x, x, c[0]),
    "cosine target 2-d": lambda m, F, x, c: F.cosine_embedding_loss(x, x, x),
    "cosine 3-d": lambda m, F, x, c: F.cosine_embedding_loss(x[None], x[None], c),
    "triplet margin": lambda m, F, x, c: F.triplet_margin_loss(x, x, x, margin=0),
    "triplet dims": lambda m, F, x, c: F.triplet_margin_loss(x, x, x[0]),
    "triplet reduction": lambda m, F, x, c: F.triplet_margin_with_distance_loss(
        x, x, x, reduction="a"
    ),
    "bce weight grad": lambda m, F, x, c: F.binary_cross_entropy(
        x * 0, x * 0, m.ones(4, requires_grad=True)
    ),
    "bce weight size": lambda m, F, x, c: F.binary_cross_entropy(x * 0, x * 0, m.ones(3)),
    "bce nan": lambda m, F, x, c: F.binary_cross_entropy(x * math.nan, x * 0),
    "bce none": lambda m, F, x, c: F.binary_cross_entropy(x * 0 + 2, x * 0, reduction="none"),
    "logits pos_weight grad": lambda m, F, x, c: F.binary_cross_entropy_with_logits(
        x, x, pos_weight=m.ones(4, requires_grad=True)
    ),
    "logits pos_weight size": lambda m, F, x, c: F.binary_cross_entropy_with_logits(
        x, x, pos_weight=m.ones(3)
    ),
    "logits pos_weight larger": lambda m, F, x, c: F.binary_cross_entropy_with_logits(
        x[0], x[0], pos_weight=m.ones(3, 4)
    ),
    "logits int target": lambda m, F, x, c: F.binary_cross_entropy_with_logits(x, x.long()),
    "kl int": lambda m, F, x, c: F.kl_div(x, x.long()),
    "mse int": lambda m, F, x, c: F.mse_loss(c, c),
    "mse shapes": lambda m, F, x, c: F.mse_loss(x, x[:, :3]),
    "huber int": lambda m, F, x, c: F.huber_loss(c, c),
    "MultiMarginLoss p": lambda m, F, x, c: m.nn.MultiMarginLoss(3),
    "MultiMarginLoss weight": lambda m, F, x, c: m.nn.MultiMarginLoss(weight=x),
    "TripletMarginLoss": lambda m, F, x, c: m.nn.TripletMarginLoss(0),
    "TripletMarginWithDistanceLoss": lambda m, F, x, c: m.nn.TripletMarginWithDistanceLoss(
        margin=0
    ),
    "adaptive none": lambda m, F, x, c: m.nn.AdaptiveLogSoftmaxWithLoss(4, 10, []),
    "adaptive order": lambda m, F, x, c: m.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5, 2]),
    "adaptive high": lambda m, F, x, c: m.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [10]),
    "adaptive target": lambda m, F, x, c: m.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2])(x, c + 8),
    "adaptive sizes": lambda m, F, x, c: m.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2])(x, c[:2]),
    "adaptive dims": lambda m, F, x, c: m.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2])(x, c[0]),
    "adaptive multi": lambda m, F, x, c: m.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2])(x, c[:, None]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(oracle, name):
    kinds = []
    for m in (tiny_torch, oracle):
        x = m.tensor([[0.5, -1.0, 2.0, 0.1]] * 3)
        with pytest.raises(Exception) as caught, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            REFUSED[name](m, m.nn.functional, x, m.tensor([0, 3, 1]))
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


CTC_REFUSED = {
    "blank": {"blank": 5}, "blank -1": {"blank": -1}, "times": {"times": (6,)},
    "lengths": {"lengths": (3,)}, "too many times": {"times": (7, 5)},
    "too long": {"lengths": (4, 2)}, "negative times": {"times": (-6, 5)},
    "negative lengths": {"lengths": (-1, 2)}, "targets": {"targets": [1, 2, 3]},
    "targets 3-d": {"targets": [[[1, 2, 2], [3, 1, 0]]]}, "batch": {"targets": [[1, 2, 2]]},
    "float times": {"times": (6.0, 5.0)}, "reduction": {"reduction": "a"},
    "half": {"dtype": "float16"},
}  # fmt: skip


@pytest.mark.parametrize("name", CTC_REFUSED)
def test_ctc_refused(oracle, name):
    options = dict(CTC_REFUSED[name])
    times, lengths = options.pop("times", (6, 5)), options.pop("lengths", (3, 2))
    targets = options.pop("targets", [[1, 2, 2], [3, 1, 0]])
    dtype = options.pop("dtype", "float32")
    kinds = []
    for m in (tiny_torch, oracle):
        x = m.zeros(6, 2, 5, dtype=getattr(m, dtype))
        with pytest.raises(Exception) as caught:
            m.nn.functional.ctc_loss(
                x, m.tensor(targets), m.tensor(times), m.tensor(lengths), **options
            )
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize("value", [math.nan, -math.inf, None])
def test_ctc_of_what_is_not_finite(oracle, value):
    """NaN and infinite losses have PyTorch's gradients: NaN, of every class."""
    results = []
    for m in (tiny_torch, oracle):
        logits = np.random.default_rng(2).standard_normal((6, 1, 4))
        x = m.tensor(logits).log_softmax(2)
        x[2, 0, 1] = 0.0 if value is None else value
        x.requires_grad_()
        times = 6 if value else 1  # too short: the loss is infinite
        loss = m.nn.functional.ctc_loss(x, m.tensor([[1, 2]]), (times,), (2,))
        loss.backward()
        results.append((loss.item(), x.grad.numpy()))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-10)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-9)


def test_ctc_refuses_what_pytorch_would_read_beyond():
    x = tiny_torch.zeros(6, 1, 5)
    for label in (5, -1):
        with pytest.raises(RuntimeError, match="is outside of"):
            F.ctc_loss(x, tiny_torch.tensor([[label]]), (6,), (1,))
    for m_times in ((6,), "a"):
        with pytest.raises(TypeError):
            F.ctc_loss(x, tiny_torch.tensor([[1]]), tiny_torch.tensor([6]), m_times)


def test_second_derivatives_that_there_are_not(torch):
    x = torch.zeros(3, 1, 4, requires_grad=True)
    loss = torch.nn.functional.ctc_loss(x, torch.tensor([[1]]), (3,), (1,))
    with pytest.raises(RuntimeError, match="is not implemented"):
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        torch.autograd.grad(g.sum(), x)


@pytest.mark.parametrize(
    "name", ["mse_loss", "soft_margin_loss", "poisson_nll_loss", "multilabel_soft_margin_loss"]
)
def test_legacy_reductions(oracle, name):
    for options in ({"size_average": False}, {"reduce": False}, {"size_average": True}):
        results = []
        for m in (tiny_torch, oracle):
            x, _, z, *_ = inputs(m)
            with pytest.warns(UserWarning, match="will be deprecated"):
                results.append(
                    getattr(m.nn.functional, name)(x, z.data, **options).detach().numpy()
                )
        np.testing.assert_allclose(*results, rtol=1e-9)
