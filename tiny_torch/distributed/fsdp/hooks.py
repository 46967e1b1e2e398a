"""The hooks of `fully_shard`: parameters made whole before a module computes, and let go after.

The root is whose forward runs first. Its run knows the order of modules, and what is on its way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tiny_torch as torch
from tiny_torch.autograd.hooks import innermost_backward, queue_callback
from tiny_torch.base.pytree import tree_leaves, tree_map
from tiny_torch.distributed.fsdp.shards import Shards
from tiny_torch.distributed.pieces import mark_parts
from tiny_torch.nn.modules import Module

Tensor = torch.Tensor


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """dtypes of the whole parameters, of the reduction of gradients, and of outputs."""

    param_dtype: torch.dtype | None = None
    reduce_dtype: torch.dtype | None = None
    output_dtype: torch.dtype | None = None
    cast_forward_inputs: bool = True


class Run:
    """What the modules of one root share: their order, and what is on its way."""

    def __init__(self, states: list[State]) -> None:
        self.states = states
        self.begun: list[Shards] = []  # as they began in this forward
        self.plan: list[Shards] = []  # as they began in the last whole one
        self.order: list[Shards] = []  # as they ended in this forward
        self.reductions: list[Callable[[], None]] = []  # of one module
        self.queued = False

    def follower(self) -> list[Shards]:
        """Who began, the last time, after those that have begun now."""
        place = len(self.begun)
        return self.plan[place : place + 1] if self.plan[:place] == self.begun else []

    def reduce(self, shards: Shards) -> None:
        """Begins to sum a module's gradients, when those on their way have come."""
        self.finish_reductions()
        self.reductions = shards.reduce()

    def finish_reductions(self) -> None:
        """Waits for gradients on their way."""
        with torch.no_grad():
            for finish in self.reductions:
                finish()
        self.reductions = []

    def reset(self) -> None:
        """Forgets a backward that has raised."""
        for state in self.states:
            for shard in state.shards.shards:
                shard.whole.grad = None
            state.shards.in_backward = False
            state.shards.release()
        self.queued, self.reductions = False, []
        self.order.clear()


class State:
    """The hooks of a module that is fully sharded."""

    def __init__(self, module: Module, shards: Shards, policy: MixedPrecisionPolicy) -> None:
        self.module, self.shards, self.policy = module, shards, policy
        self.run: Run | None = None
        self.is_root = False
        module.register_forward_pre_hook(self.before_forward, prepend=True, with_kwargs=True)
        module.register_forward_hook(self.after_forward)
        module.register_state_dict_pre_hook(lambda *_: self.shards.release())
        for owner in {owner for shard in shards.shards for owner, _ in shard.owners}:
            owner.register_state_dict_post_hook(mark_parts)
        module.register_load_state_dict_pre_hook(lambda *_: self.shards.release())
        for shard in shards.shards:
            if shard.whole.requires_grad:
                shard.whole.register_post_accumulate_grad_hook(self.on_gradient)

    def become_root(self) -> None:
        """The first whose forward runs is the root of all that are below it."""
        states = [found for m in self.module.modules() if (found := m.__dict__.get("_fsdp_state"))]
        self.is_root, run = True, Run(states)
        for state in states:
            state.run = run
            if state.shards.reshard_after_forward is None:
                state.shards.reshard_after_forward = state is not self

    # ------------------------------------------------------------------------------ forward

    def before_forward(self, module: Module, args: Any, kwargs: Any) -> Any:
        if self.run is None:
            self.become_root()
        assert self.run is not None
        if self.is_root:
            if self.shards.in_backward and innermost_backward() is None:  # which has raised
                self.run.reset()
            if not self.shards.in_backward:
                self.run.order.clear()
                self.run.begun.clear()
        self.shards.make_whole()
        following = self.shards.forward_prefetch
        if not self.shards.in_backward:
            self.run.begun.append(self.shards)
            following = self.run.follower() if following is None else following
        for shards in following or ():
            shards.gather()
        dtype = self.policy.param_dtype
        if dtype is not None and self.policy.cast_forward_inputs:
            args, kwargs = cast((args, kwargs), dtype)
        return args, kwargs

    def after_forward(self, module: Module, args: Any, output: Any) -> Any:
        assert self.run is not None
        if self.policy.output_dtype is not None:
            output = cast(output, self.policy.output_dtype)
        if self.shards.in_backward:  # a checkpoint computes anew: backward needs them right after
            return output
        self.run.order.append(self.shards)
        for tensor in tree_leaves(output):
            if isinstance(tensor, Tensor) and tensor.requires_grad:
                tensor.register_hook(self.before_backward)
        if self.shards.reshard_after_forward:
            self.shards.release()
        if self.is_root:
            self.end_forward()
        return output

    def end_forward(self) -> None:
        """Lets go what was on its way for a module that has not run this time."""
        run = self.run
        assert run is not None
        for state in run.states:
            if state.shards.coming is not None:
                state.shards.release()
        run.plan, run.begun = run.begun, []

    # ----------------------------------------------------------------------------- backward

    def before_backward(self, gradient: Tensor) -> None:
        run = self.run
        assert run is not None
        if not run.queued:
            run.queued = True
            queue_callback(self.after_backward)
        if self.shards.in_backward:
            return
        self.shards.begin_backward()
        following = self.shards.backward_prefetch
        if following is None and self.shards in run.order:
            place = run.order.index(self.shards)
            following = run.order[max(place - 1, 0) : place]
        for shards in following or ():
            shards.gather()

    def on_gradient(self, whole: Tensor) -> None:
        if not self.shards.sync:
            return
        assert self.run is not None
        self.shards.due.discard(id(whole))
        if not self.shards.due:
            self.run.reduce(self.shards)
        if self.shards.may_release():
            self.shards.release()

    def after_backward(self) -> None:
        """Ends a backward: no gradient is on its way, and no parameter whole."""
        assert self.run is not None
        for state in self.run.states:  # some of a module's parameters may have got no gradient
            if state.shards.in_backward and state.shards.sync and state.shards.due:
                self.run.reduce(state.shards)
        self.run.finish_reductions()
        for state in self.run.states:
            state.shards.in_backward = False
            if state.shards.reshard_after_backward:
                state.shards.release()
        self.run.queued = False
        self.run.order.clear()


def cast(tree: Any, dtype: torch.dtype) -> Any:
    return tree_map(
        lambda x: x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x, tree
    )


def state_of(module: Module) -> State:
    found: State = module.__dict__["_fsdp_state"]
    return found
