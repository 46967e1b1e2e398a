"""scaled_dot_product_attention: values, gradients, masks, layouts, errors, memory."""

from __future__ import annotations

import numpy as np
import pytest

import tiny_torch
from tiny_torch.nn import functional as F
from tiny_torch.nn.attention import SDPBackend, sdpa_kernel

TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "bfloat16": 4e-2, "float16": 8e-3}
# leading dims, queries, keys, width, width of values: whole tiles and rests of each
SHAPES = [
    ((2, 3), 5, 7, 4, 4),
    ((1, 2), 33, 40, 16, 16),
    ((2, 1), 70, 130, 33, 20),
    ((), 1, 300, 8, 8),
    ((3,), 130, 3, 8, 50),
    ((1, 2, 1), 64, 96, 32, 32),
]
MASKS = {
    "none": lambda rng, lead, n, s: None,
    "bool": lambda rng, lead, n, s: (rng.random((n, s)) > 0.3) & (np.arange(n) > 0)[:, None],
    "added": lambda rng, lead, n, s: rng.standard_normal((*lead, n, s)),
    "keys": lambda rng, lead, n, s: rng.random((*lead, 1, s)) > 0.5,
    "last added": lambda rng, lead, n, s: rng.standard_normal((n, 1)),
}


def draw(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def close(ours, theirs, dtype, where):
    assert tuple(ours.shape) == tuple(theirs.shape), where
    assert str(ours.dtype).endswith(str(theirs.dtype).removeprefix("torch.")), where
    ours, theirs = ours.detach().double().numpy(), theirs.detach().double().numpy()
    bound = TOLERANCE[dtype]
    assert np.allclose(ours, theirs, rtol=bound, atol=bound, equal_nan=True), (where, ours, theirs)


def train(m, arrays, mask=None, dtype="float32", **options):
    """The result and the gradients of query, key and value."""
    dtype = getattr(m, dtype)
    leaves = [m.from_numpy(a).to(dtype).requires_grad_() for a in arrays]
    if mask is not None:
        mask = m.from_numpy(mask)
        mask = mask if mask.dtype == m.bool else mask.to(dtype)
    y = m.nn.functional.scaled_dot_product_attention(*leaves, mask, **options)
    y.backward(m.from_numpy(draw(9, *y.shape)).to(dtype))
    return [y, *[leaf.grad for leaf in leaves]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mask", MASKS)
def test_values_and_gradients(oracle, mask, dtype):
    for lead, n, s, e, v in SHAPES:
        arrays = [2 * draw(0, *lead, n, e), draw(1, *lead, s, e), draw(2, *lead, s, v)]
        values = MASKS[mask](np.random.default_rng(3), lead, n, s)
        for options in ({}, {"scale": 0.3}, {"is_causal": True}):
            if "is_causal" in options and mask != "none":
                continue
            ours = train(tiny_torch, arrays, values, dtype, **options)
            theirs = train(oracle, arrays, values, dtype, **options)
            for a, b in zip(ours, theirs, strict=True):
                close(a, b, dtype, (lead, n, s, options))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves(oracle, dtype):
    arrays = [draw(i, 2, 2, n, 16) for i, n in enumerate((40, 50, 50))]
    for a, b in zip(
        train(tiny_torch, arrays, None, dtype), train(oracle, arrays, None, dtype), strict=True
    ):
        close(a, b, dtype, dtype)


def test_causal_and_masked(oracle):
    arrays = [draw(i, 2, 3, n, 16) for i, n in enumerate((40, 50, 50))]
    for mask in (draw(4, 40, 50) > -0.5, draw(4, 40, 50)):
        ours = train(tiny_torch, arrays, mask, is_causal=True)
        for a, b in zip(ours, train(oracle, arrays, mask, is_causal=True), strict=True):
            close(a, b, "float32", mask.dtype)


def test_rows_that_see_no_key_are_zero(torch):
    q, k, v = [torch.randn(1, 1, 4, 8, requires_grad=True) for _ in range(3)]
    seen = torch.ones(4, 4, dtype=torch.bool)
    seen[2] = False
    added = torch.zeros(4, 4).masked_fill(~seen, float("-inf"))
    for mask in (seen, added):
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)
        grads = torch.autograd.grad(y.sum(), (q, k, v))
        assert bool((y[0, 0, 2] == 0).all()) and bool((grads[0][0, 0, 2] == 0).all())
        assert not any(g.isnan().any() for g in grads)


def test_nan_and_large_scores():
    q, k = tiny_torch.ones(1, 40, 8), tiny_torch.ones(1, 5, 8) * 1e4
    q[0, 3] = float("nan")
    y = F.scaled_dot_product_attention(q, k, k)
    assert bool(y[0, 3].isnan().all())
    assert bool((y[0, 4:] == 1e4).all()) and bool((y[0, :3] == 1e4).all())


def test_empty(torch):
    f = torch.nn.functional.scaled_dot_product_attention
    q, k = torch.randn(2, 3, 5, 4, requires_grad=True), torch.randn(2, 3, 7, 4, requires_grad=True)
    for queries, keys in (
        (q[:, :, :0], k),
        (q, k[:, :, :0]),
        (q[:0], k[:0]),
        (q[..., :0], k[..., :0]),
    ):
        y = f(queries, keys, keys)
        y.sum().backward()
        assert y.shape == (*queries.shape[:-1], keys.shape[-1])
    assert bool((f(q, k[:, :, :0], k[:, :, :0]) == 0).all())
    assert torch.allclose(f(q[..., :0], k[..., :0], k), k.mean(2, keepdim=True).expand(2, 3, 5, 4))


def test_strides(oracle):
    for layout in ((0, 1, 2, 3), (0, 2, 1, 3), (1, 2, 0, 3), (0, 1, 3, 2)):
        results = []
        for m in (tiny_torch, oracle):
            leaves = []
            for i, n in enumerate((40, 50, 50)):
                order = [(2, 3, n, 16)[d] for d in layout]
                x = m.from_numpy(draw(i, *order)).float()
                leaves.append(x.permute(*np.argsort(layout)).detach().requires_grad_())
            y = m.nn.functional.scaled_dot_product_attention(*leaves)
            y.sin().sum().backward()
            results.append([y, *[leaf.grad for leaf in leaves]])
        for a, b in zip(*results, strict=True):
            close(a, b, "float32", layout)
            assert a.stride() == b.stride(), (layout, a.stride(), b.stride())


def test_strides_of_slices(oracle):
    strides = []
    for m in (tiny_torch, oracle):
        q, k, v = m.ones(2, 9, 3 * 12).unflatten(-1, (3, 12)).chunk(3, -1)
        y = m.nn.functional.scaled_dot_product_attention(*[x.transpose(1, 2) for x in (q, k, v)])
        strides.append(y.stride())
    assert strides[0] == strides[1]


def test_expanded_and_sliced_inputs():
    wide = tiny_torch.randn(2, 40, 3, 24)
    q, k, v = [wide[..., i::3].transpose(1, 2) for i in range(3)]
    expected = F.scaled_dot_product_attention(q.clone(), k.clone(), v.clone())
    assert bool((F.scaled_dot_product_attention(q, k, v) == expected).all())
    one = tiny_torch.randn(40, 8)
    many = one.expand(2, 3, 40, 8)
    y = F.scaled_dot_product_attention(q, many, many)
    assert bool((y == F.scaled_dot_product_attention(q, many.clone(), many.clone())).all())


@pytest.mark.parametrize("heads", [(6, 3, 3), (6, 1, 1), (6, 6, 6), (6, 3, 2)])
def test_shared_heads(oracle, heads):
    arrays = [draw(i, 2, h, n, 8) for i, (h, n) in enumerate(zip(heads, (9, 11, 11), strict=True))]
    ours = train(tiny_torch, arrays, enable_gqa=True, is_causal=True)
    for a, b in zip(ours, train(oracle, arrays, enable_gqa=True, is_causal=True), strict=True):
        close(a, b, "float32", heads)


def test_leading_dims_are_broadcast(oracle):
    for shapes in (((2, 3), (1, 3), (2, 1)), ((2, 3), (3,), ()), ((4, 1, 3), (2, 1), (1,))):
        arrays = [
            draw(i, *lead, n, 8)
            for i, (lead, n) in enumerate(zip(shapes, (9, 11, 11), strict=True))
        ]
        for a, b in zip(train(tiny_torch, arrays), train(oracle, arrays), strict=True):
            close(a, b, "float32", shapes)


def test_gradient_of_a_mask(oracle):
    results = []
    for m in (tiny_torch, oracle):
        q, k, v = [m.from_numpy(draw(i, 2, 2, 5, 4)) for i in range(3)]
        mask = m.from_numpy(draw(3, 5, 5)).requires_grad_()
        m.nn.functional.scaled_dot_product_attention(q, k, v, mask).square().sum().backward()
        results.append(mask.grad)
    close(*results, "float64", "mask")


@pytest.mark.parametrize("mask", ["none", "bool", "added"])
def test_second_derivatives(mask):
    leaves = [
        tiny_torch.from_numpy(draw(i, 2, n, 3)).requires_grad_() for i, n in enumerate((4, 5, 5))
    ]
    values = MASKS[mask](np.random.default_rng(0), (2,), 4, 5)
    values = None if values is None else tiny_torch.from_numpy(values)

    def call(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, values, is_causal=mask == "none")

    assert tiny_torch.autograd.gradcheck(call, leaves)
    assert tiny_torch.autograd.gradgradcheck(call, leaves)


def test_dropout(torch):
    q = torch.randn(2, 3, 6, 4)
    torch.manual_seed(0)
    y = torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
    torch.manual_seed(0)
    weights = (q @ q.transpose(-2, -1) / 2).softmax(-1)
    assert torch.allclose(y, torch.nn.functional.dropout(weights, 0.5) @ q, atol=1e-6)
    none = torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=1.0)
    assert bool((none == 0).all())


