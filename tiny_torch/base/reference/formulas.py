"""What the elementwise ops and reductions compute, and in which dtype: ops.def in NumPy.

A formula takes flat NumPy arrays of the dtype that is computed in, and answers one; a reduction's
takes one row, and answers a number. Not here: layout, checks of arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.base.dtypes import TYPE_STRINGS
from tiny_torch.base.reference import activation, losses, special


def numpy_type(dtype: Any) -> np.dtype:
    if dtype.is_floating_point and dtype.itemsize == 2:
        raise NotImplementedError(f"[{dtype.name}] is not implemented on ref")
    return np.dtype(TYPE_STRINGS[dtype])


def category(dtype: Any) -> int:
    """bool < integer < float."""
    return {"b": 0, "u": 1, "i": 1, "f": 2}[numpy_type(dtype).kind]


def promote_types(a: Any, b: Any) -> Any:
    """Within one rank: the higher category, then the larger size; both of uint8 and int8."""
    if {a, b} == {_core.uint8, _core.int8}:
        return _core.int16
    return max(a, b, key=lambda dtype: (category(dtype), dtype.itemsize))


def result_type(*operands: Any) -> Any:
    """The common dtype, by three ranks: arrays with dims, over 0-d arrays, over Python numbers.

    A lower rank counts only if its category is higher than that of the ranks above. So
    ``float32 array * 2.5`` stays float32, and ``int64 array * 2.5`` is of the default dtype.
    """
    ranks: list[Any] = [None, None, None]
    for x in operands:
        if hasattr(x, "strides"):
            rank, dtype = (0 if x.ndim else 1), x.dtype
        elif isinstance(x, float):
            rank, dtype = 2, _core.get_default_dtype()
        else:
            rank, dtype = 2, _core.bool if isinstance(x, bool) else _core.int64
        ranks[rank] = dtype if ranks[rank] is None else promote_types(ranks[rank], dtype)
    result = None
    for dtype in ranks:
        if result is None:
            result = dtype
        elif dtype is not None and category(dtype) > category(result):
            result = promote_types(result, dtype)
    return result


def can_cast(from_: Any, to: Any) -> bool:
    """Whether a result may be written in place: never to a lower category."""
    return category(from_) <= category(to)


# ----------------------------------------------------------------------------------- formulas
# result: the promoted dtype; that or the default one where it is not floating; bool; as SAME, but
# integers and bool to int64
SAME, FLOATING, MASK, SUM = "same", "floating", "mask", "sum"
# dtypes that an op is computed in, by NumPy's letters of their kinds
ALL, NUMBER, FLOAT, INTEGRAL, INTEGER = "buif", "uif", "f", "bui", "ui"


def floats(formula: Callable) -> Callable:
    """A formula that leaves integers as they are."""
    return lambda x: formula(x) if x.dtype.kind == "f" else x


def integer_power(x: Any, y: Any) -> Any:
    """Negative exponents leave 0, or +-1 for a base of +-1."""
    flip = np.where(y % 2 == 0, 1, -1)
    inverse = np.where(x == 1, 1, np.where(x == -1, flip, 0))
    return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0)))


def power(x: Any, y: Any) -> Any:
    return np.power(x, y) if x.dtype.kind == "f" else integer_power(x, y)


def trunc_divide(x: Any, y: Any) -> Any:
    return np.trunc(x / y) if x.dtype.kind == "f" else (x - np.fmod(x, y)) // y


def lerp(x: Any, y: Any, weight: Any) -> Any:
    """Symmetric around 1/2, so that lerp(x, y, 1) is y."""
    near_x = x + weight * (y - x)
    return np.where(np.abs(weight) < 0.5, near_x, y - (y - x) * (1 - weight))


def erf(x: Any) -> Any:
    return np.array([math.erf(value) for value in x])


Record = tuple[str, str, Callable]  # result, dtypes, formula

UNARY: dict[str, Record] = {
    "neg": (SAME, NUMBER, np.negative),
    "abs": (SAME, NUMBER, np.abs),
    "sign": (SAME, ALL, lambda x: np.where(x > 0, 1, np.where(x < 0, -1, 0))),
    "square": (SAME, NUMBER, lambda x: x * x),
    "cube": (SAME, NUMBER, lambda x: x * x * x),
    "relu": (SAME, NUMBER, lambda x: np.where(x < 0, 0, x)),
    "floor": (SAME, NUMBER, floats(np.floor)),
    "ceil": (SAME, NUMBER, floats(np.ceil)),
    "trunc": (SAME, NUMBER, floats(np.trunc)),
    "round": (SAME, NUMBER, floats(np.rint)),
    "reciprocal": (FLOATING, FLOAT, lambda x: 1 / x),
    "sqrt": (FLOATING, FLOAT, np.sqrt),
    "rsqrt": (FLOATING, FLOAT, lambda x: 1 / np.sqrt(x)),
    "exp": (FLOATING, FLOAT, np.exp),
    "exp2": (FLOATING, FLOAT, lambda x: np.exp2(x, dtype="float64")),
    "expm1": (FLOATING, FLOAT, np.expm1),
    "log": (FLOATING, FLOAT, np.log),
    "log2": (FLOATING, FLOAT, np.log2),
    "log10": (FLOATING, FLOAT, np.log10),
    "log1p": (FLOATING, FLOAT, np.log1p),
    "sin": (FLOATING, FLOAT, np.sin),
    "cos": (FLOATING, FLOAT, np.cos),
    "tan": (FLOATING, FLOAT, np.tan),
    "atan": (FLOATING, FLOAT, np.arctan),
    "tanh": (FLOATING, FLOAT, np.tanh),
    "sigmoid": (FLOATING, FLOAT, lambda x: 1 / (1 + np.exp(-x))),
    "erf": (FLOATING, FLOAT, erf),
    "bitwise_not": (SAME, INTEGRAL, np.invert),
    "frac": (SAME, FLOAT, lambda x: x - np.trunc(x)),
    "deg2rad": (FLOATING, FLOAT, np.deg2rad),
    "rad2deg": (FLOATING, FLOAT, np.rad2deg),
    "asin": (FLOATING, FLOAT, np.arcsin),
    "acos": (FLOATING, FLOAT, np.arccos),
    "sinh": (FLOATING, FLOAT, np.sinh),
    "cosh": (FLOATING, FLOAT, np.cosh),
    "asinh": (FLOATING, FLOAT, np.arcsinh),
    "acosh": (FLOATING, FLOAT, np.arccosh),
    "atanh": (FLOATING, FLOAT, np.arctanh),
    "erfc": (FLOATING, FLOAT, special.each(math.erfc)),
    "erfinv": (FLOATING, FLOAT, special.each(special.inverse_erf)),
    "lgamma": (FLOATING, FLOAT, special.each(special.log_gamma)),
    "digamma": (FLOATING, FLOAT, special.each(special.digamma)),
    "trigamma": (FLOATING, FLOAT, special.each(lambda x: special.polygamma(x, 1))),
    "i0": (FLOATING, FLOAT, special.i0),
    "i1": (FLOATING, FLOAT, special.i1),
    "sinc": (FLOATING, FLOAT, special.sinc),
    "frexp_mantissa": (SAME, FLOAT, lambda x: np.frexp(x)[0]),
    "frexp_exponent": (SAME, FLOAT, lambda x: np.frexp(x)[1]),
    "gelu": (SAME, FLOAT, activation.gelu),
    "gelu_tanh": (SAME, FLOAT, activation.gelu_tanh),
    "silu": (SAME, FLOAT, lambda x: x * activation.sigmoid(x)),
    "mish": (SAME, FLOAT, lambda x: x * np.tanh(np.logaddexp(0, x))),
    "log_sigmoid": (SAME, FLOAT, lambda x: -np.logaddexp(0, -x)),
    "hardsigmoid": (SAME, FLOAT, lambda x: np.clip(x + 3, 0, 6) / 6),
    "hardswish": (SAME, FLOAT, lambda x: x * (np.clip(x + 3, 0, 6) / 6)),
    "selu": (SAME, FLOAT, activation.selu),
    # tests
    "logical_not": (MASK, ALL, lambda x: x == 0),
    "isnan": (MASK, ALL, lambda x: x != x),
    "isinf": (MASK, ALL, special.of_floats(np.isinf)),
    "isfinite": (MASK, ALL, lambda x: ~special.of_floats(lambda x: ~np.isfinite(x))(x)),
    "isposinf": (MASK, ALL, special.of_floats(np.isposinf)),
    "isneginf": (MASK, ALL, special.of_floats(np.isneginf)),
    "signbit": (MASK, ALL, special.signbit),
}
BINARY: dict[str, Record] = {
    "add": (SAME, ALL, np.add),
    "sub": (SAME, NUMBER, np.subtract),
    "mul": (SAME, ALL, np.multiply),
    "div": (FLOATING, FLOAT, np.divide),
    "floor_divide": (SAME, NUMBER, np.floor_divide),
    "trunc_divide": (SAME, NUMBER, trunc_divide),
    "remainder": (SAME, NUMBER, np.remainder),
    "fmod": (SAME, NUMBER, np.fmod),
    "pow": (SAME, NUMBER, power),
    "atan2": (FLOATING, FLOAT, np.arctan2),
    "hypot": (SAME, FLOAT, np.hypot),
    "maximum": (SAME, ALL, np.maximum),
    "minimum": (SAME, ALL, np.minimum),
    "fmax": (SAME, ALL, np.fmax),
    "fmin": (SAME, ALL, np.fmin),
    "copysign": (FLOATING, FLOAT, np.copysign),
    "heaviside": (SAME, ALL, special.heaviside),
    "xlogy": (FLOATING, FLOAT, special.xlogy),
    "logaddexp": (SAME, FLOAT, np.logaddexp),
    "logaddexp2": (SAME, FLOAT, np.logaddexp2),
    "scalbn": (SAME, FLOAT, special.scalbn),
    "logit": (FLOATING, FLOAT, special.logit),
    "polygamma": (FLOATING, FLOAT, special.each(special.polygamma)),
    "gcd": (SAME, INTEGER, np.gcd),
    "lcm": (SAME, INTEGER, np.lcm),
    "bitwise_left_shift": (SAME, INTEGER, special.left_shift),
    "bitwise_right_shift": (SAME, INTEGER, special.right_shift),
    "bitwise_and": (SAME, INTEGRAL, np.bitwise_and),
    "bitwise_or": (SAME, INTEGRAL, np.bitwise_or),
    "bitwise_xor": (SAME, INTEGRAL, np.bitwise_xor),
    "leaky_relu": (SAME, FLOAT, lambda x, y: np.where(x > 0, x, x * y)),
    "elu": (SAME, FLOAT, lambda x, y: np.where(x > 0, x, y * np.expm1(x))),
    "celu": (SAME, FLOAT, lambda x, y: np.where(x > 0, x, y * np.expm1(x / y))),
    "hardshrink": (SAME, FLOAT, lambda x, y: np.where((x >= -y) & (x <= y), 0, x)),
    "softshrink": (SAME, FLOAT, activation.softshrink),
    "glu": (SAME, FLOAT, lambda x, y: x * activation.sigmoid(y)),
    "mse_loss": (SAME, FLOAT, lambda x, y: (x - y) ** 2),
    "l1_loss": (SAME, FLOAT, lambda x, y: np.abs(x - y)),
    "binary_cross_entropy": (SAME, FLOAT, losses.binary_cross_entropy),
    "eq": (MASK, ALL, np.equal),
    "ne": (MASK, ALL, np.not_equal),
    "lt": (MASK, ALL, np.less),
    "le": (MASK, ALL, np.less_equal),
    "gt": (MASK, ALL, np.greater),
    "ge": (MASK, ALL, np.greater_equal),
    "logical_and": (MASK, ALL, np.logical_and),
    "logical_or": (MASK, ALL, np.logical_or),
    "logical_xor": (MASK, ALL, np.logical_xor),
    # gradients, where x is the incoming one
    "relu_backward": (SAME, NUMBER, lambda x, y: np.where(y <= 0, 0, x)),
    "tanh_backward": (SAME, FLOAT, lambda x, y: x * (1 - y * y)),
    "sigmoid_backward": (SAME, FLOAT, lambda x, y: x * (1 - y) * y),
    "gelu_backward": (SAME, FLOAT, activation.gelu_backward),
    "gelu_tanh_backward": (SAME, FLOAT, activation.gelu_tanh_backward),
    "silu_backward": (SAME, FLOAT, activation.silu_backward),
    "mish_backward": (SAME, FLOAT, activation.mish_backward),
    "log_sigmoid_backward": (SAME, FLOAT, lambda x, y: x * activation.sigmoid(-y)),
    "hardsigmoid_backward": (SAME, FLOAT, lambda x, y: np.where(abs(y) < 3, x / 6, 0)),
    "hardswish_backward": (SAME, FLOAT, activation.hardswish_backward),
    "selu_backward": (SAME, FLOAT, activation.selu_backward),
    "prelu_weight_backward": (SAME, FLOAT, lambda x, y: np.where(y > 0, 0, x * y)),
}
TERNARY: dict[str, Record] = {
    "clamp": (SAME, NUMBER, lambda x, y, z: np.minimum(np.maximum(x, y), z)),
    "lerp": (SAME, FLOAT, lerp),
    "addcmul": (SAME, NUMBER, lambda x, y, z: x + y * z),
    "addcdiv": (SAME, FLOAT, lambda x, y, z: x + y / z),
    "softplus": (SAME, FLOAT, activation.softplus),
    "leaky_relu_backward": (SAME, FLOAT, lambda x, y, z: np.where(y > 0, x, x * z)),
    "elu_backward": (SAME, FLOAT, lambda x, y, z: np.where(y > 0, x, x * z * np.exp(y))),
    "celu_backward": (SAME, FLOAT, lambda x, y, z: np.where(y > 0, x, x * np.exp(y / z))),
    "threshold": (SAME, NUMBER, lambda x, y, z: np.where(x <= y, z, x)),
    "threshold_backward": (SAME, FLOAT, lambda x, y, z: np.where(y <= z, 0, x)),
    "shrink_backward": (SAME, FLOAT, lambda x, y, z: np.where((y > z) | (y < -z), x, 0)),
    "glu_gate_backward": (SAME, FLOAT, activation.glu_gate_backward),
    "smooth_l1_loss": (SAME, FLOAT, losses.smooth_l1),
    "huber_loss": (SAME, FLOAT, losses.huber),
    "bce_with_logits": (SAME, FLOAT, losses.bce_with_logits),
    "mse_loss_backward": (SAME, FLOAT, lambda x, y, z: x * 2 * (y - z)),
    "l1_loss_backward": (SAME, FLOAT, lambda x, y, z: x * np.sign(y - z)),
    "binary_cross_entropy_backward": (SAME, FLOAT, losses.bce_backward),
}
QUATERNARY: dict[str, Record] = {
    "nextafter": (SAME, FLOAT, special.nextafter),
    "hardtanh_backward": (SAME, FLOAT, lambda x, y, z, w: np.where((y > z) & (y < w), x, 0)),
    "softplus_backward": (SAME, FLOAT, activation.softplus_backward),
    "smooth_l1_loss_backward": (SAME, FLOAT, losses.smooth_l1_backward),
    "huber_loss_backward": (SAME, FLOAT, lambda x, y, z, w: x * np.clip(y - z, -w, w)),
    "bce_with_logits_backward": (SAME, FLOAT, losses.bce_with_logits_backward),
}
ELEMENTWISE = {**UNARY, **BINARY, **TERNARY, **QUATERNARY}

# (result, dtypes, what no elements give, or None to raise, formula over a row)
REDUCTIONS: dict[str, tuple[str, str, float | None, Callable]] = {
    "sum": (SUM, NUMBER, 0, np.sum),
    "nansum": (SUM, NUMBER, 0, np.nansum),
    "square_sum": (SAME, FLOAT, 0, lambda row: np.sum(np.square(row))),
    "mean": (FLOATING, FLOAT, math.nan, np.mean),
    "prod": (SUM, NUMBER, 1, np.prod),
    "amax": (SAME, ALL, None, np.max),
    "amin": (SAME, ALL, None, np.min),
    "any": (MASK, ALL, 0, np.any),
    "all": (MASK, ALL, 1, np.all),
}
