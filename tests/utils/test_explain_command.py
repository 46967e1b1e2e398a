"""`python -m tiny_torch explain script.py:LINE`: lines of all kinds; errors; the script's own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tiny_torch.tools.explaining.lines import extent

SCRIPT = """\
import sys
import torch

x = torch.ones(2, 3)
count = 1


def twice(y):
    for k in range(3):
        z = y * 2 + k
    return z


total = torch.stack(
    [x.sum(),
     x.prod()],
)
if x.sum() > 3:
    print("args", sys.argv[1:])
try:
    never = x @ x
except RuntimeError:
    print("caught")
twice(x)
for _ in range(2):
    count += 1
if False:
    x = x + 1
print("end")
sys.exit(3)
"""


@pytest.fixture
def explained(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)

    def run(*arguments):
        program = [sys.executable, "-m", "tiny_torch", "explain", *arguments]
        return subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)

    return run


@pytest.mark.parametrize(
    "arguments, wanted, unwanted",
    [
        (["script.py:4"], ["torch.ones(2, 3)", "script.py:4", "cast.copy"], ["args", "end"]),
        (["script.py:10"], ["z = y * 2 + k", "y * 2", "aten::mul"], ["end"]),
        (["--nth", "2", "script.py:10"], ["y * 2 + k", "aten::add"], ["end"]),
        (["script.py:16"], ["total = torch.stack(", "aten::sum", "aten::prod", "aten::stack"], []),
        (["script.py:18", "--", "1", "--two"], ["x.sum() > 3", "aten::gt"], ["args"]),
        (["script.py:24"], ["twice(x)", "y * 2", "script.py:10", "aten::add"], ["end"]),
    ],
)
def test_lines(explained, arguments, wanted, unwanted):
    done = explained(*arguments)
    assert done.returncode == 0, done.stderr
    assert not [text for text in wanted if text not in done.stdout], done.stdout
    assert not [text for text in unwanted if text in done.stdout], done.stdout


def test_the_script_may_go_on(explained):
    done = explained("--go-on", "script.py:4", "--", "1", "--two")
    assert done.returncode == 3 and done.stdout.endswith("args ['1', '--two']\ncaught\nend\n")


def test_a_page(explained, tmp_path):
    done = explained("-o", "page.html", "script.py:24")
    assert done.returncode == 0 and "page.html" in done.stderr
    assert "aten::mul" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["script.py:28"], 1, "script.py:28 was never reached"),
        (["script.py:26"], 1, "script.py:26 ran 2 times, and ran no op"),
        (["--nth", "9", "script.py:10"], 1, "script.py:10 ran 3 times, not 9"),
        (["script.py:6"], 1, "script.py:6 holds no statement"),
        (["script.py:99"], 1, "script.py:99 holds no statement"),
        (["nosuch.py:1"], 1, "cannot read nosuch.py"),
        (["-o", "no/page.html", "script.py:4"], 1, "no folder for no/page.html"),
        (["script.py"], 2, "expected script.py:LINE"),
        ([], 2, "usage: python -m tiny_torch explain"),
        (["--what", "script.py:4"], 2, "unrecognized arguments: --what"),
    ],
)
def test_what_cannot_be_explained(explained, arguments, code, message):
    done = explained(*arguments)
    assert done.returncode == code and message in done.stderr, done.stderr


def test_the_scripts_exception(explained, tmp_path):
    (tmp_path / "fails.py").write_text("import torch\nx = torch.ones(2)\nx @ torch.ones(3)\n")
    done = explained("fails.py:3")
    assert done.returncode == 1 and "RuntimeError" in done.stderr.splitlines()[-1]
    assert "tiny_torch/utils" not in done.stderr


@pytest.mark.parametrize(
    "source, line, lines",
    [
        ("x = 1", 1, (1, 1)),
        ("x = (1,\n 2)", 2, (1, 2)),
        ("for x in y:\n  z = 1", 1, (1, 1)),
        ("for x in f(1,\n  2):\n  z = 1", 2, (1, 2)),
        ("if x:\n  a = 1\nelse:\n  b = 2", 4, (4, 4)),
        ("@f\ndef g(a,\n      b):\n  return 1", 3, (1, 3)),
        ("with a:\n  @f\n  def g(): return 1", 1, (1, 1)),
        ("try:\n  a\nexcept E:\n  b", 3, (3, 3)),
        ("match x:\n  case 1:\n    y", 1, (1, 1)),
        ("match x:\n  case 1:\n    y", 2, (2, 2)),
        ("x = 1\n\ny = 2", 2, None),
        ("# only", 1, None),
    ],
)
def test_statements(source, line, lines):
    assert extent(source, line) == lines
