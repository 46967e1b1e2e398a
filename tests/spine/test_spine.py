"""The files of README's table stand by themselves: they alone train, and none can be left out."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tiny_torch import _core

datasets = pytest.importorskip("sklearn.datasets", reason="the extra apps")

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
README = (ROOT / "README.md").read_text()
FILES = re.findall(r"^\| `([\w./]+)` \|", README.partition("## Read it")[2], re.MULTILINE)
PYTHON = [name for name in FILES if name.startswith("tiny_torch/")]


def run(folder, files):
    """Trains in a package of these files beside the compiled core."""
    for name in files:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
        for package in target.relative_to(folder).parents[:-1]:
            (folder / package / "__init__.py").touch()
    shutil.copy(HERE / "package.py", folder / "tiny_torch/__init__.py")
    core = Path(_core.__file__)
    (folder / "tiny_torch" / core.name).symlink_to(core)
    # -S: no other tiny_torch is found, as an editable install is by its .pth file
    paths = [str(folder), str(Path(np.__file__).parent.parent)]
    text = f"import sys; sys.path[:0] = {paths}; exec(open({str(HERE / 'training.py')!r}).read())"
    digits = datasets.load_digits()
    np.savez(folder / "digits.npz", images=digits.images, target=digits.target)
    command = [sys.executable, "-S", "-c", text]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_it_is_short():
    assert len(FILES) <= 40
    assert sum((ROOT / name).read_text().count("\n") for name in FILES) <= 7000


def test_it_trains(tmp_path):
    result = run(tmp_path, PYTHON)
    assert result.returncode == 0, result.stderr
    accuracies = [float(line.split()[-1]) for line in result.stdout.splitlines()]
    assert len(accuracies) == 3
    assert min(accuracies) >= 0.96, result.stdout


@pytest.mark.parametrize("name", PYTHON)
def test_it_needs(name, tmp_path):
    result = run(tmp_path, [other for other in PYTHON if other != name])
    assert result.returncode != 0
    assert "ModuleNotFoundError" in result.stderr or "ImportError" in result.stderr, result.stderr
