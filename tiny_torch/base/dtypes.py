"""Element types: their other names, their limits, and which of them a result has.

The dtypes themselves and the rule of promotion are C++'s (src/core/dtypes/dtype.h, promote.h).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tiny_torch import _core
from tiny_torch.base.arguments import wrong_kind

ALIASES = {
    "short": _core.int16,
    "int": _core.int32,
    "long": _core.int64,
    "half": _core.float16,
    "float": _core.float32,
    "double": _core.float64,
    "chalf": _core.complex32,
    "cfloat": _core.complex64,
    "cdouble": _core.complex128,
    "bit": _core.uint1,
}
_core.dtype.__module__ = "tiny_torch"  # where it is public, as its repr says


class Held(dict[Any, Any]):
    """Facts of the dtypes that tensors have; asked of another it raises NotImplementedError."""

    def __missing__(self, dtype: Any) -> Any:
        raise NotImplementedError(f"tiny_torch has no tensors of {dtype}")


# What NumPy's protocols call them; for bfloat16 NumPy has no name.
TYPE_STRINGS = Held(
    {
        _core.bool: "|b1",
        _core.uint8: "|u1",
        _core.int8: "|i1",
        _core.int16: "<i2",
        _core.int32: "<i4",
        _core.int64: "<i8",
        _core.float16: "<f2",
        _core.bfloat16: "<V2",
        _core.float32: "<f4",
        _core.float64: "<f8",
    }
)


def type_name(dtype: Any) -> str:
    """What Tensor.type() calls a CPU tensor: "torch.FloatTensor" for float32."""
    return f"torch.{dtype.scalar_type}Tensor"


def scalar_type(dtype: Any) -> str:
    """A dtype as PyTorch's messages call it: "Long" for int64."""
    return dtype.scalar_type


def cpp_name(dtype: Any) -> str:
    """A dtype as some others of its messages do: "long int" for int64."""
    return dtype.cpp_name


TYPE_NAMES = {type_name(dtype): dtype for dtype in TYPE_STRINGS}


def check_cast(dtype: Any, out: Any) -> None:
    """RuntimeError where a result may not be written to a tensor of a dtype."""
    if not _core.can_cast(dtype, out):
        raise RuntimeError(
            f"result type {scalar_type(dtype)} can't be cast to the desired output type "
            f"{scalar_type(out)}"
        )


def other_type(expected: Any, found: Any) -> RuntimeError:
    return RuntimeError(
        f"expected scalar type {scalar_type(expected)} but found {scalar_type(found)}"
    )


def check_same_type(expected: Any, found: Any) -> None:
    if found is not expected:
        raise other_type(expected, found)


