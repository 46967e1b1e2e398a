"""Transforms and constraints against PyTorch's."""

import copy

import numpy as np
import pytest
from helpers import compare, outcome

import tiny_torch


def numbers(m, *shape):
    values = np.random.default_rng(0).normal(size=shape).astype("float32")
    return m.from_numpy(values).requires_grad_()


def positive(m, *shape):
    return numbers(m, *shape).detach().exp().requires_grad_()


TRANSFORMS = {
    "exp": (lambda t, m: t.ExpTransform(), lambda m: numbers(m, 2, 3)),
    "power": (lambda t, m: t.PowerTransform(3), lambda m: positive(m, 2, 3)),
    "power tensor": (lambda t, m: t.PowerTransform(m.tensor([2.0, -1, 0.5])), positive),
    "sigmoid": (lambda t, m: t.SigmoidTransform(), lambda m: numbers(m, 2, 3)),
    "softplus": (lambda t, m: t.SoftplusTransform(), lambda m: numbers(m, 2, 3)),
    "tanh": (lambda t, m: t.TanhTransform(), lambda m: numbers(m, 2, 3)),
    "abs": (lambda t, m: t.AbsTransform(), lambda m: numbers(m, 2, 3)),
    "affine": (lambda t, m: t.AffineTransform(1.0, -2.0), lambda m: numbers(m, 2, 3)),
    "affine tensor": (
        lambda t, m: t.AffineTransform(m.tensor([1.0, 2, 3]), m.tensor([[2.0], [-1]]), event_dim=1),
        lambda m: numbers(m, 2, 3),
    ),
    "affine event": (lambda t, m: t.AffineTransform(0, 3, event_dim=2), numbers),
    "inverse": (lambda t, m: t.ExpTransform().inv, lambda m: positive(m, 2, 3)),
    "compose": (
        lambda t, m: t.ComposeTransform([t.AffineTransform(1, 2), t.ExpTransform()]),
        lambda m: numbers(m, 2, 3),
    ),
    "compose vector": (
        lambda t, m: t.ComposeTransform([t.AffineTransform(1, 2), t.StickBreakingTransform()]),
        lambda m: numbers(m, 2, 3),
    ),
    "compose nothing": (lambda t, m: t.identity_transform, lambda m: numbers(m, 2, 3)),
    "independent": (lambda t, m: t.IndependentTransform(t.ExpTransform(), 1), numbers),
    "reshape": (lambda t, m: t.ReshapeTransform((2, 3), (6,)), lambda m: numbers(m, 4, 2, 3)),
    "softmax": (lambda t, m: t.SoftmaxTransform(), lambda m: numbers(m, 2, 3)),
    "stick breaking": (lambda t, m: t.StickBreakingTransform(), lambda m: numbers(m, 2, 3)),
    "lower cholesky": (lambda t, m: t.LowerCholeskyTransform(), lambda m: numbers(m, 2, 3, 3)),
    "corr cholesky": (lambda t, m: t.CorrCholeskyTransform(), lambda m: numbers(m, 2, 6)),
    "positive definite": (lambda t, m: t.PositiveDefiniteTransform(), lambda m: numbers(m, 3, 3)),
    "cat": (
        lambda t, m: t.CatTransform([t.ExpTransform(), t.AffineTransform(1, 2)], 1, [2, 1]),
        lambda m: numbers(m, 2, 3),
    ),
    "stack": (
        lambda t, m: t.StackTransform([t.ExpTransform(), t.AffineTransform(1, 2)], 0),
        lambda m: numbers(m, 2, 3),
    ),
    "cdf": (
        lambda t, m: t.CumulativeDistributionTransform(m.distributions.Normal(0.0, 1.0)),
        lambda m: numbers(m, 2, 3),
    ),
}
QUESTIONS = {
    "forward": lambda t, x: t(x),
    "round trip": lambda t, x: t.inv(t(x).detach().requires_grad_()),
    "jacobian": lambda t, x: t.log_abs_det_jacobian(x, t(x)),
    "inverse jacobian": lambda t, x: t.inv.log_abs_det_jacobian(t(x), x),
    "cached": lambda t, x: t.with_cache()(x),
    "shapes": lambda t, x: (t.forward_shape(x.shape), t.inverse_shape(t.forward_shape(x.shape))),
    "sign": lambda t, x: t.sign,
    "domain": lambda t, x: (repr(t.domain), repr(t.codomain), t.bijective, repr(t)),
    "event_dim": lambda t, x: (t.domain.event_dim, t.codomain.event_dim),
    "own event_dim": lambda t, x: t.event_dim,
    "is_discrete": lambda t, x: t.domain.is_discrete,
    "equal": lambda t, x: (t == t, t == t.inv, t.inv.inv is t, t == 3),
    "codomain": lambda t, x: t.codomain.check(t(x)),
}


def ask(m, name, question):
    make, argument = TRANSFORMS[name]
    try:
        x = argument(m)
    except TypeError:
        x = argument(m, 2, 3)
    x = argument(m, 2, 3) if argument in (numbers, positive) else x
    error, results = outcome(lambda: QUESTIONS[question](make(m.distributions.transforms, m), x))
    if results and getattr(results[0], "requires_grad", False) and x.requires_grad:
        results[0].sum().backward()
        results = [*results, x.grad]
    return error, results


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(oracle, name, question):
    (our_error, ours), (error, theirs) = (ask(m, name, question) for m in (tiny_torch, oracle))
    assert type(our_error) is type(error), f"{our_error!r}, PyTorch {error!r}"
    for mine, its in zip(ours, theirs, strict=True):
        if hasattr(its, "dtype"):
            compare(mine, its, name, ulps=256, strides=False)
        else:
            assert mine == its


