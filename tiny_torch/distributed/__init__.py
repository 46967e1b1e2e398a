"""`torch.distributed`: several processes that work on the same thing, and send each other tensors.

From the bottom: stores (stores.py, tcp_store.py) by which processes find each other
(rendezvous.py); sockets between each two of them (links.py) or MPI (mpi.py); the algorithms
(rings.py: ring, tree) or NCCL's (nccl.py); groups that run them in order (process_group.py); and
what scripts call:
world.py, collectives.py, messages.py, objects.py. `run.py` starts processes.
https://docs.pytorch.org/docs/stable/distributed.html
"""

from types import ModuleType as _ModuleType

from tiny_torch.distributed.collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from tiny_torch.distributed.debug_level import (
    DebugLevel,
    get_debug_level,
    set_debug_level,
    set_debug_level_from_env,
)
from tiny_torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from tiny_torch.distributed.errors import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)
from tiny_torch.distributed.messages import P2POp, batch_isend_irecv, irecv, isend, recv, send
from tiny_torch.distributed.mpi import is_mpi_available
from tiny_torch.distributed.nccl import is_nccl_available
from tiny_torch.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from tiny_torch.distributed.process_group import ProcessGroup
from tiny_torch.distributed.reduce_op import ReduceOp
from tiny_torch.distributed.reduce_op import make_nccl_premul_sum as _make_nccl_premul_sum
from tiny_torch.distributed.rendezvous import register_rendezvous_handler, rendezvous
from tiny_torch.distributed.stores import FileStore, HashStore, PrefixStore, Store
from tiny_torch.distributed.tcp_store import TCPStore
from tiny_torch.distributed.work import Work
from tiny_torch.distributed.world import (
    Backend,
    GroupMember,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    split_group,
)
from tiny_torch.distributed.world import get_default_group as _get_default_group
from tiny_torch.distributed.world import rank_not_in_group as _rank_not_in_group
from tiny_torch.nn.parallel.reducer import GradBucket

reduce_op = ReduceOp

__all__ = [n for n, it in globals().items() if n[0] != "_" and type(it) is not _ModuleType]
