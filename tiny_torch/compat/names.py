"""PyTorch's public names by namespace, as torch_names.txt lists them."""

from __future__ import annotations

import functools
from pathlib import Path

NAMES = Path(__file__).with_name("torch_names.txt")


@functools.cache
def names_of_pytorch() -> dict[str, frozenset[str]]:
    names: dict[str, list[str]] = {}
    found: list[str] = []
    for line in NAMES.read_text().splitlines():
        if line.startswith("  "):
            found += line.split()
        elif not line.startswith("#"):
            found = names.setdefault(line, [])
    return {namespace: frozenset(found) for namespace, found in names.items()}
