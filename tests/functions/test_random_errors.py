"""What samplers refuse: PyTorch's exceptions, before a single draw."""

import pytest

import tiny_torch


def generator(module):
    return module.Generator().manual_seed(0)


ERRORS = [
    (RuntimeError, lambda m, g: m.zeros(2).uniform_(2, 1, generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2).uniform_(0, float("inf"), generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2).uniform_(-3e38, 3e38, generator=g)),
    (NotImplementedError, lambda m, g: m.zeros(2, dtype=m.int64).uniform_(generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2).normal_(0, -1, generator=g)),
    (NotImplementedError, lambda m, g: m.zeros(2, dtype=m.int64).normal_(generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2).log_normal_(0, 0, generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2).exponential_(0, generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2, dtype=m.int64).exponential_(generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2).cauchy_(0, 0, generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2).geometric_(1, generator=g)),
    (NotImplementedError, lambda m, g: m.zeros(2, dtype=m.bool).geometric_(0.5, generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2).bernoulli_(1.5, generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2).bernoulli_(m.tensor([2.0, 0.5]), generator=g)),
    (NotImplementedError, lambda m, g: m.zeros(2).bernoulli_(m.tensor([1, 0]), generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2).random_(3, 3, generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2, dtype=m.uint8).random_(257, generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2, dtype=m.uint8).random_(-1, 3, generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2, dtype=m.bool).random_(3, generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2).random_(2**24, None, generator=g)),
    (RuntimeError, lambda m, g: m.randint(5, 3, (2,), generator=g)),
    (RuntimeError, lambda m, g: m.randperm(-1, generator=g)),
    (RuntimeError, lambda m, g: m.randperm(257, dtype=m.uint8, generator=g)),
    (NotImplementedError, lambda m, g: m.randperm(2, dtype=m.bool, generator=g)),
    (RuntimeError, lambda m, g: m.multinomial(m.tensor([1.0, 2.0]), 3, generator=g)),
    (RuntimeError, lambda m, g: m.multinomial(m.tensor([1.0, 2.0]), 0, generator=g)),
    (RuntimeError, lambda m, g: m.multinomial(m.tensor([1, 2]), 1, generator=g)),
    (RuntimeError, lambda m, g: m.multinomial(m.tensor([1.0, -2.0]), 1, generator=g)),
    (RuntimeError, lambda m, g: m.multinomial(m.tensor([1.0, -2.0]), 9, True, generator=g)),
    (RuntimeError, lambda m, g: m.multinomial(m.tensor([1.0, float("nan")]), 1, generator=g)),
    (RuntimeError, lambda m, g: m.multinomial(m.tensor([0.0, 0.0]), 1, generator=g)),
    (RuntimeError, lambda m, g: m.multinomial(m.tensor(1.0), 1, generator=g)),
    (RuntimeError, lambda m, g: m.zeros(1).expand(3).uniform_(generator=g)),
    (TypeError, lambda m, g: m.zeros(2).uniform_("0", generator=g)),
    (TypeError, lambda m, g: m.zeros(2).uniform_(0, 1, 2, generator=g)),
    (TypeError, lambda m, g: m.zeros(2).uniform_(0, end=1, generator=g)),
    (TypeError, lambda m, g: m.zeros(2).normal_("0", generator=g)),
    (TypeError, lambda m, g: m.zeros(2).random_(0.5, generator=g)),
    (TypeError, lambda m, g: m.zeros(2).random_(0, 1, 2, generator=g)),
    (TypeError, lambda m, g: m.zeros(2).geometric_(generator=g)),
    (TypeError, lambda m, g: m.rand(generator=g)),
    (TypeError, lambda m, g: m.rand(2, size=(2,), generator=g)),
    (TypeError, lambda m, g: m.rand(2.0, generator=g)),
    (TypeError, lambda m, g: m.rand(2, generator=3)),
    (RuntimeError, lambda m, g: m.rand(-1, generator=g)),
    (RuntimeError, lambda m, g: m.rand(2, out=m.zeros(2), dtype=m.float64, generator=g)),
    (NotImplementedError, lambda m, g: m.rand(2, dtype=m.int64, generator=g)),
    (NotImplementedError, lambda m, g: m.randn_like(m.zeros(2, dtype=m.int64), generator=g)),
    (TypeError, lambda m, g: m.randint(generator=g)),
    (TypeError, lambda m, g: m.randint(3, 2, generator=g)),
    (TypeError, lambda m, g: m.randint(3.0, (2,), generator=g)),
    (TypeError, lambda m, g: m.randint(10, (2,), low=3, generator=g)),
    (RuntimeError, lambda m, g: m.randint(0, (2,), generator=g)),
    (RuntimeError, lambda m, g: m.randint(0, 300, (2,), dtype=m.uint8, generator=g)),
    (TypeError, lambda m, g: m.randint_like(m.zeros(2), generator=g)),
    (TypeError, lambda m, g: m.randint_like(m.zeros(2), 5.0, generator=g)),
    (RuntimeError, lambda m, g: m.randint_like(m.zeros(2), 5, 2, generator=g)),
    (TypeError, lambda m, g: m.randperm(3.0, generator=g)),
    (TypeError, lambda m, g: m.randperm(True, generator=g)),
    (TypeError, lambda m, g: m.normal(1.0, 2.0, generator=g)),
    (RuntimeError, lambda m, g: m.normal(1.0, -2.0, (3,), generator=g)),
    (RuntimeError, lambda m, g: m.normal(m.zeros(2), -m.ones(2), generator=g)),
    (RuntimeError, lambda m, g: m.normal(m.zeros(2), -1, generator=g)),
    (RuntimeError, lambda m, g: m.normal(m.zeros(2), m.ones(3), generator=g)),
    (NotImplementedError, lambda m, g: m.normal(m.tensor([1]), 1.0, generator=g)),
    (TypeError, lambda m, g: m.bernoulli(0.5, generator=g)),
    (TypeError, lambda m, g: m.bernoulli(m.zeros(2), "1", generator=g)),
    (TypeError, lambda m, g: m.bernoulli(m.zeros(2), 0.5, out=m.zeros(2), generator=g)),
    (TypeError, lambda m, g: m.poisson(1.0, generator=g)),
    (RuntimeError, lambda m, g: m.poisson(m.tensor([-1.0]), generator=g)),
    (NotImplementedError, lambda m, g: m.poisson(m.tensor([1]), generator=g)),
    (NotImplementedError, lambda m, g: m._standard_gamma(m.tensor([1]), generator=g)),
    (NotImplementedError, lambda m, g: m._standard_gamma(m.ones(2).half(), generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2).half().uniform_(0, 7e4, generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2).half().uniform_(-4e4, 4e4, generator=g)),
    (RuntimeError, lambda m, g: m.randperm(2050, dtype=m.float16, generator=g)),
    (RuntimeError, lambda m, g: m.randperm(129, dtype=m.int8, generator=g)),
    (RuntimeError, lambda m, g: m.zeros(2, dtype=m.int8).random_(129, generator=g)),
    (TypeError, lambda m, g: m.multinomial(m.ones(3), 2.0, generator=g)),
    (RuntimeError, lambda m, g: m.multinomial(m.ones(3), 2, out=m.zeros(2), generator=g)),
    (RuntimeError, lambda m, g: m.multinomial(m.ones(2, 0), 1, generator=g)),
    (RuntimeError, lambda m, g: g.manual_seed("1")),
    (ValueError, lambda m, g: g.manual_seed(2**64)),
    (TypeError, lambda m, g: g.set_state(3)),
    (TypeError, lambda m, g: g.set_state(m.zeros(5056))),
    (RuntimeError, lambda m, g: m.Generator("meta")),
    (RuntimeError, lambda m, g: m.Generator("nothing")),
]


