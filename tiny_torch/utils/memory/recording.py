"""Notes each block of memory that storages take: from which op, module and line, and until when.

C++ calls `Recording._on_storage` as a storage is made or freed
(`src/bindings/storage_listener.cpp`). Which op runs is known from an OpMode, the rest from the
stack. While no recording is on, nothing of this runs: a storage costs the question whether somebody
listens.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from os import PathLike
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.graph import Node, edge_of
from tiny_torch.autograd.op_mode import OpMode
from tiny_torch.autograd.places import ModulePaths, Place
from tiny_torch.tensor import Tensor
from tiny_torch.utils.memory import page
from tiny_torch.utils.memory.blocks import BEFORE, KEY, Block, Site, describe, name_of_op
from tiny_torch.utils.memory.holders import Holders, tensors
from tiny_torch.utils.memory.leaks import Leak, find_leaks
from tiny_torch.utils.sizes import size_text


class Recording(OpMode):
    """What `record` answers: the blocks of this recording, and what they tell.

    `blocks`: all, in the order in which they were made; those that were there before come first.
    """

    def __init__(self, holders: bool = True) -> None:
        self._asks = holders
        self.blocks: list[Block] = []
        self.marks: list[int] = []  # the number of events at each step's end
        self.events = 0
        self.live: dict[int, Block] = {}  # by storage_id
        self._sites: list[Site] = []  # of the ops that run, the innermost last
        self._paths = ModulePaths()
        self._thread = 0
        self._frozen: list[Leak] | None = None

    # ---- recording ---------------------------------------------------------------------------

    def current(self) -> int:
        if self._frozen is not None or self._thread:
            raise RuntimeError("a recording of memory runs once: record() makes another")
        if Recording.running is not None:
            raise RuntimeError("memory is being recorded already")
        return super().current()

    def begin(self) -> Recording:
        Recording.running = self
        self._thread = threading.get_ident()
        self._begin = time.perf_counter()
        gc.collect()
        for tensor in tensors():
            array = tensor.array
            if hasattr(array, "storage_id") and array.storage_nbytes and array.device != "meta":
                self._add(array.storage_id, array.storage_nbytes, array.device, BEFORE)
        _core.listen_to_storages(self._on_storage)
        return super().begin()

    def restore(self, before: int) -> None:
        super().restore(before)
        if self._frozen is not None:
            return
        if Recording.running is self:
            gc.collect()  # what only waits for the collector is no leak
            _core.listen_to_storages(None)
            Recording.running = None
        self._paths = ModulePaths()  # the old one keeps modules alive
        if not self._asks:
            self._frozen, self.live = [], {}
            return
        holders = Holders(sys._getframe(1))
        self._frozen = find_leaks(self.live, len(self.marks), holders)
        for number, block in self.live.items():
            block.holders = holders.names(number)
        self.live = {}

    def step(self) -> None:
        """Says that a training step ends: what several steps leave behind, one after another,
        is a leak."""
        gc.collect()
        self.marks.append(self.events)

    def _on_storage(self, number: int, size: int, device: str) -> None:
        """A storage was made, or is freed if the size is -1."""
        if size < 0:
            block = self.live.pop(number, None)
            if block is not None:
                self.events += 1
                block.freed = self.events
                block.ended = time.perf_counter() - self._begin
                block.freed_by = describe(self._site(sys._getframe()))
        elif size:
            self._add(number, size, device, self._site(sys._getframe()))

    def _add(self, number: int, size: int, device: str, site: Site) -> None:
        if number in self.live:  # several tensors of one storage, at the beginning; or it grew
            if site is BEFORE:
                return
            self.events += 1
            self.live[number].freed = self.events
        self.events += site is not BEFORE
        seconds = time.perf_counter() - self._begin
        block = Block(size, device, site, self.events, len(self.marks), seconds)
        self.live[number] = block
        self.blocks.append(block)

    def _site(self, frame: Any) -> Site:
        if self._sites and threading.get_ident() == self._thread:
            return self._sites[-1]
        place = Place(frame)
        if place.optimizer:
            return Site("optimizer", place.optimizer, "", place.line)
        phase = "backward" if place.backward else "other"
        return Site(phase, "", self._paths.path(place.modules), place.line)

    # ---- the mode: which op runs -------------------------------------------------------------

    def forward(self, call: Callable, op: Any, arguments: tuple, kind: str) -> Any:
        place = Place(sys._getframe(1))
        module = self._paths.path(place.modules)
        if place.optimizer:
            site = Site("optimizer", place.optimizer, module, place.line)
        else:
            site = Site("forward", op.__name__, module, place.line)
        self._sites.append(site)
        try:
            result = call(op, arguments)
        finally:
            self._sites.pop()
        for tensor in result if isinstance(result, tuple) else (result,):
            edge = edge_of(tensor) if isinstance(tensor, Tensor) else None
            if edge is not None:  # a view under no_grad requires grad, but has none
                self._note_saved(edge[0], site)
        return result

    def _note_saved(self, node: Any, site: Site) -> None:
        """What a new node saved: its blocks are in use until backward."""
        if not isinstance(node, Node) or KEY in node.metadata:
            return
        node.metadata[KEY] = site
        if type(node.saved) is not tuple:  # packed by hooks, which keep what they like
            return
        for value in node.saved:
            block = self.live.get(getattr(value, "storage_id", 0))
            if block is not None:
                block.saved_by.append(describe(site))

    def backward(self, call: Callable, node: Any, grad: Any, needs: Any) -> Any:
        site = node.metadata.get(KEY)
        if site is None:
            place = Place(sys._getframe(1))
            site = Site("backward", "", self._paths.path(place.modules), place.line)
        op = f"{name_of_op(node)}Backward"
        self._sites.append(site._replace(phase="backward", op=op))
        try:
            return call(node, grad, needs)
        finally:
            self._sites.pop()

    # ---- what it tells -----------------------------------------------------------------------

    @property
    def peak(self) -> tuple[int, int]:
        """(the most bytes at once, the number of the event then)."""
        live = most = at = 0
        for number, change in enumerate(self.changes()):
            live += change
            if live > most:
                most, at = live, number
        return most, at

    def changes(self) -> list[int]:
        """By how many bytes each event changed what is live; the first is what was there before."""
        changes = [0] * (self.events + 1)
        for block in self.blocks:
            changes[block.made] += block.bytes
            if block.freed is not None:
                changes[block.freed] -= block.bytes
        return changes

    def alive_at(self, event: int) -> list[Block]:
        """The blocks that are live after an event, the largest first."""
        alive = [b for b in self.blocks if b.made <= event and (b.freed is None or b.freed > event)]
        return sorted(alive, key=lambda block: -block.bytes)

    def leaks(self) -> list[Leak]:
        """What steps leave behind, by who holds it.

        RuntimeError before the recording has ended, or where it does not ask for holders.
        """
        if not self._asks:
            raise RuntimeError("leaks: of record(holders=False), which does not know them")
        if self._frozen is None:
            raise RuntimeError("leaks: the recording has not ended")
        return self._frozen

    def summary(self, rows: int = 12) -> str:
        """The peak, by what made the blocks; and the leaks."""
        most, at = self.peak
        alive = self.alive_at(at)
        sums: Counter[str] = Counter()
        for block in alive:
            sums[describe(block.site)] += block.bytes
        lines = [f"Peak: {size_text(most)} in {len(alive)} blocks; made by"]
        lines += [f"{size_text(size):>12}  {name}" for name, size in sums.most_common(rows)]
        if len(sums) > rows:
            rest = sum(sums.values()) - sum(size for _, size in sums.most_common(rows))
            lines.append(f"{size_text(rest):>12}  {len(sums) - rows} others")
        lines += [str(leak) for leak in self._frozen or ()]
        return "\n".join(lines)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a page that needs no other file: live bytes over time, each block, the leaks.

        RuntimeError before the recording has ended; OSError where it cannot be written.
        """
        page.write_page(self, self.leaks(), path)

    running: Recording | None = None


def record(holders: bool = True) -> Recording:
    """Records, while its ``with`` lasts, each block of memory that storages take.

    For one thread's ops; blocks of other threads are noted without their ops. Raises RuntimeError
    where a recording runs already. At the end it is asked who holds each block, which may take some
    seconds in a process of millions of objects; with ``holders=False`` neither holders nor leaks
    are known.

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils.memory import record
    >>> with record() as recording:
    ...     x = torch.ones(256, requires_grad=True)
    ...     y = x.exp()
    >>> [block.bytes for block in recording.blocks if block.site.op == "Exp"]
    [1024]
    """
    return Recording(holders)
