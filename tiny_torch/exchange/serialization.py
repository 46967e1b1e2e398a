"""`save` and `load`: PyTorch's file format, in both directions.

A file is a zip archive: `data.pkl` holds the object as a pickle in which a tensor is its shape,
strides and offset in a storage, and `data/<key>` the bytes of each storage, once, however many
tensors look at it. The parts stand in the other files of this folder.

Files from before PyTorch 1.6 are read, not written (`tiny_torch/exchange/legacy.py`).

Not here: safetensors.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import secrets
import stat
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pickle import UnpicklingError
from typing import IO, Any

from tiny_torch.base.modes import Scope
from tiny_torch.exchange import core
from tiny_torch.exchange.archive import ALIGNMENT, ArchiveReader, ArchiveWriter
from tiny_torch.exchange.legacy import bytes_of, is_legacy, load_legacy
from tiny_torch.exchange.pickler import pickler_of
from tiny_torch.exchange.rebuild import Rebuilder, StoragesOfArchive
from tiny_torch.exchange.trusting import load_pickle
from tiny_torch.exchange.unpickler import Unpickler

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]

FileLike = str | os.PathLike[str] | IO[bytes]
DEFAULT_PROTOCOL = 2  # of the pickles in files
MAP_LOCATION = Any  # what `load` takes to say where tensors go
SafeGlobal = Callable[..., Any] | tuple[Callable[..., Any], str]

# ---- save ------------------------------------------------------------------------------------


def save(
    obj: object,
    f: FileLike,
    pickle_module: types.ModuleType = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Saves an object to a path or to a binary file opened for writing.

    `obj` may hold tensors of any shape and strides (a storage is written once, whole), containers
    and whatever pickle takes; PyTorch reads what consists of the types that `load` reads. A path is
    replaced only once the new file is complete.
    `pickle_module` gives the Pickler, which must be one in Python, as `pickle._Pickler` and dill's
    are. Raises NotImplementedError for another and for PyTorch's format before 1.6, RuntimeError if
    the folder does not exist.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.save.html

    >>> import io
    >>> import tiny_torch as torch
    >>> file = io.BytesIO()
    >>> torch.save({"step": 3, "weight": torch.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'step': 3, 'weight': tensor([1., 1.])}
    """
    if not _use_new_zipfile_serialization:
        raise NotImplementedError("[save] the format from before PyTorch 1.6 is not written")
    if not 2 <= pickle_protocol <= pickle.HIGHEST_PROTOCOL:
        raise ValueError(f"[save] pickle_protocol must be 2 to 5, got {pickle_protocol}")
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    pickled = io.BytesIO()
    pickler = pickler_of(pickle_module)(pickled, pickle_protocol)
    pickler.dump(obj)  # before anything is written: what cannot be pickled leaves no trace
    with opened_for_writing(f) as file:
        archive = ArchiveWriter(file)
        archive.record("data.pkl", pickled.getvalue())
        archive.record(".format_version", b"1")
        archive.record(".storage_alignment", str(ALIGNMENT).encode())
        archive.record("byteorder", sys.byteorder.encode())
        for key, array in pickler.storages.values():
            archive.record(f"data/{key}", core.storage_bytes(array))
        archive.record("version", b"3\n")
        archive.finish()


@contextlib.contextmanager
def opened_for_writing(f: Any) -> Iterator[IO[bytes]]:
    if not isinstance(f, (str, os.PathLike)):
        # an unbuffered file may write less than it was given
        file = io.BufferedWriter(f) if isinstance(f, io.RawIOBase) else f
        yield file
        if hasattr(file, "flush"):
            file.flush()
        if file is not f:
            file.detach()
        return
    path = os.path.realpath(f)  # through a link, to the file that it names
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fspath(f))} does not exist.")
    if os.path.exists(path) and not os.path.isfile(path):  # /dev/null, a pipe
        with open(path, "wb") as file:
            yield file
        return
    with _replacing(path, folder) as file:
        yield file


