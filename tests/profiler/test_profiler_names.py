"""The profiler next to PyTorch's: names of ops and nodes, counts of operations, schedules."""

from __future__ import annotations

import re
import warnings

import pytest

import tiny_torch as torch
from tiny_torch.autograd._profiler.table import format_memory, format_time

theirs = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def profiled(package, call, **options):
    """The profile of a call of the package, and of the result's backward, if it has one."""
    package.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with package.profiler.profile(**options) as prof:
            result = call(package)
            if isinstance(result, package.Tensor) and result.requires_grad:
                result.sum().backward()
    return prof


def r(package, *shape, grad=False):
    return package.randn(*shape, requires_grad=grad)


def f(package):
    return package.nn.functional


CALLS = {
    "activations": lambda p: [
        getattr(f(p), name)(r(p, 3, 4))
        for name in ("relu", "gelu", "silu", "elu", "softplus", "hardtanh", "leaky_relu", "mish")
    ],
    "arithmetic": lambda p: [
        r(p, 3) + 1, r(p, 3) - 1, r(p, 3) * 2, r(p, 3) / 2, r(p, 3) ** 2, -r(p, 3), r(p, 3) // 2,
        r(p, 3) % 2, r(p, 3).abs(), r(p, 3).exp(), r(p, 3).clamp(0, 1), p.where(r(p, 3) > 0, 1, 0),
        p.lerp(r(p, 3), r(p, 3), 0.5), p.addcmul(r(p, 3), r(p, 3), r(p, 3)), p.log1p(r(p, 3)),
        p.maximum(r(p, 3), r(p, 3)), p.deg2rad(r(p, 3)), r(p, 3) == 0, r(p, 3).round(decimals=1),
    ],
    "in place": lambda p: [
        r(p, 3).add_(1), r(p, 3).mul_(2), r(p, 3).zero_(), r(p, 3).fill_(1), r(p, 3).relu_(),
        r(p, 3).copy_(r(p, 3)), r(p, 3).uniform_(), r(p, 3).random_(0, 3), r(p, 3).exponential_(),
    ],
    "products": lambda p: [
        r(p, 2, 3) @ r(p, 3, 4), p.mm(r(p, 2, 3), r(p, 3, 4)), p.bmm(r(p, 2, 2, 3), r(p, 2, 3, 4)),
        r(p, 3) @ r(p, 3), r(p, 2, 3) @ r(p, 3), r(p, 2, 2, 3) @ r(p, 2, 3, 4),
        p.addmm(r(p, 4), r(p, 2, 3), r(p, 3, 4)), p.baddbmm(r(p, 2, 2, 4), *matrices(p)),
        f(p).linear(r(p, 2, 3), r(p, 4, 3), r(p, 4)),
    ],
    "convolutions": lambda p: [
        f(p).conv1d(r(p, 2, 3, 9), r(p, 4, 3, 3)), f(p).conv2d(r(p, 2, 3, 9, 9), r(p, 4, 3, 3, 3)),
        f(p).conv3d(r(p, 2, 3, 5, 5, 5), r(p, 4, 3, 3, 3, 3)),
        f(p).conv_transpose1d(r(p, 2, 3, 9), r(p, 3, 4, 3)),
        f(p).conv_transpose2d(r(p, 2, 3, 5, 5), r(p, 3, 4, 3, 3)),
    ],
    "pools": lambda p: [
        f(p).max_pool2d(r(p, 1, 2, 6, 6), 2), f(p).avg_pool2d(r(p, 1, 2, 6, 6), 2),
        f(p).adaptive_avg_pool2d(r(p, 1, 2, 6, 6), 2), f(p).max_pool1d(r(p, 1, 2, 6), 2),
    ],
    "norms": lambda p: [
        f(p).layer_norm(r(p, 2, 3), (3,)), f(p).group_norm(r(p, 2, 4, 3), 2),
        f(p).batch_norm(r(p, 4, 3), p.zeros(3), p.ones(3)), r(p, 3).norm(),
    ],
    "reductions": lambda p: [
        r(p, 3).sum(), r(p, 3).mean(), r(p, 3, 3).max(1), r(p, 3).max(), r(p, 3).argmax(),
        r(p, 3, 3).softmax(1), r(p, 3, 3).log_softmax(1), r(p, 3).cumsum(0), r(p, 3).var(),
        r(p, 3).prod(), r(p, 3).logsumexp(0), p.any(r(p, 3) > 0), r(p, 3).median(),
    ],
    "losses": lambda p: [
        f(p).cross_entropy(r(p, 3, 4), p.tensor([0, 1, 2])), f(p).mse_loss(r(p, 3), r(p, 3)),
        f(p).nll_loss(r(p, 3, 4), p.tensor([0, 1, 2])), f(p).smooth_l1_loss(r(p, 3), r(p, 3)),
    ],
    "shapes": lambda p: [
        r(p, 2, 3).view(6), r(p, 2, 3).t(), r(p, 2, 3).transpose(0, 1), r(p, 2, 3).permute(1, 0),
        r(p, 2, 3)[0], r(p, 2, 3)[:, 1:], r(p, 1, 3).squeeze(0), r(p, 3).unsqueeze(0),
        r(p, 1, 3).expand(2, 3), p.cat([r(p, 2), r(p, 2)]), p.stack([r(p, 2), r(p, 2)]),
        r(p, 4).split(2), r(p, 3).flip(0), r(p, 3).clone(), r(p, 3).double(), r(p, 3, 3).tril(),
        r(p, 3).gather(0, p.tensor([1])), r(p, 3).index_select(0, p.tensor([1])),
        r(p, 3)[p.tensor([1])], r(p, 3).sort(), r(p, 3).topk(2),
        r(p, 3).masked_fill(r(p, 3) > 0, 1), f(p).embedding(p.tensor([1]), r(p, 3, 2)),
        f(p).pad(r(p, 3, 3), (1, 1)),
    ],
}  # fmt: skip


