"""Nested containers of anything: taken apart into leaves, and put together again.

The names and rules are those of torch.utils._pytree: None is a leaf; a dict keeps its own order;
what is registered is a container, too. Not here: specs as JSON.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from tiny_torch.base.size import Size

PyTree = Any
Context = Any
IsLeaf = Callable[[Any], bool] | None


# ---- how a key is said: of dicts, sequences and attributes ------------------------------------
@dataclass(frozen=True)
class SequenceKey:
    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


def keystr(kp: Iterable[Any]) -> str:
    """The keys of a path as Python would spell it: "[0]['a'].b"."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """What a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


# ---- containers --------------------------------------------------------------------------------
class NodeDef(NamedTuple):
    """flatten_fn(tree): (children, context); unflatten_fn(children, context): the tree again."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list, Context]]
    unflatten_fn: Callable[[Iterable, Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list, Context]] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def register_pytree_node(
    cls: Any,
    flatten_fn: Callable[[Any], tuple[list, Context]],
    unflatten_fn: Callable[[Iterable, Context], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list, Context]] | None = None,
) -> None:
    """Makes a class one of the containers; ValueError if it is one already."""
    if to_dumpable_context is not None or from_dumpable_context is not None:
        raise NotImplementedError("register_pytree_node: to_dumpable_context is not supported")
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def register_sequence(cls: Any, make: Callable, context: Callable = lambda tree: None) -> None:
    def keys(tree: Any) -> tuple[list, Context]:
        return [(SequenceKey(i), child) for i, child in enumerate(tree)], context(tree)

    register_pytree_node(
        cls, lambda tree: (list(tree), context(tree)), make, flatten_with_keys_fn=keys
    )


def register_mapping(cls: Any, make: Callable, context: Callable = list) -> None:
    def keys(tree: Any) -> tuple[list, Context]:
        return [(MappingKey(key), child) for key, child in tree.items()], context(tree)

    register_pytree_node(
        cls, lambda tree: (list(tree.values()), context(tree)), make, flatten_with_keys_fn=keys
    )


def make_mapping(cls: type) -> Callable[[Iterable, Context], Any]:
    return lambda children, keys: cls(zip(keys, children, strict=True))


def make_defaultdict(children: Iterable, context: Context) -> defaultdict:
    factory, keys = context
    return defaultdict(factory, zip(keys, children, strict=True))


register_sequence(tuple, lambda children, _: tuple(children))
register_sequence(list, lambda children, _: list(children))
register_sequence(Size, lambda children, _: Size(children))
register_sequence(deque, lambda children, maxlen: deque(children, maxlen), lambda tree: tree.maxlen)
register_mapping(dict, make_mapping(dict))
register_mapping(OrderedDict, make_mapping(OrderedDict))
register_mapping(defaultdict, make_defaultdict, lambda tree: [tree.default_factory, list(tree)])
register_pytree_node(
    namedtuple,
    lambda tree: (list(tree), type(tree)),
    lambda children, kind: kind(*children),
    flatten_with_keys_fn=lambda tree: (
        [(GetAttrKey(name), getattr(tree, name)) for name in tree._fields],
        type(tree),
    ),
)

# PyTorch's names of what packages register classes with that are like these two.
_, _list_flatten, _list_unflatten, _list_flatten_with_keys = SUPPORTED_NODES[list]
_, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys = SUPPORTED_NODES[dict]

BUILT_IN = frozenset(SUPPORTED_NODES)
DICTS = {dict, OrderedDict, defaultdict}


def is_namedtuple(obj: Any) -> bool:
    """True for a class that `namedtuple` or NamedTuple made, and what is of one."""
    cls = obj if isinstance(obj, type) else type(obj)
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_structseq(obj: Any) -> bool:
    """True for a type of several results, such as that of `max`, and what is of one."""
    cls = obj if isinstance(obj, type) else type(obj)
    return issubclass(cls, tuple) and hasattr(cls, "n_sequence_fields")


is_namedtuple_class = is_namedtuple_instance = is_namedtuple
is_structseq_class = is_structseq_instance = is_structseq


def _get_node_type(tree: Any) -> Any:
    cls = type(tree)
    if cls in SUPPORTED_NODES:
        return cls
    if is_structseq(cls):
        register_sequence(cls, lambda children, _: cls(children))
    return namedtuple if is_namedtuple(cls) else cls


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """True for what is no container, or where `is_leaf` says so."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


