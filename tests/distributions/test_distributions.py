"""Distributions against PyTorch's: the same draws, values, gradients, texts and exceptions."""

import copy
import math
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from cases.distribution_cases import REFUSED, TABLE
from helpers import compare, on_intel, outcome

import tiny_torch

PROPERTIES = ("mean", "mode", "variance", "stddev", "batch_shape", "event_shape", "has_rsample",
              "has_enumerate_support", "support", "param_shape", "probs", "logits", "scale_tril",
              "covariance_matrix", "precision_matrix", "concentration1", "concentration", "scale",
              "df", "rate", "temperature", "total_count", "arg_constraints")  # fmt: skip
METHODS = {
    "log_prob": lambda d, value: d.log_prob(value),
    "cdf": lambda d, value: d.cdf(value),
    "icdf": lambda d, value: d.icdf(d.cdf(value)),
    "entropy": lambda d, value: d.entropy(),
    "perplexity": lambda d, value: d.perplexity(),
    "enumerate_support": lambda d, value: d.enumerate_support(),
    "enumerate_support without expand": lambda d, value: d.enumerate_support(expand=False),
    "expand": lambda d, value: d.expand((2, *d.batch_shape)).log_prob(value),
    "expanded mean": lambda d, value: d.expand((4, *d.batch_shape)).mean,
}  # fmt: skip
# PyTorch answers NaN for a mode that exists.
OTHERWISE = {("Kumaraswamy", "mode")}
# PyTorch draws these from MKL on Intel machines.
WITH_MKL = ("Exponential",)
# Where the rounding of a sum, or of a root found by another series, is more than a few ulps.
ULPS = {"MultivariateNormal": 64, "Transformed": 64, "Beta": 64, "Dirichlet": 64, "Gamma": 64}


def ulps(name):
    return ULPS.get(name.split()[0], 24)


def made(m, name):
    constructor, leaves, _ = TABLE[name]
    parameters = leaves(m)
    return constructor(m.distributions, *parameters), parameters


def both(name, oracle):
    return [(m, *made(m, name), TABLE[name][2](m)) for m in (tiny_torch, oracle)]


def check(where, name, oracle, function):
    """The function's value, and the gradients of its sum, or its type of exception."""
    results = []
    for m, distribution, parameters, value in both(name, oracle):
        error, tensors = outcome(lambda f=function, d=distribution, v=value: f(d, v))
        results.append((m, error, tensors, parameters))
    (_, our_error, ours, our_parameters), (_, error, theirs, parameters) = results
    assert type(our_error) is type(error), f"{where}: {our_error!r}, PyTorch {error!r}"
    for mine, its in zip(ours, theirs, strict=True):
        if not hasattr(its, "dtype"):
            assert repr(mine) == repr(its), where
            continue
        compare(mine, its, where, ulps=ulps(name), strides=False)
        assert mine.requires_grad == its.requires_grad, where
        if not its.requires_grad:
            continue
        failures = [outcome(lambda t=t: t.sum().backward())[0] for t in (mine, its)]
        assert type(failures[0]) is type(failures[1]), failures
        if failures[1] is not None:
            continue
        for p, expected in zip(our_parameters, parameters, strict=True):
            assert (p.grad is None) == (expected.grad is None), where
            if p.grad is not None:
                close = {"rtol": 2e-4, "atol": 1e-5}
                mine, its = p.grad.numpy(), expected.grad.numpy()
                if name.endswith("factor") and p.dim() > 1:
                    mine, its = np.tril(mine), np.tril(its)  # PyTorch's has entries above, too
                np.testing.assert_allclose(mine, its, **close)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", TABLE)
def test_methods(oracle, name, method):
    check(f"{name}.{method}", name, oracle, METHODS[method])


@pytest.mark.parametrize("name", TABLE)
def test_properties(oracle, name):
    for prop in PROPERTIES:
        if (name, prop) in OTHERWISE:
            continue
        ask = partial(lambda d, _, prop: getattr(d, prop), prop=prop)
        check(f"{name}.{prop}", name, oracle, ask)


def test_the_mode_of_kumaraswamy_is_where_the_density_is_highest():
    torch = tiny_torch
    kumaraswamy = torch.distributions.Kumaraswamy(torch.tensor([2.0, 3.0, 0.5]), 1.5)
    mode = kumaraswamy.mode
    x = torch.linspace(0.001, 0.999, 999).unsqueeze(-1)
    highest = x[kumaraswamy.log_prob(x).argmax(0), 0]
    np.testing.assert_allclose(mode[:2].numpy(), highest[:2].numpy(), atol=1e-3)
    assert mode[2].isnan()


def test_singular_draws_of_wishart_are_drawn_anew(torch):
    with pytest.warns(UserWarning, match="Low df values"):
        wishart = torch.distributions.Wishart(torch.tensor([1.0001, 3.0]), torch.eye(2))
    torch.manual_seed(0)
    with pytest.warns(UserWarning, match="Singular sample detected"):
        draws = wishart.rsample((500,), max_try_correction=100)
    assert wishart.support.check(draws).all()


