"""save and load: PyTorch's format both ways, foreign files, devices, paths, interrupted writes."""

import copy
import io
import os
import pickle
import random
import signal
import struct
import sys
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path

import numpy as np
import pytest
from cases.archives import loaded, packed, plain, saved

import tiny_torch as torch
from tiny_torch.exchange import archive as archives
from tiny_torch.exchange import plain as plain_pickle


def example(lib):
    """Everything that a file may hold."""
    base = lib.arange(12.0).view(3, 4)
    state = OrderedDict(weight=lib.ones(2, 3), bias=lib.zeros(3))
    state._metadata = OrderedDict({"": {"version": 1}})
    return {
        "views": [base, base.t(), base[1:, ::2], base[0].expand(5, 4), base[3:]],
        "scalar": lib.tensor(2.5),
        "empty": lib.zeros(0, 3),
        "leaf": lib.ones(2, requires_grad=True),
        "parameters": (lib.nn.Parameter(lib.ones(2)), lib.nn.Parameter(lib.ones(1), False)),
        "dtypes": [
            lib.tensor([1, 0], dtype=getattr(lib, name))
            for name in (
                *("bool", "uint8", "int8", "int16", "int32", "int64"),
                *("float16", "bfloat16", "float32", "float64"),
            )
        ],
        "state": state,
        "optimizer": {"state": {0: {"step": lib.tensor(3.0)}}, "param_groups": [{"lr": 1e-3}]},
        "names": [lib.float64, lib.int64, lib.device("cpu"), lib.Size([2, 3])],
        "numbers": [0, -1, 255, 65536, -(2**31), 2**63, 10**400, 0.5, float("inf"), 1 + 2j],
        "text": ["", "ascii", "ü€😀", "x" * 300],
        "bytes": [b"", b"\x00\xff", bytearray(b""), bytearray(b"ab")],
        "containers": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], {}, {1, 2}, Counter("aab")],
        "constants": (None, True, False),
        "keys": {1: "a", (2, "b"): None, 0.5: [], None: 1, "t": 2},
    }


# ---- the format ------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_what_we_save_we_load(protocol):
    data = saved(example(torch), pickle_protocol=protocol)
    assert plain(loaded(data)) == plain(example(torch))


@pytest.mark.torch
def test_pytorch_loads_what_we_save(oracle):
    result = loaded(saved(example(torch)), oracle.load, weights_only=True)
    assert plain(result) == plain(example(oracle))
    assert result["state"]._metadata == {"": {"version": 1}}


@pytest.mark.torch
def test_we_load_what_pytorch_saves(oracle):
    theirs = example(oracle)
    theirs["bytes"] = theirs["bytes"][1:]
    ours = example(torch)
    ours["bytes"] = ours["bytes"][1:]
    result = loaded(saved(theirs, oracle.save))
    assert plain(result) == plain(ours)
    assert result["state"]._metadata == {"": {"version": 1}}


@pytest.mark.torch
def test_the_file_is_pytorchs_byte_for_byte(oracle):
    theirs, ours = example(oracle), example(torch)
    for example_of in (theirs, ours):
        del example_of["bytes"]
        del example_of["names"][2]  # a device: ours writes the word "cpu" once only
    theirs, ours = saved(theirs, oracle.save), saved(ours)
    # PyTorch ends with a record of its own: a hash of the others
    end = theirs.index(b"PK\3\4", theirs.index(b"archive/version"))
    assert ours[:end] == theirs[:end]


@pytest.mark.torch
def test_models_and_optimizers_move_from_pytorch(oracle):
    model = oracle.nn.Sequential(oracle.nn.Linear(3, 2), oracle.nn.BatchNorm1d(2))
    optimizer = oracle.optim.Adam(model.parameters())
    model(oracle.randn(4, 3)).sum().backward()
    optimizer.step()
    checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    result = loaded(saved(checkpoint, oracle.save))
    assert plain(result) == plain(checkpoint)
    assert plain(loaded(saved(result), oracle.load)) == plain(checkpoint)


def test_records_are_stored_and_aligned():
    with zipfile.ZipFile(io.BytesIO(saved([torch.ones(3), torch.ones(100)]))) as file:
        assert file.testzip() is None
        assert file.namelist()[0] == "archive/data.pkl"
        assert file.read("archive/byteorder").decode() == sys.byteorder
        assert file.read("archive/version") == b"3\n"
        assert file.read("archive/data/0") == np.ones(3, np.float32).tobytes()
        for entry in file.infolist():
            file.fp.seek(entry.header_offset + 26)
            name_size, extra_size = struct.unpack("<HH", file.fp.read(4))
            assert (entry.header_offset + 30 + name_size + extra_size) % 64 == 0
            assert entry.compress_type == zipfile.ZIP_STORED


