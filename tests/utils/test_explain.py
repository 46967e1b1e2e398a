"""torch.utils.explain: what it says of lines of all kinds; wrong calls; that it changes nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.autograd.record import ORDINARY
from tiny_torch.base.modes import modes
from tiny_torch.nn import functional as F
from tiny_torch.tools.explaining import steps
from tiny_torch.utils import explain

SRC = Path(__file__).parents[2] / "src"


def names():
    """What the lines below are about."""
    torch.manual_seed(0)
    big = torch.randn(300, 400)
    return {
        "torch": torch, "F": F, "a": torch.randn(2, 3), "b": torch.randn(2, 4), "c": torch.randn(4),
        "m": torch.randn(3, 4), "i": torch.arange(12).view(3, 4), "h": torch.randn(4).half(),
        "d": torch.tensor(1.5, dtype=torch.float64), "big": big, "turned": big.T,
        "w": torch.randn(3, 4, requires_grad=True), "image": torch.randn(1, 3, 8, 8),
        "filters": torch.randn(4, 3, 3, 3), "net": nn.Sequential(nn.Linear(4, 2), nn.ReLU()),
        "norm": nn.BatchNorm1d(4),
    }  # fmt: skip


# code; then of one of its steps: the piece of it that it is ("": all), PyTorch's name, a fact's
# label, and its text as a regular expression
FACTS = [
    ("a.T @ b + c", "a.T", "aten::permute", "out",
     r"strides \(1, 3\), not contiguous: a view of a, no"),
    ("a.T @ b + c", "a.T @ b", "aten::mm", "in", r"a\.T: \(3, 2\) float32, strides \(1, 3\), not"),
    ("a.T @ b + c", "a.T @ b", "aten::mm", "kernel",
     r"^matmul\.matmul\[float32\], for v\w+, 1 thread"),
    ("a.T @ b + c", "a.T @ b", "aten::mm", "memory",
     r"a\.T is not contiguous: .* packs .* no copy"),
    ("a.T @ b + c", "a.T @ b", "aten::mm", "work", r"^48 floating point operations: .* GFLOP/s"),
    ("a.T @ b + c", "a.T @ b", "aten::mm", "op", r"^Mm  tiny_torch/ops/linalg/matmul\.py:\d+$"),
    ("a.T @ b + c", "", "aten::add", "broadcast", r"c: \(4,\) -> \(3, 4\), dim 0 from n"),
    ("a.T @ b + c", "", "aten::add", "in", r"^a\.T @ b: \(3, 4\)"),
    ("m + i", "", "aten::add", "dtype", r"i: int64 -> float32, .* block by block: no copy"),
    ("m + i", "", "aten::add", "dtype", r"rule: of tensors with dims floating point is above"),
    ("i + 1.5", "", "aten::add", "dtype", r"1\.5 is a number, which counts here because"),
    ("c + d", "", "aten::add", "dtype", r"rule: d is a tensor without dims: its dtype counts"),
    ("i.sqrt()", "", "aten::sqrt", "dtype", r"rule: this op computes in floating point"),
    ("c + h", "", "aten::add", "dtype", r"h: float16 -> float32"),
    ("m[:, 1:3]", "", "aten::slice", "out", r"a view of m, no kernel ran"),
    ("m.view(12)", "", "aten::view", "out", r"a view of m"),
    ("m.T.contiguous()", "", "aten::clone", "kernel", r"^cast\.copy"),
    ("m.T.contiguous()", "", "aten::clone", "memory", r"^m\.T was copied into the result \(48 B"),
    ("m.add_(1)", "", "aten::add_", "out", r"written over m"),
    ("m *= 2", "", "aten::mul_", "out", r"written over m"),
    ("m.sum(0)", "", "aten::sum", "kernel", r"^reduce\.sum\[float32\]"),
    ("turned.sum(1)", "", "aten::sum", "memory", r"turned is not contiguous: .* no copy"),
    ("big.exp()", "", "aten::exp", "moved", r"^468\.8 KiB read, 468\.8 KiB written: .* GB/s"),
    ("m.exp()", "", "aten::exp", "kernel", r"1 thread, as 12 elements do not pass the grain"),
    ("m.exp()", "", "aten::exp", "time", r"in kernels, the best of \d+ runs"),
    ("torch.no_grad()(w.exp)()", "", "aten::exp", "kept", r"^nothing, as recording is off"),
    ("w.exp()", "", "aten::exp", "kept", r"^the result \(48 B\): no new memory"),
    ("w * m", "", "aten::mul", "kept", r"^m \(48 B\)"),
    ("norm(m)", "", "aten::batch_norm", "time", r"measured once: a repeat would write"),
    ("norm(m)", "", "aten::batch_norm", "in", r"^norm\.running_mean: \(4,\)"),
    ("F.conv2d(image, filters)", "", "aten::conv2d", "kernel", r"^conv\.sum"),
    ("F.softmax(m, 0)", "", "aten::softmax", "kernel", r"^softmax\.softmax, for v"),
    ("m[torch.tensor([0, 2])]", "", "aten::index", "kernel", r"^gather\.pick"),
    ("torch.cat([m, m])", "", "aten::cat", "kernel", r"^join\.join"),
    ("torch.ones(3)", "", "kernels of no op", "kernel", r"^cast\.copy"),
    ("net(c)", "", "aten::linear", "in", r"^net\.0\.weight: \(2, 4\) float32"),
    ("net(c)", "", "aten::relu", "in", r"^\(1\): \(2,\)"),
    ("(w * m).sum().backward()", "", "MulBackward0", "op",
     r"^Mul\.backward  tiny_torch/ops/elementwise/arithmetic\.py:\d+$"),
    ("(w * m).sum().backward()", "", "MulBackward0", "kernel", r"^elementwise\.mul\[float32\]"),
    ("(w * m).sum().backward()", "", "MulBackward0", "in", r"^the gradient: \(3, 4\)"),
    ("F.layer_norm(m, (4,))", "", None, "kernel", r"^layer_norm\.layer_norm"),
    ("y = a.T\ny + 1", "y + 1", "aten::add", "in", r"^y: \(3, 2\)"),
]  # fmt: skip


@pytest.mark.parametrize("code, written, title, label, text", FACTS)
def test_facts(code, written, title, label, text):
    told = explain(code, names())
    wanted = written or code
    found = [s for s in told.all() if s.source_text == wanted and title in (None, s.title)]
    assert found, told
    lines = [line for step in found for line in step.facts.get(label, ())]
    assert any(re.search(text, line) for line in lines), told


def test_order_and_nesting():
    told = explain("(w * m).sum().backward()", names())
    assert [step.title for step in told.steps] == [
        "aten::mul", "aten::sum", "kernels of no op", "SumBackward0", "MulBackward0",
        "torch::autograd::AccumulateGrad",
    ]  # fmt: skip
    assert [step.number for step in told.all()] == [1, 2, 3, 4, 5, 6]


def test_blocks_with_a_name_hold_their_ops():
    def block():
        with torch.profiler.record_function("block"):
            return torch.ones(2) + 1

    (outer,) = [step for step in explain(block).steps if step.title == "block"]
    assert [step.title for step in outer.steps] == ["aten::add"]


def test_functions_and_lines_within_them():
    m = torch.ones(2, 2)

    def inner(x):
        return x @ x

    told = explain(lambda: inner(m) + 1)
    assert [[place.text for place in step.path] for step in told.steps] == [
        ["inner(m)", "x @ x"],
        ["inner(m) + 1"],
    ]
    assert told.steps[0].where.startswith(__file__)
    assert torch.equal(told.value, inner(m) + 1)


def test_names_are_the_callers():
    local = torch.ones(2)
    assert explain("local * 2").steps[0].facts["in"][0].startswith("local: (2,)")
    assert explain("x * 2", {"x": local}).steps[0].facts["in"][0].startswith("x: (2,)")
    with pytest.raises(NameError):
        explain("local * 2", {})


@pytest.mark.parametrize(
    "code, error",
    [
        ("a @", SyntaxError),
        (3, TypeError),
        ("no_such_name + 1", NameError),
        ("1 / 0", ZeroDivisionError),
    ],
)
def test_wrong_code(code, error):
    with pytest.raises(error):
        explain(code)
    assert not modes.bits
    assert explain("torch.ones(2) + 1").steps  # nothing is left on


def test_a_function_takes_no_namespace():
    with pytest.raises(TypeError, match="it takes no namespace"):
        explain(lambda: None, {})


def test_one_record_at_a_time():
    with torch.utils.memory.record(), pytest.raises(RuntimeError, match="memory is being recorded"):
        explain("torch.ones(2) + 1")
    with torch.profiler.profile(), pytest.raises(RuntimeError, match="already enabled"):
        explain("torch.ones(2) + 1")
    assert explain("torch.ones(2) + 1").steps


def test_it_changes_nothing():
    def run():
        torch.manual_seed(3)
        norm, x = nn.BatchNorm1d(4), torch.randn(8, 4, requires_grad=True)
        y = F.dropout(norm(x)) * 2
        y.add_(1).sum().backward()
        return [x.grad, norm.running_mean, norm.num_batches_tracked, y, torch.rand(1)]

    assert all(map(torch.equal, run(), explain(run).value))


def test_only_so_many_ops():
    def many():
        x = torch.ones(2)
        for _ in range(1000):
            x = x + 1
        return x

    told = explain(many)
    assert len([step for step in told.steps if step.title == "aten::add"]) == 300
    assert "Only the first 300 ops" in str(told)
    assert told.value[0] == 1001


def test_grains_are_those_of_the_kernels():
    if not SRC.is_dir():
        pytest.skip("installed without sources")
    parallel = (SRC / "cpu/infra/parallel.h").read_text()
    assert int(re.search(r"kGrain = (\d+);", parallel)[1]) == steps.GRAIN
    tasks = (SRC / "cpu/infra/tasks.h").read_text()
    assert eval(re.search(r"kParallelWork = (.+);", tasks)[1]) == steps.PARALLEL_WORK


@pytest.mark.parametrize(
    "family",
    sorted(path.stem for path in (SRC / "core/tables").glob("*.h")),
)
def test_every_table_has_its_names(family):
    """A kernel whose name explain cannot tell is not in the list of core/devices/override.cpp."""
    listed = (SRC / "core/devices/override.cpp").read_text()
    table = (SRC / f"core/tables/{family}.h").read_text()
    struct = re.search(r"^struct \w+Table {(.*?)^};", table, re.M | re.S)[1]
    fields = re.findall(r"\(\*(\w+)\W", struct)
    missing = [x for x in fields if not re.search(rf"\({family}, ([\w.]+->)?{x}\)", listed)]
    assert not missing


def test_the_page_is_whole_and_escaped(tmp_path):
    path = tmp_path / "page.html"
    x = torch.ones(3)
    explain("(x < 2) & (x > 0)").save(path)
    page = path.read_text()
    assert "(x &lt; 2) &amp; (x &gt; 0)" in page and "(x < 2)" not in page
    assert len(page) < 50_000 and not re.search(r"(?:src|href)=|@import|url\(|<script", page)
    assert "prefers-color-scheme: dark" in page and "aten::lt" in page
    assert x.shape == (3,)


def test_plain_calls_are_rows_as_before():
    """The record's own forms serve the profiler next to explain."""
    torch.autograd.record.start_record(True, False, None)
    torch.ones(2) + 1
    (row,) = torch.autograd.record.stop_record()
    assert row[3] == ORDINARY and row[6][0] == ((2,), torch.float32)
