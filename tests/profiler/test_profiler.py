"""torch.profiler: events, tables and counts of operations, next to PyTorch's; wrong calls."""

from __future__ import annotations

import threading
import warnings

import pytest
from tiny_torch.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule

import tiny_torch as torch
from tiny_torch import nn, optim
from tiny_torch.base.modes import modes
from tiny_torch.nn import functional as F


def names(prof, *without):
    return [event.name for event in prof.events() if not event.name.startswith(without or ("?",))]


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(36, 10),
    )  # fmt: skip


def step(net, optimizer=None):
    loss = F.cross_entropy(net(torch.randn(2, 3, 8, 8)), torch.tensor([1, 2]))
    loss.backward()
    if optimizer is not None:
        optimizer.step()
        optimizer.zero_grad()


# ---- what is seen -------------------------------------------------------------------------------


def test_a_training_step():
    net = network()
    with profile() as prof:
        step(net, optim.SGD(net.parameters(), lr=0.1))
    assert names(prof) == [
        "aten::normal_", "aten::conv2d", "aten::add_", "aten::batch_norm", "aten::relu",
        "aten::max_pool2d", "aten::view", "aten::linear", "aten::cross_entropy_loss",
        "NllLossBackward0", "AddmmBackward0", *["torch::autograd::AccumulateGrad"] * 2,
        "ViewBackward0", "MaxPool2DWithIndicesBackward0", "ReluBackward0",
        "NativeBatchNormBackward0", *["torch::autograd::AccumulateGrad"] * 2,
        "ConvolutionBackward0", *["torch::autograd::AccumulateGrad"] * 2,
        "Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad",
    ]  # fmt: skip
    assert modes.bits == 0


def test_nothing_is_seen_outside():
    with profile() as prof:
        pass
    torch.ones(2) * 2
    assert prof.events() == [] and prof.key_averages().table() == ""


def test_forms_of_a_call():
    x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    out = torch.empty(2, 2)
    y = w * 1
    with profile() as prof:
        x.add_(1)
        torch.mul(x, 2, out=out)
        torch.sort(x, out=(out, torch.empty(2, 2, dtype=torch.int64)))
        y.mul_(2)
        x.t()
        x[0]
        x.sum(0)
        y.backward(x)
    assert names(prof) == [
        "aten::add_", "aten::mul", "aten::sort", "aten::mul_", "aten::t", "aten::select",
        "aten::sum", "MulBackward0", "MulBackward0", "torch::autograd::AccumulateGrad",
    ]  # fmt: skip


def test_modes_do_not_count_twice():
    x = torch.ones(2, 2)
    with torch.autocast("cpu"), profile() as prof:
        x @ x
    assert names(prof) == ["aten::to", "aten::to", "aten::mm"]
    with profile() as prof, torch.autograd.detect_anomaly(check_nan=False):
        (torch.ones(2, requires_grad=True) * 2).sum().backward()
    assert names(prof).count("aten::mul") == names(prof).count("MulBackward0") == 1


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_functions_of_a_user_are_linked_with_their_backward():
    x = torch.ones(2, requires_grad=True)
    with profile() as prof:
        Double.apply(x).sum().backward()
    assert names(prof) == [
        "Double", "aten::mul", "aten::sum", "SumBackward0", "DoubleBackward", "aten::mul",
        "torch::autograd::AccumulateGrad",
    ]  # fmt: skip
    forward, backward = prof.events()[0], prof.events()[4]
    assert forward.sequence_nr == backward.sequence_nr >= 0
    assert backward.fwd_thread == forward.thread and backward.scope == 1


def test_a_node_takes_the_time_of_its_gradients():
    """Those of a table and of a weight are computed where they are added to a leaf's."""
    table, weight = torch.ones(1000, 8, requires_grad=True), torch.ones(50, 8, requires_grad=True)
    with profile(profile_memory=True) as prof:
        F.linear(F.embedding(torch.tensor([1, 2]), table), weight).sum().backward()
    took = {event.name: event.cpu_memory_usage for event in prof.events()}
    assert took["EmbeddingBackward0"] >= 4 * 1000 * 8 and took["MmBackward0"] >= 4 * 50 * 8


def test_blocks_nest():
    @record_function("twice")
    def twice(x):
        return x * 2

    with profile() as prof, record_function("outer"):
        with record_function("inner"):
            twice(torch.ones(2))
        torch.ones(2) + 1
    outer, inner, function, mul, add = prof.events()
    assert [e.name for e in prof.events()] == ["outer", "inner", "twice", "aten::mul", "aten::add"]
    assert outer.cpu_children == [inner, add] and mul.cpu_parent is function
    assert outer.is_user_annotation and not mul.is_user_annotation
    own = outer.cpu_time_total - inner.cpu_time_total - add.cpu_time_total
    assert outer.self_cpu_time_total == pytest.approx(own) and own > 0
    total = sum(event.self_cpu_time_total for event in prof.events())
    assert total == pytest.approx(outer.cpu_time_total)


