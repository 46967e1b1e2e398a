"""PyTorch's paths of classes and functions that live elsewhere here: `nn.modules.sparse.Embedding`.

Scripts import from the file that a name is in. A path is a module of the names below, or a module
of ours that gets them besides its own.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

# (Path, where the names are, the names).
PATHS = [
    ("_tensor", "", "Tensor"),
    ("_tensor", "_serialization.rebuild", "_rebuild_from_type_v2"),  # pickles of PyTorch call these
    (
        "_utils",
        "_serialization.rebuild",
        "_rebuild_meta_tensor_no_storage _rebuild_parameter _rebuild_parameter_with_state "
        "_rebuild_tensor _rebuild_tensor_v2 _rebuild_tensor_v3",
    ),
    (
        "accelerator.memory",
        "accelerator",
        "empty_cache get_memory_info max_memory_allocated max_memory_reserved memory_allocated "
        "memory_reserved memory_stats reset_accumulated_memory_stats reset_peak_memory_stats",
    ),
    ("cpu.amp.autocast_mode", "cpu.amp", "autocast"),
    ("cpu.amp.grad_scaler", "cpu.amp", "GradScaler"),
    ("cuda.amp.autocast_mode", "cuda.amp", "autocast custom_bwd custom_fwd"),
    ("cuda.amp.grad_scaler", "cuda.amp", "GradScaler"),
    (
        "functional",
        "",
        "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors "
        "cartesian_prod cdist chain_matmul einsum meshgrid norm split tensordot unique "
        "unique_consecutive unravel_index",
    ),
    ("nn.modules.activation", "nn", "LogSoftmax MultiheadAttention Softmax Softmax2d Softmin"),
    ("nn.modules.channelshuffle", "nn", "ChannelShuffle"),
    ("nn.modules.fold", "nn", "Fold Unfold"),
    ("nn.modules.pixelshuffle", "nn", "PixelShuffle PixelUnshuffle"),
    ("nn.modules.pooling", "nn", "LPPool1d LPPool2d LPPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d"),
    ("nn.modules.rnn", "nn", "GRUCell LSTMCell RNNCell RNNCellBase"),
    ("nn.modules.sparse", "nn", "Embedding EmbeddingBag"),
    ("nn.modules.upsampling", "nn", "Upsample UpsamplingBilinear2d UpsamplingNearest2d"),
    ("profiler.profiler", "profiler", "schedule"),
    ("storage", "serialization", "_load_from_bytes"),
    ("torch_version", "version", "TorchVersion __version__"),
]


def install() -> None:
    """Puts the names at their paths."""
    for path, home, names in PATHS:
        source = importlib.import_module(f"tiny_torch.{home}".rstrip("."))
        module = module_at(path)
        for name in names.split():
            if not hasattr(module, name):
                setattr(module, name, getattr(source, name))


def module_at(path: str) -> ModuleType:
    """The module at a path of ours; a new one where there is none."""
    name = f"tiny_torch.{path}"
    if name not in sys.modules:
        module = ModuleType(name, "Names at the path that PyTorch has them at: compat/paths.py.")
        module.__spec__ = ModuleSpec(name, None)
        parent, _, last = name.rpartition(".")
        sys.modules[name] = module
        setattr(importlib.import_module(parent), last, module)
    return sys.modules[name]
