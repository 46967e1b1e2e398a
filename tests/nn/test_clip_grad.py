"""nn.utils: norms and clipping of gradients, parameters as one vector, as PyTorch's."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tiny_torch

SHAPES = [(3,), (40, 500), (), (0,), (257,), (2, 3, 4)]


def parameters(lib, dtype="float32", shapes=SHAPES, transposed=False):
    rng = np.random.default_rng(0)
    made = []
    for shape in [*shapes, (2,)]:  # the last one has no gradient
        parameter = lib.nn.Parameter(lib.zeros(shape, dtype=getattr(lib, dtype)))
        values = rng.standard_normal(shape[::-1] if transposed else shape)
        grad = lib.from_numpy(np.asarray(values)).to(parameter.dtype)
        if shape != (2,):
            parameter.grad = grad.permute(tuple(range(len(shape)))[::-1]) if transposed else grad
        made.append(parameter)
    return made


def grads(made):
    return [p.grad.double().numpy() for p in made if p.grad is not None]


@pytest.mark.parametrize("norm_type", [2, 1, math.inf, "inf", 0, 3, 2.5, -math.inf, -1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("foreach", [None, True, False])
@pytest.mark.parametrize("max_norm", [0.5, 1e6])
def test_clip_grad_norm_is_pytorchs(oracle, norm_type, dtype, foreach, max_norm):
    shapes = SHAPES[:3] + SHAPES[4:]
    ours, theirs = (parameters(lib, dtype, shapes) for lib in (tiny_torch, oracle))
    total = tiny_torch.nn.utils.clip_grad_norm_(ours, max_norm, norm_type, foreach=foreach)
    expected = oracle.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type, foreach=foreach)
    tolerance = {"float32": 1e-5, "float64": 1e-12, "float16": 2e-3}[dtype]
    assert str(total.dtype) == str(expected.dtype) and total.shape == ()
    assert total.item() == pytest.approx(expected.item(), rel=tolerance)
    for a, b in zip(grads(ours), grads(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("foreach", [None, True, False])
@pytest.mark.parametrize("transposed", [False, True])
def test_clip_grad_value_is_pytorchs(oracle, foreach, transposed):
    ours, theirs = (parameters(lib, transposed=transposed) for lib in (tiny_torch, oracle))
    ours[0].grad[0] = theirs[0].grad[0] = math.nan
    ours[0].grad[1] = theirs[0].grad[1] = -math.inf
    tiny_torch.nn.utils.clip_grad_value_(ours, 0.5, foreach=foreach)
    oracle.nn.utils.clip_grad_value_(theirs, 0.5)
    for a, b in zip(grads(ours), grads(theirs), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("norm_type", [1, 2, math.inf, 1.5])
@pytest.mark.parametrize("number", [math.nan, math.inf, 0.0])
def test_norms_that_are_not_finite(oracle, norm_type, number):
    rows = []
    for lib in (tiny_torch, oracle):
        tensors = [lib.full((3,), number), lib.ones(2)]
        if not math.isfinite(number):
            with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
                lib.nn.utils.get_total_norm(tensors, norm_type, error_if_nonfinite=True)
        w = lib.nn.Parameter(lib.zeros(3))
        w.grad = tensors[0]
        norm = lib.nn.utils.clip_grad_norm_(w, 1.0, norm_type)
        total = lib.nn.utils.get_total_norm(tensors, norm_type)
        rows.append([norm.item(), total.item(), *w.grad.tolist()])
    np.testing.assert_allclose(*rows, rtol=1e-6)


def test_a_norm_does_not_depend_on_threads_or_foreach():
    made = parameters(tiny_torch, shapes=[(50001,), (3,), (300, 400)])
    tensors = [p.grad for p in made if p.grad is not None]
    before = tiny_torch.get_num_threads()
    totals = []
    for threads in (1, 2, 3):
        tiny_torch.set_num_threads(threads)
        totals.append(tiny_torch.nn.utils.get_total_norm(tensors).item())
    tiny_torch.set_num_threads(before)
    assert len(set(totals)) == 1
    looped = tiny_torch.nn.utils.get_total_norm(tensors, foreach=False).item()
    assert totals[0] == pytest.approx(looped, rel=1e-6)


def test_gradients_of_any_layout_and_dtype_are_clipped(oracle):
    rows = []
    for lib in (tiny_torch, oracle):
        made = parameters(lib) + parameters(lib, "float64") + parameters(lib, "float16")
        wide = lib.nn.Parameter(lib.zeros(4, 3))
        wide.grad = lib.arange(24.0).reshape(4, 6)[:, ::2]
        shared = lib.nn.Parameter(lib.zeros(4))
        shared.grad = lib.ones(1).expand(4).clone()
        made += [wide, shared]
        rows.append([lib.nn.utils.clip_grad_norm_(made, 0.5).item(), grads(made)])
    assert rows[0][0] == pytest.approx(rows[1][0], rel=1e-4)
    for a, b in zip(rows[0][1], rows[1][1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-6)


def test_clipping_is_seen_by_backward():
    for clip in ("clip_grad_norm_", "clip_grad_value_"):
        w = tiny_torch.nn.Parameter(tiny_torch.ones(2))
        grad = tiny_torch.full((2,), 3.0)
        x = tiny_torch.ones(2, requires_grad=True)
        loss = (grad * x).sum()
        w.grad = grad
        getattr(tiny_torch.nn.utils, clip)(w, 1.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_nothing_to_clip(torch):
    utils = torch.nn.utils
    w = torch.nn.Parameter(torch.ones(2))
    assert utils.clip_grad_norm_([], 1.0).item() == utils.clip_grad_norm_([w], 1.0).item() == 0
    assert utils.clip_grads_with_norm_([w], 1.0, torch.tensor(2.0)) is None
    with pytest.warns(UserWarning, match="is an empty generator"):
        utils.clip_grad_norm_((p for p in []), 1.0)
    with pytest.warns(FutureWarning, match="deprecated"):
        utils.clip_grad_norm([w], 1.0)


def test_parameters_to_vector_and_back(torch):
    utils = torch.nn.utils
    made = [torch.nn.Parameter(torch.arange(6.0).reshape(2, 3)), torch.nn.Parameter(torch.ones(2))]
    vector = utils.parameters_to_vector(made)
    assert vector.tolist() == [0, 1, 2, 3, 4, 5, 1, 1]
    (vector**2).sum().backward()
    assert made[0].grad.tolist() == [[0, 2, 4], [6, 8, 10]]
    values = torch.arange(8.0) * 2
    first = made[0]
    utils.vector_to_parameters(values, made)
    assert made[0] is first and first.requires_grad and first.is_leaf
    assert first.tolist() == [[0, 2, 4], [6, 8, 10]] and made[1].tolist() == [12, 14]
    values[7] = 5.0
    assert made[1].tolist() == [12, 5]


ERRORS = [
    (lambda lib: lib.nn.utils.clip_grad_norm_(None, 1.0), TypeError),
    (lambda lib: lib.nn.utils.clip_grad_value_(None, 1.0), TypeError),
    (lambda lib: lib.nn.utils.clip_grad_norm_(parameters(lib), "a"), ValueError),
    (lambda lib: lib.nn.utils.get_total_norm([lib.ones(2)], "a"), ValueError),
    (lambda lib: lib.nn.utils.get_total_norm([lib.ones(2, dtype=lib.int64)]), RuntimeError),
    (lambda lib: lib.nn.utils.get_total_norm([lib.ones(0)], math.inf), RuntimeError),
    (lambda lib: lib.nn.utils.parameters_to_vector([]), ValueError),
    (lambda lib: lib.nn.utils.parameters_to_vector([lib.ones(2, 3).t()]), RuntimeError),
    (lambda lib: lib.nn.utils.vector_to_parameters([1.0], [lib.ones(1)]), TypeError),
    (lambda lib: lib.nn.utils.vector_to_parameters(lib.ones(1), [lib.ones(2)]), RuntimeError),
]


@pytest.mark.parametrize(("action", "error"), ERRORS)
def test_errors(torch, action, error):
    with pytest.raises(error) as caught:
        action(torch)
    assert caught.type is error


@pytest.mark.parametrize("name", ["clip_grad_norm_", "clip_grad_value_", "get_total_norm"])
def test_what_is_no_tensor_is_named(name):
    """PyTorch meets the number's missing attribute."""
    arguments = () if name == "get_total_norm" else (1.0,)
    wrong = f"{name}\\(\\): argument '(tensors|parameters)' must be Tensors, not int"
    with pytest.raises(TypeError, match=wrong):
        getattr(tiny_torch.nn.utils, name)([3], *arguments)
