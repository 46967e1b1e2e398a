"""Activation checkpointing: what a function's ops save for backward is thrown away, and computed
again when backward asks for it. Memory for time (Chen et al. 2016, "Training Deep Nets with
Sublinear Memory Cost").

``use_reentrant=False`` records the function as always, under hooks (autograd/saved.py) that keep a
number in place of each saved tensor; the first number that backward unpacks runs the function
again, and its ops' saved tensors, in the same order, are the values: region.py.
``use_reentrant=True`` runs the function without recording; its backward records it anew, and runs a
backward inside: reentrant.py.
https://pytorch.org/docs/stable/checkpoint.html
"""

from tiny_torch.utils.checkpoint.calls import (
    checkpoint as checkpoint,
)
from tiny_torch.utils.checkpoint.calls import (
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from tiny_torch.utils.checkpoint.reentrant import CheckpointFunction
from tiny_torch.utils.checkpoint.region import CheckpointError, noop_context_fn
from tiny_torch.utils.checkpoint.selective import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
    selective,
)
from tiny_torch.utils.checkpoint.sequential import checkpoint_sequential

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "noop_context_fn",
    "selective",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]
