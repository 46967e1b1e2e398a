"""Comparisons, bits and logic, which have no gradient; and the larger or smaller of two."""

from __future__ import annotations

import operator
from collections.abc import Callable

from tiny_torch.autograd.graph import run
from tiny_torch.ops.common import Binary, Method, by_operator, public, without_gradient
from tiny_torch.ops.elementwise.arithmetic import Where


class Extreme(Binary):
    """maximum and minimum: where both are equal, each gets half the gradient; of a NaN, all."""

    saves = (0, 1)
    loses: Callable  # (x, y): where the other of the two is the extreme

    @classmethod
    def backward(cls, saved, grad, needs):
        x, y = saved
        half, equal = grad / 2, x == y
        return (
            run(Where, equal, half, run(Where, cls.loses(x, y), 0.0, grad)) if needs[0] else None,
            run(Where, equal, half, run(Where, cls.loses(y, x), 0.0, grad)) if needs[1] else None,
        )


@public("maximum", "The larger of two elements; NaN if either is.", numbers=False, in_place=False)
class Maximum(Extreme):
    loses = operator.lt
    forward = Method("maximum", (0, 1))


@public("minimum", "The smaller of two elements; NaN if either is.", numbers=False, in_place=False)
class Minimum(Extreme):
    loses = operator.gt
    forward = Method("minimum", (0, 1))


Eq = without_gradient("eq", "Whether elements are equal.")
Ne = without_gradient("ne", "Whether elements differ.")
Lt = without_gradient("lt", "input < other.")
Le = without_gradient("le", "input <= other.")
Gt = without_gradient("gt", "input > other.")
Ge = without_gradient("ge", "input >= other.")
BitwiseAnd = by_operator("bitwise_and", "The bits that both have.", operator.and_)
BitwiseOr = by_operator("bitwise_or", "The bits that either has.", operator.or_)
BitwiseXor = by_operator("bitwise_xor", "The bits that just one has.", operator.xor)
LeftShift = by_operator("bitwise_left_shift", "input * 2**other, of integers.", operator.lshift)
RightShift = by_operator("bitwise_right_shift", "input // 2**other, of integers.", operator.rshift)
LOGICAL = ("out", "in place")
LogicalAnd = without_gradient(
    "logical_and", "Whether both elements are not 0.", 2, LOGICAL, numbers=False
)
LogicalOr = without_gradient(
    "logical_or", "Whether either element is not 0.", 2, LOGICAL, numbers=False
)
LogicalXor = without_gradient(
    "logical_xor", "Whether just one element is not 0.", 2, LOGICAL, numbers=False
)
for _op in (LogicalAnd, LogicalOr, LogicalXor):
    _op.batching = "inplace arithmetic"
for _name, _what in (("gcd", "greatest common divisor"), ("lcm", "least common multiple")):
    without_gradient(_name, f"The {_what} of two integers.", 2, (), numbers=False)
LogicalNot = without_gradient("logical_not", "Whether each element is 0.", 1, LOGICAL)
BitwiseNot = without_gradient("bitwise_not", "Each bit turned; logical not of a bool.", 1, ())
