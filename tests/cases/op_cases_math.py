"""Op cases of elementary and special functions, floats' parts, shifts and aliases."""

import operator

import numpy as np
from cases.op_cases import DTYPES, FLOATS, HALVES, INTEGERS, SHAPE, Case, record

from tiny_torch.base.reference import special


def broadcast(function):
    """A function of flat arrays, on any shapes."""

    def call(*arrays):
        arrays = np.broadcast_arrays(*arrays)
        return function(*[array.ravel() for array in arrays]).reshape(arrays[0].shape)

    return call


def shift(function):
    return lambda x, y: function(*np.broadcast_arrays(x, y))


# PyTorch's trigamma is as good as a float32 in float64, too: it sums to 6, and takes three terms of
# the series.
BY_TRIGAMMA: dict = {"gradient_ulps": 2**26}

RECORDS = [
    record("frac", "real", numpy=lambda x: x - np.trunc(x)),
    record("deg2rad", "real", numpy=np.deg2rad, composed=True),
    record("rad2deg", "real", numpy=np.rad2deg, composed=True),
    record("asin", "unit", numpy=np.arcsin),
    record("acos", "unit", numpy=np.arccos),
    record("sinh", "real", numpy=np.sinh),
    record("cosh", "real", numpy=np.cosh),
    record("asinh", "real", numpy=np.arcsinh),
    record("acosh", "above_one", numpy=np.arccosh),
    record("atanh", "unit", numpy=np.arctanh),
    record("erfc", "real", numpy=broadcast(special.each(special.math.erfc))),
    record("erfinv", "unit", numpy=broadcast(special.each(special.inverse_erf)), ulps=16),
    record(
        "lgamma",
        "positive",
        numpy=broadcast(special.each(special.log_gamma)),
        ulps=32,
        **BY_TRIGAMMA,
    ),
    record(
        "digamma",
        "positive",
        numpy=broadcast(special.each(special.digamma)),
        ulps=32,
        **BY_TRIGAMMA,
    ),
    Case(
        "trigamma",
        ("positive",),
        call=lambda m, x, **o: m.polygamma(1, x, **o),
        numpy=lambda x: broadcast(special.each(special.polygamma))(x, np.array(1)),
        ulps=2**26,
        specials=False,  # PyTorch's is finite at the poles: its sin(pi x) is not 0 there
    ),
    # PyTorch's quotient of infinities is NaN, and e^x overflows before the result does
    record("i0", "real", numpy=broadcast(special.i0), ulps=32, specials=False),
    Case(
        "i1",
        ("real",),
        call=lambda m, x, **o: m.special.i1(x, **o),
        numpy=broadcast(special.i1),
        ulps=32,
        specials=False,
    ),
    record("sinc", "real", numpy=np.sinc, ulps=32, gradient_ulps=4096),  # PyTorch's cancels near 0
    *[
        Case(
            f"frexp_{part}",
            call=lambda m, x, i=i: m.frexp(x)[i],
            numpy=lambda x, i=i: np.frexp(x)[i],
            composed=True,
        )
        for i, part in enumerate(("mantissa", "exponent"))
    ],
    record("logical_not", "real", numpy=np.logical_not),
    record("isnan", "real", numpy=np.isnan),
    record("isinf", "real", numpy=np.isinf, composed=True),
    record("isfinite", "real", numpy=np.isfinite, composed=True),
    record("isposinf", "real", numpy=np.isposinf),
    record("isneginf", "real", numpy=np.isneginf),
    record("signbit", "real", numpy=special.signbit),
    record("fmax", "real", "real", numpy=np.fmax),
    record("fmin", "real", "real", numpy=np.fmin),
    record("copysign", "real", "nonzero", numpy=np.copysign),
    record("heaviside", "real", "real", numpy=special.heaviside),
    record("nextafter", "real", "real", numpy=np.nextafter, ulps=0),
    record("xlogy", "real", "positive", numpy=special.xlogy),
    record("logaddexp", "real", "real", numpy=np.logaddexp, ulps=32),
    record("logaddexp2", "real", "real", numpy=np.logaddexp2, ulps=32),
    Case(
        "scalbn",
        ("real", "small"),
        call=lambda m, x, y: m.ldexp(x, y.floor().int()),
        numpy=special.scalbn,
        dtypes=FLOATS,
        strides=False,  # those of the whole powers
        specials=False,
        gradient=False,  # of ldexp, below
    ),
    Case("logit", ("probability",), numpy=lambda x: special.logit(x, np.array(-1.0)), ulps=64),
    Case(
        "polygamma",
        ("positive",),
        call=lambda m, x, **o: m.polygamma(2, x, **o),
        numpy=lambda x: broadcast(special.each(special.polygamma))(x, np.array(2)),
        ulps=32,
        specials=False,  # PyTorch's order 2 is NaN at inf
    ),
    record("gcd", "real", "real", numpy=np.gcd),
    record("lcm", "real", "real", numpy=np.lcm),
    record("bitwise_left_shift", "real", "real", numpy=shift(special.left_shift)),
    record("bitwise_right_shift", "real", "real", numpy=shift(special.right_shift)),
]