@pytest.mark.parametrize("load", ["ours", pytest.param("theirs", marks=pytest.mark.torch)])
@pytest.mark.parametrize("limit", [100, 400])
def test_zip64(monkeypatch, limit, load):
    monkeypatch.setattr(archives, "_ZIP64_LIMIT", limit)
    monkeypatch.setattr(archives, "min", lambda a, b: 0xFFFFFFFF if a >= b else a, raising=False)
    data = saved([torch.arange(50), torch.ones(2)])
    load = torch.load if load == "ours" else pytest.importorskip("torch").load
    assert [value.tolist() for value in loaded(data, load)] == [list(range(50)), [1.0, 1.0]]


def test_shared_storages_stay_shared_and_are_written_once():
    x = torch.zeros(1000)
    data = saved({"all": x, "again": x, "part": x[10:20], "detached": x.detach()})
    assert len(data) < 6000
    result = loaded(data)
    result["part"].fill_(7.0)
    assert [result[k][10].item() for k in ("all", "again", "detached")] == [7.0, 7.0, 7.0]
    assert result["all"] is result["again"]


def test_a_loaded_tensor_is_an_ordinary_leaf():
    x, p = loaded(saved([torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(2))]))
    for leaf in (x, p):
        assert leaf.is_leaf and leaf.requires_grad
        (leaf * 2).sum().backward()
        assert leaf.grad.tolist() == [2.0, 2.0]
    with torch.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0, 2.0]


@pytest.mark.torch
@pytest.mark.parametrize("direction", ["to", "from"])
def test_attributes_of_tensors_and_parameters(oracle, direction):
    writer, reader = (torch, oracle) if direction == "to" else (oracle, torch)
    tensor, parameter = writer.ones(2), writer.nn.Parameter(writer.ones(2))
    tensor.tag, parameter.no_decay = "x", True
    tensor, parameter = loaded(saved([tensor, parameter], writer.save), reader.load)
    assert type(tensor) is reader.Tensor and tensor.tag == "x"
    assert type(parameter) is reader.nn.Parameter and parameter.no_decay is True


def through_plain_pickle(x):
    rebuild, arguments = plain_pickle.reduce_tensor(x)
    return rebuild(*pickle.loads(pickle.dumps(arguments)))


def test_plain_pickle_and_copy():
    x = torch.arange(6.0).view(2, 3).t()[1:].requires_grad_()
    x.tag = "x"
    rebuild, arguments = plain_pickle.reduce_tensor(x)
    for y in (through_plain_pickle(x), rebuild(*arguments), pickle.loads(pickle.dumps(x))):
        assert plain(y) == plain(x) and y.tag == "x" and y.is_leaf
    shared, apart = copy.copy(x), pickle.loads(pickle.dumps(x))
    with torch.no_grad():
        x.fill_(9.0)
    assert shared[0, 0].item() == 9.0 and apart[0, 0].item() == 1.0


def test_hooks_are_not_saved():
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad)
    p = torch.nn.Parameter(torch.ones(2))
    p.register_hook(lambda grad: grad)
    assert plain(loaded(saved([x, p]))) == plain([x, p])


def test_self_reference():
    value = [1]
    value.append((value, {"self": value}))
    result = loaded(saved(value))
    assert result[1][0] is result and result[1][1]["self"] is result


def test_a_file_from_a_big_endian_machine():
    values = np.array([1.5, -2.0], ">f8")
    pickled = zipfile.ZipFile(io.BytesIO(saved(torch.tensor([0.0, 0.0], dtype=torch.float64))))
    data = packed(pickled.read("archive/data.pkl"), byteorder=b"big", data_0=values.tobytes())
    assert loaded(data).tolist() == [1.5, -2.0]
    data = packed(pickled.read("archive/data.pkl"), byteorder=b"middle", data_0=values.tobytes())
    with pytest.raises(ValueError, match="Unknown endianness type: middle"):
        loaded(data)


@pytest.mark.torch
def test_a_file_without_checksums(oracle):
    oracle.serialization.set_crc32_options(False)
    try:
        data = saved(oracle.ones(3), oracle.save)
    finally:
        oracle.serialization.set_crc32_options(True)
    assert loaded(data).tolist() == [1.0, 1.0, 1.0]


# ---- what is refused -------------------------------------------------------------------------

