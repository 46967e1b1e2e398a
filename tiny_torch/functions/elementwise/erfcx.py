"""erfcx, which few ask for: made of other functions, in float64."""

from __future__ import annotations

import math

from tiny_torch import _core
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.functions.common import into
from tiny_torch.functions.public import function
from tiny_torch.tensor import Tensor

FAR = 5.0  # from here on a continued fraction is exact
TERMS = 12


@function
@as_one
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x^2) erfc(x), elementwise, which stays in range where erfc(x) no longer does.

    Floating dtypes, and integers as the default one.
    Source: https://pytorch.org/docs/stable/special.html#torch.special.erfcx

    >>> from tiny_torch import special, tensor
    >>> special.erfcx(tensor([0.0, 1.0, 100.0]))
    tensor([1.0000, 0.4276, 0.0056])
    """
    dtype = input.dtype if input.is_floating_point() else _core.get_default_dtype()
    x = input.to(_core.float64)
    is_below = x < 0  # there it is 2 exp(x^2) - erfcx(-x), which is finite or infinite, but no NaN
    size = (-x).where(is_below, x)
    is_near = size < FAR
    near = size.where(is_near, 0.0)
    # Laplace: sqrt(pi) erfcx(x) = 1 / (x + (1/2) / (x + (2/2) / (x + (3/2) / (x + ...))))
    far = size.where(is_near.logical_not(), FAR)
    below = far
    for k in range(TERMS, 0, -1):
        below = far + k / 2 / below
    result = (near.square().exp() * near.erfc()).where(is_near, 1 / (math.sqrt(math.pi) * below))
    result = (2 * x.where(is_below, 0.0).square().exp() - result).where(is_below, result)
    return into(out, result.to(dtype))
