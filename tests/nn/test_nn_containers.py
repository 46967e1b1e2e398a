"""The containers of modules and parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict

import pytest

import tiny_torch as torch
from tiny_torch import nn


def fails(action, error, text):
    """`action` raises this type; its message, which str() of a KeyError would quote, has `text`."""
    with pytest.raises(error) as caught:
        action()
    assert caught.type is error and text in str(caught.value.args[0])


def kinds(container):
    return [type(m).__name__ for m in container]


def test_sequential():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert net(torch.ones(4, 2)).shape == (4, 1) and len(net) == 3
    assert kinds(net[1:]) == ["ReLU", "Linear"] and list(net[1:]._modules) == ["1", "2"]
    assert net[-1] is net[2] and nn.Sequential()(7) == 7
    net[1] = nn.Tanh()
    net.insert(0, nn.Identity()).append(nn.ELU()).extend([nn.GELU()])
    assert kinds(net) == ["Identity", "Linear", "Tanh", "Linear", "ELU", "GELU"]
    assert kinds([net.pop(-1)]) == ["GELU"]
    del net[1:3]
    assert kinds(net) == ["Identity", "Linear", "ELU"] and list(net._modules) == ["0", "1", "2"]
    assert kinds(net + nn.Sequential(nn.ReLU())) == [*kinds(net), "ReLU"]
    assert kinds(2 * net) == kinds(net * 2) == kinds(net) * 2
    net *= 2
    net += nn.Sequential(nn.ReLU())
    assert len(net) == 7 and net[0] is net[3]
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert list(named._modules) == ["a", "b"] and named.a is named[0]


def test_module_list():
    modules = nn.ModuleList([nn.ReLU()])
    modules.append(nn.Tanh()).extend([nn.ELU()])
    modules += [nn.GELU()]
    modules.insert(1, nn.Identity())
    assert kinds(modules) == ["ReLU", "Identity", "Tanh", "ELU", "GELU"]
    assert kinds(modules[::2]) == ["ReLU", "Tanh", "GELU"] and type(modules[:1]) is nn.ModuleList
    assert kinds([modules.pop(1)]) == ["Identity"] and list(modules._modules) == list("0123")
    assert kinds(operator.add(modules, [nn.SELU()]))[-1] == "SELU"
    del modules[0], modules[-1]
    modules[0] = nn.SiLU()
    assert kinds(modules) == ["SiLU", "ELU"]
    with pytest.raises(NotImplementedError):
        modules(1)


def test_module_dict():
    acts = nn.ModuleDict([["b", nn.ReLU()], ("a", nn.Tanh())])
    acts["c"] = nn.ELU()
    acts.update({"b": nn.GELU()})
    assert list(acts) == list(acts.keys()) == ["b", "a", "c"] and "a" in acts and len(acts) == 3
    assert kinds(acts.values()) == ["GELU", "Tanh", "ELU"]
    assert [key for key, _ in acts.items()] == ["b", "a", "c"]
    assert kinds([acts.pop("a")]) == ["Tanh"]
    del acts["b"]
    acts.clear()
    assert len(acts) == 0


def test_parameter_list():
    params = nn.ParameterList([torch.ones(1), "text"])
    params.append(torch.ones(2)).extend([nn.Parameter(torch.ones(3))])
    params += [torch.ones(4)]
    assert [n for n, _ in params.named_parameters()] == ["0", "2", "3", "4"]
    assert params[1] == "text" and len(params[1:]) == 4 and params[-1].shape == (4,)
    params[0] = torch.zeros(7)
    assert [len(p) for p in params] == [7, 4, 2, 3, 4]


def test_parameter_dict():
    params = nn.ParameterDict({"w": torch.ones(1), "b": torch.ones(2)})
    assert list(params) == ["b", "w"] and list(reversed(params)) == ["w", "b"]
    assert params.setdefault("n", 3) == 3 and params.get("q", 5) == 5 and "n" in params
    merged = params | nn.ParameterDict({"z": torch.ones(3)})
    assert list(merged) == ["b", "w", "n", "z"] and len(params) == 3
    params |= {"z": torch.ones(3)}
    assert params.popitem()[0] == "z" and params.pop("n") == 3
    assert [n for n, _ in params.named_parameters()] == ["b", "w"]
    assert list(params.fromkeys(["x", "y"], 0).values()) == [0, 0]
    assert [k for k, _ in params.copy().items()] == ["b", "w"]
    params.clear()
    assert not params.keys() and not hasattr(params, "w")


CONTAINER_ERRORS = [
    (lambda: nn.Sequential(1), TypeError, "int is not a Module subclass"),
    (lambda: nn.Sequential()[0], IndexError, "index 0 is out of range"),
    (lambda: nn.Sequential().insert(0, 1), AssertionError, "module should be of type"),
    (lambda: nn.Sequential().insert(3, nn.ReLU()), IndexError, "Index out of range: 3"),
    (
        lambda: operator.add(nn.Sequential(), [1]),
        ValueError,
        "add operator supports only objects of Sequential",
    ),
    (lambda: nn.Sequential() * 0, ValueError, "Non-positive multiplication factor 0"),
    (lambda: nn.Sequential() * 1.5, TypeError, "unsupported operand type(s) for *"),
    (lambda: nn.ModuleList(3), TypeError, "ModuleList.extend should be called with an iterable"),
    (lambda: nn.ModuleList([nn.ReLU()])[-2], IndexError, "index -2 is out of range"),
    (lambda: nn.ModuleDict(3), TypeError, "ModuleDict.update should be called with an iterable"),
    (lambda: nn.ModuleDict([3]), TypeError, "ModuleDict update sequence element #0 should be"),
    (lambda: nn.ModuleDict([[1, 2, 3]]), ValueError, "#0 has length 3; 2 is required"),
    (lambda: nn.ModuleDict({})["a"], KeyError, "a"),
    (lambda: nn.ParameterList(3), TypeError, "ParameterList.extend should be called with an it"),
    (lambda: nn.ParameterList()[0], IndexError, "index 0 is out of range"),
    (lambda: nn.ParameterList()(1), RuntimeError, "ParameterList should not be called."),
    (lambda: nn.ParameterDict()(1), RuntimeError, "ParameterDict should not be called."),
    (lambda: nn.ParameterDict({})[1], TypeError, "not a string (type is 'int')"),
    (lambda: nn.ParameterDict(3), TypeError, "ParametersDict.update should be called with an"),
    (lambda: nn.Dropout(1.5), ValueError, "dropout probability has to be between 0 and 1"),
    (lambda: nn.Unflatten(1, 3), TypeError, "unflattened_size must be a tuple of ints, but found"),
    (lambda: nn.Unflatten(1, (2, "a")), TypeError, "found element of type str at pos 1"),
    (lambda: nn.Unflatten(1, (2, 2))(torch.ones(1, 5)), RuntimeError, ""),
    (lambda: nn.Unflatten(2, (2, 2))(torch.ones(1, 4)), IndexError, "out of range"),
    (lambda: nn.Hardtanh(1, 1), AssertionError, "max_val (1) must be greater than min_val (1)"),
    (lambda: nn.HuberLoss(delta="a"), TypeError, "delta must be a float or int"),
]


@pytest.mark.parametrize("action, error, text", CONTAINER_ERRORS)
def test_constructor_errors(action, error, text):
    fails(action, error, text)