@pytest.mark.parametrize("name", TABLE)
def test_texts(oracle, name):
    texts = [repr(d).replace("tiny_torch", "torch") for _, d, _, _ in both(name, oracle)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("shape", [(), (3,), (2, 500)])
@pytest.mark.parametrize("name", TABLE)
def test_draws(oracle, name, shape):
    if name.startswith(WITH_MKL) and on_intel():
        pytest.skip("on Intel machines PyTorch draws these from MKL")
    for kind in ("sample", "rsample"):
        results = []
        for m, d, parameters, _ in both(name, oracle):
            m.manual_seed(3)
            if not d.has_rsample and kind == "rsample":
                with pytest.raises(NotImplementedError):
                    d.rsample(shape)
                continue
            drawn = getattr(d, kind)(shape)
            assert drawn.requires_grad == (kind == "rsample" and len(parameters) > 0)
            grads = []
            if drawn.requires_grad:
                weight = m.linspace(-1, 2, drawn.numel(), dtype=drawn.dtype).reshape(drawn.shape)
                error, _ = outcome(lambda y=drawn, w=weight: y.backward(w))
                assert error is None or m is oracle, error  # Wishart's, which it mends in place
                grads = [] if error else [p.grad.numpy() for p in parameters]
            results.append((drawn, grads, m.get_rng_state().numpy().tobytes()))
        if not results:
            continue
        (ours, our_grads, our_state), (theirs, grads, state) = results
        compare(ours, theirs, name, ulps=64, strides=False)
        for grad, expected in zip(our_grads if grads else [], grads, strict=True):
            np.testing.assert_allclose(grad, expected, rtol=1e-2, atol=1e-2)
        if name.split()[0] not in ("Categorical", "OneHotCategorical", "Bernoulli") or (
            not on_intel()
        ):
            assert our_state == state


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", REFUSED)
def test_refused(oracle, name):
    errors = [
        outcome(lambda m=m: REFUSED[name](m, m.distributions))[0] for m in (tiny_torch, oracle)
    ]
    assert type(errors[0]) is type(errors[1]), errors
    if isinstance(errors[1], ValueError) and "value" in name:
        assert str(errors[0]) == str(errors[1])


def test_messages(oracle):
    texts = []
    for m in (tiny_torch, oracle):
        with pytest.raises(ValueError) as caught:
            m.distributions.Normal(m.zeros(2), m.tensor([1.0, -1.0]))
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_validation_can_be_left_out(torch):
    d = torch.distributions
    assert d.Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    try:
        d.Distribution.set_default_validate_args(False)
        assert d.Normal(0.0, -1.0).scale.item() == -1
    finally:
        d.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError):
        d.Normal(0.0, -1.0)


def test_a_subclass_with_another_constructor_has_to_define_expand(torch):
    class Mine(torch.distributions.Normal):
        def __init__(self):
            super().__init__(0.0, 1.0)

    class Yours(torch.distributions.Normal):
        pass

    with pytest.raises(NotImplementedError, match=r"must also define a custom \.expand"):
        Mine().expand((2,))
    assert type(Yours(0.0, 1.0).expand((2,))) is Yours


def test_a_distribution_of_one_s_own(torch):
    class Die(torch.distributions.Distribution):
        arg_constraints = {}  # noqa: RUF012
        support = torch.distributions.constraints.integer_interval(1, 6)

        def log_prob(self, value):
            self._validate_sample(value)
            return torch.full(value.shape, 1 / 6).log()

    assert repr(Die()) == "Die()"
    with pytest.raises(ValueError, match="within the support"):
        Die().log_prob(torch.tensor(7.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="does not define `arg_constraints`"):
            torch.distributions.Distribution()


def test_copies_and_pickles(torch):
    normal = torch.distributions.Normal(torch.zeros(2), 1.0)
    for other in (copy.deepcopy(normal), pickle.loads(pickle.dumps(normal))):
        assert repr(other) == repr(normal)
    with pytest.warns(FutureWarning):
        assert normal.sample_n(3).shape == (3, 2)


def test_cdf_is_laid_out_as_its_parameters(oracle):
    for m in (tiny_torch, oracle):
        gamma = m.distributions.Gamma(m.ones(4, 5).t(), 2.0)
        assert gamma.cdf(m.ones(5, 4)).stride() == (1, 5)
        assert gamma.cdf(m.tensor(1.0)).stride() == (1, 5)


def test_a_distribution_keeps_the_shapes_that_it_is_given(oracle):
    for m in (tiny_torch, oracle):
        made = m.distributions.Distribution((2,), event_shape=(3,), validate_args=False)
        assert type(made.batch_shape) is type(made.event_shape) is tuple
        for made in (m.distributions.Beta(1.0, 2.0), m.distributions.Gumbel(0.0, 1.0)):
            assert type(made.expand((2,)).batch_shape) is m.Size


@pytest.mark.parametrize(
    "concentration", [5e-324, 1e-300, 1e20, 1e150, 1.7e308, math.inf, math.nan]
)
def test_a_rejection_ends(concentration):
    kappa = tiny_torch.tensor(concentration, dtype=tiny_torch.float64)
    draws = tiny_torch.distributions.VonMises(0.0 * kappa.nan_to_num(), kappa, False).sample((5,))
    if math.isnan(concentration):
        assert draws.isnan().all()
    else:
        assert (draws.abs() <= math.pi).all() and (concentration < 1 or draws.abs().max() < 1e-9)


def test_arguments_are_checked_within_vmap():
    dist = tiny_torch.distributions
    means = tiny_torch.arange(3.0)
    found = tiny_torch.vmap(lambda m: dist.Normal(m, 1.0).log_prob(tiny_torch.tensor(0.0)))(means)
    assert found.equal(dist.Normal(means, 1.0).log_prob(tiny_torch.tensor(0.0)))
    rates = tiny_torch.tensor([1.0, 2.0])
    tiny_torch.vmap(lambda r: dist.Gamma(r, r).entropy())(rates)
    tiny_torch.vmap(lambda p: dist.Categorical(p).entropy())(tiny_torch.eye(3))
    with pytest.raises(ValueError, match="Expected parameter rate"):
        tiny_torch.vmap(lambda r: dist.Exponential(r).mean)(tiny_torch.tensor([1.0, -1.0]))
