"""Floats as inputs of programs: eager's bits for every value, and few recordings."""

import copy
import fractions
import json
import math
import operator
import pickle
import statistics
import threading

import numpy as np
import pytest
from helpers import outcome

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F
from tiny_torch.program import Compiled, record

VALUES = [0.3, 0.7, 0.0, 1.0, 2.0, -1.0, 0.5, math.inf, math.nan, 1e-300, 1e39, -0.0, 3.0, 0.9]


def factor(u, **more):
    def held():
        return u if type(u) is float else 3.0

    t, (v,) = more["t"]
    return held() + (1.0 if type(t) is type(v) is float else 3.0)


def inverse(t):
    try:
        return 1 / t
    except ZeroDivisionError:
        return 7.0


def length(t):
    try:
        return int(t)
    except (OverflowError, ValueError):
        return 8


C = torch.tensor([1, 0, 2, 1])

# Of x (4, 3), y (4, 3) and a number; how many recordings, where the number is only computed with.
COMPUTED = {
    "mul": lambda x, y, t: x * t + t * y,
    "div": lambda x, y, t: x / t - t / y,
    "sub": lambda x, y, t: (t - x).square() - t,
    "rest": lambda x, y, t: (x % t) + (x.detach() // t),
    "derived": lambda x, y, t: x * (1 - t) + y * (2 * t + 0.1) - (-t) * abs(t),
    "two steps": lambda x, y, t: (x * (t * t)) * (t * t + t),
    "temperature": lambda x, y, t: ((x * t).softmax(-1) - y).square().mean() * (1 - t),
    "alpha": lambda x, y, t: torch.add(x, y, alpha=t),
    "alpha of sub": lambda x, y, t: x.sub(y, alpha=t),
    "where": lambda x, y, t: torch.where(x > 0, x, t) * torch.where(y > 0, t, y),
    "masked_fill": lambda x, y, t: x.masked_fill(y > 0, t),
    "lerp": lambda x, y, t: torch.lerp(x, y, t),
    "addcmul": lambda x, y, t: torch.addcmul(x, x, y, value=t),
    "addcdiv": lambda x, y, t: torch.addcdiv(x, x, y, value=t),
    "compare": lambda x, y, t: (x > t) * x + (y == t) * y,
    "half": lambda x, y, t: x.half() * t + y.half() / t,
    "bfloat16": lambda x, y, t: (x.bfloat16() - t) * y.bfloat16(),
    "double": lambda x, y, t: (x.double() * t).float() + y,
    "integers": lambda x, y, t: (x * 4).long() * t + y,
    "int32": lambda x, y, t: (x * 4).int() / t + y,
    "in place": lambda x, y, t: (x * 1).mul_(t).add_(y, alpha=t),
    "round": lambda x, y, t: x * (t * 0.5 + round(0.25 * 3)),
    "maximum": lambda x, y, t: torch.maximum(x * t, y),
    "chain": lambda x, y, t: ((x.repeat(800, 1) * t + t).tanh() * (1 / (1 + t * t))).sigmoid(),
}
# Of those, the others: some look at the number.
OTHERS = {
    "pow": lambda x, y, t: x.abs() ** t,
    "rpow": lambda x, y, t: t**x,
    "pow of halves": lambda x, y, t: x.half() ** t,
    "clamp": lambda x, y, t: x.clamp(-0.2, t) + y.clamp(min=t) + torch.clamp_max(x, t),
    "leaky_relu": lambda x, y, t: F.leaky_relu(x, t),
    "elu": lambda x, y, t: F.elu(x, t),
    "celu": lambda x, y, t: F.celu(x, t),
    "softplus": lambda x, y, t: F.softplus(x, t, 1.0) + F.softplus(y, 1.0, t),
    "threshold": lambda x, y, t: F.threshold(x, t, t),
    "hardtanh": lambda x, y, t: F.hardtanh(x, -0.5, t),
    "hardshrink": lambda x, y, t: F.hardshrink(x, t) + F.softshrink(y, 0.1),
    "dropout": lambda x, y, t: F.dropout(x, t),
    "alpha_dropout": lambda x, y, t: F.alpha_dropout(x, t, training=True),
    "rrelu": lambda x, y, t: F.rrelu(x, 0.1, t, training=True),
    "gumbel": lambda x, y, t: F.gumbel_softmax(x, tau=t),
    "layer_norm": lambda x, y, t: F.layer_norm(x, (3,), eps=t),
    "rms_norm": lambda x, y, t: F.rms_norm(x, (3,), eps=t),
    "normalize": lambda x, y, t: F.normalize(x, eps=t) + F.normalize(y, p=t),
    "norm": lambda x, y, t: torch.norm(x, t) + x.norm(t, -1).sum(),
    "batch_norm": lambda x, y, t: F.batch_norm(
        x, torch.zeros(3), torch.ones(3), training=True, momentum=t, eps=t
    ),
    "cross_entropy": lambda x, y, t: F.cross_entropy(x, C, label_smoothing=t),
    "smooth_l1": lambda x, y, t: F.smooth_l1_loss(x, y, beta=t),
    "huber": lambda x, y, t: F.huber_loss(x, y, delta=t),
    "large losses": lambda x, y, t: F.huber_loss(
        x.repeat(3000, 2), y.repeat(3000, 2), delta=t
    ) + F.smooth_l1_loss(x.repeat(3000, 2), y.repeat(3000, 2), beta=t),
    "margin": lambda x, y, t: F.margin_ranking_loss(x, y, y.sign(), margin=t),
    "cosine": lambda x, y, t: F.cosine_similarity(x, y, eps=t),
    "triplet": lambda x, y, t: F.triplet_margin_loss(x, y, x * y, margin=t),
    "full": lambda x, y, t: x * torch.full((4, 3), t) + x.new_full((3,), t),
    "full of halves": lambda x, y, t: x * torch.full((4, 3), t, dtype=torch.float16),
    "full_like": lambda x, y, t: x * torch.full_like(y, t),
    "full of integers": lambda x, y, t: x * torch.full((3,), t * 3, dtype=torch.int32),
    "fill_": lambda x, y, t: x * torch.empty(4, 3).fill_(t),
    "setitem": lambda x, y, t: (x * 1).index_fill(1, torch.tensor([0]), t),
    "nan_to_num": lambda x, y, t: (x / 0).nan_to_num(t, t, -1.0),
    "attention": lambda x, y, t: F.scaled_dot_product_attention(
        x[None], y[None], x[None], scale=t
    ),
    "tensor": lambda x, y, t: x * torch.tensor(t) + torch.tensor([t, 1.0, t]),
    "as_tensor": lambda x, y, t: x * torch.as_tensor(t, dtype=torch.float64),
    "numpy": lambda x, y, t: x * float(np.float32(2) * t) + y * np.multiply(t, 2).item(),
    "numpy arrays": lambda x, y, t: x * torch.from_numpy(np.ones(3, np.float32) * t),
    "math": lambda x, y, t: x * math.exp(-abs(t)) + y * math.floor(t),
    "branch": lambda x, y, t: x * t if t > 0.6 else y / (t or 1.0),
    "int": lambda x, y, t: x * int(t) + y * t,
    "text": lambda x, y, t: x * len(f"{t:.3f} {t} {t!r} {operator.mod('%g', t)}"),
    "dict": lambda x, y, t: x * {0.3: 2.0, 0.7: 3.0}.get(t, 4.0),
    "complex": lambda x, y, t: x * (1j * t).imag + y * complex(t).real,
    "fraction": lambda x, y, t: x * float(fractions.Fraction(1, 3) + t),
    "methods": lambda x, y, t: x * t if t.is_integer() else y * t.real,
    "root": lambda x, y, t: x * (abs(t) ** 0.5) if (t**0.5).imag == 0 else y * 3,
    "json": lambda x, y, t: x * len(json.dumps(float(t))),
    "type": lambda x, y, t: x * t if type(t) is float else y,
    "library": lambda x, y, t: x * len(json.dumps({"t": [t]})) + statistics.fmean([t, 1.0]),
    "type in a call": lambda x, y, t: x * factor(1 - t, t=(t, [t])),
    "isinstance": lambda x, y, t: x * t if isinstance(t, float) else x.foo,
    "max": lambda x, y, t: x * max(t, 0.4) + y * min(1.0, t) + sum([t, 1.0, t]),
    "divmod": lambda x, y, t: x * divmod(1.5, t)[1] + y * round(t, 1),
    "linspace": lambda x, y, t: x * torch.linspace(0.0, t, 3),
    "normal": lambda x, y, t: x * torch.empty(3).normal_(t, 0.5),
    "multinomial": lambda x, y, t: x * torch.bernoulli(torch.full((4, 3), 0.5)) * t,
    "caught": lambda x, y, t: x * inverse(t) + y * length(t),
    "copies": lambda x, y, t: x * copy.deepcopy([t])[0] + y * pickle.loads(pickle.dumps(t)),
    "answer": lambda x, y, t: (x * t, t, 1 + t),
}  # fmt: skip
ALL = {**COMPUTED, **OTHERS}


def inputs() -> list:
    torch.manual_seed(1)
    return [torch.randn(4, 3, requires_grad=True) for _ in "xy"]


def bits(x):
    if isinstance(x, torch.Tensor):
        return (
            str(x.dtype),
            tuple(x.shape),
            x.detach().contiguous().view(torch.uint8).tolist() if x.ndim else repr(x.item()),
        )
    return type(x), repr(x)


def answer(function, *args):
    """The bits of results and gradients, or what is raised."""
    xs = inputs()
    error, found = outcome(lambda: function(*xs, *args))
    if error is not None:
        return type(error), str(error)
    roots = [r for r in found if isinstance(r, torch.Tensor) and r.requires_grad]
    if roots:
        sum((r.float() * 0.7).sum() for r in roots).backward()
    return [bits(r) for r in (*found, *[x.grad for x in xs])]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALL)
