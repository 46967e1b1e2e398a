"""`python -m tiny_torch profile script.py`: an HTML page; the script's own output and errors."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys

import pytest
from tiny_torch.profiler import command, report
from tiny_torch.profiler.limits import Limits

import tiny_torch as torch
from tiny_torch import _core

SCRIPT = """\
import os, sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x):
        return self.layers(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.randn(32, 64), torch.randint(10, (32,)))
for x, y in torch.utils.data.DataLoader(data, batch_size=8):
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
big = torch.zeros(1000, 1000) + 1
print("args", sys.argv[1:])
os.chdir("/")
if "fail" in sys.argv:
    raise ValueError("of the script")
"""


LIMITS = Limits(1e11, 1e10)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """With a cache that knows the machine's limits."""
    return {**os.environ, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture
def profiled(tmp_path, environment):
    (tmp_path / "script.py").write_text(SCRIPT)

    def run(*arguments):
        program = [sys.executable, "-m", "tiny_torch", "profile", *arguments]
        return subprocess.run(
            program, cwd=tmp_path, capture_output=True, text=True, env=environment
        )

    return run


def lines_of(page):
    """Per heading the first cells of its table."""
    found = {}
    for heading, body in re.findall(r"<h2>(.*?)</h2>(.*?)(?=<h2>|$)", page, re.S):
        cells = re.findall(r"<tr><td[^>]*>(.*?)</td>", body)
        found[heading] = [html.unescape(cell) for cell in cells]
    return found


def test_a_page(profiled, tmp_path):
    done = profiled("script.py", "1", "--two")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "args ['1', '--two']\n"
    page = (tmp_path / "profile.html").read_text()
    assert len(page) < 100_000 and not re.search(r"(?:src|href)=|@import|url\(|<script", page)
    found = lines_of(page)
    for phase in ("forward", "backward", "optimizer", "waiting for data", "Python between ops"):
        assert re.search(rf"{phase}: [\d.]+%, [\d.]+[mu]?s", page)
    assert {"aten::linear", "aten::linear, backward", "Optimizer.step#SGD.step"} <= {*found["Ops"]}
    modules = found["Modules, with their backward"]
    assert {*modules} == {"Net", "Net.layers", *(f"Net.layers.{i}" for i in range(3))}
    here = [line for line in found["Lines, with their backward"] if "script.py" in line]
    assert any(line.endswith("script.py(11): forward") for line in here)
    assert "return self.layers(x)" in page
    assert not [line for line in found["Lines, with their backward"] if "tiny_torch/nn" in line]
    assert re.search(r"At most [\d.]+ MB in tensors", page)
    assert {*found["Memory"][:2]} == {"aten::add", "outside of ops"}
    assert page.count("<polyline") == 2 and "<circle" in page
    assert re.search(r"This machine: [\d.]+ GFLOP/s in float32 products, [\d.]+ GB/s", page)


def test_a_script_that_fails_leaves_its_page(profiled, tmp_path):
    done = profiled("-o", "mine.html", "script.py", "fail")
    assert done.returncode == 1 and "ValueError: of the script" in done.stderr
    assert "tiny_torch/profiler" not in done.stderr
    assert "aten::linear" in (tmp_path / "mine.html").read_text()


def test_a_script_that_is_stopped_leaves_its_page(profiled, tmp_path):
    for end, code in (("sys.exit(3)", 3), ("os.kill(os.getpid(), 2)", -2)):
        (tmp_path / "script.py").write_text(
            f"import os, sys, time, torch\ntorch.ones(2) * 2\n{end}\ntime.sleep(9)"
        )
        done = profiled("script.py")
        assert done.returncode == code, done.stderr
        assert "aten::mul" in (tmp_path / "profile.html").read_text()
        (tmp_path / "profile.html").unlink()


@pytest.mark.parametrize("arguments", [(), ("-o",), ("-o", "x.html"), ("-m",), ("--what",)])
def test_wrong_arguments(profiled, tmp_path, arguments):
    done = profiled(*arguments)
    assert done.returncode == 2 and "usage: python -m tiny_torch profile" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


def test_no_folder_for_the_page(profiled, tmp_path):
    done = profiled("-o", "no/page.html", "script.py")
    assert done.returncode == 2 and "no folder" in done.stderr and done.stdout == ""


def test_only_so_many_calls_are_kept():
    watch = command.ScriptRecord(most=5)
    watch.begin()
    x = torch.ones(2)
    for _ in range(20):
        x = x + 1
    totals = watch.totals(LIMITS)
    assert len(totals.calls) == 5 and watch.left < 0
    text = report.profile_page(totals, watch.changes, "<title> & more")
    assert "aten::add" in text and "&lt;title&gt; &amp; more" in text and "<title> &" not in text


def test_nothing_to_show():
    watch = command.ScriptRecord()
    watch.begin()
    assert "0 calls" in report.profile_page(watch.totals(LIMITS), watch.changes, "nothing")


def test_no_script_leaves_the_page_that_is_there(profiled, tmp_path):
    (tmp_path / "profile.html").write_text("the last one")
    (tmp_path / "folder").mkdir()
    (tmp_path / "wrong.py").write_text("x = (")
    for what, word in {
        "nofile.py": "can't open file", "-m nosuch": "No module named nosuch",
        "folder": "can't find '__main__' module", "wrong.py": "SyntaxError",
    }.items():  # fmt: skip
        done = profiled(*what.split())
        assert done.returncode in (1, 2) and word in done.stderr
        assert (tmp_path / "profile.html").read_text() == "the last one"


def test_a_record_keeps_no_memory_alive():
    """What a Function is given that holds tensors: a hook's gate, an object, a dict."""

    class Holder:
        def __init__(self, x):
            self.x = x

    class Pass(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, *others):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad, None, None, None

    layer = torch.nn.Linear(64, 64)
    layer.register_full_backward_hook(lambda *_: None)
    watch, in_use = command.ScriptRecord(), []
    watch.begin()
    try:
        for _ in range(4):
            large = torch.ones(64, 64)
            Pass.apply(large, Holder(large), lambda large=large: large, {"x": large})
            layer(large.requires_grad_()).sum().backward()
            in_use.append(_core.memory_statistics()["allocated"])
    finally:
        watch.end()
    assert in_use[3] - in_use[1] < 64 * 64 * 4


def test_the_curve_has_axes(profiled, tmp_path):
    profiled("script.py")
    page = (tmp_path / "profile.html").read_text()
    sizes, times = re.search(r'class="sizes">(.*?)</div>.*class="times">(.*?)</div>', page).groups()
    assert re.fullmatch(r"(<span>[\d.]+ [KM]?B</span>){3}", sizes) and "0 B" in sizes
    assert re.fullmatch(r"(<span>[\d.]+[mu]?s</span>){5}", times)
