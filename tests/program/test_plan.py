"""Plans: what a step needs, had without memory or work; those of the CPU are the same."""

import resource
import sys
import weakref
from pathlib import Path

import pytest
from helpers import same_bits

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F
from tiny_torch.program import plan, record

sys.path.append(str(Path(__file__).parents[2]))
from benchmarks.programs import MODELS, peaks
from benchmarks.steps import Mode, step_of


@pytest.mark.parametrize(
    "name", ["MLP, Adam", "LeNet", "LSTM", "GPT, plain attention", "GPT, SDPA"]
)
def test_a_plan_on_meta_is_that_of_the_cpu(name):
    real = plan(step_of(torch, name))
    with torch.device("meta"):
        dry = plan(step_of(torch, name, mode=Mode("meta")))
    assert dry.launches == real.launches
    # where they lie is another matter: real kernels' scratch memory takes room, too
    used = [
        [b[:4] for b in p.buffers if b.first >= 0 and b.memory != "scratch"] for p in (dry, real)
    ]
    assert used[0] == used[1] and dry.flops == real.flops
    assert dry.result_bytes == real.result_bytes and dry.block_bytes <= real.block_bytes


@pytest.mark.parametrize("name", ["MLP, Adam", "LeNet", "GPT, SDPA"])
def test_a_plan_is_that_of_the_program(name):
    step = step_of(torch, name)
    run = record(step)
    run()
    program = next(case.program for cases in run.cases.values() for case in cases)
    found = plan(step)
    assert found.program.launches == program.launches
    assert found.program.buffers == program.buffers
    assert found.program.temporary_bytes == program.temporary_bytes


@pytest.mark.parametrize("passes", [{}, {"recompute": True}])
@pytest.mark.parametrize("name", ["LSTM by hand", "MLP, Adam", "LeNet", "DCGAN", "GPT, SDPA"])
def test_a_plan_has_the_peak_that_the_allocator_has(name, passes):
    own, eager, program, planned = peaks(MODELS[name], passes)
    assert 0.97 * program < planned <= program
    assert program < (eager if passes else 1.05 * eager) and own < program


def test_what_dies_before_a_gradient_is_made_lies_in_its_memory():
    w, v = (torch.ones(n, requires_grad=True) for n in (1000, 2000))

    def step(x):
        ((w * 2).sum() * x).cos().sum().backward()
        (v.exp() * 3).sum().backward()

    found = plan(step, torch.ones(500))
    assert found.program.born_bytes > found.block_bytes + found.result_bytes
    run = record(step)
    for k in range(3):
        x = torch.full((500,), float(k))
        w.grad = v.grad = None
        run(x)
        grads = w.grad, v.grad
        w.grad = v.grad = None
        step(x)
        assert grads[0].equal(w.grad) and grads[1].equal(v.grad)


def test_a_recording_keeps_no_gradients():
    w = torch.ones(1000, requires_grad=True)
    run = record(lambda: (w * w).sum().backward())
    run()
    grad = weakref.ref(w.grad)
    w.grad = None
    assert grad() is None


def test_the_sums_of_a_plan():
    model = nn.Linear(1000, 100, bias=False, device="meta")
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.empty(64, 1000, device="meta")

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    found = plan(step, x)
    weight = 4 * 1000 * 100
    assert found.given_bytes == weight + 4 * 64 * 1000
    assert weight <= found.result_bytes <= weight + 64  # its gradient, and the loss
    assert 2 * weight <= found.outside_bytes <= 2 * weight + 64
    assert found.program.temporary_bytes == 4 * 64 * 100  # what the gradient is made from
    assert found.flops == 2 * (2 * 64 * 1000 * 100)
    first = found.launches[0]
    assert first.kernel == "matmul float32" and first.place == "Linear"
    assert "test_plan.py" in first.line and found.launches[-1].place == "backward"
    memories = {b.memory for b in found.buffers if b.first >= 0}
    assert memories <= {"block", "given", "none", "result"} and "none" in memories
    assert plan(step, x).outside_bytes == 0  # the optimizer has its state by now


