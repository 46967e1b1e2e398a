"""Probability distributions: draws, densities, entropies, divergences.

https://pytorch.org/docs/stable/distributions.html. Each stands in a module of its own; to be read
first: distribution.py, then normal.py.

>>> import tiny_torch as torch
>>> normal = torch.distributions.Normal(torch.zeros(3), 1.0)
>>> normal.log_prob(normal.rsample()).shape
torch.Size([3])
"""

from tiny_torch.distributions import constraints, kl, transforms, utils
from tiny_torch.distributions.bernoulli import Bernoulli
from tiny_torch.distributions.beta import Beta
from tiny_torch.distributions.categorical import Categorical
from tiny_torch.distributions.constraint_registry import biject_to, transform_to
from tiny_torch.distributions.dirichlet import Dirichlet
from tiny_torch.distributions.distribution import Distribution
from tiny_torch.distributions.exp_family import ExponentialFamily
from tiny_torch.distributions.exponential import Exponential
from tiny_torch.distributions.gamma import Gamma
from tiny_torch.distributions.geometric import Geometric
from tiny_torch.distributions.independent import Independent
from tiny_torch.distributions.kl import kl_divergence, register_kl
from tiny_torch.distributions.laplace import Laplace
from tiny_torch.distributions.log_normal import LogNormal
from tiny_torch.distributions.multivariate_normal import MultivariateNormal
from tiny_torch.distributions.normal import Normal
from tiny_torch.distributions.one_hot_categorical import OneHotCategorical
from tiny_torch.distributions.poisson import Poisson
from tiny_torch.distributions.transformed_distribution import TransformedDistribution
from tiny_torch.distributions.transforms import *
from tiny_torch.distributions.uniform import Uniform

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "CatTransform", "Categorical",
    "ComposeTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet",
    "Distribution", "ExpTransform", "Exponential", "ExponentialFamily", "Gamma", "Geometric",
    "Independent", "IndependentTransform", "Laplace", "LogNormal", "LowerCholeskyTransform",
    "MultivariateNormal", "Normal", "OneHotCategorical", "Poisson", "PositiveDefiniteTransform",
    "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "TransformedDistribution", "Uniform", "biject_to", "constraints", "identity_transform", "kl",
    "kl_divergence", "register_kl", "transform_to", "transforms", "utils",
]  # fmt: skip
