"""Modes that see every op: an autocast and a profiler of a few lines, made of OpMode alone."""

from __future__ import annotations

import collections
import contextlib
import pickle
import sys
import time
import types

import pytest
from cases.all_cases import CASES
from cases.op_cases import SHAPES
from helpers import CONTIGUOUS, array_of, by_name, gradients, operands, outcome

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.autograd.op_mode import IN_PLACE, ORDINARY, OpMode
from tiny_torch.nn import functional as F
from tiny_torch.ops.shape import join, split


class Autocast(OpMode):
    """Products and convolutions in bfloat16, cross-entropy in float32; gradients as parameters."""

    LOW = ("Linear", "Matmul", "Mm", "Bmm", "Addmm", "Convolution", "ConvolutionTranspose")
    HIGH = ("CrossEntropy", "LogSoftmax", "Softmax")

    def forward(self, call, op, arguments, kind):
        dtype = torch.bfloat16 if op.__name__ in self.LOW else torch.float32
        if kind == ORDINARY and op.__name__ in self.LOW + self.HIGH:
            arguments = tuple([self.cast(x, dtype) for x in arguments])
        return call(op, arguments)

    def cast(self, x, dtype):
        return x.to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else x


class Profiler(OpMode):
    """Number of calls and seconds of each op, those of its gradient under the node's name."""

    def __init__(self):
        self.calls = collections.Counter()
        self.seconds = collections.Counter()

    def forward(self, call, op, arguments, kind):
        return self.timed(op.__name__, call, op, arguments)

    def backward(self, call, node, grad, needs):
        return self.timed(node.name(), call, node, grad, needs)

    def timed(self, name, call, *arguments):
        start = time.perf_counter()
        try:
            return call(*arguments)
        finally:
            self.calls[name] += 1
            self.seconds[name] += time.perf_counter() - start


class Seen(OpMode):
    """The name and kind of each call, and the tensors' dtypes."""

    def __init__(self):
        self.calls = []
        self.dtypes = []

    def forward(self, call, op, arguments, kind):
        self.calls.append((op.__name__, kind))
        self.dtypes.append((op.__name__, [x.dtype for x in arguments if torch.is_tensor(x)]))
        return call(op, arguments)

    def names(self):
        return [name for name, _ in self.calls]


def network():
    torch.manual_seed(0)
    layers = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    return nn.Sequential(*layers, nn.Linear(36, 3))


def step(net, *modes):
    x, target = torch.rand(2, 1, 8, 8), torch.tensor([0, 2])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for mode in modes:
        mode.__enter__()
    loss = F.cross_entropy(net(x), target)
    loss.backward()
    for mode in reversed(modes):
        mode.__exit__(None, None, None)
    optimizer.step()
    return loss


def test_a_profiler_sees_every_op_of_a_training_step_forward_and_backward():
    profiler = Profiler()
    step(network(), profiler)
    forward = ["Convolution", "NativeBatchNorm", "Relu", "MaxPool", "View", "Linear"]
    backward = ["NllLossBackward0", "ConvolutionBackward0", "ReluBackward0"]
    for name in [*forward, "CrossEntropy", *backward, "NativeBatchNormBackward0"]:
        assert profiler.calls[name] == 1, (name, profiler.calls)
        assert profiler.seconds[name] > 0


def test_a_mode_changes_no_value():
    losses, nets = [], [network(), network()]
    for net, modes in zip(nets, ((), (Profiler(), OpMode())), strict=True):
        torch.manual_seed(1)
        losses.append(step(net, *modes))
    assert torch.equal(*losses)
    for a, b in zip(*(net.parameters() for net in nets), strict=True):
        assert torch.equal(a, b) and torch.equal(a.grad, b.grad)


def test_autocast_casts_products_and_convolutions_and_gradients_arrive_in_float32():
    net, seen = network(), Seen()
    loss = step(net, seen, Autocast())  # the mode entered last sees an op first
    dtypes = dict(seen.dtypes)
    assert set(dtypes["Convolution"]) == set(dtypes["Linear"]) == {torch.bfloat16}
    assert dtypes["CrossEntropy"][0] is loss.dtype is torch.float32
    for parameter in net.parameters():
        assert parameter.dtype is parameter.grad.dtype is torch.float32
    plain = network()
    step(plain)
    for a, b in zip(net.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=0.1, atol=0.02)


