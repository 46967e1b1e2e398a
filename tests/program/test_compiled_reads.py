"""Objects that compiled code gets at in any way: a change of what it reads shows at once."""

import dataclasses
import functools
import itertools
import json
import os
import queue
import types
import weakref

import numpy as np
import pytest

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.program import Compiled, record

X = torch.tensor([1.0, 2.0])


class Config:
    k = 2.0


class Block(nn.Module):
    gain = 2.0

    def forward(self, x):
        return x + 1


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.named = nn.ModuleDict({"a": Block(), "b": Block()})

    def forward(self, x):
        for block in self.blocks:
            x = block(x) * block.gain
        for _, block in self.named.items():
            x = block(x) / block.gain
        return x * self.get_submodule("blocks.0").gain


class Owner:
    config = Config()
    act = nn.ReLU()

    def scale(self, x):
        return x * self.config.k

    def __call__(self, x):
        return self.act(self.scale(x))

    @property
    def found(self):
        return self.config


class Sets(nn.Module):
    def forward(self, x, *, state):
        state.n = getattr(state, "n", 0) + 1
        setattr(state, f"h{state.n}", x * 2)
        return x + state.n


def reads():
    """Of each: a function of a tensor, and what changes."""
    net, a, b, owner = Blocks(), Config(), Config(), Owner()
    yield "block of a list", net, lambda: setattr(net.blocks[1], "gain", 5.0)
    yield "block of a dict", net, lambda: setattr(net.named["b"], "gain", 4.0)
    yield "order of a dict", net, lambda: net.named.update({"a": net.named.pop("a")})
    yield "by keyword", lambda x: (lambda x, *, c: x * c.k)(x, c=a), lambda: setattr(a, "k", 3.0)
    yield "extra arguments", lambda x: (lambda *c: x * c[1].k)(a, b), lambda: setattr(b, "k", 3.0)
    yield "extra keywords", lambda x: (lambda **c: x * c["c"].k)(c=a), lambda: setattr(a, "k", 4.0)
    yield "answer of a call", lambda x: x * (lambda: b)().k, lambda: setattr(b, "k", 5.0)
    yield "property", lambda x: x * owner.found.k, lambda: setattr(Owner.config, "k", 7.0)
    yield "second argument", lambda x: x * get(a) + get(b), lambda: setattr(b, "k", 8.0)
    yield "class's object", owner, lambda: setattr(Owner.config, "k", 3.0)
    yield "class's module", owner, lambda: setattr(Owner, "act", nn.Tanh())
    yield "method of its own", owner, lambda: setattr(owner, "scale", lambda x: x * 9)
    yield "set", lambda x: x * sum(c.k for c in {a}), lambda: setattr(a, "k", 6.0)
    yield "weak reference", lambda x: x * weakref.ref(b)().k, lambda: setattr(b, "k", 6.0)
    many = [Config() for _ in range(300)]
    yield "many", lambda x: x * sum(c.k for c in many), lambda: setattr(many[280], "k", 9.0)
    part = functools.partial(lambda x, k: x * k, k=2.0)
    yield "partial", part, lambda: part.keywords.update(k=3.0)
    file = types.ModuleType("settings")
    file.__file__, file.act, file.config = "settings.py", torch.sin, Config()
    yield (
        "file's object",
        lambda x: file.act(x) * file.config.k,
        lambda: setattr(file.config, "k", 3),
    )
    yield "file's function", lambda x: file.act(x), lambda: setattr(file, "act", torch.exp)
    numbers, by_name, w = [2], {"a": 2.0, "b": 3.0}, torch.ones(1, requires_grad=True)
    yield "type of a number", lambda x: x.long() * numbers[0], lambda: numbers.__setitem__(0, 2.0)
    yield "order", lambda x: folded(x, by_name), lambda: by_name.update(a=by_name.pop("a"))
    yield (
        "gradient",
        lambda x: x * (0 if w.grad is None else w.grad),
        lambda: (w * 3).sum().backward(),
    )


