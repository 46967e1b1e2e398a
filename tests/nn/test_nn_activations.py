"""Activations and dropout next to PyTorch's: in place, modules, errors, draws."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import tiny_torch

POINTS = [-200.0, -3.0, -1.0, -0.5, -1e-3, 0.0, 0.5, 1.0, 2.0, 6.0, 25.0, 200.0]
SETTINGS = {
    "celu": [{}, {"alpha": 2.0}], "elu": [{}, {"alpha": 2.0}], "selu": [{}],
    "leaky_relu": [{}, {"negative_slope": 0.0}], "rrelu": [{}, {"lower": 0.5, "upper": 0.7}],
    "threshold": [{"threshold": 0.5, "value": 7.0}], "hardtanh": [{}, {"max_val": 2.0}],
    "relu6": [{}], "relu": [{}], "silu": [{}], "mish": [{}], "hardsigmoid": [{}], "hardswish": [{}],
}  # fmt: skip
IN_PLACE = [(name, settings) for name, several in SETTINGS.items() for settings in several]
UNDERSCORED = ("celu", "elu", "selu", "leaky_relu", "rrelu", "threshold", "hardtanh", "relu")


def both(oracle, run):
    """What `run` answers of both packages."""
    return run(tiny_torch), run(oracle)


def outcome(run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run()
        except Exception as error:
            return type(error)


def close(ours, theirs, tolerance=2e-6):
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name, settings", IN_PLACE)
def test_in_place(oracle, name, settings):
    def run(m):
        function = getattr(m.nn.functional, name)
        results = []
        for part in (slice(None), slice(2, 9)):  # the whole, and a view of it
            x = m.tensor(POINTS, requires_grad=True)
            y = x * 1
            z = function(y[part], inplace=True, **settings)
            (y * y).sum().backward(retain_graph=True)
            results += [y.tolist(), z.tolist(), x.grad.tolist(), type(z.grad_fn).__name__]
        if name in UNDERSCORED:
            y = m.tensor(POINTS)
            assert getattr(m.nn.functional, name + "_")(y, **settings) is y
            results.append(y.tolist())
        return results

    for ours, theirs in zip(*both(oracle, run), strict=True):
        if isinstance(ours, list):
            close(ours, theirs)
        elif name != "rrelu":  # whose eval form is leaky_relu's node here
            assert ours == theirs


@pytest.mark.parametrize(
    "name, settings",
    [pair for pair in IN_PLACE if pair[0] != "hardsigmoid"],  # has none there
)
def test_second_gradients_in_place(oracle, name, settings):
    def run(m):
        x = m.tensor(POINTS[1:-2], dtype=m.float64, requires_grad=True)
        y = getattr(m.nn.functional, name)(x * 1, inplace=True, **settings)
        (g,) = m.autograd.grad((y * y).sum(), x, create_graph=True)
        return m.autograd.grad((g * g).sum(), x)[0].tolist()

    close(*both(oracle, run), 1e-9)


@pytest.mark.parametrize("name, slope", [("leaky_relu_", -0.5), ("celu_", math.exp(2))])
def test_negative_slopes_in_place(name, slope):
    """PyTorch refuses backward: here a copy of the input tells."""
    x = tiny_torch.tensor([-2.0, 3.0], requires_grad=True)
    y = getattr(tiny_torch.nn.functional, name)(x * 1, -0.5 if name == "leaky_relu_" else -1.0)
    y.sum().backward()
    assert y[1] == 3.0
    close(x.grad.tolist(), [slope, 1.0])


def test_writing_into_what_backward_needs(torch):
    for name in ("leaky_relu_", "hardtanh_", "elu_"):
        x = torch.tensor([-2.0, 0.5], requires_grad=True)
        y = getattr(torch.nn.functional, name)(x * 1)
        if name != "elu_":  # which keeps a copy of x in one package, of the result in the other
            y.add_(1)
        error = outcome(lambda y=y: y.sum().backward())
        assert error is (None if name == "elu_" else RuntimeError) or name == "hardtanh_"


def test_leaky_relu_in_place_makes_no_copy():
    x = tiny_torch.ones(100, requires_grad=True) * 1
    memory = x.data_ptr()
    y = tiny_torch.nn.functional.leaky_relu(x, inplace=True)
    saved = y.grad_fn.saved
    assert y is x and saved[0].storage_id == x.array.storage_id and x.data_ptr() == memory


REFUSED = {
    "celu 0": lambda m, F: F.celu(m.ones(2), 0),
    "celu int": lambda m, F: F.celu(m.ones(2).long()),
    "selu int": lambda m, F: m.selu(m.ones(2).long()),
    "elu_ int": lambda m, F: F.elu_(m.ones(2).long()),
    "selu number": lambda m, F: m.selu(3),
    "hardshrink int": lambda m, F: F.hardshrink(m.ones(2).long()),
    "softshrink int": lambda m, F: F.softshrink(m.ones(2).long()),
    "softshrink -1": lambda m, F: F.softshrink(m.ones(2), -1),
    "threshold bool": lambda m, F: F.threshold(m.ones(2) > 0, 0, 1),
    "threshold value": lambda m, F: m.threshold(m.ones(2), 1),
    "rrelu int": lambda m, F: F.rrelu(m.ones(2).long()),
    "rrelu order": lambda m, F: F.rrelu(m.ones(2), 1, 0.5),
    "rrelu inf": lambda m, F: F.rrelu(m.ones(2), math.inf, math.inf, True),
    "hardtanh bool": lambda m, F: F.hardtanh(m.ones(2) > 0),
    "hardtanh uint8": lambda m, F: F.hardtanh(m.ones(2, dtype=m.uint8), -1, 1),
    "glu int": lambda m, F: F.glu(m.ones(2).long()),
    "glu dim": lambda m, F: F.glu(m.ones(2), 1),
    "dropout int": lambda m, F: F.dropout(m.ones(2).long()),
    "dropout p": lambda m, F: F.dropout(m.ones(2), 1.5),
    "dropout str": lambda m, F: F.dropout(m.ones(2), "a"),
    "torch.dropout p": lambda m, F: m.dropout(m.ones(2), -1.0, True),
    "torch.dropout train": lambda m, F: m.dropout(m.ones(2), 0.5),
    "dropout1d": lambda m, F: F.dropout1d(m.ones(2)),
    "dropout2d": lambda m, F: F.dropout2d(m.ones(2)),
    "alpha int": lambda m, F: F.alpha_dropout(m.ones(2).long(), training=True),
    "feature alpha": lambda m, F: F.feature_alpha_dropout(m.ones(2), training=True),
    "Dropout2d p": lambda m, F: m.nn.Dropout2d(2),
    "one_hot classes": lambda m, F: F.one_hot(m.tensor([1]), "a"),
    "one_hot none": lambda m, F: F.one_hot(m.tensor([1]), 0),
    "cosine int": lambda m, F: F.cosine_similarity(m.ones(2, 2).long(), m.ones(2, 2).long()),
    "cosine dim": lambda m, F: F.cosine_similarity(m.ones(2, 2), m.ones(2, 2), 3),
    "cosine shape": lambda m, F: F.cosine_similarity(m.ones(2, 2), m.ones(2, 3)),
    "distance shape": lambda m, F: F.pairwise_distance(m.ones(2, 2), m.ones(2, 3)),
    "pdist dims": lambda m, F: F.pdist(m.ones(2)),
    "pdist int": lambda m, F: F.pdist(m.ones(2, 2).long()),
    "pdist p": lambda m, F: F.pdist(m.ones(2, 2), -1),
    "pdist half": lambda m, F: F.pdist(m.ones(2, 2).half()),
    "linear bias": lambda m, F: F.linear(m.ones(3, 4), m.ones(5, 4), m.ones(4)),
    "linear 3-d": lambda m, F: F.linear(m.ones(3, 4), m.ones(2, 5, 4)),
    "linear 0-d": lambda m, F: F.linear(m.ones(()), m.ones(5, 1)),
    "linear dtype": lambda m, F: F.linear(m.ones(3, 4), m.ones(5, 4).double()),
    "linear vectors": lambda m, F: F.linear(m.ones(3, 4), m.ones(4), m.ones(1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(oracle, name):
    ours, theirs = both(oracle, lambda m: outcome(lambda: REFUSED[name](m, m.nn.functional)))
    assert isinstance(theirs, type) and ours is theirs


MODULES = {
    "CELU": [(), (2.0, True)], "RReLU": [(), (0.1, 0.2, True)], "Threshold": [(0.1, 20.0)],
    "Hardshrink": [(), (0.3,)], "Softshrink": [(), (0.3,)], "Tanhshrink": [()], "Softsign": [()],
    "Dropout1d": [(0.3,)], "Dropout2d": [(0.3, True)], "Dropout3d": [()], "AlphaDropout": [()],
    "FeatureAlphaDropout": [(0.2,)], "CosineSimilarity": [(), (0, 1e-3)],
    "PairwiseDistance": [(), (1.0, 1e-3, True)], "Identity": [(), (3,)], "GLU": [()],
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules(oracle, name):
    def run(m, args):
        module = getattr(m.nn, name)(*args).eval()
        x = m.linspace(-2, 2, 24).reshape((2, 3, 4) if name == "Dropout1d" else (2, 3, 2, 2))
        inputs = (x, x.flip(0)) if name in ("CosineSimilarity", "PairwiseDistance") else (x,)
        settings = {key: value for key, value in vars(module).items() if key[0] != "_"}
        return module(*inputs).tolist(), repr(module), settings

    for args in MODULES[name]:
        ours, theirs = both(oracle, lambda m, args=args: run(m, args))
        close(ours[0], theirs[0])
        assert ours[1:] == theirs[1:]


# ---- dropout and rrelu: what is drawn -----------------------------------------------------------


@pytest.mark.parametrize(
    "name, shape",
    [("dropout1d", (4, 50, 3)), ("dropout1d", (50, 3)), ("dropout2d", (4, 50, 2, 3)),
     ("dropout3d", (4, 50, 2, 1, 3)), ("dropout3d", (50, 2, 1, 3))],
)  # fmt: skip
@pytest.mark.parametrize("inplace", [False, True])
def test_channels_are_dropped_whole(name, shape, inplace):
    tiny_torch.manual_seed(0)
    x = tiny_torch.ones(shape, requires_grad=True)
    y = getattr(tiny_torch.nn.functional, name)(x * 1, 0.75, inplace=inplace)
    assert y.shape == x.shape
    channels = y.reshape(*shape[: 2 if len(shape) - int(name[-2]) == 2 else 1], -1)
    assert set(channels.amax(-1).flatten().tolist()) == {0.0, 4.0}
    assert (channels == channels[..., :1]).all()
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "feature_alpha_dropout"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_values_of_dropout(oracle, name, dtype):
    """Which elements are dropped depends on MKL in PyTorch, what becomes of them does not."""

    def run(m):
        m.manual_seed(1)
        x = m.full((300, 4), 0.3, dtype=getattr(m, dtype))
        y = getattr(m.nn.functional, name)(x, 0.3, True)
        z = getattr(m, name + "_")(x.clone(), 0.3, True)
        assert set(y.flatten().tolist()) == set(z.flatten().tolist())
        whole = getattr(m.nn.functional, name)(-x, 1.0, True)
        return sorted(set(y.flatten().tolist())), whole.tolist(), y.dtype is x.dtype

    (ours, ours_whole, _), (theirs, theirs_whole, _) = both(oracle, run)
    close(ours, theirs, 1e-3 if dtype == "float16" else 1e-7)
    assert str(ours_whole) == str(theirs_whole)


def test_dropout_keeps_mean_and_variance():
    tiny_torch.manual_seed(2)
    x = tiny_torch.randn(200000)
    y = tiny_torch.nn.functional.alpha_dropout(x, 0.3, True)
    assert abs(y.mean()) < 0.01 and abs(y.std() - 1) < 0.01
    kept = (tiny_torch.nn.functional.dropout(x, 0.3) != 0).double().mean()
    assert abs(kept - 0.7) < 0.005


def test_bernoulli_in_blocks_is_the_serial_stream():
    """Blocks of draws take the same words as one draw after another, from anywhere."""
    for start in (0, 1, 311, 623):
        draws = []
        for size in ((1000,), (1,) * 10):
            tiny_torch.manual_seed(3)
            tiny_torch.rand(start)  # a word each
            parts = [tiny_torch.empty(1000 // len(size)).bernoulli_(0.3) for _ in size]
            draws.append(tiny_torch.cat(parts).tolist() + tiny_torch.rand(3).tolist())
        assert draws[0] == draws[1]
        tiny_torch.manual_seed(3)
        tiny_torch.rand(start)
        uniform = tiny_torch.empty(1000, dtype=tiny_torch.float64).uniform_()
        assert draws[0][:1000] == (uniform < 0.3).double().tolist()


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rrelu_draws(oracle, dtype, inplace):
    def run(m):
        m.manual_seed(5)
        x = m.linspace(-1, 1, 60, dtype=getattr(m, dtype)).reshape(6, 10).t().requires_grad_()
        y = m.nn.functional.rrelu(x * 1, 0.2, 0.4, True, inplace)
        y.sum().backward()
        after = m.rand(1).item()
        return y.tolist(), x.grad.tolist(), after

    ours, theirs = both(oracle, run)
    close(ours[0], theirs[0], 1e-7)
    close(ours[1], theirs[1], 1e-7)
    assert ours[2] == theirs[2]


# ---- distances ----------------------------------------------------------------------------------

DISTANCES = {
    "cosine": lambda m, x, y: m.cosine_similarity(x, y),
    "cosine of dim 0": lambda m, x, y: m.cosine_similarity(x, y, 0, 0.1),
    "cosine broadcast": lambda m, x, y: m.cosine_similarity(x, y[0]),
    "cosine tiny": lambda m, x, y: m.cosine_similarity(x * 1e-9, y),
    "pairwise": lambda m, x, y: m.pairwise_distance(x, y),
    "pairwise 1": lambda m, x, y: m.pairwise_distance(x, y, 1.0, 0.1, True),
    "pairwise broadcast": lambda m, x, y: m.pairwise_distance(x, y[0], 3.0),
    "pairwise of numbers": lambda m, x, y: m.pairwise_distance(x[0, 0], y[0, 0]),
    "pairwise inf": lambda m, x, y: m.pairwise_distance(x, y, math.inf),
    **{
        f"pdist {p}": lambda m, x, y, p=p: m.nn.functional.pdist(x, p)
        for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf)
    },
    "pdist of one": lambda m, x, y: m.pdist(x[:1]),
    "pdist of nothing": lambda m, x, y: m.pdist(x[:, :0]),
    "pdist of equals": lambda m, x, y: m.pdist(x[:1].expand(3, 4)),
}


@pytest.mark.parametrize("name", DISTANCES)
def test_distances(oracle, name):
    def run(m):
        rng = np.random.default_rng(0)
        x, y = (m.tensor(rng.standard_normal((5, 4)), requires_grad=True) for _ in range(2))
        d = DISTANCES[name](m, x, y)
        if name != "pdist 0.0":  # whose gradient is None here, 0 in PyTorch
            (d * d).sum().backward()
        grads = [None if t.grad is None else t.grad.tolist() for t in (x, y)]
        return d.tolist(), tuple(d.shape), grads

    ours, theirs = both(oracle, run)
    close(ours[0], theirs[0], 1e-12)
    assert ours[1] == theirs[1]
    for a, b in zip(ours[2], theirs[2], strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            close(a, b, 1e-10)


STEPS = (
    "relu",
    "relu6",
    "leaky_relu",
    "hardtanh",
    "hardshrink",
    "softshrink",
    "hardswish",
    "hardsigmoid",
)


@pytest.mark.parametrize("name", STEPS)
def test_gradients_at_nan(oracle, name):
    """PyTorch's whole vectors; the rest of its elements may have another answer."""

    def run(m):
        x = m.full((64,), math.nan, requires_grad=True)
        getattr(m.nn.functional, name)(x).backward(m.full((64,), 1.5))
        return x.grad.numpy()

    np.testing.assert_array_equal(*both(oracle, run))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["threshold", "hardshrink", "softshrink", "hardtanh", "clamp"])
def test_a_number_beside_a_half(oracle, name, dtype):
    """Elements that are the number once it is rounded, and their neighbours."""

    def run(m, number):
        x = m.tensor([number] * 32, dtype=getattr(m, dtype))
        x = m.cat([x, x * 1.01, x * 0.99]).requires_grad_()
        lower = (-2.0,) if name in ("hardtanh", "clamp") else ()
        last = (0.333,) if name == "threshold" else ()
        function = m.clamp if name == "clamp" else getattr(m.nn.functional, name)
        y = function(x, *lower, number, *last)
        y.sum().backward()
        return np.stack([y.detach().float().numpy(), x.grad.float().numpy()])

    for number in (0.1, 0.2, 0.3, 0.7, 1.1):
        np.testing.assert_array_equal(*both(oracle, lambda m, number=number: run(m, number)))
