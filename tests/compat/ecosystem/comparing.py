"""Runs a use of a package under PyTorch and under tiny_torch, and compares what they answer."""

import importlib.metadata
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
TOLERANCE = 1e-4  # relative

# {package: what its use does}, by the functions' docstrings or names
USES = {
    package: name.replace("_", " ")
    for file in sorted(FOLDER.glob("*.py"))
    for package, name in re.findall(r'^@use\("([^"]+)"\)\ndef (\w+)', file.read_text(), re.M)
}
# Why an answer is another than PyTorch's. What is here and equals it fails a test.
KNOWN = {
    "linear-operator": "a Toeplitz matrix is multiplied by torch.fft, which needs complex tensors",
}


def version(package: str) -> str | None:
    """The version that is installed; None if none is."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def answer(package: str, ours: bool, script: str = "uses.py") -> tuple[Any, str]:
    """(numbers and texts, ""), or (None, the last line of the error)."""
    runner = ["-m", "tiny_torch", "run"] if ours else []
    paths = [os.environ.get("PYTHONPATH", ""), *([str(ROOT)] if ours else [])]
    settings = {"OMP_NUM_THREADS": "1", "KERAS_BACKEND": "torch", "HF_HUB_OFFLINE": "1"}
    settings["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    done = subprocess.run(
        [sys.executable, *runner, str(FOLDER / script), package],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **settings},
    )
    if done.returncode:
        return None, next(line for line in reversed(done.stderr.splitlines()) if line.strip())
    return json.loads(done.stdout.splitlines()[-1]), ""


def differences(ours: list, theirs: list) -> list:
    """(place, ours, theirs) of what is not the same."""
    if len(ours) != len(theirs):
        return [("length", len(ours), len(theirs))]
    return [
        (i, a, b) for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if not is_near(a, b)
    ]


def is_near(a, b) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-9) or (a != a and b != b)