def test_each_value_has_eagers_bits(name):
    function = ALL[name]
    compiled = Compiled(function)
    for t in [*VALUES, *VALUES]:
        assert answer(compiled, t) == answer(function, t), t
    assert compiled.recorded <= 8
    for t in VALUES:  # from the first on
        once = Compiled(function, dynamic=True)
        for u in (t, 0.4, t):
            assert answer(once, u) == answer(function, u), (t, u)


@pytest.mark.parametrize("name", COMPUTED)
def test_numbers_that_are_computed_with_take_two_recordings(name):
    compiled = Compiled(COMPUTED[name], fullgraph=True)
    for k in range(20):
        assert answer(compiled, k / 16 + 0.01) == answer(COMPUTED[name], k / 16 + 0.01)
    assert compiled.recorded == 2


def test_two_calls_before_their_backwards():
    def f(x, t):
        return (x * x * t).sum() * (1 - t)

    compiled = Compiled(f)
    for t in (0.3, 0.7, 0.2):
        x = torch.ones(3, requires_grad=True)
        compiled(x, t).backward()
    xs = [torch.full((3,), k + 1.0, requires_grad=True) for k in range(2)]
    ys = [compiled(x, t) for x, t in zip(xs, (0.25, 0.75), strict=True)]
    for y in reversed(ys):
        y.backward()
    assert xs[0].grad.tolist() == [0.375] * 3 and xs[1].grad.tolist() == [0.75] * 3
    assert compiled.recorded == 2


