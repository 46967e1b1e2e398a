"""Halves are computed in float32 and rounded once: values and gradients have float32's bits."""

import itertools

import numpy as np
import pytest
from helpers import same_bits

import tiny_torch as torch
from tiny_torch.nn import functional as F
from tiny_torch.utils import memory

ROUNDING = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
LABELS = torch.tensor([1, 0, 2, 4, 3, 1])


def over(shape):
    return lambda x: F.layer_norm(x, shape, *parameters(shape))


def parameters(shape):
    return torch.linspace(0.5, 2, int(np.prod(shape))).view(shape), torch.ones(shape)


def with_channels(norm, *options):
    return lambda x: norm(x, *options, *parameters((x.shape[1],)))


def batch_norm(x):
    return F.batch_norm(x, None, None, *parameters((x.shape[1],)), training=True)


def fixed_batch_norm(x):
    mean = torch.linspace(-1, 1, x.shape[1])
    return F.batch_norm(x, mean, mean.abs() + 0.5, *parameters((x.shape[1],)))


LINES = [(3, 1), (5, 15), (17, 16), (33, 33), (6, 100), (3, 1030), (40, 5)]
IMAGES = [(2, 3, 1, 1), (3, 5, 4, 6), (4, 20, 9, 33), (2, 17, 40, 50), (6, 64, 2, 2)]
CASES = {
    "softmax": (lambda x: F.softmax(x, -1), LINES),
    "softmax of columns": (lambda x: F.softmax(x, 0), LINES),
    "log_softmax": (lambda x: F.log_softmax(x, -1), LINES),
    "log_softmax of columns": (lambda x: F.log_softmax(x, 0), LINES),
    "logsumexp": (lambda x: x.logsumexp(1), LINES),
    "layer_norm": (lambda x: over(x.shape[1:])(x), LINES + IMAGES),
    "layer_norm without weights": (lambda x: F.layer_norm(x, x.shape[1:]), LINES),
    "rms_norm": (lambda x: F.rms_norm(x, x.shape[1:], parameters(x.shape[1:])[0], 1e-5), LINES),
    "batch_norm": (batch_norm, [(33, 7), (8, 3, 50), *IMAGES[1:]]),
    "batch_norm in use": (fixed_batch_norm, IMAGES),
    "group_norm": (
        lambda x: with_channels(F.group_norm, 1)(x),
        [(4, 20, 9, 33), (2, 17, 40, 50), (6, 64, 2, 2), (5, 16)],
    ),
    "group_norm of two": (with_channels(F.group_norm, 2), [(4, 20, 9, 33), (6, 64, 2, 2)]),
    "instance_norm": (lambda x: F.instance_norm(x), IMAGES[1:]),
    "max_pool": (lambda x: F.max_pool2d(x, 2), IMAGES[1:]),
    "max_pool that overlaps": (lambda x: F.max_pool2d(x, 3, 2, 1), IMAGES),
    "max_pool, dilated": (lambda x: F.max_pool2d(x, 2, 3, 1, 2), IMAGES[1:4]),
    "max_pool of rows": (lambda x: F.max_pool2d(x, (1, 4), (1, 1)), IMAGES[1:4]),
    "max_pool of long rows": (lambda x: F.max_pool2d(x, (2, 32)), IMAGES[2:4]),
    "adaptive_max_pool": (lambda x: F.adaptive_max_pool2d(x, (1, 1)), IMAGES),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), [(3, 4, 70)]),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), [(2, 3, 6, 4, 34)]),
    "avg_pool": (lambda x: F.avg_pool2d(x, 2), IMAGES[1:]),
    "cross_entropy": (lambda x: F.cross_entropy(x, LABELS), [(6, 5), (6, 100)]),
    "smooth cross_entropy": (
        lambda x: F.cross_entropy(x, LABELS, label_smoothing=0.1),
        [(6, 5), (6, 100)],
    ),
    "cross_entropy of probabilities": (
        lambda x: F.cross_entropy(x, parameters(x.shape)[0].bfloat16().to(x.dtype)),
        [(6, 5), (6, 8)],
    ),
    "cube": (lambda x: x**3, LINES),
}
# Their gradients are computed from what was rounded.
FROM_ROUNDED = ("softmax", "log_softmax", "cube")


