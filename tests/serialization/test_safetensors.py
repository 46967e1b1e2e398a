"""safetensors files, written and read by that package, in both directions with PyTorch."""

import os

import numpy as np
import pytest

import tiny_torch as torch

package = pytest.importorskip("safetensors.numpy")
from tiny_torch import safetensors  # noqa: E402

DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64"),
)


def tensors(module):
    values = {name: module.arange(6).reshape(2, 3).to(getattr(module, name)) for name in DTYPES}
    values["0-d"] = module.tensor(2.5)
    values["empty"] = module.zeros(0, 3)
    values["requires grad"] = module.ones(2, requires_grad=True)
    return values


def plain(named):
    return {
        name: (str(t.dtype).split(".")[-1], tuple(t.shape), t.detach().tolist())
        for name, t in named.items()
    }


def test_what_we_save_we_load(tmp_path):
    path = tmp_path / "x.safetensors"
    safetensors.save_file(tensors(torch), path, {"format": "pt"})
    assert plain(safetensors.load_file(path)) == plain(tensors(torch))
    data = safetensors.save(tensors(torch), metadata={"format": "pt"})
    assert data == path.read_bytes()
    loaded = safetensors.load(data)
    loaded["float32"].add_(1)  # its memory is its own
    assert plain(safetensors.load(data)) == plain(tensors(torch))
    assert os.listdir(tmp_path) == ["x.safetensors"]


def test_both_directions_with_pytorch(oracle, tmp_path):
    theirs = pytest.importorskip("safetensors.torch")
    path = tmp_path / "x.safetensors"
    theirs.save_file(tensors(oracle), path)
    assert plain(safetensors.load_file(path)) == plain(tensors(oracle))
    safetensors.save_file(tensors(torch), path)
    assert plain(theirs.load_file(path)) == plain(tensors(torch))
    assert theirs.save(tensors(oracle)) == safetensors.save(tensors(torch))


WRONG = {
    "no dict": lambda m: [m.ones(2)],
    "no tensor": lambda m: {"a": [1.0]},
    "not contiguous": lambda m: {"a": m.ones(2, 3).t()},
    "shared": lambda m: (lambda x: {"a": x, "b": x})(m.ones(2)),
    "overlapping": lambda m: (lambda x: {"a": x, "b": x[1:]})(m.ones(2)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_the_format_cannot_say(oracle, name):
    theirs = pytest.importorskip("safetensors.torch")
    with pytest.raises((ValueError, RuntimeError)) as expected:
        theirs.save(WRONG[name](oracle))
    with pytest.raises(expected.type):
        safetensors.save(WRONG[name](torch))


def test_parts_of_one_memory_that_lie_apart():
    x = torch.arange(4.0)
    loaded = safetensors.load(safetensors.save({"a": x[:2], "b": x[2:]}))
    assert loaded["a"].tolist() == [0.0, 1.0] and loaded["b"].tolist() == [2.0, 3.0]


def test_damaged_files():
    data = safetensors.save({"a": torch.arange(3)})
    for size in range(len(data)):
        with pytest.raises(safetensors.SafetensorError):
            safetensors.load(data[:size])
    with pytest.raises(safetensors.SafetensorError):
        safetensors.load(data + b"0")
    foreign = package.save({"a": np.zeros(2, "uint16")})
    with pytest.raises(NotImplementedError, match="U16"):
        safetensors.load(foreign)


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.safetensors"
    safetensors.save_file({"a": torch.ones(2)}, path)
    before = path.read_bytes()

    def fail(*arguments, **options):
        raise OSError("disk full")

    monkeypatch.setattr(safetensors.os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        safetensors.save_file({"a": torch.zeros(2)}, path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["x.safetensors"]


def test_other_devices():
    x = {"a": torch.arange(3.0, device="ref")}
    assert safetensors.load(safetensors.save(x), "ref")["a"].device.type == "ref"
