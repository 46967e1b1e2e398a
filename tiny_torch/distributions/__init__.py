"""Probability distributions: draws, densities, entropies, divergences.

https://pytorch.org/docs/stable/distributions.html. Each stands in a module of its own; to be read
first: distribution.py, then normal.py.

>>> import tiny_torch as torch
>>> normal = torch.distributions.Normal(torch.zeros(3), 1.0)
>>> normal.log_prob(normal.rsample()).shape
torch.Size([3])
"""

from types import ModuleType as _ModuleType

from tiny_torch.distributions import constraints, kl, transforms, utils
from tiny_torch.distributions.bernoulli import Bernoulli
from tiny_torch.distributions.beta import Beta
from tiny_torch.distributions.binomial import Binomial
from tiny_torch.distributions.categorical import Categorical
from tiny_torch.distributions.cauchy import Cauchy
from tiny_torch.distributions.chi2 import Chi2
from tiny_torch.distributions.constraint_registry import biject_to, transform_to
from tiny_torch.distributions.continuous_bernoulli import ContinuousBernoulli
from tiny_torch.distributions.dirichlet import Dirichlet
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.exp_family import ExponentialFamily
from tiny_torch.distributions.exponential import Exponential
from tiny_torch.distributions.fishersnedecor import FisherSnedecor
from tiny_torch.distributions.gamma import Gamma
from tiny_torch.distributions.generalized_pareto import GeneralizedPareto
from tiny_torch.distributions.geometric import Geometric
from tiny_torch.distributions.gumbel import Gumbel
from tiny_torch.distributions.half_cauchy import HalfCauchy
from tiny_torch.distributions.half_normal import HalfNormal
from tiny_torch.distributions.independent import Independent
from tiny_torch.distributions.inverse_gamma import InverseGamma
from tiny_torch.distributions.kl import kl_divergence, register_kl
from tiny_torch.distributions.kumaraswamy import Kumaraswamy
from tiny_torch.distributions.laplace import Laplace
from tiny_torch.distributions.lkj_cholesky import LKJCholesky
from tiny_torch.distributions.log_normal import LogNormal
from tiny_torch.distributions.logistic_normal import LogisticNormal
from tiny_torch.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from tiny_torch.distributions.mixture_same_family import MixtureSameFamily
from tiny_torch.distributions.multinomial import Multinomial
from tiny_torch.distributions.multivariate_normal import MultivariateNormal
from tiny_torch.distributions.negative_binomial import NegativeBinomial
from tiny_torch.distributions.normal import Normal
from tiny_torch.distributions.one_hot_categorical import (
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from tiny_torch.distributions.pareto import Pareto
from tiny_torch.distributions.poisson import Poisson
from tiny_torch.distributions.relaxed_bernoulli import RelaxedBernoulli
from tiny_torch.distributions.relaxed_categorical import RelaxedOneHotCategorical
from tiny_torch.distributions.studentT import StudentT
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.transforms import *
from tiny_torch.distributions.uniform import Uniform
from tiny_torch.distributions.von_mises import VonMises
from tiny_torch.distributions.weibull import Weibull
from tiny_torch.distributions.wishart import Wishart

__all__ = ["constraints", "kl", "transforms", "utils"]
__all__ += [n for n, it in globals().items() if n[0] != "_" and type(it) is not _ModuleType]
