"""How batches come from a worker: the pickle through a socket, the tensors in shared memory.

The memory of each tensor is written to a file of its own that has no name (`memfd_create`) and
lives as long as somebody has it open or mapped: nothing is left behind, however a process ends. The
open file goes through the socket, and the tensor on the other side looks at its memory.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import socket
import struct
from collections.abc import Sequence
from multiprocessing import util
from multiprocessing.reduction import ForkingPickler
from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.exchange import core
from tiny_torch.tensor import wrap

HEADER = struct.Struct("QI")  # the length of what follows, the number of files
MOST_FILES = 32  # of a message; the tensors after that are pickled

# ---- messages ----------------------------------------------------------------------------------


class _Pickler(ForkingPickler):
    """Collects the memory of tensors as open files, and leaves a place for each in the pickle."""

    def __init__(self, pickled: io.BytesIO, files: list[int], most_files: int) -> None:
        super().__init__(pickled, pickle.HIGHEST_PROTOCOL, True, self._stays)
        self._files = files
        self._most_files = most_files
        self._places: list[pickle.PickleBuffer] = []

    def reducer_override(self, obj: Any) -> Any:
        if (
            not isinstance(obj, torch.Tensor)
            or type(obj).__reduce_ex__ is not torch.Tensor.__reduce_ex__
            or not obj.is_cpu
        ):
            return NotImplemented
        if obj.requires_grad and not obj.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since "
                "autograd does not support crossing process boundaries.  If you just want to "
                "transfer the data, call detach() on the tensor before serializing (e.g., putting "
                "it on the queue)."
            )
        if obj.is_sparse:
            return NotImplemented  # its indices and values are tensors, too
        array = obj.array
        reach = _reach(array)
        if reach > array.size:  # with gaps between its elements
            array = array.clone()
            reach = array.size
        size = array.itemsize
        data = core.storage_bytes(array)[array.offset * size : (array.offset + reach) * size]
        layout = array.dtype, array.shape, array.strides
        return _rebuild, (self._memory(data), layout, obj.requires_grad, core.user_attributes(obj))

    def _memory(self, data: memoryview) -> pickle.PickleBuffer | bytes:
        if data and len(self._files) < self._most_files:
            with contextlib.suppress(OSError):  # no room, or no number left for a file
                self._files.append(_file_with(data))
                self._places.append(pickle.PickleBuffer(bytearray()))
                return self._places[-1]
        return bytes(data)

    def _stays(self, buffer: pickle.PickleBuffer) -> bool:
        """Whether a buffer is part of the pickle, as those of NumPy's arrays are."""
        return buffer not in self._places


def _reach(array: Any) -> int:
    """The number of elements from the first to the last in memory."""
    if not array.size:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))


def _file_with(data: memoryview) -> int:
    file = os.memfd_create("tiny_torch_batch")
    try:
        while data:
            data = data[os.write(file, data) :]
    except OSError:
        os.close(file)
        raise
    return file


def _rebuild(memory: Any, layout: Any, requires_grad: bool, attributes: dict[str, Any]) -> Any:
    dtype, shape, strides = layout
    if isinstance(memory, bytes):
        memory = _core.from_bytes(memory, torch.uint8)
    tensor = wrap(memory.reinterpret(dtype, shape, strides, 0))
    tensor.__dict__.update(attributes)
    return tensor.requires_grad_() if requires_grad else tensor


def dumps(value: Any, most_files: int = MOST_FILES) -> tuple[memoryview, list[int]]:
    """The pickle of a value, and open files with the memory of its tensors."""
    pickled, files = io.BytesIO(), list[int]()
    try:
        _Pickler(pickled, files, most_files).dump(value)
    except BaseException:
        close_all(files)
        raise
    return pickled.getbuffer(), files


def loads(pickled: Any, files: Sequence[int]) -> Any:
    """The value of which `dumps` made this. Closes the files."""
    try:
        arrays = [_array_on(file) for file in files]
    finally:
        close_all(files)
    return pickle.loads(pickled, buffers=arrays)


def _array_on(file: int) -> Any:
    try:
        return _core.map_file(file, os.fstat(file).st_size)
    except RuntimeError:  # a process may only have so many mappings
        with open(file, "rb", closefd=False) as reader:
            reader.seek(0)
            return _core.from_bytes(reader.read(), torch.uint8)


def close_all(files: Sequence[int]) -> None:
    for file in files:
        os.close(file)


# ---- the way between two processes -------------------------------------------------------------


class Channel:
    """One end of a two-way connection. EOFError: the other end is closed, or its process dead."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def fileno(self) -> int:
        """For `multiprocessing.connection.wait`."""
        return self._end.fileno()

    def send(self, pickled: Any, files: Sequence[int] = ()) -> None:
        """Sends a message of `dumps`. OSError: the system refuses the files, and nothing is sent.

        The files stay open here.
        """
        try:
            socket.send_fds(self._end, [HEADER.pack(len(pickled), len(files))], files)
            self._end.sendall(pickled)
        except ConnectionError:
            raise EOFError from None

    def send_value(self, value: Any) -> None:
        """Sends a value, with its tensors pickled where the system refuses more files."""
        pickled, files = dumps(value)
        try:
            self.send(pickled, files)
        except OSError:
            self.send(dumps(value, most_files=0)[0])
        finally:
            close_all(files)

    def receive(self) -> tuple[bytearray, list[int]]:
        """Waits for a message and returns what `loads` takes."""
        files: list[int] = []
        try:
            header, files, flags, _ = socket.recv_fds(self._end, HEADER.size, MOST_FILES)
            if not header:
                raise EOFError
            length, _ = HEADER.unpack(header)
            pickled = self._receive_bytes(length)
            if flags & socket.MSG_CTRUNC:
                raise RuntimeError(
                    "Too many open files. Communication with the workers is no longer possible. "
                    "Please increase the limit using `ulimit -n` in the shell"
                )
        except BaseException as error:
            close_all(files)
            if isinstance(error, ConnectionError):
                raise EOFError from None
            raise
        return pickled, files

    def _receive_bytes(self, length: int) -> bytearray:
        data = bytearray(length)
        rest = memoryview(data)
        while rest:
            received = self._end.recv_into(rest)
            if not received:
                raise EOFError
            rest = rest[received:]
        return data

    def close(self) -> None:
        """Closes both ends, also for processes that were forked in between."""
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()

    def close_here(self) -> None:
        """Closes the copy of the end that this process has."""
        self._end.close()


def pair() -> tuple[Channel, Channel]:
    """The loader's end, of which forked children keep no copy, and the worker's."""
    ours, theirs = map(Channel, socket.socketpair())
    util.register_after_fork(ours, Channel.close_here)
    return ours, theirs