@contextlib.contextmanager
def _replacing(path: str, folder: str) -> Iterator[IO[bytes]]:
    """A file that takes the path's place at the end, and is gone if the process dies before."""
    name = os.path.join(folder, f".save-{secrets.token_hex(8)}.tmp")
    try:
        unnamed = _unnamed_file(folder)
        with open(name, "xb") if unnamed is None else unnamed as file:
            yield file
            file.flush()
            if os.path.exists(path):
                os.chmod(file.fileno(), stat.S_IMODE(os.stat(path).st_mode))
            os.fsync(file.fileno())
            if unnamed is not None:
                # With a folder's descriptor Python calls linkat, which goes through /proc's link.
                # linkat never replaces a file, so the new one needs a name for an instant.
                os.link(f"/proc/self/fd/{file.fileno()}", name, src_dir_fd=file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _unnamed_file(folder: str) -> IO[bytes] | None:
    """A file without a name, which vanishes with the process; None where the system has none."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
    except OSError:  # not on this file system; what else is wrong, a file with a name shows too
        return None
    return os.fdopen(descriptor, "wb")


# ---- load ------------------------------------------------------------------------------------


def load(
    f: FileLike,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Loads what `save`, or PyTorch's `torch.save`, has written.

    `f` is a path, or a seekable binary file that is read from its position to its end.
    `map_location` says where tensors go: a device, a dict from the file's locations to ours, or a
    function of (storage, location) which returns the storage or None. Only data is read: tensors,
    Parameters, containers, numbers, strings, dtypes, devices, and what `add_safe_globals` named.
    `mmap=True` is accepted for a path, and the file is read as usual.

    WARNING: `weights_only=False` unpickles as Python does, which can run any code that whoever made
    the file has put there. Use it only for files from a source that you trust. It reads whole
    modules and optimizers, too: PyTorch's classes become ours of the same name. `pickle_module`,
    which implies it, gives the Unpickler, and `pickle_load_args` are that one's.

    Where the environment sets TORCH_FORCE_WEIGHTS_ONLY_LOAD=1, nothing but data is read, whatever
    the call says; TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 makes `weights_only=False` the default.

    Raises UnpicklingError for anything else in the file, RuntimeError for a damaged file or an
    unknown location, NotImplementedError for dtypes that we lack.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.load.html

    >>> import io
    >>> import tiny_torch as torch
    >>> file = io.BytesIO()
    >>> torch.save([1, "two", torch.Size([3, 4])], file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    [1, 'two', torch.Size([3, 4])]
    """
    weights_only = _weights_only(weights_only, pickle_module)
    if not weights_only:
        pickle_module = pickle_module or pickle
    elif pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    elif pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
        for name in pickle_load_args.keys() - {"encoding"}:
            raise TypeError(f"Unpickler.__init__() got an unexpected keyword argument '{name}'")
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _load(file, map_location, pickle_module, pickle_load_args)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    _check_seekable(f)
    return _load(f, map_location, pickle_module, pickle_load_args)


def _weights_only(asked: bool | None, pickle_module: Any) -> bool:
    """Whether only data is read: what the call asks for, and what the environment forces."""
    never, always = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
    if _is_set(never) and _is_set(always):
        raise RuntimeError(f"Only one of `{always}` or `{never}` should be set, but both were set.")
    if _is_set(always):
        return True
    if asked is None and _is_set(never):
        warnings.warn(
            f"Environment variable {never} detected, since the"
            "`weights_only` argument was not explicitly passed to `torch.load`, forcing "
            "weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        return False
    return pickle_module is None if asked is None else bool(asked)


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "0").lower() in ("1", "y", "yes", "true")


def _load(file: IO[bytes], map_location: Any, pickle_module: Any, arguments: dict) -> Any:
    """`pickle_module`: None reads only data, another unpickles whatever there is."""

    def unpickle(data: bytes, rebuilder: Rebuilder) -> Any:
        if pickle_module is not None:
            return load_pickle(data, rebuilder, pickle_module, arguments)
        return Unpickler(data, rebuilder.find_global, rebuilder.load_storage).load()

    try:
        if _check_kind(file) == "legacy":
            return load_legacy(file, unpickle, map_location, _named_safe_globals())
        archive = ArchiveReader(file)
        if "constants.pkl" in archive:
            if pickle_module is not None:
                raise NotImplementedError("[load] tiny_torch does not run TorchScript archives")
            raise RuntimeError("Cannot use ``weights_only=True`` with TorchScript archives")
        read = StoragesOfArchive(archive).read
        rebuilder = Rebuilder(read, map_location, _named_safe_globals())
        return unpickle(archive.read("data.pkl"), rebuilder)
    except UnpicklingError as error:
        if pickle_module is not None:
            raise
        raise UnpicklingError(f"Weights only load failed. {error}") from error


def _load_from_bytes(data: bytes) -> Any:
    """The storage of a tensor in Python's own pickle; only data is read of it."""
    return load(io.BytesIO(data), weights_only=True)


def reduce_storage(storage: Any) -> tuple[Any, ...]:
    """A storage in Python's own pickle: what makes it, and the bytes of its file."""
    return _load_from_bytes, (bytes_of(storage),)


NAMED_IN_PICKLES = [_load_from_bytes]
_load_from_bytes.__module__ = "tiny_torch.storage"  # where PyTorch has it


def _check_seekable(file: IO[bytes]) -> None:
    try:
        file.seek(file.tell())
    except (OSError, AttributeError) as error:
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the "
            "data into a buffer like io.BytesIO and try to load from it instead."
        ) from None


