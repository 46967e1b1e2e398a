"""Messages between two ranks: what `send` and `recv` and their kin do with a pair's second socket.

A message is a header (tag, size) and bytes. For each peer a thread reads what comes, and one
writes: no order of sends and receives of several ranks locks them up. What nobody has asked for
yet is kept until somebody does.
"""

from __future__ import annotations

import queue
import socket
import struct
import threading
from typing import Any

from tiny_torch.distributed.errors import DistBackendError
from tiny_torch.distributed.work import Work

HEADER = struct.Struct("!qQ")


class Expected:
    """A receive that was asked for: from whom (None: anyone), with which tag, where to."""

    def __init__(self, peer: int | None, tag: int, view: memoryview, work: Work) -> None:
        self.peer, self.tag, self.view, self.work = peer, tag, view, work

    def fits(self, peer: int, tag: int) -> bool:
        return self.peer in (None, peer) and self.tag == tag

    def refuse(self, peer: int, size: int) -> None:
        self.work.finish(
            DistBackendError(
                f"{self.work.text}: rank {peer} of the group sent {size} bytes, "
                f"{len(self.view)} were expected"
            )
        )


class Post:
    """The messages of one rank with all others of its group."""

    def __init__(self, sockets: dict[int, socket.socket]) -> None:
        self.sockets = sockets
        self.guard = threading.Lock()
        self.expected: list[Expected] = []
        self.arrived: list[tuple[int, int, bytes]] = []
        self.gone: dict[int, str] = {}
        self.outgoing: dict[int, queue.SimpleQueue[Any]] = {}

    def start(self) -> None:
        """Starts the threads, at the first message; under the lock."""
        for peer in self.sockets if not self.outgoing else ():
            self.outgoing[peer] = queue.SimpleQueue()
            for task in (self.read, self.write):
                threading.Thread(target=task, args=(peer,), daemon=True).start()

    def send(self, peer: int, tag: int, view: memoryview, work: Work) -> None:
        with self.guard:
            self.start()
        self.outgoing[peer].put((tag, view, work))

    def receive(self, peer: int | None, tag: int, view: memoryview, work: Work) -> None:
        wanted = Expected(peer, tag, view, work)
        with self.guard:
            self.start()
            for i, (source, its_tag, data) in enumerate(self.arrived):
                if wanted.fits(source, its_tag):
                    del self.arrived[i]
                    self.hand_over(wanted, source, data)
                    return
            if peer in self.gone or (peer is None and len(self.gone) == len(self.sockets)):
                work.finish(gone(work, peer))
                return
            self.expected.append(wanted)

    def cancel(self, work: Work) -> None:
        """Takes back a receive that nobody waits for any more."""
        with self.guard:
            self.expected = [e for e in self.expected if e.work is not work]

    @staticmethod
    def hand_over(wanted: Expected, peer: int, data: bytes) -> None:
        if len(data) != len(wanted.view):
            wanted.refuse(peer, len(data))
            return
        wanted.view[:] = data
        wanted.work.source = peer
        wanted.work.finish()

    def take(self, peer: int, tag: int) -> Expected | None:
        """The first receive that asks for such a message; under the lock."""
        for i, wanted in enumerate(self.expected):
            if wanted.fits(peer, tag):
                return self.expected.pop(i)
        return None

    def read(self, peer: int) -> None:
        wanted = None
        try:
            while True:
                header = bytearray(HEADER.size)
                fill(self.sockets[peer], memoryview(header))
                tag, size = HEADER.unpack(header)
                with self.guard:
                    wanted = self.take(peer, tag)
                if wanted is not None and len(wanted.view) == size:
                    fill(self.sockets[peer], wanted.view)
                    wanted.work.source = peer
                    wanted.work.finish()
                    continue
                data = bytearray(size)
                fill(self.sockets[peer], memoryview(data))
                with self.guard:
                    wanted = wanted or self.take(peer, tag)
                    if wanted is None:
                        self.arrived.append((peer, tag, bytes(data)))
                    else:
                        self.hand_over(wanted, peer, bytes(data))
        except OSError:
            pass  # the peer, or this process, closed the connection
        with self.guard:
            self.gone[peer] = "closed"
            everyone = len(self.gone) == len(self.sockets)
            lost = [e for e in self.expected if e.peer == peer or (e.peer is None and everyone)]
            self.expected = [e for e in self.expected if e not in lost]
        for e in [*lost, *([wanted] if wanted is not None else [])]:
            if not e.work.is_completed():
                e.work.finish(gone(e.work, peer))

    def write(self, peer: int) -> None:
        while True:
            tag, view, work = self.outgoing[peer].get()
            try:
                self.sockets[peer].sendall(HEADER.pack(tag, len(view)))
                self.sockets[peer].sendall(view)
                work.finish()
            except OSError:
                work.finish(gone(work, peer))


def gone(work: Work, peer: int | None) -> DistBackendError:
    who = "every other rank" if peer is None else f"rank {peer}"
    return DistBackendError(f"{work.text}: {who} of the group closed its connection")


def fill(connection: socket.socket, view: memoryview) -> None:
    """Receives as many bytes as the view has; ConnectionError where the peer ends before."""
    while view:
        got = connection.recv_into(view)
        if not got:
            raise ConnectionError
        view = view[got:]
