"""Parameters that are whole only while they are needed: what `fully_shard` does to a module's.

A parameter of shape (d, ...) is cut along dim 0. Between uses each rank has its part, an ordinary
Parameter, which the optimizer steps. For a forward or backward the parts are gathered into the
whole one, whose memory is given back afterwards:

    part     | ======= |   always there: 1/n of the whole, with its gradient and Adam's two numbers
    whole    |         | gather -> all of it -> storage.resize_(0)

All parameters of a module travel in one collective, as rows: row r has rank r's parts, one behind
the other. Two parameters a and b of two ranks (a module has as many such tables as dtypes):

    row 0    | a: first half | b: first half |
    row 1    | a: second     | b: second     |   shorter parts have zeros behind them

Stage 3 of Rajbhandari and others, 2020: https://arxiv.org/abs/1910.02054
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.collectives import scatter_reduced
from tiny_torch.distributed.errors import DistBackendError
from tiny_torch.distributed.pieces import Piece, cut, mark, piece_of, shard_sizes
from tiny_torch.distributed.world import new_group, world
from tiny_torch.nn.modules import Module
from tiny_torch.nn.parameter import Parameter

Tensor = torch.Tensor


@dataclass
class Dealing:
    """Between whom a module's parameters are cut, and what becomes of gradients."""

    group: Any  # cut between these ranks
    replicas: Any  # who has the same part; None if nobody
    param_dtype: torch.dtype | None
    reduce_dtype: torch.dtype | None
    divisor: float

    def group_with(self, inner: Any) -> Any:
        """The group of all who hold parts of what `inner` has parts of: tensor parallelism's ranks
        at each rank of this one's group."""
        found: list[Any] = [None] * self.group.size()
        torch.distributed.all_gather_object(found, inner.ranks, self.group)
        ranks = sorted(rank for part in found for rank in part)
        known = (group for group in world.groups if group.ranks == ranks)
        return next(known, None) or new_group(ranks, use_local_synchronization=True)