@pytest.mark.parametrize("error, call", ERRORS)
def test_errors_come_before_the_first_draw(error, call):
    g = generator(tiny_torch)
    before = g.get_state().tolist()
    with pytest.raises(error):
        call(tiny_torch, g)
    assert g.get_state().tolist() == before


@pytest.mark.parametrize("error, call", ERRORS)
def test_errors_are_those_of_torch(oracle, error, call):
    with pytest.raises(error):
        call(oracle, generator(oracle))


INF, NAN = float("inf"), float("nan")
# {call: what it draws}: PyTorch rejects one candidate after the other, for ever, or casts inf.
ENDLESS = {
    "torch.binomial(full(INF), full(0.3))": INF,
    "torch.binomial(full(INF), full(0.7))": INF,
    "torch.binomial(full(NAN), full(0.3))": NAN,
    "torch.binomial(full(NAN), full(1.0))": NAN,
    "torch.binomial(full(3.0), full(NAN))": NAN,
    "torch.binomial(full(-INF), full(0.3))": 0,
    "torch.poisson(full(INF))": INF,
    "torch._standard_gamma(full(INF))": INF,
    "torch._standard_gamma(full(NAN))": NAN,
    "torch._standard_gamma(full(-5.0))": NAN,
    "torch._sample_dirichlet(full(NAN))": NAN,
    "torch.distributions.Gamma(full(NAN), full(1.0), validate_args=False).sample()": NAN,
    "torch.distributions.Beta(full(NAN), full(1.0), validate_args=False).sample()": NAN,
}


@pytest.mark.parametrize("call", ENDLESS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_end(call, dtype):
    def full(value):
        return torch.full((20,), value, dtype=getattr(torch, dtype))

    torch = tiny_torch
    drawn = eval(call)
    wanted = torch.full((20,), ENDLESS[call], dtype=drawn.dtype)
    assert torch.equal(drawn.nan_to_num(-1), wanted.nan_to_num(-1)), drawn
