"""`torch.cuda`: a GPU, or the emulator under its name (TINY_TORCH_CUDA=emulated).

Nothing is loaded before somebody asks for the device. In a build without CUDA there is none, and
what needs one says so, as in PyTorch's build for the CPU.

Begin with streams.py, then memory.py and graphs.py. https://pytorch.org/docs/stable/cuda.html
"""

from __future__ import annotations

from tiny_torch.cuda import graphs, memory, random, streams
from tiny_torch.cuda._graphed import make_graphed_callables
from tiny_torch.cuda.device_management import (
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_arch_list,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    ipc_collect,
    is_available,
    is_bf16_supported,
    is_initialized,
    is_tf32_supported,
    set_device,
    synchronize,
)
from tiny_torch.cuda.graphs import (
    CUDAGraph,
    graph,
    graph_pool_handle,
    is_current_stream_capturing,
)
from tiny_torch.cuda.memory import (
    OutOfMemoryError,
    empty_cache,
    get_per_process_memory_fraction,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from tiny_torch.cuda.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from tiny_torch.cuda.streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)
