"""Ops: one element after the other. DECLARED has those with public functions, name by name."""

from tiny_torch.ops.common import DECLARED
from tiny_torch.ops.elementwise import arithmetic, cast, comparison, floats, special, unary

__all__ = ["DECLARED", "arithmetic", "cast", "comparison", "floats", "special", "unary"]
