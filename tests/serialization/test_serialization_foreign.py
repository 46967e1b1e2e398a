"""What others wrote: files from before PyTorch 1.6, Python's pickles of PyTorch's tensors; and what
the environment forces."""

import io
import os
import pickle
import random
import struct
import warnings
from collections import OrderedDict

import pytest
from cases.archives import CLEAR, loaded, plain, saved
from test_serialization import example

import tiny_torch as torch
from tiny_torch.exchange import legacy

OLD = {"_use_new_zipfile_serialization": False}

# ---- files from before PyTorch 1.6 -----------------------------------------------------------


def legacy_file(pickled, *storages, keys=None):
    """A file with a pickle of our choice; a storage is (key, number of elements, bytes)."""
    names = [key for key, *_ in storages] if keys is None else keys
    head = [
        int.from_bytes(legacy.MAGIC_NUMBER[2:], "little"),
        legacy.VERSION,
        {"little_endian": True},
    ]
    parts = [*(pickle.dumps(part, 2) for part in head), pickled, pickle.dumps(names, 2)]
    parts += [struct.pack("<q", numel) + data for _, numel, data in storages]
    return b"".join(parts)


class Global:
    """Pickled as a global of that name."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self):
        raise AssertionError


class Call:
    """Pickled as a call."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


class Stored:
    """Pickled as a persistent id."""

    def __init__(self, *saved_id):
        self.saved_id = saved_id


class Writer(pickle._Pickler):
    def persistent_id(self, obj):
        return obj.saved_id if isinstance(obj, Stored) else None

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, Global):
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        else:
            super().save(obj, save_persistent_id)


def written(obj):
    file = io.BytesIO()
    Writer(file, 2).dump(obj)
    return file.getvalue()


FLOATS = Global("torch", "FloatStorage")
REBUILD = Global("torch._utils", "_rebuild_tensor_v2")
ONE = ("7", 2, struct.pack("<2f", 1, 2))


def of(kind=FLOATS, key="7", numel=2, location="cpu", view=None):
    return "storage", kind, key, location, numel, view


def tensor(saved_id, function=REBUILD, more=(False, None)):
    return written(Call(function, Stored(*saved_id), 0, (2,), (1,), *more))


@pytest.mark.torch
def test_files_from_before_1_6(oracle):
    theirs, ours = example(oracle), example(torch)
    for whole in (theirs, ours):
        whole["bytes"] = whole["bytes"][1:]  # PyTorch refuses b"" in its own files
    data = saved(theirs, oracle.save, **OLD)
    result = loaded(data)
    assert plain(result) == plain(ours)
    assert result["state"]._metadata == {"": {"version": 1}}
    base, *views = result["views"]
    base.zero_()
    assert not any(view.any() for view in views[:4])  # one storage
    assert plain(loaded(data, weights_only=False)["state"]) == plain(ours["state"])


@pytest.mark.torch
def test_old_models_and_optimizers(oracle, tmp_path):
    model = oracle.nn.Sequential(oracle.nn.Linear(2, 3), oracle.nn.BatchNorm1d(3))
    path = tmp_path / "model.pt"
    oracle.save(model.state_dict(), path, **OLD)
    ours = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    assert ours.load_state_dict(torch.load(path))
    assert plain(dict(ours.state_dict())) == plain(dict(model.state_dict()))
    whole = saved(model, oracle.save, **OLD)
    assert repr(loaded(whole, weights_only=False)) == repr(model)
    with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed.*Sequential"):
        loaded(whole)


@pytest.mark.torch
def test_files_one_behind_the_other(oracle):
    file = io.BytesIO(
        saved(oracle.ones(1), oracle.save, **OLD) + saved(oracle.zeros(2), oracle.save, **OLD)
    )
    assert torch.load(file).tolist() == [1] and torch.load(file).tolist() == [0, 0]


def test_what_python_2_wrote():
    hooks = Call(Global("collections", "OrderedDict"), [["a", 1]])
    data = legacy_file(
        written([Call(REBUILD, Stored(*of()), 0, (2,), (1,), False, hooks), hooks]), ONE
    )
    x, items = loaded(data)
    assert x.tolist() == [1, 2] and items == OrderedDict(a=1)
    old = tensor(of(), Global("torch._utils", "_rebuild_tensor"), more=())
    assert loaded(legacy_file(old, ONE)).tolist() == [1, 2]


def test_old_files_and_map_location():
    data = legacy_file(tensor(of(location="cuda:0")), ONE)
    assert loaded(data, map_location="cpu").tolist() == [1, 2]
    assert loaded(data, map_location="meta").device.type == "meta"
    assert loaded(data, map_location=lambda storage, location: storage).tolist() == [1, 2]
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="CUDA device"):
            loaded(data)


