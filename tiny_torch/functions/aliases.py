"""The second names that PyTorch has for elementwise functions, methods and in-place methods."""

from __future__ import annotations

from tiny_torch.functions.elementwise import arithmetic, declared  # noqa: F401
from tiny_torch.functions.public import FUNCTIONS, METHODS

ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "divide": "div",
    "fix": "trunc",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
    "true_divide": "div",
}

FUNCTIONS |= {alias: FUNCTIONS[name] for alias, name in ALIASES.items()}
METHODS |= {alias: METHODS[name] for alias, name in ALIASES.items()}
METHODS |= {f"{alias}_": METHODS[f"{name}_"] for alias, name in ALIASES.items()}
