"""torch.utils._pytree next to PyTorch's."""

from __future__ import annotations

import collections
import importlib
import itertools

import pytest

from tiny_torch.utils import _pytree as ours

Pair = collections.namedtuple("Pair", "a b")


class Box:
    """A container that is registered."""

    def __init__(self, *values):
        self.values = values

    def __repr__(self):
        return f"Box{self.values}"


TREES = [
    1, None, (), [1, (2, None)], {"a": 1, "b": [2, {}]}, Pair(1, [2]), {"k": Box(1, 2)},
    collections.OrderedDict(z=1, a=2), collections.defaultdict(list, {"q": [1]}),
    collections.deque([1, 2], 3), Box(1, [2, 3]),
]  # fmt: skip
CALLS = {
    "flatten": lambda m, tree: m.tree_flatten(tree),
    "unflatten": lambda m, tree: m.tree_unflatten(*m.tree_flatten(tree)),
    "map": lambda m, tree: m.tree_map(lambda x: (x, x), tree),
    "paths": lambda m, tree: [(m.keystr(k), x) for k, x in m.tree_leaves_with_path(tree)],
    "found by path": lambda m, tree: [m.key_get(tree, k) for k, _ in m.tree_leaves_with_path(tree)],
    "is_leaf": lambda m, tree: m.tree_leaves(tree, is_leaf=lambda x: isinstance(x, list)),
    "any": lambda m, tree: m.tree_any(lambda x: x == 2, tree),
    "all": lambda m, tree: m.tree_all(lambda x: x, tree),
    "any_only": lambda m, tree: m.tree_any_only(int, lambda x: x > 2, tree),
    "all_only": lambda m, tree: m.tree_all_only(int, lambda x: x > 0, tree),
    "map_only": lambda m, tree: m.tree_map_only(int, lambda x: x + 1, tree),
    "map_with_path": lambda m, tree: m.tree_map_with_path(lambda k, x: (m.keystr(k), x), tree),
    "spec": lambda m, tree: (m.tree_structure(tree).num_nodes, m.tree_structure(tree).num_leaves),
    "kind": lambda m, tree: (m._get_node_type(tree), m.tree_is_leaf(tree)),
    "wrong number": lambda m, tree: m.tree_unflatten([1, 2, 3, 4], m.tree_structure(tree)),
    "no spec": lambda m, tree: m.tree_unflatten([1], tree),
    "twice": lambda m, tree: m.register_pytree_node(Box, None, None),
}


@pytest.fixture(scope="module")
def both():
    pytest.importorskip("torch")
    theirs = importlib.import_module("torch.utils._pytree")
    for module in (ours, theirs):
        module.register_pytree_node(
            Box, lambda box: (list(box.values), None), lambda values, _: Box(*values)
        )
    return ours, theirs


def answer(call, module, *trees):
    try:
        return repr(call(module, *trees))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("name", CALLS)
def test_as_pytorchs(both, name):
    for tree in TREES:
        mine, theirs = [answer(CALLS[name], module, tree) for module in both]
        assert mine == theirs, tree


@pytest.mark.torch
def test_several_trees(both):
    for trees in itertools.product(TREES, TREES):
        mine, theirs = [
            answer(lambda m, x, y: m.tree_map(lambda a, b: (a, b), x, y), module, *trees)
            for module in both
        ]
        assert mine == theirs, trees
