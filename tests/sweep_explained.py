"""The differences from PyTorch that have a reason: name, sample and difference as patterns."""

from __future__ import annotations

import re

EXPLAINED: list[tuple[str, str, str, str]] = [
    (
        r"torch\.(Tensor\.)?(u?int\d*|long|short|char|byte|to|type)",
        "special values",
        "values, such as",
        "NaN and infinity have no integer: C++ leaves open what the cast gives",
    ),
    (
        ".*",
        "",
        r"strides .* of \((.*\b)?0\b.*\)$",
        "strides of a result without elements lead nowhere",
    ),
]
PATTERNS = [
    (re.compile(name), re.compile(where), re.compile(difference), why)
    for name, where, difference, why in EXPLAINED
]


def reason(name: str, where: str, difference: str) -> str | None:
    """Why a sample of a name may differ as it does; None if it may not."""
    for names, places, differences, why in PATTERNS:
        if names.fullmatch(name) and places.search(where) and differences.search(difference):
            return why
    return None
