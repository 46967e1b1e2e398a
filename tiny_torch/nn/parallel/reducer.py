"""`Reducer`: sums the gradients of a module over all ranks, in buckets, while backward goes on.

The last layers' gradients are ready first. So the parameters are put into buckets in reverse order;
as soon as all gradients of a bucket are there it is sent off, and backward computes the next:

    backward    | layer 3 | layer 2 | layer 1 |
    all_reduce            | bucket 0 (layer 3) | bucket 1 (layers 2 and 1) |

Buckets are sent in their order at every rank, whichever is ready first: collectives must be called
alike. The last gradient waits for all of them. Li and others, 2020: https://arxiv.org/abs/2006.15704
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tiny_torch as torch

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


class Bucket:
    """Gradients that travel together: one flat buffer, and a view of it for each parameter."""

    def __init__(self, index: int, parameters: list[Tensor]) -> None:
        first = parameters[0]
        self.index, self.parameters, self.is_last = index, parameters, False
        sizes = [parameter.numel() for parameter in parameters]
        self.buffer = torch.zeros(sum(sizes), dtype=first.dtype, device=first.device)
        pieces = self.buffer.split(sizes)
        self.views = [v.view(p.shape) for v, p in zip(pieces, parameters, strict=True)]
        self.missing = len(parameters)
        self.future: Any = None  # what was sent off


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
        self.find_unused, self.as_view, self.static = find_unused or static, as_view, static
        self.buckets = buckets_of(parameters, first, cap)
        self.buckets[-1].is_last = True
        self.place = {id(p): (b, i) for b in self.buckets for i, p in enumerate(b.parameters)}
        self.number = {id(p): i for i, p in enumerate(parameters)}
        self.hook: Callable[[Any, GradBucket], Any] | None = None
        self.hook_state: Any = None
        self.expecting = False  # gradients of a forward that is to be reduced
        self.ready: set[int] = set()
        self.unused: set[int] = set()
        self.next = 0  # the bucket that is sent next
        self.used_work: Any = None
        self.known_unused: set[int] | None = None  # of a static graph
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(self.on_gradient)

    # ------------------------------------------------------------------------ before backward

    def prepare_for_backward(self, outputs: Iterable[Tensor]) -> None:
        """Expects the gradients of a forward that gave `outputs`; RuntimeError if some are due."""
        self.check_finished()
        self.expecting, self.next = True, 0
        self.ready.clear()
        for bucket in self.buckets:
            bucket.missing, bucket.future = len(bucket.parameters), None
        if not self.find_unused:
            self.unused = set()
            return
        if self.known_unused is None or not self.static:
            reached = leaves_of(outputs)
            self.known_unused = {id(p) for p in self.parameters if id(p) not in reached}
        self.unused = self.known_unused
        used = [0 if id(p) in self.unused else 1 for p in self.parameters]
        self.used = torch.tensor(used, dtype=torch.int32)
        for parameter in self.parameters:
            if id(parameter) in self.unused:
                bucket, i = self.place[id(parameter)]
                bucket.views[i].zero_()
                self.is_ready(parameter, bucket)

    def check_finished(self) -> None:
        """RuntimeError where gradients of the last forward are still due."""
        if self.expecting:
            named = zip(self.names, self.parameters, strict=True)
            due = ", ".join(name for name, p in named if id(p) not in self.ready)
            rank = torch.distributed.get_rank(self.group)
            raise RuntimeError(UNFINISHED.format(rank=rank, names=due))

    # ------------------------------------------------------------------------ during backward

    def on_gradient(self, parameter: Tensor) -> None:
        """Called by backward when a parameter's gradient is complete."""
        if not self.expecting or id(parameter) in self.ready:
            return
        bucket, i = self.place[id(parameter)]
        view, grad = bucket.views[i], parameter.grad
        assert grad is not None
        with torch.no_grad():
            if self.hook is None:
                torch.mul(grad, 1.0 / self.group.size(), out=view)
            elif grad is not view:
                view.copy_(grad)
        if self.as_view and grad is not view:
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
            return
        bucket.future = torch.distributed.all_reduce(bucket.buffer, group=self.group, async_op=True)

    def finish(self) -> None:
        """Waits for all buckets, and gives the parameters the averages."""
        nobody = set()
        if self.find_unused:
            torch.distributed.all_reduce(self.used, group=self.group)
            used = zip(self.parameters, self.used.tolist(), strict=True)
            nobody = {id(parameter) for parameter, count in used if count == 0}
        with torch.no_grad():
            for bucket in self.buckets:
                answer = bucket.future.wait()
                if self.hook is not None:
                    answer = answer[0] if isinstance(answer, list) else answer
                    if answer is not bucket.buffer:
                        bucket.buffer.copy_(answer.view(-1))
                for parameter, view in zip(bucket.parameters, bucket.views, strict=True):
                    if id(parameter) not in nobody:
                        self.hand_over(parameter, view)
        self.expecting = False

    def hand_over(self, parameter: Tensor, view: Tensor) -> None:
        if parameter.grad is view:
            return
        if self.as_view:
            parameter.grad = view
        elif parameter.grad is None:
            parameter.grad = view.clone()
        else:
            parameter.grad.copy_(view)


def leaves_of(outputs: Iterable[Tensor]) -> set[int]:
    """The leaves that a backward from these tensors reaches, by id."""
    found, seen = {id(t) for t in outputs if t.grad_fn is None}, set()
    todo = [t.grad_fn for t in outputs if t.grad_fn is not None]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            found.add(id(variable))
        todo += [following for following, _ in node.next_functions if following is not None]
    return found
