"""Random numbers: PyTorch's on the CPU, for the same seed. https://pytorch.org/docs/stable/random.html"""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply_inplace
from tiny_torch.autograd.graph import Op
from tiny_torch.creation import as_sizes, filled, like
from tiny_torch.tensor import Tensor, wrap

default_generator = _core.default_generator()


class Generator:
    """A stream of random numbers with a state of its own.

    >>> import tiny_torch as torch
    >>> a = torch.rand(3, generator=torch.Generator().manual_seed(1))
    >>> b = torch.rand(3, generator=torch.Generator().manual_seed(1))
    >>> bool((a == b).all())
    True
    """

    def __init__(self, device: Any = "cpu") -> None:
        from tiny_torch.devices import device as Device

        self.device = Device(device)
        if self.device.type != "cpu":
            raise RuntimeError(f"Device type {self.device.type} is not supported for generators")
        self.core = _core.Generator()

    def manual_seed(self, seed: int) -> Generator:
        self.core.manual_seed(checked_seed(seed))
        return self

    def seed(self) -> int:
        """Seeds from the operating system and answers that seed."""
        return self.core.seed()

    def initial_seed(self) -> int:
        return self.core.initial_seed()

    def get_state(self) -> Tensor:
        """The state as uint8 of shape (5056,): the bytes of PyTorch's."""
        return state_tensor(self.core)

    def set_state(self, new_state: Tensor) -> Generator:
        set_state(self.core, new_state)
        return self


def checked_seed(seed: int) -> int:
    if isinstance(seed, float) or not hasattr(seed, "__index__"):
        seed = int(seed)
    seed = seed.__index__()
    if not -(2**63) <= seed < 2**64:
        raise RuntimeError(
            f"Overflow when unpacking long long: the seed {seed} is not within [-2^63, 2^64)"
        )
    return seed % 2**64


def state_tensor(core) -> Tensor:
    return wrap(_core.from_bytes(core.get_state(), _core.uint8))


def set_state(core, state: Tensor) -> None:
    if not isinstance(state, Tensor) or state.dtype is not _core.uint8:
        raise TypeError("expected a torch.ByteTensor, but got " + type(state).__name__)
    core.set_state(state.array.numpy().tobytes())


def manual_seed(seed: int) -> DefaultGenerator:
    """Seeds the default generator; the same seed gives PyTorch's numbers."""
    default_generator.manual_seed(checked_seed(seed))
    return DefaultGenerator()


class DefaultGenerator(Generator):
    """The generator of every call that names none."""

    def __init__(self) -> None:
        super().__init__()
        self.core = default_generator


def seed() -> int:
    """Seeds the default generator from the operating system and answers that seed."""
    return default_generator.seed()


def initial_seed() -> int:
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state, uint8 of shape (5056,)."""
    return state_tensor(default_generator)


def set_rng_state(new_state: Tensor) -> None:
    set_state(default_generator, new_state)


def core_of(generator: Generator | None):
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(
            f"argument 'generator' must be torch.Generator, not {type(generator).__name__}"
        )
    return generator.core


def draw(self: Tensor, sampler: Any, generator: Generator | None, *numbers: Any) -> Tensor:
    """Overwrites a tensor with draws; what it was before has no gradient through them."""
    if self.array.device != "cpu":
        raise NotImplementedError(f"[{sampler.__name__}] is not implemented on {self.array.device}")
    return apply_inplace(Draw, self, sampler, core_of(generator), *numbers)


class Draw(Op):
    """A sampler's draws in place of x."""

    @staticmethod
    def forward(x, sampler, core, *numbers, out):
        sampler(out, core, *numbers)
        return out, ()


def uniform_(
    self: Tensor,
    from_: float = 0,
    to: float = 1,
    *,
    generator: Generator | None = None,
    **named: Any,
) -> Tensor:
    """Fills with uniform numbers of [from, to)."""
    from_ = named.pop("from", from_)
    reject(named, "uniform_")
    return draw(self, _core.uniform_, generator, float(from_), float(to))


def reject(named: dict, function: str) -> None:
    if named:
        raise TypeError(f"{function}() got an unexpected keyword argument '{next(iter(named))}'")