# ---- specs -------------------------------------------------------------------------------------
@dataclass(init=True, frozen=True)
class TreeSpec:
    """A tree without its leaves; of type None, a leaf."""

    type: Any
    context: Context
    children_specs: list[TreeSpec]
    num_leaves: int = field(init=False, compare=False)
    num_nodes: int = field(init=False, compare=False)
    num_children: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        children = self.children_specs
        leaves = 1 if self.type is None else sum(child.num_leaves for child in children)
        object.__setattr__(self, "num_leaves", leaves)
        object.__setattr__(self, "num_nodes", 1 + sum(child.num_nodes for child in children))
        object.__setattr__(self, "num_children", len(children))

    def __repr__(self, indent: int = 0) -> str:
        if self.is_leaf():
            return "*"
        inner = f",\n{' ' * (indent + 2)}".join(
            child.__repr__(indent + 2) for child in self.children_specs
        )
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inner}])"

    def is_leaf(self) -> bool:
        return self.type is None

    def children(self) -> list[TreeSpec]:
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        return self.children_specs[index]

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of a tree of the same beginning that stand where this has leaves.

        Raises ValueError where a container has another type, number of children or keys.
        """
        if self.is_leaf():
            return [tree]
        found = _get_node_type(tree)
        if found is not self.type and not {found, self.type} <= DICTS:
            kind = "Node type" if self.type in BUILT_IN else "Type"
            raise ValueError(f"{kind} mismatch; expected {self.type!r}, but got {found!r}.")
        children, context = SUPPORTED_NODES[found].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(
                f"Node arity mismatch; expected {self.num_children}, but got {len(children)}."
            )
        if found in DICTS:
            keys = self.context[-1] if self.type is defaultdict else self.context
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            if missing:
                raise ValueError(
                    f"Node keys mismatch; missing key(s): {missing}; extra key(s): {extra}."
                )
            children = [tree[key] for key in keys]
        elif context != self.context and found is not deque:
            raise ValueError(
                f"Node context mismatch for custom node type {self.type!r}: expected "
                f"{self.context!r}, got {context!r}."
            )
        pairs = zip(self.children_specs, children, strict=True)
        return [part for spec, child in pairs for part in spec.flatten_up_to(child)]

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree of these leaves; ValueError for another number of them."""
        values = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(values)} but the spec "
                f"refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self.build(iter(values))

    def build(self, leaves: Iterator[Any]) -> PyTree:
        if self.is_leaf():
            return next(leaves)
        children = [child.build(leaves) for child in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)


PyTreeSpec = TreeSpec
LEAF = TreeSpec(None, None, [])


def LeafSpec() -> TreeSpec:
    """The spec of a leaf."""
    return LEAF


# ---- trees -------------------------------------------------------------------------------------
def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves in order, and the spec of the rest."""
    leaves: list[Any] = []
    return leaves, collect_leaves(tree, is_leaf, leaves)


def collect_leaves(tree: PyTree, is_leaf: IsLeaf, leaves: list[Any]) -> TreeSpec:
    """Appends the leaves; the spec. A closure would keep them until `gc` runs."""
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LEAF
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [collect_leaves(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of that spec with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    yield from tree_flatten(tree, is_leaf)[0]


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """The same tree with `func` of each leaf, and of what stands there in further trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *[spec.flatten_up_to(rest) for rest in rests]]
    return spec.unflatten([func(*row) for row in zip(*columns, strict=True)])


def tree_map_(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Calls `func` as `tree_map` does; the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def only(kinds: Any, func: Callable, leaf: Any) -> Any:
    wanted = isinstance(leaf, kinds) if isinstance(kinds, (type, tuple)) else kinds(leaf)
    return func(leaf) if wanted else leaf


def tree_map_only(kinds: Any, /, func: Callable, tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """As `tree_map`, of the leaves of some types alone, or those that a predicate takes."""
    return tree_map(partial(only, kinds, func), tree, is_leaf=is_leaf)


def tree_map_only_(kinds: Any, /, func: Callable, tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    return tree_map_(partial(only, kinds, func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(kinds: Any, /, pred: Callable, tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, kinds))


def tree_any_only(kinds: Any, /, pred: Callable, tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, kinds))


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[tuple, Any]]:
    """(path, leaf) of each: the keys that lead to it."""
    if tree_is_leaf(tree, is_leaf):
        return [((), tree)]
    node = SUPPORTED_NODES[_get_node_type(tree)]
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    return [
        ((key, *path), leaf)
        for key, child in node.flatten_with_keys_fn(tree)[0]
        for path, leaf in tree_leaves_with_path(child, is_leaf)
    ]


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list, TreeSpec]:
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """As `tree_map`, with the path of each leaf as the first argument."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [*zip(*found, strict=True), *[spec.flatten_up_to(rest) for rest in rests]]
    return spec.unflatten([func(*row) for row in zip(*columns, strict=True)])
