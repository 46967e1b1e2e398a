"""PyTorch's names of nodes and of ops' functions: what the op's class says, or its own name.

A node's name is chosen when asked for, from what the node holds: so it costs nothing while
recording. What backward has freed can no longer tell; then the most common name is given.
"""

from __future__ import annotations

import functools
import re
from typing import Any

# {our function that draws: PyTorch's}
SAMPLERS = {"bernoulli_tensor_": "bernoulli", "random_range_": "random"}


def node_name(node: Any) -> str:
    """PyTorch's name of a node."""
    op = node.op
    name = op.node_name
    if callable(name):
        saved = node.saved
        name = name(saved if type(saved) is tuple and saved != ("freed",) else (), node)
    return name or f"{op.__name__}Backward0"


@functools.cache
def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().rstrip("_")


def aten_name(op: Any, in_place: bool = False, hint: int = 99) -> str:
    """PyTorch's name of an op: "aten::mm". What it has no function for keeps its own.

    `hint` is 10 times the dims of the first argument, plus those of the second, or the length of
    the tuple that stands there.
    """
    first, second = divmod(hint, 10)
    name = getattr(op, "aten", None) or SAMPLERS.get(op.__name__) or snake_case(op.__name__)
    if callable(name):
        name = name(first, second)
    name = name.format(second=second, spatial=first - 2)
    return f"aten::{name}{'_' * in_place}"
