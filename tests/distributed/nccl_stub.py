"""A stand-in for nccl4py, of which `install` makes `nccl.core`: collectives of the emulated GPU.

It has the names, arguments and refusals of nccl.core that tiny_torch uses, and NCCL's ways: ranks
meet by a unique id; a collective begins when its stream has come there, and its result arrives on
that stream, so that who does not wait for the stream sees what was there before; ranks that call
different ones wait forever; `abort` ends what waits. The rank whose id it is has a thread that
combines what all have sent it.
"""

from __future__ import annotations

import contextlib
import enum
import os
import pickle
import socket
import struct
import sys
import threading
import types
from importlib.machinery import ModuleSpec

import tiny_torch as torch

LENGTH = struct.Struct("!Q")
SPARE = []  # the listeners of ids that nobody has used yet


class NcclInvalid(Exception):
    """An argument that the Python layer refuses."""


class NCCLError(Exception):
    """A call that NCCL could not do."""


class NcclDataType(enum.IntEnum):
    INT8, UINT8, INT32, INT64, FLOAT16, FLOAT32, FLOAT64, BFLOAT16 = 0, 1, 2, 4, 6, 7, 8, 9


class NcclRedOp(enum.IntEnum):
    SUM, PROD, MAX, MIN, AVG = range(5)


class CustomRedOp:
    def __init__(self, factor, kind):
        self.factor, self.kind = factor, kind


COMBINE = {
    NcclRedOp.SUM: torch.add,
    NcclRedOp.AVG: torch.add,
    NcclRedOp.PROD: torch.mul,
    NcclRedOp.MAX: torch.maximum,
    NcclRedOp.MIN: torch.minimum,
}


def combine(rows, by):
    """In rank order; a factor belongs to its rank's row."""
    if isinstance(by[0], float):
        rows, by = [row * factor for row, factor in zip(rows, by, strict=True)], [NcclRedOp.SUM]
    total = rows[0]
    for row in rows[1:]:
        total = COMBINE[by[0]](total, row)
    if by[0] is NcclRedOp.AVG:
        total = total / len(rows) if total.is_floating_point() else total // len(rows)
    return total


# ------------------------------------------------------------------------------------ messages


def put(connection, thing):
    data = pickle.dumps(thing)
    connection.sendall(LENGTH.pack(len(data)) + data)


def take(connection):
    (size,) = LENGTH.unpack(take_bytes(connection, LENGTH.size))
    return pickle.loads(take_bytes(connection, size))


def take_bytes(connection, size):
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


class Server:
    """Combines what the ranks send: a thread for each, and a table of what is due."""

    def __init__(self, listener, n):
        self.n, self.changed = n, threading.Condition()
        self.due = {}  # collective number: {rank: (what it is, data)}
        self.sent = {}  # (from, to): data in order
        for _ in range(n):
            connection, _ = listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()
        listener.close()

    def serve(self, connection):
        rank, number = take(connection), 0
        with contextlib.suppress(EOFError, OSError):
            while True:
                kind, *rest = take(connection)
                if kind == "send":
                    peer, data = rest
                    with self.changed:
                        self.sent.setdefault((rank, peer), []).append(data)
                        self.changed.notify_all()
                elif kind == "receive":
                    with self.changed:
                        waiting = self.sent.setdefault((rest[0], rank), [])
                        self.changed.wait_for(lambda w=waiting: w)
                        put(connection, waiting.pop(0))
                else:
                    put(connection, self.answer(rank, number, kind, *rest))
                    number += 1

    def answer(self, rank, number, kind, root, by, data):
        with self.changed:
            due = self.due.setdefault(number, {})
            due[rank] = (kind, root, by, data)
            self.changed.notify_all()
            self.changed.wait_for(
                lambda: (
                    len(due) == self.n
                    and len({(kind, root, len(data)) for kind, root, _, data in due.values()}) == 1
                )
            )
        rows = [due[r][3] for r in range(self.n)]
        if kind == "broadcast":
            return rows[root]
        if kind in ("allgather", "destroy"):
            return torch.cat(rows)
        total = combine(rows, [due[r][2] for r in range(self.n)])
        if kind == "reduce_scatter":
            return total.chunk(self.n)[rank]
        return total if root in (None, rank) else None


# ------------------------------------------------------------------------------- what nccl.core has


class UniqueId:
    def __init__(self, data):
        self.data = data

    def __bytes__(self):
        return self.data.ljust(128, b"\0")

    @staticmethod
    def from_bytes(data):
        return UniqueId(data.rstrip(b"\0"))


def get_unique_id():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\0nccl-stub-{os.getpid()}-{len(SPARE)}-{os.urandom(8).hex()}")
    listener.listen(64)
    SPARE.append(listener)
    return UniqueId(listener.getsockname())


