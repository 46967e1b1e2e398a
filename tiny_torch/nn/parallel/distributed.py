"""`DistributedDataParallel`: the same module at every rank, each with a part of the batch.

The parameters begin as those of rank 0. In backward the gradients are averaged over all ranks
(reducer.py), so that every optimiser takes the same
step: as one process would with the whole batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tiny_torch as torch
from tiny_torch.nn.modules import Module
from tiny_torch.nn.parallel.data_parallel import move
from tiny_torch.nn.parallel.reducer import MIB, GradBucket, Reducer

FIRST_BUCKET, BUCKET = 1.0, 25.0  # MiB: the first is sent early


class DistributedDataParallel(Module):
    """A module whose gradients are the averages over all ranks of a group.

    Raises ValueError without a process group, RuntimeError where no parameter requires a gradient,
    the ranks' parameters differ in shape, or some were not used (see `find_unused_parameters`).
    https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html

    >>> import tiny_torch as torch
    >>> import tiny_torch.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> net(torch.ones(3, 2)).sum().backward()
    >>> net.module.bias.grad, list(net.state_dict())
    (tensor([3.]), ['module.weight', 'module.bias'])
    >>> dist.destroy_process_group()
    """

    module: Module

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
        super().__init__()
        dist = torch.distributed
        given = {
            "delay_all_reduce_named_params": delay_all_reduce_named_params,
            "param_to_hook_all_reduce": param_to_hook_all_reduce,
            "mixed_precision": mixed_precision,
            "device_mesh": device_mesh,
            "bucket_cap_mb_list": bucket_cap_mb_list,
        }
        for name, value in given.items():
            if value is not None:
                raise NotImplementedError(f"DistributedDataParallel: {name} is not in tiny_torch")
        self.process_group = dist._get_default_group() if process_group is None else process_group
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = [(n, p) for n, p in module.named_parameters() if n not in ignored]
        trained = [(name, p) for name, p in named if p.requires_grad]
        if not trained:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters "
                "that require a gradient."
            )
        if bucket_cap_mb is not None and bucket_cap_mb <= 0:
            raise ValueError(f"bucket_cap_mb must be positive, got {bucket_cap_mb}")
        on_gpu = trained[0][1].device.type == "cuda"
        if not on_gpu and (device_ids or output_device):
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
                f"{device_ids}, output_device {output_device}, and module parameters "
                f"{ {p.device for _, p in named} }."
            )
        self.module = module
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.device = trained[0][1].device
        self.broadcast_buffers = (
            broadcast_buffers is not False and forward_sync_buffers is not False
        )
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.buffers_to_sync = [b for n, b in module.named_buffers() if n not in ignored]
        if init_sync:
            self._check_alike(named)
            self._broadcast([*(p for _, p in named), *self.buffers_to_sync])
        cap = BUCKET if bucket_cap_mb is None else float(bucket_cap_mb)
        self.reducer = Reducer(
            [p for _, p in trained],
            [name for name, _ in trained],
            self.process_group,
            min(FIRST_BUCKET, cap) * MIB if bucket_cap_mb is None else cap * MIB,
            cap * MIB,
            find_unused_parameters,
            gradient_as_bucket_view,
            static_graph,
        )

    def _check_alike(self, named: list[tuple[str, Any]]) -> None:
        """RuntimeError where a rank's parameters are not those of rank 0, by name and shape."""
        ours = [(n, str(p.dtype), tuple(p.shape), p.requires_grad) for n, p in named]
        everyone: list[Any] = [None] * self.process_group.size()
        torch.distributed.all_gather_object(everyone, ours, group=self.process_group)
        for rank, theirs in enumerate(everyone):
            if len(theirs) != len(everyone[0]):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank 0 has {len(everyone[0])} "
                    f"params, while rank {rank} has inconsistent {len(theirs)} params."
                )
            for one, other in zip(everyone[0], theirs, strict=True):
                if one != other:
                    raise RuntimeError(
                        f"DDP expects same model across all ranks, but parameter {one[0]} of rank "
                        f"0 is {one[1]} {one[2]}, and that of rank {rank}, {other[0]}, is "
                        f"{other[1]} {other[2]}"
                    )

    def _broadcast(self, tensors: list[Any]) -> None:
        """Gives all ranks the values of rank 0."""
        works = [
            torch.distributed.broadcast(t, group=self.process_group, group_src=0, async_op=True)
            for t in tensors
        ]
        for work in filter(None, works):
            work.wait()

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        reducing = torch.is_grad_enabled() and self.require_backward_grad_sync
        if self.broadcast_buffers and self.require_forward_param_sync and self.buffers_to_sync:
            self._broadcast(self.buffers_to_sync)
        if self.device_ids:
            inputs, kwargs = move((inputs, kwargs), self.device)
        if reducing:  # what is due of the last iteration is said before this one costs anything
            self.reducer.check_finished()
        output = self.module(*inputs, **kwargs)
        if reducing:
            self.reducer.prepare_for_backward(tensors_of(output))
            self.require_forward_param_sync = True
        else:
            self.require_forward_param_sync = False
        return output

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Forwards in this block are not reduced: their gradients stay, and go with the next."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(
        self, state: Any, hook: Callable[[Any, GradBucket], torch.futures.Future[Any]]
    ) -> None:
        """Lets `hook(state, bucket)` reduce the buckets, instead of the average of all ranks.

        It answers a future of the bucket's buffer, reduced. RuntimeError for a second one.
        https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self.reducer.hook, self.reducer.hook_state = hook, state

    def join(self, *args: Any, **kwargs: Any) -> Any:
        """Raises NotImplementedError: give all ranks as many batches (DistributedSampler does)."""
        raise NotImplementedError(
            "DistributedDataParallel.join is not in tiny_torch: DistributedSampler gives all ranks "
            "as many batches"
        )

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, names: Any) -> None:
        """Leaves parameters and buffers of these names as each rank has them."""
        module._ddp_params_and_buffers_to_ignore = names

    def _set_static_graph(self) -> None:
        """Says that every forward uses the same parameters."""
        self.static_graph = self.reducer.static = self.reducer.find_unused = True


def tensors_of(tree: Any) -> list[Any]:
    """The tensors of an output that require gradients."""
    leaves = torch.utils._pytree.tree_leaves(tree)
    return [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]


__all__ = ["DistributedDataParallel"]
