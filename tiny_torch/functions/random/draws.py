"""Random draws, in place and of a shape: PyTorch's numbers on the CPU for the same seed.

By tensors of parameters: samples.py. The generators and their states: generator.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply_inplace
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_float, as_int, check_bool
from tiny_torch.base.devices import CoreArrays, array_module, default, to_device
from tiny_torch.base.docstrings import give_name
from tiny_torch.functions.common import check_tensor, into, place_of
from tiny_torch.functions.creation.fill import (
    as_dtype,
    as_sizes,
    check_options,
    fill_out,
    finish,
    like,
    new_filled,
)
from tiny_torch.functions.creation.from_data import place_on
from tiny_torch.functions.public import function, method
from tiny_torch.functions.random.generator import Generator, core_of
from tiny_torch.ops.random.samples import Draw
from tiny_torch.tensor import Tensor

# ------------------------------------------------------------------------------------ arguments


def bind(function: str, values: tuple, named: dict, *overloads: tuple) -> dict:
    """The arguments by name, of the overload (a tuple of names) that they fit."""
    for names in overloads:
        if len(values) + len(named) == len(names) and set(named) == set(names[len(values) :]):
            return {**dict(zip(names, values, strict=False)), **named}
    expected = " or ".join(f"({', '.join(names)})" for names in overloads)
    given = [*(type(value).__name__ for value in values), *named]
    raise TypeError(
        f"{function}() received an invalid combination of arguments - got ({', '.join(given)}), "
        f"but expected {expected}"
    )


def as_floats(function: str, **numbers: Any) -> list[float]:
    return [as_float(function, name, None, number) for name, number in numbers.items()]


# ------------------------------------------------------------------------------------- in place

NUMBERS = (int, float, type(None))


def draw_on_cpu(sampler: Any, array: Any, core: Any, *numbers: Any) -> None:
    """The draws of the CPU's generator, in an array of another device."""
    drawn, *given = [x if type(x) in NUMBERS else to_device(x, "cpu") for x in (array, *numbers)]
    sampler(drawn, core, *given)
    array.copy_(to_device(drawn, array.device))


def draw(self: Tensor, sampler: Any, generator: Generator | None, *numbers: Any) -> Tensor:
    """Overwrites a tensor with draws; what it was before has no gradient through them."""
    core = None if generator is None else core_of(generator)
    array = self.array
    if type(array) is not _core.NDArray:  # it is in plain Python
        sampler = functools.partial(draw_on_cpu, sampler)
    if _core.stands_alone(self):
        if len(numbers) == 2:  # spread out: `*numbers` costs a tenth of a microsecond
            sampler(array, core, numbers[0], numbers[1])
        else:
            sampler(array, core, *numbers)
        return self
    return apply_inplace(Draw, self, sampler, core, *numbers)


@method
def uniform_(
    self: Tensor, *bounds: Any, generator: Generator | None = None, **named: Any
) -> Tensor:
    """Fills with uniform numbers of [from, to), [0, 1) unless told: uniform_(from=0, to=1)."""
    if not bounds and not named:
        return draw(self, _core.uniform_, generator, 0.0, 1.0)
    given = bind("uniform_", bounds, named, (), ("from",), ("to",), ("from", "to"))
    from_ = as_float("uniform_", "from", None, given.get("from", 0))
    to = as_float("uniform_", "to", None, given.get("to", 1))
    return draw(self, _core.uniform_, generator, from_, to)


