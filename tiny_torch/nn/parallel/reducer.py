"""`Reducer`: sums the gradients of a module over all ranks, in buckets, while backward goes on.

The last layers' gradients are ready first. So the parameters are put into buckets in reverse order;
as soon as all gradients of a bucket (25 MiB, of the first 1 MiB: distributed.py) are there it is
sent off, and backward computes the next:

    backward    | layer 3 | layer 2 | layer 1 |
    all_reduce            | bucket 0 (layer 3) | bucket 1 (layers 2 and 1) |

Buckets are sent in their order at every rank, whichever is ready first: collectives must be called
alike. The last gradient waits for all of them. Where ranks of one machine leave no core free, a
bucket that is sent while backward goes on only delays it: then all are sent when the last is ready.
Li and others, 2020: https://arxiv.org/abs/2006.15704

In a *static graph* every step uses the same parameters, and each as often. The first backward only
counts: how often each gradient grows, as it does where a checkpoint runs a layer's backward apart;
its buckets are sent when it ends. From then on a gradient is complete when it has grown as often.

Where parameters may be unused, the end of backward tells which of them are: for these a rank sends
the gradients that it has from backwards before, or zeros. One that nobody has used since gradients
were sent the last time, in `no_sync` neither, keeps what it has.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch.autograd.hooks import queue_callback

Tensor = torch.Tensor
MIB = 1024 * 1024
UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This "
    "error indicates that your module has parameters that were not used in producing loss. You can "
    "enable unused parameter detection by passing the keyword argument "
    "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by making "
    "sure all `forward` function outputs participate in calculating loss. Parameters which did not "
    "receive grad for rank {rank}: {names}"
)

TWICE = (
    "Expected to mark a variable ready only once. The gradient of {name} has grown again after it "
    "was sent: its layer ran under several reentrant checkpoints, or outside of the forward of "
    "DistributedDataParallel. `static_graph=True` counts how often a gradient grows, where that is "
    "the same in all iterations."
)
CHANGED = (
    "Your training graph has changed in this iteration, e.g., one parameter is used in first "
    "iteration, but then got unused in the second iteration. this is not compatible with "
    "static_graph set to True. Gradients that are still due: {names}"
)


class Bucket:
    """Gradients that travel together.

    They are sent from where they are, but for hooks, for gradients that are views, and for devices
    other than the CPU: these ask for a flat buffer, and a view of it for each parameter.
    """

    def __init__(self, index: int, parameters: list[Tensor]) -> None:
        self.index, self.parameters, self.is_last = index, parameters, False
        self.gradients: list[Any] = []  # what is sent, by parameter
        self.missing = len(parameters)
        self.future: Any = None  # what was sent off

    def begin(self) -> None:
        self.missing, self.future = len(self.parameters), None
        self.gradients = [None] * len(self.parameters)

    @functools.cached_property
    def buffer(self) -> Tensor:
        first, size = self.parameters[0], sum(p.numel() for p in self.parameters)
        return torch.zeros(size, dtype=first.dtype, device=first.device)

    @functools.cached_property
    def views(self) -> list[Tensor]:
        pieces = self.buffer.split([p.numel() for p in self.parameters])
        return [v.view(p.shape) for v, p in zip(pieces, self.parameters, strict=True)]


class GradBucket:
    """A bucket as a communication hook sees it.

    https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html#torch.distributed.GradBucket
    """

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def index(self) -> int:
        """Its place in the order in which buckets are sent: 0 is first."""
        return self._bucket.index

    def buffer(self) -> Tensor:
        """All of its gradients in one row."""
        return self._bucket.buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Replaces the values."""
        self._bucket.buffer.copy_(buffer)

    def gradients(self) -> list[Tensor]:
        """Its gradients, one of each parameter."""
        return self._bucket.views

    def parameters(self) -> list[Tensor]:
        """Its parameters."""
        return self._bucket.parameters

    def is_last(self) -> bool:
        """True if no further bucket is sent in this backward."""
        return self._bucket.is_last


def buckets_of(parameters: Sequence[Tensor], first: float, cap: float) -> list[Bucket]:
    """The parameters, from the last on, in rows of at most `cap` bytes, the first at most `first`.

    A row has one dtype and one device; a larger parameter has a row of its own.
    """
    rows: dict[Any, list[Tensor]] = {}
    made: list[list[Tensor]] = []
    sizes: dict[Any, float] = {}
    for parameter in reversed(parameters):
        kind = parameter.dtype, parameter.device
        size = parameter.numel() * parameter.element_size()
        limit = first if not made else cap
        if rows.get(kind) and sizes[kind] + size > limit:
            made.append(rows.pop(kind))
        rows.setdefault(kind, []).append(parameter)
        sizes[kind] = sizes[kind] + size if len(rows[kind]) > 1 else size
    return [Bucket(i, row) for i, row in enumerate([*made, *rows.values()])]