def test_a_cache_answers_the_very_tensor(torch):
    t = torch.distributions.transforms.TanhTransform(cache_size=1)
    x = torch.tensor([100.0])
    y = t(x)
    assert t(x) is y and t.inv(y) is x
    assert copy.deepcopy(t).inv(torch.tensor([0.0])).item() == 0


# ---- constraints --------------------------------------------------------------------------------

NAN = float("nan")
CONSTRAINTS = {
    "boolean": (lambda c, m: c.boolean, [0.0, 1, 2, NAN]),
    "one_hot": (lambda c, m: c.one_hot, [[0.0, 1, 0], [1, 1, 0], [0, 0, 2]]),
    "nonnegative_integer": (lambda c, m: c.nonnegative_integer, [0.0, 1.5, -1, NAN]),
    "positive_integer": (lambda c, m: c.positive_integer, [0.0, 1, -1]),
    "integer_interval": (lambda c, m: c.integer_interval(1, 3), [0.0, 1, 2.5, 3, 4]),
    "real": (lambda c, m: c.real, [0.0, NAN, float("inf")]),
    "real_vector": (lambda c, m: c.real_vector, [[0.0, NAN], [1, 2]]),
    "positive": (lambda c, m: c.positive, [0.0, 1, -1, NAN]),
    "nonnegative": (lambda c, m: c.nonnegative, [0.0, 1, -1, NAN]),
    "greater_than": (lambda c, m: c.greater_than(m.tensor([0.0, 2])), [1.0, 2]),
    "greater_than_eq": (lambda c, m: c.greater_than_eq(2), [1.0, 2]),
    "less_than": (lambda c, m: c.less_than(2), [1.0, 2, NAN]),
    "multinomial": (lambda c, m: c.multinomial(3), [[1.0, 2], [2, 2], [-1, 1]]),
    "unit_interval": (lambda c, m: c.unit_interval, [0.0, 1, 1.5, -0.5]),
    "interval": (lambda c, m: c.interval(-1.0, 2), [0.0, 2, -1, 3]),
    "half_open_interval": (lambda c, m: c.half_open_interval(-1.0, 2), [0.0, 2, -1, 3]),
    "simplex": (lambda c, m: c.simplex, [[0.5, 0.5], [0.5, 0.6], [-1, 2]]),
    "lower_triangular": (lambda c, m: c.lower_triangular, [[[1.0, 0], [3, -1]], [[1, 1], [0, 1]]]),
    "lower_cholesky": (lambda c, m: c.lower_cholesky, [[[1.0, 0], [3, -1]], [[1, 0], [0, 1]]]),
    "corr_cholesky": (lambda c, m: c.corr_cholesky, [[[1.0, 0], [0.6, 0.8]], [[1, 0], [1, 1]]]),
    "square": (lambda c, m: c.square, [[[1.0, 0], [3, -1]]]),
    "not square": (lambda c, m: c.square, [[[1.0, 0]]]),
    "symmetric": (lambda c, m: c.symmetric, [[[1.0, 3], [3, -1]], [[1, 2], [0, 1]]]),
    "positive_definite": (lambda c, m: c.positive_definite, [[[1.0, 3], [3, 1]], [[1, 0], [0, 1]]]),
    "positive_semidefinite": (
        lambda c, m: c.positive_semidefinite,
        [[[1.0, 3], [3, 1]], [[1, 0], [0, 1]]],
    ),
    "cat": (lambda c, m: c.cat([c.positive, c.real], 0, [2, 1]), [0.0, 1, NAN]),
    "stack": (lambda c, m: c.stack([c.positive, c.real], 0), [[0.0, 1], [2, NAN]]),
    "independent": (lambda c, m: c.independent(c.positive, 1), [[0.0, 1], [2, 3]]),
    "mixture": (
        lambda c, m: c.MixtureSameFamilyConstraint(c.interval(0, m.tensor([1.0, 3]))),
        [0.5, 2, -1],
    ),
    "mixture of vectors": (
        lambda c, m: c.MixtureSameFamilyConstraint(c.simplex),
        [[0.5, 0.5], [1, 1]],
    ),
    "independent too few": (lambda c, m: c.independent(c.positive, 2), [0.0, 1]),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints(oracle, name):
    make, values = CONSTRAINTS[name]
    answers = []
    for m in (tiny_torch, oracle):
        c = make(m.distributions.constraints, m)
        error, result = outcome(lambda c=c, m=m: c.check(m.tensor(values)))
        answers.append((type(error), [r.tolist() for r in result], repr(c), c.is_discrete,
                        c.event_dim))  # fmt: skip
    assert answers[0] == answers[1]


REGISTERED = ("real", "positive", "nonnegative", "unit_interval", "simplex", "corr_cholesky",
              "lower_cholesky", "positive_definite", "real_vector", "greater_than",
              "greater_than_eq", "less_than", "interval", "half_open_interval", "cat", "stack",
              "boolean")  # fmt: skip


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_constraints_have_transforms(oracle, registry):
    for name in REGISTERED:
        answers = []
        for m in (tiny_torch, oracle):
            c = CONSTRAINTS[name][0](m.distributions.constraints, m)
            error, result = outcome(lambda m=m, c=c: repr(getattr(m.distributions, registry)(c)))
            answers.append((type(error), result))
        assert answers[0] == answers[1], name