def buffer(tensor):
    """What nccl4py reads of a buffer, and refuses."""
    if tensor.__dlpack_device__()[0] != 2 or not tensor.is_contiguous():
        raise NcclInvalid("not a contiguous buffer of a GPU")
    assert tensor.__cuda_array_interface__["data"][0] or not tensor.numel()
    name = str(tensor.dtype).removeprefix("torch.").upper()
    if name not in NcclDataType.__members__:
        raise NcclInvalid(f"Unsupported data type: {tensor.dtype} has no NCCL equivalent")
    return tensor


group_state = threading.local()


@contextlib.contextmanager
def group():
    group_state.ops = ops = []
    try:
        yield
    finally:
        group_state.ops = None
        for op in sorted(ops, key=lambda op: op[0]):  # sends first
            op[1]()


class Communicator:
    @classmethod
    def init(cls, nranks, rank, unique_id, config=None):
        self = cls()
        self.rank, self.nranks = rank, nranks
        place = unique_id.data
        for listener in SPARE:
            if listener.getsockname() == place:
                SPARE.remove(listener)
                threading.Thread(target=Server, args=(listener, nranks), daemon=True).start()
                break
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(place)
        put(self.connection, rank)
        return self

    def ask(self, stream, out, data, *words):
        """Sends what the stream has made of `data`, and lets the answer arrive on the stream."""
        version, address = stream.__cuda_stream__()
        assert version == 0 and address
        with torch.cuda.stream(stream):
            data = None if data is None else buffer(data).cpu()
        try:
            put(self.connection, (*words, data) if data is not None else words)
            if words[0] == "send":
                return
            answer = take(self.connection)
        except (EOFError, OSError):
            raise NCCLError("NCCL_ERROR: aborted") from None
        if answer is not None and out is not None:
            with torch.cuda.stream(stream):
                buffer(out)[: len(answer)].copy_(answer, non_blocking=True)

    def broadcast(self, sendbuf, recvbuf, root, *, stream=None, config=None):
        if root == self.rank and sendbuf.numel() != recvbuf.numel():
            raise NcclInvalid("Buffer count mismatch")
        self.ask(stream, recvbuf, sendbuf, "broadcast", root, None)

    def reduce(self, sendbuf, recvbuf, op, root=None, *, stream=None, config=None):
        if recvbuf.dtype != sendbuf.dtype or recvbuf.numel() < sendbuf.numel():
            raise NcclInvalid("Buffer mismatch")
        self.ask(stream, recvbuf, sendbuf, "reduce", root, self.operation(op, sendbuf))

    def allgather(self, sendbuf, recvbuf, *, stream=None, config=None):
        if recvbuf.numel() < self.nranks * sendbuf.numel():
            raise NcclInvalid("Buffer count mismatch")
        self.ask(stream, recvbuf, sendbuf, "allgather", None, None)

    def reduce_scatter(self, sendbuf, recvbuf, op, *, stream=None, config=None):
        if sendbuf.numel() // self.nranks < 1 or recvbuf.numel() < sendbuf.numel() // self.nranks:
            raise NcclInvalid("Buffer count mismatch")
        by = self.operation(op, sendbuf)
        self.ask(stream, recvbuf, sendbuf, "reduce_scatter", None, by)

    def operation(self, op, data):
        if not isinstance(op, CustomRedOp):
            return NcclRedOp(op)
        assert op.kind is NcclDataType[str(data.dtype).removeprefix("torch.").upper()]
        return op.factor

    def create_pre_mul_sum(self, scalar, datatype=None):
        return CustomRedOp(float(scalar), NcclDataType(datatype))

    def send(self, sendbuf, peer, *, stream=None):
        self.in_group(0, lambda: self.ask(stream, None, sendbuf, "send", peer))

    def recv(self, recvbuf, peer, *, stream=None):
        self.in_group(1, lambda: self.ask(stream, recvbuf, None, "receive", peer))

    def in_group(self, place, op):
        ops = getattr(group_state, "ops", None)
        if ops is None:
            op()
        else:
            ops.append((place, op))

    def abort(self):
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def destroy(self):
        """Waits for the others, as NCCL does."""
        put(self.connection, ("destroy", None, None, torch.empty(0)))
        with contextlib.suppress(EOFError, OSError):
            take(self.connection)
        self.connection.close()


def install():
    """Makes `import nccl.core` find this, as if nccl4py were installed."""
    for name in ("nccl", "nccl.core"):
        module = types.ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        sys.modules[name] = module
    core = sys.modules["nccl"].core = sys.modules["nccl.core"]
    for name in (
        "Communicator", "NCCLError", "NcclDataType", "NcclInvalid", "NcclRedOp", "UniqueId",
        "get_unique_id", "group",
    ):  # fmt: skip
        setattr(core, name, globals()[name])