SAME_SHAPES = [(SHAPE,), ((),), ((0, 3),)]
ALIASES = {
    "absolute": ("real",),
    "arccos": ("unit",),
    "arccosh": ("above_one",),
    "arcsin": ("unit",),
    "arcsinh": ("real",),
    "arctan": ("real",),
    "arctan2": ("real", "nonzero"),
    "arctanh": ("unit",),
    "divide": ("real", "nonzero"),
    "fix": ("real",),
    "greater": ("real", "real"),
    "greater_equal": ("real", "real"),
    "less": ("real", "real"),
    "less_equal": ("real", "real"),
    "multiply": ("real", "real"),
    "negative": ("real",),
    "not_equal": ("real", "real"),
    "subtract": ("real", "real"),
    "true_divide": ("real", "nonzero"),
}
PARTS = [
    Case("sgn"),
    Case("angle"),
    Case("positive"),
    Case("rsub", ("real", "real"), call=lambda m, x, y: m.rsub(x, y, alpha=2), ulps=32),
    # Second gradients: PyTorch's trigamma has a relative error of 2e-5 in float32.
    Case("mvlgamma", ("positive",), call=lambda m, x: m.mvlgamma(x + 2, 3), ulps=64, second=False),
    Case("frexp", dtypes=FLOATS),
    Case("frexp of integers", dtypes=INTEGERS),
    # PyTorch's float32 powers differ in a last bit, which counts next to a float64.
    Case("ldexp", ("real", "small"), dtypes=DTYPES[:-1]),
    Case("ldexp in float64", ("real", "small"), dtypes=("bool", *INTEGERS, "float64")),
    *[
        Case(
            f"ldexp by whole powers to {most}",
            ("real", "small"),
            call=lambda m, x, y, n=most: m.ldexp(x, ((y.abs() if n < 100 else y) * n).long()),
            dtypes=(*HALVES, *FLOATS),
            specials=False,  # NaN has no whole number
            gradient=most < 100,  # PyTorch's is 0 for negative powers, which integers cannot hold
        )
        for most in (40, 140, 2000)
    ],
    Case("float_power", ("positive", "real")),
    Case("float_power 2", ("positive",), (2,)),
    Case("float_power of 2", ("real",), call=lambda m, x, **o: m.float_power(2, x, **o)),
    Case("nan_to_num"),
    Case("nan_to_num 1", args=(1.5, 2, -3)),
    Case("nan_to_num None", args=(None,), kwargs={"neginf": -1e3}),
]
SPECIAL = [
    *[
        Case(f"logit {eps}", ("probability",), (eps,), specials=False, ulps=64)
        for eps in (0.2, 0.0, 1)
    ],
    *[
        Case(
            f"polygamma {n}",
            ("positive",),
            call=lambda m, x, n=n, **o: m.polygamma(n, x, **o),
            ulps=64,
            specials=n == 0,
            **(BY_TRIGAMMA if n == 0 else {}),
        )
        for n in (0, 3, 7)
    ],
    Case("polygamma negatively", call=lambda m, x: m.polygamma(-1, x)),
    Case(
        "polygamma below zero",
        ("small",),
        call=lambda m, x: m.polygamma(3, x - 2),
        dtypes=FLOATS,
        ulps=256,
        specials=False,
    ),
    Case(
        "lgamma below zero",
        call=lambda m, x: m.lgamma(x - 3),
        dtypes=FLOATS,
        ulps=64,
        **BY_TRIGAMMA,
    ),
    Case(
        "digamma below zero",  # away from the poles, where PyTorch's tan(pi x) is inexact
        ("unit",),
        call=lambda m, x: m.digamma(x * 0.3 - 2.5),
        dtypes=FLOATS,
        ulps=256,
        **BY_TRIGAMMA,
    ),
    *[
        Case(f"xlogy of {n}", ("positive",), call=lambda m, y, n=n, **o: m.xlogy(n, y, **o))
        for n in (0, 2, 1.5)
    ],
]
OF_NUMBERS = [
    Case(
        f"{name} of {n}",
        ("nonzero",),
        call=lambda m, y, f=name, n=n: getattr(m, f)(n, y),
        gradient=name != "remainder",
    )
    for name in (
        "add", "sub", "mul", "div", "floor_divide", "remainder", "bitwise_and", "bitwise_or",
        "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "fmod", "lt",
    )
    for n in (7, 2.5, True)
]  # fmt: skip
SHIFTS = [
    Case(f"{op.__name__} {n}", call=lambda m, x, op=op, n=n: op(x, n))
    for op in (operator.lshift, operator.rshift, operator.ilshift, operator.irshift)
    for n in (0, 1, 5, 31, 64, -1, 1.0, True)
] + [
    Case(f"{n} {op.__name__}", call=lambda m, x, op=op, n=n: op(n, x))
    for op in (operator.lshift, operator.rshift)
    for n in (0, 1, -7, 1.0)
]
CASES = [
    *RECORDS,
    *[Case(name, domains) for name, domains in ALIASES.items()],
    *PARTS,
    *SPECIAL,
    *OF_NUMBERS,
    *SHIFTS,
]