FOREIGN = {
    "complex64": lambda t: t.ones(2, dtype=t.complex64),
    "uint16": lambda t: t.ones(2, dtype=t.uint16),
    "float8_e5m2": lambda t: t.ones(2).to(t.float8_e5m2),
    "sparse_csr": lambda t: t.eye(2).to_sparse_csr(),
    "qtensor": lambda t: t.quantize_per_tensor(t.ones(2), 0.1, 0, t.qint8),
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_tensors_are_named(oracle, name):
    data = saved(FOREIGN[name](oracle), oracle.save)
    with pytest.raises(NotImplementedError, match=f"tiny_torch has no tensors .*{name}"):
        loaded(data)


@pytest.mark.torch
def test_dtypes_without_tensors_are_loaded(oracle):
    dtypes = [torch.complex128, torch.uint16, torch.quint4x2]
    data = saved([getattr(oracle, dtype.name) for dtype in dtypes], oracle.save)
    assert loaded(data) == dtypes == loaded(saved(dtypes, torch.save))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_torchscript(oracle):
    file = io.BytesIO()
    oracle.jit.save(oracle.jit.script(oracle.nn.Linear(1, 1)), file)
    with pytest.raises(RuntimeError, match="TorchScript"):
        loaded(file.getvalue())


def zipped(**files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/"), data)
    return file.getvalue()


FOREIGN_FILES = {
    "empty": (b"", EOFError),
    "text": (b"hello world" * 100, pickle.UnpicklingError),
    "bare pickle": (pickle.dumps([1, 2]), pickle.UnpicklingError),
    "numpy": (b"\x93NUMPY" + bytes(200), pickle.UnpicklingError),
    "zip without a folder": (zipped(a=b"1"), RuntimeError),
    "other zip": (zipped(x__a=b"1"), RuntimeError),
    "empty zip": (b"PK\5\6" + bytes(18), pickle.UnpicklingError),
    "compressed": (zipped(archive__data_pkl=b"1" * 1000), RuntimeError),
}


@pytest.mark.parametrize("name", FOREIGN_FILES)
def test_foreign_files(name):
    data, error = FOREIGN_FILES[name]
    with pytest.raises(error):
        loaded(data)


def test_compressed_records():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02N.")
    with pytest.raises(RuntimeError, match="compressed"):
        loaded(file.getvalue())


def test_records_that_share_their_bytes():
    """A file whose directory names the same megabyte a thousand times."""
    data = packed(b"\x80\x02N.", data_0=bytes(1 << 20))
    start = struct.unpack("<Q", data[-22 - 20 + 8 : -22 - 20 + 16])[0]
    size, offset = struct.unpack("<QQ", data[start + 40 : start + 56])
    entry = data[offset : offset + size].split(b"PK\1\2")[2]
    entries = [b"PK\1\2" + entry.replace(b"data/0", b"data/%c" % (65 + n)) for n in range(20)]
    directory = data[offset : offset + size] + b"".join(entries)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 22, 22, len(directory), offset, 0)
    with pytest.raises(RuntimeError, match="larger than the file"):
        loaded(data[:offset] + directory + end)


def test_arguments():
    data = saved([1])
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        loaded(data, pickle_module=pickle, weights_only=True)
    with pytest.raises(ValueError, match="f must be a file path"):
        loaded(data, mmap=True)
    with pytest.warns(UserWarning, match="pickle_load_args"):
        assert loaded(data, encoding="ascii") == [1]
    with pytest.raises(NotImplementedError, match=r"1\.6"):
        saved([1], _use_new_zipfile_serialization=False)
    with pytest.raises(AttributeError, match="Pickler"):
        saved([1], pickle_module=random)
    with pytest.raises(ValueError, match="pickle_protocol"):
        saved([1], pickle_protocol=1)
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like"):
        torch.save([1], 3)


def test_one_storage_under_two_dtypes():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        saved([x, x.view(torch.int32)])


# ---- map_location ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "map_location",
    [None, "cpu", torch.device("cpu"), {"cpu": "cpu"}, {"cuda:0": "cpu"}, lambda s, loc: s],
)
def test_map_location(map_location):
    assert loaded(saved(torch.ones(2)), map_location=map_location).tolist() == [1.0, 1.0]


def test_map_location_is_called_once_per_storage():
    x, calls = torch.ones(4), []
    data = saved([x, x[1:], torch.ones(1)])
    loaded(data, map_location=lambda storage, where: calls.append((storage.nbytes(), where)))
    assert calls == [(16, "cpu"), (4, "cpu")]


def from_cuda():
    with zipfile.ZipFile(io.BytesIO(saved(torch.ones(2)))) as file:
        pickled = file.read("archive/data.pkl").replace(b"\3\0\0\0cpu", b"\6\0\0\0cuda:1")
    return packed(pickled, data_0=np.ones(2, np.float32).tobytes())