def test_an_exception_closes_what_it_leaves():
    with pytest.raises(ZeroDivisionError), profile() as prof, record_function("block"):
        torch.ones(2) * (1 / 0)
    assert names(prof) == ["block"] and modes.bits == 0

    def fail(grad):
        raise ValueError

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.register_hook(lambda *gradients: fail(gradients))
    with profile() as prof:
        with record_function("block"), pytest.raises(ValueError):
            y.sum().backward()
        torch.ones(2) + 1
    block, _, _, node, add = prof.events()
    assert node.name == "MulBackward0" and node.cpu_parent is block
    assert node.time_range.end <= block.time_range.end and add.cpu_parent is None


def test_modules():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    with profile(with_modules=True) as prof:
        net(torch.ones(1, 2))
        net(torch.ones(1, 2))
    names_of_one = [
        "nn.Module: Sequential_0", "nn.Module: Linear_0", "aten::linear", "nn.Module: Sequential_1",
        "nn.Module: Linear_1", "aten::linear", "nn.Module: ReLU_0", "aten::relu",
    ]  # fmt: skip
    assert names(prof) == 2 * names_of_one
    assert prof.events()[7].cpu_parent.cpu_parent.name == "nn.Module: Sequential_1"
    with profile() as prof:
        net(torch.ones(1, 2))
    assert len(prof.events()) == 3  # only who asks sees modules


def test_stacks_of_backward_are_those_of_forward():
    w = torch.ones(2, 2, requires_grad=True)
    with profile(with_stack=True) as prof:
        y = w.exp()
        y.sum().backward()
    exp = prof.events()[0]
    assert f"{__file__}({exp_line}): {exp_name}" in exp.stack
    backward = next(event for event in prof.events() if event.name == "ExpBackward0")
    assert backward.stack == exp.stack
    assert len(prof.key_averages(group_by_stack_n=5)) == 5
    assert "Source Location" in prof.key_averages(group_by_stack_n=3).table()


exp_name = "test_stacks_of_backward_are_those_of_forward"
exp_line = globals()[exp_name].__code__.co_firstlineno + 3


def test_memory():
    with profile(profile_memory=True) as prof:
        x = torch.zeros(1000) + 1
        y = x.view(10, 100)
        z = y.sum()
    add, view, total = prof.events()
    assert 4000 <= add.cpu_memory_usage < 4200 and view.cpu_memory_usage == 0
    assert 0 < total.cpu_memory_usage < 200 and z.item() == 1000
    assert "Self CPU Mem" in prof.key_averages().table()


def test_shapes():
    with profile(record_shapes=True) as prof:
        torch.cat([torch.ones(2, 3), torch.ones(1, 3)])
        for n in (4, 4, 5):
            torch.ones(3, n) * torch.ones(n)
    cat, *_ = prof.events()
    assert cat.input_shapes[:2] == [[2, 3], [1, 3]] and cat.input_dtypes[0] == "float32"
    groups = prof.key_averages(group_by_input_shape=True)
    assert [(g.key, g.count, g.input_shapes) for g in groups][1:] == [
        ("aten::mul", 2, [[3, 4], [4]]), ("aten::mul", 1, [[3, 5], [5]]),
    ]  # fmt: skip
    assert [group.count for group in prof.key_averages()] == [1, 3]


def test_a_thread_is_profiled_on_its_own():
    found = []

    def work():
        torch.ones(2) * 2
        with profile() as prof:
            torch.ones(2).exp()
        found.extend(names(prof))

    with profile() as prof:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        torch.ones(2) + 1
    assert found == ["aten::exp"] and names(prof) == ["aten::add"]


def test_a_block_that_ends_elsewhere_troubles_nobody():
    block = record_function("begun in one profile")
    with profile() as prof:
        block.__enter__()
    assert names(prof) == ["begun in one profile"]
    with profile() as prof:
        torch.ones(2) * 2
        block.__exit__(None, None, None)
    assert names(prof) == ["aten::mul"]
    with profile():
        for _ in range(5):
            block.__enter__()

    def leave_all():
        with profile() as other:
            for _ in range(5):
                block.__exit__(None, None, None)
        assert other.events() == []

    thread = threading.Thread(target=leave_all)
    thread.start()
    thread.join()


