"""What a checkpointed call depends on beside its arguments: random states and autocast."""

from __future__ import annotations

from typing import Any

from tiny_torch.amp.autocast_mode import autocast
from tiny_torch.amp.state import settings
from tiny_torch.base.pytree import tree_leaves
from tiny_torch.base.several import Several
from tiny_torch.functions.random.generator import Forked, default_generators, default_on, fork_rng
from tiny_torch.tensor import Tensor


class Surroundings:
    """Those of this moment, for a run later on; of random states only if they are wanted."""

    def __init__(self, preserve_rng_state: bool) -> None:
        generators = default_generators() if preserve_rng_state else []
        self.states = [(generator, generator.get_state()) for generator in generators]
        self.autocasts = settings()

    def again(self) -> Several:
        """In the block all is as it was then; after it, as it was before."""
        forked = fork_rng(enabled=bool(self.states))
        return Several(forked, Drawn(self.states), *[autocast(**a) for a in self.autocasts])


class Drawn(Forked):
    """Generators in states that they had; who puts them back is `fork_rng`."""

    def __init__(self, states: list) -> None:
        super().__init__(None, enabled=False)
        self.states = states

    def begin(self) -> None:
        self.restore(self.states)


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """(numbers, random states) of the GPUs that tensors among the arguments are on.

    https://pytorch.org/docs/stable/checkpoint.html
    """
    found = [x.get_device() for x in tree_leaves(args) if isinstance(x, Tensor) and x.is_cuda]
    return found, [default_on("cuda").get_state() for _ in found]


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Puts the generators of those GPUs into states that `get_device_states` has answered."""
    for _, state in zip(devices, states, strict=False):
        default_on(device_type or "cuda").set_state(state)
