"""`PipelineStage`: some layers at a rank, and the messages that come and go for a microbatch.

Stage i of a group of n ranks is at rank i % n. Its forward takes what stage i - 1 sends, and its
backward the gradients that stage i + 1 sends for what it got. Either has a tag of its own, under
which microbatches come in their order. Shapes and dtypes travel once, before the first tensors.

A part may be DistributedDataParallel, or sharded by `fully_shard`: gradients of microbatches add up
at each rank, and are averaged over the others in the backward of the last one.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.errors import refuse
from tiny_torch.distributed.fsdp.fully_shard import FSDPModule
from tiny_torch.distributed.messages import irecv, isend
from tiny_torch.distributed.objects import recv_object_list, send_object_list
from tiny_torch.distributed.world import group_of
from tiny_torch.nn.modules import Module
from tiny_torch.nn.parallel import DistributedDataParallel

Tensor = torch.Tensor
Meta = tuple[torch.Size, torch.dtype]
FORWARD, BACKWARD = 0, 1


class PipelineStage:
    """The part of a model that is stage `stage_index` of `num_stages`, and its messages.

    `input_args` and `output_args`, if given, are examples of a microbatch: RuntimeError if what
    comes has other shapes or dtypes. Raises ValueError for a stage that there is not, RuntimeError
    for more ranks than stages, NotImplementedError for `output_grads`, `input_grads`, `dw_builder`,
    `get_mesh`.
    https://docs.pytorch.org/docs/stable/distributed.pipelining.html
    """

    def __init__(
        self,
        submodule: Module,
        stage_index: int,
        num_stages: int,
        device: Any,
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: Any = None,
        dw_builder: Any = None,
        get_mesh: Any = None,
    ) -> None:
        refuse(
            "PipelineStage",
            output_grads=(output_grads, None),
            input_grads=(input_grads, None),
            dw_builder=(dw_builder, None),
            get_mesh=(get_mesh, None),
        )
        if stage_index >= num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device, self.group = torch.device(device), group_of(group)
        self.group_rank, self.group_size = self.group.rank(), self.group.size()
        if self.group_size > num_stages:
            raise RuntimeError(
                f"Pipeline group size {self.group_size} cannot be larger than number of stages "
                f"{num_stages}"
            )
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        self.expected = [metas_of(args) for args in (input_args, output_args)]
        self.input_metas: list[Meta] | None = None  # of what the stage before sends
        self.output_metas: list[Meta] | None = None
        self.here: dict[tuple[int, int], list[Tensor]] = {}  # between this rank's stages, by tag
        self.clear()

    def clear(self) -> None:
        """Forgets what the last step has left."""
        self.held: dict[
            int, tuple[list[Tensor], list[Tensor]]
        ] = {}  # inputs, outputs: for backward
        self.outputs: dict[int, Any] = {}  # of the last stage
        self.sent: list[Any] = []  # messages on their way, and what they hold

    # ------------------------------------------------------------------------------ messages

    def peer(self, stage: int) -> int:
        """The rank in the group at which a stage is."""
        return stage % self.group_size

    def tag(self, stage: int, way: int) -> int:
        """The tag of the messages that stage `stage` receives, one for each microbatch."""
        return 1 + way + 2 * stage

    def send(self, stage: int, microbatch: int, way: int, tensors: list[Tensor]) -> None:
        tag = self.tag(stage, way)
        if self.peer(stage) == self.group_rank:
            self.here[tag, microbatch] = tensors
            return
        for tensor in tensors:
            tensor = tensor.contiguous()
            work = isend(tensor, group=self.group, group_dst=self.peer(stage), tag=tag)
            self.sent.append((work, tensor))

    def receive(self, sender: int, microbatch: int, way: int, metas: list[Meta]) -> list[Tensor]:
        tag = self.tag(self.stage_index, way)
        if self.peer(sender) == self.group_rank:
            return self.here.pop((tag, microbatch))
        found = [torch.empty(shape, dtype=dtype, device=self.device) for shape, dtype in metas]
        peer = self.peer(sender)
        works: list[Any] = [irecv(t, group=self.group, group_src=peer, tag=tag) for t in found]
        for work in works:
            work.wait()
        return found

    def finish_sending(self) -> None:
        """Waits until all that was sent has been taken."""
        for work, _ in self.sent:
            work.wait()
        self.sent.clear()

    # ------------------------------------------------------------------------------- forward

    def forward(self, microbatch: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Computes a microbatch; `args` are for the first stage, others receive them."""
        inputs: list[Tensor] = []
        if not self.is_first:
            inputs = self.receive_inputs(microbatch)
            args = tuple(inputs)
        with self.no_reduction():
            output = self.submod(*args, **kwargs)
        outputs = list(output) if isinstance(output, tuple | list) else [output]
        self.check("output", metas_of(outputs), self.expected[1])
        if torch.is_grad_enabled():
            self.held[microbatch] = inputs, outputs
        if self.is_last:
            self.outputs[microbatch] = output
            return output
        metas = metas_of(outputs)
        assert metas is not None
        following = self.stage_index + 1
        if self.output_metas is None:
            self.output_metas = metas
            if self.peer(following) != self.group_rank:
                send_object_list([metas], group=self.group, group_dst=self.peer(following))
        self.check("output", metas, self.output_metas)
        self.send(following, microbatch, FORWARD, [t.detach() for t in outputs])
        return output

    def receive_inputs(self, microbatch: int) -> list[Tensor]:
        before = self.stage_index - 1
        if self.input_metas is None and self.peer(before) != self.group_rank:
            told: list[Any] = [None]
            recv_object_list(told, group=self.group, group_src=self.peer(before))
            self.input_metas = told[0]
            self.check("input", told[0], self.expected[0])
        inputs = self.receive(before, microbatch, FORWARD, self.input_metas or [])
        return [t.requires_grad_(t.is_floating_point()) for t in inputs]

    def check(self, what: str, metas: list[Meta] | None, expected: list[Meta] | None) -> None:
        if expected is not None and metas != expected:
            raise RuntimeError(
                f"stage {self.stage_index}: a microbatch's {what} is {metas}, not {expected}: all "
                "microbatches must have the same shapes and dtypes"
            )

    # ------------------------------------------------------------------------------ backward

    def no_reduction(self) -> Any:
        """A context in which a forward expects no reduction: several are under way at once."""
        ddp = isinstance(self.submod, DistributedDataParallel)
        return self.submod.no_sync() if ddp else nullcontext()

    def prepare_for_backward(self, outputs: list[Tensor], is_last: bool) -> None:
        """Lets the last microbatch's backward reduce what all have added up, and no other."""
        if isinstance(self.submod, FSDPModule):
            self.submod.set_requires_gradient_sync(is_last)
            self.submod.set_reshard_after_backward(is_last)
        elif isinstance(self.submod, DistributedDataParallel) and is_last:
            self.submod.reducer.prepare_for_backward([t for t in outputs if t.requires_grad])

    def backward(self, microbatch: int, loss: Tensor | None, is_last: bool) -> None:
        """The gradients of a microbatch: from the loss, or from what the next stage sends.

        `is_last` says that no other microbatch's backward follows in this step.
        """
        inputs, outputs = self.held.pop(microbatch)
        self.prepare_for_backward(outputs, is_last)
        if loss is not None:
            loss.backward()
        else:
            floats = [t for t in outputs if t.is_floating_point()]
            metas = metas_of(floats)
            assert metas is not None
            grads = self.receive(self.stage_index + 1, microbatch, BACKWARD, metas)
            pairs = [(t, g) for t, g in zip(floats, grads, strict=True) if t.requires_grad]
            if pairs:
                torch.autograd.backward([t for t, _ in pairs], [g for _, g in pairs])
        if not self.is_first:
            found = [torch.zeros_like(t) if t.grad is None else t.grad
                     for t in inputs if t.is_floating_point()]  # fmt: skip
            self.send(self.stage_index - 1, microbatch, BACKWARD, found)

    def scale_grads(self, divisor: int) -> None:
        """Makes sums over microbatches averages."""
        for parameter in self.submod.parameters():
            if parameter.grad is not None:
                parameter.grad.div_(divisor)


def metas_of(args: Any) -> list[Meta] | None:
    """Shapes and dtypes of the tensors of a microbatch."""
    if args is None:
        return None
    tensors = args if isinstance(args, tuple | list) else [args]
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"stages pass tensors, but got {type(tensor).__name__}")
    return [(tensor.shape, tensor.dtype) for tensor in tensors]


__all__ = ["PipelineStage"]