def _check_kind(file: IO[bytes]) -> str:
    """ "zip" or "legacy". Raises UnpicklingError for a file that `torch.save` has not written."""
    start = file.tell()
    head = file.read(16)
    file.seek(start)
    if not head:
        raise EOFError("[load] the file is empty")
    if is_legacy(head):
        return "legacy"
    if not head.startswith(b"PK\3\4"):
        raise UnpicklingError("[load] the file is not one that torch.save has written")
    return "zip"


# ---- safe globals ----------------------------------------------------------------------------

_safe_globals: list[SafeGlobal] = []


def add_safe_globals(safe_globals: list[SafeGlobal]) -> None:
    """Lets `load` build objects of these classes, and call these functions, for any file.

    An entry is a class or function, or a tuple of it and the name that the file uses for it.
    Source: https://docs.pytorch.org/docs/stable/notes/serialization.html

    >>> import datetime
    >>> import tiny_torch as torch
    >>> torch.serialization.add_safe_globals([datetime.date])
    >>> torch.serialization.get_safe_globals()
    [<class 'datetime.date'>]
    >>> torch.serialization.clear_safe_globals()
    """
    _safe_globals.extend(entry for entry in safe_globals if entry not in _safe_globals)


def get_safe_globals() -> list[SafeGlobal]:
    """The entries that `add_safe_globals` has added."""
    return list(_safe_globals)


def clear_safe_globals() -> None:
    """Forgets what `add_safe_globals` has added."""
    _safe_globals.clear()


class safe_globals(Scope):
    """Context manager: `add_safe_globals` for a block.

    Source: https://docs.pytorch.org/docs/stable/notes/serialization.html

    >>> import datetime
    >>> import tiny_torch as torch
    >>> with torch.serialization.safe_globals([datetime.date]):
    ...     torch.serialization.get_safe_globals()
    [<class 'datetime.date'>]
    >>> torch.serialization.get_safe_globals()
    []
    """

    def __init__(self, safe_globals: list[SafeGlobal]) -> None:
        self.added = safe_globals

    def current(self) -> list[SafeGlobal]:
        return get_safe_globals()

    def begin(self) -> None:
        add_safe_globals(self.added)

    def restore(self, before: list[SafeGlobal]) -> None:
        _safe_globals[:] = before


def _named_safe_globals() -> dict[str, Any]:
    named: dict[str, Any] = {}
    for entry in _safe_globals:
        if not isinstance(entry, tuple):
            named[f"{entry.__module__}.{entry.__qualname__}"] = entry
        elif len(entry) != 2 or type(entry[1]) is not str:
            raise ValueError(f"expected a tuple of a class and its name in the file, got {entry!r}")
        else:
            named[entry[1]] = entry[0]
    return named