class Shard:
    """A parameter: its `part` at this rank, and the `whole`, which has memory when it is needed."""

    def __init__(
        self, parameter: Parameter, owners: list[tuple[Module, str]], dealing: Dealing
    ) -> None:
        self.owners, ranks = owners, dealing.group.size()
        mine, start = cut(parameter.detach(), 0, dealing.group.rank(), ranks)
        inner = parameter.numel() // max(len(parameter), 1)
        self.sizes = [rows * inner for rows in shard_sizes(len(parameter), ranks)]  # of the parts
        self.kept = parameter.dtype
        self.dtype = dealing.param_dtype or parameter.dtype  # of the whole
        # one that is frozen may be trained later: gather() follows the part
        self.whole = Parameter(
            torch.empty(parameter.shape, dtype=self.dtype, device=parameter.device),
            parameter.is_floating_point(),
        )
        hooks = parameter._hooks
        if hooks:  # they see the whole's gradient
            self.whole._hooks = hooks
        before = piece_of(parameter)  # a part already, of tensor parallelism
        shape = tuple(parameter.shape) if before is None else before.shape
        offset = (0,) * parameter.ndim if before is None else before.offset
        group = dealing.group if before is None else dealing.group_with(before.group)
        piece = Piece(shape, (offset[0] + start, *offset[1:]), group)
        self.part = Parameter(mine.clone(), parameter.requires_grad)
        mark(self.part, piece)
        self.release()

    def take_memory(self) -> None:
        """Gives the whole memory again, where the part is now."""
        if self.whole.device != self.part.device:
            self.whole.data = torch.empty_like(self.whole, device=self.part.device)
        self.whole.untyped_storage().resize_(self.whole.numel() * self.whole.element_size())

    def release(self) -> None:
        """Takes the whole's memory back."""
        if not self.whole.is_meta:  # which has none
            self.whole.untyped_storage().resize_(0)

    def parts_in(self, columns: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Each rank's part: its elements in the whole, and its place in a table's columns."""
        start = 0
        for row, size in zip(columns, self.sizes, strict=True):
            yield slice(start, start + size), row[:size]
            start += size

    def put(self, parameter: Parameter) -> None:
        """Lets the module have the part or the whole under the parameter's name."""
        for module, name in self.owners:
            module._parameters[name] = parameter

    def add(self, gradient: Tensor) -> None:
        """Adds a row to the part's gradient."""
        mine = gradient.view(self.part.shape).to(self.part.dtype)
        if self.part.grad is None:
            self.part.grad = mark(mine, piece_of(self.part))
        else:
            self.part.grad.add_(mine)


def tables_of(key: Callable[[Shard], Any], shards: Sequence[Shard]) -> list[list[Shard]]:
    """The shards of equal key together: who shares a table."""
    tables: dict[Any, list[Shard]] = {}
    for shard in shards:
        tables.setdefault(key(shard), []).append(shard)
    return list(tables.values())


def width(shards: Sequence[Shard]) -> int:
    """The elements of a table's row."""
    return sum(max(shard.sizes) for shard in shards)


def columns(table: Tensor, shards: Sequence[Shard]) -> Iterator[tuple[Shard, Tensor]]:
    """The shards, each with its columns of a table."""
    return zip(shards, table.split([max(s.sizes) for s in shards], 1), strict=True)


class Shards:
    """The parameters of one call of `fully_shard`: gathered together, and released together."""

    def __init__(self, module: Module, shards: list[Shard], dealing: Dealing) -> None:
        self.module, self.shards, self.dealing = module, shards, dealing
        self.coming: list[tuple[list[Shard], Tensor, Any]] | None = None  # tables on their way
        self.is_whole = False
        self.reshard_after_forward: bool | None = None  # None: true but of the root
        self.reshard_after_backward = self.sync = True
        self.forward_prefetch: list[Shards] | None = None  # None: who ran next the last time
        self.backward_prefetch: list[Shards] | None = None  # None: who ran before
        self.in_backward = False
        self.due: set[int] = set()  # wholes whose gradients this backward still owes

    # ----------------------------------------------------------------------------- parameters

    def gather(self) -> None:
        """Begins to make the parameters whole, if nobody has: an all-gather of each table."""
        if self.is_whole or self.coming is not None:
            return
        for shard in self.shards:
            if shard.part.is_meta:
                raise RuntimeError(
                    "FSDP parameters should be materialized from meta device before training, but "
                    f"{shard.owners[0][1]} was still on meta device. For example, call "
                    "module.to_empty(device) to materialize to device and call "
                    "module.reset_parameters() on each module to initialize values."
                )
            if shard.part.dtype != shard.kept:
                raise NotImplementedError(
                    f"fully_shard: {shard.owners[0][1]} became {shard.part.dtype} after it was "
                    "sharded"
                )
            shard.whole.requires_grad_(shard.part.requires_grad)
        group, me, coming = self.dealing.group, self.dealing.group.rank(), []
        with torch.no_grad():
            for shards in tables_of(lambda s: (s.dtype, s.part.device), self.shards):
                first = shards[0]
                table = torch.zeros(
                    group.size(), width(shards), dtype=first.dtype, device=first.part.device
                )
                for shard, its in columns(table, shards):
                    its[me, : shard.part.numel()] = shard.part.view(-1)
                work = torch.distributed.all_gather_into_tensor(
                    table, table[me : me + 1], group, async_op=True
                )
                coming.append((shards, table, work))
        self.coming = coming

    def make_whole(self) -> None:
        """Gives the module the whole parameters."""
        self.gather()
        while self.coming:  # a table's memory is free before the next one's parameters take theirs
            shards, table, work = self.coming[-1]
            work.wait()  # raises again for who asks again
            self.coming.pop()
            for shard, its in columns(table, shards):
                shard.take_memory()
                # `.data` has a version of its own: to who saved it nothing has changed
                whole = shard.whole.data.view(-1)
                for elements, part in shard.parts_in(its):
                    whole[elements] = part
            del table, its, part
        self.coming = None
        if not self.is_whole:
            self.is_whole = True
            for shard in self.shards:
                shard.put(shard.whole)

    def release(self) -> None:
        """Gives the module the parts, and the wholes' memory back."""
        if self.coming is not None:
            with contextlib.suppress(DistBackendError):  # which the parts do not need
                self.make_whole()
            self.coming = None
        self.is_whole = False
        for shard in self.shards:
            shard.put(shard.part)
            shard.release()

    # ------------------------------------------------------------------------------ gradients

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

    def reduce(self) -> list[Callable[[], None]]:
        """Takes the wholes' gradients, and begins to give each rank the sums of its parts.

        Each of the answers waits for a table, and adds this rank's row to the parts' gradients.
        """
        with torch.no_grad():
            given = [shard for shard in self.shards if shard.whole.grad is not None]
            return [self.reduce_table(shards) for shards in tables_of(self.kind_of_gradient, given)]

    def kind_of_gradient(self, shard: Shard) -> Any:
        assert shard.whole.grad is not None
        return self.dealing.reduce_dtype or shard.whole.grad.dtype, shard.part.device

    def reduce_table(self, shards: list[Shard]) -> Callable[[], None]:
        (dtype, device), dealing = self.kind_of_gradient(shards[0]), self.dealing
        group = dealing.group
        table = torch.zeros(group.size(), width(shards), dtype=dtype, device=device)
        for shard, its in columns(table, shards):
            assert shard.whole.grad is not None
            whole, shard.whole.grad = shard.whole.grad.reshape(-1), None
            for elements, part in shard.parts_in(its):
                part.copy_(whole[elements])
        found = torch.empty_like(table[:1])
        sum_up = torch.distributed.ReduceOp.SUM
        work: Any = scatter_reduced("fully_shard", group, found, list(table), sum_up, True, True)

        def finish() -> None:
            work.wait()
            if dealing.replicas is not None:
                torch.distributed.all_reduce(found, group=dealing.replicas)
            found.div_(dealing.divisor)
            for shard, its in columns(found, shards):
                shard.add(its[0, : shard.part.numel()])

        return finish