def matrices(p):
    return r(p, 2, 2, 3), r(p, 2, 3, 4)


@pytest.mark.parametrize("kind", CALLS)
def test_names_of_ops(kind):
    known = {event.name for event in profiled(theirs, CALLS[kind]).events()}
    found = {event.name for event in profiled(torch, CALLS[kind]).events()}
    assert found <= known


BACKWARD = {
    "linear": lambda p: f(p).linear(r(p, 2, 3), r(p, 4, 3, grad=True), r(p, 4, grad=True)),
    "mm": lambda p: r(p, 2, 3, grad=True) @ r(p, 3, 4),
    "conv": lambda p: f(p).conv2d(r(p, 1, 1, 4, 4), r(p, 1, 1, 3, 3, grad=True)),
    "mean": lambda p: r(p, 3, grad=True).exp().mean(),
    "softmax": lambda p: r(p, 3, grad=True).softmax(0),
    "cross entropy": lambda p: f(p).cross_entropy(r(p, 3, 4, grad=True), p.tensor([0, 1, 2])),
    "norm": lambda p: f(p).layer_norm(r(p, 2, 3, grad=True), (3,)),
    "pow": lambda p: r(p, 3, grad=True) ** 3,
}


@pytest.mark.parametrize("kind", BACKWARD)
def test_names_of_nodes(kind):
    nodes = [
        {e.name for e in profiled(package, BACKWARD[kind]).events() if "Backward" in e.name}
        for package in (torch, theirs)
    ]
    prefix = "autograd::engine::evaluate_function: "
    assert nodes[0] <= {name.removeprefix(prefix) for name in nodes[1]}


COUNTED = {
    "conv2d": lambda p: f(p).conv2d(
        r(p, 2, 4, 9, 9), r(p, 6, 2, 3, 3), r(p, 6), stride=2, padding=1, dilation=2, groups=2
    ),
    "conv2d, uneven": lambda p: f(p).conv2d(
        r(p, 2, 4, 9, 7), r(p, 6, 4, 3, 2), None, (2, 1), (0, 1), (1, 2)
    ),
    "linear": lambda p: f(p).linear(r(p, 2, 3, 4), r(p, 5, 4), r(p, 5)),
    "linear without bias": lambda p: f(p).linear(r(p, 2, 4), r(p, 5, 4)),
    "3D @ 2D": lambda p: r(p, 2, 3, 4) @ r(p, 4, 5),
    "3D @ 3D": lambda p: r(p, 2, 3, 4) @ r(p, 2, 4, 5),
    "4D @ 3D": lambda p: r(p, 3, 2, 3, 4) @ r(p, 2, 4, 5),
    "1D @ 3D": lambda p: r(p, 3) @ r(p, 2, 3, 4),
    "mm": lambda p: p.mm(r(p, 2, 3), r(p, 3, 4)),
    "bmm": lambda p: p.bmm(*matrices(p)),
    "addmm": lambda p: p.addmm(r(p, 2, 5), r(p, 2, 4), r(p, 4, 5)),
    "baddbmm": lambda p: p.baddbmm(r(p, 2, 2, 4), *matrices(p)),
    "add": lambda p: r(p, 3, 4) + r(p, 2, 3, 4),
    "mul": lambda p: r(p, 3, 1) * r(p, 2, 3, 4),
    "a number + x": lambda p: 2 + r(p, 3, 4),
    "0-d": lambda p: p.tensor(2.0) * p.tensor(3.0),
    "in place": lambda p: r(p, 3).mul_(2),
    "sub": lambda p: r(p, 3) - r(p, 3),
    "backward of mm": lambda p: r(p, 3, 4, grad=True) @ r(p, 4, 5, grad=True),
    "backward of one factor": lambda p: p.bmm(r(p, 2, 3, 4, grad=True), r(p, 2, 4, 5)),
    "backward of linear": lambda p: f(p).linear(
        r(p, 2, 3, 4, grad=True), r(p, 5, 4, grad=True), r(p, 5, grad=True)
    ),
    "backward of addmm": lambda p: p.addmm(r(p, 5, grad=True), r(p, 3, 4), r(p, 4, 5, grad=True)),
    "backward of a convolution": lambda p: f(p).conv2d(
        r(p, 1, 2, 5, 5), r(p, 3, 2, 3, 3, grad=True)
    ),
}


