"""Runs at the start of each Python that a script under `python -m tiny_torch run` starts.

It costs nothing until the first `import torch`, which then answers with tiny_torch. Whoever has a
sitecustomize.py of their own gets that as well.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from importlib.abc import MetaPathFinder
from typing import Any

FOLDER = os.path.dirname(os.path.abspath(__file__))


class AtFirstImport(MetaPathFinder):
    """Puts the runner's finder in its own place, when `torch` is imported."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.partition(".")[0] != "torch":
            return None
        sys.meta_path.remove(self)
        if importlib.util.find_spec("tiny_torch") is None:  # a Python that has other packages
            return None
        importlib.import_module("tiny_torch.compat.run").install()
        return sys.meta_path[0].find_spec(fullname, path, target)


def pass_on() -> None:
    """Runs the sitecustomize.py that stands behind this one on the path."""
    behind = [p for p in sys.path if os.path.abspath(p) != FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", behind)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if __name__ == "sitecustomize":
    sys.meta_path.insert(0, AtFirstImport())
    pass_on()
