"""`torch.distributed.tensor`'s words for how a tensor lies on several processes.

Packages make tables of them when they are imported. Nothing is laid out by them: what would do it,
`distribute_tensor` and its kin, raises when it is called.
"""

from __future__ import annotations

from dataclasses import dataclass


class Placement:
    """How a tensor lies on one dimension of a mesh of processes."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process has a part, along that dimension if one is named."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each process has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether each process has a summand, or what that operation joins."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    dim: int


@dataclass(frozen=True)
class Replicate(Placement):
    pass


@dataclass(frozen=True)
class Partial(Placement):
    reduce_op: str = "sum"
