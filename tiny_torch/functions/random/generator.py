"""Where random numbers come from: PyTorch's streams, for the same seeds.

The CPU has a Mersenne twister; a GPU has Philox, of which each of its threads computes a part.

https://pytorch.org/docs/stable/random.html. What is drawn from them: functions/random/draws.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ContextDecorator
from typing import Any

from tiny_torch import _core
from tiny_torch.base import devices
from tiny_torch.base.devices import device as Device
from tiny_torch.base.modes import Scope
from tiny_torch.tensor import Tensor, wrap

STATE_BYTES, PHILOX_STATE_BYTES = 5056, 16


def checked_seed(seed: Any) -> int:
    """The seed as the generators take it, in [0, 2^64)."""
    if not hasattr(seed, "__index__"):
        raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
    seed = seed.__index__()
    if not -(2**63) <= seed < 2**64:
        raise ValueError("Overflow when unpacking long long")
    return seed % 2**64


class Generator:
    """A stream of random numbers with a state of its own.

    https://pytorch.org/docs/stable/generated/torch.Generator.html

    >>> import tiny_torch as torch
    >>> a = torch.rand(3, generator=torch.Generator().manual_seed(1))
    >>> b = torch.rand(3, generator=torch.Generator().manual_seed(1))
    >>> torch.equal(a, b)
    True
    """

    __module__ = "tiny_torch"  # where it is public, as its repr says

    def __init__(self, device: Any = "cpu") -> None:
        self._device = Device(device)
        where = self._device.type
        if where == "cuda-emulated" or (where == "cuda" and devices.has_cuda()):
            devices.array_module(self._device)
            self._device = devices.DEVICES[where]
        elif where != "cpu":
            raise RuntimeError(f"Device type {where} is not supported for generators")
        self.core = _core.Generator(where)

    @property
    def device(self) -> Any:
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Starts the stream of this seed, which is within [-2^63, 2^64)."""
        self.core.manual_seed(checked_seed(seed))
        return self

    def seed(self) -> int:
        """Seeds from the operating system and answers that seed."""
        return self.core.seed()

    def initial_seed(self) -> int:
        return self.core.initial_seed()

    def get_state(self) -> Tensor:
        """The state as uint8 of shape (5056,), or (16,) of a GPU's: the bytes of PyTorch's."""
        return wrap(_core.from_bytes(self.core.get_state(), _core.uint8))

    def set_state(self, new_state: Tensor) -> Generator:
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not _core.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if self._device.type != "cpu":
            if new_state.numel() != PHILOX_STATE_BYTES:
                raise RuntimeError("RNG state is wrong size")
        elif new_state.numel() != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG "
                f"state size to be {new_state.numel()}"
            )
        self.core.set_state(new_state.array.numpy().tobytes())
        return self

    def clone_state(self) -> Generator:
        """Another generator, which goes on from the same state."""
        return type(self)(self._device).set_state(self.get_state())

    def __reduce__(self) -> tuple:
        return type(self), (self._device,), (self.initial_seed(), None, self.get_state())

    def __setstate__(self, state: tuple) -> None:
        self.set_state(state[2])


def of_process() -> Generator:
    generator = Generator()
    generator.core = _core.default_generator()
    return generator


default_generator = of_process()  # of every call that names none


def default_on(where: str) -> Generator:
    """The default generator of a device, by its type."""
    generator = Generator(where)
    generator.core = _core.default_generator(where)
    return generator


def default_generators() -> list[Generator]:
    """The CPU's, and those of the devices that have been used."""
    used = [where for where in ("cuda", "cuda-emulated") if where in devices.modules]
    return [default_generator, *map(default_on, used)]


def manual_seed(seed: Any) -> Generator:
    """Seeds the default generators of all devices; the same seed gives PyTorch's numbers."""
    seed = checked_seed(int(seed))
    default_generator.core.manual_seed(seed)
    _core.seed_accelerators(seed)
    return default_generator


def seed() -> int:
    """Seeds the default generators from the operating system and answers that seed."""
    drawn = default_generator.seed()
    _core.seed_accelerators(drawn)
    return drawn


def initial_seed() -> int:
    """The seed that the default generator started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state, uint8 of shape (5056,)."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Puts the default generator into a state that get_rng_state has answered."""
    default_generator.set_state(new_state)


class Forked(Scope, ContextDecorator):
    """What `fork_rng` answers."""

    def __init__(self, devices: Iterable[Any] | None, enabled: bool) -> None:
        self.devices, self.enabled = devices, enabled

    def current(self) -> list[tuple[Any, Tensor]]:
        if not self.enabled:
            return []
        gpus = [default_on(as_gpu(where).type) for where in self.devices or ()]
        generators = default_generators() if self.devices is None else [default_generator, *gpus]
        return [(generator, generator.get_state()) for generator in generators]

    def restore(self, before: list[tuple[Any, Tensor]]) -> None:
        for generator, state in before:
            generator.set_state(state)


def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Forked:
    """Leaves the default generators as they were, whatever the block draws from them.

    `devices` are the GPUs whose generator is meant: all of them where nothing is said.
    https://pytorch.org/docs/stable/random.html#torch.random.fork_rng

    >>> import tiny_torch as torch
    >>> before = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     x = torch.rand(1000)
    >>> torch.equal(torch.get_rng_state(), before)
    True
    """
    return Forked(devices, enabled)


def as_gpu(where: Any) -> Device:
    """The GPU that an index or a device names; RuntimeError where there is none."""
    place = Device("cuda", where) if isinstance(where, int) else Device(where)
    if place.type != "cuda":
        raise NotImplementedError(f"a generator on {place}: only the CPU and cuda have one")
    devices.array_module(place)
    return place


def core_of(generator: Generator | None) -> Any:
    """The C++ generator that a sampler's argument names; None: the one of the array's device."""
    if generator is None:
        return None
    if not isinstance(generator, Generator):
        raise TypeError(
            f"argument 'generator' must be torch.Generator, not {type(generator).__name__}"
        )
    return generator.core


FUNCTIONS: dict[str, Any] = {
    f.__name__: f for f in (manual_seed, seed, initial_seed, get_rng_state, set_rng_state)
}
FUNCTIONS["default_generator"] = default_generator
