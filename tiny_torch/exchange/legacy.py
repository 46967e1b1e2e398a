"""Files from before PyTorch 1.6, which `torch.save(_use_new_zipfile_serialization=False)` writes.

Five pickles follow each other: a magic number, the version, the writer's sizes of integers, the
object, and the keys of its storages. Then comes each storage, in the order of the keys: the number
of its elements as eight bytes, and the elements. Because a storage comes after the object that
names it, tensors are built on zeros first, and their storages are filled at the end.

Of writing, what Python's own pickle holds of a storage is here: the file of that storage alone.

Not here: the .tar files of PyTorch 0.1, views of storages (PyTorch 0.1), writing other objects.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import struct
from collections.abc import Callable
from pickle import UnpicklingError
from typing import IO, Any, NoReturn

import tiny_torch as torch
from tiny_torch.exchange import core
from tiny_torch.exchange.rebuild import Rebuilder, array_from_file
from tiny_torch.exchange.unpickler import Unpickler
from tiny_torch.functions.storage import TypedStorage
from tiny_torch.tensor import wrap

MAGIC_NUMBER = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19"  # as a pickled integer
VERSION = 1001
# What nearly every such file begins with: on a machine whose first byte of a number is its lowest.
_SIZES = {"short": 2, "int": 4, "long": 4}
_SYSTEM = {"protocol_version": VERSION, "little_endian": True, "type_sizes": _SIZES}
HEADER = b"\x80\x02" + MAGIC_NUMBER + b"." + pickle.dumps(VERSION, 2) + pickle.dumps(_SYSTEM, 2)

Read = Callable[[bytes, Rebuilder], Any]


def is_legacy(head: bytes) -> bool:
    """Whether a file that begins so is one from before PyTorch 1.6."""
    return MAGIC_NUMBER in head


def load_legacy(
    file: IO[bytes], unpickle: Read, map_location: Any, user_globals: dict[str, Any]
) -> Any:
    """The object of the file; `unpickle` makes it of its pickle and a Rebuilder."""
    start = file.tell()
    size = file.seek(0, io.SEEK_END) - start
    file.seek(start)
    if file.read(len(HEADER)) != HEADER:
        file.seek(start)
        _plain(file)  # the magic number, which `is_legacy` has seen
        if (version := _plain(file)) != VERSION:
            raise RuntimeError(f"Invalid protocol version: {_text_of(version)}")
        _plain(file)  # the sizes of integers of the machine that wrote the file
    rebuilder = _LegacyRebuilder(size, map_location, user_globals)
    result = unpickle(_next_pickle(file), rebuilder)
    rebuilder.fill(file, _plain(file))
    return result


def bytes_of(storage: TypedStorage) -> bytes:
    """The file of one storage."""
    key, numel = "0", storage.size()
    location = "cuda:0" if storage.is_cuda else storage.device.type
    # The opcodes of each part, without a pickle's first two and its last.
    what, named, where, count = (
        pickle.dumps(part, 2)[2:-1] for part in ("storage", key, location, numel)
    )
    kind = f"ctorch\n{core.STORAGE_NAMES[core.dtype_name(storage.dtype)]}\n".encode()
    tuple_of_six = b"(" + what + kind + named + where + count + b"Nt"
    pickled = b"\x80\x02" + tuple_of_six + pickle.BINPERSID + pickle.STOP
    data = core.storage_bytes(storage._array)[: numel * storage.element_size()]
    return b"".join((HEADER, pickled, pickle.dumps([key], 2), struct.pack("<q", numel), data))


class _LegacyRebuilder(Rebuilder):
    """A Rebuilder whose storages are zeros until `fill`; they are not larger than the file."""

    def __init__(self, size: int, map_location: Any, user_globals: dict[str, Any]) -> None:
        super().__init__(self._zeros, map_location, user_globals)
        self.bytes_left = size

    def load_storage(self, saved_id: Any) -> Any:
        """The storage of a persistent id; a class for the id of its source, which is not read."""
        if type(saved_id) is not tuple:
            raise UnpicklingError("Only persistent_load of storage is allowed")
        saved_id = tuple(_text(part) for part in saved_id)  # bytes, if Python 2 wrote them
        if len(saved_id) == 4 and type(saved_id[0]) is str and saved_id[0] == "module":
            return saved_id[1]
        if len(saved_id) != 6:
            raise UnpicklingError("Only persistent_load of storage is allowed")
        *saved_id, view = saved_id
        if view is not None:
            raise NotImplementedError("[load] tiny_torch has no views of storages (PyTorch 0.1)")
        return super().load_storage(tuple(saved_id))

    def _zeros(self, key: str, dtype: torch.dtype, numel: int) -> Any:
        nbytes = numel * dtype.itemsize
        if not 0 <= nbytes <= self.bytes_left:
            raise UnpicklingError(f"storage {key[:200]} is larger than the file")
        self.bytes_left -= nbytes
        return torch.zeros(numel, dtype=dtype).array

    def fill(self, file: IO[bytes], keys: Any) -> None:
        """Reads the storages, which follow in the order of the keys."""
        keys = [_text(key) for key in keys] if type(keys) is list else []
        if not all(type(key) is str for key in keys) or sorted(keys) != sorted(self.storages):
            raise UnpicklingError("the file's keys of storages are not those of its tensors")
        for key in keys:
            storage = self.storages[key]
            (numel,) = struct.unpack("<q", _exactly(file, 8))
            if numel != storage.size():
                raise UnpicklingError(f"storage {key} does not have the size of its tensors")
            data = array_from_file(_exactly(file, storage.nbytes()), storage.dtype)
            target = wrap(storage._array)
            target.copy_(wrap(data))


def _text(part: Any) -> Any:
    return part.decode("ascii", "replace") if type(part) is bytes else part


def _text_of(value: Any) -> str:
    return str(value) if type(value) is int and value < 10**20 else type(value).__name__


def _exactly(file: IO[bytes], count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise UnpicklingError("the file ends in the middle of a storage")
    return data


def _plain(file: IO[bytes]) -> Any:
    """The next pickle, of numbers, text and containers."""
    return Unpickler(_next_pickle(file), _no_global, _no_global).load()


def _no_global(name: object) -> NoReturn:
    raise UnpicklingError("the file names classes or storages where only numbers and text belong")


def _next_pickle(file: IO[bytes]) -> bytes:
    """The bytes up to the next STOP, none of which is run."""
    start = file.tell()
    try:
        for _ in pickletools.genops(file):
            pass
    except ValueError as error:
        raise UnpicklingError(f"a damaged pickle: {error}") from error
    end = file.tell()
    file.seek(start)
    return _exactly(file, end - start)
