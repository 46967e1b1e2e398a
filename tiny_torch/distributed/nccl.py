"""The backend `nccl`: collectives of tensors of a GPU by NCCL (`pip install 'tiny_torch[nccl]'`).

A collective is launched on a stream of the group's own, which waits for what the current stream was
given so far. `wait` of its Work lets the current stream wait for it; the host goes on at once. So
a thread looks after what was launched: what is not done within the timeout, or has failed at
another rank, is aborted, and the next call or `wait` raises what give_up (process_group.py) says.

Each rank has one GPU, the one that CUDA_VISIBLE_DEVICES leaves it. NCCL decides in which order it
adds. It does not look at what other ranks call; at the debug level DETAIL the store does.
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs, https://pypi.org/project/nccl4py
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed import debug_level
from tiny_torch.distributed.errors import DistBackendError
from tiny_torch.distributed.links import Call
from tiny_torch.distributed.reduce_op import BITWISE, PremulSum, ReduceOp
from tiny_torch.distributed.rows import Flat, flat, join
from tiny_torch.distributed.work import Future, Work

Tensor = torch.Tensor
Messages = Sequence[tuple[int, Flat]]  # with whom, and what
LOOKS = 0.1  # seconds between looks at what was launched
NAMES = {
    ReduceOp.SUM: "SUM", ReduceOp.PRODUCT: "PROD", ReduceOp.MIN: "MIN", ReduceOp.MAX: "MAX",
    ReduceOp.AVG: "AVG",
}  # fmt: skip


def is_nccl_available() -> bool:
    """True if nccl4py is installed."""
    return importlib.util.find_spec("nccl") is not None


def nccl() -> Any:
    """nccl4py's nccl.core, which loads NCCL; RuntimeError that names the command without it."""
    try:
        return importlib.import_module("nccl.core")
    except (ImportError, OSError, RuntimeError) as error:
        raise RuntimeError(
            "Distributed package doesn't have NCCL built in: pip install 'tiny_torch[nccl]' "
            f"({error}). By gloo, or mpi, tensors of a GPU travel by way of the CPU."
        ) from None


class StreamFuture(Future[Any]):
    """A value that is there for who waits on a stream: `then` goes on there at once."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self.stream, self.event = stream, stream.record_event()

    def wait(self) -> Any:
        """The value, for which the current stream waits."""
        value, current = self.value(), torch.cuda.current_stream()
        current.wait_event(self.event)
        for tensor in value if isinstance(value, list | tuple) else [value]:
            if isinstance(tensor, Tensor) and tensor.is_cuda:
                tensor.record_stream(current)
        return value

    def then(self, callback: Callable[[Any], Any]) -> StreamFuture:
        """A future of what the callback launches, which it does now, on the stream."""
        result, error = None, None
        with torch.cuda.stream(self.stream):
            try:
                result = callback(self)
            except Exception as mistake:
                error = mistake
        after = StreamFuture(self.stream)
        after._end(result, error)
        return after


class StreamWork(Work):
    """What is launched on a stream. Without tensors, as a barrier is, the host waits for it."""

    def __init__(self, text: str, seconds: float, result: list[Any]) -> None:
        super().__init__(text, seconds, result)
        self.is_launched = threading.Event()
        self.stream: Any = None
        self.event: Any = None  # when it is done; none before it is launched

    def launch(self, stream: Any) -> None:
        """Says that the stream was given all of it."""
        self.stream, self.event = stream, stream.record_event()
        self.is_launched.set()

    def finish(self, error: BaseException | None = None) -> None:
        super().finish(error)
        self.is_launched.set()

    def is_completed(self) -> bool:
        return super().is_completed() or (self.event is not None and self.event.query())

    def is_success(self) -> bool:
        return self.is_completed() and self._error is None

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Lets the current stream wait; with a timeout the host waits, and raises when late."""
        if timeout is not None:
            end = time.monotonic() + timeout.total_seconds()
            while not self.is_completed():
                if time.monotonic() > end:
                    raise DistBackendError(f"{self.text}: waited {timeout.total_seconds():g} s")
                time.sleep(1e-4)
        self.is_launched.wait()
        if self.event is not None and not self._result:
            self.event.synchronize()
        if self._error is not None:
            raise self._error
        torch.cuda.current_stream().wait_event(self.event)
        return True

    def synchronize(self) -> None:
        """Lets the current stream wait."""
        self.wait()

    def get_future(self) -> Future[list[Any]]:
        """A future of `result`, whose callbacks are launched on the collective's stream."""
        self.is_launched.wait()
        future = StreamFuture(self.stream)
        future._end(self._result, self._error)
        return future