@pytest.mark.parametrize("inner, outer", [(torch.float16, torch.float32)])
def test_a_mode_is_asked_before_dtypes_are_checked(inner, outer):
    weight, kernel = torch.ones(2, 3, dtype=inner), torch.ones(1, 1, 2, 2, dtype=inner)
    x, image = torch.ones(1, 3, dtype=outer), torch.ones(1, 1, 3, 3, dtype=outer)
    calls = [lambda: F.linear(x, weight), lambda: x @ weight.t(), lambda: F.conv2d(image, kernel)]
    calls += [lambda: F.conv_transpose2d(image, kernel), lambda: torch.mm(x, weight.t())]
    for call in calls:
        with pytest.raises(RuntimeError):
            call()
        with Autocast():
            assert call().dtype is torch.bfloat16


def test_the_kinds_of_calls():
    x = torch.arange(6.0).view(2, 3)
    with Seen() as seen:
        x.exp(), x.t(), x[0], x[:, 1:], x.add_(1), torch.cat((x, x)), torch.exp(x, out=x * 1)
        torch.max(x, 1), x.split(1), torch.einsum("ij,kj->ik", x, x), x.uniform_()
        x[0] = 1
        x[x > 0] = 2
    expected = {
        ("Exp", ORDINARY), ("T", "view"), ("Select", "view"), ("Slice", "view"),
        ("Add", IN_PLACE), ("Cat", ORDINARY), ("Mul", ORDINARY), ("Max", ORDINARY),
    }  # fmt: skip
    assert expected <= set(seen.calls), expected - set(seen.calls)
    # torch.exp, split, einsum's product, uniform_, and what is assigned to: a part and a mask
    names = seen.names()
    assert names.count("Exp") == 2 and names.count("Mm") == 1 and names.count("Draw") == 1, names
    written = [("Part", "view"), ("CopyIntoView", IN_PLACE), ("Gt", ORDINARY)]
    assert seen.calls[-4:] == [*written, ("MaskedFill", IN_PLACE)]


def test_modes_nest_and_leave_no_trace_after_an_error():
    x = torch.ones(2)

    class Refuses(OpMode):
        def forward(self, call, op, arguments, kind):
            raise ValueError(op.__name__)

    with Seen() as outer:
        with Seen() as inner, pytest.raises(ValueError, match="Exp"), Refuses():
            x.exp()
        x.sin()
    x.cos()
    assert inner.names() == [] and outer.names() == ["Sin"]


def test_what_a_mode_computes_itself_is_seen_by_those_outside_of_it():
    class Twice(OpMode):
        def forward(self, call, op, arguments, kind):
            return call(op, arguments) * 2

    with Seen() as outer, Twice():
        result = torch.ones(2).exp()
    assert outer.names() == ["Exp", "Mul"]
    assert result.tolist() == pytest.approx([2 * 2.718281828] * 2)


def writes():
    """In-place ops of what has no history, and of a leaf that is not recorded."""
    x, leaf = torch.ones(3), torch.ones(3, requires_grad=True)
    (
        x.add_(1),
        x.relu_(),
        x.clamp_(0, 2),
        x.copy_(torch.ones(3)),
        x.zero_(),
        x.scatter_(0, SECOND, 4.0),
    )
    x[0], x[x > 3], x[SECOND] = 5.0, 6.0, torch.ones(1)
    torch.exp(x, out=x), x.detach().mul_(2), nn.BatchNorm1d(1)(x.view(3, 1))
    with torch.no_grad():
        leaf.add_(1)
        leaf[0] = 3.0
    return x, leaf.detach(), torch.cat((x, x)), x.uniform_(generator=torch.Generator())


SECOND = torch.tensor([1])


@pytest.mark.parametrize("mode", ["anomaly", "saved hooks", "watched", "watched anomaly"])
def test_what_has_no_history_is_written_in_every_mode(mode):
    expected = writes()
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)
    with contextlib.ExitStack() as stack:
        if "anomaly" in mode:
            stack.enter_context(torch.autograd.set_detect_anomaly(True))
        if "hooks" in mode:
            stack.enter_context(hooks)
        if "watched" in mode:
            stack.enter_context(OpMode())
        found = writes()
    for a, b in zip(found, expected, strict=True):
        assert torch.equal(a, b)


