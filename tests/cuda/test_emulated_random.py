"""The device `cuda-emulated`: draws are those of PyTorch on a GPU, from Philox, which is written
here once more in NumPy; what is computed around draws is the CPU's to rounding.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import CUDA as DEVICE
from helpers import array_of, closeness, compare, outcome

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.nn import functional as F
from tiny_torch.tensor import wrap

THREADS = 132 * 2048  # of an H200, whose grids are taken for every GPU
FLOATS = ["float16", "bfloat16", "float32", "float64"]
SEED = 2**40 + 3


def philox(seed: int, counter: int, sequences: np.ndarray) -> np.ndarray:
    """Four words of each sequence, (4, n): Salmon et al. 2011, Philox4x32-10."""
    words = np.uint64(0xFFFFFFFF)
    x = np.zeros((4, len(sequences)), np.uint64)
    x[0], x[1] = counter // 4 & 0xFFFFFFFF, counter // 4 >> 32
    x[2], x[3] = sequences & words, sequences >> np.uint64(32)
    key = np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint64)
    for _ in range(10):
        a, b = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
        high_a, high_b = a >> np.uint64(32), b >> np.uint64(32)
        x = np.stack([high_b ^ x[1] ^ key[0], b & words, high_a ^ x[3] ^ key[1], a & words])
        key = key + np.array([0x9E3779B9, 0xBB67AE85], np.uint64) & words
    return x


def laid_out(n: int, seed: int, counter: int, values: int) -> np.ndarray:
    """The words that each of n elements gets, (4 / values, n): its draw's number k of `values`."""
    threads = min(max(-(-n // 256), 1) * 256, THREADS)
    rounds = max(-(-n // (threads * values)), 1)
    drawn = [
        philox(seed, counter + 4 * r, np.arange(threads, dtype=np.uint64)) for r in range(rounds)
    ]
    parts = [x.reshape(values, 4 // values, threads).transpose(1, 0, 2) for x in drawn]
    return np.concatenate([p.reshape(4 // values, -1) for p in parts], axis=1)[:, :n]


def bits53(x, y):
    return (x ^ y << np.uint64(21)).astype(np.float64)


def uniforms(n: int, double: bool, seed: int = SEED, counter: int = 0) -> np.ndarray:
    """Of (0, 1]."""
    if double:
        return bits53(*laid_out(n, seed, counter, 2)) * 2.0**-53 + 2.0**-54
    return laid_out(n, seed, counter, 4)[0].astype(np.float32).astype(float) * 2.0**-32 + 2.0**-33


def normals(n: int, double: bool, seed: int = SEED) -> np.ndarray:
    """Box and Muller: of each pair of numbers the sine and the cosine."""
    threads = min(-(-n // 256) * 256, THREADS)
    x, y, z, w = philox(seed, 0, np.arange(threads, dtype=np.uint64))
    if double:
        radius = np.sqrt(-2 * np.log(bits53(x, y) * 2.0**-53 + 2.0**-54))
        angle = np.pi * (bits53(z, w) * 2.0**-52 + 2.0**-53)
        pairs = [radius * np.sin(angle), radius * np.cos(angle)]
    else:
        u = [v.astype(np.float32).astype(float) * 2.0**-32 + 2.0**-33 for v in (x, y, z, w)]
        pairs = []
        for first, second in (u[:2], u[2:]):
            radius, angle = np.sqrt(-2 * np.log(first)), 2 * np.pi * second
            pairs += [radius * np.sin(angle), radius * np.cos(angle)]
    return np.concatenate(pairs)[:n]


def integers(n: int, bits: int) -> np.ndarray:
    words = laid_out(n, SEED, 0, 128 // bits)
    return words[0] if bits == 32 else words[0] << np.uint64(32) | words[1]


def as_double(dtype: str) -> bool:
    return dtype == "float64"


# name: the draw into x, and what n draws of a dtype are
FILLS = {
    "uniform": (lambda x: x.uniform_(-1, 2), lambda n, t: uniforms(n, as_double(t)) * 3 - 1),
    "normal": (lambda x: x.normal_(2, 3), lambda n, t: normals(n, as_double(t)) * 3 + 2),
    "log_normal": (
        lambda x: x.log_normal_(0.5, 2),
        lambda n, t: np.exp(normals(n, as_double(t)) * 2 + 0.5),
    ),
    "exponential": (
        lambda x: x.exponential_(0.3),
        lambda n, t: -np.log(uniforms(n, as_double(t))) / 0.3,
    ),
    "cauchy": (
        lambda x: x.cauchy_(1, 2),
        lambda n, t: 1 + 2 * np.tan(np.pi * (uniforms(n, as_double(t)) - 0.5)),
    ),
}
COUNTS = {
    "geometric": (
        lambda x: x.geometric_(0.3),
        lambda n, t: np.ceil(np.log(uniforms(n, as_double(t))) / np.log1p(-0.3)),
    ),
    "random 5 100": (lambda x: x.random_(5, 100), lambda n, t: integers(n, 32) % 95 + 5),
    "bernoulli": (lambda x: x.bernoulli_(0.1), lambda n, t: uniforms(n, as_double(t)) < 0.1),
}
LAYOUTS = {
    "number": lambda x: x[0, 0, 0],
    "few": lambda x: x[0, :, 0],
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2),
    "sliced": lambda x: x[:, ::2, 1::3],
    "permuted and sliced": lambda x: x.permute(1, 2, 0)[::2],
    "empty": lambda x: x[:0],
}


def in_order_of_memory(x):
    """The elements of x as those of its addresses, flat."""
    dims = sorted(range(x.ndim), key=lambda d: -x.stride(d))
    return array_of(x.permute(dims)).reshape(-1)


def filled(fill, layout, dtype):
    base = torch.zeros(4, 6, 8, dtype=getattr(torch, dtype), device=DEVICE)
    torch.manual_seed(SEED)
    fill(LAYOUTS[layout](base))
    return base


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_draws_of_floats(name, layout, dtype):
    fill, draws = FILLS[name]
    x = LAYOUTS[layout](filled(fill, layout, dtype))
    with np.errstate(all="ignore"):
        expected = draws(x.numel(), dtype)
    if dtype == "float16":
        expected = np.where(abs(expected) < 65520, expected, np.sign(expected) * np.inf)
    bits = {"float16": 11, "bfloat16": 8, "float32": 18, "float64": 45}[dtype]
    found = in_order_of_memory(x).astype(float)
    near = np.isclose(found, expected, rtol=2.0**-bits, atol=2.0**-bits)
    assert near.all(), (found[~near], expected[~near])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("dtype", [*FLOATS, "uint8", "int16", "int32", "int64", "bool"])
def test_draws_of_counts(name, layout, dtype):
    if dtype == "bool" and name != "bernoulli":
        return
    fill, draws = COUNTS[name]
    x = LAYOUTS[layout](filled(fill, layout, dtype))
    assert in_order_of_memory(x).tolist() == draws(x.numel(), dtype).tolist()


@pytest.mark.parametrize("dtype", [*FLOATS, "uint8", "int16", "int32", "int64", "bool"])
def test_random_fills_the_range_of_the_dtype(dtype):
    x = torch.empty(50, dtype=getattr(torch, dtype), device=DEVICE)
    torch.manual_seed(SEED)
    x.random_()
    ends = {"uint8": 2**8, "int16": 2**15, "int32": 2**31, "int64": 2**63, "bool": 2}
    floats = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53}
    end = ends[dtype] if dtype in ends else floats[dtype] + 1
    expected = integers(50, 64 if dtype in ("float64", "int64") else 32) % np.uint64(end)
    assert array_of(x).astype(float).tolist() == expected.astype(float).tolist()


@pytest.mark.parametrize(
    "low, high", [(-3, 2**28 - 4), (-3, 2**28), (-(2**62), 2**62), (-(2**63), None)]
)
def test_wide_ranges_take_two_words(low, high):
    x = torch.empty(9, dtype=torch.int64, device=DEVICE)
    torch.manual_seed(SEED)
    x.random_(low, high)
    width = (2**63 if high is None else high) - low
    drawn = [int(v) for v in integers(9, 64 if width >= 2**28 else 32)]
    wrapped = [(v % width + low + 2**63) % 2**64 - 2**63 for v in drawn]
    assert x.tolist() == wrapped


@pytest.mark.parametrize(
    "seed, shape, at, expected",
    [
        # https://github.com/pytorch/pytorch/issues/79496
        (10, (3,), [(0,), (1,), (2,)], [-0.1029, 1.6810, -0.2708]),
        # https://github.com/pytorch/pytorch/issues/158398
        (42, (64, 2048), [(0, 0), (0, 1), (0, 2), (0, -3)], [0.1940, 2.1614, -0.1721, 1.4540]),
        (42, (64, 2048), [(2, 0), (2, 1), (2, -2), (2, -1)], [1.1346, -0.6329, -1.1552, -0.6955]),
    ],
)
def test_draws_that_users_of_pytorch_have_printed(seed, shape, at, expected):
    generator = torch.Generator(DEVICE).manual_seed(seed)
    x = torch.randn(*shape, generator=generator, device=DEVICE).cpu()
    assert [round(x[i].item(), 4) for i in at] == expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_more_elements_than_threads(dtype):
    n = THREADS + 300
    x = torch.rand(n, dtype=getattr(torch, dtype), generator=seeded(), device=DEVICE)
    expected = uniforms(n, as_double(dtype))
    assert closeness(array_of(x)[-400:], expected[-400:].astype(dtype), 1, dtype).all()


def seeded(seed=SEED):
    return torch.Generator(DEVICE).manual_seed(seed)


# --------------------------------------------------------------------------------- generators


def counter_of(generator):
    return np.frombuffer(bytes(generator.get_state().tolist()), np.int64).tolist()


def test_the_state_is_seed_and_counter():
    generator = seeded(7)
    assert generator.get_state().dtype == torch.uint8
    assert generator.device.type == DEVICE
    assert counter_of(generator) == [7, 0]
    torch.rand(5, generator=generator, device=DEVICE)
    assert counter_of(generator) == [7, 4]
    torch.rand(5, dtype=torch.float64, generator=generator, device=DEVICE)
    torch.rand(0, generator=generator, device=DEVICE)
    assert counter_of(generator) == [7, 8]
    torch.rand(2 * THREADS, dtype=torch.float64, generator=generator, device=DEVICE)
    assert counter_of(generator) == [7, 12]


def test_a_state_goes_back():
    generator = seeded()
    torch.rand(3, generator=generator, device=DEVICE)
    state = generator.get_state()
    first = torch.randn(5, generator=generator, device=DEVICE)
    generator.set_state(state)
    assert torch.equal(torch.randn(5, generator=generator, device=DEVICE), first)
    clone = generator.clone_state()
    again = [torch.randn(5, generator=g, device=DEVICE) for g in (generator, clone)]
    assert torch.equal(*again)
    with pytest.raises(RuntimeError, match="offset must be a multiple of 4"):
        generator.set_state(torch.tensor([0] * 8 + [1] + [0] * 7, dtype=torch.uint8))


def test_each_device_has_its_generator():
    torch.manual_seed(1)
    here = torch.get_rng_state()
    x = torch.rand(4, device=DEVICE)
    assert torch.equal(torch.get_rng_state(), here)
    torch.rand(4)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(4, device=DEVICE), x)
    assert torch.equal(torch.rand(4, generator=seeded(1), device=DEVICE), x)
    for where, generator in ((DEVICE, torch.Generator()), ("cpu", seeded())):
        found = generator.device.type
        wrong = f"Expected a '{where}' device type for generator but found '{found}'"
        with pytest.raises(RuntimeError, match=wrong):
            torch.rand(2, generator=generator, device=where)


WRONG = {
    "uniform": lambda x: x.uniform_(2, 1),
    "normal": lambda x: x.normal_(0, -1),
    "exponential": lambda x: x.exponential_(0),
    "geometric": lambda x: x.geometric_(1),
    "random": lambda x: x.random_(5, 5),
    "bernoulli": lambda x: x.bernoulli_(1.5),
    "bernoulli each": lambda x: x.bernoulli_(x * 0 + 2),
    "integers": lambda x: x.int().uniform_(),
    "multinomial": lambda x: torch.multinomial(x - 1, 2),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused_leaves_the_counter(name):
    torch.manual_seed(1)
    first = torch.rand(2, device=DEVICE)
    errors = []
    for device in ("cpu", DEVICE):
        torch.manual_seed(1)
        error, _ = outcome(lambda device=device: WRONG[name](torch.zeros(3, device=device)))
        errors.append(repr(error))
    assert errors[0] == errors[1] != "None"
    if name != "bernoulli each" and name != "multinomial":  # the CPU looks at the weights
        assert torch.equal(torch.rand(2, device=DEVICE), first)


# ------------------------------------------------------------------- what the CPU draws instead

A = torch.linspace(0.2, 30, 24).view(4, 6)
CALLS = {
    "randperm": lambda to: torch.randperm(100, device=to),
    "bernoulli of an array": lambda to: torch.bernoulli((A / 30).to(to)),
    "multinomial": lambda to: torch.multinomial(A.to(to), 4),
    "multinomial of columns": lambda to: torch.multinomial(A.to(to).t(), 3),
    "multinomial, replaced": lambda to: torch.multinomial(A.to(to)[1], 50, replacement=True),
    "poisson": lambda to: torch.poisson(A.to(to)),
    "binomial": lambda to: torch.binomial(A.to(to).floor(), (A / 40).to(to)),
    "gamma": lambda to: torch._standard_gamma(A.to(to)),
    "dirichlet": lambda to: torch._sample_dirichlet(A.to(to)),
}


@pytest.mark.parametrize("name", CALLS)
def test_draws_of_the_cpu_follow_the_seed(name):
    def drawn(seed):
        torch.manual_seed(seed)
        return CALLS[name](DEVICE), CALLS[name](DEVICE)

    first, second = drawn(3)
    assert first.device.type == DEVICE
    assert not torch.equal(first, second)
    again = drawn(3)
    assert torch.equal(first, again[0]) and torch.equal(second, again[1])
    assert not torch.equal(first, drawn(4)[0])
    assert first.shape == CALLS[name]("cpu").shape


def test_randperm_is_a_permutation():
    assert sorted(torch.randperm(100, generator=seeded(), device=DEVICE).tolist()) == list(
        range(100)
    )


@pytest.mark.parametrize("drop", [F.dropout, lambda x: F.dropout2d(x.view(4, 8, 2, 4)).view(-1)])
def test_dropout(drop):
    torch.manual_seed(3)
    x = torch.full((256,), 2.0, device=DEVICE, requires_grad=True)
    y = drop(x)
    y.sum().backward()
    assert set(y.tolist()) == {0.0, 4.0}
    assert torch.equal(x.grad * 2, y)
    torch.manual_seed(3)
    assert torch.equal(drop(x), y)
    assert not torch.equal(drop(x), y)


# ------------------------------------------------------------------------ slopes of the draws

SLOPES = {
    "gamma": lambda a: torch._standard_gamma(a),
    "dirichlet": lambda a: torch._sample_dirichlet(a),
    "transposed": lambda a: torch._standard_gamma(a.t()),
}


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_follow_their_parameters(name, dtype):
    a = A.to(getattr(torch, dtype)).to(DEVICE).requires_grad_()
    draw = SLOPES[name](a)
    weights = torch.arange(1.0, 25, dtype=a.dtype, device=DEVICE).view(draw.shape)
    (found,) = torch.autograd.grad(draw, a, weights)
    x, alpha, w = (t.detach().cpu() for t in (draw, a, weights))
    if name == "dirichlet":
        total = alpha.sum(-1, keepdim=True).expand(alpha.shape)
        slopes = wrap(_core.dirichlet_grad(x.array, alpha.array, total.array))
        expected = slopes * (w - (x * w).sum(-1, keepdim=True))
    else:
        like = alpha.t() if name == "transposed" else alpha
        expected = wrap(_core.standard_gamma_grad(like.array, x.array)) * w
        expected = expected.t() if name == "transposed" else expected
    compare(found.cpu().contiguous(), expected.contiguous(), name, ulps=256)


def test_the_distribution_function_of_gamma():
    def values(device):
        a = A.double().to(device).requires_grad_()
        rate = torch.tensor(1.5, dtype=a.dtype, device=device)
        gamma = torch.distributions.Gamma(a.detach().flip(0) + 1, rate, validate_args=False)
        result = gamma.cdf(a)
        return result.detach(), *torch.autograd.grad(result.sum(), a)

    for ours, theirs in zip(values(DEVICE), values("cpu"), strict=True):
        compare(ours, theirs, "cdf of gamma", ulps=32)