def not_implemented(kernel: str, dtype: Any) -> NotImplementedError:
    """What PyTorch raises where a kernel does not know the dtype."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type(dtype)}'")


def check_implemented(kernel: str, dtype: Any, dtypes: tuple[Any, ...]) -> None:
    """What PyTorch raises where a kernel knows those dtypes alone."""
    if dtype not in dtypes:
        raise not_implemented(kernel, dtype)


HALVES = (_core.float16, _core.bfloat16)
SINGLE_AND_DOUBLE = (_core.float32, _core.float64)
FLOATING = (*SINGLE_AND_DOUBLE, *HALVES)
INDICES = (_core.int64, _core.int32)
NUMERIC = (*FLOATING, *INDICES, _core.int16, _core.int8, _core.uint8)  # all but bool

# ------------------------------------------------------------------------ what may be written

FLOAT_MAX = float(np.finfo("float32").max)
# What C calls a dtype, and the numbers that it takes: negative ints wrap in uint8, as in PyTorch.
RANGES = Held(
    {
        _core.bool: ("bool", -math.inf, math.inf),
        _core.uint8: ("uint8_t", -255, 255),
        _core.int8: ("int8_t", -128, 127),
        _core.int16: ("int16_t", -(2**15), 2**15 - 1),
        _core.int32: ("int", -(2**31), 2**31 - 1),
        _core.int64: ("int64_t", -(2**63), 2**63 - 1),
        _core.float16: ("c10::Half", -65504.0, 65504.0),
        _core.bfloat16: (
            "c10::BFloat16",
            -float.fromhex("0x1.fep127"),
            float.fromhex("0x1.fep127"),
        ),
        _core.float32: ("float", -FLOAT_MAX, FLOAT_MAX),
        _core.float64: ("double", -math.inf, math.inf),
    }
)


def check_range(value: Any, dtype: Any) -> None:
    """RuntimeError where a number does not fit a dtype."""
    name, lowest, highest = RANGES[dtype]
    if lowest <= value <= highest and not (lowest == -255 and value < 0 and type(value) is float):
        return
    if math.isfinite(value) or not (dtype.is_floating_point or dtype is _core.bool):
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")


def check_elements(values: np.ndarray, dtype: Any) -> None:
    """RuntimeError where one of many numbers does not fit an integer dtype."""
    _, lowest, highest = RANGES[dtype]
    if dtype.is_floating_point or dtype is _core.bool or values.size == 0:
        return
    if not (values.min() >= lowest and values.max() <= highest):  # NaN does not either
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")


# ---------------------------------------------------------------------------------- limits


def float_limits(digits: int, exponents: int) -> tuple[float, float, float, float]:
    """eps, max, smallest_normal and resolution, by the bits of the mantissa and the exponent."""
    eps, bias = math.ldexp(1, 1 - digits), 2 ** (exponents - 1) - 1
    resolution = float(f"1e-{int((digits - 1) * math.log10(2))}")
    return eps, math.ldexp(2 - eps, bias), math.ldexp(1, 1 - bias), resolution


FLOATS = {
    _core.float16: float_limits(11, 5),
    _core.bfloat16: float_limits(8, 8),
    _core.float32: float_limits(24, 8),
    _core.float64: float_limits(53, 11),
    _core.float8_e5m2: float_limits(3, 5),
    # Without infinities, by eps, max, smallest_normal and resolution.
    _core.float8_e4m3fn: (0.125, 448.0, 2.0**-6, 1.0),
    _core.float8_e4m3fnuz: (0.125, 240.0, 2.0**-7, 1.0),
    _core.float8_e5m2fnuz: (0.125, 57344.0, 2.0**-15, 1.0),
    _core.float8_e8m0fnu: (1.0, 2.0**127, 2.0**-127, 1.0),  # powers of two, all positive
}
INTEGERS = {getattr(_core, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)}
QUANTIZED = {_core.qint8, _core.qint32, _core.quint8, _core.quint4x2, _core.quint2x4}


class finfo:
    """The limits of a floating point dtype, or of a complex one's parts; of the default dtype if
    none is named.

    bits, eps (the step above 1), max, min (-max if it has a sign), tiny = smallest_normal,
    resolution (10 to minus the decimal digits), dtype (a string). Raises TypeError for other
    dtypes, NotImplementedError for float4_e2m1fn_x2.
    https://pytorch.org/docs/stable/type_info.html

    >>> import tiny_torch as torch
    >>> torch.finfo(torch.float16).max
    65504.0
    """

    __module__ = "tiny_torch"  # where it is public, as its repr says

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: Any = None):
        dtype = _core.get_default_dtype() if type is None else type
        check_dtype("finfo", dtype)
        dtype = dtype.to_real()
        if not dtype.is_floating_point:
            raise TypeError(
                "torch.finfo() requires a floating point input type. "
                "Use torch.iinfo to handle 'torch.finfo'"
            )
        if dtype not in FLOATS:
            raise not_implemented("epsilon", dtype)
        self.dtype = dtype.name
        self.bits = 8 * dtype.itemsize
        self.eps, self.max, self.tiny, self.resolution = FLOATS[dtype]
        self.min, self.smallest_normal = -self.max if dtype.is_signed else self.tiny, self.tiny

    def __repr__(self) -> str:
        fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({''.join(f'{f}={getattr(self, f):g}, ' for f in fields)}dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class iinfo:
    """The limits of an integer dtype: bits, max, min, dtype (a string).

    Raises TypeError for dtypes that are no whole bytes of an integer, NotImplementedError for
    quantised ones.
    https://pytorch.org/docs/stable/type_info.html

    >>> import tiny_torch as torch
    >>> torch.iinfo(torch.int8).min
    -128
    """

    __module__ = "tiny_torch"  # where it is public, as its repr says

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: Any):
        check_dtype("iinfo", type)
        if type is _core.bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type in QUANTIZED:
            raise not_implemented("dtype", type)
        if type not in INTEGERS:
            raise TypeError(
                "torch.iinfo() requires an integer input type. "
                "Use torch.finfo to handle 'torch.iinfo'"
            )
        self.dtype = type.name
        self.bits = 8 * type.itemsize
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -self.max - 1 if type.is_signed else 0

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


def check_dtype(function: str, dtype: Any) -> None:
    if not isinstance(dtype, _core.dtype):
        raise wrong_kind(function, "type", "torch.dtype", dtype, 1)


# --------------------------------------------------------------------------------- promotion


def promote_types(type1: Any, type2: Any) -> Any:
    """The smallest dtype that both convert to. Raises TypeError for what is no dtype.

    https://pytorch.org/docs/stable/generated/torch.promote_types.html

    >>> import tiny_torch as torch
    >>> torch.promote_types(torch.int32, torch.float16)
    torch.float16
    """
    return _core.promote_types(type1, type2)


def can_cast(from_: Any, to: Any) -> bool:
    """Whether results of one dtype may be written to another: not from a higher category.

    https://pytorch.org/docs/stable/generated/torch.can_cast.html
    """
    return _core.can_cast(from_, to)


FUNCTIONS: dict[str, Any] = {
    **{name: dtype for name, dtype in vars(_core).items() if isinstance(dtype, _core.dtype)},
    **ALIASES,
    "finfo": finfo,
    "iinfo": iinfo,
    "promote_types": promote_types,
    "can_cast": can_cast,
}
