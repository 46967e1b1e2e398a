"""What compiled functions find by ways that hide it: closures, names as text, what is not there.

Each maker answers a function of a tensor, and what changes afterwards: a compiled twin has the
same results before and after that.
"""

import collections
import copy
import cProfile
import csv
import dataclasses
import gc
import io
import json
import logging
import types

import numpy as np
import pytest
from helpers import same_bits

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.program import Compiled

Namespace = types.SimpleNamespace
X = torch.tensor([1.0, 2.0, 3.0, 4.0])


@dataclasses.dataclass
class Config:
    k: float = 2.0
    m: float = 1.0

    def get(self, name):
        return getattr(self, name)


def scale_by(config):
    def scale(x):
        return x * config.k

    return scale


def two_closures():
    a, b = Namespace(k=1.0), Namespace(k=2.0)
    first, second = scale_by(a), scale_by(b)
    return lambda x: second(first(x)), lambda: vars(b).update(k=9.0)


def decorated():
    def decorate(config):
        return lambda method: lambda self, x: method(self, x) * config.k

    a, b = Config(), Config()

    class Net(nn.Module):
        first = decorate(a)(lambda self, x: x + 1)
        second = decorate(b)(lambda self, x: x + 2)

        def forward(self, x):
            return self.second(self.first(x))

    return Net(), lambda: vars(b).update(k=9.0)


def absent():
    config = Namespace()
    return lambda x: x * getattr(config, "k", 1.0), lambda: vars(config).update(k=5.0)


def absent_of_a_module():
    class Net(nn.Module):
        def forward(self, x):
            return x * self.k if hasattr(self, "k") else x + 1

    net = Net()
    return net, lambda: setattr(net, "k", 3.0)


def absent_of_a_layer():
    layer = nn.Identity()
    return lambda x: x * getattr(layer, "k", 1.0), lambda: setattr(layer, "k", 3.0)


def absent_of_a_class():
    class Net(nn.Module):
        def forward(self, x):
            return x * getattr(self, "k", 2.0)

    return Net(), lambda: setattr(Net, "k", 3.0)


def absent_of_a_tensor():
    w = torch.ones(4)
    return lambda x: x * w * getattr(w, "k", 2.0), lambda: setattr(w, "k", 3.0)


def tried():
    config = Namespace()

    def function(x):
        try:
            return x * config.k
        except AttributeError:
            return x + 1

    return function, lambda: vars(config).update(k=5.0)


def a_stored_method():
    table = {"k": 2.0}
    get = table.get
    return lambda x: x * get("k"), lambda: table.update(k=3.0)


def an_array_in_a_dict():
    table = {"a": np.ones(4, np.float32)}

    def write():
        table["a"][:] = 4

    return lambda x: x * torch.from_numpy(table["a"]), write


def an_ordered_dict():
    table = collections.OrderedDict(a=2.0, b=3.0)

    def function(x):
        for value in table.values():
            x = x * value + 1
        return x

    return function, lambda: table.move_to_end("a")


def a_pattern():
    config = Config()

    def function(x):
        match config:
            case Config(k=value):
                return x * value

    return function, lambda: vars(config).update(k=5.0)


def names_in_a_tuple():
    config = Config()

    def function(x):
        for name in ("k", "m"):
            x = x * getattr(config, name)
        return x

    return function, lambda: vars(config).update(m=5.0)


def a_name_that_is_given():
    config = Config()
    return lambda x: x * config.get("k"), lambda: vars(config).update(k=5.0)


def all_attributes():
    config = Config()

    def function(x):
        for value in vars(config).values():
            x = x * value
        return x * dataclasses.asdict(config)["k"]

    return function, lambda: vars(config).update(k=5.0)


def a_negative_zero():
    config = Namespace(k=0.0)
    return lambda x: 1 / (x * config.k), lambda: vars(config).update(k=-0.0)


def a_replaced_forward():
    class Net(nn.Module):
        def forward(self, x):
            return x * 2

    return nn.Sequential(Net()), lambda: setattr(Net, "forward", lambda self, x: x * 3)


MAKERS = [two_closures, decorated, absent, absent_of_a_module, absent_of_a_layer, absent_of_a_class,
          absent_of_a_tensor, tried, a_stored_method, an_array_in_a_dict, an_ordered_dict,
          a_pattern, names_in_a_tuple, a_name_that_is_given, all_attributes,
          a_negative_zero, a_replaced_forward]  # fmt: skip


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_what_changes_is_seen(make):
    function, change = make()
    compiled = Compiled(function)
    for _ in range(3):
        assert same_bits(compiled(X), function(X))
    assert compiled.programs(), compiled.refusals
    before = function(X)
    change()
    for _ in range(3):
        assert same_bits(compiled(X), function(X))
    assert not same_bits(before, function(X))


