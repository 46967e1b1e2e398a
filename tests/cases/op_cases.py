"""The one table of op cases: which ops there are, and on what they are tried.

A case is a function of PyTorch's that both packages have under one name, its tensors, and the other
arguments. Every case runs over layouts, dtypes and devices, with `out=`, in place, and for first
and second gradients: next to PyTorch in tests/ops/test_ops.py, to differences in test_ops_alone.py.
The records of ops.def come first; a record without a case fails a test. Ops of shapes and indices
have their cases in tests/functions/test_shape.py and test_index.py.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
DTYPES = ("bool", *INTEGERS, *HALVES, *FLOATS)
# The pairs that promotion is tried on, of all ops; result_type is tried on all pairs.
PAIRS = [
    (a, b)
    for a in DTYPES
    for b in DTYPES
    if a != b
    and (
        "int64" in (a, b)
        or "float32" in (a, b)
        or {a, b} in ({"uint8", "int8"}, {"float16", "bfloat16"}, {"int16", "float16"})
    )
]
DTYPE_SETS = {  # as ops.def names them
    "All": DTYPES,
    "Number": INTEGERS + HALVES + FLOATS,
    "Float": HALVES + FLOATS,
    "Rare": HALVES + FLOATS,
    "Integral": ("bool", *INTEGERS),
    "Integer": INTEGERS,
}
DEVICES = ("cpu", "ref")

# ------------------------------------------------------------------------------ tensors to try on

# How `shape` may lie in memory: strides and offset, in elements.
LAYOUTS: dict[str, Callable[[tuple], tuple[tuple, int]]] = {
    "contiguous": lambda shape: (packed(shape), 0),
    "permuted": lambda shape: (packed(shape[::-1])[::-1], 0),
    "broadcast": lambda shape: ((0, *packed(shape[1:])) if shape else (), 0),
    "offset slice": lambda shape: (packed((*shape[:-1], shape[-1] + 3) if shape else ()), 7),
    "stepped slice": lambda shape: (tuple([2 * s for s in packed(shape)]), 1),
}
SHAPE = (3, 5, 9)
# Shapes that broadcast together, for one, two and three tensors.
SHAPES = {
    1: [(SHAPE,), ((3, 0, 9),), ((1, 1),), ((),), ((2113,),)],
    2: [
        (SHAPE, SHAPE),
        (SHAPE, (5, 1)),
        ((9,), SHAPE),
        ((3, 1, 9), (5, 1)),
        (SHAPE, ()),
        ((), (7,)),
        ((), ()),
        ((1, 1), (1,)),
        ((3, 0, 9), (1, 9)),
        ((2113,), (2113,)),
        (SHAPE, (4,)),  # does not broadcast
    ],
    3: [
        (SHAPE, SHAPE, SHAPE),
        (SHAPE, (5, 1), (9,)),
        ((1, 9), SHAPE, ()),
        ((), (), ()),
        ((0,), (1,), ()),
        (SHAPE, SHAPE, (4,)),  # does not broadcast
    ],
}


def packed(shape: tuple) -> tuple:
    """Strides in row-major order."""
    strides: list[int] = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def numbers(domain: str, dtype: str, count: int, seed: int = 0) -> np.ndarray:
    """`count` numbers of a domain of ops.def, in a flat array."""
    random = np.random.default_rng([seed, sum(map(ord, domain))])
    if dtype == "bool":
        return np.ones(count, bool) if domain == "nonzero" else random.random(count) < 0.5
    if dtype in INTEGERS:
        low = {"positive": 1, "nonzero": 1, "above_one": 1, "probability": 0}.get(
            domain, 0 if dtype == "uint8" else -6
        )
        values = random.integers(low, 7, count)
        if domain == "nonzero" and dtype != "uint8":
            values *= random.choice([-1, 1], count)
        return values.astype(dtype)
    uniform = random.random(count)
    values = {
        "real": 6 * uniform - 3,
        "positive": 0.1 + 4 * uniform,
        "unit": 2 * uniform - 1,
        "nonzero": (0.3 + 3 * uniform) * random.choice([-1, 1], count),
        "small": 2 * uniform - 1,
        "above_one": 1.2 + 3 * uniform,
        "probability": 0.05 + 0.9 * uniform,
    }[domain]
    return values.astype("float32" if dtype == "bfloat16" else dtype)  # NumPy has no bfloat16


# NaN, infinities, both zeros, halves that round to even, the edges of the format.
SPECIALS = (
    math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, -7.0,
    88.0, -104.0, 710.0, -746.0, 1e-8, -1e-8, 1e30, -1e30, 16777217.0,
)  # fmt: skip
SCALARS = (True, False, 0, 3, -2, 300, 0.0, 2.5, -0.5, math.inf, -math.inf, math.nan)


def extremes(dtype: str) -> np.ndarray:
    """The ends of a dtype, and some numbers between them; of bfloat16 as float32."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        ends = np.iinfo(dtype)
        near = [ends.min, ends.min + 1, ends.max - 1, ends.max, ends.max // 2 + 1, 0, 1, 2, 7]
        return np.array(near + [-1, -2, -7] * (ends.min < 0), dtype)
    own = np.finfo("float32" if dtype == "bfloat16" else dtype)
    eps = 2.0**-7 if dtype == "bfloat16" else float(own.eps)
    tiny, largest = float(own.tiny), 2.0 ** (own.maxexp - 1) * (2 - eps)
    sizes = (0.0, tiny * eps, tiny - tiny * eps, tiny, 0.5, 1.0, 2.5, 3.0, largest, math.inf)
    values = [sign * size for size in sizes for sign in (1, -1)]
    return np.array([*values, math.nan], own.dtype)


# ------------------------------------------------------------------------------------------ cases


@dataclass(frozen=True)
class Case:
    """function(*tensors, *args, **kwargs), with one tensor per domain."""

    name: str  # of the case; the function's, then what is special
    domains: tuple[str, ...] = ("real",)
    args: tuple = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    shapes: Any = None  # a list of one shape per tensor, where SHAPES does not fit
    # call(module, *tensors), where it is not module.function: an operator, a number in front, ...
    call: Callable | None = None
    in_place: Callable | None = None  # the call that writes its first tensor, if it is no method
    numpy: Callable | None = None  # the same by NumPy in float64: for the records of ops.def
    ulps: int = 4  # PyTorch's own error is up to 2
    gradient_ulps: int = 256  # of a second gradient, 16 times as many
    specials: bool = True  # NaN and infinity give what PyTorch gives
    dtypes: tuple[str, ...] = DTYPES
    gradient: bool = True
    second: bool = True
    strides: bool = True  # the result lies in memory as PyTorch's does
    composed: bool = False  # of several ops in PyTorch: strides differ where they say nothing
    in_torch: bool = True  # PyTorch has it; else only test_ops_alone.py and NumPy's formula test it

    def __call__(self, module: Any, *tensors: Any, **more: Any) -> Any:
        if self.call is not None:
            return self.call(module, *tensors, **more)
        return getattr(module, self.function)(*tensors, *self.args, **self.kwargs, **more)

    @property
    def function(self) -> str:
        return self.name.split()[0]

    @property
    def arity(self) -> int:
        return len(self.domains)


def record(name: str, *domains: str, numpy: Callable, **options: Any) -> Case:
    return Case(name, domains, numpy=numpy, **options)


def internal(name: str, op: str, *domains: str, theirs: Callable, **options: Any) -> Case:
    """A record that has no public function of its name: it is called by its Op."""

    def call(module: Any, x: Any, y: Any) -> Any:
        if module.__name__ == "torch":
            return theirs(module, x, y)
        from tiny_torch.autograd.apply import apply
        from tiny_torch.ops.elementwise import arithmetic, unary

        return apply({**vars(arithmetic), **vars(unary)}[op], x, y)

    return Case(
        name, domains, call=call, shapes=[(SHAPE, SHAPE), ((), ())], strides=False, **options
    )


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


erf = np.vectorize(math.erf, otypes=[float])

UNARY = [
    record("neg", "real", numpy=np.negative),
    record("abs", "real", numpy=np.abs),
    record("sign", "real", numpy=lambda x: np.sign(x * 1)),
    record("square", "real", numpy=np.square),
    record("cube", "real", numpy=lambda x: x * x * x, call=lambda _, x: x**3),
    record("relu", "real", numpy=lambda x: np.maximum(x, 0)),
    record("floor", "real", numpy=np.floor),
    record("ceil", "real", numpy=np.ceil),
    record("trunc", "real", numpy=np.trunc),
    record("round", "real", numpy=np.round),
    record("reciprocal", "nonzero", numpy=lambda x: 1 / x),
    record("sqrt", "positive", numpy=np.sqrt),
    record("rsqrt", "positive", numpy=lambda x: 1 / np.sqrt(x)),
    record("exp", "real", numpy=np.exp),
    record("exp2", "real", numpy=np.exp2),
    record("expm1", "real", numpy=np.expm1),
    record("log", "positive", numpy=np.log),
    record("log2", "positive", numpy=np.log2),
    record("log10", "positive", numpy=np.log10),
    record("log1p", "positive", numpy=np.log1p),
    record("sin", "real", numpy=np.sin),
    record("cos", "real", numpy=np.cos),
    record("tan", "unit", numpy=np.tan),
    record("atan", "real", numpy=np.arctan),
    record("tanh", "real", numpy=np.tanh),
    record("sigmoid", "real", numpy=sigmoid),
    record("erf", "real", numpy=erf),
    record("bitwise_not", "real", numpy=np.invert),
]
BINARY = [
    record("add", "real", "real", numpy=np.add),
    record("sub", "real", "real", numpy=np.subtract),
    record("mul", "real", "real", numpy=np.multiply),
    record("div", "real", "nonzero", numpy=np.divide),
    record("floor_divide", "real", "nonzero", numpy=np.floor_divide),
    internal(
        "trunc_divide",
        "DivTrunc",
        "real",
        "nonzero",
        theirs=lambda m, x, y: m.div(x, y, rounding_mode="trunc"),
        numpy=lambda x, y: np.trunc(x / y) if x.dtype.kind == "f" else (x - np.fmod(x, y)) // y,
        dtypes=INTEGERS + FLOATS,
    ),
    record("remainder", "real", "nonzero", numpy=np.remainder),
    record("fmod", "real", "nonzero", numpy=np.fmod),
    record("pow", "positive", "positive", numpy=np.power),
    record("atan2", "real", "nonzero", numpy=np.arctan2),
    record("hypot", "real", "real", numpy=np.hypot),
    record("maximum", "real", "real", numpy=np.maximum),
    record("minimum", "real", "real", numpy=np.minimum),
    record("bitwise_and", "real", "real", numpy=np.bitwise_and),
    record("bitwise_or", "real", "real", numpy=np.bitwise_or),
    record("bitwise_xor", "real", "real", numpy=np.bitwise_xor),
    record("eq", "real", "real", numpy=np.equal),
    record("ne", "real", "real", numpy=np.not_equal),
    record("lt", "real", "real", numpy=np.less),
    record("le", "real", "real", numpy=np.less_equal),
    record("gt", "real", "real", numpy=np.greater),
    record("ge", "real", "real", numpy=np.greater_equal),
    record("logical_and", "real", "real", numpy=np.logical_and),
    record("logical_or", "real", "real", numpy=np.logical_or),
    record("logical_xor", "real", "real", numpy=np.logical_xor),
]
TERNARY = [
    record("clamp", "real", "small", "positive", numpy=lambda x, low, high: np.clip(x, low, high)),
    record("lerp", "real", "real", "unit", numpy=lambda x, y, w: x + w * (y - x), ulps=32),
    record("addcmul", "real", "real", "real", numpy=lambda x, y, z: x + y * z, ulps=32),
    record("addcdiv", "real", "real", "nonzero", numpy=lambda x, y, z: x + y / z, ulps=32),
]
GRADIENT_KERNELS = [
    internal(
        "relu_backward", "ReluBackward", "real", "real",
        theirs=lambda m, grad, y: m.ops.aten.threshold_backward(grad, y, 0),
        numpy=lambda grad, y: grad * (y > 0),
        dtypes=INTEGERS + FLOATS,
    ),
    internal(
        "tanh_backward", "TanhBackward", "real", "unit",
        theirs=lambda m, grad, y: m.ops.aten.tanh_backward(grad, y),
        numpy=lambda grad, y: grad * (1 - y * y),
        dtypes=FLOATS, ulps=64,
    ),
    internal(
        "sigmoid_backward", "SigmoidBackward", "real", "unit",
        theirs=lambda m, grad, y: m.ops.aten.sigmoid_backward(grad, y),
        numpy=lambda grad, y: grad * (1 - y) * y,
        dtypes=FLOATS, ulps=64,
    ),
]  # fmt: skip
ROWS = [(SHAPE,), ((4, 3, 37),), ((3, 0, 4),), ((1, 1, 1),), ((0, 2),), ((),), ((2113,),)]


def reduction(name: str, *args: Any, **options: Any) -> Case:
    numpy = options.pop("numpy", None)
    kwargs = options.pop("kwargs", {})
    options.setdefault("shapes", ROWS)
    options.setdefault("ulps", 64)
    return Case(name, ("real",), args, kwargs, numpy=numpy, **options)


REDUCE = [
    reduction("sum", numpy=np.sum),
    Case(
        "square_sum", ("real",), call=lambda m, x: m.linalg.vector_norm(x).square(),
        numpy=lambda x: np.sum(x * x), dtypes=FLOATS, shapes=ROWS, strides=False,
        ulps=1024,  # PyTorch adds one after another
    ),
    reduction("mean", numpy=np.mean),
    reduction("prod", numpy=np.prod),
    reduction("amax", numpy=np.max),
    reduction("amin", numpy=np.min),
    reduction("any", numpy=np.any),
    reduction("all", numpy=np.all),
]  # fmt: skip
RECORDS = UNARY + BINARY + TERNARY + GRADIENT_KERNELS + REDUCE

# ------------------------------------------------------------------------------- beyond ops.def

TWICE = [(SHAPE, SHAPE), (SHAPE, (5, 1)), ((), (7,)), ((), ())]
ALPHA = [
    Case(f"{name} alpha {alpha}", ("real", "real"), kwargs={"alpha": alpha}, ulps=32)
    for name in ("add", "sub")
    for alpha in (2, -1, 0, 0.5, True)
]
POINTWISE = [
    *ALPHA,
    Case("div trunc", ("real", "nonzero"), kwargs={"rounding_mode": "trunc"}),
    Case("div floor", ("real", "nonzero"), kwargs={"rounding_mode": "floor"}),
    Case("div wrongly", ("real", "nonzero"), kwargs={"rounding_mode": "up"}),
    *[Case(f"pow {n}", ("positive",), (n,)) for n in (0, 1, 2, 3, -1, 2.5)],
    # By sqrt in PyTorch: NaN for -inf, where IEEE 754 says inf.
    *[Case(f"pow {n}", ("positive",), (n,), specials=False) for n in (0.5, -0.5)],
    *[
        Case(
            f"pow of {base}",
            ("positive",),
            call=lambda m, x, base=base, **o: m.pow(base, x, **o),
            second=False,
        )
        for base in (0, 0.0)  # PyTorch's second gradient is NaN where the first is constant
    ],
    *[
        Case(f"pow of {base}", ("small",), call=lambda m, x, base=base, **o: m.pow(base, x, **o))
        for base in (2, 2.5, 1)
    ],
    Case("clamp both", ("real",), (-1, 2)),
    Case("clamp floats", ("real",), (-0.5, 1.5)),
    Case("clamp low", ("real",), (-1,)),
    Case("clamp high", ("real",), kwargs={"max": 1}),
    Case("clamp high below low", ("real",), (2, -1)),
    Case("clamp to tensor", ("real", "small")),
    Case("clamp not", ("real",)),
    Case("clip", ("real",), (-1, 2)),
    Case("clamp_min", ("real",), (0.5,)),
    Case("clamp_max", ("real",), (1,)),
    Case("clamp_min of tensor", ("real", "small")),
    Case("clamp_max of tensor", ("real", "small")),
    Case("lerp number", ("real", "real"), (0.25,), ulps=32),
    Case("lerp large", ("real", "real"), (0.75,), ulps=32),
    *[Case(f"addcmul {v}", ("real",) * 3, kwargs={"value": v}, ulps=32) for v in (2, 0.5)],
    *[
        Case(f"addcdiv {v}", ("real", "real", "nonzero"), kwargs={"value": v}, ulps=32)
        for v in (2, 0.5)
    ],
    Case("round decimals", ("real",), kwargs={"decimals": 2}, dtypes=FLOATS),
    Case("round tens", ("real",), kwargs={"decimals": -1}, dtypes=FLOATS),
    Case("round integers", ("real",), kwargs={"decimals": 2}, dtypes=INTEGERS, shapes=[(SHAPE,)]),
    Case("isclose", ("small", "small"), (0.1, 0.5)),
    Case("isclose exactly", ("small", "small"), (0, 0, True)),
    Case("allclose", ("small", "small"), (0.1, 0.5), shapes=TWICE),
    Case("equal", ("small", "small"), shapes=[*TWICE, ((0,), (0,)), ((0,), (2, 0))]),
    Case("where", ("real",) * 3, call=lambda m, c, x, y: m.where(c > 0, x, y)),
    Case("where number", ("real",) * 2, call=lambda m, c, x: m.where(c > 0, x, 2.5)),
    Case("where numbers", ("real",), call=lambda m, c: m.where(c > 0, 1, 2)),
    Case("where not bool", ("real",) * 3, dtypes=FLOATS),
]
DIMS: dict[str, dict] = {
    "last": {"dim": -1},
    "first": {"dim": 0, "keepdim": True},
    "list": {"dim": (0, 2)},
    "none": {"dim": ()},
}
ONE_DIM: dict[str, dict] = {"last": {"dim": -1}, "middle": {"dim": 1, "keepdim": True}}
WRONG: dict[str, dict] = {"twice": {"dim": (1, -2)}, "outside": {"dim": 3}}
REDUCTIONS = [
    *[
        reduction(f"{name} {what}", kwargs=dims)
        for name in ("sum", "mean", "amax", "amin", "any", "all")
        for what, dims in DIMS.items()
    ],
    *[
        reduction(f"{name} {what}", kwargs=dims)
        for name in ("prod", "max", "min", "argmax", "argmin")
        for what, dims in ONE_DIM.items()
    ],
    *[
        reduction(f"{name} {what}", kwargs=dims, shapes=[(SHAPE,)], dtypes=FLOATS)
        for name in ("sum", "mean", "amax", "amin", "any", "all")
        for what, dims in WRONG.items()
    ],
    *[
        reduction(f"{name} outside", kwargs={"dim": -4}, shapes=[(SHAPE,)], dtypes=FLOATS)
        for name in ("prod", "max", "min", "argmax", "argmin")
    ],
    *[reduction(name) for name in ("max", "min", "argmax", "argmin", "var", "std", "norm")],
    *[
        reduction(
            f"{name} to {dtype}",
            call=lambda m, x, name=name, dtype=dtype: getattr(m, name)(x, dtype=getattr(m, dtype)),
        )
        for name in ("sum", "mean", "prod")
        for dtype in ("float64",)
    ],
    *[
        reduction(f"{name} {what}", kwargs=kwargs)
        for name in ("var", "std")
        for what, kwargs in {
            "last": {"dim": -1},
            "list": {"dim": (0, 1), "keepdim": True},
            "biased": {"unbiased": False},
            "correction": {"dim": 1, "correction": 2},
        }.items()
    ],
    # A negative divisor: PyTorch's gradient has its sign, though the value is inf.
    *[
        reduction(f"{name} of few", kwargs={"dim": 1, "correction": 7}, gradient=False)
        for name in ("var", "std")
    ],
    reduction("logsumexp last", -1),
    reduction("logsumexp list", (0, 1), True),
    *[
        reduction(f"norm {p} {what}", p, kwargs=dims, ulps=1024)
        for p in (2, 1, 0, 3, 0.5, math.inf, -math.inf, "fro")
        for what, dims in {
            "all": {},
            "last": {"dim": -1},
            "kept": {"dim": (0, 1), "keepdim": True},
        }.items()
    ],
    Case("max of two", ("real", "real"), call=lambda m, x, y, **o: m.max(x, y, **o)),
    Case("min of two", ("real", "real"), call=lambda m, x, y, **o: m.min(x, y, **o)),
]
MATRICES = [
    ((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((2, 3, 4), (2, 4, 5)), ((6, 1, 3, 4), (2, 4, 5)),
    ((3, 4), (2, 4, 5)), ((2, 1, 4), (4, 5)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((3, 4), (4, 0)),
    ((33, 65), (65, 47)), ((3, 4), (5, 4)), ((), (3,)), ((2, 3, 4), (3, 4, 5)),
]  # fmt: skip
NUMBERS = INTEGERS + FLOATS  # bool matrices raise, but for empty ones
MATMUL = [
    Case("matmul", ("real", "real"), shapes=MATRICES, ulps=64, dtypes=NUMBERS),
    Case("mm", ("real", "real"), shapes=MATRICES[:4] + MATRICES[11:16], ulps=64, dtypes=NUMBERS),
    Case("bmm", ("real", "real"), shapes=MATRICES[4:8] + MATRICES[17:], ulps=64, dtypes=NUMBERS),
    Case("mv", ("real", "real"), shapes=MATRICES[:4], ulps=64, dtypes=NUMBERS),
    Case(
        "dot",
        ("real", "real"),
        shapes=[*MATRICES[:4], ((0,), (0,)), ((5,), (4,))],
        ulps=64,
        dtypes=NUMBERS,
    ),
    Case("outer", ("real", "real"), shapes=[((4,), (5,)), ((0,), (3,)), ((2, 2), (3,))]),
    *[
        Case(
            f"addmm {beta} {alpha}",
            ("real",) * 3,
            kwargs={"beta": beta, "alpha": alpha},
            shapes=[(s, (3, 4), (4, 5)) for s in ((3, 5), (5,), (3, 1), (), (2, 5))],
            ulps=64,
            dtypes=NUMBERS,
        )
        for beta, alpha in ((1, 1), (0, 2), (2, -1))
    ],
    *[
        Case(
            f"linear of {len(shapes[0])}",
            ("real",) * len(shapes[0]),
            call=lambda m, *tensors: m.nn.functional.linear(*tensors),
            shapes=shapes,
            ulps=64,
            dtypes=NUMBERS,
        )
        for shapes in (
            [
                ((3, 4), (5, 4)),
                ((4,), (5, 4)),
                ((2, 3, 4), (5, 4)),
                ((3, 4), (4,)),
                ((0, 4), (5, 4)),
            ],
            [
                ((3, 4), (5, 4), (5,)),
                ((4,), (5, 4), (5,)),
                ((2, 3, 4), (5, 4), (5,)),
                ((2, 3, 4), (5, 4), (1,)),
                ((3, 4), (5, 3), (5,)),
            ],
        )
    ],
]
FUSED = [
    Case(f"{name} {dim}", args=(dim,), shapes=ROWS, ulps=64, dtypes=FLOATS)
    for name in ("softmax", "log_softmax")
    for dim in (-1, 0, 1, 3)
] + [
    Case("softmax of integers", args=(0,), shapes=[(SHAPE,)], dtypes=INTEGERS),
] + [
    Case(
        f"{loss} {reduction}",
        ("real", "real"),
        call=lambda m, x, y, loss=loss, reduction=reduction: getattr(m.nn.functional, loss)(
            x, y, reduction=reduction
        ),
        shapes=TWICE[:1] + TWICE[3:],
        ulps=64,
    )
    for loss in ("mse_loss",)
    for reduction in ("mean", "sum", "none")
] + [
    Case(
        f"cross_entropy {options}",
        ("real",),
        call=lambda m, x, options=options: m.nn.functional.cross_entropy(
            x, m.arange(x.shape[0], device=x.device) % x.shape[1], **options
        ),
        shapes=[((5, 3),), ((1, 7),), ((64, 10),)],
        ulps=64,
        dtypes=FLOATS,
    )
    for options in (
        {}, {"reduction": "sum"}, {"reduction": "none"}, {"ignore_index": 1},
        {"label_smoothing": 0.1},
    )
]  # fmt: skip
CASES = RECORDS + POINTWISE + REDUCTIONS + MATMUL + FUSED

# Operators of Tensor: with a tensor, and with a number on either side.
OPERATORS = {
    name: getattr(operator, name)
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "eq", "ne",
        "lt", "le", "gt", "ge", "lshift", "rshift", "iadd", "isub", "imul", "itruediv", "ifloordiv",
        "imod", "ipow", "iand", "ior", "ixor", "ilshift", "irshift",
    )
}  # fmt: skip
