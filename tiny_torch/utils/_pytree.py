"""Nested tuples, lists and dicts of anything: taken apart and put together again.

The names and rules are those of torch.utils._pytree: None is a leaf; a dict keeps its own order.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

LEAF = "*"


def tree_flatten(tree: Any) -> tuple[list, Any]:
    """The leaves in order, and a spec: "*" for a leaf, else (type, keys or None, specs)."""
    kind = type(tree)
    if kind in (dict, OrderedDict, defaultdict):
        keys, children = tuple(tree), list(tree.values())
    elif kind in (tuple, list) or is_namedtuple(kind) or is_structseq(kind):
        keys, children = None, list(tree)
    else:
        return [tree], LEAF
    parts = [tree_flatten(child) for child in children]
    leaves = [leaf for part, _ in parts for leaf in part]
    return leaves, (kind, keys, tuple(spec for _, spec in parts))


def tree_unflatten(leaves: Any, spec: Any) -> Any:
    """The tree of that spec with these leaves."""
    return build(iter(leaves), spec)


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same tree with `function` of each leaf."""
    leaves, spec = tree_flatten(tree)
    return tree_unflatten(map(function, leaves), spec)


def is_namedtuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def is_structseq(kind: type) -> bool:
    """Whether it is a type of several results, such as that of `max`."""
    return issubclass(kind, tuple) and hasattr(kind, "n_sequence_fields")


def build(leaves, spec):
    if spec == LEAF:
        return next(leaves)
    kind, keys, specs = spec
    children = [build(leaves, child) for child in specs]
    if keys is not None:
        pairs = zip(keys, children, strict=True)
        return defaultdict(None, pairs) if kind is defaultdict else kind(pairs)
    return kind(*children) if is_namedtuple(kind) else kind(children)


__all__ = ["tree_flatten", "tree_map", "tree_unflatten"]
