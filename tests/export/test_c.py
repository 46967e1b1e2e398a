"""What `to_c` writes: it compiles without warnings, runs clean, and answers what the model does."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_cases import MODELS, Call, Gpt, cnn, with_statistics

import tiny_torch as torch
from tiny_torch.tools.export import ExportError, to_c, trace
from tiny_torch.tools.export import command as to_c_command
from tiny_torch.tools.export.c.plan import Plan, views_of
from tiny_torch.tools.export.c.writing import number

nn, F = torch.nn, torch.nn.functional
GCC = shutil.which("gcc")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]
CHECKED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
needs_compiler = pytest.mark.skipif(GCC is None, reason="there is no gcc")


def run(path: Path, *flags: str) -> str:
    """What the file's self-test prints; it must compile without warnings and succeed."""
    program = path.with_suffix("")
    command = [str(GCC), *STRICT, *flags, "-DSELF_TEST", str(path), "-o", str(program), "-lm"]
    built = subprocess.run(command, capture_output=True, text=True)
    assert not built.returncode, built.stderr
    ran = subprocess.run([str(program), "2"], capture_output=True, text=True)
    assert not ran.returncode, ran.stdout + ran.stderr
    return ran.stdout


class Tagger(nn.Module):
    """An LSTM in both directions and a head, which answers its state, too."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(12, 3)

    def forward(self, x: Any) -> Any:
        y, (h, c) = self.lstm(x)
        return self.head(y[:, -1]), h, c


WHOLE = {
    "mlp": MODELS["mlp"],
    "cnn": (cnn(), (torch.randn(2, 1, 12, 12),)),
    "lstm": (Tagger(), (torch.randn(3, 5, 8),)),
    "gpt": (Gpt(), (torch.randint(17, (2, 6)),)),
}


@needs_compiler
@pytest.mark.parametrize("name", WHOLE)
def test_models_answer_the_same_under_sanitizers(name: str, tmp_path: Path) -> None:
    model, args = WHOLE[name]
    to_c(model, args, tmp_path / "model.c")
    assert "model: 0 wrong" in run(tmp_path / "model.c", *CHECKED)


# Of the models that are written as ONNX: those of which C has all ops.
IN_C = [
    "residual", "unet", "encoder", "decoder", "multihead", "conv1d", "conv2d", "conv unbatched",
    "linear 3d", "batch norm", "rnn", "gru", "conv transposed 1d", "conv transposed 2d",
    "layer norm", "group norm", "instance norm", "rms norm", "gru cell", "local response norm",
    "max pool", "max pool 1d", "avg pool", "avg pool ceil", "avg pool without padding",
    "avg pool divisor", "adaptive even", "adaptive uneven", "adaptive max", "lstm with a state",
    "embedding", "lstm projected", "bilinear", "pixel shuffle", "ELU", "GELU", "gelu tanh",
    "Hardswish", "Hardtanh", "LeakyReLU", "PReLU", "SELU", "SiLU", "Softplus", "glu", "sums",
    "softmax", "products", "einsum", "joins", "pieces", "slices", "shapes", "squeeze", "repeat",
    "three", "limits", "meshgrid", "linspace", "losses", "roots", "logarithms",
]  # fmt: skip


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", IN_C)
def test_layers_answer_the_same(name: str, tmp_path: Path) -> None:
    model, args = MODELS[name]
    to_c(model, args, tmp_path / "model.c")
    assert "model: 0 wrong" in run(tmp_path / "model.c", *CHECKED)


@needs_compiler
def test_a_caller_gets_the_outputs(tmp_path: Path) -> None:
    """Without the self-test the file is a function to link with."""
    to_c(nn.Linear(2, 1), torch.ones(1, 2), tmp_path / "net.c")
    text = (tmp_path / "net.c").read_text()
    assert "void net(const float *input_0, float *output);" in text
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\nvoid net(const float *, float *);\n"
        'int main(void) { float x[2] = {1, 2}, y; net(x, &y); printf("%.6f", (double)y); }\n'
    )
    files = [str(tmp_path / "net.c"), str(tmp_path / "main.c"), "-o", str(tmp_path / "run")]
    subprocess.run([str(GCC), *STRICT, *files, "-lm"], check=True)
    done = subprocess.run([str(tmp_path / "run")], capture_output=True, text=True)
    assert re.fullmatch(r"-?\d+\.\d{6}", done.stdout)


@needs_compiler
@pytest.mark.parametrize("name", ["main", "double", "exp", "expf", "lstm", "matmul", "example_0"])
def test_a_file_may_have_any_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.c"
    report = to_c(nn.LSTM(2, 3), torch.ones(4, 1, 2), path)
    assert report.function == f"{name}_1" and f"{name}_1: 0 wrong" in run(path)


NAN = torch.tensor([[1.0, torch.nan, 2.0, -4.0], [torch.nan, torch.nan, torch.inf, 5.0]])
NOT_A_NUMBER = {
    "largest": lambda x: (x.amax(1), x.max(), x.amin(0), torch.maximum(x, x * 2)),
    "two": lambda x: (torch.maximum(ONES, x), torch.minimum(ONES, x), torch.minimum(x, ONES)),
    "places": lambda x: (x.argmax(1), x.argmin(1), x.argmin()),
    "activations": lambda x: (F.hardsigmoid(x), F.hardswish(x), F.relu6(x), F.elu(x)),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
}
ONES = torch.ones(2, 4)


@needs_compiler
@pytest.mark.parametrize("name", NOT_A_NUMBER)
def test_nan_is_as_in_the_model(name: str, tmp_path: Path) -> None:
    to_c(Call(NOT_A_NUMBER[name]), NAN, tmp_path / "model.c")
    assert "0 wrong" in run(tmp_path / "model.c", *CHECKED)


FAR = torch.tensor([-1.5, -300.0, 256.0, 300.7, 1e10, -1e20, torch.inf, torch.nan, 2.0**31])


@needs_compiler
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
def test_floats_without_a_place_among_integers(dtype: Any, tmp_path: Path) -> None:
    to_c(Call(lambda x: x.to(dtype)), FAR, tmp_path / "model.c")
    assert "0 wrong" in run(tmp_path / "model.c", *CHECKED)


def test_numbers_are_exact() -> None:
    for bits in np.random.default_rng(0).integers(0, 2**32, 1000, np.uint32):
        x = bits.view(np.float32)
        if np.isfinite(x):
            assert np.float32(float.fromhex(number(x, "float").rstrip("f"))) == x
    texts = [number(x, "float") for x in (-0.0, 1.0, -0.1, np.inf, -np.inf, np.nan)]
    assert texts == ["-0.0f", "0x1p+0f", "-0x1.99999ap-4f", "INFINITY", "-INFINITY", "NAN"]
    assert number(True, "uint8_t") == "1"


def test_batch_norm_is_folded_into_the_layer_before(tmp_path: Path) -> None:
    path = tmp_path / "model.c"
    layers = [nn.Conv2d(1, 4, 3, bias=False), with_statistics(nn.BatchNorm2d(4)), nn.ReLU()]
    assert to_c(nn.Sequential(*layers), torch.ones(1, 1, 5, 5), path).norms == 1
    linear = [nn.Linear(3, 4), with_statistics(nn.BatchNorm1d(4))]
    assert to_c(nn.Sequential(*linear), torch.ones(2, 3), path).norms == 1
    assert to_c(nn.Sequential(nn.ReLU(), *linear[1:]), torch.ones(2, 4), path).norms == 0


def test_buffers_that_live_at_one_time_do_not_meet() -> None:
    graph = trace(Gpt().eval(), (torch.randint(17, (2, 6)),))
    types = {id(v): "float" for node in graph.nodes for v in node.outputs}
    plan = Plan(graph, types, {})
    lives: dict[int, tuple[int, int, int, int]] = {}
    for i, node in enumerate(graph.nodes):
        for value in (*node.inputs, *node.outputs):
            root = plan.root(value)[0]
            if id(root) in plan.offset:
                at, size = plan.offset[id(root)], int(np.prod(root.shape))
                born = lives.get(id(root), (i, i, 0, 0))[0]
                lives[id(root)] = born, i, at, at + size
    blocks = list(lives.values())
    for k, (born, died, low, high) in enumerate(blocks):
        for other_born, other_died, other_low, other_high in blocks[:k]:
            apart = died < other_born or other_died < born
            assert apart or high <= other_low or other_high <= low
    assert 4 * plan.arenas["float"] < plan.bytes / 3


def test_views_are_the_elements_that_the_op_shows() -> None:
    def shown(x: Any) -> tuple:
        return (x[1, ::2], x.mT, x.permute(2, 0, 1), x[0, :, None].expand(3, 5, 4), *x.unbind(2),
                *x.split([1, 2], 1), x.view(6, 4), x[:, :1].squeeze(1))  # fmt: skip

    x = torch.arange(24.0).view(2, 3, 4)
    flat = x.numpy().ravel()
    graph = trace(Call(shown), (x,))
    made = {
        id(v): view for n in graph.nodes for v, view in zip(n.outputs, views_of(n), strict=True)
    }
    for value, wanted in zip(graph.outputs, shown(x), strict=True):
        if value.node.arguments[0] is graph.inputs[0]:  # else a view of a view
            view = made[id(value)]
            strides = [4 * stride for stride in view.strides]
            array = np.lib.stride_tricks.as_strided(flat[view.offset :], view.shape, strides)
            assert array.tolist() == wanted.tolist()


REFUSED = {
    "an op": (lambda x: x.lgamma(), "Lgamma has no form in C"),
    "a dtype": (lambda x: x.double(), "float64 has no form in C"),
    "a branch": (lambda x: x if x.sum() > 0 else -x, "__bool__"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_and_where(name: str, tmp_path: Path) -> None:
    function, message = REFUSED[name]
    line = function.__code__.co_firstlineno
    with pytest.raises(ExportError, match=f"{message}.*{Path(__file__).name}:{line}"):
        to_c(Call(function), torch.ones(2), tmp_path / "model.c")
    assert not (tmp_path / "model.c").exists()


# ---- the command

FACTORY = """
import tiny_torch as torch
def make():
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())
"""


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "tiny_torch", "to-c", *arguments], cwd=folder, capture_output=True,
        text=True,
    )  # fmt: skip


@needs_compiler
def test_the_command_writes_a_saved_model_and_prints_a_table(tmp_path: Path) -> None:
    torch.save(nn.Sequential(nn.Linear(4, 3), nn.Tanh()), tmp_path / "model.pt")
    done = command(tmp_path, "model.pt", "--input", "2x4", "-o", "model.c")
    assert done.returncode == 0, done.stderr
    names = [line[:20].strip() for line in done.stdout.splitlines()]
    assert names == ["file", "function", "weights", "buffers", "batch norms folded", "self-test",
                     "time in C", "time in tiny_torch"]  # fmt: skip
    assert "0 wrong" in done.stdout and "weights             60 bytes" in done.stdout


def test_a_state_dict_needs_a_factory(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
    torch.save(model.state_dict(), tmp_path / "state.pt")
    (tmp_path / "net.py").write_text(FACTORY)
    done = command(tmp_path, "state.pt", "--input", "2x4", "-o", "model.c")
    assert done.returncode == 1
    assert "a state_dict has no forward" in done.stderr and "--model" in done.stderr
    given = ("state.pt", "--input", "2x4", "-o", "model.c", "--model", "net.py:make")
    assert command(tmp_path, *given).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "2xa"], "expected 1x28x28"),
        (["--input", "2x4:complex64"], "expected float32"),
        (["--input", "2x5"], "to-c: mat1 and mat2 shapes cannot be multiplied"),
    ],
)
def test_the_command_refuses(arguments: list[str], message: str, tmp_path: Path) -> None:
    torch.save(nn.Linear(4, 3), tmp_path / "model.pt")
    done = command(tmp_path, "model.pt", *arguments, "-o", "model.c")
    assert done.returncode == 1 and message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("content", [b"", b"text, not a model", b"PK\3\4", b"\x80\2}q\0."])
def test_a_file_that_is_no_model_is_refused_in_one_line(content: bytes, tmp_path, capsys) -> None:
    path = tmp_path / "wrong.pt"
    path.write_bytes(content)
    assert to_c_command.main([str(path), "--input", "2x4", "-o", str(tmp_path / "x.c")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("to-c: ") and "Traceback" not in said and said.count("\n") == 1


@pytest.mark.parametrize("factory", ["def make(x): 0", "def make(): 1 / 0", "def (", "make = 3"])
def test_a_factory_that_makes_no_model_is_told_in_one_line(factory, tmp_path, capsys) -> None:
    torch.save(nn.Linear(4, 3).state_dict(), tmp_path / "state.pt")
    (tmp_path / "net.py").write_text(factory)
    given = [str(tmp_path / "state.pt"), "--model", f"{tmp_path / 'net.py'}:make"]
    assert to_c_command.main([*given, "--input", "2x4", "-o", str(tmp_path / "x.c")]) == 1
    assert capsys.readouterr().err.startswith("to-c: --model: ")