def get(config):
    return config.k


def folded(x, numbers):
    for value in numbers.values():
        x = x * value + 1
    return x


@pytest.mark.parametrize("name", [name for name, *_ in reads()])
def test_what_is_read_may_change(name):
    function, change = next((f, change) for n, f, change in reads() if n == name)
    compiled = Compiled(function)
    try:
        for _ in range(3):
            assert compiled(X).equal(function(X))
        change()
        found, expected = compiled(X), function(X)
        assert found.equal(expected) and found.dtype is expected.dtype
    finally:
        Owner.config, Owner.act = Config(), nn.ReLU()


def test_stores_in_what_it_is_given():
    state, net = types.SimpleNamespace(), Compiled(Sets())
    for k in range(1, 5):
        assert net(X, state=state).equal(X + k) and getattr(state, f"h{k}").equal(X * 2)


def test_objects_that_it_makes_itself():
    class Sum:
        def add(self, x):
            self.total = getattr(self, "total", 0) + x

    def function(x):
        total = Sum()
        for k in range(3):
            total.add(x * k)
        return total.total

    compiled = Compiled(function, fullgraph=True)
    for x in (X, X + 1, X + 2):
        assert compiled(x).equal(x * 3)
    assert compiled.recorded == 1


def test_what_lies_behind_an_argument_is_left_alone():
    torch.manual_seed(0)
    cell, linear = nn.GRUCell(4, 4), nn.Linear(4, 4)
    x = torch.randn(3, 4)
    add, calls = Compiled(torch.add), []
    for call, module in ((cell, linear), *[(Compiled(cell), Compiled(linear))] * 4):
        h = torch.zeros(3, 4)
        for _ in range(3):
            h = call(x, h)
        y = module(module(h))
        y.grad_fn.register_hook(lambda *_: calls.append(1))
        z = (torch.add if module is linear else add)(y, module(y))
        z.square().sum().backward()
        grads = [p.grad.clone() for p in (*cell.parameters(), *linear.parameters())]
        cell.zero_grad(), linear.zero_grad()
        if module is linear:
            expected = grads
        torch.testing.assert_close(grads, expected)
    assert len(calls) == 5


def test_parameters_that_are_replaced_by_equal_ones():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(1))
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x):
            self.n.add_(1)
            return x * self.w

    net = Counts()
    compiled = Compiled(net)
    for _ in range(3):
        net.zero_grad()
        compiled(torch.ones(3)).sum().backward()
    net.load_state_dict({"w": torch.ones(1), "n": torch.full((1,), 3.0)}, assign=True)
    compiled(torch.ones(3)).sum().backward()
    assert net.w.grad.item() == 3 and net.n.item() == 4


@pytest.mark.parametrize("name", ["plateau", "sequence", "chain", "read"])
def test_schedules_in_a_recorded_step(name):
    def rates(how):
        w = torch.ones(1, requires_grad=True)
        optimizer = torch.optim.SGD([w], 0.1)
        schedules = torch.optim.lr_scheduler
        falls = [schedules.ExponentialLR(optimizer, 0.5), schedules.StepLR(optimizer, 2, 0.5)]
        scheduler = {
            "plateau": lambda: schedules.ReduceLROnPlateau(optimizer, patience=0),
            "sequence": lambda: schedules.SequentialLR(optimizer, falls, [3]),
            "chain": lambda: schedules.ChainedScheduler(falls),
            "read": lambda: falls[0],
        }[name]()

        @how
        def step(x):
            optimizer.zero_grad()
            loss = (w * x).sum()
            loss.backward()
            optimizer.step()
            scheduler.step(*[1.0] * (name == "plateau"))
            return loss * scheduler.get_last_lr()[0] if name == "read" else loss

        return [
            (step(torch.ones(1)).item(), optimizer.param_groups[0]["lr"], scheduler.get_last_lr())
            for _ in range(6)
        ]

    assert rates(record) == rates(lambda step: step)


