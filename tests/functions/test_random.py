"""Random numbers are PyTorch's: the same seed, the same bits, the same generator afterwards."""

import copy
import pickle
import struct
import threading

import numpy as np
import pytest
from helpers import on_intel

import tiny_torch

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
ALL = ("bool", *INTEGERS, *FLOATS)
SIZES = ((), (0,), (1,), (2,), (15,), (16,), (17,), (31,), (100,), (10007,), (4, 5), (3, 0, 2))
SEEDS = (0, 1, 42, 2**32 - 1, 2**33 + 5, -1)

# Targets that are not contiguous: PyTorch fills them in order of memory, not of index.
STRIDED = {
    "every third": lambda m, d: m.zeros(60, dtype=d)[1::3],
    "transposed": lambda m, d: m.zeros(7, 5, dtype=d).t(),
    "sliced": lambda m, d: m.zeros(4, 6, 8, dtype=d)[:, ::2, 1::3],
    "permuted": lambda m, d: m.zeros(4, 6, 8, dtype=d).permute(2, 0, 1),
    "permuted and sliced": lambda m, d: m.zeros(4, 6, 8, dtype=d).permute(1, 2, 0)[::2],
    "channels last": lambda m, d: m.zeros(2, 4, 5, 3, dtype=d).permute(0, 3, 1, 2),
    "size one": lambda m, d: m.zeros(3, 1, 4, dtype=d).transpose(0, 1),
}


# (name, fill(tensor, generator), dtypes)
SAMPLERS = [
    ("uniform", lambda t, g: t.uniform_(generator=g), FLOATS),
    ("uniform -1 1", lambda t, g: t.uniform_(-1, 1, generator=g), FLOATS),
    ("uniform narrow", lambda t, g: t.uniform_(0.1, 0.7, generator=g), FLOATS),
    ("uniform rounds to its end", lambda t, g: t.uniform_(1, 1.0000002, generator=g), FLOATS),
    ("uniform of one value", lambda t, g: t.uniform_(2, 2, generator=g), FLOATS),
    ("normal", lambda t, g: t.normal_(generator=g), FLOATS),
    ("normal 2 3", lambda t, g: t.normal_(2, 3, generator=g), FLOATS),
    ("normal std 0", lambda t, g: t.normal_(1, 0, generator=g), FLOATS),
    ("log_normal", lambda t, g: t.log_normal_(0.5, 2, generator=g), FLOATS),
    ("cauchy", lambda t, g: t.cauchy_(1, 2, generator=g), FLOATS),
    ("geometric", lambda t, g: t.geometric_(0.3, generator=g), INTEGERS + FLOATS),
    ("random", lambda t, g: t.random_(generator=g), ALL),
    ("random 2", lambda t, g: t.random_(2, generator=g), ALL),
    ("random 5 100", lambda t, g: t.random_(5, 100, generator=g), INTEGERS + FLOATS),
    ("random 2^28 - 1", lambda t, g: t.random_(2**28 - 1, generator=g), ("int32", "int64")),
    ("random 2^28", lambda t, g: t.random_(2**28, generator=g), ("int32", "int64", "float64")),
    ("random from -7", lambda t, g: t.random_(-7, None, generator=g), ("int32", "int64", *FLOATS)),
    ("random all of int64", lambda t, g: t.random_(-(2**63), None, generator=g), ("int64",)),
    ("random wide", lambda t, g: t.random_(-(2**63), 2**63 - 1, generator=g), ("int64",)),
    ("exponential", lambda t, g: t.exponential_(generator=g), FLOATS),
    ("exponential 0.3", lambda t, g: t.exponential_(0.3, generator=g), FLOATS),
    ("bernoulli", lambda t, g: t.bernoulli_(generator=g), ALL),
    ("bernoulli 0.1", lambda t, g: t.bernoulli_(0.1, generator=g), ALL),
    ("bernoulli 1", lambda t, g: t.bernoulli_(1, generator=g), ALL),
]
WITH_MKL = ("exponential", "bernoulli", "multinomial")  # other streams in PyTorch on Intel machines