def layouts(x):
    """The same elements contiguous, with gaps, across, and with channels last."""
    spaced = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype)
    spaced[..., ::2] = x
    across = x.transpose(0, 1).contiguous().transpose(0, 1)
    last = [x.contiguous(memory_format=torch.channels_last)] if x.ndim == 4 else []
    return [x, spaced[..., ::2], across, *last]


def results(f, x, dtype):
    x = x.to(dtype).detach().requires_grad_()
    y = f(x)
    grad = np.random.default_rng(1).standard_normal(tuple(y.shape))
    y.backward(torch.from_numpy(grad).bfloat16().to(dtype))
    return y.detach(), x.grad


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_halves_have_the_bits_of_float32_rounded_once(name, dtype):
    f, shapes = CASES[name]
    for shape in shapes:
        values = 3 * np.random.default_rng(0).standard_normal(shape) + 1
        for x in layouts(torch.from_numpy(values).to(dtype)):
            half, wide = results(f, x, dtype), results(f, x, torch.float32)
            count = 1 if name.startswith(FROM_ROUNDED) else 2
            for mine, of_float in zip(half[:count], wide[:count], strict=True):
                assert mine.dtype is dtype, (shape, x.stride())
                assert same_bits(mine.float(), of_float.to(dtype).float()), (shape, x.stride())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("special", [float("nan"), float("inf"), float("-inf"), -0.0, 1e-41])
def test_special_halves(dtype, special):
    for name in ("logsumexp", "layer_norm", "batch_norm", "max_pool", "max_pool that overlaps"):
        f, shapes = CASES[name]
        x = torch.from_numpy(np.random.default_rng(0).standard_normal(shapes[2])).to(dtype)
        x.view(-1)[::7] = special
        half, wide = results(f, x, dtype), results(f, x, torch.float32)
        for mine, of_float in zip(half, wide, strict=True):
            assert np.array_equal(
                mine.float().numpy(), of_float.to(dtype).float().numpy(), equal_nan=True
            ), name


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("f", [F.softmax, F.log_softmax])
@pytest.mark.parametrize("dim", [0, 1])
def test_gradients_of_softmax(f, dim, dtype):
    for shape in LINES:
        x = torch.from_numpy(np.random.default_rng(0).standard_normal(shape)).to(dtype)
        grad = torch.from_numpy(np.random.default_rng(1).standard_normal(shape)).to(dtype)
        x.requires_grad_()
        y = f(x, dim)
        y.backward(grad)
        y, g = y.detach().double().numpy(), grad.double().numpy()
        if f is F.softmax:
            exact = (g - (g * y).sum(dim, keepdims=True)) * y
        else:
            exact = g - np.exp(y) * g.sum(dim, keepdims=True)
        error = np.abs(x.grad.double().numpy() - exact)
        assert (error <= ROUNDING[dtype] * np.abs(exact) + 2e-6).all(), shape


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_the_places_of_the_largest(dtype):
    x = torch.from_numpy(np.random.default_rng(0).integers(-2, 3, (3, 20, 9, 33))).to(dtype)
    for layout in layouts(x):
        for options in ((2,), (3, 2, 1), ((2, 32),), ((3, 33), 1)):
            half = F.max_pool2d(layout, *options, return_indices=True)
            wide = F.max_pool2d(layout.float(), *options, return_indices=True)
            assert half[0].float().equal(wide[0]) and half[1].equal(wide[1]), options