def test_a_step_without_a_program_has_no_plan():
    x = torch.ones(3, device="meta")
    for step, why in (
        (lambda: x.sum().item(), r"Tensor.item\(\) cannot be called on meta tensors"),
        (lambda: 1 if x.sum() else 0, r"Tensor.item\(\) cannot be called on meta tensors"),
        (lambda: print(x.sum()), r"plan: the step calls print\(\)"),
        (lambda: 3, "plan: the step answers a number"),
    ):
        with pytest.raises(RuntimeError, match=why):
            plan(step)
    for step in (lambda: x[x > 0], x.nonzero, x.unique):
        with pytest.raises(NotImplementedError, match="depends on the elements"):
            plan(step)
    assert plan(lambda: x + 1).launches[0].kernel == "add float32"


def test_a_plan_does_not_run():
    w = torch.ones(3, requires_grad=True)
    found = plan(lambda: (w * 2).sum().backward())
    with pytest.raises(RuntimeError, match="a plan does not run"):
        found.program.run([w.array])
    x = torch.ones(3, device="meta")
    run = record(lambda: x + 1)
    assert run().is_meta and run().is_meta and "on another device" in run.refusals[0]


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        parts = self.qkv(self.ln1(x)).unflatten(2, (3, 16, -1)).transpose(1, 3)
        y = F.scaled_dot_product_attention(*parts.unbind(2), is_causal=True)
        x = x + self.proj(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.ln2(x))


def test_the_plan_of_a_model_larger_than_the_machine():
    width, words, length = 1920, 50257, 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with torch.device("meta"):
        tokens, places = nn.Embedding(words, width), nn.Embedding(length, width)
        blocks, head = nn.Sequential(*[Block(width) for _ in range(22)]), nn.Linear(width, words)
        parameters = [p for m in (tokens, places, blocks, head) for p in m.parameters()]
        optimizer = torch.optim.Adam(parameters)
        x, y = torch.randint(words, (8, length)), torch.randint(words, (8 * length,))

        def step():
            optimizer.zero_grad()
            h = blocks(tokens(x) + places(torch.arange(length)))
            loss = F.cross_entropy(head(h).flatten(0, 1), y)
            loss.backward()
            optimizer.step()
            return loss

        found = plan(step)
    count = sum(p.numel() for p in parameters)
    assert count > 1e9 and len(found.launches) > 500
    assert 4 * 4 * count < found.peak_bytes < 12 * 4 * count
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20  # KiB


def step_of_logits(kind, w):
    """A step whose logits, (64, 500) or (64, 5, 100), have a name while backward runs."""

    def step(x, y):
        logits = x @ w
        if kind == "channels":
            logits, y = logits.view(64, 5, 100), y.view(64, 1).expand(64, 100) % 5
        if kind == "itself":
            y = logits.detach().softmax(1)
        loss = F.cross_entropy(logits, y, label_smoothing=0.1 * (kind == "smooth"))
        loss.backward()
        if kind == "later":
            return loss.detach(), logits.detach().amax(1)
        return (loss.detach(), logits.detach()) if kind == "result" else (loss.detach(),)

    return step


@pytest.mark.parametrize("kind", ["plain", "channels", "itself", "smooth", "later", "result"])
def test_logits_are_overwritten_by_their_gradient(kind):
    w = torch.randn(30, 500, requires_grad=True)
    v = w.detach().clone().requires_grad_()
    eager, run = step_of_logits(kind, w), record(step_of_logits(kind, v), fullgraph=True)
    for _ in range(4):
        x, y = torch.randn(64, 30), torch.randint(0, 500, (64,))
        w.grad = v.grad = None
        assert all(map(same_bits, eager(x, y), run(x, y))) and same_bits(w.grad, v.grad)
    plans = [plan(record(step_of_logits(kind, v), passes={"in_place": on}), x, y) for on in (1, 0)]
    assert (plans[0].block_bytes < plans[1].block_bytes) == (kind not in ("later", "result"))