def test_kernels_to_choose_from(torch):
    attention = torch.nn.attention
    q, f = torch.randn(1, 2, 5, 4, requires_grad=True), torch.nn.functional
    expected = f.scaled_dot_product_attention(q, q, q)
    names = [
        attention.SDPBackend.MATH,
        [attention.SDPBackend.FLASH_ATTENTION],
        [attention.SDPBackend.MATH, attention.SDPBackend.FLASH_ATTENTION],
    ]
    for backends in names:
        with attention.sdpa_kernel(backends):
            y = f.scaled_dot_product_attention(q, q, q)
        flash = y.grad_fn.name() == "ScaledDotProductFlashAttentionForCpuBackward0"
        assert flash == (backends is not names[0]) and torch.allclose(y, expected, atol=1e-6)
    with pytest.raises(AssertionError, match="Backend must be an instance"):
        attention.sdpa_kernel("MATH").__enter__()


def test_the_composition_of_simple_ops_is_the_same():
    q, k, v = [tiny_torch.randn(2, 40, 8) for _ in range(3)]
    for mask in (None, tiny_torch.rand(40, 40) > 0.5, tiny_torch.randn(40, 40)):
        for causal in (False, True) if mask is None else (False,):
            y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)
            with sdpa_kernel(SDPBackend.MATH):
                z = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)
            assert tiny_torch.allclose(y, z, atol=1e-5)


