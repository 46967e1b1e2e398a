"""Parts, conjugates and kinds that complex tensors have, of real ones: there are no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiny_torch import _core
from tiny_torch.functions.common import check_tensor, into_same
from tiny_torch.functions.creation.fill import ones_like
from tiny_torch.functions.public import METHODS, function, function_and_method
from tiny_torch.tensor import Tensor


@function
def real(input: Tensor) -> Tensor:
    """The tensor itself, as there are no complex ones.

    https://pytorch.org/docs/stable/generated/torch.real.html
    """
    check_tensor("real", "input", 1, input)
    return input


@function
def imag(input: Tensor) -> Tensor:
    """RuntimeError: a real tensor has no imaginary part.

    https://pytorch.org/docs/stable/generated/torch.imag.html
    """
    check_tensor("imag", "input", 1, input)
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


@function_and_method
def isreal(input: Tensor) -> Tensor:
    """Whether each element has no imaginary part: True for all.

    https://pytorch.org/docs/stable/generated/torch.isreal.html

    >>> import tiny_torch as torch
    >>> torch.isreal(torch.tensor([1.0, torch.nan]))
    tensor([True, True])
    """
    return ones_like(input, dtype=_core.bool)


@function_and_method
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tensor itself, or `out` with its elements: a real number is its own conjugate.

    https://pytorch.org/docs/stable/generated/torch.conj_physical.html
    """
    check_tensor("conj_physical", "input", 1, input)
    return into_same(out, input)


def itself(name: str) -> Callable[..., Any]:
    def function(input: Tensor) -> Tensor:
        check_tensor(name, "input", 1, input)
        return input

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        "The tensor itself, as there are no complex ones. "
        f"https://pytorch.org/docs/stable/generated/torch.{name}.html"
    )
    return function


for _name in ("conj", "resolve_conj", "resolve_neg"):
    function_and_method(itself(_name))
METHODS |= {"real": property(real), "imag": property(imag)}
