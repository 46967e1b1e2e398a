"""`python -m tiny_torch check`: what a file lacks, at which line, and whether its import stops."""

import textwrap

import pytest

from tiny_torch.compat import check


def found(folder, text):
    """(line, text, whether it stops the import) of each finding."""
    path = folder / "script.py"
    path.write_text(textwrap.dedent(text))
    return [(one.line, one.text, one.stops) for one in check.check(path)]


# A text, and for each finding its line, a part of what is said, and whether the import stops.
CASES = {
    "import torch\nx = torch.zeros(2).exp()\n": [],
    "import torch\nx = torch.ormqr(3)\n": [(2, "torch.ormqr is not in tiny_torch; PyTorch", True)],
    "import torch\ndef f():\n    return torch.ormqr(3)\n": [(3, "torch.ormqr", False)],
    "import torch\nf = lambda: torch.ormqr(3)\n": [(2, "torch.ormqr", False)],
    "import torch\n@torch.nosuch\ndef f():\n    pass\n": [(2, "torch.nosuch", True)],
    "import torch\ndef f(x=torch.nosuch): pass\n": [(2, "nor in PyTorch", True)],
    "import torch\nclass A(torch.nn.Nosuch):\n    b = torch.nosuch\n": [
        (2, "torch.nn.Nosuch", True),
        (3, "torch.nosuch", True),
    ],
    "import torch.nn.functional as F\nF.relus\nF.relu\n": [(2, "torch.nn.functional.relu?", True)],
    "from torch import nn as n\nn.functional.reluu\n": [(2, "torch.nn.functional.reluu", True)],
    "from torch.nn import Linear, Linaer\nLinaer(3)\n": [(1, "torch.nn.Linaer", True)],
    "import torch.fft\n": [(1, "torch.fft raises when it is called: it has no complex", False)],
    "import torch\nT = torch.nn\nT.nosuch\nT = 3\nT.nosuch\n": [(3, "torch.nn.nosuch", True)],
    "import torchvision\nfrom torchvision import transforms as T\nT.Resize\nT.Nosuch\n": [
        (4, "torchvision.transforms.Nosuch", True),
    ],
    "from torchvision.utils import make_grid, draw_keypoints\n": [
        (1, "torchvision.utils.draw_keypoints", True),
    ],
    "import torchtext\nfrom torchaudio import x\n": [
        (1, "torchtext is built on PyTorch itself", True),
        (2, "torchaudio is built on PyTorch itself", True),
    ],
    "import no_such_package.part\n": [(1, "no_such_package is not installed", True)],
    "try:\n    import torchtext\nexcept ImportError:\n    torchtext = None\n": [
        (2, "torchtext", False)
    ],
    "if __name__ == '__main__':\n    import torchtext\n": [(2, "torchtext", False)],
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import triton\n": [
        (3, "triton", False)
    ],
    "import torch\nx = torch.ones(2)\nx.ormqr()\nx.values()\nx.exp()\n": [
        (3, "torch.Tensor.ormqr", False)
    ],
    "import torch\ntorch.jit.load('x')\ntorch.jit.script\ntorch.fx.Tracer\n": [
        (2, "torch.jit.load raises when it is called: it neither writes", False),
        (4, "torch.fx.Tracer raises when it is called", False),
    ],
    "import torch\ndef f(x: torch.nosuch) -> torch.absence: pass\n": [
        (2, "torch.absence", True),
        (2, "torch.nosuch", True),
    ],
    "from __future__ import annotations\nimport torch\ndef f(x: torch.nosuch): pass\n": [
        (3, "torch.nosuch", False)
    ],
    "import torch.distributed as dist\nimport torch.multiprocessing as mp\nimport torch._dynamo\n"
    "dist.rpc.init_rpc('w')\nmp.spawn\ntorch._dynamo.config.verbose = True\n": [
        (4, "torch.distributed.rpc.init_rpc raises when it is called", False)
    ],
    # names of inner scopes, which hide the module's
    "import torch\ndef f(torch):\n    return torch.nosuch\n": [],
    "from torch.nn import functional as F\ndef f(*F, **nn): F.nosuch\ng = lambda F: F.nosuch\n": [],
    "from torch import nn\ndef f():\n    nn = g()\n    return nn.nosuch\nnn.nosuch\n": [
        (5, "torch.nn.nosuch", True)
    ],
    "import torch as T\ndef f():\n    for T in x: T.nosuch\n    with x as T: T.nosuch\n": [],
    "import torch as T\ndef f():\n    try: g()\n    except E as T: T.nosuch\n": [],
    "import torch as T\nx = [T.nosuch for T in y]\n{T: 1 for _, T in T.nosuch}\n": [
        (3, "torch.nosuch", True)
    ],
    "import torch as T\nfor T in x:\n    T.nosuch\n": [],
    "import torch as T\nclass A:\n    T = 3\n    T.nosuch\n    def f(self): T.nosuch\n": [
        (5, "torch.nosuch", False)
    ],
    "import torch as T\nclass T: pass\nT.nosuch\n": [],
    "import torch as T\nimport numpy as T\nT.nosuch\n": [],
    "import torch as T\nfrom x import T\nT.nosuch\n": [(2, "x is not installed", True)],
    "import torch as T\nmatch x:\n    case [T]: T.nosuch\n": [],
    "import torch as T\nif (T := 3): T.nosuch\n": [],
    "import torch as T\ndef f():\n    global T\n    T = 3\n    T.nosuch\n": [],
    "def f():\n    import torch as T\n    T.nosuch\nT.nosuch\n": [(3, "torch.nosuch", False)],
    "def f():\n    return T.nosuch\nimport torch as T\n": [(2, "torch.nosuch", False)],
    "import torch\na, b = torch.nn, 3\na.nosuch, b.nosuch\n": [(3, "torch.nn.nosuch", True)],
    "import torch\ntorch.mine = 3\ntorch.mine\n": [],
    "import numpy as la\nla.lu_solve, la.x.lstsq\n": [],
    "class A:\n    def solve(self): self.lu = 3\nA().solve(), A().lu\n": [],
    # what a file asks for before it uses it
    "import torch\nif hasattr(torch, 'nosuch'):\n    torch.nosuch\nelse:\n    torch.absence\n": [
        (5, "torch.absence", True)
    ],
    "import torch\nif not hasattr(torch, 'relu'):\n    torch.nosuch\n": [],
    "import torch\nx = torch.nosuch if hasattr(torch, 'nosuch') else 3\n": [],
    "import torch\nhasattr(torch, 'nosuch') and torch.nosuch()\n": [],
    "import torch\nnot hasattr(torch, 'nosuch') or torch.nosuch()\n": [],
    "import torch\nif c and hasattr(torch.nn, 'Nosuch'): torch.nn.Nosuch\n": [],
    "import torch\nHAS = hasattr(torch, 'nosuch')\ndef f():\n    if HAS: torch.nosuch\n": [],
    "import torch as T\ndef f():\n    if not hasattr(T, 'nosuch'): return\n    T.nosuch\n": [],
    "import torch as T\nfor x in y:\n    if not hasattr(T, 'nosuch'): continue\n    T.nosuch\n": [],
    "import torch\ngetattr(torch, 'nosuch', None)\ngetattr(torch, 'nosuch')\n": [
        (3, "torch.nosuch", True)
    ],
    "import torch\nif 'nosuch' in dir(torch): torch.nosuch\n": [],
    "import torch\nif 'nosuch' not in dir(torch): x = 1\nelse: torch.nosuch\n": [],
    "import torch\nif getattr(torch, 'nosuch', None): torch.nosuch\n": [],
    "import torch\nif getattr(torch, 'nosuch', None) is not None: torch.nosuch\n": [],
    "import torch as T\nif (f := getattr(T, 'nosuch', None)) is None: f = 3\nelse: T.nosuch\n": [],
    "import torch\nif getattr(args, 'fast', None): torch.nosuch\n": [(2, "torch.nosuch", True)],
    "import torch\nif getattr(torch, 'relu', None) is None: torch.nosuch\n": [
        (2, "torch.nosuch", True)
    ],
    "class A(B):\n    def f(self): return self.stft(self.window)\n": [],
    "def f(x):\n    if hasattr(x, 'to_sparse'): x.to_sparse()\n": [],
    "try:\n    import torchtext\n    HAS = True\nexcept ImportError:\n    HAS = False\n"
    "import torch\nif HAS: torch.nosuch\n": [(2, "torchtext", False)],
    "try:\n    import torchtext\nexcept ImportError:\n    raise\n": [(2, "torchtext", True)],
    "import torch, contextlib\nwith contextlib.suppress(AttributeError):\n    torch.nosuch\n": [
        (3, "torch.nosuch", False)
    ],
    "try:\n    import torch as T\nexcept ImportError:\n    T = None\nT.nosuch\n": [
        (5, "torch.nosuch", True)
    ],
    "from torch.nn import *\nfrom . import other\nimport os.path, numpy as np\nnp.nosuch\n": [],
}  # fmt: skip


