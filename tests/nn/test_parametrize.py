"""nn.utils.parametrize, parametrizations, weight_norm, spectral_norm, as PyTorch's."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tiny_torch


def same(ours, theirs, tolerance=1e-5):
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance
    )


def same_module(ours, theirs):
    state, expected = ours.state_dict(), theirs.state_dict()
    assert list(state) == list(expected)
    for key in state:
        same(state[key], expected[key])
    assert type(ours).__name__ == type(theirs).__name__
    parameters, theirs_too = dict(ours.named_parameters()), dict(theirs.named_parameters())
    assert list(parameters) == list(theirs_too)
    for key, value in parameters.items():
        if value.grad is not None or theirs_too[key].grad is not None:
            same(value.grad, theirs_too[key].grad, 1e-4)


def linear(lib, *sizes, seed=0):
    lib.manual_seed(seed)
    return lib.nn.Linear(*(sizes or (4, 3)))


def train(lib, layer, steps=3, lr=0.02):
    optimizer = lib.optim.SGD(layer.parameters(), lr=lr)
    lib.manual_seed(1)
    for _ in range(steps):
        optimizer.zero_grad()
        layer(lib.randn(5, layer.in_features)).square().sum().backward()
        optimizer.step()
    return layer


def weight_norm(lib, **options):
    return lib.nn.utils.parametrizations.weight_norm(linear(lib), **options)


def old_weight_norm(lib, **options):
    with pytest.warns(FutureWarning, match="weight_norm` is deprecated"):
        return lib.nn.utils.weight_norm(linear(lib), **options)


def orthogonal(lib, sizes=(4, 3), **options):
    return lib.nn.utils.parametrizations.orthogonal(linear(lib, *sizes), **options)


MADE = [
    lambda lib: weight_norm(lib),
    lambda lib: weight_norm(lib, dim=1),
    lambda lib: weight_norm(lib, dim=None),
    lambda lib: weight_norm(lib, name="bias"),
    lambda lib: old_weight_norm(lib),
    lambda lib: old_weight_norm(lib, dim=1),
    lambda lib: old_weight_norm(lib, dim=None),
    lambda lib: lib.nn.utils.spectral_norm(linear(lib)),
    lambda lib: lib.nn.utils.spectral_norm(linear(lib), n_power_iterations=3, dim=1),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(linear(lib)),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(linear(lib), "weight", 3, dim=1),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(linear(lib), name="bias"),
    lambda lib: orthogonal(lib),
    lambda lib: orthogonal(lib, (3, 4)),
    lambda lib: orthogonal(lib, (4, 4)),
    lambda lib: orthogonal(lib, orthogonal_map="matrix_exp"),
    lambda lib: orthogonal(lib, orthogonal_map="cayley"),
    lambda lib: orthogonal(lib, (4, 4), orthogonal_map="cayley", use_trivialization=False),
    lambda lib: orthogonal(lib, (3, 5), orthogonal_map="householder", use_trivialization=False),
]


@pytest.mark.parametrize("make", MADE)
def test_training_is_pytorchs(oracle, make):
    ours, theirs = (make(lib) for lib in (tiny_torch, oracle))
    same_module(ours, theirs)
    for lib, layer in ((tiny_torch, ours), (oracle, theirs)):
        train(lib, layer)
    same_module(ours, theirs)
    for layer in (ours, theirs):
        layer.eval()
    inputs = np.ones((2, ours.in_features), "float32")
    same(ours(tiny_torch.from_numpy(inputs)), theirs(oracle.from_numpy(inputs)))


@pytest.mark.parametrize("name", ["Conv1d", "ConvTranspose2d"])
@pytest.mark.parametrize("kind", ["parametrizations.spectral_norm", "spectral_norm"])
def test_spectral_norms_of_convolutions(oracle, name, kind):
    outputs = []
    for lib in (tiny_torch, oracle):
        lib.manual_seed(0)
        layer = getattr(lib.nn, name)(3, 4, 3)
        function = lib.nn.utils
        for part in kind.split("."):
            function = getattr(function, part)
        function(layer)
        output = layer(lib.randn(*(2, 3, 7, 7)[: layer.weight.ndim]))
        output.square().sum().backward()
        outputs.append([output, *(p.grad for p in layer.parameters())])
    for ours, theirs in zip(*outputs, strict=True):
        same(ours, theirs, 1e-3)


@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm"])
def test_removing_the_hooks_is_pytorchs(oracle, kind):
    layers = []
    for lib in (tiny_torch, oracle):
        layer = (
            old_weight_norm(lib)
            if kind == "weight_norm"
            else lib.nn.utils.spectral_norm(linear(lib))
        )
        train(lib, layer)
        assert getattr(lib.nn.utils, f"remove_{kind}")(layer) is layer
        train(lib, layer)
        layers.append(layer)
        assert not layer._forward_pre_hooks and not layer._state_dict_hooks
        with pytest.raises(ValueError, match=f"{kind} of 'weight' not found in"):
            getattr(lib.nn.utils, f"remove_{kind}")(layer)
    same_module(*layers)


@pytest.mark.parametrize("make", [weight_norm, orthogonal])
@pytest.mark.parametrize("leave", [True, False])
def test_removing_parametrizations(oracle, make, leave):
    layers = []
    for lib in (tiny_torch, oracle):
        layer = train(lib, make(lib))
        remove = lib.nn.utils.parametrize.remove_parametrizations
        if make is weight_norm and not leave:
            with pytest.raises(ValueError, match="in terms of a sequence of tensors"):
                remove(layer, "weight", leave_parametrized=leave)
            continue
        assert remove(layer, "weight", leave_parametrized=leave) is layer
        assert type(layer) is lib.nn.Linear and isinstance(layer.weight, lib.nn.Parameter)
        train(lib, layer)
        layers.append(layer)
    if layers:
        same_module(*layers)


def test_states_of_the_old_form_are_loaded(oracle):
    old = train(oracle, old_weight_norm(oracle))
    ours = weight_norm(tiny_torch)
    state = {key: tiny_torch.from_numpy(v.numpy()) for key, v in old.state_dict().items()}
    ours.load_state_dict(state)
    old(oracle.ones(1, 4))  # its weight is computed by a hook
    same(ours.weight, old.weight)


# ---- parametrizations of one's own --------------------------------------------------------------


def symmetric(lib):
    class Symmetric(lib.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).t()

        def right_inverse(self, x):
            return x.triu()

    return Symmetric()


def halves(lib):
    class Halves(lib.nn.Module):
        def forward(self, x, y):
            return x + y

        def right_inverse(self, z):
            return z / 2, z / 2

    return Halves()


def scaled(lib, by=2.0):
    class Scaled(lib.nn.Module):
        def forward(self, x):
            return x * by

    return Scaled()


def test_register_and_remove(torch):
    parametrize = torch.nn.utils.parametrize
    layer = torch.nn.Linear(3, 3)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    original = layer.weight
    assert parametrize.register_parametrization(layer, "weight", symmetric(torch)) is layer
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, torch.nn.Linear)
    assert parametrize.is_parametrized(layer) and parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias")
    assert parametrize.type_before_parametrizations(layer) is torch.nn.Linear
    assert layer.parametrizations.weight.original is original  # the optimizer still trains it
    assert torch.equal(layer.weight, layer.weight.t())
    before = layer.weight.detach().clone()
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    assert not torch.equal(before, layer.weight) and torch.equal(layer.weight, layer.weight.t())

    layer.weight = torch.eye(3)
    assert torch.equal(layer.weight, torch.eye(3))
    parametrize.register_parametrization(layer, "weight", scaled(torch))
    assert torch.equal(layer.weight, torch.eye(3) * 2)
    with pytest.raises(RuntimeError, match="Scaled does not implement right_inverse"):
        layer.weight = torch.eye(3)
    parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight is original and torch.equal(layer.weight, torch.eye(3) * 2)
    assert type(layer) is torch.nn.Linear and not parametrize.is_parametrized(layer)
    assert parametrize.type_before_parametrizations(layer) is torch.nn.Linear
    assert "parametrizations" not in dict(layer.named_modules())


def test_several_originals_and_buffers(torch):
    parametrize = torch.nn.utils.parametrize
    layer = torch.nn.Linear(2, 2)
    value = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", halves(torch))
    assert torch.equal(layer.weight, value)
    assert [name for name, _ in layer.named_parameters()] == [
        "bias",
        "parametrizations.weight.original0",
        "parametrizations.weight.original1",
    ]
    layer.weight = torch.ones(2, 2)
    assert layer.parametrizations.weight.original1.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    layer.register_buffer("scale", torch.ones(2))
    parametrize.register_parametrization(layer, "scale", scaled(torch))
    assert layer.scale.tolist() == [2, 2] and "parametrizations.scale.original" in dict(
        layer.named_buffers()
    )
    parametrize.remove_parametrizations(layer, "weight")
    assert parametrize.is_parametrized(layer, "scale")
    parametrize.remove_parametrizations(layer, "scale", leave_parametrized=False)
    assert layer.scale.tolist() == [1, 1] and type(layer) is torch.nn.Linear


def test_cached(torch):
    parametrize = torch.nn.utils.parametrize
    layer = torch.nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", symmetric(torch))
    assert layer.weight is not layer.weight
    with parametrize.cached():
        first = layer.weight
        with parametrize.cached():
            assert layer.weight is first
        assert layer.weight is first
    assert layer.weight is not first


def test_copies(torch):
    parametrize = torch.nn.utils.parametrize
    layer = parametrize.register_parametrization(torch.nn.Linear(3, 3), "weight", symmetric(torch))
    twin = copy.deepcopy(layer)
    assert type(twin) is type(layer) and torch.equal(twin.weight, layer.weight)
    with torch.no_grad():
        twin.parametrizations.weight.original.zero_()
    assert not torch.equal(twin.weight, layer.weight)
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(layer)
    other = torch.nn.Linear(3, 3)
    parametrize.transfer_parametrizations_and_params(layer, other)
    assert torch.equal(other.weight, layer.weight)
    assert other.parametrizations.weight.original is layer.parametrizations.weight.original


def test_training_and_eval_reach_the_parametrizations(torch):
    layer = torch.nn.Linear(3, 3).eval()
    torch.nn.utils.parametrizations.spectral_norm(layer)
    assert not layer.parametrizations.weight[0].training
    assert torch.equal(layer.weight, layer.weight)
    layer.train()
    assert layer.parametrizations.weight[0].training


def bad(lib, **functions):
    return type("Bad", (lib.nn.Module,), functions)()


def register(parametrization, name="weight", twice=False):
    def action(lib):
        layer = linear(lib)
        function = lib.nn.utils.parametrize.register_parametrization
        if twice:
            function(layer, "weight", scaled(lib, 1.0))
        function(layer, name, parametrization(lib))

    return action


ERRORS = [
    (register(scaled, "wait"), ValueError),
    (register(lambda lib: bad(lib, forward=lambda self, x: x[0])), ValueError),
    (register(lambda lib: bad(lib, forward=lambda self, x: x.double())), ValueError),
    (register(lambda lib: bad(lib, forward=lambda self, x: 5)), ValueError),
    (register(lambda lib: bad(lib, forward=lambda self, x: x[0]), twice=True), ValueError),
    (register(lambda lib: bad(lib, forward=lambda self, x: x.double()), twice=True), ValueError),
    (register(lambda lib: bad(lib, forward=lambda self, x: 5), twice=True), ValueError),
    (
        register(
            lambda lib: bad(
                lib, forward=lambda self, x: x, right_inverse=lambda self, x: x.double()
            )
        ),
        ValueError,
    ),
    (
        register(
            lambda lib: bad(
                lib, forward=lambda self, x: x, right_inverse=lambda self, x: x.double()
            ),
            twice=True,
        ),
        ValueError,
    ),
    (
        register(lambda lib: bad(lib, forward=lambda self, x: x, right_inverse=lambda self, x: 5)),
        ValueError,
    ),
    (
        register(
            lambda lib: bad(lib, forward=lambda self, x: x, right_inverse=lambda self, x: [x, 5])
        ),
        ValueError,
    ),
    (
        lambda lib: lib.nn.utils.parametrize.remove_parametrizations(linear(lib), "weight"),
        ValueError,
    ),
    (
        lambda lib: lib.nn.utils.parametrize.ParametrizationList([], lib.ones(2)),
        ValueError,
    ),
    (lambda lib: orthogonal(lib, name="wait"), ValueError),
    (lambda lib: orthogonal(lib, name="bias"), ValueError),
    (lambda lib: orthogonal(lib, orthogonal_map="square"), ValueError),
    (
        lambda lib: setattr(orthogonal(lib), "weight", lib.ones(2, 2)),
        ValueError,
    ),
    (
        lambda lib: setattr(
            orthogonal(lib, orthogonal_map="cayley", use_trivialization=False),
            "weight",
            lib.ones(3, 4),
        ),
        NotImplementedError,
    ),
    (
        lambda lib: lib.nn.utils.parametrizations.spectral_norm(linear(lib), "wait"),
        ValueError,
    ),
    (
        lambda lib: lib.nn.utils.parametrizations.spectral_norm(linear(lib), "weight", 0),
        ValueError,
    ),
    (
        lambda lib: lib.nn.utils.parametrizations.spectral_norm(linear(lib), dim=2),
        IndexError,
    ),
    (lambda lib: lib.nn.utils.spectral_norm(linear(lib), n_power_iterations=0), ValueError),
    (
        lambda lib: lib.nn.utils.spectral_norm(lib.nn.utils.spectral_norm(linear(lib))),
        RuntimeError,
    ),
    (
        lambda lib: lib.nn.utils.spectral_norm(lib.nn.Linear(2, 2, bias=False), "bias"),
        ValueError,
    ),
    (lambda lib: lib.nn.utils.weight_norm(old_weight_norm(lib)), RuntimeError),
    (lambda lib: lib.nn.utils.skip_init(lib.ones), TypeError),
    (lambda lib: lib.nn.utils.skip_init(lib.nn.ReLU), RuntimeError),
    (lambda lib: lib.nn.utils.skip_init(dict), RuntimeError),
]


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize(("action", "error"), ERRORS)
def test_errors(oracle, action, error):
    messages = []
    for lib in (tiny_torch, oracle):
        with pytest.raises(error) as caught:
            action(lib)
        assert caught.type is error
        messages.append(str(caught.value).replace("tiny_torch", "torch"))
    assert messages[0] == messages[1]


# ---- skip_init ----------------------------------------------------------------------------------


def test_skip_init_draws_no_random_numbers(torch):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    layer = torch.nn.utils.skip_init(torch.nn.Linear, 4, out_features=3, dtype=torch.float64)
    assert torch.equal(torch.rand(3), expected)
    assert layer.weight.shape == (3, 4) and layer.weight.dtype is torch.float64
    assert layer.weight.requires_grad and layer.weight.device.type == "cpu"
