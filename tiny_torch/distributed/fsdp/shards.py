"""Parameters that are whole only while they are needed: what `fully_shard` does to a module's.

A parameter of shape (d, ...) is cut along dim 0. Between uses each rank has its part, an ordinary
Parameter, which the optimizer steps. For a forward or backward the parts are gathered into the
whole one, whose memory is given back afterwards:

    part     | ======= |   always there: 1/n of the whole, with its gradient and Adam's two numbers
    whole    |         | gather -> all of it -> storage.resize_(0)

Stage 3 of Rajbhandari and others, 2020: https://arxiv.org/abs/1910.02054
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.pieces import Piece, cut, mark, piece_of
from tiny_torch.nn.modules import Module
from tiny_torch.nn.parameter import Parameter

Tensor = torch.Tensor


@dataclass
class Dealing:
    """Between whom parameters are cut, and what becomes of gradients."""

    group: Any  # cut between these ranks
    replicas: Any  # who has the same part; None if nobody
    param_dtype: torch.dtype | None
    reduce_dtype: torch.dtype | None
    divisor: float


class Shard:
    """A parameter: its `part` at this rank, and the `whole`, which has memory when it is needed."""

    def __init__(
        self, parameter: Parameter, owners: list[tuple[Module, str]], dealing: Dealing
    ) -> None:
        self.owners, self.dealing = owners, dealing
        ranks, me = dealing.group.size(), dealing.group.rank()
        mine, start = cut(parameter.detach(), 0, me, ranks)
        rows = -(-len(parameter) // ranks)
        self.each = rows * (parameter.numel() // max(len(parameter), 1))  # elements of a part
        self.kept = parameter.dtype
        self.dtype = dealing.param_dtype or parameter.dtype  # of the whole
        space = torch.empty(self.each * ranks, dtype=self.dtype, device=parameter.device)
        view = space[: parameter.numel()].view(parameter.shape)
        self.space = space
        # one that is frozen may be trained later: gather() follows the part
        self.whole = Parameter(view, parameter.is_floating_point())
        hooks = getattr(parameter, "_hooks", None)
        if hooks:  # they see the whole's gradient
            self.whole._hooks = hooks
        before = piece_of(parameter)  # a part already, of tensor parallelism
        shape = tuple(parameter.shape) if before is None else before.shape
        offset = (0,) * parameter.ndim if before is None else before.offset
        group = dealing.group if before is None else torch.distributed.group.WORLD
        piece = Piece(shape, (offset[0] + start, *offset[1:]), group)
        self.part = Parameter(mine.clone(), parameter.requires_grad)
        mark(self.part, piece)
        self.release()

    def gather(self) -> Any:
        """Begins to fill the whole; a Work."""
        if self.part.dtype != self.kept:
            raise NotImplementedError(
                f"fully_shard: {self.owners[0][1]} became {self.part.dtype} after it was sharded"
            )
        self.whole.requires_grad_(self.part.requires_grad)
        self.space.untyped_storage().resize_(self.space.numel() * self.space.element_size())
        row = pad_row(self.part.detach().to(self.dtype), self.each)
        # `.data` has a version of its own: that memory comes back is no change to who saved it
        return torch.distributed.all_gather_into_tensor(
            self.space.data, row, self.dealing.group, async_op=True
        )

    def release(self) -> None:
        """Gives the whole's memory back."""
        self.space.untyped_storage().resize_(0)

    def put(self, parameter: Parameter) -> None:
        """Lets the module have the part or the whole under the parameter's name."""
        for module, name in self.owners:
            module._parameters[name] = parameter

    def reduce(self) -> Callable[[], None]:
        """Takes the whole's gradient, and begins to give each rank the sum of its part.

        What is answered waits, and adds this rank's to the part's gradient.
        """
        grad, self.whole.grad = self.whole.grad, None
        assert grad is not None
        dealing = self.dealing
        grad = pad_row(
            grad.to(dealing.reduce_dtype or grad.dtype), self.each * dealing.group.size()
        )
        found = torch.empty(self.each, dtype=grad.dtype, device=grad.device)
        work: Any = torch.distributed.reduce_scatter_tensor(
            found, grad, group=dealing.group, async_op=True
        )

        def finish() -> None:
            work.wait()
            if dealing.replicas is not None:
                torch.distributed.all_reduce(found, group=dealing.replicas)
            found.div_(dealing.divisor)
            mine = found[: self.part.numel()].view(self.part.shape).to(self.part.dtype)
            if self.part.grad is None:
                self.part.grad = mine
            else:
                self.part.grad.add_(mine)

        return finish


def pad_row(tensor: Tensor, length: int) -> Tensor:
    """A tensor's elements as a row of that length, with zeros behind them."""
    row = tensor.reshape(-1)
    if len(row) == length:
        return row
    longer = torch.zeros(length, dtype=tensor.dtype, device=tensor.device)
    longer[: len(row)] = row
    return longer


class Shards:
    """The parameters of one call of `fully_shard`: gathered together, and released together."""

    def __init__(self, module: Module, shards: list[Shard]) -> None:
        self.module, self.shards = module, shards
        self.works: list[Any] | None = None  # of a gathering that goes on
        self.is_whole = False
        self.reshard_after_forward: bool | None = None  # None: true but of the root
        self.reshard_after_backward = self.sync = True
        self.forward_prefetch: list[Shards] = []
        self.backward_prefetch: list[Shards] | None = None  # None: who ran before
        self.in_backward = False
        self.due: set[int] = set()  # wholes whose gradients this backward still owes

    def gather(self) -> None:
        """Begins to make the parameters whole, if nobody has."""
        if not self.is_whole and self.works is None:
            with torch.no_grad():
                self.works = [shard.gather() for shard in self.shards]

    def make_whole(self) -> None:
        """Gives the module the whole parameters."""
        self.gather()
        if self.works is not None:
            for work in self.works:
                work.wait()
            self.works = None
        if not self.is_whole:
            self.is_whole = True
            for shard in self.shards:
                shard.put(shard.whole)

    def release(self) -> None:
        """Gives the module the parts, and the wholes' memory back."""
        if self.works is not None:
            self.make_whole()
        self.is_whole = False
        for shard in self.shards:
            shard.put(shard.part)
            shard.release()

    def begin_backward(self) -> None:
        """Makes the parameters whole for their gradients, which are due from now on."""
        self.make_whole()
        if not self.in_backward:
            self.in_backward = True
            self.due = {id(s.whole) for s in self.shards if s.whole.requires_grad}

    def may_release(self) -> bool:
        """Whether backward has no more use for the parameters, of which frozen ones do not tell."""
        frozen = any(not shard.part.requires_grad for shard in self.shards)
        return not self.due and not frozen and self.reshard_after_backward