def test_where_the_numbers_stand():
    def f(x, *weights, options, scale=1.0):
        return x * weights[0] + options["a"][0] * weights[1][0] - options["b"] * scale

    compiled = Compiled(f, fullgraph=True)
    for k in range(12):
        options = {"a": [0.5 * k, "text"], "b": 3.0}
        args = torch.ones(3), k / 7, (0.1 * k, 2)
        assert compiled(*args, options=options, scale=k * 0.3).equal(
            f(*args, options=options, scale=k * 0.3)
        )
        assert options == {"a": [0.5 * k, "text"], "b": 3.0}
        assert [type(x) for x in (options["a"][0], options["b"])] == [float, float]
    assert compiled.recorded == 2
    short = {"a": [0.5], "b": 4.0}
    assert compiled(*args, options=short).equal(f(*args, options=short))


def test_one_list_given_twice():
    def f(x, a, b):
        return x * a[0] - b[0]

    compiled = Compiled(f)
    for k in range(4):
        both = [0.5 * k]
        assert compiled(torch.ones(2), both, both).tolist() == [0.0] * 2
        assert both == [0.5 * k] and type(both[0]) is float
    assert compiled(torch.ones(2), [3.0], [1.0]).tolist() == [2.0] * 2


def test_a_dict_that_is_changed():
    def f(x, state):
        state["t"] = state["t"] + 0.5
        state["seen"] = [state["t"], (state["t"], 1)]
        return x * state["t"]

    compiled = Compiled(f)
    found = {"t": 1.0, "seen": []}
    for k in range(6):
        assert compiled(torch.ones(2), found).tolist() == [1.5 + 0.5 * k] * 2
        assert type(found["t"]) is float and type(found["seen"][0]) is float
        assert type(found["seen"][1][0]) is float
    assert found == {"t": 4.0, "seen": [4.0, (4.0, 1)]}
    assert "changes a list or a dict among its arguments" in compiled.refusals[0]


def test_a_dict_that_is_changed_beside_the_numbers():
    def f(x, state, how):
        state[how] = state.get(how, 0) + 1
        return x * 2

    compiled, state = Compiled(f), {"a": 1}
    for _ in range(4):
        compiled(torch.ones(2), state, "a")
    assert state == {"a": 5}


