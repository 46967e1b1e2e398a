"""`torch.distributed` in one process: it answers that there is no group, and makes none.

Scripts ask `is_available()` or `is_initialized()` and go on alone. What needs a group raises as
PyTorch does before `init_process_group`, which itself raises NotImplementedError.
https://pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

import datetime
import enum
import os
from collections.abc import Callable
from typing import Any

from tiny_torch.compat.refused import refusing, refusing_class

WHY = "it trains in one process"
NO_GROUP = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)
__path__: list[str] = []  # below it stand names of refused.py
default_pg_timeout = datetime.timedelta(minutes=30)


class ReduceOp(enum.IntEnum):
    """How collectives combine: names only."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


class GroupMember:
    """The group of all processes, which is none, and the mark of those outside of a group."""

    WORLD = None
    NON_GROUP_MEMBER = -100


group = GroupMember


def is_available() -> bool:
    """False: this package was built without process groups."""
    return False


def is_initialized() -> bool:
    """False: `init_process_group` makes no group."""
    return False


def is_backend_available(backend: str) -> bool:
    """False: there is no backend."""
    return False


def no_backend(name: str) -> Callable[[], bool]:
    def available() -> bool:
        return False

    available.__name__ = available.__qualname__ = name
    available.__doc__ = "False: there is no backend."
    return available


is_nccl_available = no_backend("is_nccl_available")
is_gloo_available = no_backend("is_gloo_available")
is_mpi_available = no_backend("is_mpi_available")
is_ucc_available = no_backend("is_ucc_available")
is_xccl_available = no_backend("is_xccl_available")


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process, which its environment tells."""
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


def without_group(name: str) -> Callable[..., Any]:
    """A function that PyTorch refuses before `init_process_group`, in PyTorch's words."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise ValueError(NO_GROUP)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raises ValueError: there is no process group."
    refuse.refusal = WHY  # type: ignore[attr-defined]  # which compat/check.py reads
    return refuse


NEED_A_GROUP = """
    all_gather all_gather_into_tensor all_gather_object all_reduce all_to_all all_to_all_single
    barrier broadcast broadcast_object_list gather gather_object get_backend get_process_group_ranks
    get_rank get_world_size irecv isend monitored_barrier new_group recv recv_object_list reduce
    reduce_scatter reduce_scatter_tensor scatter scatter_object_list send send_object_list
"""
globals().update({name: without_group(name) for name in NEED_A_GROUP.split()})

init_process_group = refusing("torch.distributed.init_process_group", WHY)
init_device_mesh = refusing("torch.distributed.init_device_mesh", WHY)


def destroy_process_group(group: Any = None) -> None:
    """Raises AssertionError, as PyTorch does where there is no group."""
    raise AssertionError("Process group cannot be None")


Store = refusing_class("torch.distributed.Store", WHY)
TCPStore = refusing_class("torch.distributed.TCPStore", WHY)
FileStore = refusing_class("torch.distributed.FileStore", WHY)
HashStore = refusing_class("torch.distributed.HashStore", WHY)
ProcessGroup = refusing_class("torch.distributed.ProcessGroup", WHY)
DeviceMesh = refusing_class("torch.distributed.DeviceMesh", WHY)

__all__ = [
    *NEED_A_GROUP.split(), "DeviceMesh", "FileStore", "GroupMember", "HashStore", "ProcessGroup",
    "ReduceOp", "Store", "TCPStore", "default_pg_timeout", "destroy_process_group",
    "get_node_local_rank", "group", "init_device_mesh", "init_process_group", "is_available",
    "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available",
]  # fmt: skip
