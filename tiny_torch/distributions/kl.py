"""Kullback-Leibler divergences: a table of pairs of distributions.

https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.kl
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import tiny_torch as torch
from tiny_torch.distributions.continuous.beta import Beta
from tiny_torch.distributions.continuous.cauchy import Cauchy
from tiny_torch.distributions.continuous.continuous_bernoulli import ContinuousBernoulli
from tiny_torch.distributions.continuous.exponential import Exponential
from tiny_torch.distributions.continuous.gamma import Gamma
from tiny_torch.distributions.continuous.gumbel import Gumbel
from tiny_torch.distributions.continuous.half_normal import HalfNormal
from tiny_torch.distributions.continuous.laplace import Laplace
from tiny_torch.distributions.continuous.normal import Normal
from tiny_torch.distributions.continuous.pareto import Pareto
from tiny_torch.distributions.continuous.uniform import Uniform
from tiny_torch.distributions.discrete.bernoulli import Bernoulli
from tiny_torch.distributions.discrete.binomial import Binomial
from tiny_torch.distributions.discrete.categorical import Categorical
from tiny_torch.distributions.discrete.geometric import Geometric
from tiny_torch.distributions.discrete.one_hot_categorical import OneHotCategorical
from tiny_torch.distributions.discrete.poisson import Poisson
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.exp_family import ExponentialFamily
from tiny_torch.distributions.independent import Independent
from tiny_torch.distributions.multivariate.dirichlet import Dirichlet
from tiny_torch.distributions.multivariate.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
)
from tiny_torch.distributions.multivariate.multivariate_normal import (
    MultivariateNormal,
    batch_mahalanobis,
)
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.utils import euler_constant, sum_rightmost
from tiny_torch.nn.functional import softplus
from tiny_torch.tensor import Tensor

_KL_REGISTRY: dict[tuple[type, type], Callable] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}  # what _dispatch_kl has answered


def register_kl(type_p: type, type_q: type) -> Callable[[Callable], Callable]:
    """Decorates the function that computes KL(p || q) for these classes and their subclasses."""
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a class but got {kind}")

    def decorator(fun: Callable) -> Callable:
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun

    return decorator


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The entry of the nearest base classes; a warning where p and q disagree on which."""
    p_bases, q_bases = type_p.__mro__, type_q.__mro__
    entries = [(p, q) for p, q in _KL_REGISTRY if p in p_bases and q in q_bases]
    if not entries:
        return NotImplemented
    by_p = min(entries, key=lambda pair: (p_bases.index(pair[0]), q_bases.index(pair[1])))
    by_q = min(entries, key=lambda pair: (q_bases.index(pair[1]), p_bases.index(pair[0])))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p || q), the mean over p of log p(x) - log q(x), of shape batch_shape.

    NotImplementedError if the table has no such pair.

    >>> from tiny_torch.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    if _KL_MEMOIZE[pair] is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
            f"{type(q).__name__}"
        )
    return _KL_MEMOIZE[pair](p, q)