FUNCTIONS = {
    "rand": lambda m, g: m.rand(3, 7, generator=g),
    "rand float64": lambda m, g: m.rand(20, dtype=m.float64, generator=g),
    "randn": lambda m, g: m.randn(5, 9, generator=g),
    "randn serial": lambda m, g: m.randn(15, generator=g),
    "randn float64": lambda m, g: m.randn(40, dtype=m.float64, generator=g),
    "randint": lambda m, g: m.randint(10, (50,), generator=g),
    "randint low": lambda m, g: m.randint(-5, 2**40, (50,), generator=g),
    "randint uint8": lambda m, g: m.randint(0, 256, (50,), dtype=m.uint8, generator=g),
    "randint float32": lambda m, g: m.randint(3, 9, (50,), dtype=m.float32, generator=g),
    "randperm 0": lambda m, g: m.randperm(0, generator=g),
    "randperm 1": lambda m, g: m.randperm(1, generator=g),
    "randperm 10007": lambda m, g: m.randperm(10007, generator=g),
    "randperm uint8": lambda m, g: m.randperm(256, dtype=m.uint8, generator=g),
    "randperm float32": lambda m, g: m.randperm(31, dtype=m.float32, generator=g),
    "normal of a shape": lambda m, g: m.normal(1.0, 2.0, (20,), generator=g),
    "normal of means": lambda m, g: m.normal(m.rand(40, generator=g).t(), 2.0, generator=g),
    "normal of deviations": lambda m, g: m.normal(3.0, m.rand(5, 4, generator=g).t(), generator=g),
    "normal of both": lambda m, g: m.normal(
        m.rand(5, 1, generator=g), m.rand(4, dtype=m.float64, generator=g), generator=g
    ),
    "normal out": lambda m, g: m.normal(
        m.rand(20, generator=g), m.ones(20), out=m.zeros(20, dtype=m.float64), generator=g
    ),
    "normal dtype": lambda m, g: m.normal(0, 1, (3, 6), dtype=m.float64, generator=g),
    "rand_like": lambda m, g: m.rand_like(m.zeros(3, 4).t(), generator=g),
    "randn_like": lambda m, g: m.randn_like(m.zeros(4, 5), dtype=m.float64, generator=g),
    "randint_like": lambda m, g: m.randint_like(m.zeros(3, 4).t(), 7, generator=g),
    "randint_like low": lambda m, g: m.randint_like(
        m.zeros(9), -2, high=7, dtype=m.int64, generator=g
    ),
    "rand out": lambda m, g: m.rand((4, 3), out=m.zeros(3, 4).t(), generator=g),
    "randn out": lambda m, g: m.randn(size=(20,), out=m.zeros(20), generator=g),
    "randint out": lambda m, g: m.randint(3, 9, (20,), out=m.zeros(20), generator=g),
    "randint named": lambda m, g: m.randint(low=3, high=9, size=[20], generator=g),
    "randperm out": lambda m, g: m.randperm(20, out=m.zeros(20), generator=g),
    "bernoulli out": lambda m, g: m.bernoulli(
        m.rand(9, generator=g), out=m.zeros(9, dtype=m.int64), generator=g
    ),
    "poisson": lambda m, g: m.poisson(m.rand(50, generator=g) * 9, generator=g),
    "poisson 0": lambda m, g: m.poisson(m.zeros(3), generator=g),
    "poisson large": lambda m, g: m.poisson(
        m.rand(40, 50, dtype=m.float64, generator=g).t() * 1000 + 10, generator=g
    ),
    "binomial": lambda m, g: m.binomial(
        m.randint(0, 60, (90, 20), generator=g).double(),
        m.rand(20, 90, dtype=m.float64, generator=g).t(),
        generator=g,
    ),
    "gamma": lambda m, g: m._standard_gamma(m.rand(90, 20, generator=g).t() * 3, generator=g),
    "gamma float64": lambda m, g: m._standard_gamma(
        m.rand(900, dtype=m.float64, generator=g) * 90, generator=g
    ),
    "gamma tiny": lambda m, g: m._standard_gamma(m.full((50,), 1e-3), generator=g),
    "dirichlet": lambda m, g: m._sample_dirichlet(m.rand(90, 5, generator=g) * 3, generator=g),
    "dirichlet float64": lambda m, g: m._sample_dirichlet(
        m.rand(3, 4, 5, dtype=m.float64, generator=g).transpose(0, 2), generator=g
    ),
    # float32 weights take 24 bits of one word, float64 weights 53 bits of two
    "p float32": lambda m, g: m.bernoulli(m.rand(6, 9, generator=g), generator=g),
    "p float64": lambda m, g: m.bernoulli(m.rand(50, dtype=m.float64, generator=g), generator=g),
    "p transposed": lambda m, g: m.bernoulli(m.rand(6, 9, generator=g).t(), generator=g),
    "p expanded": lambda m, g: m.zeros(4, 9).bernoulli_(m.rand(9, generator=g), generator=g),
    "p float64 into bool": lambda m, g: m.zeros(9, dtype=m.bool).bernoulli_(
        m.rand(9, dtype=m.float64, generator=g), generator=g
    ),
    "multinomial": lambda m, g: m.multinomial(m.rand(7, generator=g), 1, generator=g),
    "multinomial all": lambda m, g: m.multinomial(m.rand(7, generator=g), 7, generator=g),
    "multinomial few": lambda m, g: m.multinomial(m.rand(2, 900, generator=g), 3, generator=g),
    "multinomial zeros": lambda m, g: m.multinomial(
        (m.rand(200, generator=g) > 0.9).float(), 60, generator=g
    ),
    "multinomial transposed": lambda m, g: m.multinomial(
        m.rand(9, 6, generator=g).t(), 4, generator=g
    ),
    "multinomial float64": lambda m, g: m.multinomial(
        m.rand(4, 5, dtype=m.float64, generator=g), 2, generator=g
    ),
    "multinomial float16": lambda m, g: m.multinomial(
        m.rand(4, 50, generator=g).half(), 9, generator=g
    ),
    "replacement bfloat16": lambda m, g: m.multinomial(
        m.rand(4, 50, generator=g).bfloat16(), 90, True, generator=g
    ),
    "p float16": lambda m, g: m.bernoulli(m.rand(50, generator=g).half(), generator=g),
    "poisson float16": lambda m, g: m.poisson(m.rand(50, generator=g).half() * 30, generator=g),
    "normal float16": lambda m, g: m.normal(m.rand(50, generator=g).half(), 2.0, generator=g),
    "randn bfloat16": lambda m, g: m.randn(3, 11, dtype=m.bfloat16, generator=g),
    "randint int8": lambda m, g: m.randint(-128, 128, (50,), dtype=m.int8, generator=g),
    "randint int16": lambda m, g: m.randint(-5, 300, (50,), dtype=m.int16, generator=g),
    "randperm float16": lambda m, g: m.randperm(2049, dtype=m.float16, generator=g),
    "randperm bfloat16": lambda m, g: m.randperm(300, dtype=m.bfloat16, generator=g),
    "randperm int8": lambda m, g: m.randperm(128, dtype=m.int8, generator=g),
    "replacement": lambda m, g: m.multinomial(m.rand(4, 5, generator=g), 40, True, generator=g),
    "replacement float64": lambda m, g: m.multinomial(
        m.rand(30, dtype=m.float64, generator=g), 40, True, generator=g
    ),
}


