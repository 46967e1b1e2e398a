"""Kullback-Leibler divergences against PyTorch's, of every pair of distributions."""

import numpy as np
import pytest
from cases.distribution_cases import leaf, matrix
from helpers import dtype_name, outcome

import tiny_torch

FAMILIES = {
    "Bernoulli": lambda d, m, k: d.Bernoulli(leaf(m, 0.1 + k / 4, 0.5, 0.9)),
    "Beta": lambda d, m, k: d.Beta(leaf(m, 0.5, 2.0 + k, 3.0), leaf(m, 0.5 + k, 1.0, 7.0)),
    "Binomial": lambda d, m, k: d.Binomial(4 - k, leaf(m, 0.1 + k / 4, 0.5, 0.9)),
    "Binomial more": lambda d, m, k: d.Binomial(4, leaf(m, 0.1 + k / 4, 0.5, 0.9)),
    "Cauchy": lambda d, m, k: d.Cauchy(leaf(m, 1.0, 2.0 + k, 0.5), leaf(m, 1.0, 2.0, 3.0 + k)),
    "Categorical": lambda d, m, k: d.Categorical(leaf(m, 1.0, 2.0 + k, 3.0)),
    "Chi2": lambda d, m, k: d.Chi2(leaf(m, 1.0, 2.0 + k, 0.5)),
    "ContinuousBernoulli": lambda d, m, k: d.ContinuousBernoulli(leaf(m, 0.1 + k / 4, 0.4995, 0.9)),
    "Dirichlet": lambda d, m, k: d.Dirichlet(leaf(m, 1.0, 2.0 + k, 3.0)),
    "Exponential": lambda d, m, k: d.Exponential(leaf(m, 1.0, 2.0 + k, 0.5)),
    "Gamma": lambda d, m, k: d.Gamma(leaf(m, 1.0, 2.0 + k, 0.5), leaf(m, 1.0, 2.0, 3.0 + k)),
    "Geometric": lambda d, m, k: d.Geometric(leaf(m, 0.1 + k / 4, 0.5, 0.9)),
    "Gumbel": lambda d, m, k: d.Gumbel(leaf(m, 1.0, 2.0 + k, 0.5), leaf(m, 1.0, 2.0, 3.0 + k)),
    "HalfNormal": lambda d, m, k: d.HalfNormal(leaf(m, 1.0, 2.0 + k, 0.5)),
    "Independent": lambda d, m, k: d.Independent(d.Normal(leaf(m, 1.0, 2.0 + k, 0.5), 1.0), 1),
    "Laplace": lambda d, m, k: d.Laplace(leaf(m, 1.0, 2.0 + k, 0.5), leaf(m, 1.0, 2.0, 3.0)),
    "LogNormal": lambda d, m, k: d.LogNormal(leaf(m, 1.0, 2.0 + k, 0.5), leaf(m, 1.0, 2.0, 3.0)),
    "LowRankMultivariateNormal": lambda d, m, k: d.LowRankMultivariateNormal(
        leaf(m, 1.0, 2.0 + k, 0.5), matrix(m)[:, :2] * (1 + k), leaf(m, 1.0 + k, 0.5, 2.0)
    ),
    "LowRankMultivariateNormal batch": lambda d, m, k: d.LowRankMultivariateNormal(
        leaf(m, 1.0, 2.0 + k, 0.5), m.stack([matrix(m), matrix(m) * (2 + k)]), m.ones(3)
    ),
    "MultivariateNormal small": lambda d, m, k: d.MultivariateNormal(m.zeros(2), m.eye(2)),
    "MultivariateNormal": lambda d, m, k: d.MultivariateNormal(
        leaf(m, 1.0, 2.0 + k, 0.5), matrix(m) * (1 + k)
    ),
    "Normal": lambda d, m, k: d.Normal(leaf(m, 1.0, 2.0 + k, 0.5), leaf(m, 1.0, 2.0, 3.0)),
    "OneHotCategorical": lambda d, m, k: d.OneHotCategorical(leaf(m, 1.0, 2.0 + k, 3.0)),
    "Pareto": lambda d, m, k: d.Pareto(leaf(m, 1.0, 2.0, 0.3 - k / 5), leaf(m, 1.0, 2.5, 3.0 + k)),
    "Poisson": lambda d, m, k: d.Poisson(leaf(m, 1.0, 2.0 + k, 3.0)),
    "Uniform": lambda d, m, k: d.Uniform(leaf(m, 0.1, -0.25, 0.5), leaf(m, 0.5, 0.75, 0.9)),
    "Weibull": lambda d, m, k: d.Weibull(leaf(m, 1.0, 2.0, 3.0), leaf(m, 1.0, 2.0, 3.0)),
    "Wishart": lambda d, m, k: d.Wishart(4.0 + k, matrix(m) * (1 + k)),
    "Uniform wide": lambda d, m, k: d.Uniform(leaf(m, -1.0, 0.0, 0.0), leaf(m, 2.0, 1.0, 1.5)),
}


