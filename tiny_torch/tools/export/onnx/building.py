"""Writes an ONNX graph: names, constants, casts, and sizes that are computed where it runs.

What an op becomes stands in FORMS: a function of the builder, the node and the op's arguments,
registered by `form`. It answers the name of the result, or a tuple of names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tiny_torch.base.extras import optional
from tiny_torch.tools.export.graph import ExportError, Graph, Node, Value, is_plain
from tiny_torch.tools.export.sizes import Axis, Size, formula

FORMS: dict[Any, Callable[..., Any]] = {}  # by an op's class
# numbers of TensorProto.DataType, by dtype
TYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
    "float16": 10, "float64": 11,
}  # fmt: skip


def package() -> Any:
    """The package that writes the file, an optional one; ImportError tells how to get it."""
    return optional("onnx", "onnx", "onnx", "torch.onnx.export")


def form(*ops: Any) -> Callable[[Callable], Callable]:
    """What nodes of these ops become in ONNX."""

    def register(function: Callable) -> Callable:
        for op in ops:
            FORMS[op] = function
        return function

    return register


def dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def type_of(dtype: Any) -> int:
    name = dtype_name(dtype)
    if name not in TYPES:
        raise ExportError(f"{name} has no form in ONNX here: model.float() first")
    return TYPES[name]


class Builder:
    """The nodes and constants of one ONNX graph."""

    def __init__(self, graph: Graph, axes: list[Axis], opset: int) -> None:
        self.graph, self.axes, self.opset = graph, axes, opset
        self.onnx = package()
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.names: dict[int, str] = {}  # by id of a Value
        self.taken: set[str] = set()
        self.made: dict[Any, str] = {}  # constants and sizes that are there already
        self.known: dict[Size, tuple[str, int]] = {}  # a tensor and its dim of that size

    # ---- names ----------------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        """A name that no other tensor has."""
        name, k = stem, 0
        while name in self.taken:
            k += 1
            name = f"{stem}_{k}"
        self.taken.add(name)
        return name

    def bind(self, value: Value, name: str) -> None:
        """The tensor of that name is the value."""
        self.names[id(value)] = name
        for dim, size in enumerate(value.shape):
            if isinstance(size, Size):
                self.known.setdefault(size, (name, dim))

    def name(self, x: Any, dtype: Any = None) -> str:
        """The tensor that an argument is, cast to a dtype; of a number, a constant of that."""
        if isinstance(x, str):
            return x
        if isinstance(x, Size):
            scalar = self.Squeeze(self.ints([x]), self.ints([0]))
            return scalar if dtype is None else self.cast(scalar, dtype)
        if not isinstance(x, Value):
            return self.constant(np.array(x, dtype_name(dtype) if dtype is not None else None))
        if id(x) not in self.names:
            self.bind(x, self.constant_value(x))
        name = self.names[id(x)]
        return name if dtype is None or dtype is x.dtype else self.cast(name, dtype)

    # ---- nodes ----------------------------------------------------------------------------------

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """A node; the name of its result, or a tuple of them. Empty names are absent inputs."""
        results = [self.fresh(kind.lower()) for _ in range(outputs)]
        known = {k: v for k, v in attributes.items() if v is not None}
        node = self.onnx.helper.make_node(
            kind, inputs, results, self.fresh(f"node_{kind}"), **known
        )
        self.nodes.append(node)
        return results[0] if outputs == 1 else tuple(results)

    def __getattr__(self, kind: str) -> Any:
        """`b.Add(x, y)` is `b.op("Add", x, y)`."""
        return functools.partial(self.op, kind)

    def cast(self, name: str, dtype: Any) -> str:
        return self.Cast(name, to=type_of(dtype))

    def reduce(self, kind: str, x: str, dims: Sequence[int], keepdim: bool) -> str:
        """Axes are an input from opset 18 on, of ReduceSum always; no dims are all."""
        if self.opset >= 18 or kind == "ReduceSum":
            axes = [self.ints(dims)] if dims else []
            return self.op(kind, x, *axes, keepdims=int(keepdim))
        return self.op(kind, x, axes=list(dims) or None, keepdims=int(keepdim))

    # ---- constants ------------------------------------------------------------------------------

    def constant(self, array: np.ndarray, stem: str = "constant") -> str:
        key = array.dtype.str, array.shape, array.tobytes() if stem == "constant" else stem
        if key not in self.made:
            self.made[key] = name = self.fresh(stem)
            self.initializers[name] = self.onnx.numpy_helper.from_array(array, name)
        return self.made[key]

    def constant_value(self, value: Value) -> str:
        if is_plain(value):
            type_of(value.dtype)
            return self.constant(value.numpy(), value.name or "constant")
        return self.sized_constant(value)

    def sized_constant(self, value: Value) -> str:
        """What a factory made whose elements or shape follow a dynamic axis."""
        arrays = [array.numpy() for array in value.array]
        if len({array.ravel()[0].item() if array.size else None for array in arrays}) == 1 and all(
            (array == array.ravel()[0]).all() for array in arrays if array.size
        ):
            fill = self.onnx.numpy_helper.from_array(arrays[0].ravel()[:1])
            return self.ConstantOfShape(self.ints(value.shape), value=fill)
        if not value.shape and arrays[0].dtype == np.int64:
            return self.name(Size([array.item() for array in arrays]))
        if len(value.shape) == 1 and all(is_range(array, arrays[0]) for array in arrays):
            first, step = arrays[0][0], arrays[0][1] - arrays[0][0]
            count = self.name(value.shape[0], value.dtype)
            stop = self.Mul(count, self.constant(np.array(step)))
            stop = self.Add(stop, self.constant(np.array(first)))
            return self.Range(self.constant(np.array(first)), stop, self.constant(np.array(step)))
        raise ExportError(
            f"a constant of shape {list(value.shape)} follows a dynamic axis, and is neither one "
            "number nor a range: compute it from an input by ops"
        )

    # ---- sizes ----------------------------------------------------------------------------------

    def ints(self, numbers: Sequence[Any]) -> str:
        """A 1-d int64 tensor of ints and Sizes."""
        if all(type(n) is int for n in numbers):
            return self.constant(np.array(numbers, np.int64))
        parts = [self.size(n) if isinstance(n, Size) else self.ints([n]) for n in numbers]
        return parts[0] if len(parts) == 1 else self.Concat(*parts, axis=0)

    def size(self, size: Size) -> str:
        """A Size as a tensor of one int64, computed from shapes."""
        if size in self.made:
            return self.made[size]
        found = formula(size, self.axes)
        if found is not None:
            factor, axes, term = found
            name = ""
            for axis in axes:
                number, dim = axis.places[0]
                shown = self.shape(self.names[id(self.graph.inputs[number])], dim)
                name = self.Mul(name, shown) if name else shown
            if factor != 1:
                name = self.Mul(name, self.ints([factor]))
            if term:
                name = self.Add(name, self.ints([term]))
        elif size in self.known:
            name = self.shape(*self.known[size])
        else:
            raise ExportError(f"sizes {size} follow the dynamic axes in a way that is not found")
        self.made[size] = name
        return name

    def shape(self, name: str, dim: int) -> str:
        return self.Shape(name, start=dim, end=dim + 1)

    def reshape(self, x: str, shape: Sequence[Any]) -> str:
        """One size that follows an axis is what remains."""
        sizes = [n for n in shape if isinstance(n, Size)]
        if len(sizes) == 1 and 0 not in shape:
            shape = [-1 if isinstance(n, Size) else n for n in shape]
        return self.Reshape(x, self.ints(shape))

    def constant_numbers(self, node: Node, what: str, numbers: Sequence[Any]) -> list[int]:
        """Numbers that ONNX wants as an attribute."""
        if any(isinstance(n, Size) for n in numbers):
            raise ExportError(f"{what} of {node.name} follow a dynamic axis; {node.place}")
        return list(numbers)

    # ---- the graph ------------------------------------------------------------------------------

    def run(self) -> None:
        """Writes all nodes of the traced graph."""
        for node in self.graph.nodes:
            if node.op not in FORMS:
                raise ExportError(f"{node.name} has no form in ONNX; {node.place}")
            first = len(self.nodes)
            result = FORMS[node.op](self, node, *node.arguments)
            results = result if isinstance(result, tuple) else (result,)
            for value, name in zip(node.outputs, results, strict=True):
                self.bind(value, name)
            for made in self.nodes[first:]:
                made.doc_string = " ".join([node.where, node.module]).strip()


def is_range(array: np.ndarray, like: np.ndarray) -> bool:
    """Whether it counts on as `like` begins."""
    if array.dtype.kind not in "if" or len(array) < 2 or len(like) < 2:
        return False
    wanted = like[0] + (like[1] - like[0]) * np.arange(len(array), dtype=array.dtype)
    return bool((array == wanted).all())
