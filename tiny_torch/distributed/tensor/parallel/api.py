"""`parallelize_module`: a style for each layer that is named."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch

from tiny_torch.distributed.device_mesh import DeviceMesh
from tiny_torch.distributed.tensor.parallel.style import ParallelStyle
from tiny_torch.nn.modules import Module


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Cuts the weights of layers over the ranks of a mesh of one dim, in place.

    The plan is a style, or styles by paths such as "layers.*.attention.wq". Parameters are those of
    rank `src_data_rank` of the mesh, or each rank's own if it is None. Raises TypeError for another
    plan, ValueError for a mesh of more dims, NotImplementedError without a mesh and for sizes that
    the ranks do not divide; a path without a layer is warned.
    https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html

    >>> import tiny_torch as torch
    >>> import tiny_torch.distributed as dist
    >>> from tiny_torch.distributed.tensor.parallel import *
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    >>> net = parallelize_module(net, dist.init_device_mesh("cpu", (1,)), plan)
    >>> net(torch.ones(3, 4)).shape
    torch.Size([3, 2])
    >>> dist.destroy_process_group()
    """
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported "
            "at the moment, so this parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if device_mesh is None:
        raise NotImplementedError("parallelize_module: device_mesh=None is not in tiny_torch")
    if device_mesh.ndim != 1:
        raise ValueError(
            f"parallelize_module takes a mesh of one dim, as mesh['tp'], not {device_mesh}"
        )
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, device_mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for"
            f" parallelize_plan, {type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        token, _, rest = path.partition(".")
        found = [child for name, child in module.named_children() if fnmatch(name, token)]
        if not path:
            found = [module]
        elif not found:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching token "
                f"'{token}' in module {module}, skipping this plan entry.",
                stacklevel=2,
            )
        for child in found:
            plan = {rest: style} if rest else style
            parallelize_module(child, device_mesh, plan, src_data_rank=src_data_rank)
    return module


__all__ = ["parallelize_module"]
