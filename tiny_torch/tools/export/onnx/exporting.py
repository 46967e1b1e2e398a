"""`torch.onnx.export`: traces a model, writes it in ONNX, checks the file."""

from __future__ import annotations

import enum
import inspect
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import IO, Any

from tiny_torch.base.modes import Setting
from tiny_torch.base.pytree import tree_flatten
from tiny_torch.base.several import Several
from tiny_torch.nn import Module
from tiny_torch.tensor import Tensor
from tiny_torch.tools.export.graph import ExportError, Graph, Value, fold, prune
from tiny_torch.tools.export.onnx.building import FORMS, Builder, package, type_of
from tiny_torch.tools.export.sizes import Axis, Size, formula, trace_sized
from tiny_torch.tools.export.tracing import in_eval

OLDEST, DEFAULT = 17, 20  # opsets
LIMIT = 2**31 - 1  # bytes of a protobuf message


class OnnxExporterError(RuntimeError):
    """A model that cannot be written in ONNX. Source: PyTorch, torch.onnx.OnnxExporterError."""


class TrainingMode(enum.Enum):
    """Modes of the modules during export. Source: PyTorch, torch.onnx.TrainingMode."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class ONNXProgram:
    """What `export` answers: `model_proto` is onnx's ModelProto, `save(path)` writes it.

    Source: PyTorch, torch.onnx.ONNXProgram.
    """

    def __init__(self, model_proto: Any) -> None:
        self.model_proto = model_proto

    def save(
        self, destination: str | os.PathLike[str] | IO[bytes], *, external_data: bool = True
    ) -> None:
        """Writes the file; weights of a model above 2 GiB into `destination`.data beside it.

        `destination` may be a binary file opened for writing, too. Raises ValueError for a model
        above 2 GiB without `external_data`, and for one that has no path.
        """
        large = self.model_proto.ByteSize() > LIMIT
        if not isinstance(destination, (str, os.PathLike)):
            if large:
                raise ValueError("a model above 2 GiB is written to a path, not to a file object")
            package().save_model(self.model_proto, destination)
            return
        path = os.fspath(destination)
        if large and not external_data:
            raise ValueError("a model above 2 GiB needs external_data=True")
        location = os.path.basename(path) + ".data"
        package().save_model(self.model_proto, path, save_as_external_data=large, location=location)


_exporting = False


def is_in_onnx_export() -> bool:
    """Whether `export` traces a model at the moment.

    Source: PyTorch, torch.onnx.is_in_onnx_export.
    """
    return _exporting


def export(
    model: Module,
    args: tuple[Any, ...] = (),
    f: str | os.PathLike[str] | IO[bytes] | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: Any = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Mapping[int, str]] | Mapping[str, Sequence[int]] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: Any = None,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | Collection[type[Module]] = False,
    autograd_inlining: bool = True,
) -> ONNXProgram:
    """Writes a model as ONNX: what its forward runs on `args`, which are examples.

    `args` (a tuple, or one tensor) and `kwargs` go to the model. `input_names`, by default the
    arguments' names, and `output_names` are in their order. A dim in `dynamic_axes` ({"x": {0:
    "batch"}}, or lists of dims) may have another size when the file is run; the model is then
    traced at three sizes. `opset_version` is 17 to the newest that the onnx package knows, by
    default 20. Without `export_params` the parameters become inputs. Without `do_constant_folding`
    or `optimize` what depends on parameters alone is computed by nodes. `training` EVAL puts all
    modules in eval mode, PRESERVE leaves them. `dynamo` may be either: there is one exporter. With
    `f`, a path or a binary file, the file is written, by onnx's checker found right.

    Raises OnnxExporterError for an op without a form in ONNX, and for Python that depends on
    elements (`.item()`, `if x.sum() > 0`), naming it and where it was called, for an op that ONNX
    has not for a dtype; RuntimeError for an opset that is not known; ImportError without
    the package onnx; NotImplementedError for any other argument that is not its default.
    Source: PyTorch, torch.onnx.export.

    >>> import tiny_torch as torch
    >>> model = torch.nn.Linear(4, 2)
    >>> try:
    ...     program = torch.onnx.export(model, (torch.ones(1, 4),), dynamic_axes={"input": [0]})
    ...     print([node.op_type for node in program.model_proto.graph.node])
    ... except ImportError:  # without the package onnx
    ...     print(["Gemm"])
    ['Gemm']
    """
    refuse({
        "dynamic_shapes": dynamic_shapes, "custom_translation_table": custom_translation_table,
        "report": report, "verify": verify, "profile": profile,
        "dump_exported_program": dump_exported_program,
        "artifacts_dir": os.fspath(artifacts_dir) != ".",
        "keep_initializers_as_inputs": keep_initializers_as_inputs,
        "operator_export_type": operator_export_type, "custom_opsets": custom_opsets,
        "export_modules_as_functions": export_modules_as_functions,
        "autograd_inlining=False": not autograd_inlining,
        "training=TrainingMode.TRAINING": training is TrainingMode.TRAINING,
    })  # fmt: skip
    if not isinstance(model, Module):
        raise TypeError(f"export() expected an nn.Module, got {type(model).__name__}")
    newest = package().defs.onnx_opset_version()
    opset = DEFAULT if opset_version is None else opset_version
    if not OLDEST <= opset <= newest:
        raise RuntimeError(f"opset_version must be {OLDEST} to {newest}, got {opset_version}")
    args = (args,) if isinstance(args, Tensor) else tuple(args)
    inputs, examples = named_inputs(model, args, kwargs or {}, input_names)
    axes, open_names = axes_of(dynamic_axes or {}, inputs, examples)
    try:
        graph = trace_model(model, args, kwargs or {}, axes, training)
        for value, name in zip(graph.inputs, inputs, strict=True):
            value.name = name
        if optimize and do_constant_folding:
            fold(graph)
        prune(graph)
        if verbose:
            print(graph)
        outputs = output_names_of(graph, output_names)
        check_names(dynamic_axes or {}, inputs, outputs)
        proto = to_model_proto(graph, axes, opset, outputs, open_names, export_params)
    except ExportError as error:
        raise OnnxExporterError(str(error)) from error
    program = ONNXProgram(proto)
    if proto.ByteSize() <= LIMIT:
        check_model(proto)
    if f is not None:
        program.save(f, external_data=external_data)
    return program


def check_model(proto: Any) -> None:
    """By onnx's checker, which knows the dtypes that each op takes."""
    checker, inference = package().checker, package().shape_inference
    try:
        checker.check_model(proto, full_check=True)
    except (checker.ValidationError, inference.InferenceError) as error:
        raise OnnxExporterError(f"onnx's checker refuses the model: {error}") from error


