"""`TCPStore`: one process holds the keys, and a thread of it answers each of the others.

A question is a list of byte strings: what to do, the timeout in milliseconds, and the arguments;
the answer is one, which begins with "ok" or the kind of the error. Nothing is unpickled: whoever
reaches the port can read and change keys, but run nothing.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
import threading
import time
from collections.abc import Sequence
from datetime import timedelta

from tiny_torch.distributed.errors import DistNetworkError, DistStoreError
from tiny_torch.distributed.stores import (
    FIRST_TIMEOUT,
    HashStore,
    Store,
    as_bytes,
    as_key,
    as_seconds,
)

COUNT = struct.Struct("!I")
GRACE = 5  # seconds that an answer may take beside the timeout
LONGEST = 1 << 30  # of a message; a stranger's first bytes may say anything


def receive_exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        got = connection.recv_into(view)
        if not got:
            raise ConnectionError("Connection was closed. Did the remote server shutdown or crash?")
        view = view[got:]
    return bytes(data)


def send_parts(connection: socket.socket, parts: Sequence[bytes]) -> None:
    body = b"".join(piece for part in parts for piece in (COUNT.pack(len(part)), part))
    connection.sendall(COUNT.pack(len(body)) + body)


def receive_parts(connection: socket.socket) -> list[bytes]:
    (size,) = COUNT.unpack(receive_exactly(connection, COUNT.size))
    if size > LONGEST:
        raise ConnectionError(f"a message of {size} bytes")
    body, parts, at = receive_exactly(connection, size), [], 0
    while at < size:
        (length,) = COUNT.unpack_from(body, at)
        at += COUNT.size
        parts.append(body[at : at + length])
        at += length
    return parts


class Server:
    """Listens, and answers each connection in a thread of its own."""

    def __init__(self, host: str, port: int) -> None:
        self.store = HashStore()
        try:
            family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self.listener = socket.create_server(address, family=family, backlog=1024)
        except OSError as error:
            name = errno.errorcode.get(error.errno or 0, "")
            raise DistNetworkError(
                f"The server socket has failed to listen on {host}:{port} ({name}: {error})"
            ) from None
        self.port = self.listener.getsockname()[1]
        self.connections: set[socket.socket] = set()
        threading.Thread(target=self.accept, daemon=True, name="TCPStore").start()

    def accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections.add(connection)
                threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, struct.error), connection:  # gone, or a stranger
            while True:
                parts = receive_parts(connection)
                try:
                    what, limit, *arguments = parts
                    answers = self.do(what.decode(), int(limit), arguments)
                    send_parts(connection, [b"ok", *answers])
                except DistStoreError as error:
                    send_parts(connection, [b"store", str(error).encode()])
                except Exception as error:
                    question = b"".join(parts[:1]).decode(errors="replace")
                    send_parts(connection, [b"network", f"{question}: {error}".encode()])
        self.connections.discard(connection)

    def do(self, what: str, limit: int, arguments: list[bytes]) -> list[bytes]:
        store = self.store
        key, *rest = [argument.decode("utf-8", "surrogateescape") for argument in arguments] or [""]
        if what == "set":
            store.set(key, arguments[1])
        elif what == "append":
            store.append(key, arguments[1])
        elif what == "add":
            return [str(store.add(key, int(rest[0]))).encode()]
        elif what == "compare_set":
            expected, desired = arguments[1:]
            return [store.compare_set(key, expected, desired)]  # type: ignore[arg-type]
        elif what == "delete_key":
            return [b"1" if store.delete_key(key) else b""]
        elif what == "check":
            return [b"1" if store.check([key, *rest] if arguments else []) else b""]
        elif what == "wait":
            store.wait([key, *rest], timedelta(milliseconds=limit))
        elif what == "get":
            store.wait([key, *rest], timedelta(milliseconds=limit))
            known = store.values()
            return [known[name] for name in (key, *rest)]
        elif what == "values":
            return [part for k, v in store.values().items() for part in (k.encode(), v)]
        else:
            raise ValueError("no such question")
        return []

    def close(self) -> None:
        for connection in (self.listener, *self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


class TCPStore(Store):
    """A store at one process, the master, which the others reach at a port.

    With port 0 the master takes a free one: `port` says which. `world_size` processes wait for
    each other, unless `wait_for_workers` is false. Raises DistNetworkError where the port is taken
    or nobody listens within the timeout.
    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.TCPStore

    >>> import tiny_torch as torch
    >>> store = torch.distributed.TCPStore("localhost", 0, world_size=1, is_master=True)
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = FIRST_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        if not 0 <= port < 65536:
            raise TypeError(f"TCPStore: port must be in 0...65535, got {port}")
        if master_listen_fd is not None:
            raise NotImplementedError("TCPStore: master_listen_fd is not in tiny_torch")
        as_seconds(timeout)
        self.host, self.port, self._timeout = host_name, port, timeout
        self.server = None
        if is_master:
            try:
                self.server = Server(host_name, port)
                self.port = self.server.port
            except DistNetworkError:  # another TCPStore of this process may hold it
                if not multi_tenant:
                    raise
        self.turn = threading.Lock()
        self.connection = self.connect()
        if wait_for_workers and world_size is not None and world_size > 0:
            self.wait_for_all(world_size)

    def connect(self) -> socket.socket:
        end = time.monotonic() + as_seconds(self._timeout)
        while True:
            left = end - time.monotonic()
            try:
                connection = socket.create_connection((self.host, self.port), max(left, 0.001))
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection
            except OSError as error:
                if left <= 0.05:
                    raise DistNetworkError(
                        f"The client socket has timed out after "
                        f"{as_seconds(self._timeout) * 1000:.0f}ms while trying to connect to "
                        f"({self.host}, {self.port}): {error}"
                    ) from None
                time.sleep(0.05)

    def wait_for_all(self, world_size: int) -> None:
        """Waits until each of `world_size` processes has connected."""
        end = time.monotonic() + as_seconds(self._timeout)
        arrived = self.add("TCPStore/workers", 1)
        while arrived < world_size:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {as_seconds(self._timeout):.0f} seconds waiting for "
                    f"clients. {arrived}/{world_size} clients joined."
                )
            time.sleep(0.005)
            arrived = self.add("TCPStore/workers", 0)

    def ask(self, what: str, *arguments: bytes, timeout: timedelta | None = None) -> list[bytes]:
        limit = int(as_seconds(self._timeout if timeout is None else timeout) * 1000)
        with self.turn:
            try:
                self.connection.settimeout(limit / 1000 + GRACE)  # a master that is stopped
                send_parts(self.connection, [what.encode(), str(limit).encode(), *arguments])
                kind, *told = receive_parts(self.connection)
            except OSError as error:
                self.connection.close()  # an answer that comes later is not the next one's
                raise DistNetworkError(
                    f"TCPStore({self.host}:{self.port}) does not answer {what}: {error}"
                ) from None
        if kind != b"ok":
            raise (DistStoreError if kind == b"store" else DistNetworkError)(told[0].decode())
        return told

    def set(self, key: str, value: str | bytes) -> None:
        self.ask("set", as_key(key).encode(), as_bytes(value))

    def append(self, key: str, value: str | bytes) -> None:
        self.ask("append", as_key(key).encode(), as_bytes(value))

    def get(self, key: str) -> bytes:
        return self.ask("get", as_key(key).encode())[0]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self.ask("get", *(as_key(key).encode() for key in keys))

    def add(self, key: str, amount: int) -> int:
        if not isinstance(amount, int):
            raise TypeError(f"add: amount must be int, got {type(amount).__name__}")
        return int(self.ask("add", as_key(key).encode(), str(amount).encode())[0])

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        values = as_bytes(expected_value), as_bytes(desired_value)
        return self.ask("compare_set", as_key(key).encode(), *values)[0]

    def delete_key(self, key: str) -> bool:
        return self.ask("delete_key", as_key(key).encode()) == [b"1"]

    def check(self, keys: Sequence[str]) -> bool:
        if isinstance(keys, str):
            raise TypeError("check: keys must be a list of str, got str")
        return self.ask("check", *(as_key(key).encode() for key in keys)) == [b"1"]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self.ask("wait", *(as_key(key).encode() for key in keys), timeout=timeout)

    def values(self) -> dict[str, bytes]:
        parts = self.ask("values")
        return {k.decode(): v for k, v in zip(parts[::2], parts[1::2], strict=True)}

    def clone(self) -> TCPStore:
        """Another connection to the same store."""
        return TCPStore(self.host, self.port, None, False, self._timeout)

    def __del__(self) -> None:
        if "connection" in vars(self):
            self.connection.close()
        if self.server is not None:
            self.server.close()
