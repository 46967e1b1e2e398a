"""Links: a socket between each two processes of a machine, and one way to use them, `exchange`.

What all send to all, if it is small, goes through memory instead: `share`, mailbox.py.

Every message begins with a header: the number of the collective in this group, how many bytes
follow, and what the collective is, such as `all_reduce(SUM) float32 [3]`. Whoever receives another
header than its own knows that the ranks do not call the same, and says both.
The sockets have no names in the file system (Linux's abstract ones), and only processes of the
same user are let in.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import socket
import struct
import time
import uuid
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from tiny_torch.distributed import mailbox
from tiny_torch.distributed.errors import DistBackendError, DistNetworkError
from tiny_torch.distributed.mailbox import Mailbox
from tiny_torch.distributed.rows import Flat
from tiny_torch.distributed.stores import Store

HEADER = struct.Struct("!QQ112s")
HELLO = struct.Struct("!16sIB")  # the listener's secret, who connects, for which channel
CREDENTIALS = struct.Struct("3i")  # pid, uid, gid of SO_PEERCRED
CHANNELS = 2  # of each pair: collectives, and messages of send and recv
BUFFER = 1 << 20  # bytes that the system holds for a socket, if it may
AWAKE = 1 << 63  # in the place of a size: wakes who sleeps at its mailbox
GLANCE = 0.25  # seconds between looks at the mailbox while a message is due
Pairs = Iterable[tuple[int, memoryview]]
Messages = list[tuple[int, bytes, memoryview]]  # a peer, a header, what follows


@functools.lru_cache(1024)
def pack(text: str) -> bytes:
    """What a header says of a collective."""
    return text.encode()[:112].ljust(112, b"\0")


class Call:
    """A collective that is going on: its number in the group, what it is, until when it may last.

    `ranks` turns a rank of the group into the one that errors name.
    """

    channel: Any  # where NCCL does it
    is_beside = False  # whether the thread that began it goes on

    def __init__(self, number: int, text: str, seconds: float, ranks: list[int]) -> None:
        self.number, self.text, self.seconds, self.ranks = number, text, seconds, ranks
        self.end = time.monotonic() + seconds
        self.packed = pack(text)

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
        their_size &= ~AWAKE
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
        self.mailbox: Any = open_mailbox(self) if mailbox.IN_ORDER and size > 1 else None
        self.left: Any = None  # the last sharing, if not all ranks were waited for
        for connection in self.channels[0].values():
            connection.setblocking(False)
        alive.add(self)

    def exchange(self, sends: Pairs, receives: Pairs, call: Call) -> None:
        """Sends and receives messages, all at once, at most one each way with each peer."""
        self.transfer(
            [(peer, call.header(len(view)), view) for peer, view in sends],
            [(peer, call.header(len(view)), view) for peer, view in receives],
            call,
        )

    def share(self, ours: Flat, call: Call, root: int | None = None) -> list[Flat]:
        """The rows of all ranks, as large as this one's, until the next but one is shared.

        Of one rank's alone, if `root` says which: then the others are not waited for, but when
        the next is shared.
        """
        box, size = self.mailbox, ours.nbytes
        if box is None or size > mailbox.LARGEST:
            return share_by(self, ours, call)
        if self.left is not None:
            self.left[0].end = call.end
            self.await_numbers(range(self.size), *self.left)
        header = call.header(size)
        headers, rows = box.turn(ours)
        headers[self.rank][:] = header
        if root in (None, self.rank):
            rows[self.rank].copy_(ours)
        for sleeper in box.publish():
            # It may have seen the number by itself, ended this call, and left.
            with contextlib.suppress(DistBackendError):
                self.transfer(self.wakings([sleeper], call, size), [], call)
        self.await_numbers(range(self.size) if root is None else [root], call, headers, size)
        self.left = None if root is None else (call, headers, size)
        return rows

    def await_numbers(
        self, peers: Sequence[int], call: Call, headers: list[memoryview], size: int
    ) -> None:
        """Waits until these ranks have written; raises where one is in another collective."""
        if self.mailbox.look(peers):
            # A waking may be one of this call that came late: its last exchange, not this one.
            while missing := self.mailbox.sleep(peers):
                self.transfer([], self.wakings(missing, call, size), call)
        header = call.header(size)
        for peer in peers:
            if headers[peer] != header:
                raise call.differs(peer, bytes(headers[peer]), size)

    def wakings(self, peers: list[int], call: Call, size: int) -> Messages:
        """What wakes ranks that sleep at the mailbox."""
        header = call.header(size | AWAKE)
        return [(peer, header, memoryview(bytearray())) for peer in peers]

    def transfer(self, sends: Messages, receives: Messages, call: Call) -> None:
        """Sends and receives headers with their bytes."""
        sockets = self.channels[0]
        sending: dict[int, list[Any]] = {}  # by file: the peer, its socket, what is left to send
        for peer, header, view in sends:
            sending[sockets[peer].fileno()] = [peer, sockets[peer], memoryview(header), view]
        receiving = {
            sockets[peer].fileno(): Receipt(peer, sockets[peer], header, view)
            for peer, header, view in receives
        }
        for file in [file for file, state in sending.items() if send_some(state, call)]:
            del sending[file]
        poll, asked = select.poll(), sending.keys() | receiving.keys()
        for file in asked:
            poll.register(file, events_of(file, sending, receiving))
        while sending or receiving:
            ready = poll.poll(min(max(call.seconds_left(), 0), GLANCE) * 1000)
            if not ready:
                due = {r.peer: len(r.whole) for r in receiving.values()}
                self.check_mailbox(due, call)
                if call.seconds_left() <= 0:
                    raise call.late([*due, *(state[0] for state in sending.values())])
            for file, events in ready:
                done = False
                if file in receiving and events & ~select.POLLOUT:
                    done = receiving[file].take(call)
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

    def check_mailbox(self, due: dict[int, int], call: Call) -> None:
        """Raises where a rank whose message is due waits at the mailbox, in another collective."""
        for peer, size in due.items():
            header = self.mailbox and self.mailbox.next_header(peer)
            if not header:
                continue
            number, _, text = HEADER.unpack(header)
            if number < call.number or (number == call.number and text != call.packed):
                raise call.differs(peer, header, size)

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


class Receipt:
    """A message that is due from a peer: the header that it must have, and where its bytes go."""

    def __init__(
        self, peer: int, connection: socket.socket, expected: bytes, whole: memoryview
    ) -> None:
        self.peer, self.connection, self.expected, self.whole = peer, connection, expected, whole
        self.begin(b"")

    def begin(self, early: bytes) -> None:
        """Expects a message, of which some bytes are here."""
        head = early[: HEADER.size]
        self.header = bytearray(head.ljust(HEADER.size, b"\0"))
        self.header_left = memoryview(self.header)[len(head) :]
        self.whole[: len(early) - len(head)] = early[len(head) :]
        self.left = self.whole[len(early) - len(head) :]

    def take(self, call: Call) -> bool:
        """Takes what has arrived; True if nothing is missing."""
        try:
            got = self.connection.recvmsg_into([self.header_left, self.left])[0]
        except BlockingIOError:
            return False
        except OSError:
            got = 0
        if not got and (self.header_left or self.left):
            raise call.disconnection(self.peer)
        of_header = min(got, len(self.header_left))
        fresh = bool(self.header_left)
        self.header_left, self.left = self.header_left[of_header:], self.left[got - of_header :]
        while fresh and not self.header_left and self.header != self.expected:
            number, size, _ = HEADER.unpack(self.header)
            if not (size & AWAKE and number < call.number):
                raise call.differs(self.peer, bytes(self.header), len(self.whole))
            # it came when this rank had woken by itself
            self.begin(bytes(self.whole[: len(self.whole) - len(self.left)]))
        return not (self.header_left or self.left)


def share_by(links: Any, ours: Flat, call: Call) -> list[Flat]:
    """The rows of all ranks, by an exchange."""
    rows = [ours if rank == links.rank else ours.new() for rank in range(links.size)]
    others = [rank for rank in range(links.size) if rank != links.rank]
    links.exchange(
        [(rank, ours.bytes) for rank in others],
        [(rank, rows[rank].bytes) for rank in others],
        call,
    )
    rows[links.rank] = ours.new()
    rows[links.rank].copy_(ours)
    return rows


def open_mailbox(links: Links) -> Mailbox:
    """The group's memory, which rank 0 makes and sends to the others."""
    if links.rank == 0:
        file = os.memfd_create("tiny_torch_mailbox")
        os.truncate(file, mailbox.length_of(links.size))
        for connection in links.channels[0].values():
            socket.send_fds(connection, [b"m"], [file])
    else:
        _, (file, *_), *_ = socket.recv_fds(links.channels[0][0], 1, 1)
    try:
        return Mailbox(links.rank, links.size, file)
    finally:
        os.close(file)


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