# --------------------------------------------------------------------------------- of one family


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones[q.probs == 0] = torch.inf
    ones[p.probs == 0] = 0
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros[q.probs == 1] = torch.inf
    zeros[p.probs == 1] = 0
    return ones + zeros


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    p_total = p.concentration1 + p.concentration0
    q_total = q.concentration1 + q.concentration0
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + p_total.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + q_total.lgamma()
    t3 = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
    t4 = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
    t5 = (q_total - p_total) * torch.digamma(p_total)
    return t1 - t2 + t3 + t4 + t5


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    successes = p.probs * (p.logits - q.logits)
    result = p.total_count * (successes + (-p.probs).log1p() - (-q.probs).log1p())
    result[(p.total_count > q.total_count).expand_as(result)] = torch.inf
    return result


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms[(q.probs == 0).expand_as(terms)] = torch.inf
    terms[(p.probs == 0).expand_as(terms)] = 0
    return terms.sum(-1)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    """F. Chyzak and F. Nielsen, A closed-form formula for the divergence of Cauchy's, 2019."""
    distance = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return distance.log() - (4 * p.scale * q.scale).log()


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    p_total, q_total = p.concentration.sum(-1), q.concentration.sum(-1)
    t1 = p_total.lgamma() - q_total.lgamma()
    t2 = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    t3 = p.concentration - q.concentration
    t4 = p.concentration.digamma() - p_total.digamma().unsqueeze(-1)
    return t1 - t2 + (t3 * t4).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """Bregman's divergence of the log-normalizer F: F(q) - F(p) - <q - p, grad F(p)>."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences"
        )
    theta, normalizer, gradients = p._normalizer_and_gradients()
    q_theta = q._natural_params
    result = q._log_normalizer(*q_theta) - normalizer
    for mine, its, gradient in zip(theta, q_theta, gradients, strict=True):
        result = result - sum_rightmost((its - mine) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    t1 = q.concentration * (p.rate / q.rate).log()
    t2 = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    t3 = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    t4 = (q.rate - p.rate) * (p.concentration / p.rate)
    return t1 + t2 + t3 + t4


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


def _check_events(p: Any, q: Any) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between {type(p).__name__} and {type(q).__name__} with different event "
            f"shapes ({p.event_shape} and {q.event_shape}) cannot be computed"
        )


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p, q):
    """The trace of Q^-1 P, P of F F', sums squared distances of the columns of F."""
    _check_events(p, q)
    batch_shape = torch.broadcast_shapes(p.batch_shape, q.batch_shape)
    columns = p._factor().expand((*batch_shape, -1, -1)).movedim(-1, 0)
    trace = q._squared_distance(columns).sum(0)
    distance = q._squared_distance(q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p, q):
    _check_events(p, q)
    p_factor, q_factor = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    shape = torch.broadcast_shapes(p_factor.shape, q_factor.shape)
    quotient = torch.linalg.solve_triangular(
        q_factor.expand(shape), p_factor.expand(shape), upper=False
    )
    trace = quotient.pow(2).sum((-2, -1))
    distance = batch_mahalanobis(q_factor, q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    result[(p.scale < q.scale).expand_as(result)] = torch.inf
    return result


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = torch.inf
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# ------------------------------------------------------------------------------- of two families
# KL(p || q) is the cross entropy, minus the mean of log q(x) over p, less the entropy of p. Of p,
# the logarithms of these q need no more than its mean, variance and mean of log(x).


def _x_log_x(x: Tensor) -> Tensor:
    return torch.xlogy(x, x)


def _mean_log(p: Any) -> Tensor:
    """The mean of log(x)."""
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1


def _infinite_below_zero(p: Any, result: Tensor) -> Tensor:
    """Infinity where a uniform p reaches values that q never takes."""
    if isinstance(p, Uniform):
        result[(p.low < 0).expand_as(result)] = torch.inf
    return result


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
@register_kl(Pareto, Exponential)
@register_kl(Uniform, Exponential)
def _kl_to_exponential(p, q):
    return _infinite_below_zero(p, q.rate * p.mean - q.rate.log() - p.entropy())


@register_kl(Beta, Gamma)
@register_kl(Exponential, Gamma)
@register_kl(Pareto, Gamma)
@register_kl(Uniform, Gamma)
def _kl_to_gamma(p, q):
    constant = q.concentration.lgamma() - q.concentration * q.rate.log()
    cross = constant - (q.concentration - 1) * _mean_log(p) + q.rate * p.mean
    return _infinite_below_zero(p, cross - p.entropy())


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Pareto, Normal)
@register_kl(Uniform, Normal)
def _kl_to_normal(p, q):
    variance = q.scale.pow(2)
    distance = p.variance + (p.mean - q.loc).pow(2)
    return 0.5 * (2 * math.pi * variance).log() + 0.5 * distance / variance - p.entropy()


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    """The mean of |x - loc| over a normal p is that of a folded normal."""
    difference = p.loc - q.loc
    z = difference / p.scale
    spread = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * z.pow(2))
    distance = spread + difference * torch.erf(math.sqrt(0.5) * z)
    return (2 * q.scale).log() + distance / q.scale - p.entropy()


def _log_laplace_transform(p: Any, t: Tensor) -> Tensor:
    """The logarithm of the mean of exp(-t x)."""
    if isinstance(p, Exponential):
        return -torch.log1p(t / p.rate)
    if isinstance(p, Gamma):
        return -p.concentration * torch.log1p(t / p.rate)
    if isinstance(p, Normal):
        return 0.5 * (t * p.scale).pow(2) - t * p.loc
    if isinstance(p, Gumbel):
        return torch.lgamma(1 + t * p.scale) - t * p.loc
    width = t * (p.high - p.low)
    return (-torch.expm1(-width) / width).log() - t * p.low


@register_kl(Exponential, Gumbel)
@register_kl(Gamma, Gumbel)
@register_kl(Gumbel, Gumbel)
@register_kl(Normal, Gumbel)
@register_kl(Uniform, Gumbel)
def _kl_to_gumbel(p, q):
    t = q.scale.reciprocal()
    tail = torch.exp(q.loc * t + _log_laplace_transform(p, t))
    return q.scale.log() + (p.mean - q.loc) * t + tail - p.entropy()


@register_kl(Beta, ContinuousBernoulli)
@register_kl(ContinuousBernoulli, ContinuousBernoulli)
@register_kl(Uniform, ContinuousBernoulli)
def _kl_to_continuous_bernoulli(p, q):
    constant = q._cont_bern_log_norm() + torch.log1p(-q.probs)
    result = -p.entropy() - p.mean * q.logits - constant
    if isinstance(p, Uniform):
        result[((p.high > 1) | (p.low < 0)).expand_as(result)] = torch.inf
    return result


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    constant = q.alpha.log() + q.alpha * q.scale.log()
    result = (q.alpha + 1) * _mean_log(p) - constant - p.entropy()
    result[(p.low < q.scale).expand_as(result)] = torch.inf
    return result


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _kl_to_uniform(p, q):
    result = (q.high - q.low).log() - p.entropy()
    result[((q.low > 0) | (q.high < 1)).expand_as(result)] = torch.inf
    return result


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    width = p.high - p.low
    mean_log_rest = (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / width - 1  # of log(1 - x)
    a, b = q.concentration1, q.concentration0
    constant = a.lgamma() + b.lgamma() - (a + b).lgamma()
    result = constant - (a - 1) * _mean_log(p) - (b - 1) * mean_log_rest - width.log()
    result[((p.high > 1) | (p.low < 0)).expand_as(result)] = torch.inf
    return result


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return q.rate - p.probs * q.rate.log() - p.entropy()


def _kl_infinite(p, q):
    """p takes values that q never takes."""
    return torch.full_like(p.mean, torch.inf)


for _p, _more in {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}.items():
    for _q in _more:
        register_kl(_p, _q)(_kl_infinite)