@pytest.mark.parametrize("kind", COUNTED)
def test_counts_of_operations(kind):
    counts = [
        profiled(package, COUNTED[kind], with_flops=True).key_averages().total_average().flops
        for package in (torch, theirs)
    ]
    assert counts[0] == counts[1]


# What PyTorch's profiler counts none of: those of its torch.utils.flop_counter.
OF_THE_COUNTER = {
    "conv1d": lambda p: f(p).conv1d(r(p, 2, 4, 9), r(p, 6, 4, 3)),
    "conv3d": lambda p: f(p).conv3d(r(p, 2, 4, 5, 5, 5), r(p, 6, 4, 3, 3, 3)),
    "conv_transpose2d": lambda p: f(p).conv_transpose2d(r(p, 2, 4, 9, 9), r(p, 4, 6, 3, 3)),
    "attention": lambda p: f(p).scaled_dot_product_attention(
        r(p, 2, 3, 4, 5), r(p, 2, 3, 6, 5), r(p, 2, 3, 6, 7)
    ),
}


@pytest.mark.parametrize("kind", OF_THE_COUNTER)
def test_counts_of_the_flop_counter(kind):
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        OF_THE_COUNTER[kind](theirs)
    prof = profiled(torch, OF_THE_COUNTER[kind], with_flops=True)
    assert prof.key_averages().total_average().flops == counter.get_total_flops() > 0


PLANS = [
    {"wait": 1, "warmup": 1, "active": 2}, {"wait": 0, "warmup": 1, "active": 1, "repeat": 2},
    {"wait": 2, "warmup": 1, "active": 3, "repeat": 2, "skip_first": 3},
    {"wait": 2, "warmup": 1, "active": 1, "skip_first": 3, "skip_first_wait": 1},
]  # fmt: skip


@pytest.mark.parametrize("plan", PLANS)
def test_schedules(plan):
    ours, expected = (package.profiler.schedule(**plan) for package in (torch, theirs))
    assert [ours(n).name for n in range(40)] == [expected(n).name for n in range(40)]


# The actions of some steps, also in orders that make no sense. (RECORD before WARMUP ends PyTorch.)
TURNS = [
    "NONE WARMUP RECORD RECORD_AND_SAVE NONE", "RECORD_AND_SAVE RECORD_AND_SAVE RECORD",
    "WARMUP NONE NONE", "RECORD NONE", "RECORD RECORD", "WARMUP RECORD_AND_SAVE WARMUP RECORD",
]  # fmt: skip


@pytest.mark.parametrize("actions", TURNS)
def test_turns(actions):
    found = []
    for package in (torch, theirs):
        kinds = [getattr(package.profiler.ProfilerAction, name) for name in actions.split()]
        kinds += [package.profiler.ProfilerAction.NONE] * 2
        ready = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with package.profiler.profile(
                schedule=kinds.__getitem__,
                on_trace_ready=lambda prof, ready=ready: ready.append(
                    (prof.step_num, [e.count for e in prof.key_averages() if "mul" in e.key])
                ),
            ) as prof:
                for _ in range(len(kinds) - 1):
                    package.ones(2) * 2
                    prof.step()
        said = [str(w.message) for w in caught if "Incorrect" in str(w.message)]
        found.append((ready, said))
    assert found[0] == found[1]


def test_tables_have_their_columns():
    options = {"record_shapes": True, "profile_memory": True, "with_flops": True}
    tables = [
        profiled(package, lambda p: r(p, 30, 40) @ r(p, 40, 50), **options)
        .key_averages(group_by_input_shape=True)
        .table(sort_by="cpu_time_total", row_limit=1, header="made by", time_unit="us")
        for package in (torch, theirs)
    ]
    mine, other = (table.splitlines() for table in tables)
    assert mine[0][0] == other[0][0] == "=" and mine[1] == other[1] == "made by"
    assert re.split(r"  +", mine[3].strip()) == re.split(r"  +", other[3].strip())
    assert [len(line) for line in (mine[2], mine[3])] == [len(mine[4])] * 2
    assert mine[-1].startswith("Self CPU time total: ") and mine[-1].endswith("us")


def test_numbers_are_written_alike():
    util = theirs.autograd.profiler_util
    for number in (0, 0.5, 999.9, 1000, 123456.7, 1e6, 2.5e8):
        assert format_time(number) == util._format_time(number)
    for number in (0, 5, -5, 1024, -3000, 5 << 20, -(7 << 30)):
        assert format_memory(number) == util._format_memory(number)