HEADS = [  # leading dims, queries, keys, width, width of values
    ((), 1, 1, 1, 1), ((2,), 33, 31, 7, 5), ((1, 2), 64, 300, 64, 64), ((2,), 300, 520, 40, 24),
    ((3,), 17, 257, 33, 65), ((1,), 128, 128, 32, 32), ((1, 1), 290, 40, 16, 96),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
@pytest.mark.parametrize("kind", ["plain", "causal", "masked"])
@pytest.mark.parametrize("shape", HEADS, ids=str)
def test_attention_is_as_near_as_its_sums(shape, kind, dtype):
    """Beside the results also probabilities, and the gradients of scores, may be rounded."""
    lead, n, s, e, v = shape
    sizes = [(*lead, n, e), (*lead, s, e), (*lead, s, v), (*lead, n, v)]
    draws = [np.random.default_rng(i).standard_normal(size) for i, size in enumerate(sizes)]
    q, k, values, grad = (torch.from_numpy(x).to(dtype) for x in draws)
    mask = np.zeros((n, s))
    if kind == "causal":
        mask[np.arange(s) > np.arange(n)[:, None]] = -np.inf
    elif kind == "masked":
        mask = np.random.default_rng(9).standard_normal((n, s)).astype(np.float32)
        mask[np.random.default_rng(8).random((n, s)) > 0.5] = -np.inf
        mask[n // 2] = -np.inf
        mask = torch.from_numpy(mask).to(dtype).double().numpy()
    options = {"is_causal": kind == "causal"}
    if kind == "masked":
        options["attn_mask"] = torch.from_numpy(mask).to(dtype)
    answers = []
    for layout in range(3):
        leaves = [layouts(x)[layout] if x.ndim > 1 else x for x in (q, k, values)]
        leaves = [x.detach().requires_grad_() for x in leaves]
        y = F.scaled_dot_product_attention(*leaves, **options)
        y.backward(grad)
        answers.append([y.detach(), *[x.grad for x in leaves]])
    for other in answers[1:]:
        assert all(same_bits(a.float(), b.float()) for a, b in zip(other, answers[0], strict=True))

    Q, K, V, G = (x.double().numpy() for x in (q, k, values, grad))
    scale, u = 1 / np.sqrt(e), ROUNDING[dtype]
    turned = [np.swapaxes(x, -1, -2) for x in (Q, K, V)]
    scores = Q @ turned[1] * scale + mask
    peak = np.maximum(scores.max(-1, keepdims=True), -1e30)
    p = np.exp(scores - peak)
    p /= np.maximum(p.sum(-1, keepdims=True), 1e-300)
    out = p @ V
    dp = G @ turned[2]
    ds = p * (dp - (G * out).sum(-1, keepdims=True))
    dsT, pT = np.swapaxes(ds, -1, -2), np.swapaxes(p, -1, -2)
    expected = [out, ds @ K * scale, dsT @ Q * scale, pT @ G]
    # What rounding may change of p, and of ds through p and `out`.
    few = 2.0**-24 * (e + v + s + 30)
    off_p = (u + few * (1 + np.abs(Q) @ np.abs(turned[1]) * scale)) * p
    near = np.abs(G) @ np.abs(turned[2]) + (np.abs(G) * np.abs(out)).sum(-1, keepdims=True)
    off_ds = 2 * u * np.abs(ds) + 2 * off_p * near
    bounds = [off_p @ np.abs(V), off_ds @ np.abs(K) * scale,
              np.swapaxes(off_ds, -1, -2) @ np.abs(Q) * scale,
              np.swapaxes(off_p, -1, -2) @ np.abs(G)]  # fmt: skip
    for mine, exact, bound in zip(answers[0], expected, bounds, strict=True):
        error = np.abs(mine.double().numpy() - exact)
        assert (error <= u * np.abs(exact) + 1.01 * bound + 2.0**-24).all(), (shape, error.max())


def test_attention_of_halves_has_the_same_bits_for_any_number_of_threads():
    leaves = [torch.from_numpy(np.random.default_rng(i).standard_normal((3, 300, 24))).bfloat16()
              for i in range(3)]  # fmt: skip
    before, seen = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            x = [leaf.clone().requires_grad_() for leaf in leaves]
            y = F.scaled_dot_product_attention(*x, is_causal=True)
            y.square().sum().backward()
            seen.append([y.detach(), *[leaf.grad for leaf in x]])
    finally:
        torch.set_num_threads(before)
    for other in seen[1:]:
        assert all(same_bits(a.float(), b.float()) for a, b in zip(other, seen[0], strict=True))


# ---- cross-entropy under autocast: of float32, without a float32 copy of the logits --------------
SIZES = ((7, 11), (64, 300), (3, 5000), (2, 5, 3), (4, 1, 2))


def logits_of(shape, dtype):
    torch.manual_seed(0)
    return (torch.randn(*shape) * 3).to(dtype).requires_grad_()


def classes_of(shape):
    target = torch.arange(shape[0]).view(-1, *(1 for _ in shape[2:])).expand(shape[0], *shape[2:])
    target = target * 7 % shape[1]
    target[0] = -100
    return target


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
@pytest.mark.parametrize("smoothing", [0, 0.1])
@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_cross_entropy_under_autocast_has_the_bits_of_a_copy_in_float32(shape, smoothing, dtype):
    target, weight = classes_of(shape), torch.rand(shape[1])
    for reduction, w in itertools.product(("mean", "sum", "none"), (None, weight)):
        options = {"reduction": reduction, "weight": w, "label_smoothing": smoothing}
        x, y = logits_of(shape, dtype), logits_of(shape, dtype)
        with torch.autocast("cpu", dtype=dtype):
            loss = F.cross_entropy(x, target, **options)
        expected = F.cross_entropy(y.float(), target, **options)
        assert loss.dtype == torch.float32 and torch.equal(loss, expected)
        loss.sum().backward()
        expected.sum().backward()
        assert x.grad.dtype == dtype and torch.equal(x.grad, y.grad)


def test_cross_entropy_under_autocast_of_logits_that_lie_across_and_twice():
    x = logits_of((5, 9), torch.bfloat16).detach().t().requires_grad_()
    target = torch.arange(9) % 5
    with torch.autocast("cpu"):
        (slope,) = torch.autograd.grad(F.cross_entropy(x, target), x, create_graph=True)
    (wide,) = torch.autograd.grad(F.cross_entropy(x.float(), target), x, create_graph=True)
    torch.testing.assert_close(slope, wide)
    found, expected = (torch.autograd.grad(s.float().square().sum(), x)[0] for s in (slope, wide))
    torch.testing.assert_close(found, expected)


def test_cross_entropy_under_autocast_makes_no_copy_of_the_logits():
    x, target = logits_of((512, 1000), torch.bfloat16), torch.arange(512)
    with torch.autocast("cpu"), memory.record(holders=False) as recording:
        F.cross_entropy(x * 1, target).backward()
    most = max(block.bytes for block in recording.blocks)
    assert most == x.numel() * 2


@pytest.mark.parametrize("weight", ["float32", "bfloat16", "float64", None])
@pytest.mark.parametrize("half", [True, False])
def test_weights_of_another_dtype_are_taken_where_pytorch_casts_them(oracle, weight, half):
    def call(module):
        x = module.ones(3, 4, dtype=module.bfloat16)
        w = weight and module.full((4,), 2.0, dtype=getattr(module, weight))
        with module.autocast("cpu", enabled=half):
            loss = module.nn.functional.cross_entropy(x, module.tensor([0, 1, 2]), w)
        return str(loss.dtype), loss.item()

    def outcome(module):
        try:
            return call(module)
        except RuntimeError as error:
            return str(error)

    assert outcome(torch) == outcome(oracle)


# 12 rows, 32 columns and 512 products make a whole tile of a single block; and what is left of one.
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("rows, depth, columns", [(24, 512, 64), (25, 513, 65), (7, 1030, 40)])
def test_products_and_their_biases_are_rounded_once(rows, depth, columns, dtype):
    def integers(*shape):
        return torch.randint(-4, 5, shape).to(dtype)

    x, w, bias = integers(rows, depth), integers(columns, depth), torch.randn(columns).to(dtype)
    exact = x.double() @ w.double().t()  # sums of integers
    assert same_bits(x @ w.t(), exact.to(dtype))
    expected = (exact + bias.double()).float().to(dtype)
    assert same_bits(F.linear(x, w, bias), expected)
    assert same_bits(torch.addmm(bias, x, w.t()), expected)
    x[0, 0] = x[1, 1] = float("nan")
    assert F.linear(x, w, bias).isnan().sum() == 2 * columns
