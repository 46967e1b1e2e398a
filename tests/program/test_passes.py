"""Passes of programs: what each leaves out or adds, with eager's bits whether it is on or off."""

import pickle
import sys
from pathlib import Path

import pytest
from helpers import same_bits
from program.random_functions import difference

import tiny_torch as torch
from tiny_torch import _core, nn
from tiny_torch.nn import functional as F
from tiny_torch.program import Compiled, plan, record

sys.path.append(str(Path(__file__).parents[2]))
from benchmarks.steps import step_of

NAMES = ("dead", "doubles", "recompute", "chains", "in_place", "arena")


def passed(function, *inputs, **passes):
    """{pass: (launches, bytes)} of the function's program, whose bits are eager's."""
    run = Compiled(function, fullgraph=True, passes=passes)
    for _ in range(2):
        torch.manual_seed(0)
        found = run(*inputs)
        torch.manual_seed(0)
        assert same_bits(found, function(*inputs))
    program = run.cases.popitem()[1][0].program
    return {name: (launches, size) for name, launches, size in program.passed}


def test_passes_have_names():
    assert tuple(_core.Passes.names) == NAMES
    with pytest.raises(ValueError, match="programs have no pass 'fusion'"):
        record(lambda x: x, passes={"fusion": True})
    run = torch.compile(lambda x: x * 2, options={"chains": False, "trace.enabled": True})
    assert run(torch.ones(3)).tolist() == [2, 2, 2]
    off = record(abs, passes={"chains": False})
    assert pickle.loads(pickle.dumps(off)).choices == {"chains": False}


def test_what_a_pass_changes_is_shown(capsys):
    run = Compiled(lambda x: (x.exp() + x.exp()).tanh(), fullgraph=True)
    run(torch.randn(5000))
    run.show()
    shown = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert shown[1:4] == ["recorded", "doubles", "chains"]


@pytest.mark.parametrize("name", NAMES)
def test_each_pass_is_off_by_its_name(name):
    def function(x):
        return (x.exp() * 2 + x.exp()).tanh() * x.exp()

    on = passed(function, torch.randn(5000), recompute=True)
    assert list(on) == ["recorded", *NAMES]
    off = passed(function, torch.randn(5000), **{"recompute": True, name: False})
    assert list(off) == ["recorded", *[x for x in NAMES if x != name]]


def test_dead_launches_are_left_out():
    def function(x):
        y = x.exp()
        (y * 3).sin()  # nobody reads it
        torch.rand(4)  # which draws
        return y + 1

    found = passed(function, torch.randn(10))
    assert found["recorded"][0] - found["dead"][0] == 2


def test_double_launches_are_one():
    def function(x, y):
        a = x.exp() * y  # once
        b = x.exp() * y  # of which both launches are doubles
        c = x.exp() * y.abs()
        return a, b + c, (x + 1) * (x + 2)

    def check(*inputs):
        return torch.cat([r.flatten() for r in function(*inputs)])

    found = passed(check, torch.randn(70), torch.randn(70))
    assert found["dead"][0] - found["doubles"][0] == 3


# Functions, and how many of their launches are doubles.
DOUBLES = {
    "changed input": (lambda x: (x + 0).exp() + twice_of(x, lambda y: y.mul_(2)), 1),
    "changed result": (lambda x: changed_result(x * 2), 0),
    "numbers": (lambda x: x.pow(3.0) + x.pow(3.5) + x.pow(3.0), 1),
    "arguments": (lambda x: x.exp() + (x + 1).exp() + (x + 2).exp(), 0),
    "strides": (lambda x: x.exp() + x.t().contiguous().t().exp(), 0),
    "dtypes": (lambda x: x.exp() + x.double().exp(), 0),
    "draws": (lambda x: torch.rand(3) + torch.rand(3) + x[0, 0], 0),
}


def twice_of(x, change):
    """Of x + 0 twice, between which the first is changed."""
    y = x + 0
    change(y)
    return y + (x + 0)


def changed_result(x):
    a = x.exp()
    a.mul_(2)
    return a + x.exp()


@pytest.mark.parametrize("kind", DOUBLES)
def test_launches_are_doubles_only_if_nothing_differs(kind):
    function, count = DOUBLES[kind]
    found = passed(function, torch.randn(6, 7))
    assert found["dead"][0] - found["doubles"][0] == count