class Named(Seen):
    """Sees the ops and functions of its names only."""

    def __init__(self, names):
        super().__init__()
        self.sees = frozenset(names.split())

    def takes_whole(self, name, arguments):
        self.calls.append(("asked of", name))
        return len(arguments) == 2


def test_a_mode_sees_what_it_names():
    x, weight = torch.ones(2), torch.ones(1)
    with Seen() as every, Named("Exp Add") as outer, Named("Exp prelu") as inner:
        x.exp(), x.sin(), x.add_(1), F.prelu(x, weight), F.prelu(x, weight=weight)
        F.kl_div(x, x, reduction="sum")
    asked = ("asked of", "prelu"), ("prelu", ORDINARY)
    assert inner.calls == [("Exp", ORDINARY), *asked, *asked]
    assert [call for call in outer.calls if call[0] != "asked of"][:2] == [
        ("Exp", ORDINARY),
        ("Add", IN_PLACE),
    ]
    assert {"Exp", "Sin", "Add", "Mul"} <= set(every.names()) and "prelu" not in every.names()
    with Named("Exp") as inner, torch.autograd.set_detect_anomaly(True):
        x.exp(), x.sin(), torch.exp(x, out=x * 1), torch.sin(x, out=x * 1), x.cos_()
    assert inner.names() == ["Exp", "Exp"]


def python_calls(call):
    """The Python functions that it enters."""
    entered = []
    sys.setprofile(lambda frame, event, arg: event == "call" and entered.append(frame.f_code))
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


X, PRELU = torch.ones(2, 2), nn.PReLU()
UNNAMED = {
    "relu": X.relu, "relu_": X.relu_, "softmax": lambda: X.softmax(0),
    "kl_div": lambda: F.kl_div(X, X, reduction="sum"), "trace": lambda: X.trace(),
    "einsum": lambda: torch.einsum("ij,jk", X, X), "PReLU": lambda: PRELU(X),
}  # fmt: skip


@pytest.mark.parametrize("name", UNNAMED)
def test_what_a_mode_does_not_name_runs_as_without_it(name):
    call = UNNAMED[name]
    call()  # plans are made once
    plain = python_calls(call)
    with Named("Exp"):
        assert python_calls(call) == plain


def test_a_function_as_one_costs_no_call_of_its_own():
    assert python_calls(lambda: F.kl_div(X, X, reduction="sum"))[1].co_name == "kl_div"
    for function in F.kl_div, torch.einsum, F.prelu, torch.Tensor.trace:
        assert type(function.__wrapped__) is types.FunctionType
        assert not hasattr(function.__wrapped__, "__wrapped__")
    assert torch.bilinear is F.bilinear and pickle.loads(pickle.dumps(F.kl_div)) is F.kl_div


class Counted(OpMode):
    """Counts calls; a tensor behind an op's inputs would be lost to autocast and to the graph."""

    def __init__(self):
        self.calls = 0

    def forward(self, call, op, arguments, kind):
        self.calls += 1
        behind = () if op in VARIADIC else arguments[op.arity :]
        assert not any(isinstance(x, torch.Tensor) for x in behind), op
        return call(op, arguments)


VARIADIC = (join.Cat, join.Stack, split.PlaceParts)


@by_name([case for case in CASES if case.dtypes])
def test_a_mode_sees_every_call_and_changes_no_bit(case):
    dtype = "float64" if "float64" in case.dtypes else case.dtypes[0]
    shapes = (case.shapes or SHAPES[case.arity])[0]
    inputs = case.domains, shapes, CONTIGUOUS[: case.arity], [dtype] * case.arity

    def run():
        if case.gradient and dtype == "float64":
            return gradients(torch, case, inputs, "cpu")
        return case(torch, *operands(torch, *inputs, "cpu"))

    error, plain = outcome(run)
    with Counted() as seen:
        same_error, watched = outcome(run)
    assert repr(error) == repr(same_error)
    assert seen.calls or error
    for a, b in zip(plain, watched, strict=True):
        if isinstance(a, torch.Tensor):
            assert array_of(a).tobytes() == array_of(b).tobytes() and a.stride() == b.stride()
