"""Links: a socket between each two processes of a machine, and one way to use them, `exchange`.

Every message begins with a header: the number of the collective in this group, how many bytes
follow, and what the collective is, such as `all_reduce(SUM) float32 [3]`. Whoever receives another
header than its own knows that the ranks do not call the same, and says both.
The sockets have no names in the file system (Linux's abstract ones), and only processes of the
same user are let in.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import time
import uuid
import weakref
from collections.abc import Iterable
from typing import Any

from tiny_torch.distributed.errors import DistBackendError, DistNetworkError
from tiny_torch.distributed.stores import Store

HEADER = struct.Struct("!QQ112s")
HELLO = struct.Struct("!16sIB")  # the listener's secret, who connects, for which channel
CREDENTIALS = struct.Struct("3i")  # pid, uid, gid of SO_PEERCRED
CHANNELS = 2  # of each pair: collectives, and messages of send and recv
BUFFER = 1 << 20  # bytes that the system holds for a socket, if it may
Pairs = Iterable[tuple[int, memoryview]]


class Call:
    """A collective that is going on: its number in the group, what it is, until when it may last.

    `ranks` turns a rank of the group into the one that errors name.
    """

    def __init__(self, number: int, text: str, seconds: float, ranks: list[int]) -> None:
        self.number, self.text, self.seconds, self.ranks = number, text, seconds, ranks
        self.end = time.monotonic() + seconds
        self.packed = text.encode()[:112].ljust(112, b"\0")

    def header(self, size: int) -> bytes:
        return HEADER.pack(self.number, size, self.packed)

    def seconds_left(self) -> float:
        return self.end - time.monotonic()

    def failure(self, why: str) -> DistBackendError:
        return DistBackendError(f"{self.text}, collective {self.number} of the group: {why}")

    def disconnection(self, peer: int) -> DistBackendError:
        return self.failure(f"rank {self.ranks[peer]} closed its connection: it ended or failed")

    def late(self, peers: Iterable[int]) -> DistBackendError:
        who = ", ".join(str(self.ranks[peer]) for peer in sorted(set(peers)))
        return self.failure(f"waited {self.seconds:g} s for rank {who}")

    def differs(self, peer: int, header: bytes, size: int) -> DistBackendError:
        number, their_size, packed = HEADER.unpack(header)
        text = packed.rstrip(b"\0").decode(errors="replace")
        who = f"rank {self.ranks[peer]} is in {text}, collective {number}"
        if (number, text) == (self.number, self.text):
            who = f"rank {self.ranks[peer]} sends {their_size} bytes, {size} were expected"
        return self.failure(who)


class Links:
    """The sockets of one rank to all others of its group, and messages over them."""

    def __init__(self, rank: int, size: int, store: Store, seconds: float) -> None:
        self.rank, self.size = rank, size
        self.channels: list[dict[int, socket.socket]] = [{} for _ in range(CHANNELS)]
        try:
            meet(self, store, time.monotonic() + seconds)
        except BaseException:
            self.close()
            raise
        for connection in self.channels[0].values():
            connection.setblocking(False)
        alive.add(self)

    def exchange(self, sends: Pairs, receives: Pairs, call: Call) -> None:
        """Sends and receives messages, all at once, at most one each way with each peer."""
        sockets = self.channels[0]
        sending: dict[int, list[Any]] = {}  # by file: the peer, its socket, what is left to send
        for peer, view in sends:
            sending[sockets[peer].fileno()] = [
                peer, sockets[peer], memoryview(call.header(len(view))), view
            ]  # fmt: skip
        receiving = {}  # by file: the peer, its socket, the header, what is left to receive
        for peer, view in receives:
            header = bytearray(HEADER.size)
            receiving[sockets[peer].fileno()] = [
                peer, sockets[peer], header, memoryview(header), view, len(view)
            ]  # fmt: skip
        for file in [file for file, state in sending.items() if send_some(state, call)]:
            del sending[file]
        poll, asked = select.poll(), sending.keys() | receiving.keys()
        for file in asked:
            poll.register(file, events_of(file, sending, receiving))
        while sending or receiving:
            ready = poll.poll(max(call.seconds_left(), 0) * 1000)
            if not ready:
                raise call.late(s[0] for s in (*sending.values(), *receiving.values()))
            for file, events in ready:
                done = False
                if file in receiving and events & ~select.POLLOUT:
                    done = receive_some(receiving[file], call)
                    if done:
                        del receiving[file]
                if file in sending and events & ~select.POLLIN and send_some(sending[file], call):
                    del sending[file]
                    done = True
                if done:
                    events = events_of(file, sending, receiving)
                    if events:
                        poll.modify(file, events)
                    else:
                        poll.unregister(file)

    def close(self) -> None:
        """Ends the connections: the peers notice at once."""
        for connection in self.connections():
            with contextlib.suppress(OSError):  # the peer was first
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def forget(self) -> None:
        """In a forked child: leaves the connections to the parent."""
        for connection in self.connections():
            connection.close()

    def connections(self) -> list[socket.socket]:
        return [connection for channel in self.channels for connection in channel.values()]


def events_of(file: int, sending: dict[int, Any], receiving: dict[int, Any]) -> int:
    return (select.POLLOUT if file in sending else 0) | (select.POLLIN if file in receiving else 0)


def send_some(state: list[Any], call: Call) -> bool:
    """Sends what the socket takes now; True if nothing is left."""
    peer, connection, header, view = state
    try:
        sent = connection.sendmsg([header, view])
    except BlockingIOError:
        return False
    except OSError:
        raise call.disconnection(peer) from None
    of_header = min(sent, len(header))
    state[2], state[3] = header[of_header:], view[sent - of_header :]
    return not (state[2] or state[3])


def receive_some(state: list[Any], call: Call) -> bool:
    """Takes what has arrived; True if nothing is missing."""
    peer, connection, whole, header, view, size = state
    try:
        got = connection.recvmsg_into([header, view])[0]
    except BlockingIOError:
        return False
    except OSError:
        got = 0
    if not got and (header or view):
        raise call.disconnection(peer)
    of_header = min(got, len(header))
    state[3], state[4] = header[of_header:], view[got - of_header :]
    if not state[3] and header and whole != call.header(size):
        raise call.differs(peer, bytes(whole), size)
    return not (state[3] or state[4])


# ------------------------------------------------------------------------------------- connecting


def meet(links: Links, store: Store, end: float) -> None:
    """Connects with every lower rank and lets every higher one in; the store has the addresses."""
    secret = uuid.uuid4().bytes
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(f"\0tiny_torch-{uuid.uuid4().hex}")
        listener.listen(CHANNELS * links.size)
        place = listener.getsockname()
        store.set(f"rank {links.rank}", secret + place)
        for peer in range(links.rank):
            told = store.get(f"rank {peer}")
            for channel in range(CHANNELS):
                connection = new_socket()
                links.channels[channel][peer] = connection
                try:
                    connection.connect(told[16:])
                    connection.sendall(HELLO.pack(told[:16], links.rank, channel))
                except OSError as error:
                    raise DistNetworkError(
                        f"rank {links.rank} cannot reach rank {peer}, which must be a process of "
                        f"this machine: {error}"
                    ) from None
        while any(len(known) < links.size - 1 for known in links.channels):
            let_in(links, listener, secret, end)


def let_in(links: Links, listener: socket.socket, secret: bytes, end: float) -> None:
    listener.settimeout(max(end - time.monotonic(), 0.001))
    try:
        connection, _ = listener.accept()
    except TimeoutError:
        known = links.channels[-1]
        missing = [r for r in range(links.size) if r != links.rank and r not in known]
        raise DistNetworkError(f"rank {links.rank}: rank {missing} did not connect") from None
    owner = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    connection.settimeout(5)
    hello = connection.recv(HELLO.size, socket.MSG_WAITALL)
    if CREDENTIALS.unpack(owner)[1] != os.geteuid() or hello[:16] != secret:
        connection.close()
        return
    _, peer, channel = HELLO.unpack(hello)
    connection.settimeout(None)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
    links.channels[channel][peer] = connection


def new_socket() -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
    return connection


# A forked child, such as a loader's worker, would keep the connections of a killed parent open.
alive: weakref.WeakSet[Links] = weakref.WeakSet()


def forget_in_child() -> None:
    for links in list(alive):
        links.forget()


os.register_at_fork(after_in_child=forget_in_child)
