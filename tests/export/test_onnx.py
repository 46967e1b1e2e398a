"""What `torch.onnx.export` writes: onnx's checker takes it, ONNX Runtime computes the same."""

from __future__ import annotations

import inspect
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_cases import MODELS, Call, Gpt, Unet, cnn
from tiny_torch.utils._pytree import tree_flatten

import tiny_torch as torch

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
nn, F = torch.nn, torch.nn.functional


def session(proto: Any) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return runtime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def newest() -> int:
    """The newest opset that both packages know."""
    make = onnx.helper
    x, y = (make.make_tensor_value_info(name, 1, [1]) for name in "xy")
    graph = make.make_graph([make.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    for opset in range(onnx.defs.onnx_opset_version(), 16, -1):
        try:
            session(make.make_model(graph, opset_imports=[make.make_opsetid("", opset)]))
        except Exception:
            continue
        return opset
    raise AssertionError("no opset")


NEWEST = newest()


def tensors(values: Any) -> list[Any]:
    return [x for x in tree_flatten(values)[0] if isinstance(x, torch.Tensor)]


def check(program: Any, model: Any, args: tuple) -> None:
    """ONNX Runtime answers what the model does."""
    onnx.checker.check_model(program.model_proto, full_check=True)
    ran = session(program.model_proto)
    names = [value.name for value in program.model_proto.graph.input]
    feed = {name: x.numpy() for name, x in zip(names, tensors(args), strict=True)}
    found = ran.run(None, feed)
    wanted = tensors(model(*args))  # afterwards, since it may write its inputs
    assert len(found) == len(wanted)
    for ours, theirs in zip(wanted, found, strict=True):
        ours = ours.detach().numpy()
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("opset", [17, NEWEST])
@pytest.mark.parametrize("name", MODELS)
def test_onnx_runtime_answers_the_same(name: str, opset: int) -> None:
    model, args = MODELS[name]
    model.eval()
    program = torch.onnx.export(model, args, opset_version=opset)
    check(program, model, args)


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_computed_weights_of_one_shape_stay_apart(layer: Any) -> None:
    model = layer(4, 4, 2)
    for name in ("weight_ih_l0", "weight_hh_l0", "weight_hh_l1", "bias_ih_l0", "bias_ih_l1"):
        nn.utils.parametrize.register_parametrization(model, name, nn.Tanh())
    model.eval()
    args = (torch.randn(5, 2, 4),)
    check(torch.onnx.export(model, args), model, args)


# ---- dynamic axes -------------------------------------------------------------------------------

X = torch.randn
RECURRENT = nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True)
ENCODER = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
BATCH, BOTH = {0: "batch"}, {0: "batch", 1: "steps"}
# name: (model, the examples, dynamic_axes, other inputs)
DYNAMIC: dict[str, tuple] = {
    "cnn": (cnn(), (X(1, 1, 12, 12),), {"input": BATCH}, [(X(n, 1, 12, 12),) for n in (1, 3, 7)]),
    "lists": (nn.Flatten(), (X(2, 3, 4),), {"input": [0, 2]}, [(X(5, 3, 2),)]),
    "images": (
        nn.Sequential(nn.Conv2d(1, 2, 3, stride=2), nn.Upsample(scale_factor=2.0),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        (X(2, 1, 12, 12),), {"input": {0: "n", 2: "h", 3: "w"}}, [(X(3, 1, 9, 21),)],
    ),
    "lstm": (RECURRENT, (X(2, 5, 8),), {"input": BATCH}, [(X(1, 5, 8),), (X(6, 5, 8),)]),
    "lstm steps": (RECURRENT, (X(2, 5, 8),), {"input": BOTH}, [(X(3, 9, 8),), (X(4, 1, 8),)]),
    "gru steps": (nn.GRU(8, 6), (X(5, 2, 8),), {"input": {0: "steps"}}, [(X(9, 2, 8),)]),
    "encoder": (ENCODER, (X(2, 5, 8),), {"src": BOTH}, [(X(1, 7, 8),), (X(4, 3, 8),)]),
    "gpt": (
        Gpt(), (torch.randint(17, (1, 6)),), {"index": BOTH, "output": BOTH},
        [(torch.randint(17, (3, 11)),), (torch.randint(17, (1, 64)),)],
    ),
    "gpt of full length": (
        Gpt(), (torch.randint(17, (1, 64)),), {"index": BOTH}, [(torch.randint(17, (4, 3)),)]
    ),
    "unet": (
        Unet(), (X(1, 1, 16, 32),), {"x": {0: "n", 2: "h", 3: "w"}}, [(X(3, 1, 24, 6),)]
    ),
    "shared": (
        Call(lambda x, y: torch.cat([x, y], 1) * x.shape[0] + torch.arange(x.shape[0])[:, None]),
        (X(2, 3), X(2, 4)), {"args_0": BATCH, "args_1": BATCH}, [(X(5, 3), X(5, 4))],
    ),
    "moments": (
        Call(lambda x: (x.var(0), x.view(-1, x.shape[0]), x.new_zeros(x.shape[0], 2) + 1)),
        (X(4, 3),), {"args_0": BATCH}, [(X(7, 3),)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DYNAMIC)
def test_other_sizes_run(name: str) -> None:
    model, args, axes, others = DYNAMIC[name]
    model.eval()
    program = torch.onnx.export(model, args, dynamic_axes=axes)
    for given in [args, *others]:
        check(program, model, given)


def test_a_file_object_gets_the_model() -> None:
    file = io.BytesIO()
    program = torch.onnx.export(nn.Linear(4, 2), (torch.ones(1, 4),), file)
    assert onnx.load_from_string(file.getvalue()) == program.model_proto


def test_names_and_shapes_are_in_the_file(tmp_path: Any) -> None:
    model, path = nn.Linear(4, 2), tmp_path / "model.onnx"
    torch.onnx.export(
        model, torch.ones(3, 4), path, input_names=["x"], output_names=["y"],
        dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}}, opset_version=18,
    )  # fmt: skip
    proto = onnx.load(path)
    graph = proto.graph
    assert proto.opset_import[0].version == 18
    assert [d.dim_param or d.dim_value for d in graph.output[0].type.tensor_type.shape.dim] == [
        "batch",
        2,
    ]
    assert [graph.input[0].name, graph.output[0].name] == ["x", "y"]
    assert {t.name for t in graph.initializer} == {"weight", "bias"}
    assert "test_onnx.py" in graph.node[0].doc_string


def test_parameters_may_be_inputs() -> None:
    model = nn.Linear(4, 2)
    program = torch.onnx.export(model, torch.ones(3, 4), export_params=False)
    assert [value.name for value in program.model_proto.graph.input] == ["input", "weight", "bias"]
    feed = {"input": torch.ones(3, 4).numpy(), "weight": 2 * torch.ones(2, 4).numpy()}
    found = session(program.model_proto).run(None, feed | {"bias": torch.ones(2).numpy()})[0]
    assert found.tolist() == [[9.0, 9.0]] * 3


def test_what_depends_on_no_input_is_folded() -> None:
    model = Call(lambda x: x + torch.ones(2, 2).triu().cumsum(0) * 3)
    ops = [
        [node.op_type for node in torch.onnx.export(
            model, torch.ones(2, 2), do_constant_folding=folding).model_proto.graph.node]
        for folding in (True, False)
    ]  # fmt: skip
    assert ops == [["Add"], ["Trilu", "CumSum", "Mul", "Add"]]


def test_modules_keep_their_modes_and_statistics() -> None:
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout())
    torch.onnx.export(model, X(2, 3))
    assert model.training and model[1].training
    assert model[0].num_batches_tracked == 0


def test_modes_may_be_preserved() -> None:
    keep = torch.onnx.TrainingMode.PRESERVE
    model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
    with pytest.raises(torch.onnx.OnnxExporterError, match=r"draws random numbers.*Sequential\.1"):
        torch.onnx.export(model, X(2, 3), training=keep)
    program = torch.onnx.export(model.eval(), X(2, 3), training=keep)
    assert [node.op_type for node in program.model_proto.graph.node] == ["Gemm"]


def test_inputs_and_buffers_stay_as_they_are() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x: Any) -> Any:
            self.count += 1
            return x.mul_(2) + self.count

    model, x = Counter(), torch.ones(2)
    program = torch.onnx.export(model, x)
    assert x.tolist() == [1, 1] and model.count.tolist() == [0, 0]
    assert session(program.model_proto).run(None, {"x": x.numpy()})[0].tolist() == [3, 3]