def test_on_ref():
    q, k, v = [tiny_torch.randn(2, n, 4) for n in (5, 6, 6)]
    mask = tiny_torch.rand(5, 6) > 0.5
    for given in (None, mask):
        results = []
        for device in ("cpu", "ref"):
            leaves = [x.to(device).detach().requires_grad_() for x in (q, k, v)]
            y = F.scaled_dot_product_attention(*leaves, None if given is None else given.to(device))
            y.square().sum().backward()
            results.append([x.cpu().detach().numpy() for x in (y, *[x.grad for x in leaves])])
        for a, b in zip(*results, strict=True):
            assert np.allclose(a, b, atol=1e-5)


def test_same_bits_for_any_number_of_threads():
    before, seen = tiny_torch.get_num_threads(), []
    arrays = [
        [draw(i, *lead, n, 24) for i, n in enumerate((300, 310, 310))]
        for lead in ((1, 1), (3, 2), (20,))
    ]
    try:
        for threads in (1, 2, 3):
            tiny_torch.set_num_threads(threads)
            seen.append([
                [x.detach().numpy() for x in train(tiny_torch, a, is_causal=causal)]
                for a in arrays for causal in (False, True)
            ])  # fmt: skip
    finally:
        tiny_torch.set_num_threads(before)
    for other in seen[1:]:
        for mine, theirs in zip(seen[0], other, strict=True):
            for a, b in zip(mine, theirs, strict=True):
                assert np.array_equal(a, b)


