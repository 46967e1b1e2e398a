"""`torch.distributed.tensor`: placements, by which `parallel` says how ranks hold tensors.

DTensor, a tensor that knows its placement through every op, is not here: what a rank holds is an
ordinary tensor (pieces.py).
https://docs.pytorch.org/docs/stable/distributed.tensor.html
"""

from tiny_torch.compat.refused import refusing, refusing_class
from tiny_torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from tiny_torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

WHY = "what a rank holds is an ordinary tensor; parallelize_module and fully_shard cut parameters"
DTensor = refusing_class("torch.distributed.tensor.DTensor", WHY)
distribute_module = refusing("torch.distributed.tensor.distribute_module", WHY)
distribute_tensor = refusing("torch.distributed.tensor.distribute_tensor", WHY)

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module",
    "distribute_tensor", "init_device_mesh",
]  # fmt: skip
