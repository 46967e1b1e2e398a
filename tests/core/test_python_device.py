"""A device of Python's from outside: arrays that keep a RefArray, made as CONTRIBUTING says."""

from __future__ import annotations

import types

import pytest

import tiny_torch
from tiny_torch import devices, reference
from tiny_torch.reference import RefArray

F = tiny_torch.nn.functional
PROPERTIES = (
    *("dtype", "shape", "ndim", "size", "strides", "stamp", "offset", "itemsize"),
    *("storage_id", "storage_nbytes", "data_ptr", "writes"),
)
OPERATORS = [
    name
    for name, value in vars(RefArray).items()
    if name.startswith("__") and callable(value) and name not in ("__init__", "__getattr__")
]


class Boxed:
    device = "boxed"
    __hash__ = None

    def __init__(self, array):
        self.inner = array


def box(value):
    if isinstance(value, tuple | list):
        return type(value)([box(v) for v in value])
    return Boxed(value) if isinstance(value, RefArray) else value


def unbox(value):
    if isinstance(value, tuple | list):
        return type(value)([unbox(v) for v in value])
    return value.inner if isinstance(value, Boxed) else value


def between(function):
    def call(*args, **keywords):
        unboxed = {name: unbox(value) for name, value in keywords.items()}
        return box(function(*map(unbox, args), **unboxed))

    return call


for _name in (*OPERATORS, *(n for n in reference.METHODS if hasattr(RefArray, n))):
    setattr(Boxed, _name, between(getattr(RefArray, _name)))
for _name in PROPERTIES:
    setattr(Boxed, _name, property(lambda self, name=_name: getattr(self.inner, name)))


@pytest.fixture(scope="module", autouse=True)
def boxed():
    module = types.ModuleType("boxed")
    for name in reference.METHODS:
        if name in vars(reference):
            setattr(module, name, between(getattr(reference, name)))
    devices.register("boxed", module)


CALLS = {
    "operators": lambda x: (2 - x * x) / (x + 10) @ x.mT,
    "index": lambda x: x[0, 1:],
    "reduce": lambda x: x.var(1) + x.amax(1),
    "cat": lambda x: tiny_torch.cat([x, x]),
    "softmax": lambda x: x.softmax(0) * x,
    "log_softmax": lambda x: x.log_softmax(1) * x,
    "gelu": F.gelu,
    "layer_norm": lambda x: F.layer_norm(x, (3,)) * x,
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True) * x,
    "mse_loss": lambda x: F.mse_loss(x, x * x),
    "cross_entropy": lambda x: F.cross_entropy(x, tiny_torch.tensor([0, 1]).to(x.device)),
    "linear": lambda x: F.linear(x, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_ops_and_gradients_are_those_of_ref(name):
    answers = []
    for device in ("ref", "boxed"):
        x = tiny_torch.arange(6.0).view(2, 3).to(device).requires_grad_()
        y = CALLS[name](x)
        y.sum().backward()
        assert str(y.device) == str(x.grad.device) == device
        answers.append((y.tolist(), x.grad.tolist()))
    assert answers[0] == answers[1]


def test_a_layer_learns():
    layer = tiny_torch.nn.Linear(3, 1).to("boxed")
    x = tiny_torch.eye(3).to("boxed")
    optimizer = tiny_torch.optim.SGD(layer.parameters(), 0.5)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = layer(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 20