class Reducer:
    """The buckets of a module's parameters, and what happens when a gradient is there."""

    def __init__(
        self,
        parameters: Sequence[Tensor],
        names: Sequence[str],
        group: Any,
        first: float,
        cap: float,
        find_unused: bool,
        as_view: bool,
        static: bool,
    ) -> None:
        self.parameters, self.names, self.group = parameters, names, group
        self.find_unused, self.as_view, self.static = find_unused, as_view, static
        self.divisor, self.device = group.size(), parameters[0].device
        self.buckets = buckets_of(parameters, first, cap)
        self.buckets[-1].is_last = True
        self.place = {id(p): (b, i) for b in self.buckets for i, p in enumerate(b.parameters)}
        self.hook: Callable[[Any, GradBucket], Any] | None = None
        self.hook_state: Any = None
        self.expecting = False  # a backward, of a forward that is to be reduced
        self.beside = False  # in this backward: whether buckets are sent while it goes on
        self.ready: set[int] = set()  # whose gradients this backward has brought
        self.used: set[int] = set()  # whose gradients have grown since the last were sent
        self.handles: list[Any] = []  # of the hooks that see backward begin
        self.next = 0  # the bucket that is sent next
        self.uses: Counter[int] | None = None  # of a static graph: how often gradients grow
        self.due: Counter[int] = Counter()  # how often they have still to
        self.nobodys: set[int] = set()  # whom no rank has used
        self.is_known = False  # whom that is
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(self.on_gradient)

    # ------------------------------------------------------------------------ before backward

    def prepare_for_backward(self, outputs: Iterable[Tensor]) -> None:
        """Expects the gradients of a forward that gave `outputs`; RuntimeError if some are due."""
        self.check_finished()
        self.begin()
        if self.static:
            self.due = Counter(self.uses)
        if self.static or self.find_unused:  # not at a gradient: it may be in a backward within
            for output in outputs:
                handle = output.register_hook(lambda _: queue_callback(self.end_backward))
                self.handles.append(handle)

    def begin(self) -> None:
        self.expecting, self.next = True, 0
        self.beside = self.group.backend_for(self.device.type).runs_beside
        self.ready.clear()
        for bucket in self.buckets:
            bucket.begin()

    @property
    def in_buffers(self) -> bool:
        """Whether gradients go through their buckets' buffers."""
        return self.as_view or self.hook is not None or self.device.type != "cpu"

    def bring_zeros(self) -> None:
        """Takes part in a backward of others, at a rank that has no batch left."""
        self.begin()
        for parameter in self.parameters:
            self.take(parameter, torch.zeros_like(parameter))

    def check_finished(self) -> None:
        """RuntimeError where a backward has brought some gradients, and others are still due."""
        if not (self.expecting and self.ready):
            return
        names = ", ".join(
            name for name, p in zip(self.names, self.parameters, strict=True)
            if id(p) not in self.ready
        )  # fmt: skip
        if self.static and self.uses is not None:
            raise RuntimeError(CHANGED.format(names=names))
        rank = torch.distributed.get_rank(self.group)
        raise RuntimeError(UNFINISHED.format(rank=rank, names=names))

    # ------------------------------------------------------------------------ during backward

    def on_gradient(self, parameter: Tensor) -> None:
        """Called by backward when a parameter's gradient has grown."""
        self.used.add(id(parameter))
        if not self.expecting or self.has_to_grow(parameter):
            return
        if self.due[id(parameter)] < 0 if self.static else id(parameter) in self.ready:
            name = self.names[[id(p) for p in self.parameters].index(id(parameter))]
            raise RuntimeError((CHANGED if self.static else TWICE).format(name=name, names=name))
        self.take_own(parameter)

    def has_to_grow(self, parameter: Tensor) -> bool:
        """Whether a static graph makes the gradient grow again, or is being counted."""
        if not self.static:
            return False
        if self.uses is None:
            self.due[id(parameter)] += 1
            return True
        self.due[id(parameter)] -= 1
        return self.due[id(parameter)] > 0

    def end_backward(self) -> None:
        """Sends what a backward has left: all that it has counted, and what it has not used."""
        if not self.expecting:
            return
        if self.static and self.uses is None and self.due:
            self.uses = self.due
            for parameter in reversed(self.parameters):
                if id(parameter) in self.uses:
                    self.take_own(parameter)
        if self.ready:  # else it was a backward to other leaves
            self.leave_out(set(self.uses or self.ready))

    def leave_out(self, used: set[int]) -> None:
        """Sends the gradients that this rank has of other parameters: from before, or zeros."""
        for parameter in self.parameters:
            if id(parameter) not in used:
                grad = parameter.grad
                if grad is None:
                    grad = torch.zeros_like(parameter)
                elif not self.in_buffers:  # if nobody has used it, it stays as it is
                    grad = grad.clone()
                self.take(parameter, grad)

    def take_own(self, parameter: Tensor) -> None:
        """Puts the parameter's gradient, which is complete, into its bucket."""
        assert parameter.grad is not None
        self.take(parameter, parameter.grad)

    def take(self, parameter: Tensor, grad: Tensor) -> None:
        bucket, i = self.place[id(parameter)]
        bucket.gradients[i] = grad
        if self.in_buffers:
            bucket.gradients[i] = view = bucket.views[i]
            with torch.no_grad():
                if self.hook is None:
                    torch.mul(grad, 1.0 / self.divisor, out=view)
                elif grad is not view:
                    view.copy_(grad)
            if self.as_view and grad is parameter.grad:
                parameter.grad = view
        self.is_ready(parameter, bucket)

    def is_ready(self, parameter: Tensor, bucket: Bucket) -> None:
        self.ready.add(id(parameter))
        bucket.missing -= 1
        while self.next < len(self.buckets) and not self.buckets[self.next].missing:
            self.send(self.buckets[self.next])
            self.next += 1
        if self.next == len(self.buckets):
            self.finish()

    def send(self, bucket: Bucket) -> None:
        if self.hook is not None:
            bucket.future = self.hook(self.hook_state, GradBucket(bucket))
        else:
            due = [bucket] if self.beside else self.buckets if bucket.is_last else []
            self.reduce(due, later=not bucket.is_last)

    def reduce(self, buckets: Sequence[Bucket], later: bool) -> None:
        """Begins to sum the buckets over all ranks, or does so in this thread."""
        collectives = torch.distributed.collectives
        if self.in_buffers:
            for bucket in buckets:
                bucket.future = collectives.all_reduce(
                    bucket.buffer, group=self.group, async_op=later
                )
            return
        by_dtype: dict[Any, list[Any]] = {}
        for bucket in buckets:
            by_dtype.setdefault(bucket.parameters[0].dtype, []).extend(bucket.gradients)
        for gradients in by_dtype.values():
            buckets[-1].future = collectives.average(
                gradients, 1.0 / self.divisor, self.group, later
            )

    def finish(self) -> None:
        """Waits for all buckets, and gives the parameters the averages."""
        self.find_nobodys()
        with torch.no_grad():
            for bucket in self.buckets:
                answer: Any = bucket.future.wait() if bucket.future is not None else None
                if self.hook is not None:
                    answer = answer[0] if isinstance(answer, list) else answer
                    if answer is not bucket.buffer:
                        bucket.buffer.copy_(answer.view(-1))
                for parameter, grad in zip(bucket.parameters, bucket.gradients, strict=True):
                    if id(parameter) not in self.nobodys:
                        self.hand_over(parameter, grad)
                bucket.gradients = []
        while self.handles:
            self.handles.pop().remove()
        self.used.clear()
        self.expecting = False

    def find_nobodys(self) -> None:
        """Asks the other ranks which parameters nobody has used: of a static graph, once."""
        known = self.static and self.is_known
        if known or not (self.static or self.find_unused):
            return
        used = torch.tensor([id(p) in self.used for p in self.parameters]).int()
        used = used.to(self.group.default_device)
        torch.distributed.all_reduce(used, group=self.group)
        counts = zip(self.parameters, used.tolist(), strict=True)
        self.nobodys, self.is_known = {id(p) for p, count in counts if count == 0}, True

    def hand_over(self, parameter: Tensor, grad: Tensor) -> None:
        if parameter.grad is grad:
            return
        if self.as_view:
            parameter.grad = grad
        elif parameter.grad is None:
            parameter.grad = grad.clone()
        else:
            parameter.grad.copy_(grad)
