"""What a rank that has no batch left does in place of DistributedDataParallel's steps.

It calls the collectives of a step in their order (`forward` in distributed.py, reducer.py): of the
buffers, of whether gradients are reduced, and of each bucket, to which it brings zeros.
"""

from __future__ import annotations

from typing import Any

from tiny_torch.nn.parallel.packets import packets_of, send_all


class ModelHook:
    """A JoinHook, of a DistributedDataParallel."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def main_hook(self) -> None:
        """Calls the collectives of a forward and its backward."""
        model = self.model
        if model.syncs_buffers():
            source = model.highest_rank(False)
            send_all(model.buffer_packets, model.process_group, source)
        reducing = model.highest_rank(False) >= 0
        model.require_forward_param_sync = reducing
        if reducing:
            model.reducer.bring_zeros()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Gives all ranks the model of one that was last."""
        model = self.model
        tensors = [parameter for _, parameter in model.named] + model.buffers_to_sync
        source = model.highest_rank(is_last_joiner)
        send_all(packets_of(tensors), model.process_group, source)
