"""What the tests themselves promise where PyTorch is missing."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_comparisons_with_pytorch_are_left_out_not_skipped(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['torch'] = None\n")
    # in the folder all tests ask PyTorch, in the file some do
    files = [str(TESTS / "amp"), str(TESTS / "functions/test_einsum.py")]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n1", *files]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        command, cwd=TESTS.parent, env=environment, capture_output=True, text=True
    )
    *_, counts, last = done.stdout.splitlines()
    assert done.returncode == 0 and " 1 passed" in counts and "skipped" not in counts, done.stdout
    assert last.startswith("Left out: ") and "pytest -m torch" in last and "pytest -m slow" in last