class Wide(nn.Module):
    """What is cheap is most of what backward reads."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*[
            nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64),
                          nn.ReLU(), nn.BatchNorm1d(64), nn.Softmax(1))
            for _ in range(4)
        ])  # fmt: skip

    def forward(self, x):
        return self.body(x).square().sum()


def training(make, steps, **passes):
    """Losses and parameters, and the generator's place, after steps of a program or of eager."""
    torch.manual_seed(0)
    model = make()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)

    def step(x):
        optimizer.zero_grad()
        loss = model(x)
        loss.backward()
        optimizer.step()
        return loss

    run = record(step, fullgraph=True, passes=passes) if passes else step
    losses = [run(torch.randn(128, 64)).detach() for _ in range(steps)]
    return [*losses, *model.parameters(), *model.buffers(), torch.get_rng_state()], step


def test_what_is_cheap_is_computed_again():
    expected, _ = training(Wide, 6)
    found, step = training(Wide, 6, recompute=True)
    assert all(map(same_bits, found, expected))
    x = torch.randn(128, 64)
    less, more = plan(record(step, passes={"recompute": True}), x), plan(step, x)
    assert less.block_bytes < 0.75 * more.block_bytes
    kernels = {launch.kernel for launch in less.launches[len(more.launches) // 2 :]}
    assert {"gelu float32", "layer_norm", "softmax"} <= kernels
    products = [[x.kernel for x in p.launches].count("matmul float32") for p in (less, more)]
    assert products[0] == products[1]
    assert (less.launches[-1].kernel, less.launches[-1].line) == (
        more.launches[-1].kernel, more.launches[-1].line
    )  # fmt: skip


def test_what_is_drawn_or_changed_is_not_computed_again():
    class Draws(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(64, 256), nn.Linear(256, 64)

        def forward(self, x):
            h = F.dropout(self.a(x).sigmoid(), 0.5)
            h = h + torch.randn_like(h)
            x = x.exp()
            y = x.tanh()
            x.add_(1)  # from which y cannot be made
            return (self.b(h * h.relu()) * y * x).sum()

    expected, _ = training(Draws, 5)
    found, _ = training(Draws, 5, recompute=True)
    assert all(map(same_bits, found, expected))


@pytest.mark.parametrize("name", ["LeNet", "ResNet-9", "GPT, plain attention", "LSTM"])
def test_steps_that_compute_again_have_eagers_bits(name):
    def run(**passes):
        torch.manual_seed(0)
        step = step_of(torch, name)
        if passes:
            step = record(step, passes=passes)
        return [step() for _ in range(3)], torch.get_rng_state()

    (expected, place), (found, there) = run(), run(recompute=True)
    assert same_bits(place, there)
    assert all(same_bits(a.detach(), b.detach()) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_random_functions(seed):
    assert not difference(2_000_000 + seed, {"recompute": True}, whole=True)
    assert not difference(2_000_000 + seed, dict.fromkeys(NAMES, False))


PARTS = """
x.sort()[0] x.sort()[1] x.topk(2)[0] x.topk(2)[1] x.kthvalue(2)[0] x.kthvalue(2)[1]
x.mode()[0] x.mode()[1] x.median(0)[0] x.median(0)[1] x.cummax(0)[0] x.cummax(0)[1]
x.max(0)[0] x.max(0)[1] x.aminmax()[0] x.aminmax()[1] torch.frexp(x)[0] torch.frexp(x)[1]
torch.std_mean(x)[0] torch.std_mean(x)[1] F.max_pool1d(x,2,return_indices=True)[0]
F.max_pool1d(x,2,return_indices=True)[1] F.batch_norm(x,None,None,training=True)
F.layer_norm(x,(7,)) F.group_norm(x[:,:6],2) F.nll_loss(x,torch.arange(5)) x.logsumexp(0)
"""


@pytest.mark.parametrize("code", PARTS.split())
def test_of_several_results_one_is_enough(code):
    function = eval(f"lambda x: {code} * 2", {"torch": torch, "F": F})
    compiled = Compiled(function, passes={"recompute": True})
    for _ in range(3):
        x, again = (torch.randn(5, 7).requires_grad_() for _ in range(2))
        again.data = x.detach().clone()
        found, expected = compiled(x), function(again)
        assert same_bits(found, expected)
        if expected.requires_grad:
            found.sum().backward()
            expected.sum().backward()
            assert same_bits(x.grad, again.grad)
    assert not compiled.refusals
