"""Schedules: in which order the stages of a pipeline compute the microbatches of a batch.

Three stages and four microbatches; 0 to 3 are forwards, a to d the backwards, which take as long
again. GPipe runs all forwards, then all backwards, and holds the activations of all microbatches.
1F1B turns to backwards as soon as it can: the same time, but stage i holds n - i at most.

    GPipe  0 1 2 3 . . . . a b c d      1F1B  0 1 2 . . a 3 b . c . d
           . 0 1 2 3 . . a b c d .            . 0 1 . a 2 b 3 c . d .
           . . 0 1 2 3 a b c d . .            . . 0 a 1 b 2 c 3 d . .

A step with m microbatches on n ranks idles for (n - 1) / (m + n - 1) of the time. Interleaved 1F1B
gives each rank v stages in turn: the bubble is v times smaller, and there are v times the messages.

Huang and others, 2019: https://arxiv.org/abs/1811.06965
Narayanan and others, 2021: https://arxiv.org/abs/2104.04473
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tiny_torch as torch
from tiny_torch.base.pytree import tree_flatten, tree_unflatten
from tiny_torch.distributed.errors import refuse
from tiny_torch.distributed.pipelining.stage import PipelineStage

Tensor = torch.Tensor


class Action(NamedTuple):
    """A forward ("F") or backward ("B") of a microbatch at a stage."""

    kind: str
    stage: int
    microbatch: int

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{self.microbatch}"


# ------------------------------------------------------------------------------------ the orders


def gpipe(stage: int, stages: int, microbatches: int) -> list[Action]:
    """All forwards of a stage, then all backwards."""
    return [Action(kind, stage, i) for kind in "FB" for i in range(microbatches)]


def one_forward_one_backward(stage: int, stages: int, microbatches: int) -> list[Action]:
    """As many forwards as there are stages from this one on; then one backward, one forward."""
    ahead = min(microbatches, stages - stage)
    order = [Action("F", stage, i) for i in range(ahead)]
    for i in range(microbatches):
        order.append(Action("B", stage, i))
        if ahead + i < microbatches:
            order.append(Action("F", stage, ahead + i))
    return order


def interleave(rank: int, ranks: int, stages: int, microbatches: int) -> list[Action]:
    """1F1B of a rank with the stages rank, rank + ranks, ...: rounds of microbatches by turns."""
    local = stages // ranks
    a_round = microbatches // max(1, microbatches // ranks)
    total = local * microbatches

    def turns(kind: str) -> Iterator[Action]:
        """All of a kind: a round at the first stage, then at the next; backwards from the last."""
        for start in range(0, microbatches, a_round):
            for place in range(local) if kind == "F" else reversed(range(local)):
                for i in range(start, start + a_round):
                    yield Action(kind, place * ranks + rank, i)

    ahead = min(total, (local - 1) * a_round + 2 * (ranks - 1 - rank))
    forwards, backwards = turns("F"), turns("B")
    order = [next(forwards) for _ in range(ahead)]
    for forward in forwards:
        order += [forward, next(backwards)]
    return [*order, *backwards]


# -------------------------------------------------------------------------------- how they are run


class Schedule:
    """Runs the actions of this rank: what is received, computed and sent for each microbatch."""

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None,
        scale_grads: bool,
        **specs: Any,
    ) -> None:
        refuse(type(self).__name__, **{name: (spec, None) for name, spec in specs.items()})
        self.stages = {stage.stage_index: stage for stage in stages}
        for stage in stages:
            stage.here = stages[0].here
        self.n_microbatches, self.loss_fn, self.scale_grads = n_microbatches, loss_fn, scale_grads
        self.order: list[Action] = []  # of this rank

    def step(self, *args: Any, **kwargs: Any) -> Any:
        """A batch, forward and backward: `args` at the first stage, `target` at the last.

        Keywords are `perform`'s. The batch is cut along dim 0; further `kwargs` are this rank's.
        With a `loss_fn` gradients are added to `.grad`, averaged over microbatches, and `losses`
        gets the losses. Answers the output at the last stage, None elsewhere. RuntimeError without
        gradients.
        """
        if self.loss_fn is not None and not torch.is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; it should not "
                "be used under torch.no_grad() context. Please call eval() instead."
            )
        order = self.order if self.loss_fn is not None else self.forwards()
        return self.perform(order, *args, **kwargs)

    @torch.no_grad()
    def eval(self, *args: Any, **kwargs: Any) -> Any:
        """A batch, forward only: what `step` answers without its backward."""
        return self.perform(self.forwards(), *args, **kwargs)

    def forwards(self) -> list[Action]:
        return [action for action in self.order if action[0] == "F"]

    def perform(
        self,
        order: list[Action],
        /,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        if losses is not None and not isinstance(losses, list):
            raise TypeError(f"losses must be a list but got a {type(losses)}")
        for stage in self.stages.values():
            stage.clear()
        parts, targets = self.cut((args, kwargs)), self.cut(target)
        has_backward = any(kind == "B" for kind, _, _ in order)
        has_loss = self.loss_fn is not None and (has_backward or target is not None)
        found: dict[int, Tensor] = {}
        due = Counter(index for kind, index, _ in order if kind == "B")  # backwards of a stage
        for kind, index, i in order:
            stage = self.stages[index]
            if kind == "B":
                due[index] -= 1
                stage.backward(i, found[i] if stage.is_last else None, not due[index])
                continue
            output = stage.forward(i, *parts[i])
            if stage.is_last and has_loss and self.loss_fn is not None:
                found[i] = self.loss_fn(output, targets[i], **(loss_kwargs or {}))
        for stage in self.stages.values():
            stage.finish_sending()
            if self.scale_grads and has_backward:
                stage.scale_grads(self.n_microbatches)
        if losses is not None and found:
            losses[:] = [found[i].detach() for i in sorted(found)]
        outputs = [stage.outputs for stage in self.stages.values() if stage.is_last]
        for stage in self.stages.values():
            stage.clear()
        return (
            join([outputs[0][i] for i in sorted(outputs[0])])
            if outputs and return_outputs
            else None
        )

    def cut(self, tree: Any) -> list[Any]:
        """The microbatches of a batch: tensors cut along dim 0, other values given to each."""
        leaves, spec = tree_flatten(tree)
        cuts = [
            torch.tensor_split(leaf, self.n_microbatches)
            if isinstance(leaf, Tensor)
            else (leaf,) * self.n_microbatches
            for leaf in leaves
        ]
        if any(isinstance(leaf, Tensor) and len(leaf) < self.n_microbatches for leaf in leaves):
            raise ValueError(f"a batch of {leaves[0].shape} has no {self.n_microbatches} parts")
        return [tree_unflatten([c[i] for c in cuts], spec) for i in range(self.n_microbatches)]


def join(outputs: list[Any]) -> Any:
    """The batch that microbatches are parts of."""
    leaves = [tree_flatten(output)[0] for output in outputs]
    whole = [torch.cat(parts) for parts in zip(*leaves, strict=True)]
    return tree_unflatten(whole, tree_flatten(outputs[0])[1])


class ScheduleGPipe(Schedule):
    """All forwards, then all backwards.

    https://docs.pytorch.org/docs/stable/distributed.pipelining.html

    >>> import tiny_torch as torch
    >>> import tiny_torch.distributed as dist
    >>> from tiny_torch.distributed.pipelining import PipelineStage, ScheduleGPipe
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> stage = PipelineStage(torch.nn.Linear(2, 1), 0, 1, "cpu")
    >>> schedule = ScheduleGPipe(stage, 2, loss_fn=torch.nn.functional.mse_loss)
    >>> schedule.step(torch.ones(4, 2), target=torch.ones(4, 1)).shape
    torch.Size([4, 1])
    >>> print(*schedule.order)
    0F0 0F1 0B0 0B1
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        specs = {"args_chunk_spec": args_chunk_spec, "kwargs_chunk_spec": kwargs_chunk_spec,
                 "output_merge_spec": output_merge_spec}  # fmt: skip
        super().__init__([stage], n_microbatches, loss_fn, scale_grads, **specs)
        self.order = self.order_of(stage.stage_index, stage.num_stages, n_microbatches)

    @staticmethod
    def order_of(stage: int, stages: int, microbatches: int) -> list[Action]:
        """The actions of the rank with a stage."""
        return gpipe(stage, stages, microbatches)