def generator(module, seed=0):
    return module.Generator().manual_seed(seed)


def state(g):
    return g.get_state().numpy().tobytes()


def from_bytes(module, data):
    return module.from_numpy(np.frombuffer(data, dtype=np.uint8).copy())


def bits(tensor):
    """As bytes; NumPy has no bfloat16, and its float32 tells as much."""
    return (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy().tobytes()


def assert_same(ours, theirs):
    """Bit by bit, unless PyTorch lacks multiply-adds and so rounds floats in another way."""
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.stride() == theirs.stride()
    import torch

    if "AVX" in torch.backends.cpu.get_cpu_capability() or not theirs.is_floating_point():
        assert bits(ours) == bits(theirs)
    else:
        np.testing.assert_allclose(ours.double(), theirs.double(), rtol=1e-5, atol=1e-6)


def skip_on_intel(name):
    if name.startswith(WITH_MKL) and on_intel():
        pytest.skip("on Intel machines PyTorch draws these from MKL")


# ---- against PyTorch ----------------------------------------------------------------------------


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.mark.torch
@pytest.mark.parametrize("name, fill, dtypes", SAMPLERS, ids=[row[0] for row in SAMPLERS])
def test_sampler_fills_like_torch(torch, name, fill, dtypes):
    skip_on_intel(name)
    for dtype in dtypes:
        g, expected_g = generator(tiny_torch, 7), generator(torch, 7)
        for shape in SIZES:
            ours = fill(tiny_torch.zeros(shape, dtype=getattr(tiny_torch, dtype)), g)
            assert_same(ours, fill(torch.zeros(shape, dtype=getattr(torch, dtype)), expected_g))
            assert state(g) == state(expected_g), (dtype, shape)


@pytest.mark.torch
@pytest.mark.parametrize("layout", STRIDED)
@pytest.mark.parametrize("name, fill, dtypes", SAMPLERS, ids=[row[0] for row in SAMPLERS])
def test_sampler_fills_strided_memory_like_torch(torch, name, fill, dtypes, layout):
    skip_on_intel(name)
    for dtype in dtypes:
        g, expected_g = generator(tiny_torch, 7), generator(torch, 7)
        ours = fill(STRIDED[layout](tiny_torch, getattr(tiny_torch, dtype)), g)
        assert_same(ours, fill(STRIDED[layout](torch, getattr(torch, dtype)), expected_g))
        assert state(g) == state(expected_g)


@pytest.mark.torch
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_draws_like_torch(torch, name):
    skip_on_intel(name)
    for seed in SEEDS:
        g, expected_g = generator(tiny_torch, seed), generator(torch, seed)
        assert_same(FUNCTIONS[name](tiny_torch, g), FUNCTIONS[name](torch, expected_g))
        assert state(g) == state(expected_g)


@pytest.mark.torch
@pytest.mark.parametrize("seed", SEEDS)
def test_manual_seed_is_that_of_torch(torch, seed):
    tiny_torch.manual_seed(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        assert tiny_torch.initial_seed() == torch.initial_seed()
        assert_same(tiny_torch.rand(3), torch.rand(3))
        assert_same(tiny_torch.get_rng_state(), torch.get_rng_state())


@pytest.mark.torch
@pytest.mark.parametrize("drawn", [0, 1, 623, 624, 625, 3000])
def test_states_move_both_ways(torch, drawn):
    theirs = generator(torch, 3)
    torch.rand(drawn, generator=theirs)
    torch.randn(3, generator=theirs)  # leaves a normal waiting
    ours = tiny_torch.Generator()
    ours.set_state(from_bytes(tiny_torch, state(theirs)))
    assert state(ours) == state(theirs)
    assert_same(tiny_torch.randn(5, generator=ours), torch.randn(5, generator=theirs))
    back = torch.Generator()
    back.set_state(from_bytes(torch, state(ours)))
    assert_same(tiny_torch.rand(700, generator=ours), torch.rand(700, generator=back))


@pytest.mark.torch
def test_a_new_generator_has_torch_s_default_seed(torch):
    assert tiny_torch.Generator().initial_seed() == torch.Generator().initial_seed()
    assert state(tiny_torch.Generator()) == state(torch.Generator())


@pytest.mark.torch
@pytest.mark.parametrize("alpha", [0.01, 0.5, 1.0, 3.0, 30.0, 3e4, 1e6])
def test_gamma_draws_move_with_alpha_as_in_torch(torch, alpha):
    def slopes(module):
        a = module.full((300,), alpha, dtype=module.float64, requires_grad=True)
        x = module._standard_gamma(a, generator=generator(module, 3))
        x.backward(module.ones(300, dtype=module.float64))
        return a.grad.numpy()

    np.testing.assert_allclose(slopes(tiny_torch), slopes(torch), rtol=1e-2)


@pytest.mark.torch
@pytest.mark.parametrize("alpha", [(0.1, 0.1), (3.0, 0.5), (3.0, 8.0, 1.0), (1e4, 100.0)])
def test_dirichlet_draws_move_with_alpha_as_in_torch(torch, alpha):
    a = torch.tensor(alpha, dtype=torch.float64).expand(300, -1).clone().requires_grad_()
    theirs = torch.distributions.Dirichlet(a).rsample()
    weight = torch.linspace(-1, 2, theirs.numel(), dtype=torch.float64).view(theirs.shape)
    theirs.backward(weight)
    from tiny_torch import _core

    x, total = theirs.detach(), a.detach().sum(-1, True).expand_as(a)
    arrays = [tiny_torch.from_numpy(t.detach().numpy().copy()).array for t in (x, a, total)]
    slope = _core.dirichlet_grad(*arrays).numpy()
    grad, x = weight.numpy(), x.numpy()
    ours = slope * (grad - (x * grad).sum(-1, keepdims=True))
    np.testing.assert_allclose(ours, a.grad.numpy(), rtol=1e-2, atol=1e-9)


# Draws do not move with these parameters, and PyTorch records that.
UNMOVED = {
    "bernoulli": lambda m, x: m.bernoulli(x),
    "poisson": lambda m, x: m.poisson(x),
    "normal of means": lambda m, x: m.normal(x, 2.0),
    "normal of deviations": lambda m, x: m.normal(2.0, x),
    "normal of both": lambda m, x: m.normal(x[:1], x),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", UNMOVED)
def test_gradients_of_parameters_are_zero(torch, name):
    results = []
    for module in (tiny_torch, torch):
        x = module.tensor([0.5, 0.25], requires_grad=True)
        y = UNMOVED[name](module, x)
        y.sum().backward()
        assert x.grad.tolist() == [0, 0]
        results.append(repr(y.grad_fn).strip("<>").split()[0])
    assert results[0] == results[1]


# ---- on its own ---------------------------------------------------------------------------------


def test_mt19937_as_published():
    """The 10000th number after seed 5489: [rand.predef] of the C++ standard."""
    below = 2**28 - 1  # the largest range for which a draw is one word, modulo the range
    words = tiny_torch.randint(below, (10000,), generator=generator(tiny_torch, 5489))
    assert words[-1].item() == 4123659995 % below


def test_the_same_seed_draws_the_same():
    tiny_torch.manual_seed(5)
    first = tiny_torch.rand(100).tolist()
    assert tiny_torch.rand(100).tolist() != first
    tiny_torch.manual_seed(5)
    assert tiny_torch.rand(100).tolist() == first


def test_rng_state_round_trip():
    tiny_torch.manual_seed(5)
    tiny_torch.randn(3)
    saved = tiny_torch.get_rng_state()
    first = tiny_torch.randn(1).item(), tiny_torch.rand(1000).tolist()
    tiny_torch.set_rng_state(saved)
    assert (tiny_torch.randn(1).item(), tiny_torch.rand(1000).tolist()) == first


@pytest.mark.parametrize("m", ["tiny_torch", pytest.param("torch", marks=pytest.mark.torch)])
def test_generators_are_copied_and_pickled(m):
    m = pytest.importorskip(m)
    g = m.Generator().manual_seed(-5)
    assert g.initial_seed() == 2**64 - 5 and g.device == m.device("cpu")
    m.randn(3, generator=g)
    copies = [g.clone_state(), copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))]
    expected = m.randn(3, generator=g).tolist()
    for other in copies:
        assert type(other) is m.Generator and other.initial_seed() == g.initial_seed()
        assert m.randn(3, generator=other).tolist() == expected
    assert m.manual_seed(3) is m.default_generator is m.random.default_generator


@pytest.mark.parametrize("m", ["tiny_torch", pytest.param("torch", marks=pytest.mark.torch)])
def test_fork_rng_gives_the_state_back(m):
    m = pytest.importorskip(m)
    m.manual_seed(1)
    expected = m.rand(3).tolist()
    m.manual_seed(1)
    with pytest.raises(KeyError), m.random.fork_rng():
        m.rand(3)
        raise KeyError
    assert m.rand(3).tolist() == expected
    m.manual_seed(1)
    with m.random.fork_rng(enabled=False):
        assert m.rand(3).tolist() == expected
    assert m.rand(3).tolist() != expected

    @m.random.fork_rng()
    def draw():
        return m.rand(3).tolist()

    assert draw() == draw()


def test_a_generator_argument_leaves_the_default_alone():
    before = tiny_torch.get_rng_state().tolist()
    g = generator(tiny_torch)
    tiny_torch.zeros(3).uniform_(generator=g).normal_(generator=g)
    tiny_torch.rand(3, generator=g)
    tiny_torch.randperm(3, generator=g)
    assert tiny_torch.get_rng_state().tolist() == before


def test_seed_comes_from_the_system():
    g = tiny_torch.Generator()
    seeds = {g.seed() for _ in range(8)}
    assert len(seeds) == 8
    assert all(0 <= seed < 2**64 for seed in seeds)
    assert g.initial_seed() in seeds


def test_a_strided_target_writes_nothing_between():
    x = tiny_torch.full((30,), -1.0)
    x[::3].uniform_()
    assert (x[1::3] == -1).all() and (x[2::3] == -1).all() and (x[::3] >= 0).all()


def test_ranges():
    g = generator(tiny_torch)
    u = tiny_torch.empty(100000).uniform_(-2, 3, generator=g)
    assert u.min().item() >= -2 and u.max().item() < 3
    assert set(tiny_torch.randint(3, 6, (1000,), generator=g).tolist()) == {3, 4, 5}
    assert sorted(tiny_torch.randperm(1000, generator=g).tolist()) == list(range(1000))
    assert tiny_torch.empty(1000).bernoulli_(0, generator=g).sum().item() == 0
    assert tiny_torch.multinomial(tiny_torch.tensor([0.0, 1.0, 0.0]), 1, generator=g).item() == 1


def test_moments():
    g = generator(tiny_torch)
    n = 200_000
    for draw, mean, std in [
        (tiny_torch.empty(n).uniform_(generator=g), 1 / 2, 12**-0.5),
        (tiny_torch.empty(n).normal_(1, 2, generator=g), 1, 2),
        (tiny_torch.empty(n).exponential_(0.5, generator=g), 2, 2),
        (tiny_torch.empty(n).bernoulli_(0.2, generator=g), 0.2, 0.4),
    ]:
        assert abs(draw.mean().item() - mean) < 5 * std / n**0.5
        assert abs(draw.std().item() - std) < 0.02 * std


def test_threads_share_a_generator_without_losing_draws():
    g = generator(tiny_torch, 2)
    drawn = []

    def draw():
        for _ in range(50):
            drawn.extend(tiny_torch.randint(2**28 - 1, (100,), generator=g).tolist())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = tiny_torch.randint(2**28 - 1, (20000,), generator=generator(tiny_torch, 2))
    assert sorted(drawn) == sorted(alone.tolist())


def corrupted(offset, form, value):
    data = bytearray(state(generator(tiny_torch)))
    struct.pack_into(form, data, offset, value)
    return bytes(data)


@pytest.mark.parametrize(
    "make",
    [
        lambda: b"",
        lambda: bytes(5055),
        lambda: bytes(5056),
        lambda: corrupted(8, "<i", 0),  # left
        lambda: corrupted(8, "<i", 625),
        lambda: corrupted(12, "<i", 0),  # seeded
        lambda: corrupted(16, "<Q", 625),  # next
        lambda: corrupted(16, "<Q", 2**40),
    ],
)
def test_set_state_refuses_what_is_no_state(make):
    g = generator(tiny_torch, 1)
    before = state(g)
    with pytest.raises(RuntimeError):
        g.set_state(from_bytes(tiny_torch, make()))
    assert state(g) == before


REF = "rand(4); randn(4); randint(9, (4,)); randperm(4); normal(1.0, 2.0, (4,)); rand_like(x)"
REF += "; x.bernoulli_(x * 0.5); x.exponential_(); x.random_(5); nn.functional.dropout(x)"


@pytest.mark.parametrize("draw", REF.split("; "))
def test_device_ref_has_the_cpus_draws(draw):
    found = []
    for device in ("cpu", "ref"):
        tiny_torch.manual_seed(3)
        scope = {"x": tiny_torch.ones(4, device=device), "torch": tiny_torch}
        with tiny_torch.device(device):
            found.append(eval(draw if draw[:2] == "x." else f"torch.{draw}", scope))
        assert found[-1].device.type == device
    assert found[0].tolist() == found[1].tolist()
    assert tiny_torch.nn.Linear(2, 2, device="ref").weight.device.type == "ref"
