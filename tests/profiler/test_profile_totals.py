"""What a profile's page adds up: phases, work, memory's peak; the machine's limits."""

from __future__ import annotations

import json

import pytest
from tiny_torch.profiler import limits as limits_module
from tiny_torch.profiler.command import ScriptRecord
from tiny_torch.profiler.limits import Limits, cache_file, limits
from tiny_torch.profiler.peak import ACTIVATIONS, peak_of
from tiny_torch.profiler.totals import BACKWARDS, ENGINE, FORWARD, OPTIMIZERS, PYTHON

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F

LIMITS = Limits(1e9, 1e9)


def watched(work):
    watch = ScriptRecord()
    watch.begin()
    try:
        kept = work()
    finally:
        watch.end()
    totals = watch.totals(LIMITS)
    return totals, peak_of(watch.changes, totals), kept


def r(*shape, grad=False, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype, requires_grad=grad)


# ---- phases -------------------------------------------------------------------------------------


def test_phases_of_a_step():
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(net.parameters())

    def step():
        net(r(32, 64)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    totals, _, _ = watched(step)
    assert all(
        totals.shares[phase] > 0 for phase in (FORWARD, BACKWARDS, OPTIMIZERS, ENGINE, PYTHON)
    )
    assert sum(totals.shares.values()) == pytest.approx(totals.wall)
    # what a leaf's .grad takes counts to the node before it: its module and its line
    assert "torch::autograd::AccumulateGrad" not in totals.ops
    assert totals.ops["aten::linear, backward"].calls == 2
    assert {*totals.modules} == {"Sequential", "Sequential.0", "Sequential.1", "Sequential.2"}
    assert not [line for line in totals.lines if "test_profile_totals" not in line]


def test_numbers_are_calls():
    plain = torch.Tensor.item
    totals, _, _ = watched(lambda: (r().item(), bool(r()), float(r()), int(r())))
    assert totals.ops["aten::item"].calls == 4
    assert torch.Tensor.item is plain


# ---- work ---------------------------------------------------------------------------------------
F32, F64 = 4, 8
# {a call: (name, operations, bytes)}; bytes: inputs read once, results written once
WORK = {
    "elementwise": (lambda: r(10, 3) + r(3), "aten::add", 30, F32 * (30 + 3 + 30)),
    "by a number": (lambda: r(10).exp() ** 2, "aten::pow", 0, F32 * 20),
    "in place": (lambda: r(10).mul_(r(10)), "aten::mul_", 10, F32 * 30),
    "float64": (lambda: r(10, dtype=torch.float64).sqrt(), "aten::sqrt", 0, F64 * 20),
    "cast": (lambda: r(10).double(), "aten::to", 0, 10 * (F32 + F64)),
    "matmul": (lambda: r(2, 3, 4) @ r(4, 5), "aten::matmul", 240, F32 * (24 + 20 + 30)),
    "linear": (lambda: F.linear(r(6, 4), r(5, 4), r(5)), "aten::linear", 240,
               F32 * (24 + 20 + 5 + 30)),
    "conv": (lambda: F.conv2d(r(1, 2, 5, 5), r(4, 2, 3, 3)), "aten::conv2d", 2 * 36 * 18,
             F32 * (50 + 72 + 36)),
    "pool": (lambda: F.max_pool2d(r(1, 2, 4, 4), 2), "aten::max_pool2d", 0, F32 * (32 + 8)),
    "softmax": (lambda: r(3, 7).softmax(1), "aten::softmax", 0, F32 * 42),
    "norm": (lambda: F.layer_norm(r(3, 7), (7,), r(7)), "aten::layer_norm", 0, F32 * 49),
    "sum": (lambda: r(3, 7).sum(1), "aten::sum", 0, F32 * 21),
    "copy": (lambda: r(3, 7).t().contiguous(), "aten::clone", 0, F32 * 42),
    "join": (lambda: torch.cat([r(3), r(4)]), "aten::cat", 0, F32 * 14),
    "rows": (lambda: F.embedding(torch.tensor([1, 2]), r(9, 4)), "aten::embedding", 0,
             2 * 8 + F32 * 16),
    "view": (lambda: r(3, 7).t(), "aten::t", 0, 0),
    "unknown": (lambda: r(3, 7).sort(), "aten::sort", 0, 0),
    "attention": (lambda: F.scaled_dot_product_attention(r(2, 3, 5), r(2, 4, 5), r(2, 4, 6)),
                  "aten::scaled_dot_product_attention", 2 * 6 * 4 * 11, F32 * (30 + 40 + 48 + 36)),
    "backward of exp": (lambda: r(10, grad=True).exp().backward(r(10)), "aten::exp, backward", 0,
                        F32 * 30),
    "backward of mul": (lambda: (r(10, grad=True) * r(10, grad=True)).backward(r(10)),
                        "aten::mul, backward", 0, F32 * 50),
    "backward of one factor": (lambda: (r(6, 4, grad=True) @ r(4, 5)).backward(r(6, 5)),
                               "aten::mm, backward", 240, F32 * (24 + 20 + 30)),
    "backward of both": (lambda: (r(6, 4, grad=True) @ r(4, 5, grad=True)).backward(r(6, 5)),
                         "aten::mm, backward", 480, 2 * F32 * (24 + 20 + 30)),
    "backward of conv": (
        lambda: F.conv2d(r(1, 2, 5, 5), r(4, 2, 3, 3, grad=True)).backward(r(1, 4, 3, 3)),
        "aten::conv2d, backward", 2 * 36 * 18, F32 * (50 + 72 + 36)),
    "backward of softmax": (lambda: r(21, grad=True).softmax(0).backward(r(21)),
                            "aten::softmax, backward", 0, F32 * 63),
}  # fmt: skip


@pytest.mark.parametrize("kind", WORK)
def test_operations_and_bytes(kind):
    work, name, flops, size = WORK[kind]
    totals, _, _ = watched(work)
    assert totals.ops[name][3:] == (flops, size)


def test_a_call_that_is_refused_counts_nothing():
    def work():
        with pytest.raises(RuntimeError):
            r(2) + r(3)
        with pytest.raises(RuntimeError):
            r(2, 3, 4) @ r(3, 4, 5)

    totals, _, _ = watched(work)
    assert [call.bytes for call in totals.calls] == [0, 0]
    assert totals.ops["aten::bmm"].flops == 0


def test_the_share_of_the_limit():
    totals, _, _ = watched(lambda: r(64, 64) @ r(64, 64))
    found = totals.ops["aten::mm"]
    assert found.share_of(LIMITS) == pytest.approx(2 * 64**3 / found.own / 1e3)
    assert found.share_of(Limits(1e20, 1e9)) == pytest.approx(found.bytes / found.own / 1e3)


# ---- memory -------------------------------------------------------------------------------------


def test_who_made_the_peak():
    net = nn.Sequential(nn.Linear(256, 1024), nn.Sigmoid())

    def step():
        y = net(r(1000, 256))
        del y
        gone = r(3, 1 << 20)
        return len(gone)

    _, peak, _ = watched(step)
    assert peak.bytes == 3 << 22
    ((maker, found),) = peak.makers.items()
    assert maker.op == "" and "test_profile_totals.py" in maker.line and found == (3 << 22, 1)

    _, peak, _ = watched(lambda: net(r(1000, 256)))
    linear, sigmoid = list(peak.makers)[:2]
    assert {linear.op, sigmoid.op} == {"aten::linear", "aten::sigmoid"}
    assert {linear.module, sigmoid.module} == {"Sequential.0", "Sequential.1"}
    assert linear.kind == sigmoid.kind == ACTIVATIONS
    assert peak.share(ACTIVATIONS) == pytest.approx(8192 / 9216, abs=0.01)
    assert peak.curve == sorted(peak.curve) and max(n for _, n in peak.curve) == peak.bytes


# ---- the machine's limits -----------------------------------------------------------------------


@pytest.fixture
def measurements(tmp_path, monkeypatch):
    """In the place of measuring: counts how often."""
    made = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(limits_module, "measure", lambda: made.append(1) or Limits(3.0, 2.0))
    return made


def test_limits_are_measured_once(measurements):
    assert limits() == limits() == (3.0, 2.0)
    assert len(measurements) == 1
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        limits()
    finally:
        torch.set_num_threads(threads)
    assert len(measurements) == 2 and limits() == (3.0, 2.0) and len(measurements) == 2
    assert len(json.loads(cache_file().read_text())) == 2


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"a": 1}', '{"KEY": [0, 1]}', '{"KEY": [1]}', '{"KEY": [Infinity, 1]}']
)
def test_a_broken_cache_is_measured_again(measurements, text):
    limits()
    (key,) = json.loads(cache_file().read_text())
    cache_file().write_text(text.replace("KEY", key))
    assert limits() == (3.0, 2.0) and len(measurements) == 2
    assert json.loads(cache_file().read_text())[key] == [3.0, 2.0]


def test_a_cache_that_cannot_be_written(measurements, tmp_path):
    (tmp_path / "tiny_torch").write_text("in the way")
    assert limits() == (3.0, 2.0)
    assert (tmp_path / "tiny_torch").read_text() == "in the way"


def test_where_the_cache_is(monkeypatch):
    for folder, expected in (("/x", "/x"), ("", "/home/a/.cache"), ("y", "/home/a/.cache")):
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        monkeypatch.setenv("HOME", "/home/a")
        assert str(cache_file()) == f"{expected}/tiny_torch/limits.json"


def test_a_measurement(monkeypatch):
    monkeypatch.setattr(limits_module, "SECONDS", 0.0)
    found = limits_module.measure()
    assert 1e8 < found.flops < 1e15 and 1e8 < found.bytes < 1e13
