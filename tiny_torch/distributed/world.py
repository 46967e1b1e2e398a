"""The groups of this process: the default one of all processes, and others of some of them."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.mpi import is_mpi_available, mpi
from tiny_torch.distributed.nccl import is_nccl_available, nccl
from tiny_torch.distributed.process_group import ProcessGroup, backends_of
from tiny_torch.distributed.rendezvous import rendezvous
from tiny_torch.distributed.stores import PrefixStore, Store

default_pg_timeout = timedelta(minutes=30)
NO_GROUP = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)


class _Groups(type):
    """Lets `group.WORLD` be the default group of the moment."""

    @property
    def WORLD(cls) -> ProcessGroup | None:
        return world.default


class GroupMember(metaclass=_Groups):
    """`WORLD`, the group of all processes, and the mark of those that are outside of a group."""

    NON_GROUP_MEMBER = -100


group = GroupMember


class World:
    """What `init_process_group` makes, and the groups that followed."""

    def __init__(self) -> None:
        self.default: ProcessGroup | None = None
        self.store: Store | None = None
        self.rounds = itertools.count()  # of init_process_group, which may share a store
        self.names = itertools.count(1)
        self.groups: list[ProcessGroup] = []


world = World()


class Backend(str):
    """The name of a backend, in lower case."""

    UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI = "undefined", "gloo", "nccl", "xccl", "ucc", "mpi"
    default_device_backend_map = {"cpu": "gloo", "cuda": "nccl"}  # noqa: RUF012 -- as PyTorch's
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]  # noqa: RUF012

    def __new__(cls, name: str) -> str:  # type: ignore[misc]  # a plain one, as PyTorch's
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return name.lower()


# ----------------------------------------------------------------------------------- what there is


def is_available() -> bool:
    """True: the package is here."""
    return True


def is_initialized() -> bool:
    """True after `init_process_group`."""
    return world.default is not None


def is_gloo_available() -> bool:
    """True: processes of one machine meet by sockets."""
    return True


def never(name: str) -> Callable[[], bool]:
    def available() -> bool:
        return False

    available.__name__ = available.__qualname__ = name
    available.__doc__ = "False: it is not in tiny_torch."
    return available


is_ucc_available = never("is_ucc_available")
is_xccl_available = never("is_xccl_available")


def is_backend_available(backend: str) -> bool:
    """True for gloo, for mpi where mpi4py is installed, and for nccl where nccl4py is."""
    there = {"gloo": is_gloo_available, "mpi": is_mpi_available, "nccl": is_nccl_available}
    kinds = backends_of(backend.lower()).values()
    return all(kind in there and there[kind]() for kind in kinds)


def is_torchelastic_launched() -> bool:
    """Whether the launcher started this process, which its environment tells."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """LOCAL_RANK of the environment, or the fallback; RuntimeError where there is neither."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device context "
        "and want the code to run locally instead."
    )


# ------------------------------------------------------------------------------------ making groups


def check_backend(backend: str) -> None:
    for name in backends_of(backend).values():
        if name in ("ucc", "xccl"):
            raise RuntimeError(f"Distributed package doesn't have {name.upper()} built in")
        if name in ("mpi", "nccl"):
            (mpi if name == "mpi" else nccl)()
        elif name != "gloo":
            raise AssertionError(f"Unknown backend type {name}")


def best_backend() -> str:
    by_nccl = is_nccl_available() and torch.cuda.is_available()
    return "cpu:gloo,cuda:nccl" if by_nccl else "gloo"


def check_timeout(timeout: timedelta | None) -> timedelta:
    if timeout is None:
        return default_pg_timeout
    if not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    return timeout


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: list[int] | None = None,
) -> None:
    """Makes the default group: waits until all `world_size` processes have come, and connects them.

    They find each other by `store`, or by `init_method`: "env://" (as the launcher sets it),
    "tcp://host:port", "file:///path". The backend is "gloo", sockets between processes of one
    machine, "mpi", mpi4py under `mpiexec`, or "nccl", for tensors of GPUs; "cpu:gloo,cuda:nccl" is
    both, and what is meant where none is given and NCCL and a GPU are there. Raises ValueError
    for what is missing, RuntimeError for a backend that is not here, DistNetworkError where a
    process does not come in time.
    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group

    >>> import tiny_torch as torch
    >>> import tiny_torch.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_world_size(), dist.get_backend()
    (0, 1, 'gloo')
    >>> dist.destroy_process_group()
    """
    if world.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    timeout = check_timeout(timeout)
    if store is not None:
        if init_method is not None:
            raise AssertionError("Cannot specify both init_method and store.")
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
    backend = Backend(best_backend() if backend is None else backend)
    kinds = set(backends_of(backend).values())
    if "mpi" in kinds:
        comm = mpi().COMM_WORLD
        rank, world_size = comm.rank, comm.size
        if kinds == {"mpi"}:
            store = store or MPIStore()
    if store is None:
        found = rendezvous(init_method or "env://", rank, world_size, timeout=timeout)
        store, rank, world_size = next(found)
        store.set_timeout(timeout)
    check_backend(backend)
    if not 0 <= rank < world_size:
        raise RuntimeError(f"rank < size. {rank} vs {world_size}")
    world.store = PrefixStore(f"round {next(world.rounds)}", store)
    ranks = list(range(world_size))
    made = ProcessGroup(backend, ranks, rank, world.store, timeout, "0", "default_pg")
    world.default = made
    world.groups = [made]
    world.names = itertools.count(1)