def refuse(arguments: dict[str, Any]) -> None:
    for name, value in arguments.items():
        if value:
            raise NotImplementedError(f"torch.onnx.export: {name} is not implemented")


def trace_model(
    model: Module, args: tuple, kwargs: dict, axes: list[Axis], training: TrainingMode
) -> Graph:
    kept = Several() if training is TrainingMode.PRESERVE else in_eval(model)
    with Setting(sys.modules[__name__], "_exporting", True), kept:
        return trace_sized(model, args, kwargs, axes, FORMS.__contains__)


# ---- names --------------------------------------------------------------------------------------


def named_inputs(
    model: Module, args: tuple, kwargs: dict, given: Sequence[str] | None
) -> tuple[list[str], list[Tensor]]:
    """The names of the inputs, and the tensors, in the order of a trace."""
    names, tensors = [], []
    parameters = list(inspect.signature(model.forward).parameters.values())
    positional = []
    for i, value in enumerate(args):
        at = min(i, len(parameters) - 1)
        many = at >= 0 and parameters[at].kind is inspect.Parameter.VAR_POSITIONAL
        name = parameters[at].name if at >= 0 else "input"
        positional.append((f"{name}_{i - at}" if many else name, value))
    for name, value in [*positional, *kwargs.items()]:
        found = [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, Tensor)]
        names += [name if len(found) == 1 else f"{name}_{i}" for i in range(len(found))]
        tensors += found
    if given is not None:
        if len(given) > len(names) or len(set(given)) < len(given):
            raise ValueError(
                f"input_names: expected at most {len(names)} different names, got {list(given)}"
            )
        names[: len(given)] = given
    return names, tensors


def output_names_of(graph: Graph, given: Sequence[str] | None) -> list[str]:
    count = len(graph.outputs)
    names = ["output"] if count == 1 else [f"output_{i}" for i in range(count)]
    if given is not None:
        if len(given) > count or len(set(given)) < len(given):
            raise ValueError(
                f"output_names: expected at most {count} different names, got {list(given)}"
            )
        names[: len(given)] = given
    return names