class Channel:
    """A communicator of some ranks of a group, and the stream on which it works."""

    def __init__(self, group: Any, core: Any, name: str, members: Sequence[int]) -> None:
        """Waits until all members have come; DistBackendError says who has not in time."""
        me, store = members.index(group.rank()), group.store
        end = time.monotonic() + group.timeout.total_seconds()
        if me == 0:
            store.set(f"{name} id", bytes(core.get_unique_id()))
        store.set(f"{name} {me}", "")
        missing = list(range(len(members)))
        while missing := [i for i in missing if not store.check([f"{name} {i}"])]:
            if time.monotonic() > end:
                who = ", ".join(str(group.ranks[members[i]]) for i in missing)
                raise DistBackendError(f"NCCL, {name}: rank {who} did not come")
            time.sleep(0.005)
        unique = core.UniqueId.from_bytes(store.get(f"{name} id"))
        self.comm = core.Communicator.init(len(members), me, unique)
        self.stream = torch.cuda.Stream()


class Sender:
    """The thread that launches the messages of a channel, in their order."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self.jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self.work_off, daemon=True)
        self.thread.start()

    def work_off(self) -> None:
        while (job := self.jobs.get()) is not None:
            work, launch = job
            try:
                self.group.perform(0, work.text, launch, work.seconds)
            except Exception as error:
                work.finish(error)
            del job, launch  # its tensors may be large, and the next one far away


class NCCLBackend:
    """The communicators of a group, and its collectives by them.

    One is of all ranks. Each pair has others, for either direction and each tag of its messages,
    and a thread for each of them: so no message waits for one that begins later.
    """

    device = "cuda"
    runs_beside = True  # on a stream of its own

    def __init__(self, group: Any, kind: str) -> None:
        if not torch.cuda.is_available():
            raise ValueError("ProcessGroupNCCL is only supported with GPUs, no GPUs found!")
        self.group, self.core = group, nccl()
        self.channels: dict[str, Channel] = {}
        self.senders: dict[str, Sender] = {}
        self.turn = threading.RLock()
        self.launched: queue.SimpleQueue[Any] | None = None
        self.together: list[Any] | None = None  # a batch of messages

    # ----------------------------------------------------------------------------- launching

    def run(
        self,
        text: str,
        step: Callable[[Call], None],
        result: list[Any],
        async_op: bool = False,
        after: Callable[[], None] | None = None,
        seconds: float | None = None,
        numbered: bool = True,
    ) -> StreamWork | None:
        """Launches a collective, and what is to be done after it."""
        group = self.group
        limit = group.timeout.total_seconds() if seconds is None else seconds
        work, everyone = StreamWork(text, limit, result), range(group.size())
        launch = self.launcher("nccl", everyone, work, step, after)
        with self.turn:
            group.number += numbered
            group.perform(group.number if numbered else 0, text, launch, limit)
        if async_op:
            return work
        work.wait()
        return None

    def launcher(
        self,
        name: str,
        members: Sequence[int],
        work: StreamWork,
        step: Callable[[Call], None],
        after: Callable[[], None] | None,
    ) -> Callable[[Call], None]:
        """What launches a step on the stream of a channel, behind what the current one has now."""
        ready = torch.cuda.current_stream().record_event()

        def launch(call: Call) -> None:
            self.look_after(call, work)
            if call.number and debug_level.get_debug_level() is debug_level.DebugLevel.DETAIL:
                self.compare(call)
            if name not in self.channels:
                self.channels[name] = Channel(self.group, self.core, name, members)
            call.channel = self.channels[name]
            stream = call.channel.stream
            stream.wait_event(ready)
            with torch.cuda.stream(stream):
                try:
                    step(call)
                except Exception as error:
                    raise call.failure(f"{type(error).__name__}: {error}") from error
                if after is not None:
                    after()
            for tensor in work._result:
                tensor.record_stream(stream)
            work.launch(stream)

        return launch

    def compare(self, call: Call) -> None:
        """DistBackendError where another rank is in another collective."""
        group, key = self.group, f"call {call.number}"
        group.store.set(f"{key} {group.rank()}", call.text)
        for rank in range(group.size()):
            theirs = group.store.get(f"{key} {rank}").decode()
            if theirs != call.text:
                raise call.failure(f"rank {group.ranks[rank]} is in {theirs}")
        group.store.delete_key(f"call {call.number - 2} {group.rank()}")  # all have read it

    # -------------------------------------------------------------------- looking after them

    def look_after(self, call: Call, work: StreamWork) -> None:
        if self.launched is None:
            self.launched = queue.SimpleQueue()
            threading.Thread(target=self.watch, args=(self.launched,), daemon=True).start()
        self.launched.put((call, work))

    def watch(self, launched: queue.SimpleQueue[Any]) -> None:
        """Ends the group when a collective is late or has failed elsewhere: the thread's loop."""
        while (item := launched.get()) is not None:
            call, work = item
            error = None
            while not error and not work.is_completed():
                time.sleep(LOOKS)
                error = self.reason_to_end(call)
            work.finish(error)

    def reason_to_end(self, call: Call) -> DistBackendError | None:
        group = self.group
        if group.broken:
            return DistBackendError(f"{call.text}: the group has failed before: {group.broken}")
        with contextlib.suppress(Exception):  # the store ends with its process
            if group.store.check(["failed"]):
                return group.give_up(call, call.failure("another rank has failed"))
        if call.seconds_left() < 0:
            return group.give_up(call, call.failure(f"not done in {call.seconds:g} s"))
        return None

    def close(self, broken: bool) -> None:
        """Waits for what was begun, and for the others; aborts it where the group is broken."""
        if broken:
            for channel in self.channels.values():
                channel.comm.abort()
        else:
            thread = threading.Thread(target=self.finish, daemon=True)
            thread.start()
            thread.join(self.group.timeout.total_seconds())
        for loop in (self.launched, *(sender.jobs for sender in self.senders.values())):
            if loop is not None:
                loop.put(None)

    def finish(self) -> None:
        """Destroys the communicators, in an order that all ranks have, when all is done."""
        for sender in self.senders.values():
            sender.jobs.put(None)
            sender.thread.join()
        for _, channel in sorted(self.channels.items()):
            channel.stream.synchronize()
            channel.comm.destroy()

    # --------------------------------------------------------------------------- collectives

    def check_op(self, op: Any, dtype: torch.dtype) -> Any:
        """The op; TypeError or ValueError for what NCCL does not combine."""
        if dtype is torch.int16:
            raise TypeError("Input tensor data type is not supported for NCCL process group: Short")
        if isinstance(op, PremulSum):
            if not dtype.is_floating_point:
                raise ValueError("PreMulSum Data type must be half, float, bfloat16 or double")
            return op
        if not isinstance(op, ReduceOp):
            raise TypeError(f"op must be a torch.distributed.ReduceOp, got {op!r}")
        if op is ReduceOp.PREMUL_SUM or op in BITWISE:
            raise ValueError(f"Cannot use ReduceOp.{op.name} with NCCL")
        if op is ReduceOp.AVG and dtype is torch.bool:
            raise TypeError("Cannot use ReduceOp.AVG with Boolean inputs")
        return op

    def numbers(self, row: Flat, call: Call) -> Tensor:
        """A row as NCCL combines it: bools as bytes."""
        row.elements.record_stream(call.channel.stream)
        return row.elements.view(torch.uint8) if row.elements.dtype is torch.bool else row.elements

    def bytes(self, row: Flat, call: Call) -> Tensor:
        row.elements.record_stream(call.channel.stream)
        return row.elements.view(torch.uint8)

    def operation(self, op: Any, dtype: torch.dtype, call: Call) -> Any:
        core = self.core
        if isinstance(op, PremulSum):
            kind = core.NcclDataType[str(dtype).removeprefix("torch.").upper()]
            return call.channel.comm.create_pre_mul_sum(float(op.factor), kind)
        is_or = dtype is torch.bool and op is ReduceOp.SUM
        return core.NcclRedOp["MAX" if is_or else NAMES[op]]

    def broadcast(self, row: Flat, root: int, call: Call) -> None:
        if row.nbytes:
            data, channel = self.bytes(row, call), call.channel
            channel.comm.broadcast(data, data, root, stream=channel.stream)

    def all_reduce(self, row: Flat, op: Any, call: Call) -> None:
        self.reduce(row, None, op, call)

    def reduce(self, row: Flat, root: int | None, op: Any, call: Call) -> None:
        if row.nbytes:
            data, channel = self.numbers(row, call), call.channel
            by = self.operation(op, row.elements.dtype, call)
            channel.comm.reduce(data, data, by, root, stream=channel.stream)

    def all_gather(self, ours: Flat, rows: Sequence[Flat], call: Call) -> None:
        if not ours.nbytes:
            return
        channel, whole = call.channel, join(rows)
        target = whole or flat(ours.elements.new_empty(len(rows) * len(ours)))
        source, to = self.bytes(ours, call), self.bytes(target, call)
        channel.comm.allgather(source, to, stream=channel.stream)
        if whole is None:
            for i, row in enumerate(rows):
                row.copy_(target[i * len(ours) : (i + 1) * len(ours)])

    def rows_to_reduce(self, tensors: Sequence[Tensor], used_up: bool) -> list[Flat]:
        """What `reduce_scatter` takes: one behind the other, as they are if they lie so."""
        rows = [flat(t.detach().to(self.device).contiguous()) for t in tensors]
        return [join(rows) or flat(torch.cat([row.elements for row in rows]))]

    def reduce_scatter(self, ours: Flat, rows: Sequence[Flat], op: Any, call: Call) -> None:
        if ours.nbytes:
            channel, by = call.channel, self.operation(op, ours.elements.dtype, call)
            source, target = self.numbers(rows[0], call), self.numbers(ours, call)
            channel.comm.reduce_scatter(source, target, by, stream=channel.stream)

    def exchange(self, sends: Messages, receives: Messages, call: Call) -> None:
        """Messages that go all at once."""
        comm, stream = call.channel.comm, call.channel.stream
        with self.core.group():
            for peer, row in sends:
                if row.nbytes:
                    comm.send(self.bytes(row, call), peer, stream=stream)
            for peer, row in receives:
                if row.nbytes:
                    comm.recv(self.bytes(row, call), peer, stream=stream)

    def gather(self, ours: Flat, rows: Sequence[Flat], root: int, call: Call) -> None:
        rank = self.group.rank()
        if rank != root:
            self.exchange([(root, ours)], [], call)
            return
        rows[root].copy_(ours)
        self.exchange([], [(r, row) for r, row in enumerate(rows) if r != rank], call)

    def scatter(self, ours: Flat, rows: Sequence[Flat], root: int, call: Call) -> None:
        rank = self.group.rank()
        if rank != root:
            self.exchange([], [(root, ours)], call)
            return
        ours.copy_(rows[root])
        self.exchange([(r, row) for r, row in enumerate(rows) if r != rank], [], call)

    def all_to_all(self, outputs: Sequence[Flat], inputs: Sequence[Flat], call: Call) -> None:
        rank = self.group.rank()
        outputs[rank].copy_(inputs[rank])
        sends = [(r, row) for r, row in enumerate(inputs) if r != rank]
        self.exchange(sends, [(r, row) for r, row in enumerate(outputs) if r != rank], call)

    def barrier(self, call: Call) -> None:
        self.all_reduce(
            flat(torch.ones(1, dtype=torch.int32, device=self.device)), ReduceOp.SUM, call
        )

    # ------------------------------------------------------------------------------ messages

    def begin(
        self,
        text: str,
        row: Flat,
        tensor: Tensor,
        peer: int | None,
        tag: int,
        after: Callable[[], None] | None,
    ) -> StreamWork | None:
        """Begins to receive, if there is something to do after it, or else to send."""
        if peer is None:
            raise RuntimeError("Backend nccl does not support recvAnysource")
        if self.together is not None:
            self.together.append((row, after, tensor, peer))
            return None
        group = self.group
        pair = [peer, group.rank()] if after else [group.rank(), peer]
        name = f"nccl from {pair[0]} to {pair[1]} tag {tag}"
        work = StreamWork(text, group.timeout.total_seconds(), [tensor])
        work.source = peer

        def step(call: Call) -> None:
            self.exchange([] if after else [(1, row)], [(0, row)] if after else [], call)

        launch = self.launcher(name, pair, work, step, after)
        if name not in self.senders:
            self.senders[name] = Sender(group)
        self.senders[name].jobs.put((work, launch))
        return work

    @contextlib.contextmanager
    def batch(self) -> Iterator[list[Work]]:
        """The messages that begin in the block go together, by the communicator of all ranks."""
        works: list[Work] = []
        with self.turn:
            messages: list[Any] = []
            self.together = messages
            try:
                yield works
            finally:
                self.together = None
            receives = [(peer, row) for row, after, _, peer in messages if after]
            sends = [(peer, row) for row, after, _, peer in messages if not after]
            tensors = [tensor for _, _, tensor, _ in messages]

            def finish() -> None:
                for _, after, *_ in messages:
                    if after:
                        after()

            def step(call: Call) -> None:
                self.exchange(sends, receives, call)

            work = self.run("batch_isend_irecv", step, tensors, True, finish, numbered=False)
            works += [work] if work else []


__all__ = ["NCCLBackend", "is_nccl_available", "nccl"]