def test_files_from_another_device():
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        loaded(from_cuda())
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        loaded(from_cuda(), map_location=lambda storage, where: None)
    for where in ("cpu", {"cuda:1": "cpu"}, lambda storage, where: storage.cpu()):
        assert loaded(from_cuda(), map_location=where).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match=r"don't know how to restore .* \(tagged with xyz\)"):
        loaded(from_cuda(), map_location="xyz")
    with pytest.raises(TypeError, match="must return a storage or None"):
        loaded(from_cuda(), map_location=lambda storage, where: 5)
    with pytest.raises(TypeError, match="cannot be a int"):
        loaded(from_cuda(), map_location=5)
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        loaded(from_cuda(), map_location=lambda storage, where: storage.cuda())


# ---- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, Path])
def test_paths(tmp_path, kind):
    path = kind(tmp_path / "ünï.pt")
    torch.save([1], path)
    torch.save([2], path)
    assert torch.load(path) == torch.load(path, mmap=True) == [2]
    assert os.listdir(tmp_path) == ["ünï.pt"]


def test_file_objects(tmp_path):
    for buffering in (-1, 0):
        with open(tmp_path / "x", "wb", buffering) as file:
            torch.save(torch.arange(100_000), file)
        with open(tmp_path / "x", "rb", buffering) as file:
            assert torch.load(file).sum().item() == 4_999_950_000


def test_an_archive_behind_other_data():
    file = io.BytesIO()
    file.write(b"header")
    torch.save(torch.ones(2), file)
    file.seek(6)
    assert torch.load(file).tolist() == [1.0, 1.0]


@pytest.mark.torch
def test_pytorch_reads_an_archive_behind_other_data(oracle):
    file = io.BytesIO()
    file.write(b"header")
    torch.save(torch.ones(2), file)
    file.seek(6)
    assert oracle.load(file).tolist() == [1.0, 1.0]


def test_a_file_that_cannot_seek():
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as file:
        torch.save([1], file)
    with os.fdopen(reader, "rb") as file, pytest.raises(OSError, match="from a file that is seek"):
        torch.load(file)
    with pytest.raises(AttributeError, match="from a file that is seekable"):
        torch.load(object())


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "missing.pt")
    with pytest.raises(RuntimeError, match=r"Parent directory .*nowhere does not exist\."):
        torch.save([1], tmp_path / "nowhere" / "x.pt")


def test_saving_keeps_links_and_modes(tmp_path, temporary):
    path, link = tmp_path / "real.pt", tmp_path / "link.pt"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    torch.save([1], link)
    assert link.is_symlink() and torch.load(path) == [1]
    assert path.stat().st_mode & 0o777 == 0o640
    torch.save([1], "/dev/null")


class Killed(BaseException):
    pass


@pytest.fixture(params=["named", "unnamed"] if hasattr(os, "O_TMPFILE") else ["named"])
def temporary(request, monkeypatch):
    """Whether the system knows files without names."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param


@pytest.mark.parametrize("dies_at", ["write", "fsync", "replace"])
def test_a_save_that_dies_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch, temporary, dies_at
):
    path = tmp_path / "x.pt"
    torch.save("old", path)
    before = path.read_bytes()

    def die(*arguments, **keywords):
        raise Killed

    if dies_at == "write":
        monkeypatch.setattr(archives.ArchiveWriter, "finish", die)
    else:
        monkeypatch.setattr(os, dies_at, die)
    with pytest.raises(Killed):
        torch.save(torch.ones(1000), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.pt"]


def test_a_process_killed_while_it_saves_leaves_the_old_file(tmp_path, monkeypatch, temporary):
    path = tmp_path / "x.pt"
    torch.save("old", path)
    monkeypatch.setattr(os, "fsync", lambda file: os.kill(os.getpid(), signal.SIGKILL))
    child = os.fork()
    if child == 0:
        torch.save(torch.ones(1000), path)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert torch.load(path) == "old"
    if temporary == "unnamed":
        assert os.listdir(tmp_path) == ["x.pt"]


def test_new_files_have_the_modes_that_the_umask_leaves(tmp_path, temporary):
    for umask in (0o022, 0o077, 0o002):
        before = os.umask(umask)
        torch.save([1], tmp_path / f"{umask}.pt")
        os.umask(before)
        assert (tmp_path / f"{umask}.pt").stat().st_mode & 0o777 == 0o666 & ~umask


def test_what_cannot_be_pickled_writes_nothing(tmp_path):
    file = io.BytesIO()
    for target in (file, tmp_path / "x.pt"):
        with pytest.raises((pickle.PicklingError, AttributeError)):
            torch.save([torch.ones(1), lambda: 0], target)
    assert file.getvalue() == b"" and os.listdir(tmp_path) == []
