"""Five planted leaks are found: what holds the memory, by the script's own names, and why."""

import sys
from types import ModuleType

import pytest

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.utils import memory

STEPS = 5


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))


def trained(step, steps=STEPS):
    """The leaks of some steps."""
    with memory.record() as recording:
        for _ in range(steps):
            step()
            recording.step()
    return recording.leaks()


def plain_step(model, opt):
    def step():
        opt.zero_grad()
        loss = model(torch.ones(8, 16)).square().mean()
        loss.backward()
        opt.step()
        return loss

    return step


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_an_ordinary_training_has_no_leak(kind):
    model = net()
    assert trained(plain_step(model, kind(model.parameters(), lr=0.1))) == []


def test_a_list_of_losses_with_history():
    model, losses = net(), []
    (leak,) = trained(lambda: losses.append(model(torch.ones(8, 16)).square().mean()))
    assert leak.reason == "a graph that is kept"
    assert leak.path == "losses[0]"
    assert leak.where == "a variable of test_a_list_of_losses_with_history()"
    assert leak.steps == STEPS and leak.bytes >= STEPS * 8 * 32 * 4
    modules = {site.module for site in leak.sites}
    assert {"Sequential.1", "Sequential.2"} <= modules
    assert all(__file__ in site.line for site in leak.sites)


def test_a_sum_of_losses_with_history():
    model, kept = net(), {"total": 0}

    def step():
        kept["total"] = kept["total"] + model(torch.ones(8, 16)).square().mean()

    (leak,) = trained(step)
    assert leak.reason == "a graph that grows from step to step"
    assert leak.path == "kept['total']" and "item()" in leak.advice


def test_a_hook_that_keeps_tensors():
    model = net()

    def add_hook():
        outputs = []
        model[1].register_forward_hook(lambda module, args, output: outputs.append(output.detach()))

    add_hook()
    (leak,) = trained(plain_step(model, torch.optim.SGD(model.parameters(), lr=0.1)))
    assert leak.reason == "a hook that keeps tensors"
    assert "closure variable outputs[0]" in leak.path and "_forward_hooks" in leak.path
    assert leak.bytes == STEPS * 8 * 32 * 4


def test_a_hook_that_keeps_tensors_in_a_global(monkeypatch):
    script = ModuleType("a_script")
    monkeypatch.setitem(sys.modules, "a_script", script)
    source = "outputs = []\ndef keep(module, args, output): outputs.append(output)"
    exec(source, vars(script))
    model = net()
    model[1].register_forward_hook(script.keep)
    (leak,) = trained(plain_step(model, torch.optim.SGD(model.parameters(), lr=0.1)))
    assert (leak.reason, leak.path) == ("a hook that keeps tensors", "outputs[0]")
    assert leak.where == "a global of a_script"


def test_a_retained_graph_that_reaches_back():
    cell = nn.LSTMCell(8, 8)
    state = [torch.zeros(4, 8), torch.zeros(4, 8)]

    def step():
        state[:] = cell(torch.ones(4, 8), tuple(state))  # never detached
        state[0].sum().backward(retain_graph=True)

    (leak,) = trained(step)
    assert leak.reason == "a graph that grows from step to step"
    assert leak.path.startswith("state[") and "detach" in leak.advice


def test_retained_graphs():
    model, results = net(), []

    def step():
        output = model(torch.ones(8, 16))
        output.sum().backward(retain_graph=True)
        results.append(output)

    (leak,) = trained(step)
    assert leak.reason == "a graph that is kept" and leak.path == "results[0]"
    assert "retain_graph" in leak.advice


def test_optimizer_state_that_grows():
    class Averaging(torch.optim.SGD):
        def step(self, closure=None):
            super().step(closure)
            for p in self.param_groups[0]["params"]:
                self.state[p].setdefault("history", []).append(p.detach().clone())

    model = net()
    (leak,) = trained(plain_step(model, Averaging(model.parameters(), lr=0.1)))
    assert leak.reason == "optimiser state that grows"
    assert leak.path.startswith("Averaging.state") and "['history'][0]" in leak.path
    assert leak.bytes == STEPS * sum(p.nbytes for p in model.parameters())


@pytest.mark.parametrize("detached", [False, True])
def test_cached_activations(detached):
    class Caching(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.cache = nn.Linear(16, 16), {}

        def forward(self, x):
            y = self.layer(x)
            self.cache[len(self.cache)] = y.detach() if detached else y
            return y

    model = nn.Sequential(nn.Identity(), Caching())
    (leak,) = trained(plain_step(model, torch.optim.SGD(model.parameters(), lr=0.1)))
    assert leak.reason == "a module that keeps tensors"
    assert leak.path == "model.1.cache[0]"
    assert "Sequential.1.layer" in {site.module for site in leak.sites}


def test_buffers_of_a_fixed_size_are_no_leak():
    model, recent = net(), []
    run = plain_step(model, torch.optim.SGD(model.parameters(), lr=0.1))

    def step():
        recent.append(run().detach())
        del recent[:-2]

    assert trained(step) == []


def test_what_fewer_than_three_steps_left_is_no_leak():
    model, losses = net(), []
    assert trained(lambda: losses.append(model(torch.ones(8, 16)).sum()), steps=2) == []