SYSTEM = Global("os", "system")
BAD = {
    "larger than the file": legacy_file(tensor(of(numel=10**12)), ONE),
    "negative": legacy_file(tensor(of(numel=-1)), ONE),
    "another size": legacy_file(tensor(of(numel=3)), ONE),
    "another key": legacy_file(tensor(of(key="8")), ONE),
    "a key too many": legacy_file(tensor(of()), ONE, keys=["7", "8"]),
    "keys of lists": legacy_file(tensor(of()), ONE, keys=[["7"]]),
    "no keys": legacy_file(tensor(of()), ONE, keys=7),
    "id of a new file": legacy_file(tensor(of()[:5]), ONE),
    "id of another kind": legacy_file(tensor(("thing", *of()[1:])), ONE),
    "a call": legacy_file(written(Call(SYSTEM, "touch hacked"))),
    "a call among the keys": legacy_file(written(1), keys=Call(os.system, "touch hacked")),
    "bools": legacy_file(tensor(of(Global("torch", "BoolStorage"))), ("7", 2, b"\0\2")),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_old_files(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CLEAR):
        loaded(BAD[name])
    assert not os.listdir(tmp_path)


def test_views_of_storages_are_refused_by_name():
    data = legacy_file(tensor(of(view=("8", 0, 1))), ONE)
    with pytest.raises(NotImplementedError, match="views of storages"):
        loaded(data)


@pytest.mark.filterwarnings("ignore:invalid escape")  # what pickletools says of a text
def test_damaged_old_files_are_no_crash():
    good = legacy_file(tensor(of()), ONE)
    draw = random.Random(0)
    for end in range(1, len(good)):
        with pytest.raises(CLEAR):
            loaded(good[:end])
    for _ in range(3000):
        data = bytearray(good)
        for _ in range(draw.randint(1, 3)):
            data[draw.randrange(20, len(data))] = draw.randrange(256)
        try:
            loaded(bytes(data))
        except (*CLEAR, NotImplementedError):
            pass


# ---- Python's own pickle ---------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickles_that_pytorch_wrote(oracle, protocol):
    def whole(lib):
        tagged = lib.ones(2)
        tagged.tag = "x"
        return {
            "views": [lib.arange(6.0).view(2, 3).t(), lib.ones(3)[1:]],
            "dtypes": [lib.tensor([1, 0], dtype=lib.bfloat16), lib.tensor([True])],
            "parameters": [lib.nn.Parameter(lib.ones(2)), lib.nn.Parameter(lib.ones(1), False)],
            "leaf": lib.ones(2, requires_grad=True),
            "meta": lib.ones(2, device="meta").shape,
            "names": [lib.float32, lib.device("cpu"), lib.Size([2])],
            "tagged": tagged,
        }

    data = pickle.dumps(whole(oracle), protocol)

    class Unpickler(pickle.Unpickler):  # what `import torch` answers in `python -m tiny_torch run`
        def find_class(self, module, name):
            ours = f"tiny_{module}" if module.startswith("torch") else module
            return super().find_class(ours, name)

    result = Unpickler(io.BytesIO(data)).load()
    assert plain(result) == plain(whole(torch)) and result["tagged"].tag == "x"


def test_a_storage_in_a_pickle_is_only_data():
    with pytest.raises(pickle.UnpicklingError):
        torch.storage._load_from_bytes(saved(Call(os.getcwd)))
    storage = torch.storage._load_from_bytes(legacy_file(written(Stored(*of())), ONE))
    assert type(storage) is torch.storage.TypedStorage and storage.tolist() == [1, 2]


# ---- what the environment forces -------------------------------------------------------------

ALWAYS, NEVER = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
CLASS = saved(io.BytesIO)  # the name of a class, which only weights_only=False reads


def outcome(data, load, **options):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            value = "read" if loaded(data, load, **options) is io.BytesIO else "?"
        except Exception as error:
            text = str(error)
            value = type(error).__name__, text if "Only one of" in text else ""
    return value, [str(warning.message) for warning in said]


@pytest.mark.torch
@pytest.mark.parametrize("asked", [None, True, False])
@pytest.mark.parametrize("module", [None, pickle])
@pytest.mark.parametrize("setting", ["", "0", "1", "y", "YES", "True", "on"])
@pytest.mark.parametrize("names", [(ALWAYS,), (NEVER,), (ALWAYS, NEVER)], ids="-".join)
def test_what_the_environment_forces(oracle, monkeypatch, names, setting, asked, module):
    for name in names:
        monkeypatch.setenv(name, setting)
    options = {"weights_only": asked, "pickle_module": module}
    assert outcome(CLASS, torch.load, **options) == outcome(CLASS, oracle.load, **options)
