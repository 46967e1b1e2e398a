"""Draws whose parameters are tensors: one draw per element, PyTorch's numbers for the same seed."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core
from tiny_torch.autograd.apply import apply
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.base.arguments import as_float, as_int
from tiny_torch.functions.common import into, refuse_history
from tiny_torch.functions.public import function, function_and_method
from tiny_torch.functions.random.draws import (
    bernoulli_,
    draw,
    new_random,
    resize_out,
    with_requires_grad,
)
from tiny_torch.functions.random.generator import Generator, core_of
from tiny_torch.ops.common import refuse_overlap
from tiny_torch.ops.random.samples import (
    Bernoulli,
    Dirichlet,
    Normal1,
    Normal2,
    Normal3,
    Poisson,
    StandardGamma,
    on_cpu,
)
from tiny_torch.ops.shape.join import broadcast_shapes
from tiny_torch.tensor import Tensor, wrap


@function_and_method
def bernoulli(
    input: Tensor,
    p: float | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """1 with the probability that each element of `input` gives (or p), else 0.

    https://pytorch.org/docs/stable/generated/torch.bernoulli.html
    """
    if p is not None:
        if out is not None or (isinstance(p, Tensor) and p.ndim):
            raise TypeError("bernoulli(input, p) takes a number p, and no out")
        p = as_float("bernoulli", "p", None, p)
    elif out is not None:
        refuse_history("bernoulli(): ", out, input)
        refuse_overlap(out, (), (input,))
        return bernoulli_(
            resize_out("bernoulli", out, input.array.shape), input, generator=generator
        )
    return apply(Bernoulli, input, core_of(generator), p)


@function
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson numbers whose rates are the elements of `input`, in its dtype.

    https://pytorch.org/docs/stable/generated/torch.poisson.html
    """
    return apply(Poisson, input, core_of(generator))


@function
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """The successes in `count` trials of probability `prob`, tensors of one shape and dtype."""
    on_cpu("binomial", count.array, prob.array)
    core = core_of(generator)
    return wrap(_core.binomial(core, count.array, prob.array))


@function
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma numbers of shape parameter `input` and rate 1, differentiable in it."""
    return apply(StandardGamma, input, core_of(generator))


@function
def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Points of the simplex by concentrations in the last dim, differentiable in them."""
    return apply(Dirichlet, input, core_of(generator))


for op in (Normal1, Normal2, Normal3):
    op.__name__ = "Normal"


@function
def normal(
    mean: Any,
    std: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Normal numbers whose mean and deviation (1 if not given) are numbers or tensors.

    Two numbers need a `size`. https://pytorch.org/docs/stable/generated/torch.normal.html
    """
    if size is not None or not (isinstance(mean, Tensor) or isinstance(std, Tensor)):
        if size is None or std is None:
            raise TypeError("normal() of two numbers needs the argument 'size'")
        mean, std = as_float("normal", "mean", None, mean), as_float("normal", "std", None, std)
        result = new_random("normal", (size,), out, dtype, device, layout, pin_memory)
        draw(result, _core.normal_, generator, mean, std)
        return (
            result
            if requires_grad is False
            else with_requires_grad("normal", result, requires_grad)
        )
    tensors = [t for t in (mean, std) if isinstance(t, Tensor)]
    if dtype is not None:
        raise TypeError("normal() of tensors takes no 'dtype' without 'size'")
    on_cpu("normal", *(t.array for t in tensors))
    core = core_of(generator)
    array = None
    if out is not None:
        if isinstance(std, Tensor):
            resize_out("normal", out, broadcast_shapes(*(t.array.shape for t in tensors)))
        array = out.array
    if not isinstance(std, Tensor):
        std = 1.0 if std is None else as_float("normal", "std", None, std)
        result = apply(Normal1, mean, std, core, array)
    else:
        if std.array.size and not (std.array >= 0).all().item():
            raise RuntimeError("normal expects all elements of std >= 0.0")
        if isinstance(mean, Tensor):
            result = apply(Normal3, mean, std, core, array)
        else:
            result = apply(Normal2, std, as_float("normal", "mean", None, mean), core, array)
    return result if out is None else out


@function_and_method
@as_one
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Category numbers (int64) drawn by the weights of each row of `input`.

    https://pytorch.org/docs/stable/generated/torch.multinomial.html
    """
    on_cpu("multinomial", input.array)
    num_samples = as_int("multinomial", "num_samples", None, num_samples)
    if out is not None and out.dtype is not _core.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype}")
    core = core_of(generator)
    return into(out, wrap(_core.multinomial(input.array, core, num_samples, bool(replacement))))
