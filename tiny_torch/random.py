"""Where random numbers come from: PyTorch's streams on the CPU, for the same seeds.

https://pytorch.org/docs/stable/random.html. What is drawn from them: functions/random/draws.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from tiny_torch import _core
from tiny_torch.devices import device as Device
from tiny_torch.tensor import Tensor, wrap

STATE_BYTES = 5056


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
        if self._device.type != "cpu":
            raise RuntimeError(f"Device type {self._device.type} is not supported for generators")
        self.core = _core.Generator()

    @property
    def device(self) -> Any:
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Starts the stream of this seed, which is within [-2^63, 2^64)."""
        if not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = seed.__index__()
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self.core.manual_seed(seed % 2**64)
        return self

    def seed(self) -> int:
        """Seeds from the operating system and answers that seed."""
        return self.core.seed()

    def initial_seed(self) -> int:
        return self.core.initial_seed()

    def get_state(self) -> Tensor:
        """The state as uint8 of shape (5056,): the bytes of PyTorch's."""
        return wrap(_core.from_bytes(self.core.get_state(), _core.uint8))

    def set_state(self, new_state: Tensor) -> Generator:
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not _core.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if new_state.numel() != STATE_BYTES:
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


def manual_seed(seed: Any) -> Generator:
    """Seeds the default generator; the same seed gives PyTorch's numbers."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seeds the default generator from the operating system and answers that seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state, uint8 of shape (5056,)."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Puts the default generator into a state that get_rng_state has answered."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Leaves the default generator as it was, whatever the block draws from it.

    https://pytorch.org/docs/stable/random.html#torch.random.fork_rng

    >>> import tiny_torch as torch
    >>> before = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     x = torch.rand(1000)
    >>> torch.equal(torch.get_rng_state(), before)
    True
    """
    if devices is not None and list(devices):
        raise NotImplementedError("fork_rng(devices=): only the CPU's generator exists")
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


def core_of(generator: Generator | None) -> Any:
    """The C++ generator that a sampler's argument names."""
    if generator is None:
        return default_generator.core
    if not isinstance(generator, Generator):
        raise TypeError(
            f"argument 'generator' must be torch.Generator, not {type(generator).__name__}"
        )
    return generator.core


FUNCTIONS: dict[str, Any] = {
    f.__name__: f for f in (manual_seed, seed, initial_seed, get_rng_state, set_rng_state)
}
FUNCTIONS["default_generator"] = default_generator
