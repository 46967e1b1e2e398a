"""Sizes that follow the inputs: the same model traced at several sizes of its dynamic axes.

Python has made plain ints of all shapes when a trace sees them, `x.view(x.shape[0], -1)` among
them. What differs between traces follows the dynamic axes: such ints are a `Size`, which holds one
int per trace. How it is computed from the inputs' shapes is found by `formula`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tiny_torch.base.pytree import tree_flatten, tree_unflatten
from tiny_torch.ops.nn.recurrent import Recurrent
from tiny_torch.tensor import Tensor
from tiny_torch.tools.export.graph import ExportError, Graph, Node, Value
from tiny_torch.tools.export.tracing import trace

TRACES = 3  # two points fix a line, the third tells whether it is one


class Size:
    """An int that is another one in each trace; arithmetic is done on all of them."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[int]) -> None:
        self.values = tuple(values)

    def combine(self, other: Any, operate: Callable[[int, int], int]) -> Any:
        others = other.values if isinstance(other, Size) else (other,) * len(self.values)
        return size_of([operate(a, b) for a, b in zip(self.values, others, strict=True)])

    def __add__(self, other: Any) -> Any:
        return self.combine(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Any:
        return self.combine(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self.combine(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self.combine(other, lambda a, b: a * b)

    def __floordiv__(self, other: Any) -> Any:
        return self.combine(other, lambda a, b: a // b)

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.values == other.values

    def __hash__(self) -> int:
        return hash(self.values)

    def __repr__(self) -> str:
        return "|".join(map(str, self.values))


def size_of(values: Sequence[int]) -> Any:
    """A Size, or the int that all of them are."""
    return values[0] if len(set(values)) == 1 else Size(values)


class Axis:
    """A dim of an input whose size is open. Axes of one name have one size."""

    def __init__(self, name: str, places: list[tuple[int, int]], size: Any) -> None:
        self.name, self.places, self.size = name, places, size  # places: (input, dim)


def trace_sized(
    model: Callable,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    axes: list[Axis],
    has: Callable[[Any], bool],
) -> Graph:
    """The graph of the model with a Size wherever one follows the axes; without axes, as traced.

    Raises ExportError where the model runs at no other size, or takes another way there.
    """
    first = trace(model, args, kwargs, has)
    if not axes:
        return first
    failed: Exception | None = None
    for plan in plans(axes):
        try:
            graphs = [
                trace(model, *resize_arguments(args, kwargs, axes, sizes), has)  # type: ignore[call-arg]
                for sizes in plan
            ]
        except ExportError:
            raise
        except Exception as error:  # whatever a model does at a size that it was not made for
            failed = error
            continue
        for axis, *sizes in zip(axes, *plan, strict=True):
            axis.size = Size(sizes)
        return merge(graphs)
    names = ", ".join(axis.name for axis in axes)
    raise ExportError(
        f"dynamic axes {names}: the model does not run at other sizes: {failed}"
    ) from failed


def plans(axes: list[Axis]) -> Iterator[list[list[int]]]:
    """Sizes of all axes for each trace: all larger, else those that can be are smaller.

    Two axes never grow alike, so that a size tells which of them it follows. Size 1 is not among
    them, since what is broadcast there is not elsewhere.
    """
    starts = [max(axis.size, 2) for axis in axes]
    steps = [(0, k + 1, 2 * k + 3) for k in range(len(axes))]
    units = [n if n <= 16 else n & -n for n in starts]  # so that halves stay whole
    room = [(n - 2) // step[-1] for n, step in zip(starts, steps, strict=True)]
    less = [-min(unit, r) or unit for unit, r in zip(units, room, strict=True)]
    ones = [-1 if r else 1 for r in room]
    for change in (units, less, ones, [1] * len(axes)):
        yield [
            [n + by * step[t] for n, by, step in zip(starts, change, steps, strict=True)]
            for t in range(TRACES)
        ]


def resize_arguments(
    args: Sequence[Any], kwargs: dict, axes: list[Axis], sizes: list[int]
) -> tuple:
    """The arguments with the axes at these sizes: elements are repeated, or left out."""
    leaves, spec = tree_flatten((tuple(args), kwargs))
    tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    for axis, size in zip(axes, sizes, strict=True):
        for number, dim in axis.places:
            i = tensors[number]
            index = [k % leaves[i].shape[dim] for k in range(size)]
            leaves[i] = leaves[i].index_select(dim, leaves[i].new_tensor(index).long())
    return tree_unflatten(leaves, spec)


def merge(graphs: list[Graph]) -> Graph:
    """The first graph, with a Size for each int that differs between them."""
    first = graphs[0]
    pairs: dict[int, Any] = {}  # the values of the other graphs, by that of the first

    def pair(values: Sequence[Value]) -> None:
        value = values[0]
        if id(value) in pairs:
            return
        pairs[id(value)] = values
        if len({len(v.shape) for v in values}) > 1 or len({v.dtype for v in values}) > 1:
            raise ExportError(f"dims or dtype of a tensor follow a dynamic axis: {list(values)}")
        value.shape = tuple(
            [size_of(sizes) for sizes in zip(*[v.shape for v in values], strict=True)]
        )
        if value.array is not None and not same_elements(values):
            value.array = [v.array for v in values]  # one per trace: what it is, onnx/ has to see

    for values in zip(*[g.inputs for g in graphs], strict=True):
        pair(values)
    for nodes in zip(*[g.nodes for g in graphs], strict=False):
        node = nodes[0]
        if len({n.name for n in nodes}) > 1 or len({len(n.outputs) for n in nodes}) > 1:
            raise differs(nodes)
        node.arguments = unify([n.arguments for n in nodes], pair, node, ())
        for values in zip(*[n.outputs for n in nodes], strict=True):
            pair(values)
    if len({len(g.nodes) for g in graphs}) > 1:
        raise differs([max(graphs, key=lambda g: len(g.nodes)).nodes[-1]])
    for values in zip(*[g.outputs for g in graphs], strict=True):
        pair(values)
    return first


def differs(nodes: Sequence[Node]) -> ExportError:
    names = " and ".join(dict.fromkeys(node.name for node in nodes))
    return ExportError(f"which ops run follows a dynamic axis: {names}, {nodes[0].place}")


def same_elements(values: Sequence[Value]) -> bool:
    if any(value.array is None for value in values) or len({v.shape for v in values}) > 1:
        return False
    first = values[0].array.numpy()
    return all(first.tobytes() == value.array.numpy().tobytes() for value in values[1:])


def unify(given: Sequence[Any], pair: Callable, node: Node, path: tuple) -> Any:
    """One argument from those of all traces."""
    first = given[0]
    if isinstance(first, tuple | list):
        if len({len(items) for items in given}) > 1:
            if issubclass(node.op, Recurrent) and len(path) == 1:
                return steps_of(given)
            raise differs([node])
        items = zip(*given, strict=True)
        return tuple([unify(item, pair, node, (*path, i)) for i, item in enumerate(items)])
    if isinstance(first, Value):
        if not all(isinstance(value, Value) for value in given):
            raise differs([node])
        pair(given)
        return first
    if type(first) is int and all(type(value) is int for value in given):
        return size_of(given)
    if any(type(value) is not type(first) or value != first for value in given):
        shown = ", ".join(map(repr, given))
        raise ExportError(f"{node.name} is given {shown} as a dynamic axis grows; {node.place}")
    return first


def steps_of(given: Sequence[Any]) -> Any:
    """(rows,) of a recurrent layer's time steps: all the same, without packed sequences.

    Their number follows an axis; it is the input's.
    """
    return (size_of([rows[0] for rows in given]),)


def formula(wanted: Size, axes: list[Axis]) -> tuple[int, list[Axis], int] | None:
    """(a, axes, b) with wanted = a × their product + b, for one axis or two; None if none fits."""
    products = [[axis] for axis in axes]
    products += [[p, q] for i, p in enumerate(axes) for q in axes[i + 1 :]]
    for product in products:
        sizes: Any = 1
        for axis in product:
            sizes = sizes * axis.size
        line = line_through(sizes.values, wanted.values)
        if line is not None:
            return line[0], product, line[1]
    return None


def line_through(xs: Sequence[int], ys: Sequence[int]) -> tuple[int, int] | None:
    """Whole (a, b) with y = a x + b at all points."""
    if xs[0] == xs[1]:
        return None
    a, rest = divmod(ys[1] - ys[0], xs[1] - xs[0])
    b = ys[0] - a * xs[0]
    fits = not rest and all(y == a * x + b for x, y in zip(xs, ys, strict=True))
    return (a, b) if fits else None
