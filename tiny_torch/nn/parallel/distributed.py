"""`DistributedDataParallel`: the same module at every rank, each with a part of the batch.

The parameters begin as those of rank 0. In backward the gradients are averaged over all ranks
(reducer.py), so that every optimiser takes the same
step: as one process would with the whole batch.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import tiny_torch as torch
from tiny_torch.nn.modules import Module
from tiny_torch.nn.parallel.alike import check_bits, check_shapes
from tiny_torch.nn.parallel.data_parallel import move
from tiny_torch.nn.parallel.joining import ModelHook
from tiny_torch.nn.parallel.packets import packets_of, send_all
from tiny_torch.nn.parallel.reducer import MIB, GradBucket, Reducer

FIRST_BUCKET, BUCKET = 1.0, 25.0  # MiB: the first is sent early


class DistributedDataParallel(Module):
    """A module whose gradients are the averages over all ranks of a group.

    Raises ValueError without a process group, RuntimeError where no parameter requires a gradient,
    the ranks' parameters differ in shape, or some were not used (see `find_unused_parameters`).
    With `torch.distributed.DebugLevel.DETAIL` each forward that is reduced compares the parameters
    of all ranks, bit by bit, and raises RuntimeError, which names the first that differs.
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
    _join_config: Any = None  # within `Join`

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
        if bucket_cap_mb is not None and bucket_cap_mb < 0:
            raise ValueError(f"bucket_cap_mb must not be negative, got {bucket_cap_mb}")
        for name, part in module.named_modules():
            if isinstance(part, torch.nn.Embedding | torch.nn.EmbeddingBag) and part.sparse:
                raise NotImplementedError(
                    f"DistributedDataParallel: gradients of {name or 'the module'} are sparse, by "
                    "sparse=True, which collectives of tiny_torch do not take"
                )
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
        self.named, self.forwards = named, 0
        self.buffers_to_sync = [b for n, b in module.named_buffers() if n not in ignored]
        if init_sync:
            check_shapes(named, self.process_group)
            packets = packets_of([*(p for _, p in named), *self.buffers_to_sync])
            send_all(packets, self.process_group, 0)
        self.cap_mb = bucket_cap_mb
        self.prepare()

    def prepare(self) -> None:
        """Makes what the group sees of the module: the buckets, and the packets of buffers."""
        self.buffer_packets = packets_of(self.buffers_to_sync)
        trained = [(name, p) for name, p in self.named if p.requires_grad]
        cap = BUCKET if self.cap_mb is None else float(self.cap_mb)
        self.reducer = Reducer(
            [p for _, p in trained],
            [name for name, _ in trained],
            self.process_group,
            (min(FIRST_BUCKET, cap) if self.cap_mb is None else cap) * MIB,
            cap * MIB,
            self.find_unused_parameters,
            self.gradient_as_bucket_view,
            self.static_graph,
        )

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group is not torch.distributed.group.WORLD:
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default "
                "process group. That is, when you have called init_process_group and have not "
                "passed process_group argument to DDP constructor"
            )
        made = {"process_group", "reducer", "buffer_packets"}
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = torch.distributed._get_default_group()
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.prepare()

    def syncs_buffers(self) -> bool:
        """Whether this forward begins with the buffers of one rank."""
        return bool(
            self.broadcast_buffers and self.require_forward_param_sync and self.buffers_to_sync
        )

    def highest_rank(self, candidate: bool) -> int:
        """The last of all ranks that are candidates; -1 if nobody is one."""
        found = torch.full((1,), self.process_group.rank() if candidate else -1, device=self.device)
        torch.distributed.all_reduce(
            found, torch.distributed.ReduceOp.MAX, group=self.process_group
        )
        return int(found.item())

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        reducing = torch.is_grad_enabled() and self.require_backward_grad_sync
        if reducing:  # what is due of the last iteration is said before this one costs anything
            self.reducer.check_finished()
        joining = self._join_config is not None
        if joining:
            dist: Any = torch.distributed
            active = dist.algorithms.Join.notify_join_context(self)
            if active is not None and not self.divide_by_initial_world_size:
                self.reducer.divisor = int(active.result()[0])
        if self.syncs_buffers():
            source = self.highest_rank(True) if joining else 0
            send_all(self.buffer_packets, self.process_group, source)
        if joining:
            self.highest_rank(reducing)  # who has joined asks whether gradients come
        elif reducing:  # those that have joined do not step
            self._compare()
        if self.device_ids:
            inputs, kwargs = move((inputs, kwargs), self.device)
        output = self.module(*inputs, **kwargs)
        if reducing:
            self.reducer.prepare_for_backward(tensors_of(output))
        self.require_forward_param_sync = reducing
        return output

    def _compare(self) -> None:
        """RuntimeError where a parameter is not the same at all ranks, if that is to be seen."""
        self.forwards += 1
        dist = torch.distributed
        if dist.get_debug_level() is dist.DebugLevel.DETAIL:
            check_bits(self.named, self.process_group, f"before forward {self.forwards}")

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

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Any:
        """A context in which ranks may have different numbers of batches.

        A rank that has no more takes part in the others' collectives, with gradients of zero; the
        sums are divided by the number of all ranks, or of those that still have batches. At the
        end all ranks get the model of one that was last. RuntimeError at all ranks as soon as one
        has no more, with `throw_on_early_termination`.
        https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html#torch.nn.parallel.DistributedDataParallel.join
        """
        dist: Any = torch.distributed
        return dist.algorithms.Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> ModelHook:
        """What `Join` calls at a rank that has no batch left."""
        self.divide_by_initial_world_size = kwargs.get("divide_by_initial_world_size", True)
        self.reducer.divisor = self.process_group.size()
        return ModelHook(self)

    @property
    def join_device(self) -> torch.device:
        """The parameters' device."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group over which gradients are averaged."""
        return self.process_group

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, names: Any) -> None:
        """Leaves parameters and buffers of these names as each rank has them."""
        module._ddp_params_and_buffers_to_ignore = names

    def _set_static_graph(self) -> None:
        """Says that every forward uses the same parameters."""
        self.static_graph = self.reducer.static = True


def tensors_of(tree: Any) -> list[Any]:
    """The tensors of an output that require gradients, of dataclasses, too."""
    if isinstance(tree, torch.Tensor):
        return [tree] if tree.requires_grad else []
    if isinstance(tree, dict):
        tree = tree.values()
    elif dataclasses.is_dataclass(tree):
        tree = [getattr(tree, field.name) for field in dataclasses.fields(tree)]
    elif not isinstance(tree, list | tuple):
        return []
    return [tensor for part in tree for tensor in tensors_of(part)]


__all__ = ["DistributedDataParallel"]