class Schedule1F1B(ScheduleGPipe):
    """One forward, one backward; ValueError for fewer microbatches than stages.

    https://docs.pytorch.org/docs/stable/distributed.pipelining.html
    """

    @staticmethod
    def order_of(stage: int, stages: int, microbatches: int) -> list[Action]:
        """The actions of the rank with a stage."""
        if microbatches < stages:
            raise ValueError(
                f"Number of microbatches ({microbatches}) must be greater than or equal to the "
                f"number of stages ({stages})."
            )
        return one_forward_one_backward(stage, stages, microbatches)


class ScheduleInterleaved1F1B(Schedule):
    """1F1B with several stages at a rank: rank, rank + n, rank + 2 n, ... of n ranks.

    ValueError where the microbatches are not as many in each round.
    https://docs.pytorch.org/docs/stable/distributed.pipelining.html
    """

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        refuse(
            "ScheduleInterleaved1F1B",
            backward_requires_autograd=(backward_requires_autograd, True),
            defer_pp_recv=(defer_pp_recv, False),
        )
        specs = {"args_chunk_spec": args_chunk_spec, "kwargs_chunk_spec": kwargs_chunk_spec,
                 "output_merge_spec": output_merge_spec}  # fmt: skip
        super().__init__(stages, n_microbatches, loss_fn, scale_grads, **specs)
        ranks = stages[0].group_size
        rounds = max(1, n_microbatches // ranks)
        if n_microbatches % rounds:
            raise ValueError(
                "Interleaved 1F1B requires the number of microbatches to be a multiple of the "
                f"number of rounds ({rounds}), but got {n_microbatches}."
            )
        first = stages[0]
        self.order = interleave(first.group_rank, ranks, first.num_stages, n_microbatches)


__all__ = ["Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B"]
