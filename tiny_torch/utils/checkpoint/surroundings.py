"""What a checkpointed call depends on beside its arguments: random states and autocast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tiny_torch.amp.autocast_mode import autocast
from tiny_torch.amp.state import settings
from tiny_torch.random import default_generators, fork_rng


class Surroundings:
    """Those of this moment, for a run later on; of random states only if they are wanted."""

    def __init__(self, preserve_rng_state: bool) -> None:
        generators = default_generators() if preserve_rng_state else []
        self.states = [(generator, generator.get_state()) for generator in generators]
        self.autocasts = settings()

    @contextmanager
    def again(self) -> Iterator[None]:
        """In the block all is as it was then; after it, as it was before."""
        with fork_rng(enabled=bool(self.states)), ExitStack() as blocks:
            for arguments in self.autocasts:
                blocks.enter_context(autocast(**arguments))
            for generator, state in self.states:
                generator.set_state(state)
            yield
