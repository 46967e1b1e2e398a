"""`ZeroRedundancyOptimizer`: each rank steps some of the parameters, and tells the others.

All ranks have all gradients, as DistributedDataParallel leaves them. Adam keeps two numbers for
each parameter; with n ranks each keeps those of an n-th of them:

    rank 0    | steps layer 1, layer 4 | broadcast 1, 4 | receives 2, 3  |
    rank 1    | steps layer 2, layer 3 | receives 1, 4  | broadcast 2, 3 |

A parameter is not cut: the largest goes first, to who has least. Stage 1 of
Rajbhandari and others, 2020: https://arxiv.org/abs/1910.02054
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.algorithms.join import Join, Joinable, JoinHook
from tiny_torch.distributed.world import group_of

Tensor = torch.Tensor
Group = dict[str, Any]


def check_params(params: Any) -> list[Any]:
    if isinstance(params, Tensor):
        raise TypeError(
            f"`params` argument should be an iterable of Tensors, but got {torch.typename(params)}"
        )
    try:
        found = list(params)
    except TypeError as error:
        raise TypeError(
            "`params` argument should be an iterable of Tensors or dicts, but got "
            f"{torch.typename(params)}"
        ) from error
    if not found:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    if not all(isinstance(p, Tensor) for p in found) and not all(
        isinstance(p, dict) for p in found
    ):
        raise TypeError("`params` argument should be an iterable of Tensors or dicts")
    for group in found:
        if isinstance(group, dict) and "params" not in group:
            raise ValueError(
                "Each parameter group passed-in via `params` must have a 'params' key mapping to "
                "the parameters in the group"
            )
    return found


class ZeroRedundancyOptimizer(torch.optim.Optimizer, Joinable):
    """An `optimizer_class(params, **defaults)` whose state is spread over a group's ranks.

    `optim` is this rank's: it has the parameters that are this rank's to step. With
    `parameters_as_bucket_view` a rank's parameters lie in one row of memory and travel as one.
    Raises NotImplementedError for `overlap_with_ddp`.
    https://docs.pytorch.org/docs/stable/distributed.optim.html

    >>> import tiny_torch as torch
    >>> import tiny_torch.distributed as dist
    >>> from tiny_torch.distributed.optim import ZeroRedundancyOptimizer
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = ZeroRedundancyOptimizer([w], torch.optim.SGD, lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[torch.optim.Optimizer],
        process_group: Any | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: overlap_with_ddp=True is not in tiny_torch"
            )
        self.optim: Any = None
        self.process_group = group_of(process_group)
        self.world_size, self.rank = self.process_group.size(), self.process_group.rank()
        self.parameters_as_bucket_view = parameters_as_bucket_view
        super().__init__(check_params(params), defaults)
        self.optim = optimizer_class(self.partition()[self.rank], **defaults)
        copy_options(self.optim.param_groups, self.param_groups)
        self.everyones: list[Any] = []  # states, at the rank that has consolidated them
        self.make_buckets()

    # ------------------------------------------------------------------------- who has what

    def partition(self) -> list[list[Group]]:
        """The groups of each rank: the largest parameter goes first, to who has least so far."""
        sizes = [0] * self.world_size
        parts: list[list[Group]] = [[] for _ in sizes]
        for group in self.param_groups:
            rows: list[list[Tensor]] = [[] for _ in sizes]
            for parameter in sorted(group["params"], key=lambda p: p.numel(), reverse=True):
                rank = sizes.index(min(sizes))
                rows[rank].append(parameter)
                sizes[rank] += parameter.numel()
            for part, row in zip(parts, rows, strict=True):
                part.append({**group, "params": row})
        return parts

    def add_param_group(self, param_group: Group) -> None:
        """Puts one more group under this optimizer, and this rank's part of it under `optim`."""
        super().add_param_group(param_group)
        if self.optim is not None:
            self.optim.add_param_group(self.partition()[self.rank][-1])
            self.make_buckets()

    def make_buckets(self) -> None:
        """Notes what each rank sends after a step: its parameters, or the rows that they lie in."""
        self.trained = self.trainable()
        self.sent: list[list[Tensor]] = []
        for groups in self.partition():
            parameters = [p for group in groups for p in group["params"]]
            trained = [p for p in parameters if p.requires_grad]
            if self.parameters_as_bucket_view:
                for parameter in parameters:
                    if not parameter.requires_grad:  # it may be a view of a row that goes
                        parameter.data = parameter.data.clone()
                trained = rows_of(trained)
            self.sent.append(trained)

    def trainable(self) -> list[bool]:
        return [p.requires_grad for group in self.param_groups for p in group["params"]]

    # ---------------------------------------------------------------------------- the step

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Steps this rank's parameters, then gives all ranks what each has stepped."""
        Join.notify_join_context(self)
        return self.step_ours(closure, **kwargs)

    def step_ours(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        if self.trainable() != self.trained:
            self.make_buckets()
        copy_options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure, **kwargs)
        copy_options(self.optim.param_groups, self.param_groups)
        works: list[Any] = [
            torch.distributed.broadcast(
                tensor.detach(), group=self.process_group, group_src=rank, async_op=True
            )
            for rank, tensors in enumerate(self.sent)
            for tensor in tensors
        ]
        for work in works:
            work.wait()
        return loss

    # --------------------------------------------------------------------------- its state

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Brings all states to the rank `to`, where `state_dict` answers then; all call it."""
        copy_options(self.param_groups, self.optim.param_groups)
        everyones = [None] * self.world_size if self.rank == to else None
        torch.distributed.gather_object(
            self.optim.state_dict(), everyones, group=self.process_group, group_dst=to
        )
        self.everyones = everyones or []

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters, as the last `consolidate_state_dict` found it.

        It is what `optimizer_class` itself would answer. RuntimeError at a rank that has not
        consolidated.
        """
        if not self.everyones:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to "
                "save the global state."
            )
        found = super().state_dict()
        number = self.numbers()
        for saved, groups in zip(self.everyones, self.partition(), strict=True):
            for theirs, ours in zip(saved["param_groups"], groups, strict=True):
                for place, parameter in zip(theirs["params"], ours["params"], strict=True):
                    if place in saved["state"]:
                        found["state"][number[id(parameter)]] = saved["state"][place]
        found["state"] = dict(sorted(found["state"].items()))
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the state of all parameters; each rank keeps what is its own."""
        super().load_state_dict({**state_dict, "state": {}})
        number = self.numbers()
        local = self.optim.state_dict()
        ours = [p for group in self.optim.param_groups for p in group["params"]]
        local["state"] = {
            place: state_dict["state"][number[id(parameter)]]
            for place, parameter in enumerate(ours)
            if number[id(parameter)] in state_dict["state"]
        }
        self.optim.load_state_dict(local)
        copy_options(self.param_groups, self.optim.param_groups)

    def numbers(self) -> dict[int, int]:
        """The number of each parameter among all, by id."""
        everything = [p for group in self.param_groups for p in group["params"]]
        return {id(parameter): i for i, parameter in enumerate(everything)}

    # ------------------------------------------------------------------ ranks without batches

    def join_hook(self, **kwargs: Any) -> OptimizerHook:
        """What `Join` calls at a rank that has no batch left: its own parameters go on stepping."""
        return OptimizerHook(self)

    @property
    def join_device(self) -> torch.device:
        """The parameters' device."""
        device: torch.device = self.param_groups[0]["params"][0].device
        return device

    @property
    def join_process_group(self) -> Any:
        """The group over which states are cut."""
        return self.process_group


class OptimizerHook(JoinHook):
    """The hook of a ZeroRedundancyOptimizer."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        """Steps, with the gradients that DistributedDataParallel's hook has left."""
        self.optimizer.step_ours()


def rows_of(parameters: list[Tensor]) -> list[Tensor]:
    """Puts parameters into rows of memory, one of each dtype and device."""
    kinds: dict[Any, list[Tensor]] = {}
    for parameter in parameters:
        kinds.setdefault((parameter.dtype, parameter.device), []).append(parameter)
    rows = []
    for alike in kinds.values():
        row = torch.cat([p.detach().reshape(-1) for p in alike])
        for parameter, place in zip(alike, row.split([p.numel() for p in alike]), strict=True):
            parameter.data = place.view(parameter.shape)
        rows.append(row)
    return rows


def copy_options(source: list[Group], target: list[Group]) -> None:
    """Copies the options of groups, which a scheduler or the optimizer may have changed."""
    for theirs, ours in zip(source, target, strict=True):
        ours.update({key: value for key, value in theirs.items() if key != "params"})


__all__ = ["ZeroRedundancyOptimizer"]