@method
def normal_(
    self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fills with normal numbers."""
    if type(mean) is not int or type(std) is not int:
        mean, std = as_floats("normal_", mean=mean, std=std)
    return draw(self, _core.normal_, generator, mean, std)


@method
def log_normal_(
    self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None
) -> Tensor:
    """Fills with the exponentials of normal numbers."""
    numbers = as_floats("log_normal_", mean=mean, std=std)
    return draw(self, _core.log_normal_, generator, *numbers)


@method
def exponential_(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fills with exponential numbers of rate `lambd`."""
    return draw(self, _core.exponential_, generator, as_float("exponential_", "lambd", None, lambd))


@method
def cauchy_(
    self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fills with numbers of the Cauchy distribution."""
    numbers = as_floats("cauchy_", median=median, sigma=sigma)
    return draw(self, _core.cauchy_, generator, *numbers)


@method
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fills with the number of trials until one of probability p succeeds."""
    return draw(self, _core.geometric_, generator, as_float("geometric_", "p", None, p))


@method
def random_(self: Tensor, *bounds: Any, generator: Generator | None = None, **named: Any) -> Tensor:
    """Fills with integers: of the dtype's whole range, random_(to) of [0, to), or [from, to).

    `to` may be None: up to the dtype's largest value.
    """
    given = bind("random_", bounds, named, (), ("to",), ("from", "to"))
    if not given:
        return draw(self, _core.random_, generator)
    start = as_int("random_", "from", None, given.get("from", 0))
    end = given["to"]
    if end is not None or "from" not in given:
        end = as_int("random_", "to", None, end)
    return draw(self, _core.random_range_, generator, start, end)


@method
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fills with 1 at probability p (a or a tensor that broadcasts), else 0."""
    if isinstance(p, Tensor):
        expanded = p.array.expand(self.array.shape)
        return draw(self, _core.bernoulli_tensor_, generator, expanded)
    return draw(self, _core.bernoulli_, generator, as_float("bernoulli_", "p", None, p), 1.0)


# -------------------------------------------------------------------------------- of a shape


def resize_out(function: str, out: Tensor, shape: tuple) -> Tensor:
    """`out`, of that shape; RuntimeError if what is written there would have to be recorded."""
    check_tensor(function, "out", 1, out)
    return fill_out(function, out, shape, None, None)


def new_random(function, size, out, dtype, device, layout, pin_memory):
    shape = as_sizes(function, size)
    if out is None:
        return new_filled(function, shape, None, dtype, device, False, layout, pin_memory)
    return fill_out(function, out, shape, None, dtype)


def with_requires_grad(function: str, result: Tensor, requires_grad: Any) -> Tensor:
    """A new tensor that requires grad if told so."""
    if requires_grad is None:
        return result
    check_bool(function, "requires_grad", None, requires_grad)
    return result.requires_grad_(requires_grad)


def sizes(function: str, size: tuple, named: dict) -> tuple:
    """The size of rand(size=(2, 3)); TypeError for other names, and where there is none."""
    return (bind(function, size, named, ("size",))["size"],)


def of_shape(
    name: str, numbers: str, sampler: Callable, a: float, b: float
) -> Callable[..., Tensor]:
    """torch.rand and randn."""

    @function
    @give_name(name, f"{numbers}. https://pytorch.org/docs/stable/generated/torch.{name}.html")
    def make(
        *size: Any,
        generator: Generator | None = None,
        out: Tensor | None = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **named: Any,
    ) -> Tensor:
        if named or not size:
            size = sizes(name, size, named)
        result = new_random(name, size, out, dtype, device, layout, pin_memory)
        draw(result, sampler, generator, a, b)
        return result if requires_grad is False else with_requires_grad(name, result, requires_grad)

    return make


rand = of_shape("rand", "Uniform numbers of [0, 1)", _core.uniform_, 0.0, 1.0)
randn = of_shape("randn", "Normal numbers", _core.normal_, 0, 1)


@function
def randint(
    *bounds: Any,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    **named: Any,
) -> Tensor:
    """Integers of [low, high): randint(high, size) or randint(low, high, size).

    https://pytorch.org/docs/stable/generated/torch.randint.html
    """
    if len(bounds) == 3 and not named:
        low, high, size = bounds
    elif len(bounds) == 2 and not named:
        low, (high, size) = 0, bounds
    else:
        given = bind("randint", bounds, named, ("high", "size"), ("low", "high", "size"))
        low, high, size = given.get("low", 0), given["high"], given["size"]
    if not isinstance(size, (tuple, list)):
        raise TypeError("randint(): argument 'size' must be tuple of ints")
    low, high = ends("randint", low, high)
    size = (size,)
    dtype = dtype or (_core.int64 if out is None else None)
    result = new_random("randint", size, out, dtype, device, layout, pin_memory)
    draw(result, _core.random_range_, generator, low, high)
    return (
        result if requires_grad is False else with_requires_grad("randint", result, requires_grad)
    )


def ends(function: str, low: Any, high: Any) -> tuple[int, int]:
    return as_int(function, "low", None, low), as_int(function, "high", None, high)


@function
@as_one
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A random order of 0 ... n - 1, int64 unless told.

    https://pytorch.org/docs/stable/generated/torch.randperm.html
    """
    n = as_int("randperm", "n", None, n)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if layout is not None or pin_memory:
        check_options("randperm", layout, pin_memory)
    dtype = as_dtype("randperm", dtype)
    if out is not None:
        dtype = dtype or out.dtype
    device = default.device if device is None else device
    module = None if device is None else array_module(device)
    where = module.device if isinstance(module, CoreArrays) else None
    wanted = place_of("randperm", out)
    array = _core.randperm(n, core_of(generator), dtype or _core.int64, wanted, where)
    if out is not None:
        return into(out, finish(array, requires_grad))
    if device is not None:
        array = place_on(array, device)
    return finish(array, requires_grad, pin_memory)


@function
def rand_like(input: Tensor, **options: Any) -> Tensor:
    """Uniform numbers of [0, 1) in the shape, dtype and strides of `input`.

    https://pytorch.org/docs/stable/generated/torch.rand_like.html
    """
    return random_like("rand_like", _core.uniform_, (0.0, 1.0), input, **options)


@function
def randn_like(input: Tensor, **options: Any) -> Tensor:
    """Normal numbers in the shape, dtype and strides of `input`.

    https://pytorch.org/docs/stable/generated/torch.randn_like.html
    """
    return random_like("randn_like", _core.normal_, (0, 1), input, **options)


@function
def randint_like(input: Tensor, *bounds: Any, **options: Any) -> Tensor:
    """Integers of [low, high) in the shape, dtype and strides of `input`.

    randint_like(input, high) or randint_like(input, low, high):
    https://pytorch.org/docs/stable/generated/torch.randint_like.html
    """
    named = {name: options.pop(name) for name in ("low", "high") if name in options}
    given = bind("randint_like", bounds, named, ("high",), ("low", "high"))
    low, high = ends("randint_like", given.get("low", 0), given["high"])
    return random_like("randint_like", _core.random_range_, (low, high), input, **options)


def random_like(
    function: str,
    sampler: Callable,
    numbers: tuple,
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    result = like(function, input, None, dtype, device, False, layout, memory_format, pin_memory)
    draw(result, sampler, generator, *numbers)
    return result if requires_grad is False else with_requires_grad(function, result, requires_grad)
