"""The generator of draws on the GPU: seeds and states.

It is a generator of its own, beside the CPU's: Philox, whose state is a seed and a counter.
https://pytorch.org/docs/stable/cuda.html#random-number-generator
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tiny_torch import _core
from tiny_torch.base.devices import device as _torch_device
from tiny_torch.cuda import device_management
from tiny_torch.functions.random import generator as random
from tiny_torch.tensor import Tensor


def generator_of(device: Any) -> random.Generator:
    """The default generator of a device, which it makes ready."""
    device_management.table()
    place = _torch_device("cuda", device) if isinstance(device, int) else _torch_device(device)
    device_management.check_index(device_management.index_of(place, optional=True))
    return random.default_on("cuda")


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of a device's generator, uint8 of shape (16,), on the CPU."""
    return generator_of(device).get_state()


def get_rng_state_all() -> list[Tensor]:
    """The states of all devices' generators."""
    return [get_rng_state(i) for i in range(device_management.device_count())]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Puts a device's generator into a state that `get_rng_state` has answered."""
    if device_management.is_available():
        generator_of(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Puts each device's generator into a state."""
    for i, state in enumerate(new_states):
        set_rng_state(state, i)


def manual_seed(seed: int) -> None:
    """Seeds the current device's generator; without a GPU, nothing happens."""
    _core.seed_accelerators(random.checked_seed(int(seed)))


def manual_seed_all(seed: int) -> None:
    """Seeds all devices' generators; without a GPU, nothing happens."""
    _core.seed_accelerators(random.checked_seed(int(seed)))


def seed() -> None:
    """Seeds the current device's generator from the operating system."""
    if device_management.is_available():
        random.default_on("cuda").seed()


def seed_all() -> None:
    """Seeds all devices' generators from the operating system."""
    seed()


def initial_seed() -> int:
    """The seed that the current device's generator started from."""
    return generator_of("cuda").initial_seed()
