"""Operators of a tensor and what is no operand: the other side is asked, with the tensor itself.

Every operator, the tensor on either side, written or not, next to PyTorch's answer.
"""

from __future__ import annotations

import copy
import operator
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import tiny_torch

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.matmul, operator.lshift, operator.rshift, operator.and_, operator.or_,
    operator.xor, divmod, operator.eq, operator.ne, operator.lt, operator.le, operator.gt,
    operator.ge, operator.iadd, operator.isub, operator.imul, operator.itruediv,
    operator.ifloordiv, operator.imod, operator.ipow, operator.imatmul, operator.ilshift,
    operator.irshift, operator.iand, operator.ior, operator.ixor,
]  # fmt: skip
SPECIAL = (
    "add sub mul truediv floordiv mod divmod pow matmul lshift rshift and or xor "
    "radd rsub rmul rtruediv rfloordiv rmod rdivmod rpow rmatmul rlshift rrshift rand ror rxor "
    "eq ne lt le gt ge"
)


class Stranger:
    """Answers every operator with whom it was asked by."""

    def answer(self, other):
        return f"asked by a {type(other).__name__}"


for _name in SPECIAL.split():
    setattr(Stranger, f"__{_name}__", Stranger.answer)


class WithPriority(Stranger):
    __array_priority__ = 2000


class LooksLikeATensor(Stranger):
    shape, ndim = (2,), 1


class Nothing:
    def __repr__(self):
        return "Nothing()"


class Index(Nothing):
    def __index__(self):
        return 2


class Float(Nothing):
    def __float__(self):
        return 2.0


class FloatByInheritance(float):
    pass


class Arrays(Nothing):
    def __array__(self, dtype=None, copy=None):
        return np.ones(2)


OTHERS = [
    Stranger(), WithPriority(), LooksLikeATensor(), Nothing(), Index(), Float(), Arrays(), None,
    "a", b"a", Fraction(1, 2), Decimal(2), [1.0, 2.0], (1.0, 2.0), {1}, {}, range(2), ..., int,
    slice(1), FloatByInheritance(2), True, 2, 2.0, np.float64(2), np.float32(2), np.int64(2),
    np.ones(2, "float32"), np.array(2.0),
]  # fmt: skip
# PyTorch says True: it tries `==` alone with an array.
OURS = {(operator.ne, np.ndarray)}


def answer(module, call, other, dtype, on_the_left):
    x = module.ones(2, dtype=getattr(module, dtype))
    try:
        result = call(x, other) if on_the_left else call(other, x)
    except Exception as error:
        return type(error).__name__
    if isinstance(result, module.Tensor):
        return str(result.dtype), result.tolist()
    return repr(result)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", OPERATORS, ids=lambda call: call.__name__)
def test_operators_with_strangers(call):
    torch = pytest.importorskip("torch")
    for other in OTHERS:
        for dtype in ("float32", "int64"):
            for side in (True, False):
                if (call, type(other)) in OURS:
                    continue
                both = (tiny_torch, torch)
                ours, theirs = [answer(m, call, copy.copy(other), dtype, side) for m in both]
                assert ours == theirs, (other, dtype, side)


def test_a_stranger_meets_the_tensor_and_its_history():
    class Threefold:
        def __rmul__(self, other):
            return other * 3

    x = tiny_torch.ones(2, requires_grad=True)
    (x * Threefold()).sum().backward()
    assert x.grad.tolist() == [3, 3]


ONCE = """
index = torch.tensor([0, 1])
for _ in range(3):
    torch.zeros(3).scatter_(0, index, torch.ones(2), reduce="add")
    torch.zeros(3).scatter(0, index, torch.ones(2), reduce="multiply")
    torch.zeros(3).scatter(0, index, 1.0, reduce="add")
"""


def test_what_is_warned_once_in_a_process(torch):
    command = [sys.executable, "-W", "always", "-c", f"import {torch.__name__} as torch\n{ONCE}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert said.count("<string>:") == 1 and said.count("UserWarning") == 1
    assert "The reduce argument of torch.scatter with Tensor src is deprecated" in said
