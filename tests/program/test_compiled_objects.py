"""Compiled functions as objects: threads, copies, methods, stances, and where their memory is."""

import copy
import gc
import re
import threading
import time

import pytest
from helpers import same_bits

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F
from tiny_torch.program import Compiled


def test_threads_and_reentry():
    net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))
    compiled = torch.compile(net)
    xs = [torch.randn(4, 8) for _ in range(4)]
    compiled(xs[0]).sum().backward()
    expected = [net(x) for x in xs]
    wrong = []

    def work(i):
        for _ in range(50):
            if not same_bits(compiled(xs[i]), expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    twice = Compiled(lambda x: compiled(x) + compiled(x * 2))
    for x in xs:
        assert same_bits(twice(x), net(x) + net(x * 2))


def test_copies_pickles_reset_and_stance():
    import pickle

    compiled = torch.compile(nn.Linear(3, 2))
    x = torch.randn(4, 3)
    compiled(x).sum().backward()
    for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert same_bits(other(x), compiled(x)) and other._orig_mod is not compiled._orig_mod
    function = compiled.__dict__["_call"]
    assert function.recorded == 1
    torch.compiler.reset()
    assert function.recorded == 0
    with torch.compiler.set_stance("force_eager"):
        compiled(x)
    assert function.recorded == 0
    compiled(x).sum().backward()
    with torch.compiler.set_stance("fail_on_recompile"):
        compiled(x)
        with pytest.raises(RuntimeError, match="fail_on_recompile"):
            compiled(x[:2])
    with torch.compiler.set_stance("eager_on_recompile"):
        compiled(x[:2])
    assert function.recorded == 1


def test_lists_dicts_and_numbers_among_arguments_and_results():
    @torch.compile(fullgraph=True)
    def f(pair, *, scale):
        a, b = pair["both"]
        return {"sum": a + b, "scale": scale, "rest": [a * scale, None]}

    for k in range(3):
        a, b = torch.full((2,), float(k)), torch.ones(2)
        found = f({"both": (a, b)}, scale=2)
        assert found["sum"].tolist() == [k + 1.0] * 2 and found["scale"] == 2
        assert found["rest"][0].tolist() == [2.0 * k] * 2 and found["rest"][1] is None


def test_modes_that_are_watched():
    compiled = Compiled(lambda x: x @ x)
    x = torch.randn(3, 3)
    compiled(x)
    with torch.autocast("cpu", torch.bfloat16):
        assert compiled(x).dtype is torch.bfloat16
    assert torch.func.vmap(compiled)(torch.randn(2, 3, 3)).shape == (2, 3, 3)
    with torch.inference_mode():
        assert compiled(x).is_inference()


def test_memory_is_planned_by_lifetimes():
    compiled = Compiled(lambda x: x.exp().sin().cos().exp().sin().tanh().cos() + 1)
    compiled(torch.ones(1000))
    (case,) = [case for cases in compiled.cases.values() for case in cases]
    assert case.program.steps == 8
    assert case.program.temporary_bytes <= 2 * 4032 < case.program.born_bytes


class Trainer:
    """Methods that are compiled, of an object that is no module."""

    def __init__(self, net, gain):
        self.net, self.gain = net, gain

    @torch.compile(fullgraph=True)
    def step(self, x):
        return self.net(x) * self.gain


def test_methods_of_objects():
    trainers = [Trainer(nn.Linear(3, 2), k) for k in (1.0, 2.0)]
    x = torch.randn(4, 3)
    for _ in range(3):
        for trainer in trainers:
            assert same_bits(trainer.step(x), trainer.net(x) * trainer.gain)
            trainer.gain += 1


def test_module_compile():
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    assert net.compile() is None
    x = torch.randn(4, 3)
    copied = copy.deepcopy(net)
    for _ in range(3):
        net(x).sum().backward()
        copied(x).sum().backward()
        assert same_bits(net(x), copied(x)) and same_bits(net[0].weight.grad, copied[0].weight.grad)
    with torch.no_grad():
        copied[0].weight.zero_()
    assert not same_bits(net(x), copied(x)) and net.__dict__["forward"].recorded
    assert list(net.state_dict()) == ["0.weight", "0.bias"]


def test_disabled_functions_and_is_compiling():
    seen = []

    @torch.compiler.disable
    def outside(x):
        return x * 2

    def f(x):
        seen.append(torch.compiler.is_compiling())
        return outside(x) + 1

    compiled = Compiled(f)
    assert compiled(torch.ones(2)).tolist() == [3.0, 3.0] and seen == [True]
    assert "compiler.disable marks" in compiled.refusals[0]


def test_memory_that_begins_where_other_memory_ends():
    """Temporaries fill the holes between tensors that the function reads."""
    blocks = [torch.randn(160, 160) for _ in range(60)]
    weights = blocks[::2]
    del blocks

    def f(x):
        for w in weights:
            x = torch.tanh(x @ w) + x
        return x

    compiled = Compiled(f, fullgraph=True)
    for _ in range(3):
        x = torch.randn(160, 160)
        assert same_bits(compiled(x), f(x))


def test_while_memory_is_recorded_nothing_else_is():
    compiled = Compiled(lambda x: x * 2)
    with torch.utils.memory.record():
        assert compiled(torch.ones(2)).tolist() == [2.0, 2.0] and compiled.recorded == 0
    assert compiled(torch.ones(2)).tolist() == [2.0, 2.0] and compiled.recorded == 1
    with torch.utils.memory.record() as found:
        assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]
    assert found is not None