@pytest.mark.parametrize(("dynamic", "recorded"), [(None, 2), (True, 1), (False, 8)])
def test_dynamic_of_compile(dynamic, recorded):
    compiled = Compiled(lambda x, t: x * t, dynamic=dynamic)
    public = torch.compile(lambda x, t: x * t, dynamic=dynamic)
    for k in range(20):
        assert compiled(torch.ones(1), k / 4).item() == public(torch.ones(1), k / 4).item() == k / 4
    assert compiled.recorded == recorded


def test_only_what_varies_is_followed():
    compiled = Compiled(lambda x, t, p: F.dropout(x, p) * t if p > 0.1 else x - t)
    for k in range(20):
        compiled(torch.ones(5), k * 0.1, 0.5)
    assert compiled.recorded == 2
    assert compiled(torch.ones(1), 0.25, 0.0).item() == 0.75


def test_a_branch_is_recorded_for_each_side():
    compiled = Compiled(lambda x, t: x * t if t > 0.5 else x - t)
    for k in range(20):
        assert compiled(torch.ones(1), k / 16).item() == (k / 16 if k > 8 else 1 - k / 16)
    assert compiled.recorded <= 3


def test_numbers_that_are_equal_by_chance_are_not_shared():
    def f(x, a, b):
        return (x * a).exp() + (x * b).exp() * 2

    compiled = Compiled(f)
    for a, b in ((1.0, 2.0), (3.0, 3.0), (4.0, 5.0), (6.0, 1.0), (0.0, -0.0)):
        assert compiled(torch.ones(4), a, b).equal(f(torch.ones(4), a, b))
    assert compiled.recorded == 2


def test_what_raises_raises():
    def f(x, t):
        return x * (1 / t)

    compiled = Compiled(f)
    for t in (0.5, 0.25, 0.125, 0.0, 0.75):
        if t:
            assert compiled(torch.ones(1), t).equal(f(torch.ones(1), t))
        else:
            with pytest.raises(ZeroDivisionError, match="division by zero"):
                compiled(torch.ones(1), t)
    with pytest.raises(TypeError, match="int"):
        Compiled(lambda x, t: x.sum(t), dynamic=True)(torch.ones(2), 0.5)
    with pytest.raises(TypeError, match="float"):
        Compiled(lambda x, t: [x][t], dynamic=True)(torch.ones(2), 0.5)


def test_a_number_that_is_kept():
    class Model(nn.Module):
        def forward(self, x, t):
            self.t = t
            return self.scaled(x)

        def scaled(self, x):
            return x * self.t

    net = Model()
    compiled = Compiled(net)
    for k in range(12):
        assert compiled(torch.ones(1), k / 4).item() == k / 4 == net.t


def test_a_step_by_hand():
    def step(w, x, lr, limit):
        (w * x).square().sum().backward()
        nn.utils.clip_grad_norm_([w], limit)
        with torch.no_grad():
            w.sub_(w.grad * lr)
        w.grad = None

    ways = []
    for run in (step, made := record(step)):
        w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        for k in range(14):
            run(w, torch.tensor([0.5, 1.0, 1.5]), 0.1 / (k + 1), 5.0 - 0.3 * k)
        ways.append(bits(w))
    assert ways[0] == ways[1]
    assert made.recorded <= 2 and made.refusals == []


def test_a_step_with_an_optimizer():
    ways = []
    for how in (lambda step: step, record):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

        def step(x, y, weight, limit, net=net, optimizer=optimizer):
            optimizer.zero_grad()
            loss = F.mse_loss(net(x), y) + weight * sum(p.square().sum() for p in net.parameters())
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), max_norm=limit)
            optimizer.step()
            return loss

        run = how(step)
        losses = [
            bits(run(torch.randn(8, 4), torch.randn(8, 2), 1e-3 * k, 0.3 + 0.05 * k))
            for k in range(14)
        ]
        ways.append([*losses, *map(bits, net.parameters())])
    assert ways[0] == ways[1]
    assert run.recorded <= 3 and run.refusals == []


def test_a_rate_that_is_set_in_the_step():
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)

    def step(x, lr):
        for group in optimizer.param_groups:
            group["lr"] = lr
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()

    run, expected = record(step), torch.ones(3)
    for k in range(12):
        run(torch.ones(3), 2.0**-k)
        expected -= 2.0**-k
        assert w.equal(expected) and optimizer.param_groups[0]["lr"] == 2.0**-k


def test_threads():
    def f(x, t):
        return ((x * t).tanh() * (1 - t)).sum()

    compiled, wrong = Compiled(f), []
    for t in (0.1, 0.2, 0.3):
        compiled(torch.ones(3), t)

    def work(seed):
        for k in range(200):
            t = seed + k / 200
            if not compiled(torch.ones(3), t).equal(f(torch.ones(3), t)):
                wrong.append(t)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert wrong == []
    assert compiled.recorded == 2
