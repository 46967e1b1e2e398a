"""softmax and its relatives, nll_loss and cross_entropy: values, gradients, layouts, errors."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import tiny_torch
from tiny_torch.nn import functional as F

TOLERANCE = {"float32": 4e-6, "float64": 1e-12, "float16": 4e-3, "bfloat16": 3e-2}
# shape and a permutation: contiguous rows, columns side by side (few, many, a rest), transposed
LAYOUTS = [
    ((5, 70), (0, 1)),
    ((7, 300), (0, 1)),
    ((40, 37), (1, 0)),
    ((2, 6, 9, 5), (0, 3, 1, 2)),
    ((3, 100, 20), (0, 2, 1)),
    ((9,), (0,)),
]


def both(oracle, values, permutation=None, dtype="float32", grad=True):
    """The same numbers as tensors of both packages, in the same layout."""
    pair = []
    for module in (tiny_torch, oracle):
        x = module.from_numpy(np.array(values)).to(getattr(module, dtype))
        x = x.permute(permutation) if permutation else x
        pair.append(x.detach().requires_grad_(grad))
    return pair


def close(ours, theirs, dtype, where):
    assert tuple(ours.shape) == tuple(theirs.shape), where
    assert ours.stride() == theirs.stride(), (where, ours.stride(), theirs.stride())
    assert str(ours.dtype).endswith(str(theirs.dtype).removeprefix("torch.")), where
    ours, theirs = ours.detach().double().numpy(), theirs.detach().double().numpy()
    bound = TOLERANCE[dtype]
    assert np.allclose(ours, theirs, rtol=bound, atol=bound, equal_nan=True), (where, ours, theirs)


def draw(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape) * 2


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(oracle, name, dtype):
    for shape, permutation in LAYOUTS:
        for dim in range(len(shape)):
            where = (shape, permutation, dim)
            ours, theirs = both(oracle, draw(0, *shape), permutation, dtype)
            y, z = getattr(tiny_torch, name)(ours, dim), getattr(oracle, name)(theirs, dim)
            close(y, z, dtype, where)
            close(ours.softmax(dim, dtype=tiny_torch.float64),
                  theirs.softmax(dim, dtype=oracle.float64), dtype, where)  # fmt: skip
            g, h = both(oracle, draw(1, *y.shape), dtype=dtype, grad=False)
            y.backward(g), z.backward(h)
            if dtype != "bfloat16":  # which PyTorch rounds in between
                close(ours.grad.contiguous(), theirs.grad.contiguous(), dtype, where)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_specials(oracle, name):
    inf, nan = np.inf, np.nan
    rows = [[0, nan, 1], [inf, 0, 1], [-inf, -inf, -inf], [-inf, 0, 1], [1e38, -1e38, 0],
            [-200, 0, -100], [nan, nan, nan]]  # fmt: skip
    for dim, values in ((1, np.array(rows)), (0, np.array(rows * 5).T.copy())):
        ours, theirs = both(oracle, values, grad=False)
        close(getattr(ours, name)(dim), getattr(theirs, name)(dim), "float32", dim)


def test_empty_and_scalars(oracle):
    for m in (tiny_torch, oracle):
        assert (
            m.softmax(m.tensor(3.0), 0).item() == 1 and m.log_softmax(m.tensor(3.0), -1).ndim == 0
        )
        for shape, dim in (((0, 3), 1), ((3, 0), 1), ((3, 0), 0)):
            x = m.zeros(*shape, requires_grad=True)
            m.softmax(x, dim).sum().backward()
            assert tuple(x.grad.shape) == shape


def test_out(torch):
    x, out = torch.randn(2, 3), torch.empty(0)
    assert torch.softmax(x, 1, out=out) is out and bool((out == x.softmax(1)).all())
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        torch.log_softmax(x, 1, out=torch.empty(2, 3, dtype=torch.float64))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dim", [0, 1])
def test_second_derivatives(name, dim):
    x = tiny_torch.randn(3, 4, dtype=tiny_torch.float64, requires_grad=True)
    function = getattr(tiny_torch, name)
    assert tiny_torch.autograd.gradcheck(lambda x: function(x, dim), (x,))
    assert tiny_torch.autograd.gradgradcheck(lambda x: function(x, dim), (x,))


def test_gumbel_softmax(torch):
    torch.manual_seed(3)
    x = torch.randn(4, 5, requires_grad=True)
    hard = torch.nn.functional.gumbel_softmax(x, tau=0.5, hard=True)
    (hard * torch.arange(5)).sum().backward()
    assert set(hard.detach().round(decimals=5).flatten().tolist()) == {0.0, 1.0}
    assert bool((x.grad != 0).all())
    with pytest.warns(UserWarning, match="`eps` parameter is deprecated"):
        torch.nn.functional.gumbel_softmax(x, eps=1.0)


def test_gumbel_softmax_draws_what_pytorch_draws(oracle):
    for dim in (0, 1):
        ours, theirs = both(oracle, draw(0, 4, 5))
        for m in (tiny_torch, oracle):
            m.manual_seed(0)
        expected = oracle.nn.functional.gumbel_softmax(theirs, 2.0, dim=dim)
        close(F.gumbel_softmax(ours, 2.0, dim=dim), expected, "float32", dim)


def test_modules(torch):
    nn, x = torch.nn, torch.randn(2, 3, 4, 5)
    for module, text, expected in (
        (nn.Softmax(1), "Softmax(dim=1)", x.softmax(1)),
        (nn.LogSoftmax(-1), "LogSoftmax(dim=-1)", x.log_softmax(-1)),
        (nn.Softmin(2), "Softmin(dim=2)", (-x).softmax(2)),
        (nn.Softmax2d(), "Softmax2d()", x.softmax(1)),
    ):
        assert repr(module) == text and bool((module(x) == expected).all())
    assert nn.Softmax2d()(x[0]).shape == x[0].shape
    with pytest.raises(ValueError, match="Softmax2d: expected input to be 3D or 4D, got 2D"):
        nn.Softmax2d()(x[0, 0])
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmin"):
        nn.functional.softmin(x)


# ---- nll_loss and cross_entropy ------------------------------------------------------------------

LOGITS = [
    ((6, 5), (0, 1)),
    ((5,), (0,)),
    ((30, 70), (0, 1)),
    ((37, 40), (1, 0)),
    ((2, 5, 3), (0, 1, 2)),
    ((2, 7, 20, 9), (0, 1, 2, 3)),
    ((2, 5, 7, 9), (0, 3, 1, 2)),
    ((3, 4, 2, 2, 2), (0, 1, 2, 3, 4)),
]
OPTIONS = [
    {},
    {"reduction": "sum"},
    {"reduction": "none"},
    {"ignore_index": 1},
    {"weight": True},
    {"weight": True, "ignore_index": 1, "reduction": "none"},
    {"label_smoothing": 0.2},
    {"label_smoothing": 0.2, "weight": True, "ignore_index": 1},
    {"label_smoothing": 0.2, "reduction": "sum"},
    {"label_smoothing": 0.2, "weight": True, "reduction": "none"},
]


def check_loss(oracle, name, shape, permutation, options, probabilities, dtype):
    where = (name, shape, permutation, options, dtype)
    ours, theirs = both(oracle, draw(0, *shape), permutation, dtype)
    classes = ours.shape[0 if ours.ndim == 1 else 1]
    if probabilities:
        shares = np.random.default_rng(5).random(tuple(ours.shape))
        targets = both(oracle, shares, dtype=dtype)
    else:
        lines = tuple(ours.shape[:1] + ours.shape[2:]) if ours.ndim > 1 else ()
        targets = [m.from_numpy(np.array(np.random.default_rng(5).integers(0, classes, lines)))
                   for m in (tiny_torch, oracle)]  # fmt: skip
    results = []
    weights = both(oracle, np.random.default_rng(6).random(classes), dtype=dtype, grad=False)
    for m, x, t, w in zip((tiny_torch, oracle), (ours, theirs), targets, weights, strict=True):
        weight = w if options.get("weight") else None
        loss = getattr(m.nn.functional, name)(x, t, **{**options, "weight": weight})
        with contextlib.suppress(RuntimeError):  # PyTorch wants its own gradient contiguous
            loss.backward(m.ones_like(loss) * 0.5)
        results.append((loss, x.grad, t.grad))
    for mine, other in zip(*results, strict=True):
        if other is not None:
            close(mine.contiguous(), other.contiguous(), dtype, where)
    assert results[0][0].stride() == results[1][0].stride()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_cross_entropy(oracle, options):
    for shape, permutation in LOGITS:
        for dtype in ("float32", "float64"):
            check_loss(oracle, "cross_entropy", shape, permutation, options, False, dtype)
            if "ignore_index" not in options:
                check_loss(oracle, "cross_entropy", shape, permutation, options, True, dtype)
            if "label_smoothing" not in options:
                check_loss(oracle, "nll_loss", shape, permutation, options, False, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_computed_in_float32(dtype):
    x = tiny_torch.randn(30, 40).to(getattr(tiny_torch, dtype)).requires_grad_()
    t = tiny_torch.arange(30)
    loss = F.cross_entropy(x, t)
    loss.backward()
    wide = x.detach().float().requires_grad_()
    expected = F.cross_entropy(wide, t)
    expected.backward()
    assert loss.dtype == x.grad.dtype == x.dtype and loss == expected.to(x.dtype)
    assert bool((x.grad == wide.grad.to(x.dtype)).all())


def test_promotion_of_probabilities(oracle):
    for a, b, w in (("float32", "float64", "float32"), ("float16", "float32", "float32"),
                    ("float32", "float32", "float64")):  # fmt: skip
        dtypes = []
        for m in (tiny_torch, oracle):
            x, t = m.zeros(3, 4, dtype=getattr(m, a)), m.ones(3, 4, dtype=getattr(m, b))
            loss = m.nn.functional.cross_entropy(x, t, m.ones(4, dtype=getattr(m, w)))
            dtypes.append(str(loss.dtype).split(".")[1])
        assert dtypes[0] == dtypes[1]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_second_derivatives_of_losses(options):
    weight = tiny_torch.rand(4, dtype=tiny_torch.float64) if options.get("weight") else None
    options = {**options, "weight": weight}
    x = tiny_torch.randn(3, 4, 2, dtype=tiny_torch.float64, requires_grad=True)
    t = tiny_torch.tensor([[0, 1], [3, 1], [2, 0]])
    p = tiny_torch.rand(3, 4, 2, dtype=tiny_torch.float64, requires_grad=True)
    calls = [(lambda x: F.cross_entropy(x, t, **options), (x,))]
    if "label_smoothing" not in options:
        calls.append((lambda x: F.nll_loss(x, t, **options), (x,)))
    if "ignore_index" not in options:
        calls.append((lambda x, p: F.cross_entropy(x, p, **options), (x, p)))
    for call, inputs in calls:
        assert tiny_torch.autograd.gradcheck(call, inputs)
        assert tiny_torch.autograd.gradgradcheck(call, inputs)


def test_weights_of_probabilities_have_gradients():
    w = tiny_torch.rand(4, dtype=tiny_torch.float64, requires_grad=True)
    x = tiny_torch.randn(3, 4, dtype=tiny_torch.float64)
    assert tiny_torch.autograd.gradcheck(lambda w: F.cross_entropy(x, x.softmax(1), w), (w,))


def test_empty_and_all_ignored(oracle):
    for m in (tiny_torch, oracle):
        ce, none = m.nn.functional.cross_entropy, m.zeros(0, dtype=m.int64)
        empty, ignored = m.zeros(0, 4), m.full((3,), -100)
        assert ce(empty, none).isnan() and ce(empty, none, reduction="sum") == 0
        assert tuple(ce(empty, none, reduction="none").shape) == (0,)
        assert (
            ce(m.zeros(3, 4), ignored).isnan() and ce(m.zeros(3, 4), ignored, reduction="sum") == 0
        )
        assert ce(empty, m.zeros(0, 4)).isnan() and ce(m.zeros(3, 0), m.zeros(3, 0)).isnan()


def test_extremes():
    x = tiny_torch.tensor([[1e4, -1e4, 3e38], [-3e38, 0.0, 50.0]], requires_grad=True)
    loss = F.cross_entropy(x, tiny_torch.tensor([2, 2]), reduction="sum")
    loss.backward()
    assert loss == 0 and x.grad.tolist() == [[0.0, 0.0, 0.0], [0.0, 1.9287498933537385e-22, 0.0]]


ERRORS = {
    "class too large": lambda m, F, x, t: F.cross_entropy(x, t + 2),
    "class below 0": lambda m, F, x, t: F.nll_loss(x, t - 1),
    "int32 classes": lambda m, F, x, t: F.cross_entropy(x, t.int()),
    "bool classes": lambda m, F, x, t: F.nll_loss(x, t.bool()),
    "integer logits": lambda m, F, x, t: F.cross_entropy(x.long(), t),
    "integer log-probabilities": lambda m, F, x, t: F.nll_loss(x.long(), t),
    "integer logits, probabilities": lambda m, F, x, t: F.cross_entropy(x.long(), x),
    "weight of float64": lambda m, F, x, t: F.cross_entropy(x, t, m.ones(4).double()),
    "weight of nll, float64": lambda m, F, x, t: F.nll_loss(x, t, m.ones(4).double()),
    "weight of 3": lambda m, F, x, t: F.cross_entropy(x, t, m.ones(3)),
    "weight requires grad": lambda m, F, x, t: F.nll_loss(x, t, m.ones(4, requires_grad=True)),
    "weight of 2 dims": lambda m, F, x, t: F.nll_loss(x, t, m.ones(1, 4)),
    "weight of probabilities": lambda m, F, x, t: F.cross_entropy(x, x, m.ones(3)),
    "other batch": lambda m, F, x, t: F.cross_entropy(x, t[:2]),
    "0-d target": lambda m, F, x, t: F.cross_entropy(x, t[0]),
    "several targets": lambda m, F, x, t: F.nll_loss(x, t[:, None]),
    "0-d input": lambda m, F, x, t: F.nll_loss(x[0, 0], t[0]),
    "0-d input and probability": lambda m, F, x, t: F.cross_entropy(x[0, 0], x[0, 0]),
    "size of target": lambda m, F, x, t: F.cross_entropy(x[None], t[None]),
    "target without places": lambda m, F, x, t: F.nll_loss(x[..., None], t),
    "ignored probabilities": lambda m, F, x, t: F.cross_entropy(x, x, ignore_index=1),
    "smoothing above 1": lambda m, F, x, t: F.cross_entropy(x, t, label_smoothing=1.5),
    "smoothing by a string": lambda m, F, x, t: F.cross_entropy(x, t, label_smoothing="a"),
    "reduction": lambda m, F, x, t: F.cross_entropy(x, t, reduction="batchmean"),
    "target a number": lambda m, F, x, t: F.cross_entropy(x, 5),
    "input a number": lambda m, F, x, t: F.nll_loss(5, t),
    "weight a list": lambda m, F, x, t: F.nll_loss(x, t, [1, 2]),
    "ignore_index a float": lambda m, F, x, t: F.nll_loss(x, t, ignore_index=1.5),
    "dim out of range": lambda m, F, x, t: m.softmax(x, 2),
    "dim of 0-d out of range": lambda m, F, x, t: m.log_softmax(x[0, 0], 1),
    "dim a float": lambda m, F, x, t: m.softmax(x, 1.0),
    "dim a bool": lambda m, F, x, t: m.softmax(x, True),
    "dim missing": lambda m, F, x, t: m.softmax(x),
    "integers": lambda m, F, x, t: m.softmax(t, 0),
    "dtype of integers": lambda m, F, x, t: m.softmax(x, 1, dtype=m.int64),
    "softmax of a number": lambda m, F, x, t: m.softmax(5, 0),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(oracle, name):
    kinds = []
    for m in (tiny_torch, oracle):
        x, t = m.ones(3, 4), m.tensor([0, 1, 2])
        with pytest.raises(Exception) as caught:
            ERRORS[name](m, m.nn.functional, x, t)
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


def test_names_of_nodes(oracle):
    for m in (tiny_torch, oracle):
        x, t, f = m.ones(3, 4, requires_grad=True), m.tensor([0, 1, 2]), m.nn.functional
        for result, name in (
            (f.softmax(x, 1), "Softmax"),
            (f.log_softmax(x, 1), "LogSoftmax"),
            (f.cross_entropy(x, t), "NllLoss"),
            (f.nll_loss(x, t, reduction="none"), "NllLoss"),
            (f.cross_entropy(x[:, :, None], t[:, None]), "NllLoss2D"),
            (f.cross_entropy(x[:, :, None], t[:, None], reduction="none"), "View"),
            (f.nll_loss(x[:, :, None, None], t[:, None, None], reduction="none"), "NllLoss2D"),
            (f.cross_entropy(x, t, label_smoothing=0.1), "Add"),
            (f.cross_entropy(x, x, reduction="sum"), "Neg"),
        ):
            assert result.grad_fn.name() == f"{name}Backward0"
        assert f.cross_entropy(x, x).grad_fn.name() == "DivBackward1"


def test_same_bits_in_every_layout_and_for_any_number_of_threads():
    values = tiny_torch.randn(300, 90)
    grad, classes = tiny_torch.randn(300, 90), tiny_torch.arange(300) % 90
    before, seen = tiny_torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            tiny_torch.set_num_threads(threads)
            for columns in (False, True):
                x = values.t().contiguous().t() if columns else values.clone()
                x.requires_grad_()
                y = (x.t().softmax(0).t() if columns else x.softmax(1)) + x.log_softmax(1)
                y.backward(grad)
                z = x.detach().clone().requires_grad_()
                spatial = z.t()[None] if columns else z
                target = classes[None] if columns else classes
                F.cross_entropy(spatial, target, label_smoothing=0.1).backward()
                seen.append([y.tolist(), x.grad.tolist(), z.grad.tolist()])
    finally:
        tiny_torch.set_num_threads(before)
    assert all(result == seen[0] for result in seen)


def test_on_ref():
    x = tiny_torch.randn(5, 4)
    t = tiny_torch.tensor([0, 1, 2, 3, 1])
    for options in ({}, {"ignore_index": 1, "label_smoothing": 0.1}, {"reduction": "none"}):
        results = []
        for device in ("cpu", "ref"):
            leaf = x.to(device).detach().requires_grad_()
            loss = F.cross_entropy(leaf, t.to(device), **options)
            (loss.sum() + F.nll_loss(leaf.log_softmax(1), t.to(device))).backward()
            results.append((loss.tolist(), leaf.grad.tolist()))
        for a, b in zip(*results, strict=True):
            assert np.allclose(a, b, atol=1e-6)


def test_short_lines(oracle):
    """Side by side through scratch memory: rows of few elements, and halves in columns."""
    for shape, permutation, dtype in (
        ((50, 3), None, "float32"),
        ((40, 16), None, "float64"),
        ((33, 1), None, "float32"),
        ((9, 35, 10), None, "bfloat16"),
        ((20, 70), (1, 0), "bfloat16"),
        ((2, 30, 5, 7), (0, 2, 3, 1), "float32"),
    ):
        for dim in (0, len(shape) - 1):
            ours, theirs = both(oracle, draw(0, *shape), permutation, dtype)
            for name in ("softmax", "log_softmax"):
                y, z = getattr(ours, name)(dim), getattr(theirs, name)(dim)
                close(y, z, dtype, (shape, dim))
            if dtype != "bfloat16":
                y.backward(y.detach()), z.backward(z.detach())
                close(ours.grad.contiguous(), theirs.grad.contiguous(), dtype, (shape, dim))
    x = tiny_torch.rand(40, 5)
    assert bool((x.softmax(1)[7:8] == x[7:8].softmax(1)).all())  # the same bits alone