def test_an_exception_leaves_nothing_behind():
    def fails(x):
        raise KeyError("mine")

    compiled = Compiled(fails)
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            compiled(torch.ones(2))
        assert gc.isenabled()
    assert Compiled(lambda x: x + 1, fullgraph=True)(torch.ones(2)).tolist() == [2.0, 2.0]


def test_what_the_collector_calls_is_not_the_functions():
    calls = []
    thresholds = gc.get_threshold()
    gc.callbacks.append(lambda phase, info: calls.append(time.perf_counter()))
    compiled = Compiled(lambda x: [x * n for n in range(1000)][-1], fullgraph=True)
    try:
        gc.set_threshold(1)  # at its first chance after the recording
        assert compiled(torch.ones(2)).tolist() == [999.0, 999.0]
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.pop()
    assert calls and not compiled.refusals


def test_containers_within_containers_are_guarded():
    table = {"empty": [], "pair": ([1.0], 2.0), "dict": {}}

    def f(x):
        return x * sum(table["empty"], 1.0) * table["pair"][0][0] + len(table["dict"])

    compiled = Compiled(f, fullgraph=True)
    x = torch.ones(2)
    for change in (
        lambda: None,
        lambda: table["empty"].append(2.0),
        lambda: table["pair"][0].__setitem__(0, 5.0),
        lambda: table["dict"].update(a=1),
    ):
        change()
        assert compiled(x).equal(f(x)) and compiled(x).equal(f(x))


def test_a_class_may_make_its_attributes_anew():
    class Meta(type):
        def __getattr__(cls, name):
            if name == "factor":
                return [2.0] * 1000
            raise AttributeError(name)

    class Settings(metaclass=Meta):
        pass

    compiled = Compiled(lambda x: x * Settings.factor[0])
    for _ in range(20):
        assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("value", [1.0, float("inf"), float("nan"), 1e-39])
@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions_of_bfloat16_have_both_ways(value, stride):
    """What tiles refuse is computed otherwise, forward and backward."""

    def function(x, w):
        return F.conv2d(x, w, stride=stride, padding=1)

    torch.manual_seed(0)
    compiled = Compiled(function, fullgraph=True)
    w = torch.randn(64, 64, 3, 3).bfloat16().requires_grad_()
    for k in range(4):
        x = torch.randn(2, 64, 9, 9).bfloat16()
        if k == 2:
            x[1, 3, 4, 4] = value
        x.requires_grad_()
        found = []
        for each in (function, compiled):
            y = each(x, w)
            y.backward(torch.ones_like(y) if k < 3 else torch.full_like(y, value))
            found.append([y.detach(), x.grad, w.grad])
            x.grad = w.grad = None
        for a, b in zip(*found, strict=True):
            assert a.view(torch.int16).equal(b.view(torch.int16))


def test_a_program_is_shown(capsys):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 4)

        def forward(self, x):
            return self.inner(x).tanh()

    net = Compiled(Net())
    net(torch.randn(2, 3)).sum().backward()
    capsys.readouterr()
    net.show()
    text = capsys.readouterr().out
    assert re.search(r"^forward: 2 launches in 2 steps; \d+ B made within", text)
    assert re.search(r"matmul float32 .*Net\.inner  test_compiled_objects\.py:\d+$", text, re.M)
    assert re.search(r"tanh float32 .* Net +test_compiled_objects", text)
    assert re.search(r"backward: \d+ launches", text)
    assert "(result, 32 B)" in text