def test_memory_grows_with_the_length_only():
    q = tiny_torch.randn(1, 1, 4096, 8, requires_grad=True)
    y = F.scaled_dot_product_attention(q, q, q)
    saved = y.grad_fn.unpack(False)
    assert sum(a.size for a in saved if hasattr(a, "size")) < 6 * q.numel()


ERRORS = {
    "1 dim": lambda m, f, q, k: f(q[0, 0, 0], k[0, 0, 0], k[0, 0, 0]),
    "batches": lambda m, f, q, k: f(q, m.cat([k, k]), m.cat([k, k])),
    "widths": lambda m, f, q, k: f(q[..., :3], k, k),
    "mask of float64": lambda m, f, q, k: f(q, k, k, m.ones(5, 7).double()),
    "mask of float16": lambda m, f, q, k: f(q, k, k, m.ones(5, 7).half()),
    "mask of int32": lambda m, f, q, k: f(q, k, k, m.ones(5, 7).int()),
    "mask of 1 dim": lambda m, f, q, k: f(q, k, k, m.ones(7)),
    "mask of 0 dims": lambda m, f, q, k: f(q, k, k, m.ones(())),
    "mask's shape": lambda m, f, q, k: f(q, k, k, m.ones(5, 6)),
    "mask's batch": lambda m, f, q, k: f(q[:1], k[:1], k[:1], m.ones(2, 3, 5, 7)),
    "mask of 5 dims": lambda m, f, q, k: f(q, k, k, m.ones(1, 2, 3, 5, 7)),
    "mask a list": lambda m, f, q, k: f(q, k, k, [1]),
    "dropout above 1": lambda m, f, q, k: f(q, k, k, dropout_p=1.5),
    "dropout below 0": lambda m, f, q, k: f(q, k, k, dropout_p=-0.5),
    "dropout a string": lambda m, f, q, k: f(q, k, k, dropout_p="a"),
    "scale a string": lambda m, f, q, k: f(q, k, k, scale="a"),
    "scale by position": lambda m, f, q, k: f(q, k, k, None, 0.0, False, 0.3),
    "dtypes": lambda m, f, q, k: f(q, k.double(), k),
    "integers": lambda m, f, q, k: f(q.long(), k.long(), k.long()),
    "a list": lambda m, f, q, k: f([1], k, k),
    "heads": lambda m, f, q, k: f(m.ones(2, 6, 5, 4), k, k),
    "heads that do not divide": lambda m, f, q, k: f(m.ones(2, 7, 5, 4), k, k, enable_gqa=True),
    "fewer heads": lambda m, f, q, k: f(m.ones(2, 1, 5, 4), k, k, enable_gqa=True),
    "no heads": lambda m, f, q, k: f(q[0, 0], k[0, 0], k[0, 0], enable_gqa=True),
    "causal, and a mask per head": lambda m, f, q, k: f(
        k, k, k, attn_mask=m.zeros(3, 7, 7), is_causal=True
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(oracle, name):
    kinds = []
    for m in (tiny_torch, oracle):
        q, k = m.ones(2, 3, 5, 4), m.ones(2, 3, 7, 4)
        with pytest.raises(Exception) as caught:
            ERRORS[name](m, m.nn.functional.scaled_dot_product_attention, q, k)
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


def test_other_numbers_of_keys_and_values_are_refused():  # PyTorch reads beyond the values
    q, k = tiny_torch.ones(2, 5, 4), tiny_torch.ones(2, 7, 4)
    with pytest.raises(RuntimeError, match="as many values as keys"):
        F.scaled_dot_product_attention(q, k, k[:, :3])
