"""nn.init: the same numbers, warnings and errors as PyTorch's, for the same seed."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import tiny_torch

SHAPES = [(5,), (3, 5), (5, 3), (4, 4), (4, 5, 3), (6, 2, 3, 3), (50, 5), (0, 3), (3, 0)]
CALLS = [
    ("uniform_", {"a": -2.0, "b": 3.0}),
    ("normal_", {"mean": 1.0, "std": 0.3}),
    ("trunc_normal_", {}),
    ("trunc_normal_", {"mean": 0.5, "std": 2.0, "a": 0.0, "b": 1.0}),
    ("trunc_normal_", {"mean": 5.0, "std": 1.0, "a": 0.0, "b": 1.0}),  # warns
    ("constant_", {"val": 3.0}),
    ("ones_", {}),
    ("zeros_", {}),
    ("eye_", {}),
    ("dirac_", {}),
    ("dirac_", {"groups": 2}),
    ("xavier_uniform_", {"gain": 2.0}),
    ("xavier_normal_", {}),
    ("kaiming_uniform_", {}),
    ("kaiming_uniform_", {"a": 0.2, "mode": "fan_out", "nonlinearity": "relu"}),
    ("kaiming_normal_", {"nonlinearity": "tanh"}),
    ("kaiming_normal_", {"mode": "FAN_OUT"}),
    ("kaiming_normal_", {"mode": "fan"}),  # raises
    ("kaiming_normal_", {"nonlinearity": "cube"}),  # raises
    ("orthogonal_", {"gain": 2.0}),
    ("sparse_", {"sparsity": 0.3}),
]
DEPRECATED = [
    *("uniform", "normal", "eye", "dirac", "xavier_uniform", "xavier_normal"),
    *("kaiming_uniform", "kaiming_normal", "orthogonal"),
]


def outcome(lib, name, shape, dtype, options):
    """The tensor, the warnings and the next random number; or the error."""
    lib.manual_seed(3)
    tensor = lib.zeros(shape, dtype=getattr(lib, dtype))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = getattr(lib.nn.init, name)(tensor, **options)
        except Exception as error:
            return type(error), str(error)
    assert result is tensor
    messages = [(w.category, str(w.message)) for w in caught]
    return tensor.numpy(), messages, lib.rand(1).item()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), CALLS)
def test_draws_are_pytorchs(oracle, name, options, shape, dtype):
    ours, theirs = (outcome(lib, name, shape, dtype, options) for lib in (tiny_torch, oracle))
    if len(theirs) == 2:
        assert ours == theirs
    else:
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-6)
        assert ours[1:] == theirs[1:]


def test_dirac_of_no_channels_has_any_number_of_groups():
    assert tiny_torch.nn.init.dirac_(tiny_torch.ones(0, 3, 2), 10**30).shape == (0, 3, 2)


@pytest.mark.parametrize("name", DEPRECATED)
def test_deprecated_names_warn(oracle, name):
    ours, theirs = (outcome(lib, name, (3, 3, 2), "float32", {}) for lib in (tiny_torch, oracle))
    if len(theirs) == 2:
        assert ours == theirs
    else:
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-6)
        assert ours[1:] == theirs[1:] and ours[1][0][0] is FutureWarning
    for old, options in (("constant", {"val": 2.0}), ("sparse", {"sparsity": 0.5})):
        ours, theirs = (
            outcome(lib, old, (3, 3), "float32", options) for lib in (tiny_torch, oracle)
        )
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-6)
        assert ours[1:] == theirs[1:]


@pytest.mark.parametrize(
    "args",
    [
        *(("linear",), ("conv2d",), ("tanh",), ("relu",), ("selu",), ("leaky_relu",), ("x",)),
        *(("leaky_relu", slope) for slope in (0.3, 2, True, "a")),
    ],
)
def test_gains_are_pytorchs(oracle, args):
    results = []
    for lib in (tiny_torch, oracle):
        try:
            results.append(lib.nn.init.calculate_gain(*args))
        except ValueError as error:
            results.append(str(error))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", ["uniform_", "normal_", "trunc_normal_", "kaiming_uniform_"])
def test_a_generator_is_drawn_from(oracle, name):
    drawn = []
    for lib in (tiny_torch, oracle):
        generator = lib.Generator().manual_seed(5)
        drawn.append(getattr(lib.nn.init, name)(lib.empty(20, 3), generator=generator).numpy())
    np.testing.assert_allclose(*drawn, rtol=1e-5, atol=1e-6)


def test_parameters_keep_their_place_in_the_graph(torch):
    layer = torch.nn.Linear(3, 3)
    weight = layer.weight
    assert torch.nn.init.orthogonal_(layer.weight) is weight
    torch.nn.init.zeros_(layer.bias)
    assert weight.requires_grad and weight.is_leaf and layer.bias.grad_fn is None


@pytest.mark.parametrize("mean, std", [(2.0**40, 3.0), (-(2.0**40), 3.0), (4.0, 1e-5)])
def test_trunc_normal_far_from_its_bounds_ends(mean, std):
    x = tiny_torch.empty(1000, dtype=tiny_torch.float64)
    with pytest.warns(UserWarning, match="more than 2 std"):
        tiny_torch.nn.init.trunc_normal_(x, mean, std)
    assert (x.abs() <= 2).all()
    # The tail falls off as exp(-distance t / std^2), whose mean is the inverse of that rate.
    inner = (x - math.copysign(2, mean)).abs()
    assert inner.mean().item() == pytest.approx(std**2 / (abs(mean) - 2), rel=0.2, abs=1e-5)


@pytest.mark.filterwarnings("ignore:mean is more than 2 std")
@pytest.mark.parametrize("device", ["meta", "ref"])
def test_devices(device):
    init = tiny_torch.nn.init
    for name, options in CALLS:
        if options.get("mode") == "fan" or options.get("nonlinearity") == "cube":
            continue
        x = tiny_torch.empty((4, 3, 2) if name == "dirac_" else (4, 3), device=device)
        assert getattr(init, name)(x, **options) is x
    assert init.trunc_normal_(tiny_torch.empty(3, device=device), mean=40.0).device.type == device


def test_private_names_that_libraries_import():
    from tiny_torch.nn.init import _no_grad_fill_, _no_grad_trunc_normal_, _no_grad_zero_

    x = tiny_torch.nn.Parameter(tiny_torch.empty(5))
    assert _no_grad_fill_(x, 2.0).sum() == 10 and _no_grad_zero_(x).sum() == 0 and x.is_leaf
    assert _no_grad_trunc_normal_(x, 0.0, 1.0, -2.0, 2.0).abs().max() <= 2
