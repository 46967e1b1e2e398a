"""The page of programs: its rectangles are the plan; and the command that writes it."""

import html
import re
import subprocess
import sys

import pytest

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.program import record
from tiny_torch.program.page import HEIGHT, STRIP, WIDTH, drawing
from tiny_torch.program.plan import Plan

RECT = re.compile(
    r'<rect class="(\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)">'
    r"<title>(.*?)</title>"
)


def rectangles(svg):
    found = RECT.findall(svg)
    assert len(found) == svg.count("<rect")
    return [(kind, *map(float, numbers), html.unescape(text)) for kind, *numbers, text in found]


def recorded():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.LayerNorm(96), nn.Linear(96, 8))
    rms = torch.optim.RMSprop(net.parameters(), foreach=True)
    x = torch.randn(500, 64)

    @record
    def step():
        rms.zero_grad()
        loss = (net(x).tanh() * 0.5 + 1.0).square().mean()
        loss.backward()
        rms.step()
        return loss

    step(), step()
    ((_, program, places),) = step.programs()
    return Plan(program, places)


def test_no_two_rectangles_share_bytes_at_a_time():
    plan = recorded()
    found = rectangles(drawing(plan))
    buffers = [r for r in found if r[0] in ("block", "kept", "result")]
    placed = [b for b in plan.buffers if b.memory in ("block", "kept", "result") and b.first >= 0]
    assert len(buffers) == len(placed) > 10
    for i, (_, x, y, width, height, text) in enumerate(buffers):
        assert x >= 0 and y >= STRIP and x + width <= WIDTH + 0.01
        assert y + height <= HEIGHT + STRIP + 4 + 0.51
        for _, x2, y2, width2, height2, other in buffers[:i]:
            beside = x + width <= x2 + 0.02 or x2 + width2 <= x + 0.02
            # a buffer that is thinner than can be seen is drawn half a unit thick
            apart = y + height <= y2 + 0.52 or y2 + height2 <= y + 0.52
            assert beside or apart, (text, other)


def test_every_launch_and_chain_is_named():
    plan = recorded()
    found = rectangles(drawing(plan))
    launches = [text for kind, *_, text in found if kind == "launch"]
    assert len(launches) == len(plan.program.launches)
    assert launches[0].startswith("0: matmul float32 Sequential.0 ")
    assert "test_page.py:" in launches[0]
    chains = [text for kind, *_, text in found if kind == "chain"]
    assert len(chains) == len(plan.program.chains)


SCRIPT = """
import sys
import torch

def main():
    net = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()))
    for _ in range(2):
        net(torch.ones(2, 4)).sum().backward()

@torch.compile
def read(x):
    return x * x.sum().item()

if sys.argv[1:] == ["go"]:
    main()
    read(torch.ones(2))
"""


def explain(*arguments):
    """The command in a process of its own: the runner stays where it has been."""
    command = [sys.executable, "-m", "tiny_torch", "explain", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_command_prints_and_draws(tmp_path):
    script, page = tmp_path / "train.py", tmp_path / "page.html"
    script.write_text(SCRIPT)
    done = explain("-o", page, "--program", script, "--", "go")
    assert done.returncode == 0, done.stderr
    assert "Sequential\nforward: 2 launches" in done.stdout and "\nbackward: " in done.stdout
    assert "read\nrefused: the function reads an element" in done.stdout
    text = page.read_text()
    assert text.count('<svg viewBox="0 0 1000') == 2 and "refused: the function reads" in text
    assert "<title>" in text and "<script" not in text


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--program", "train.py"], 1, "has compiled nothing that ran"),
        (["--program", "none.py"], 1, "there is no script"),
        (["-o", "no/page.html", "--program", "train.py"], 1, "there is no folder"),
        (["--program", "--nth", "2", "train.py"], 2, "neither --nth nor --go-on"),
    ],
)
def test_scripts_that_have_no_programs(tmp_path, arguments, code, says):
    (tmp_path / "train.py").write_text(SCRIPT)
    paths = [str(tmp_path / a) if a.endswith(("py", "html")) else a for a in arguments]
    done = explain(*paths)
    assert done.returncode == code and says in done.stderr
