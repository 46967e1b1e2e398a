"""Anomaly detection names the op that first made NaN, or inf, and its module, line and inputs."""

import contextlib
import math
from pathlib import Path

import pytest

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.autograd import set_detect_anomaly
from tiny_torch.base.modes import WATCHED, modes, thread
from tiny_torch.nn import functional as F
from tiny_torch.utils.checkpoint import checkpoint

INF = math.inf


class Roots(nn.Module):
    def forward(self, x):
        return x.sqrt()  # the line of roots


class Scores(nn.Module):
    def forward(self, x):
        return F.softmax(x.masked_fill(torch.ones(3).bool(), -INF), 0)


class Net(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def told(loss, **arguments):
    """The lines of the error that backward of ``loss()`` raises; [] if there is none."""
    try:
        with set_detect_anomaly(True, **arguments), pytest.warns(UserWarning, match="Error detec"):
            loss().backward()
    except RuntimeError as error:
        return str(error).split("\n")
    except pytest.fail.Exception:  # no warning
        return []
    return []


def x(*values):
    return torch.tensor(values, requires_grad=True)


def test_an_op_of_forward_with_its_module_line_and_ranges():
    net = Net(nn.Tanh(), Roots(), nn.Identity())
    first, origin, *ranges = told(lambda: net(x(0.0, -1.0, 2.0)).sum())
    assert first == "Function 'SqrtBackward0' returned nan values in its 0th output."
    number = 1 + Path(__file__).read_text().splitlines().index(
        "        return x.sqrt()  # the line of roots"
    )
    line = f"{__file__}:{number}: return x.sqrt()  # the line of roots"
    assert origin == f"nan was first made by Sqrt in forward, in module Net.layers.1, at {line}"
    assert ranges == [
        "  input 0: float32 [3], from -0.7616 to 0.964",
        "  output 0: float32 [3], from 0 to 0.9818, 1 nan",
    ]


def test_an_op_of_backward_with_the_place_of_its_forward():
    net = Net(Roots())
    _, origin, *ranges = told(lambda: (net(x(0.0, 1.0)) * 0).sum())
    assert origin.startswith(
        "nan was first made by SqrtBackward0 in backward of an op in module Net.layers.0, at "
    )
    assert ranges == [
        "  gradient of output 0: float32 [2], from 0 to 0",
        "  saved value 0: float32 [2], from 0 to 1",
        "  gradient of input 0: float32 [2], from 0 to 0, 1 nan",
    ]


# what is computed of a leaf, and the ops that are named
ORIGINS = {
    "inf, then NaN": (lambda: (x(0.0, 1.0).log() * 0).sum(), ["inf Log", "nan Mul"]),
    "NaN passes on": (lambda: (x(-1.0).sqrt() * 2 + 1).exp().sum(), ["nan Sqrt"]),
    "a mask's -inf is an input": (lambda: Scores()(x(1.0, 2.0, 3.0)).sum(), ["nan Softmax"]),
    "in place": (lambda: (x(-1.0) * 1).sqrt_().sum(), ["nan Sqrt"]),
    "inputs in a list": (lambda: torch.cat([x(INF) - INF, x(1.0)]).exp().sum(), ["nan Sub"]),
    "without grad": (
        lambda: (torch.tensor([0.0]) / 0 * x(1.0)).exp().sum(), ["nan Div"],
    ),
    "backward's inf, then its NaN": (
        lambda: (x(0.0).sqrt() ** 2.0).sqrt().sum(), ["inf SqrtBackward0", "nan PowBackward0"],
    ),
    "half": (lambda: (x(300.0).half().square() * 0).exp().sum(), ["inf Square", "nan Mul"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ORIGINS)
def test_origins(name):
    loss, expected = ORIGINS[name]
    lines = [line for line in told(loss) if " was first made by " in line]
    found = [line.replace(" was first made by ", " ").split(" in ")[0] for line in lines]
    assert found == expected


def test_what_does_not_raise_in_pytorch_does_not_raise():
    for loss in (
        lambda: x(0.0, 1.0).log().sum(),  # inf
        lambda: x(-1.0).sqrt().detach().sum() + x(1.0).sum(),  # NaN that no gradient sees
        lambda: torch.where(torch.tensor([True]), x(1.0), x(1.0).detach() / 0).sum(),
    ):
        assert told(loss) == []


@pytest.mark.filterwarnings("ignore:\\n\\nPrevious calculation")
@pytest.mark.parametrize("use_reentrant", [True, False])
def test_beside_checkpointing(use_reentrant):
    lines = told(lambda: checkpoint(Roots(), x(-1.0), use_reentrant=use_reentrant).sum())
    assert any("nan was first made by Sqrt in forward, in module Roots" in line for line in lines)


@pytest.mark.parametrize("outer", ["anomaly", "autocast"])
def test_beside_autocast(outer):
    weight, x = torch.full((1, 1), 1e4), torch.full((1, 1), 100.0)
    modes = (
        lambda: set_detect_anomaly(True, check_forward=True),
        lambda: torch.autocast("cpu", torch.float16),
    )
    with contextlib.ExitStack() as stack:
        for mode in modes if outer == "anomaly" else reversed(modes):
            stack.enter_context(mode())
        with pytest.raises(RuntimeError, match="Function 'Linear' returned inf values in its 0th"):
            F.linear(x, weight)


def test_a_harmless_origin_is_forgotten():
    with set_detect_anomaly(True):
        x(0.0, 1.0).log().sum().backward()
        with pytest.raises(RuntimeError) as caught, pytest.warns(UserWarning):
            x(-1.0).sqrt().sum().backward()
    assert "Log" not in str(caught.value)


def test_without_detection_in_forward_backward_tells_what_it_sees():
    loss = (x(0.0).sqrt() * 0).sum()
    (_, origin, *_) = told(lambda: loss)
    assert origin == (
        "nan was first made by SqrtBackward0 in backward of an op made without anomaly detection"
    )


FORWARD = [
    (lambda: x(-1.0).sqrt(), "Function 'Sqrt' returned nan values in its 0th output."),
    (lambda: torch.zeros(1).log_(), "Function 'Log' returned inf values in its 0th output."),
    (lambda: torch.exp(x(100.0).detach(), out=torch.ones(1)), "Function 'Exp' returned inf"),
    (lambda: x(0.0).sqrt().sum().backward(), "Function 'SqrtBackward0' returned inf values in its"),
]


@pytest.mark.filterwarnings("ignore:Error detected")
@pytest.mark.parametrize("call, text", FORWARD)
@pytest.mark.parametrize("check_nan", [True, False])
def test_check_forward_raises_at_once_and_again(call, text, check_nan):
    with set_detect_anomaly(True, check_nan, check_forward=True):
        for _ in range(2):
            with pytest.raises(RuntimeError) as caught:
                call()
            assert str(caught.value).startswith(text)
    call()


def test_check_forward_lets_pass_what_was_not_finite_before():
    with set_detect_anomaly(True, check_forward=True):
        for value in (math.nan, INF):
            y = torch.full((3,), value)
            (y * 2 + 1).exp(), y.add_(1), torch.cat([y, y]), y[0], y.double(), y.max(0)
        y.masked_fill_(torch.ones(3).bool(), -INF), torch.empty(0).sqrt(), torch.arange(3) // 2
        F.pad(torch.ones(2), (1, 1), value=-INF), torch.where(torch.zeros(2).bool(), 1.0, -INF)
        F.scaled_dot_product_attention(*torch.ones(3, 1, 2, 2).unbind(), is_causal=True)
        F.max_pool2d(torch.ones(1, 1, 4, 4), 2, padding=1), torch.ones(2, device="meta").log()


def test_no_trace_is_left():
    def state():
        return thread.origins, modes.op_modes, modes.bits

    before = state()
    torch.autograd.set_detect_anomaly(True)
    assert modes.bits & WATCHED and modes.op_modes == (thread.origins,)
    with set_detect_anomaly(True, check_nan=False):
        assert thread.origins is None and not modes.bits & WATCHED
    assert modes.op_modes == (thread.origins,)
    with torch.no_grad():
        torch.autograd.set_detect_anomaly(False)
    assert state() == before
    with pytest.raises(RuntimeError), set_detect_anomaly(True, check_forward=True):
        torch.zeros(1).log()
    assert state() == before


def test_values_are_those_without_detection():
    def trained():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(net(torch.randn(5, 4)), torch.zeros(5).long()).backward()
            optimizer.step()
        return list(net.parameters())

    plain = trained()
    with set_detect_anomaly(True, check_forward=True):
        detected = trained()
    assert all(map(torch.equal, plain, detected))
