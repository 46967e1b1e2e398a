"""`DeviceMesh`: the ranks as an array, with a group for each of its dims.

Eight ranks as a mesh of 4 × 2, the dims being "dp" and "tp": rank 5 is in the group [1, 3, 5, 7] of
"dp", which shares data, and in the group [4, 5] of "tp", which shares layers.

            tp 0   tp 1
    dp 0      0      1
    dp 1      2      3
    dp 2      4      5
    dp 3      6      7
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.process_group import ProcessGroup
from tiny_torch.distributed.world import (
    get_rank,
    get_world_size,
    group_of,
    init_process_group,
    is_initialized,
    new_group,
)

Tensor = torch.Tensor


class DeviceMesh:
    """An array of ranks, `mesh`; all processes make it, those that are not in it, too.

    `mesh["dp"]` is the row of this rank along a dim, with a group. Raises RuntimeError for more
    ranks than there are, NotImplementedError for `backend_override`.
    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.device_mesh.DeviceMesh

    >>> import tiny_torch.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    >>> mesh, mesh["tp"].size(), mesh.get_coordinate()
    (DeviceMesh((dp=1, tp=1), 'cpu', stride=(1, 1)), 1, (0, 0))
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        backend_override: Any = None,
    ) -> None:
        if backend_override is not None:
            raise NotImplementedError("DeviceMesh: backend_override is not in tiny_torch")
        if mesh is None:
            raise TypeError("The mesh argument is required except for PRIVATE USAGE ONLY!")
        if not is_initialized():
            init_process_group()
        self.device_type = device_type
        self.mesh: Tensor = torch.as_tensor(mesh, dtype=torch.int32)
        self.mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names else None
        if self.mesh.numel() > get_world_size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {get_world_size()}, but found "
                f"{self.mesh.numel()} ranks!"
            )
        if self.mesh.unique().numel() != self.mesh.numel():
            raise AssertionError("Please use a non-overlapping layout when creating a DeviceMesh.")
        self._groups = [self._group_along(dim) for dim in range(self.mesh.ndim)]
        self._root: DeviceMesh | None = None

    def _group_along(self, dim: int) -> Any:
        """This rank's group along a dim. All processes make all groups, in the same order."""
        rows = self.mesh.movedim(dim, -1).reshape(-1, self.mesh.shape[dim]).tolist()
        if rows == [list(range(get_world_size()))]:
            return group_of(None)
        made = [(new_group(row, sort_ranks=False), row) for row in rows]
        return next((group for group, row in made if get_rank() in row), None)

    # ------------------------------------------------------------------------- its shape

    @property
    def ndim(self) -> int:
        """How many dims it has."""
        return self.mesh.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """Its lengths."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks it has, in all or along a dim."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.shape[mesh_dim]

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where this rank is in it; None outside of it."""
        found = (self.mesh == get_rank()).nonzero().tolist()
        return tuple(found[0]) if found else None

    def get_rank(self) -> int:
        """This process's global rank."""
        return get_rank()

    # -------------------------------------------------------------------------- its dims

    def _dim(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions",
                    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                )
            return 0
        if isinstance(mesh_dim, int):
            return mesh_dim
        names = self.mesh_dim_names or ()
        if mesh_dim not in names:
            raise KeyError(
                f"Mesh dimension '{mesh_dim}' does not exist.",
                f"Available mesh dimensions are: mesh_dim_names={names}",
            )
        return names.index(mesh_dim)

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """This rank's group along a dim, which may be left out of a mesh of one."""
        found: ProcessGroup = self._groups[self._dim(mesh_dim)]
        return found

    def get_all_groups(self) -> list[ProcessGroup]:
        """This rank's group along each dim."""
        return list(self._groups)

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This rank's place along a dim."""
        return self.get_group(mesh_dim).rank()

    def __getitem__(self, mesh_dim_names: str | Sequence[str]) -> DeviceMesh:
        """The mesh of this rank along some of the dims."""
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        for name in names:
            if name not in self.mesh_dim_names:
                raise KeyError(
                    f"Invalid mesh_dim_names {names} specified. "
                    f"Valid mesh_dim_names are {list(self.mesh_dim_names)}."
                )
        dims = [self.mesh_dim_names.index(name) for name in names]
        if dims == list(range(self.ndim)):
            return self
        where = self.get_coordinate()
        if where is None:
            raise RuntimeError(f"rank {get_rank()} is not in {self}")
        kept = self.mesh[tuple(slice(None) if d in dims else where[d] for d in range(self.ndim))]
        order = sorted(dims)
        part = DeviceMesh.__new__(DeviceMesh)
        part.device_type, part.mesh_dim_names = self.device_type, names
        part.mesh = kept.permute([order.index(d) for d in dims])
        part._groups, part._root = [self._groups[d] for d in dims], self._root or self
        return part

    def _get_root_mesh(self) -> DeviceMesh:
        """The mesh that this one is a part of, or itself."""
        return self._root or self

    @staticmethod
    def from_group(
        group: ProcessGroup, device_type: str, mesh: Any = None, *, mesh_dim_names: Any = None
    ) -> DeviceMesh:
        """The mesh of one dim that a group is; NotImplementedError for several groups."""
        if not isinstance(group, ProcessGroup) or mesh is not None:
            raise NotImplementedError("DeviceMesh.from_group: it takes one group, and no mesh")
        made = DeviceMesh.__new__(DeviceMesh)
        made.device_type, made.mesh_dim_names = device_type, mesh_dim_names
        made.mesh = torch.tensor(group.ranks, dtype=torch.int32)
        made._groups, made._root = [group], None
        return made

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        sizes = [f"{n}={s}" for n, s in zip(names, self.shape, strict=True)] if names else [
            str(size) for size in self.shape
        ]  # fmt: skip
        shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 and not names else ''})"
        return f"DeviceMesh({shape}, '{self.device_type}', stride={self.mesh.stride()})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeviceMesh)
            and self.device_type == other.device_type
            and self.mesh_dim_names == other.mesh_dim_names
            and self.mesh.equal(other.mesh)
        )

    def __hash__(self) -> int:
        ranks = tuple(self.mesh.flatten().tolist())
        return hash((ranks, self.shape, self.device_type, self.mesh_dim_names))


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """A mesh of all ranks, in their order.

    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.device_mesh.init_device_mesh
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                "Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names "
                f"{mesh_dim_names}"
            )
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! Found "
                f"len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    if device_type and not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    ranks = torch.arange(torch.Size(mesh_shape).numel()).view(mesh_shape)
    return DeviceMesh(
        device_type, ranks, mesh_dim_names=mesh_dim_names, backend_override=backend_override
    )


__all__ = ["DeviceMesh", "init_device_mesh"]
