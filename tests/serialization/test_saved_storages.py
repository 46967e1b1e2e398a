"""Storages in files of `save` and in pickles: PyTorch reads ours, and the other way round."""

import io
import itertools
import pickle
import subprocess
import sys
import warnings

import pytest

import tiny_torch


class Named(tiny_torch.Tensor):
    """A class of a user's."""


def makers(module):
    x = module.arange(6.0)[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TypedStorage is deprecated
        return {
            "typed": x.storage(),
            "untyped": x.untyped_storage(),
            "with its tensor": {"x": x, "s": x.storage()},
            "several": [x.int().storage(), (x > 2).untyped_storage(), x[:0].clone().storage()],
        }


def shown(value):
    if isinstance(value, (dict, list)):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        return [(key, shown(part)) for key, part in parts]
    return type(value).__name__, str(value.dtype), value.tolist()


@pytest.mark.parametrize("name", makers(tiny_torch))
@pytest.mark.parametrize("weights_only", [True, False])
def test_each_reads_what_the_other_saves(oracle, name, weights_only):
    found = []
    for writer, reader in itertools.product((oracle, tiny_torch), repeat=2):
        file = io.BytesIO()
        writer.save(makers(writer)[name], file)
        file.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(shown(reader.load(file, weights_only=weights_only)))
    assert found == found[:1] * 4


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_memory_that_two_share_is_read_once():
    file, x = io.BytesIO(), tiny_torch.arange(4.0)
    tiny_torch.save([x, x.storage()], file)
    file.seek(0)
    y, storage = tiny_torch.load(file)
    y[0] = 7
    assert storage[0] == 7


def test_one_memory_of_two_types_is_refused(torch):
    x = torch.arange(4.0)
    with pytest.raises(RuntimeError, match="that view the same data as different types"):
        torch.save([x, x.untyped_storage()], io.BytesIO())


PICKLES = """
import pickle, sys
import torch

x = torch.arange(12.0).reshape(3, 4)
named = torch.ones(2)
named.note = "kept"
layer = torch.nn.Linear(2, 1)
with torch.no_grad():
    layer.weight.fill_(0.5), layer.bias.fill_(2)
objects = [x.t()[1:], torch.tensor(True), torch.empty(0), torch.ones(3, dtype=torch.bfloat16),
           torch.zeros(2, 2, device="meta"), named, layer, torch.ones(2, requires_grad=True)]
ours, theirs = sys.argv[1:]
with open(ours, "wb") as file:
    pickle.dump(objects, file)
if theirs != "none":
    with open(theirs, "rb") as file:
        made = pickle.load(file)
    assert [x.stride() for x in made[:6]] == [x.stride() for x in objects[:6]]
    assert made[5].note == "kept" and made[7].requires_grad and made[4].is_meta
    assert made[6](torch.ones(2)).item() == 3
    assert all(a.dtype == b.dtype for a, b in zip(made[:6], objects))
    assert [x.tolist() for x in made[:4]] == [x.tolist() for x in objects[:4]]
    print(torch.nn.Linear.__module__, *(type(x).__name__ for x in made))
"""


@pytest.mark.torch
def test_the_runner_and_pytorch_read_each_others_pickles(tmp_path):
    script, ours, theirs = tmp_path / "script.py", tmp_path / "ours", tmp_path / "theirs"
    script.write_text(PICKLES)
    runner = [sys.executable, "-m", "tiny_torch", "run", str(script), str(ours)]
    pytorch = [sys.executable, str(script), str(theirs)]
    said = "torch.nn.modules.linear Tensor Tensor Tensor Tensor Tensor Tensor Linear Tensor\n"
    subprocess.run([*runner, "none"], check=True)
    for command in ([*pytorch, str(ours)], [*runner, str(theirs)]):
        assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == said


def test_a_tensor_of_a_class_in_a_file():
    x = tiny_torch.ones(2).as_subclass(Named)
    x.note = "kept"
    file = io.BytesIO()
    tiny_torch.save(x, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Named was not an allowed global"):
        tiny_torch.load(file)
    file.seek(0)
    with tiny_torch.serialization.safe_globals([Named]):
        loaded = tiny_torch.load(file)
    assert type(loaded) is Named and loaded.note == "kept" and loaded.tolist() == [1, 1]
