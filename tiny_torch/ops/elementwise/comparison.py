"""Comparisons, bits and logic, which have no gradient; and the larger or smaller of two."""

from __future__ import annotations

import operator
from typing import Any

from tiny_torch.autograd.graph import Op, run
from tiny_torch.ops.common import by_operator, public, without_gradient
from tiny_torch.ops.elementwise.arithmetic import Where


class Extreme(Op):
    """maximum and minimum: where both are equal, each gets half the gradient; of a NaN, all."""

    arity = 2
    broadcasts = True
    saves = (0, 1)

    @staticmethod
    def share(saved, grad, needs, first_loses, second_loses):
        half = grad / 2
        equal = saved[0] == saved[1]
        return (
            run(Where, equal, half, run(Where, first_loses, 0.0, grad)) if needs[0] else None,
            run(Where, equal, half, run(Where, second_loses, 0.0, grad)) if needs[1] else None,
        )


@public("maximum", "The larger of two elements; NaN if either is.", numbers=False, in_place=False)
class Maximum(Extreme):
    @staticmethod
    def forward(x, y, out=None):
        return x.maximum(y, out), (x, y)

    @staticmethod
    def backward(saved, grad, needs):
        x, y = saved
        return Extreme.share(saved, grad, needs, x < y, y < x)


@public("minimum", "The smaller of two elements; NaN if either is.", numbers=False, in_place=False)
class Minimum(Extreme):
    @staticmethod
    def forward(x, y, out=None):
        return x.minimum(y, out), (x, y)

    @staticmethod
    def backward(saved, grad, needs):
        x, y = saved
        return Extreme.share(saved, grad, needs, x > y, y > x)


Eq: Any = public("eq", "Whether elements are equal.")(without_gradient("eq"))
Ne: Any = public("ne", "Whether elements differ.")(without_gradient("ne"))
Lt: Any = public("lt", "input < other.")(without_gradient("lt"))
Le: Any = public("le", "input <= other.")(without_gradient("le"))
Gt: Any = public("gt", "input > other.")(without_gradient("gt"))
Ge: Any = public("ge", "input >= other.")(without_gradient("ge"))
BitwiseAnd: Any = public("bitwise_and", "The bits that both have.", left=True)(
    by_operator("bitwise_and", operator.and_)
)
BitwiseOr: Any = public("bitwise_or", "The bits that either has.", left=True)(
    by_operator("bitwise_or", operator.or_)
)
BitwiseXor: Any = public("bitwise_xor", "The bits that just one has.", left=True)(
    by_operator("bitwise_xor", operator.xor)
)
LeftShift: Any = public("bitwise_left_shift", "input * 2**other, of integers.", left=True)(
    by_operator("bitwise_left_shift", operator.lshift)
)
RightShift: Any = public("bitwise_right_shift", "input // 2**other, of integers.", left=True)(
    by_operator("bitwise_right_shift", operator.rshift)
)
LOGICAL = ("out", "in place")
LogicalAnd: Any = public("logical_and", "Whether both elements are not 0.", numbers=False)(
    without_gradient("logical_and", 2, LOGICAL)
)
LogicalOr: Any = public("logical_or", "Whether either element is not 0.", numbers=False)(
    without_gradient("logical_or", 2, LOGICAL)
)
LogicalXor: Any = public("logical_xor", "Whether just one element is not 0.", numbers=False)(
    without_gradient("logical_xor", 2, LOGICAL)
)
for _name, _what in (("gcd", "greatest common divisor"), ("lcm", "least common multiple")):
    public(_name, f"The {_what} of two integers.", numbers=False)(without_gradient(_name, 2, ()))
public("logical_not", "Whether each element is 0.")(without_gradient("logical_not", 1, LOGICAL))
BitwiseNot: Any = public("bitwise_not", "Each bit turned; logical not of a bool.")(
    without_gradient("bitwise_not", 1, ())
)
