"""The stubs that type checkers and editors read; what mypy makes of them: .ci/types."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tiny_torch

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def pages():
    """What docs/make_stubs.py writes, by path, in a process that has loaded nothing else."""
    program = (
        "import json, make_stubs as m; print(json.dumps({str(p): t for p, t in m.pages().items()}))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=DOCS, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_stubs_are_up_to_date(pages):
    for path, text in pages.items():
        assert Path(path).read_text() == text, "python docs/make_stubs.py writes it anew"


def test_the_stubs_know_every_method_and_name(pages):
    core, published, *_ = pages.values()
    for name in vars(tiny_torch._core):
        assert (
            name.startswith("__")
            or f"def {name}(" in core
            or f"\n{name}: " in core
            or f"class {name}" in core
        )
    for name in ("sum", "exp", "exp_", "__add__", "__matmul__", "T", "to"):
        assert f"    def {name}(self" in published
    for name in ("arccos", "clip", "softmax", "float32", "abs_", "rand", "tensor"):
        assert (
            f"\ndef {name}(" in published
            or f" import {name} as {name}\n" in published
            or f"\n{name} = " in published
            or f"\n{name}: " in published
        )


def test_the_package_says_that_it_is_typed():
    assert Path(tiny_torch.__file__).with_name("py.typed").exists()
