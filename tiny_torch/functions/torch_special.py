"""torch.special: special functions, most of which torch has by the same or another name.

The ops stand in ops/elementwise/special.py and ops/elementwise/unary.py.
https://pytorch.org/docs/stable/special.html
"""

from __future__ import annotations

from inspect import unwrap
from typing import Any

import tiny_torch as torch
from tiny_torch import (
    Tensor,
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    i0,
    lgamma,
    log1p,
    logit,
    logsumexp,
    mvlgamma,
    polygamma,
    round,
    sigmoid,
    sinc,
    xlogy,
)
from tiny_torch.functions.elementwise.special import i1
from tiny_torch.functions.methods import publish


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """torch.softmax. https://pytorch.org/docs/stable/special.html#torch.special.softmax"""
    return torch.softmax(input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """torch.log_softmax. https://pytorch.org/docs/stable/special.html#torch.special.log_softmax"""
    return torch.log_softmax(input, dim, dtype=dtype)


expit, gammaln, multigammaln, psi = sigmoid, lgamma, mvlgamma, digamma

__all__ = [
    "digamma", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammaln", "i0", "i1", "log1p",
    "log_softmax", "logit", "logsumexp", "multigammaln", "polygamma", "psi", "round", "sinc",
    "softmax", "xlogy",
]  # fmt: skip

# Handlers of __torch_function__ tell torch.special.erf from torch.erf.
globals().update(publish(__name__, {name: unwrap(globals()[name]) for name in __all__}))
