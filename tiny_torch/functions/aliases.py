"""The second names that PyTorch has for elementwise functions, methods and in-place methods."""

from __future__ import annotations

from collections.abc import Callable

from tiny_torch.functions.elementwise import arithmetic, declared

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

functions = {**declared.FUNCTIONS, **arithmetic.FUNCTIONS}
methods = {**declared.METHODS, **arithmetic.METHODS}

FUNCTIONS: dict[str, Callable] = {alias: functions[name] for alias, name in ALIASES.items()}
METHODS: dict[str, Callable] = {
    **{alias: methods[name] for alias, name in ALIASES.items()},
    **{f"{alias}_": methods[f"{name}_"] for alias, name in ALIASES.items()},
}
