"""`HostBackend`: tensors of the host's memory, by the algorithms of rings.py; others by a copy.

This, and `NCCLBackend` (nccl.py), are what collectives.py and messages.py know of backends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed import rings
from tiny_torch.distributed.links import Call, Links
from tiny_torch.distributed.mpi import MPILinks, MPIPost
from tiny_torch.distributed.post import Post
from tiny_torch.distributed.reduce_op import COMBINE, ReduceOp, check_op, conclude
from tiny_torch.distributed.rows import Flat, Rows, flat
from tiny_torch.distributed.work import Work


class HostBackend:
    """The links of a group, sockets or MPI, and its collectives on them."""

    device = "cpu"
    check_op = staticmethod(check_op)

    def __init__(self, group: Any, kind: str) -> None:
        self.links: Any
        self.post: Any
        if kind == "mpi":
            self.links = MPILinks(group.ranks)
            self.post = MPIPost(self.links)
        else:
            seconds = group.timeout.total_seconds()
            self.links = Links(group.rank(), group.size(), group.store, seconds)
            self.post = Post(self.links.channels[1])
        self.group, self.run = group, group.run

    def close(self, broken: bool) -> None:
        """Ends the connections."""
        self.links.close()

    @property
    def runs_beside(self) -> bool:
        """Whether a collective can go on beside the ranks' own work.

        A network lets its processor wait; memory that ranks share asks for one, which must be free.
        """
        threads = self.links.size * torch.get_num_threads()
        return self.links.mailbox is None or threads < len(os.sched_getaffinity(0))

    # ------------------------------------------------------------------------------ collectives

    def broadcast(self, row: Flat, root: int, call: Call) -> None:
        rings.broadcast(self.links, row, root, call)

    def all_reduce(self, row: Flat, op: ReduceOp, call: Call) -> None:
        rings.all_reduce(self.links, row, COMBINE[op], call)
        conclude(op, row, self.links.size)

    def average(self, rows: Rows, factor: float, call: Call) -> None:
        rings.average(self.links, rows, factor, call)

    def reduce(self, row: Flat, root: int, op: ReduceOp, call: Call) -> None:
        rings.reduce(self.links, row, root, COMBINE[op], call)
        if self.links.rank == root:
            conclude(op, row, self.links.size)

    def all_gather(self, ours: Flat, rows: Sequence[Flat], call: Call) -> None:
        rings.all_gather(self.links, ours, rows, call)

    def gather(self, ours: Flat, rows: Sequence[Flat], root: int, call: Call) -> None:
        rings.gather(self.links, ours, rows, root, call)

    def scatter(self, ours: Flat, rows: Sequence[Flat], root: int, call: Call) -> None:
        rings.scatter(self.links, ours, rows, root, call)

    def rows_to_reduce(self, tensors: Sequence[torch.Tensor], used_up: bool) -> list[Flat]:
        """What `reduce_scatter` takes, and uses up: copies, unless the tensors may be."""
        if used_up:
            return [flat(t.detach().cpu().contiguous()) for t in tensors]
        like = torch.contiguous_format
        return [flat(t.detach().clone(memory_format=like).cpu()) for t in tensors]

    def reduce_scatter(self, ours: Flat, rows: Sequence[Flat], op: ReduceOp, call: Call) -> None:
        rings.reduce_scatter(self.links, rows, COMBINE[op], call)
        total = rows[self.links.rank]
        conclude(op, total, self.links.size)
        ours.copy_(total)

    def all_to_all(self, outputs: Sequence[Flat], inputs: Sequence[Flat], call: Call) -> None:
        rings.all_to_all(self.links, outputs, inputs, call)

    def barrier(self, call: Call) -> None:
        rings.barrier(self.links, call)

    def monitored_barrier(self, wait_all_ranks: bool, call: Call) -> None:
        rings.monitored_barrier(self.links, wait_all_ranks, call)

    # --------------------------------------------------------------------------------- messages

    def begin(
        self,
        text: str,
        row: Flat,
        tensor: torch.Tensor,
        peer: int | None,
        tag: int,
        after: Callable[[], None] | None,
    ) -> Work:
        """Begins to receive, if there is something to do after it, or else to send."""
        seconds = self.group.timeout.total_seconds()
        work = Work(text, seconds, [tensor], after, self.post.cancel)
        (self.post.receive if after else self.post.send)(peer, tag, row.bytes, work)
        return work

    def batch(self) -> AbstractContextManager[list[Work]]:
        """Nothing is to be done for messages that begin together."""
        return nullcontext([])


__all__ = ["HostBackend"]
