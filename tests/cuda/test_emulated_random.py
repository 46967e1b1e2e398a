"""The device `cuda-emulated`: a seed gives the draws that it gives on the CPU, and leaves the
generator as there; what is computed around draws is the CPU's to rounding.
"""

from __future__ import annotations

import pytest
from helpers import compare, outcome

import tiny_torch as torch
from tiny_torch.nn import functional as F

DEVICE = "cuda-emulated"
FLOATS = ["float16", "bfloat16", "float32", "float64"]
LAYOUTS = {
    "number": lambda x: x[0, 0, 0],
    "few": lambda x: x[0, :, 0],
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2),
    "sliced": lambda x: x[:, ::2, 1::3],
    "permuted and sliced": lambda x: x.permute(1, 2, 0)[::2],
    "empty": lambda x: x[:0],
}
FILLS = {
    "uniform": lambda x: x.uniform_(-1, 2),
    "normal": lambda x: x.normal_(2, 3),
    "log_normal": lambda x: x.log_normal_(0.5, 2),
    "exponential": lambda x: x.exponential_(0.3),
    "cauchy": lambda x: x.cauchy_(1, 2),
    "geometric": lambda x: x.geometric_(0.3),
    "random": lambda x: x.random_(),
    "random 5 100": lambda x: x.random_(5, 100),
    "bernoulli": lambda x: x.bernoulli_(0.1),
    "bernoulli each": lambda x: x.bernoulli_(x * 0 + 0.5),
    "wrong": lambda x: x.uniform_(2, 1),
}
A = torch.linspace(0.2, 30, 24).view(4, 6)
CALLS = {
    "randn": lambda to: torch.randn(3, 7, device=to),
    "randint": lambda to: torch.randint(9, (4, 5), device=to),
    "randperm": lambda to: torch.randperm(100, device=to),
    "rand_like": lambda to: torch.rand_like(A.to(to)),
    "normal of arrays": lambda to: torch.normal(A.to(to), A.to(to)),
    "bernoulli of an array": lambda to: torch.bernoulli((A / 30).to(to)),
    "multinomial": lambda to: torch.multinomial(A.to(to), 4),
    "multinomial of columns": lambda to: torch.multinomial(A.to(to).t(), 3),
    "multinomial, replaced": lambda to: torch.multinomial(A.to(to)[1], 50, replacement=True),
    "multinomial, wrong": lambda to: torch.multinomial(-A.to(to), 2),
    "poisson": lambda to: torch.poisson(A.to(to)),
    "binomial": lambda to: torch.binomial(A.to(to).floor(), (A / 40).to(to)),
    "dropout": lambda to: F.dropout(A.to(to)),
    "dropout2d": lambda to: F.dropout2d(A.view(2, 2, 3, 2).to(to)),
    "linear": lambda to: torch.nn.Linear(4, 5, device=to).weight.detach(),
}
SLOPES = {
    "gamma": lambda a: torch._standard_gamma(a),
    "dirichlet": lambda a: torch._sample_dirichlet(a),
    "cdf of gamma": lambda a: gamma_of(a).cdf(a),
    "transposed": lambda a: torch._standard_gamma(a.t()),
}


def gamma_of(a):
    rate = torch.tensor(1.5, dtype=a.dtype, device=a.device)
    return torch.distributions.Gamma(a.detach().flip(0) + 1, rate, validate_args=False)


def same(call, where, ulps=0):
    found = {}
    for device in ("cpu", DEVICE):
        torch.manual_seed(3)
        error, tensors = outcome(lambda device=device: call(device))
        found[device] = repr(error), tensors, torch.get_rng_state()
        assert {x.device.type for x in tensors} <= {device}
    (error, expected, state), (its_error, results, its_state) = found.values()
    assert (error, state.tolist()) == (its_error, its_state.tolist())
    for ours, theirs in zip(results, expected, strict=True):
        compare(ours, theirs, where, ulps=ulps)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize("dtype", [*FLOATS, "uint8", "int64", "bool"])
def test_draws_into_any_layout(name, layout, dtype):
    def filled(device):
        base = torch.zeros(4, 6, 8, dtype=getattr(torch, dtype), device=device)
        FILLS[name](LAYOUTS[layout](base))
        return base

    same(filled, name)


@pytest.mark.parametrize("name", CALLS)
def test_draws(name):
    same(CALLS[name], name)


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_follow_their_parameters(name, dtype):
    def slopes(device):
        a = A.to(getattr(torch, dtype)).to(device).requires_grad_()
        result = SLOPES[name](a)
        weights = torch.arange(1.0, 25, dtype=a.dtype, device=device).view(result.shape)
        return result.detach(), *torch.autograd.grad(result, a, weights)

    same(slopes, name, ulps=32)  # sums in another order