@pytest.mark.parametrize("text", CASES)
def test_what_a_text_lacks(tmp_path, text):
    lacking = found(tmp_path, text)
    assert [(line, stops) for line, _, stops in lacking] == [
        (line, stops) for line, _, stops in CASES[text]
    ], lacking
    for (_, said, _), (_, part, _) in zip(lacking, CASES[text], strict=True):
        assert part in said


def test_files_beside_a_file_are_not_missing(tmp_path):
    (tmp_path / "helper.py").write_text("")
    assert found(tmp_path, "import helper\n") == []
    assert found(tmp_path, "import helperz\n") == [(1, "helperz is not installed", True)]


def test_a_folder_and_the_exit_code(tmp_path, capsys):
    (tmp_path / "a.py").write_text("import torch\n\n\ntorch.relu\n")
    (tmp_path / "b").mkdir()
    assert check.main([str(tmp_path)]) == 0
    (tmp_path / "b" / "c.py").write_text("import torch.package\n")
    assert check.main([str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(f"{tmp_path / 'b' / 'c.py'}:1: torch.package is not in tiny_torch")
    assert lines[1].endswith("[stops the import]")
    assert lines[2] == "2 files: 1 places lack something, 1 stop the import"


def test_a_file_that_is_not_python(tmp_path, capsys):
    (tmp_path / "a.py").write_text("x = (\n")
    assert check.main([str(tmp_path / "a.py")]) == 2
    assert "was never closed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", [b"x = (", b"x = '\xff'", b"\0", b"print 3", b"(" * 300, b"-" * 99999]
)
def test_the_other_files_are_checked_all_the_same(tmp_path, capsys, text):
    (tmp_path / "a.py").write_bytes(text)
    (tmp_path / "b.py").write_text("import torch\ntorch.nosuch\n")
    (tmp_path / "folder.py").mkdir()
    assert check.main([str(tmp_path / "none"), str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert "no such file" in said.err and f"{tmp_path / 'a.py'}: cannot be read: " in said.err
    assert "b.py:2: torch.nosuch is not in tiny_torch" in said.out
    assert "2 files: 1 places lack something, 1 stop the import" in said.out


def test_what_a_file_can_do_without_is_not_counted(tmp_path, capsys):
    (tmp_path / "a.py").write_text("import torch\ntry: torch.nosuch\nexcept AttributeError: pass\n")
    assert check.main([str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("[optional]") and "1 files: 0 places lack something" in lines[1]
