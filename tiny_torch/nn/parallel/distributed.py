"""`DistributedDataParallel`: a name to import; making one asks for a process group."""

from __future__ import annotations

from typing import Any

from tiny_torch.nn.modules import Module


class DistributedDataParallel(Module):
    """Raises ValueError, as PyTorch does without a process group: there are none here.

    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    """

    refusal = "it trains in one process"  # which compat/check.py reads

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )


__all__ = ["DistributedDataParallel"]
