"""Probability distributions: draws, densities, entropies, divergences.

https://pytorch.org/docs/stable/distributions.html. Each stands in a module of its own: of numbers
in `continuous/`, of counts and classes in `discrete/`, of vectors and matrices in `multivariate/`,
made of others here; to be read first: distribution.py, then continuous/normal.py.

>>> import tiny_torch as torch
>>> normal = torch.distributions.Normal(torch.zeros(3), 1.0)
>>> normal.log_prob(normal.rsample()).shape
torch.Size([3])
"""

from types import ModuleType as _ModuleType

from tiny_torch.distributions import constraints, kl, transforms, utils
from tiny_torch.distributions.constraint_registry import biject_to, transform_to
from tiny_torch.distributions.continuous.beta import Beta
from tiny_torch.distributions.continuous.cauchy import Cauchy
from tiny_torch.distributions.continuous.chi2 import Chi2
from tiny_torch.distributions.continuous.continuous_bernoulli import ContinuousBernoulli
from tiny_torch.distributions.continuous.exponential import Exponential
from tiny_torch.distributions.continuous.fishersnedecor import FisherSnedecor
from tiny_torch.distributions.continuous.gamma import Gamma
from tiny_torch.distributions.continuous.generalized_pareto import GeneralizedPareto
from tiny_torch.distributions.continuous.gumbel import Gumbel
from tiny_torch.distributions.continuous.half_cauchy import HalfCauchy
from tiny_torch.distributions.continuous.half_normal import HalfNormal
from tiny_torch.distributions.continuous.inverse_gamma import InverseGamma
from tiny_torch.distributions.continuous.kumaraswamy import Kumaraswamy
from tiny_torch.distributions.continuous.laplace import Laplace
from tiny_torch.distributions.continuous.log_normal import LogNormal
from tiny_torch.distributions.continuous.normal import Normal
from tiny_torch.distributions.continuous.pareto import Pareto
from tiny_torch.distributions.continuous.studentT import StudentT
from tiny_torch.distributions.continuous.uniform import Uniform
from tiny_torch.distributions.continuous.von_mises import VonMises
from tiny_torch.distributions.continuous.weibull import Weibull
from tiny_torch.distributions.discrete.bernoulli import Bernoulli
from tiny_torch.distributions.discrete.binomial import Binomial
from tiny_torch.distributions.discrete.categorical import Categorical
from tiny_torch.distributions.discrete.geometric import Geometric
from tiny_torch.distributions.discrete.multinomial import Multinomial
from tiny_torch.distributions.discrete.negative_binomial import NegativeBinomial
from tiny_torch.distributions.discrete.one_hot_categorical import (
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from tiny_torch.distributions.discrete.poisson import Poisson
from tiny_torch.distributions.discrete.relaxed_bernoulli import RelaxedBernoulli
from tiny_torch.distributions.discrete.relaxed_categorical import RelaxedOneHotCategorical
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.exp_family import ExponentialFamily
from tiny_torch.distributions.independent import Independent
from tiny_torch.distributions.kl import kl_divergence, register_kl
from tiny_torch.distributions.mixture_same_family import MixtureSameFamily
from tiny_torch.distributions.multivariate.dirichlet import Dirichlet
from tiny_torch.distributions.multivariate.lkj_cholesky import LKJCholesky
from tiny_torch.distributions.multivariate.logistic_normal import LogisticNormal
from tiny_torch.distributions.multivariate.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
)
from tiny_torch.distributions.multivariate.multivariate_normal import MultivariateNormal
from tiny_torch.distributions.multivariate.wishart import Wishart
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.transforms import *

__all__ = ["constraints", "kl", "transforms", "utils"]
__all__ += [n for n, it in globals().items() if n[0] != "_" and type(it) is not _ModuleType]