def test_a_method_that_overrides_one_of_an_optimizer_runs_once():
    count = []

    class Counted(torch.optim.SGD):
        def zero_grad(self, set_to_none=True):
            count.append(1)
            super().zero_grad(set_to_none)

    w = torch.ones(1, requires_grad=True)
    optimizer = Counted([w], 0.1)

    @record
    def step(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()

    for k in range(1, 4):
        step(torch.ones(1))
        assert len(count) == k


def test_draws_and_effects_happen_in_each_call():
    generator, numbers = np.random.default_rng(0), {"of": itertools.count(1)}
    compiled = Compiled(lambda x: x * generator.random())
    expected = np.random.default_rng(0)
    for _ in range(3):
        assert compiled(X).equal(X * expected.random())
    compiled = Compiled(lambda x: x * next(numbers["of"]))
    assert [compiled(X)[0].item() for _ in range(3)] == [1, 2, 3]
    put, (end, begin) = queue.SimpleQueue(), os.pipe()

    def function(x):
        put.put(1)
        os.write(begin, b"x")
        torch.set_default_dtype(torch.float64)
        return x * 2

    compiled = Compiled(function)
    try:
        for k in range(1, 4):
            torch.set_default_dtype(torch.float32)
            assert compiled(X).equal(X * 2) and put.qsize() == k
            assert torch.get_default_dtype() is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert os.read(end, 9) == b"xxx"
    os.close(end), os.close(begin)


def test_the_default_device_is_read():
    compiled = Compiled(lambda x: torch.zeros(1) + 1)
    for _ in range(2):
        compiled(X)
    with torch.device("meta"):
        assert compiled(X).device.type == "meta"
    assert compiled(X).device.type == "cpu"


def test_results_that_share_memory_or_have_more_than_values():
    def both(x):
        y = x * 2
        return y, y.view(-1)

    def kept(x):
        y = x * 2
        y.retain_grad()
        return y

    def tagged(x):
        y = x * 2
        y.tag = "a"
        return y

    x = torch.ones(2, 2, requires_grad=True)
    first, second = Compiled(both)(x)
    first.mul_(3.0)
    second.sum().backward()
    assert x.grad.equal(torch.full((2, 2), 6.0))
    compiled = Compiled(kept), Compiled(tagged), Compiled(lambda x: nn.Parameter(x * 2))
    for _ in range(3):
        y = compiled[0](x)
        y.sum().backward()
        assert y.grad.equal(torch.ones(2, 2))
        assert compiled[1](x).tag == "a" and type(compiled[2](x.detach())) is nn.Parameter


def test_sparse_gradients_are_refused():
    embedding = nn.Embedding(5, 3, sparse=True)
    compiled = Compiled(embedding)
    for _ in range(3):
        embedding.zero_grad()
        compiled(torch.tensor([1, 1])).sum().backward()
        assert embedding.weight.grad.to_dense().sum() == 6
    assert any("sparse" in why for why in compiled.refusals)


def test_an_object_that_it_answers_holds_floats():
    @dataclasses.dataclass
    class Answer:
        y: torch.Tensor
        t: float

    compiled = Compiled(lambda x, t: Answer(x * t, t))
    for t in (0.1, 0.2, 0.3):
        answer = compiled(X, t)
        assert answer.y.equal(X * t) and json.dumps(answer.t) == str(t)


def test_effects_within_backward(capsys):
    class Says(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            print("back")
            return grad * 2

    compiled = Compiled(lambda x: Says.apply(x))
    x = torch.ones(2, requires_grad=True)
    for _ in range(3):
        compiled(x).sum().backward()
    assert capsys.readouterr().out == "back\n" * 3
    assert any("print" in why for why in compiled.refusals)