def count_calls(function, calls=4):
    compiled = Compiled(function)
    for _ in range(calls):
        compiled(X)


def test_what_a_function_does_is_done_in_each_call():
    log, table = [], {"count": np.zeros(1)}
    append, text = log.append, io.StringIO()
    writer, raw = csv.writer(text), io.BytesIO()

    class Meter(dict):
        seen = 0

    meter = Meter()

    def counts(x):
        table["count"][0] += 1
        return x * 2

    def fills(x):
        meter.seen += 1
        return x * 2

    for effect in (lambda: append(1), lambda: writer.writerow([1]), lambda: raw.write(b"1")):
        count_calls(lambda x, effect=effect: (effect(), x * 2)[1])
    count_calls(counts)
    count_calls(fills)
    assert log == [1] * 4 and text.getvalue().split() == ["1"] * 4 and raw.getvalue() == b"1111"
    assert table["count"][0] == 4 and meter.seen == 4


def test_what_is_stored_on_a_layer_is_stored_in_each_call():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            self.layer.out = self.layer(x)
            return self.layer.out * 2

    net = Net()
    compiled = Compiled(net)
    for k in range(4):
        compiled(X * k)
    assert same_bits(net.layer.out, net.layer(X * 3))


def test_a_logger_that_is_asked_for_anew():
    name, text = f"{__name__}.anew", io.StringIO()
    logger = logging.getLogger(name)
    logger.addHandler(logging.StreamHandler(text))
    logger.propagate = False
    logger.setLevel(logging.INFO)

    def function(x):
        logging.getLogger(name).debug("hi")
        return x * 2

    compiled = Compiled(function)
    compiled(X), compiled(X)
    logger.setLevel(logging.DEBUG)
    compiled(X)
    assert text.getvalue() == "hi\n"


def test_no_number_stays_behind():
    log, holder, caught = [], Namespace(), []

    def function(x, t):
        log.append(t)
        holder.t = {"t": t}
        if x.shape[0] < 4:
            raise ValueError(t)
        return x * t

    compiled = Compiled(function)
    for t in (0.1, 0.2, 0.3):
        compiled(X, t)
        try:
            compiled(X[:2], t)
        except ValueError as error:
            caught.append(error.args[0])
    assert json.dumps(log) == "[0.1, 0.1, 0.2, 0.2, 0.3, 0.3]"
    assert json.dumps(holder.t) == '{"t": 0.3}' and {type(t) for t in caught} == {float}


def test_what_a_tensor_says_of_its_history():
    leafs = Compiled(lambda x: x * 2 if x.is_leaf else x * 3)
    grads = Compiled(lambda x: x * 2 if x.grad is None else x.grad * 3)
    w = X.clone().requires_grad_()
    for _ in range(2):
        assert same_bits(leafs(w).detach(), X * 2) and same_bits(grads(w).detach(), X * 2)
    assert same_bits(leafs(w * 1).detach(), X * 3)
    w.grad = X
    assert same_bits(grads(w).detach(), X * 3)


def test_a_lazy_layer_is_recorded_once_it_is_none():
    layer = nn.LazyLinear(3)
    compiled = Compiled(layer, fullgraph=True)
    first = compiled(X)
    assert same_bits(compiled(X), first) and compiled.programs()


@pytest.mark.skipif("sys.version_info >= (3, 12)", reason="cProfile is no profiler of sys there")
def test_a_profiler_of_c_goes_on():
    compiled, profile = Compiled(nn.Linear(4, 2)), cProfile.Profile()
    profile.enable()
    compiled(X), compiled(X)
    profile.disable()
    calls = [row.code.co_name for row in profile.getstats() if hasattr(row.code, "co_name")]
    assert not torch._core.is_recording() and gc.isenabled() and "__call__" in calls
    assert Compiled(copy.deepcopy(compiled.function))(X).shape == (2,)


def test_results_that_are_dropped_leave_room():
    compiled = Compiled(nn.Linear(4, 2))
    for _ in range(40):  # a validation without no_grad
        compiled(X)
    assert compiled.recorded <= 1
    for _ in range(300):
        compiled(X).sum().backward()
    assert len(compiled.programs()) == 2


def test_large_and_round_containers():
    words = {str(k): k for k in range(20_000)}
    compiled = Compiled(lambda x: x * len(words))
    assert same_bits(compiled(X), X * 20_000)
    assert "of more than 10,000 values" in compiled.refusals[0]
    root = {"children": [], "k": 2.0}
    root["children"] = [{"parent": root, "k": 1.0} for _ in range(200)]
    compiled = Compiled(lambda x: x * root["k"])
    for _ in range(3):
        assert same_bits(compiled(X), X * 2)
    root["children"][3]["k"] = 5.0
    root["k"] = 3.0
    assert same_bits(compiled(X), X * 3)
