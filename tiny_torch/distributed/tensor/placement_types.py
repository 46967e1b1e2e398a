"""How ranks hold a tensor: each all of it, each a part along a dim, or each a summand."""

from __future__ import annotations

from dataclasses import dataclass

from tiny_torch.compat.refused import refusing_class


class Placement:
    """`Replicate()`, `Shard(dim)` or `Partial()`."""

    def is_replicate(self) -> bool:
        """Whether each rank has all of it."""
        return isinstance(self, Replicate)

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each rank has a part of it, along a dim if one is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the ranks' tensors are to be joined, by that operation if one is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Replicate(Placement):
    """Each rank has all of it."""

    def __repr__(self) -> str:
        return "Replicate()"


@dataclass(frozen=True)
class Shard(Placement):
    """Each rank has a part of it, along `dim`."""

    dim: int

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"


@dataclass(frozen=True)
class Partial(Placement):
    """The ranks' tensors are to be added; nothing here does another operation."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"


# Packages import it, to tell by it how two cuts of one dim follow each other.
_StridedShard = refusing_class(
    "torch.distributed.tensor.placement_types._StridedShard", "a dim is cut once"
)