class MPIStore(Store):
    """The store of groups by MPI, which meet without one: each rank has its own."""

    def __init__(self) -> None:
        self.known: dict[str, bytes] = {}

    def change(self, key: str, new: Callable[[bytes | None], bytes | None]) -> bytes | None:
        value = new(self.known.get(key))
        if value is not None:
            self.known[key] = value
        return value

    def values(self) -> dict[str, bytes]:
        return self.known


def destroy_process_group(group: Any = None) -> None:
    """Ends a group, or all of them, when what was begun is done.

    Raises AssertionError where there is none.
    """
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    if group is None or group is world.default:
        if world.default is None:
            raise AssertionError("Process group cannot be None")
        for made in reversed(world.groups):
            made.close()
        world.default, world.groups, world.store = None, [], None
        return
    if group not in world.groups:
        raise ValueError("Invalid process group specified")
    group.close()
    world.groups.remove(group)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some ranks; all processes call it, in the same order.

    Those outside get `GroupMember.NON_GROUP_MEMBER`.
    https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.new_group
    """
    default = group_of(None)
    timeout = default.timeout if timeout is None else check_timeout(timeout)
    backend = default.backend if backend is None else Backend(backend)
    check_backend(backend)
    size = default.size()
    members = list(range(size)) if ranks is None else list(ranks)
    for rank in members:
        if not 0 <= rank < size:
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})"
            )
    if len(set(members)) != len(members):
        raise ValueError(f"ranks list must not contain duplicate entries, got {members}")
    if not members:
        raise TypeError("new_group: ranks must not be empty")
    if sort_ranks:
        members.sort()
    name = str(next(world.names))
    if use_local_synchronization:  # only members call it: their own count tells them apart
        digest = hashlib.sha1(repr(members).encode()).hexdigest()
        name = f"{digest}_{sum(g.group_name.startswith(digest) for g in world.groups)}"
    me = default.rank()
    if me not in members:
        return GroupMember.NON_GROUP_MEMBER
    assert world.store is not None
    desc = group_desc or "undefined"
    made = ProcessGroup(backend, members, me, world.store, timeout, name, desc)
    world.groups.append(made)
    return made


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` neighbouring ranks: this process's own, and all."""
    if group_size is None:
        raise ValueError(
            "Default group size only takes effect when CUDA is available."
            "If your subgroup using a backend that does not depend on CUDA,"
            "please pass in 'group_size' correctly."
        )
    size = get_world_size()
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if group_size > size:
        raise ValueError(
            f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})"
        )
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by '{group_size=}'")
    parts = [list(range(start, start + group_size)) for start in range(0, size, group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """A group of each list of ranks, which must not share any: this process's own, and all."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    everyone = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(everyone)) != len(everyone):
        raise ValueError("The rank of a subgroup is in another one, too")
    own, made = None, []
    for ranks in ranks_per_subgroup_list:
        made.append(new_group(ranks, timeout, backend, group_desc=group_desc))
        if get_rank() in ranks:
            own = made[-1]
    return own, made


# -------------------------------------------------------------------------------- asking of groups


def group_of(group: Any) -> ProcessGroup:
    """The group that is meant: None is the default one. ValueError where there is none."""
    if group is None:
        if world.default is None:
            raise ValueError(NO_GROUP)
        return world.default
    if not isinstance(group, ProcessGroup) or group not in world.groups:
        raise ValueError("Invalid process group specified")
    return group


def get_rank(group: Any = None) -> int:
    """This process's place in the group; -1 outside of it."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return -1
    return group_of(group).rank()


def get_world_size(group: Any = None) -> int:
    """How many processes the group has; -1 outside of it."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return -1
    return group_of(group).size()


def get_backend(group: Any = None) -> str:
    """The name of the group's backend."""
    return Backend(group_of(group).backend)


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The global ranks of the group's processes."""
    return list(group_of(group).ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """The place in a group of a global rank; ValueError where it is not in it."""
    if group is GroupMember.WORLD:
        return global_rank
    ranks = group_of(group).ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The global rank of a place in a group; ValueError where there is no such place."""
    if group is GroupMember.WORLD:
        return group_rank
    ranks = group_of(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_pg_count() -> int:
    """How many groups this process is in."""
    return len(world.groups)


def get_default_group() -> ProcessGroup:
    """The group of all processes; ValueError where there is none."""
    return group_of(None)


def rank_not_in_group(group: Any) -> bool:
    """True where this process is outside of the group."""
    return group is GroupMember.NON_GROUP_MEMBER


def split_group(*args: Any, **kwargs: Any) -> Any:
    """Raises NotImplementedError: `new_group` makes groups."""
    raise NotImplementedError("torch.distributed.split_group is not in tiny_torch: new_group is")