def test_loaders_are_seen():
    loader = torch.utils.data.DataLoader([1, 2, 3], batch_size=2)
    with profile() as prof:
        list(loader)
    mark = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert names(prof).count(mark) == 3


# ---- schedules ----------------------------------------------------------------------------------


def test_cycles():
    ready = []
    plan = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=lambda p: ready.append((p.step_num, names(p)))) as p:
        for _ in range(10):
            torch.ones(2) * 2
            p.step()
    step_of = ["ProfilerStep*", "aten::mul"]
    assert ready == [(4, 2 * step_of), (8, 2 * step_of)]
    assert [e.trace_name for e in p.events()][::2] == ["ProfilerStep#6", "ProfilerStep#7"]


def test_events_of_cycles_may_be_kept():
    plan = schedule(wait=0, warmup=1, active=1, repeat=2)
    with profile(schedule=plan, acc_events=True) as prof:
        for _ in range(4):
            torch.ones(2) * 2
            prof.step()
    assert names(prof, "ProfilerStep") == ["aten::mul"] * 2


def test_start_and_stop():
    prof = profile()
    prof.start()
    torch.ones(2) * 2
    prof.stop()
    torch.ones(2) + 2
    assert names(prof) == ["aten::mul"]
    prof.start()
    torch.ones(2).exp()
    prof.stop()
    assert names(prof) == ["aten::exp"]


# ---- wrong calls --------------------------------------------------------------------------------

UNREADY = [
    ("key_averages", "Profiler must be initialized before getting key averages"),
    ("events", "Profiler must be initialized before accessing events"),
    ("stop", "Profiler must be initialized before stopping trace"),
]


@pytest.mark.parametrize(("method", "message"), UNREADY)
def test_before_the_start(method, message):
    with pytest.raises(AssertionError, match=message):
        getattr(profile(), method)()


WRONG = [
    (AssertionError, "No valid profiler activities", lambda: profile(activities=[])),
    (AssertionError, "No valid profiler activities", lambda: profile(activities=["cpu"])),
    (ValueError, "more than once", lambda: profile(activities=2 * [ProfilerActivity.CPU])),
    (TypeError, "Expected ProfilerActivity", lambda: profile(activities=[ProfilerActivity.CPU, 1])),
    (AssertionError, "wait=-1", lambda: schedule(wait=-1, warmup=1, active=1)),
    (AssertionError, "active=0", lambda: schedule(wait=0, warmup=1, active=0)),
    (AssertionError, "Got -1", lambda: schedule(wait=0, warmup=1, active=1)(-1)),
    (ValueError, "DEVICE_STOPPED", lambda: profile(schedule=lambda n: ProfilerAction(4))),
    (NotImplementedError, "experimental_config", lambda: profile(experimental_config=1)),
    (NotImplementedError, "observer", lambda: profile(execution_trace_observer=1)),
    (ValueError, "non-negative", lambda: profile(post_processing_timeout_s=-1).__enter__()),
    (RuntimeError, "found type 'int'", lambda: record_function(3).__enter__()),
    (RuntimeError, "not reentrant", lambda: entered_twice()),
    (RuntimeError, "already enabled", lambda: nested()),
    (AttributeError, "no attribute 'foo'", lambda: averages().table(sort_by="foo")),
    (AssertionError, "with_stack=True", lambda: finished().export_stacks("x")),
    (ValueError, "metric should be one of", lambda: averages().export_stacks("x", "foo")),
]


def finished():
    with profile() as prof:
        torch.ones(2) * 2
    return prof


def averages():
    return finished().key_averages()


def entered_twice():
    with torch.autograd.profiler.profile() as prof, prof:
        pass


def nested():
    with profile(), profile():
        pass


@pytest.mark.parametrize(("kind", "message", "call"), WRONG)
def test_wrong_calls(kind, message, call):
    with pytest.raises(kind, match=message):
        call()
    assert modes.bits == 0
    assert len(finished().events()) == 1


def test_devices_that_are_not_measured_warn():
    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    expected = "not measured" if torch.cuda.is_available() else "CUDA is not available, disabling"
    with pytest.warns(UserWarning, match=expected), profile(activities=both) as prof:
        torch.ones(2) * 2
    assert names(prof) == ["aten::mul"]
    with warnings.catch_warnings(), pytest.raises(AssertionError, match="No activities specified"):
        warnings.simplefilter("ignore")
        profile(activities=[ProfilerActivity.CUDA]).start()


def test_parsing_may_be_cut_short():
    with profile(post_processing_timeout_s=0.0) as prof:
        torch.ones(2) * 2
    assert prof.events() == []
