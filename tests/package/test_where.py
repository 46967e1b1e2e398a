"""`python -m tiny_torch where NAME`: places that exist, down to the kernels; names that do not."""

import inspect
import re
from pathlib import Path

import pytest

import tiny_torch as torch
from tiny_torch.tools import where as _where

# What the lines for a name say, in this order: the label's beginning, and what stands at the place.
WAYS = {
    "exp": [
        ("torch.exp", "def function"), ("Exp", "lambda grad, y: grad *"),
        ("record", "UNARY(exp, "), ("formula", "exp(Vec<float>"),
        ("cpu", "core/elementwise_fill.h"), ("ref", '"exp": ('), ("backward", "def backward"),
        ("test", 'record("exp"'),
    ],
    "torch.matmul": [
        ("torch.matmul", "def matmul("), ("Matmul", "class Matmul(Op)"), ("C++", "NDArray matmul("),
        ("table", "MatmulKernel product"), ("cpu", "MatmulArgs"), ("backward", "def backward"),
    ],
    "F.softmax": [
        ("torch.nn.functional.softmax", "def softmax("), ("Softmax", "class Softmax(Op)"),
        ("C++", "NDArray softmax("), ("table", "(*softmax)("), ("cpu", "run_softmax("),
        ("backward", "def backward"), ("C++", "NDArray softmax_backward("),
        ("composite", "def composite"),
    ],
    "nn.Conv2d": [
        ("torch.nn.Conv2d", "class Conv2d("), ("Convolution", "class Convolution(Op)"),
        ("cpu", "void sum(const ConvSum&"), ("C++", "NDArray conv_forward("), ("test", "Conv2d"),
    ],
    "layer_norm": [
        ("torch.layer_norm", "def layer_norm("), ("NativeLayerNorm", "class NativeLayerNorm(Op)"),
        ("C++", "layer_norm("), ("cpu", "void layer_norm("), ("cpu", "void layer_norm_backward("),
    ],
    "nn.CrossEntropyLoss": [
        ("torch.nn.CrossEntropyLoss", "class CrossEntropyLoss("),
        ("function", "def cross_entropy("), ("CrossEntropy", "class CrossEntropy(Op)"),
        ("cpu", "void run_cross_entropy("),
    ],
    "optim.RMSprop": [
        ("torch.optim.RMSprop", "class RMSprop("), ("C++", "foreach_rmsprop("),
        ("table", "RmspropArgs"), ("core", "RmspropArgs"), ("test", "RMSprop"),
    ],
    "Tensor.add_": [
        ("torch.Tensor.add_", "def add_("), ("Add", "class Add("), ("record", "BINARY(add, "),
    ],
    "nn.LSTM": [
        ("torch.nn.LSTM", "class LSTM("), ("Lstm", "class Lstm("), ("C++", "recurrent_forward("),
        ("C++", "recurrent_backward("),
    ],
    "Tensor.T": [("torch.Tensor.T", "def ")],
    "relu_": [("torch.relu_", "def "), ("record", "UNARY(relu, ")],
}  # fmt: skip


def lines_of(capsys, name):
    assert _where.main([name]) == 0
    found = re.findall(r"^(.{0,11}\S*) +(\S+):(\d+)  (.*)$", capsys.readouterr().out, re.M)
    return [(label.strip(), Path(path), int(number), text) for label, path, number, text in found]


@pytest.mark.parametrize("name", WAYS)
def test_the_way_of_a_name(capsys, name):
    if not _where.files("src", ".def"):
        pytest.skip("installed without sources")
    lines = iter(lines_of(capsys, name))
    for label, text in WAYS[name]:
        assert any(line[0].startswith(label) and text in line[3] for line in lines), (label, text)


def test_a_helper_in_python_is_no_kernel_of_its_name(capsys):
    files = [path for _, path, *_ in lines_of(capsys, "Tensor.__getitem__")]
    assert not [path for path in files if "optim" in str(path)]  # both have an `arrays_of`


@pytest.mark.parametrize("name", ["exp", "F.softmax", "nn.Linear", "optim.SGD", "cat"])
def test_every_place_is_what_it_says(capsys, name):
    for _, path, number, text in lines_of(capsys, name):
        assert path.read_text().splitlines()[number - 1].strip().startswith(text)


def test_without_sources_there_are_pythons_places(capsys, monkeypatch):
    files = _where.files
    monkeypatch.setattr(_where, "files", lambda f, *e: files(f, *e) if f == "tiny_torch" else ())
    assert _where.main(["exp"]) == 0
    said = capsys.readouterr().out
    assert 'of_output("exp"' in said and "no C++ sources" in said and "record" not in said


@pytest.mark.parametrize(
    "name, message",
    [
        ("nosuch", "torch.nosuch is not in tiny_torch, nor in PyTorch"),
        (
            "torch.package",
            "torch.package is not in tiny_torch: it is outside of what tiny_torch covers",
        ),
        ("F.nosuch", "torch.nn.functional.nosuch is not in tiny_torch, nor in PyTorch"),
        ("Tensor.sofmax", "did you mean torch.Tensor.softmax?"),
        ("nosuch.exp", "torch.nosuch is not in tiny_torch"),
    ],
)
def test_an_unknown_name(capsys, name, message):
    assert _where.main([name]) == 2
    said = capsys.readouterr()
    assert message in said.err and not said.out


def test_the_source_of_a_function_that_a_decorator_made_says_how_to_find_its_op():
    for function in (torch.exp, torch.hypot):
        assert "python -m tiny_torch where" in inspect.getsource(function)