# PyTorch answers infinity where both end at 0, or at 1.
OTHERWISE = {("ContinuousBernoulli", "Uniform wide"), ("Uniform wide", "ContinuousBernoulli")}


def test_a_uniform_distribution_is_a_continuous_bernoulli():
    torch, d = tiny_torch, tiny_torch.distributions
    low, high = torch.tensor([0.0, -0.5, 0.0]), torch.tensor([1.0, 1.0, 1.5])
    bernoulli, uniform = d.ContinuousBernoulli(0.5), d.Uniform(low, high)
    found = d.kl_divergence(uniform, bernoulli).tolist()
    np.testing.assert_allclose(found, [0.0, np.inf, np.inf], atol=1e-6)
    found = d.kl_divergence(bernoulli, uniform).tolist()
    np.testing.assert_allclose(found, np.log([1.0, 1.5, 1.5]), atol=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_divergences(oracle, name):
    for other in FAMILIES:
        if (name, other) in OTHERWISE:
            continue
        where = f"KL({name}, {other})"
        results = []
        for m in (tiny_torch, oracle):
            d = m.distributions
            p, q = FAMILIES[name](d, m, 0), FAMILIES[other](d, m, 1)
            results.append(outcome(lambda d=d, p=p, q=q: d.kl_divergence(p, q)))
        (our_error, ours), (error, theirs) = results
        assert type(our_error) is type(error), f"{where}: {our_error!r}, PyTorch {error!r}"
        for mine, its in zip(ours, theirs, strict=True):
            assert dtype_name(mine) == dtype_name(its)
            np.testing.assert_allclose(
                mine.detach().numpy(), its.detach().numpy(), rtol=2e-5, atol=2e-6, err_msg=where
            )


def test_the_divergence_of_a_family_follows_from_its_normalizer(torch):
    d = torch.distributions
    for p, q in (
        (d.Normal(torch.tensor([1.0, 2.0]), 2.0), d.Normal(0.0, 1.0)),
        (d.Gamma(torch.tensor([1.0, 2.0]), 2.0), d.Gamma(3.0, 1.0)),
        (d.Dirichlet(torch.tensor([1.0, 2.0, 3.0])), d.Dirichlet(torch.ones(3))),
    ):
        expected = d.kl_divergence(p, q)
        found = d.kl._kl_expfamily_expfamily(p, q)
        np.testing.assert_allclose(found.detach().numpy(), expected.numpy(), rtol=1e-5)
    normal = d.Normal(torch.tensor([1.0, 2.0]), 2.0)
    entropy = d.ExponentialFamily.entropy(normal).detach().numpy()
    np.testing.assert_allclose(entropy, normal.entropy().numpy(), rtol=1e-5)


def test_ambiguous_divergences_warn(torch):
    d = torch.distributions

    class P(d.Normal):
        pass

    class Q(d.Normal):
        pass

    try:
        d.register_kl(P, d.Normal)(lambda p, q: 1)
        d.register_kl(d.Normal, Q)(lambda p, q: 2)
        assert d.kl_divergence(P(0.0, 1.0), d.Normal(0.0, 1.0)) == 1
        with pytest.warns(RuntimeWarning, match="Ambiguous"):
            assert d.kl_divergence(P(0.0, 1.0), Q(0.0, 1.0)) == 1
    finally:
        for pair in ((P, d.Normal), (d.Normal, Q)):
            d.kl._KL_REGISTRY.pop(pair, None)
        d.kl._KL_MEMOIZE.clear()