def normal_(
    self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fills with normal numbers."""
    return draw(self, _core.normal_, generator, float(mean), float(std))


def log_normal_(
    self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None
) -> Tensor:
    return draw(self, _core.log_normal_, generator, float(mean), float(std))


def exponential_(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fills with exponential numbers of rate `lambd`."""
    return draw(self, _core.exponential_, generator, float(lambd))


def cauchy_(
    self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None
) -> Tensor:
    return draw(self, _core.cauchy_, generator, float(median), float(sigma))


def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    return draw(self, _core.geometric_, generator, float(p))


def random_(self: Tensor, *bounds: Any, generator: Generator | None = None, **named: Any) -> Tensor:
    """Fills with integers: of the dtype's whole range, random_(to) of [0, to), or [from, to).

    `to` may be None: up to the dtype's largest value.
    """
    if len(bounds) + len(named) > 2:
        raise TypeError(f"random_() takes at most 2 bounds, got {len(bounds) + len(named)}")
    if len(bounds) == 2:
        named = dict(zip(("from", "to"), bounds, strict=True))
    elif bounds:
        named["from" if "to" in named else "to"] = bounds[0]
    if not named:
        return draw(self, _core.random_, generator)
    start, to = named.pop("from", 0), named.pop("to", None)
    reject(named, "random_")
    return draw(self, _core.random_range_, generator, start, to)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fills with 1 at probability p (a number, or a tensor that broadcasts), else 0."""
    if isinstance(p, Tensor):
        expanded = p.array.expand(self.array.shape)
        return draw(self, _core.bernoulli_tensor_, generator, expanded)
    return draw(self, _core.bernoulli_, generator, float(p))


def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None
) -> Tensor:
    """1 with the probability that each element of `input` gives, else 0."""
    result = (
        wrap(input.array.empty_like())
        if p is not None
        else wrap(_core.empty(input.array.shape, input.array.dtype))
    )
    return bernoulli_(result, input.detach() if p is None else p, generator=generator)


def rand(
    *size: Any,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """Uniform numbers of [0, 1). https://pytorch.org/docs/stable/generated/torch.rand.html"""
    result = new_random("rand", size, out, dtype, device, layout, pin_memory)
    return uniform_(result, generator=generator).requires_grad_(requires_grad)


def randn(
    *size: Any,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """Normal numbers. https://pytorch.org/docs/stable/generated/torch.randn.html"""
    result = new_random("randn", size, out, dtype, device, layout, pin_memory)
    return normal_(result, generator=generator).requires_grad_(requires_grad)


def new_random(function, size, out, dtype, device, layout, pin_memory):
    if out is None:
        return filled(function, size, None, dtype, device, False, layout, pin_memory)
    if tuple(out.shape) != as_sizes(function, size):
        raise NotImplementedError(f"{function}(out=) of another shape")
    return out


def randint(
    *bounds: Any,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    low: int | None = None,
    high: int | None = None,
    size: Any = None,
) -> Tensor:
    """Integers of [low, high): randint(high, size) or randint(low, high, size)."""
    values = list(bounds)
    if size is None:
        if not values or isinstance(values[-1], int):
            raise TypeError("randint(): argument 'size' must be tuple of ints")
        size = values.pop()
    if high is None:
        if not values:
            raise TypeError("randint(): argument 'high' is missing")
        high = values.pop()
    if low is None:
        low = values.pop() if values else 0
    if values:
        raise TypeError(f"randint() takes at most 3 positional arguments, got {len(bounds)}")
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    result = filled("randint", (size,), None, dtype or _core.int64, device, False)
    return random_(result, low, high, generator=generator).requires_grad_(requires_grad)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A random order of 0 ... n - 1, int64. https://pytorch.org/docs/stable/generated/torch.randperm.html"""
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    array = _core.randperm(n, core_of(generator), dtype or _core.int64)
    result = wrap(array) if device is None else wrap(array).to(device)
    return result.requires_grad_(requires_grad)


def rand_like(input: Tensor, **options: Any) -> Tensor:
    """Uniform numbers of [0, 1) in the shape, dtype and strides of `input`."""
    return random_like("rand_like", uniform_, input, **options)


def randn_like(input: Tensor, **options: Any) -> Tensor:
    """Normal numbers in the shape, dtype and strides of `input`."""
    return random_like("randn_like", normal_, input, **options)


def random_like(
    function,
    sampler,
    input,
    *,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    memory_format=None,
):
    result = like(function, input, None, dtype, device, False, layout, memory_format)
    return sampler(result).requires_grad_(requires_grad)


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None
) -> Tensor:
    """Normal numbers whose mean and deviation are numbers or tensors."""
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError("normal(): argument 'size' is missing")
        return normal_(
            filled("normal", (size,), None, None, None, False), mean, std, generator=generator
        )
    pattern = mean + std if isinstance(mean, Tensor) else mean + std * 1
    drawn = normal_(
        wrap(_core.empty(pattern.array.shape, pattern.array.dtype)), generator=generator
    )
    return drawn * std + mean


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Category numbers (int64) drawn by the weights of each row of `input`."""
    return wrap(_core.multinomial(input.array, core_of(generator), num_samples, bool(replacement)))


FUNCTIONS = {
    f.__name__: f
    for f in (
        manual_seed, seed, initial_seed, get_rng_state, set_rng_state, bernoulli, rand, randn,
        randint, randperm, rand_like, randn_like, normal, multinomial,
    )
}  # fmt: skip
METHODS = {
    f.__name__: f
    for f in (
        uniform_, normal_, log_normal_, exponential_, cauchy_, geometric_, random_, bernoulli_,
        bernoulli, multinomial,
    )
}  # fmt: skip
