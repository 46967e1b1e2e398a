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
    "import torch\nx = torch.geqrf(3)\n": [(2, "torch.geqrf is not in tiny_torch; PyTorch", True)],
    "import torch\ndef f():\n    return torch.geqrf(3)\n": [(3, "torch.geqrf", False)],
    "import torch\nf = lambda: torch.geqrf(3)\n": [(2, "torch.geqrf", False)],
    "import torch\n@torch.nosuch\ndef f():\n    pass\n": [(2, "torch.nosuch", True)],
    "import torch\ndef f(x=torch.nosuch): pass\n": [(2, "nor in PyTorch", True)],
    "import torch\nclass A(torch.nn.Nosuch):\n    b = torch.nosuch\n": [
        (2, "torch.nn.Nosuch", True),
        (3, "torch.nosuch", True),
    ],
    "import torch.nn.functional as F\nF.relus\nF.relu\n": [(2, "torch.nn.functional.relu?", True)],
    "from torch import nn as n\nn.functional.reluu\n": [(2, "torch.nn.functional.reluu", True)],
    "from torch.nn import Linear, Linaer\nLinaer(3)\n": [(1, "torch.nn.Linaer", True)],
    "import torch.fft\n": [(1, "torch.fft is not in tiny_torch: it is outside", True)],
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
    "import torch\nx = torch.ones(2)\nx.geqrf()\nx.values()\nx.exp()\n": [
        (3, "torch.Tensor.geqrf", False)
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
    "dist.init_process_group('gloo')\nmp.spawn\ntorch._dynamo.config.verbose = True\n": [
        (4, "torch.distributed.init_process_group raises when it is called", False)
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
    (tmp_path / "b" / "c.py").write_text("import torch.fft\n")
    assert check.main([str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(f"{tmp_path / 'b' / 'c.py'}:1: torch.fft is not in tiny_torch")
    assert lines[1].endswith("[stops the import]")
    assert lines[2] == "2 files: 1 places lack something, 1 stop the import"


def test_a_file_that_is_not_python(tmp_path, capsys):
    (tmp_path / "a.py").write_text("x = (\n")
    assert check.main([str(tmp_path / "a.py")]) == 2
    assert "was never closed" in capsys.readouterr().err