def check_names(dynamic_axes: Mapping, inputs: list[str], outputs: list[str]) -> None:
    for name in dynamic_axes:
        if name not in (*inputs, *outputs):
            raise ValueError(f"dynamic_axes: {name!r} is none of {[*inputs, *outputs]}")
    shared = set(inputs) & set(outputs)
    if shared:
        raise ValueError(f"inputs and outputs share the names {sorted(shared)}")


def axes_of(
    dynamic_axes: Mapping, inputs: list[str], examples: list[Tensor]
) -> tuple[list[Axis], dict[tuple[str, int], str]]:
    """The open axes of inputs, and all names that were given, by tensor and dim."""
    names: dict[tuple[str, int], str] = {}
    axes: dict[str, Axis] = {}
    for tensor, dims in dynamic_axes.items():
        if not isinstance(dims, Mapping):
            dims = {dim: f"{tensor}_dynamic_axes_{i}" for i, dim in enumerate(dims, 1)}
        for dim, name in dims.items():
            if tensor in inputs:
                number = inputs.index(tensor)
                shape = examples[number].shape
                if not -len(shape) <= dim < len(shape):
                    raise ValueError(f"dynamic_axes: {tensor} has {len(shape)} dims, no dim {dim}")
                dim %= len(shape)
                axis = axes.setdefault(name, Axis(name, [], shape[dim]))
                if axis.size != shape[dim]:
                    raise ValueError(
                        f"dynamic_axes: {name} is {axis.size} and {shape[dim]} in the examples"
                    )
                axis.places.append((number, dim))
            names[tensor, dim] = name
    return list(axes.values()), names


# ---- the file -----------------------------------------------------------------------------------


def to_model_proto(
    graph: Graph,
    axes: list[Axis],
    opset: int,
    outputs: list[str],
    open_names: dict[tuple[str, int], str],
    export_params: bool,
) -> Any:
    """The graph as onnx's ModelProto."""
    b = Builder(graph, axes, opset)
    b.taken.update([*outputs, *[value.name for value in graph.inputs]])
    for value in graph.inputs:
        b.bind(value, value.name)
    b.run()
    end(b, graph.outputs, outputs)
    helper = b.onnx.helper

    def info(name: str, value: Value) -> Any:
        shape = [
            open_names.get((name, dim)) or symbol(size, axes, f"{name}_{dim}")
            for dim, size in enumerate(value.shape)
        ]
        return helper.make_tensor_value_info(name, type_of(value.dtype), shape)

    parameters = {value.name: value for value in graph.constants if value.name}
    inputs = [info(value.name, value) for value in graph.inputs]
    initializers = list(b.initializers.values())
    if not export_params:
        inputs += [info(name, v) for name, v in parameters.items() if name in b.initializers]
        initializers = [t for t in initializers if t.name not in parameters]
    results = [info(name, value) for name, value in zip(outputs, graph.outputs, strict=True)]
    proto = helper.make_graph(b.nodes, graph.title, inputs, results, initializers)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(
        proto, opset_imports=opsets, producer_name="tiny_torch",
        ir_version=helper.find_min_ir_version_for(opsets),
    )  # fmt: skip


def symbol(size: Any, axes: list[Axis], default: str) -> Any:
    """A dim of the file: its size, or the name of the axis that it is."""
    if not isinstance(size, Size):
        return size
    found = formula(size, axes)
    if found is not None and found[0] == 1 and len(found[1]) == 1 and found[2] == 0:
        return found[1][0].name
    return default


def end(b: Builder, values: list[Value], names: list[str]) -> None:
    """The outputs get their names; what is an input, a constant or an output twice, by a node."""
    made = {name for node in b.nodes for name in node.output}
    renamed: dict[str, str] = {}
    for value, name in zip(values, names, strict=True):
        now = b.name(value)
        if now in made and now not in renamed:
            renamed[now] = name
        else:
            node = b.onnx.helper.make_node("Identity", [now], [name])
            b.nodes.append(node)
    for node in b.nodes:
        for field in (node.input, node.output):
            for i, name in enumerate(field):
                field[i] = renamed.get(name, name)