@pytest.mark.torch
def test_the_arguments_are_pytorchs() -> None:
    theirs = pytest.importorskip("torch").onnx
    found, wanted = (inspect.signature(space.export).parameters for space in (torch.onnx, theirs))
    assert list(found) == list(wanted)
    for name in found:
        assert found[name].kind == wanted[name].kind, name
        if name not in ("training", "operator_export_type"):  # their enums
            assert found[name].default == wanted[name].default, name


def test_a_model_is_told_that_it_is_exported() -> None:
    seen = []
    torch.onnx.export(Call(lambda x: seen.append(torch.onnx.is_in_onnx_export()) or x + 1), X(2))
    assert seen == [True] and not torch.onnx.is_in_onnx_export()


# ---- refusals -----------------------------------------------------------------------------------


def branch(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def old_view(x: Any) -> Any:
    y = x.clone(); row = y[0]; y.add_(1); return row * 2  # noqa: E702 # fmt: skip


REFUSED: dict[str, tuple] = {
    "branches": (branch, "__bool__"),
    "items": (lambda x: x * x.max().item(), "item"),
    "arrays": (lambda x: torch.from_numpy(x.numpy() * 2), "numpy"),
    "random": (lambda x: x + torch.randn(2, 3), "Draw draws random numbers"),
    "dropout": (lambda x: F.dropout(x, 0.5), "draws random numbers"),
    "out": (lambda x: torch.add(x, x, out=torch.empty(2, 3)), "writes its result to out="),
    "masks": (lambda x: x[x > 0], "a mask as an index"),
    "old views": (old_view, "memory was written through another"),
    "reshaped in place": (lambda x: x.clone().t_() + 1, "a view .* that no op has made"),
    "unknown": (lambda x: x.lgamma(), "Lgamma has no form in ONNX"),
    "bfloat16": (lambda x: x.bfloat16() + 1, "bfloat16 has no form"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_and_where(name: str) -> None:
    function, message = REFUSED[name]
    with pytest.raises(torch.onnx.OnnxExporterError, match=message) as refused:
        torch.onnx.export(Call(function), X(2, 3))
    if name != "bfloat16":
        assert f"{__file__}:{function.__code__.co_firstlineno}" in str(refused.value).replace(
            f":{function.__code__.co_firstlineno + 1}", f":{function.__code__.co_firstlineno}"
        )


def test_what_follows_a_dynamic_axis_in_another_way_is_refused() -> None:
    with pytest.raises(torch.onnx.OnnxExporterError, match="which ops run follows a dynamic axis"):
        torch.onnx.export(Call(loop), X(2, 3), dynamic_axes={"args_0": [0]})
    with pytest.raises(torch.onnx.OnnxExporterError, match="does not run at other sizes"):
        torch.onnx.export(nn.Linear(3, 2), X(2, 3), dynamic_axes={"input": [1]})


def loop(x: Any) -> Any:
    for _ in range(x.shape[0]):
        x = x + 1
    return x


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dynamic_shapes": {}, "report": True}, NotImplementedError, "report"),
        ({"training": torch.onnx.TrainingMode.TRAINING}, NotImplementedError, "training"),
        ({"opset_version": 9}, RuntimeError, "opset_version must be 17 to"),
        ({"dynamic_axes": {"z": [0]}}, ValueError, "'z' is none of"),
        ({"dynamic_axes": {"input": [2]}}, ValueError, "input has 2 dims, no dim 2"),
        ({"input_names": ["a", "b"]}, ValueError, "at most 1"),
        ({"output_names": ["input"]}, ValueError, "share the names"),
    ],
)
def test_arguments_that_are_refused(arguments: dict, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        torch.onnx.export(nn.Linear(3, 2), X(2, 3), **arguments)


def test_only_modules_are_exported() -> None:
    with pytest.raises(TypeError, match=r"expected an nn.Module, got function"):
        torch.onnx.export(branch, X(2))


def test_the_document_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/export.md").read_text()
    code = "".join(re.findall(r"^```python\n(.*?)^```", page, re.M | re.S))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "makes a Python value of a tensor that depends on the inputs" in done.stdout
    assert (tmp_path / "model.onnx").exists() and (tmp_path / "model.c").exists()
