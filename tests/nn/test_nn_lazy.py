"""Modules whose parameters get their shape from the first input."""

from __future__ import annotations

import copy

import pytest


@pytest.mark.parametrize("options", [{}, {"affine": False}, {"bias": False},
                                     {"track_running_stats": False}], ids=str)  # fmt: skip
def test_lazy_batch_norm(torch, options):
    nn = torch.nn
    lazy = nn.LazyBatchNorm2d(eps=1e-3, momentum=None, **options)
    keys, text = list(lazy.state_dict()), repr(lazy)
    assert text.startswith("LazyBatchNorm2d(0, eps=0.001, momentum=None")
    plain = nn.BatchNorm2d(3, eps=1e-3, momentum=None, **options)
    assert keys == list(plain.state_dict())
    x = torch.rand(4, 3, 5, 5)
    for _ in range(2):
        assert bool((lazy(x) == plain(x)).all())
    assert type(lazy) is nn.BatchNorm2d and repr(lazy) == repr(plain)
    assert not lazy._forward_pre_hooks and not hasattr(lazy, "_load_hook")
    assert all(type(p) is nn.Parameter for p in lazy.parameters())
    assert all(type(b) is torch.Tensor for b in lazy.buffers())


def test_copies(torch):
    lazy = torch.nn.LazyBatchNorm2d(track_running_stats=False)
    copied = copy.deepcopy(lazy)
    assert repr(copied.weight) == "<UninitializedParameter>" and copied.weight is not lazy.weight
    assert copied(torch.rand(2, 3, 4, 4)).shape == (2, 3, 4, 4)
    assert repr(lazy.weight) == "<UninitializedParameter>"


def test_moving_and_loading(torch):
    nn = torch.nn
    lazy = nn.LazyBatchNorm1d().double()
    assert lazy.weight.dtype is torch.float64 and lazy.running_mean.dtype is torch.float64
    plain = nn.BatchNorm1d(5)
    plain.weight.data.fill_(3)
    lazy.load_state_dict(plain.state_dict())
    assert lazy.weight.tolist() == [3.0] * 5 and lazy.weight.dtype is torch.float64
    assert not lazy.has_uninitialized_params()
    lazy(torch.rand(2, 5).double())
    assert type(lazy) is nn.BatchNorm1d
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        plain.load_state_dict(nn.LazyBatchNorm1d().state_dict())


def test_use_before_the_first_call(torch):
    weight = torch.nn.LazyBatchNorm1d().weight
    assert repr(weight) == "<UninitializedParameter>" and weight.requires_grad
    assert isinstance(weight, torch.nn.Parameter)
    for use in (
        lambda: weight + 1, lambda: 1 - weight, lambda: -weight, lambda: weight @ weight,
        lambda: torch.sum(weight), lambda: torch.cat([weight, weight]), lambda: weight[0],
        lambda: torch.addcmul(weight, weight, weight), lambda: weight.numel(),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            use()
    for use in (lambda: weight.shape, lambda: weight.share_memory_()):
        with pytest.raises(RuntimeError, match="uninitialized parameter or buffer"):
            use()
    weight.materialize((2, 3), dtype=torch.float64)
    assert type(weight) is torch.nn.Parameter and weight.shape == (2, 3)
    assert weight.dtype is torch.float64 and weight.requires_grad


def test_lazy_linear(torch):
    nn = torch.nn
    torch.manual_seed(0)
    plain = nn.Linear(3, 2)
    lazy = nn.LazyLinear(2)
    assert repr(lazy) == "LazyLinear(in_features=0, out_features=2, bias=True)"
    x = torch.rand(5, 3)
    torch.manual_seed(0)
    assert bool((lazy(x) == plain(x)).all()) and repr(lazy) == repr(plain)
    loaded = nn.LazyLinear(2)
    loaded.load_state_dict(plain.state_dict())
    with pytest.raises(AssertionError, match="in_features inferred from input: 4 is not equal"):
        loaded(torch.rand(5, 4))
    assert bool((loaded(x) == plain(x)).all()) and loaded.in_features == 3
    assert nn.LazyLinear(2, bias=False)(x).shape == (5, 2)


def test_wrong_input(torch):
    with pytest.raises(ValueError, match="expected 4D input"):
        torch.nn.LazyBatchNorm2d()(torch.rand(2, 3))


def test_a_module_that_forgets_to_initialize(torch):
    class Forgetful(torch.nn.modules.lazy.LazyModuleMixin, torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.UninitializedParameter()

        def initialize_parameters(self, input):
            pass

    with pytest.raises(RuntimeError, match="has not been fully initialized"):
        Forgetful()(torch.rand(2))
