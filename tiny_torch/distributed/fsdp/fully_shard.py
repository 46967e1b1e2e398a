"""`fully_shard`: a module's parameters are whole only while they are needed.

    forward   | gather 1 | layer 1 | release 1 | gather 2 | layer 2 | release 2 | ...
    backward  ... | gather 2 | layer 2 | reduce 2, release 2 | gather 1 | layer 1 | reduce 1 | ...

While backward computes a layer, the parameters of the one before are on their way, and the
gradients of the one behind; in forward, those of the one that ran next the last time. shards.py has
what is gathered, all of a module in one collective; hooks.py when.

What differs: a part is a plain Parameter, of the part's shape, where PyTorch's is a DTensor, of the
whole's. `clip_grad_norm_`, checkpoints and `checkpoint.state_dict` know of parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from tiny_torch.distributed.fsdp.hooks import MixedPrecisionPolicy, State, state_of
from tiny_torch.distributed.fsdp.shards import Dealing, Shard, Shards
from tiny_torch.distributed.world import get_world_size
from tiny_torch.nn.modules import Module
from tiny_torch.nn.parameter import Parameter

Tensor = torch.Tensor


@dataclass
class OffloadPolicy:
    """No offloading."""


class UnshardHandle:
    """What `unshard(async_op=True)` answers."""

    def __init__(self, shards: Shards) -> None:
        self.shards = shards

    def wait(self) -> None:
        """Waits until the parameters are whole."""
        self.shards.make_whole()


class FSDPModule(Module):
    """What `fully_shard` adds to a module's class.

    https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
    """

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Makes the module's parameters whole; with `async_op` when the answer's `wait` returns."""
        shards = state_of(self).shards
        shards.gather()
        if async_op:
            return UnshardHandle(shards)
        shards.make_whole()
        return None

    def reshard(self) -> None:
        """Gives the module its parts again."""
        state_of(self).shards.release()

    def _each(self, recurse: bool) -> list[Shards]:
        modules = self.modules() if recurse else [self]
        return [state_of(m).shards for m in modules if isinstance(m, FSDPModule)]

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Whether backward reduces gradients; False lets the whole ones add up."""
        for shards in self._each(recurse):
            shards.sync = requires_gradient_sync

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether parameters are released between forward and backward."""
        for shards in self._each(recurse):
            shards.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Whether parameters are released after backward."""
        for shards in self._each(recurse):
            shards.reshard_after_backward = reshard_after_backward

    def set_gradient_divide_factor(self, factor: float) -> None:
        """By what the sums of gradients are divided, in place of the number of ranks."""
        state_of(self).shards.dealing.divisor = factor

    def set_modules_to_forward_prefetch(self, modules: Iterable[Any]) -> None:
        """Whose parameters are on their way while this forward computes: else who ran next."""
        state_of(self).shards.forward_prefetch = [state_of(m).shards for m in modules]

    def set_modules_to_backward_prefetch(self, modules: Iterable[Any]) -> None:
        """Whose parameters are on their way while this backward computes: else who ran before."""
        state_of(self).shards.backward_prefetch = [state_of(m).shards for m in modules]

    def reset_iter_state(self) -> None:
        """Makes all modules ready for a forward, after a backward that has raised."""
        run = state_of(self).run
        if run is not None:
            run.reset()

    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError(
            "FSDP does not support deepcopy. Please use state dict for serialization."
        )


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Any = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),  # noqa: B008 -- frozen
    offload_policy: OffloadPolicy = OffloadPolicy(),  # noqa: B008 -- as PyTorch's
    ignored_params: set[Parameter] | None = None,
    dp_mesh_dims: Any = None,
) -> Any:
    """Cuts a module's parameters over the ranks of `mesh` (all, if it is left out), along dim 0.

    Called for layers first, then for the whole model: each call takes the parameters that none has
    taken, and gathers them together. A mesh of two dims cuts along the second, and keeps replicas
    along the first. Optimizers are made afterwards. Raises ValueError for parameters without dims
    and containers without a forward, NotImplementedError for parameters that are not contiguous,
    and for the arguments that are not here. On the meta device parts are made there, and
    `to_empty` gives them memory.
    https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html

    >>> import tiny_torch as torch
    >>> import tiny_torch.distributed as dist
    >>> from tiny_torch.distributed.fsdp import fully_shard
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> net = fully_shard(torch.nn.Linear(2, 1))
    >>> net(torch.ones(3, 2)).sum().backward()
    >>> type(net).__name__, net.bias.grad
    ('FSDPLinear', tensor([3.]))
    >>> dist.destroy_process_group()
    """
    if isinstance(module, torch.nn.ModuleList | torch.nn.ModuleDict):
        raise ValueError(
            f"fully_shard does not support containers that do not implement forward: {module}"
        )
    if not isinstance(module, Module):
        raise NotImplementedError(f"fully_shard: module of type {type(module).__name__}")
    if not isinstance(reshard_after_forward, bool | None):
        raise NotImplementedError(f"fully_shard: reshard_after_forward={reshard_after_forward!r}")
    if type(offload_policy) is not OffloadPolicy:
        raise NotImplementedError("fully_shard: offload_policy is not in tiny_torch")
    if shard_placement_fn is not None or dp_mesh_dims is not None:
        name = "dp_mesh_dims" if shard_placement_fn is None else "shard_placement_fn"
        raise NotImplementedError(f"fully_shard: {name} is not in tiny_torch")
    if isinstance(module, FSDPModule):
        raise AssertionError(f"fully_shard has already been called on {type(module).__name__}")
    mesh = mesh or init_device_mesh("cpu", (get_world_size(),))
    if mesh.ndim > 2:
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    owners = owners_of(module, {id(p) for p in ignored_params or ()})
    dealing = Dealing(
        mesh.get_group(mesh.ndim - 1),
        mesh.get_group(0) if mesh.ndim == 2 else None,
        mp_policy.param_dtype,
        mp_policy.reduce_dtype,
        float(mesh.size()),
    )
    shards = []
    for parameter, theirs in owners:
        check_parameter(parameter, theirs)
        shards.append(Shard(parameter, theirs, dealing))
        shards[-1].put(shards[-1].part)
    taken = Shards(module, shards, dealing)
    taken.reshard_after_forward = reshard_after_forward
    module.__dict__["_fsdp_state"] = State(module, taken, mp_policy)
    kind = type(module)
    module.__class__ = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {})
    return module


def owners_of(
    module: Module, ignored: set[int]
) -> list[tuple[Parameter, list[tuple[Module, str]]]]:
    """The parameters that no call below has taken, each with all modules and names that have it."""
    found: dict[int, tuple[Parameter, list[tuple[Module, str]]]] = {}
    todo = [module]
    while todo:
        one = todo.pop()
        for name, parameter in one._parameters.items():
            if parameter is not None and id(parameter) not in ignored:
                found.setdefault(id(parameter), (parameter, []))[1].append((one, name))
        todo += [c for c in reversed(list(one.children())) if not isinstance(c, FSDPModule)]
    return list(found.values())


def check_parameter(parameter: Parameter, owners: list[tuple[Module, str]]) -> None:
    name = owners[0][1]
    if parameter.ndim == 0:
        raise ValueError(
            "fully_shard doesn't support scalar parameters. Change "
            f"{name} to a 1D tensor with numel equal to 1."
        )
    if not parameter.is_contiguous():
        raise NotImplementedError("FSDP does not support non-contiguous parameters yet")


__all__ = ["FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle", "fully_shard"]
