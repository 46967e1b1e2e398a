"""Ops at the ends of their dtypes: zeros of either sign, subnormals, infinities and NaN in operands
that are repeated, compared by their sign bits too; and integers, which wrap around.
"""

import numpy as np
import pytest
from cases.all_cases import RECORDS
from cases.op_cases import DTYPE_SETS, FLOATS, HALVES, INTEGERS, extremes
from helpers import EPSILON, all_failures, array_of, check, flatten, outcome

import tiny_torch
from tiny_torch import _core

KINDS = {name: (kind, DTYPE_SETS[dtypes]) for kind, name, _, dtypes, _ in _core.op_records()}
assert not [case.name for case in RECORDS if case.name not in KINDS], "no ops of ops.def: CASES"
ELEMENTWISE = [case for case in RECORDS if KINDS[case.name][0] != "reduce"]
LENGTHS = (3, 100)  # less than a vector; several and a tail

# How an operand may be one element again and again.
FORMS = {
    "expanded": lambda one, n: one.expand(n),
    "one element": lambda one, n: one,
    "0-d": lambda one, n: one.reshape(()),
    "number": lambda one, n: one.item(),
}


def by_name(cases):
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases])


def tensor_of(module, values, dtype):
    if dtype != "bfloat16":
        return module.from_numpy(values)
    bits = np.where(np.isnan(values), 0x7FC0, values.view("uint32") >> 16)
    return module.from_numpy(bits.astype("uint16").view("int16")).view(module.bfloat16)


def forms_of(case, place):
    if case.arity == 1 or case.shapes is not None:
        return ["expanded"]
    return list(FORMS) if place > 0 and case.call is None else list(FORMS)[:3]


def plans(case):
    """(dtype, place of the repeated operand, its form, its value, elements of the others)"""
    for dtype in case.dtypes:
        if dtype not in HALVES + FLOATS or dtype not in KINDS[case.name][1]:
            continue
        for place in range(case.arity):
            for form in forms_of(case, place):
                for value in extremes(dtype):
                    yield dtype, place, form, value, LENGTHS[-1]
                yield dtype, place, form, -0.0, LENGTHS[0]


def call(module, case, dtype, place, form, value, n):
    """The case, of which the operand at `place` is the value; of form None, n of them."""
    values = extremes(dtype)
    tensors = [
        tensor_of(module, np.resize(np.roll(values, 2 * k + 1), n), dtype)
        for k in range(case.arity)
    ]
    one = tensor_of(module, np.array([value], values.dtype), dtype)
    tensors[place] = FORMS[form](one, n) if form else one.repeat(n)
    return case(module, *tensors)


def differing(ours, theirs, ulps, dtype):
    """Places where values differ by more than some ulps, or zeros in sign; NaN equals NaN. With
    ulps, subnormal numbers may be flushed to zero, as some of PyTorch's functions do."""
    if ours.dtype.kind != "f":
        return np.flatnonzero(ours != theirs)
    with np.errstate(all="ignore"):
        wide = theirs.astype("float64")
        tiny = float(tiny_torch.finfo(getattr(tiny_torch, dtype)).tiny)
        near = abs(ours - wide) <= ulps * EPSILON[dtype] * abs(wide) + (2 * tiny if ulps else 0)
    same = (ours == theirs) & ((ours != 0) | (np.signbit(ours) == np.signbit(theirs)))
    near &= (ours != 0) | (theirs != 0)
    return np.flatnonzero(~(same | near | (np.isnan(ours) & np.isnan(theirs))))


def fail_unless_same(ours, theirs, ulps, case, plan):
    dtype, place, form, value, _ = plan
    ours, theirs = (x if isinstance(x, np.ndarray) else array_of(x) for x in (ours, theirs))
    wrong = differing(ours, theirs, ulps, dtype)
    if ulps and case.name in THEIRS:
        wrong = wrong[~THEIRS[case.name](ours, theirs)[wrong]]
    assert not wrong.size, (
        f"{case.name} {dtype} {value} as {form} at {place}: "
        f"{ours[wrong][:3]}, not {theirs[wrong][:3]} at {wrong[:3]}"
    )


@by_name(ELEMENTWISE)
def test_a_repeated_operand_is_like_a_dense_one(case):
    with all_failures() as collect:
        for plan in plans(case):
            form = plan[2]
            if form == "number" and case.name in ("pow", "trunc_divide"):
                continue  # computed in another way: against PyTorch below
            error, ours = outcome(lambda p=plan: call(tiny_torch, case, *p))
            refused, dense = outcome(lambda p=plan: call(tiny_torch, case, *p[:2], None, *p[3:]))
            if refused is not None or (form == "number" and isinstance(error, TypeError)):
                continue
            with collect:
                assert error is None, f"{case.name} {plan}: {error!r}"
                fail_unless_same(ours[0], dense[0], 0, case, plan)


# What PyTorch answers in another way, of ours and theirs.
THEIRS = {
    "remainder": lambda ours, theirs: np.isnan(theirs),  # of a large quotient
    "fmod": lambda ours, theirs: np.isnan(theirs),
    "lerp": lambda ours, theirs: ~np.isfinite(ours) | (ours == 0),  # fuses a product and a sum
    "addcmul": lambda ours, theirs: ~np.isfinite(ours),
    "softshrink": lambda ours, theirs: ours == 0,  # -0 in the last elements only
    **{  # of zeros that compare equal, another one in the last elements
        name: lambda ours, theirs: ours == 0
        for name in ("maximum", "minimum", "clamp", "fmax", "fmin")
    },
    "logaddexp2": lambda ours, theirs: ours == 0,  # less exact
}


@pytest.mark.torch
@by_name([case for case in ELEMENTWISE if case.specials and case.shapes is None])
def test_repeated_operands(oracle, case):
    with all_failures() as collect:
        for plan in plans(case):
            error, expected = outcome(lambda p=plan: call(oracle, case, *p))
            if error is not None:
                continue
            with collect:
                ours = call(tiny_torch, case, *plan)
                fail_unless_same(ours, expected[0], max(case.ulps, 8), case, plan)


# Functions of C's, whose zeros have NumPy's signs.
AS_IN_C = (
    "neg", "abs", "floor", "ceil", "trunc", "round", "reciprocal", "sqrt", "expm1", "log1p", "sin",
    "tan", "atan", "tanh", "asin", "sinh", "asinh", "atanh", "add", "sub", "mul", "div", "atan2",
    "hypot", "copysign", "fmod", "pow", "signbit", "eq", "lt", "logical_and", "frexp_mantissa",
    "nextafter",
)  # fmt: skip


# Which take no number, or compute with it in another way (pow by roots).
NUMBERLESS = ("atan2", "hypot", "logical_and", "nextafter", "pow")


@by_name([case for case in ELEMENTWISE if case.name in AS_IN_C])
def test_repeated_operands_as_numpys(case):
    with all_failures() as collect:
        for plan in plans(case):
            dtype, place, form, value, n = plan
            if dtype not in FLOATS or (form == "number" and case.name in NUMBERLESS):
                continue
            arrays = [np.resize(np.roll(extremes(dtype), 2 * k + 1), n) for k in range(case.arity)]
            arrays[place] = np.full(n, value, dtype)
            with np.errstate(all="ignore"):
                expected = case.numpy(*arrays)
            with collect:
                ours = call(tiny_torch, case, *plan)
                fail_unless_same(ours, expected, 8, case, plan)


# Of a zero, or a number of them, with the sign of -0.0; n elements.
NEGATIVE_ZEROS = {
    "div": lambda m, z, n: m.ones_like(z.repeat(n)) / -0.0,
    "number / expanded": lambda m, z, n: 1 / z.expand(n),
    "atan2": lambda m, z, n: m.atan2(z, m.full_like(z.repeat(n), -1)),
    "copysign": lambda m, z, n: m.ones_like(z.repeat(n)).copysign(-0.0),
    "where": lambda m, z, n: m.where(m.ones(n) > 0, z, 1.0),
    "where number": lambda m, z, n: m.where(m.ones(n) > 0, -0.0, z.repeat(n) + 1),
    "masked_fill": lambda m, z, n: (z.repeat(n) + 1).masked_fill(m.ones(n) > 0, -0.0),
    "clamp": lambda m, z, n: m.ones_like(z.repeat(n)).clamp(-1, -0.0),
    "clamp_min": lambda m, z, n: (z.repeat(n) - 1).clamp_min(-0.0),
    "threshold": lambda m, z, n: m.nn.functional.threshold(z.repeat(n), 1, -0.0),
    "full": lambda m, z, n: m.full((n,), -0.0, dtype=z.dtype),
    "fill_": lambda m, z, n: m.ones_like(z.repeat(n)).fill_(-0.0),
    "contiguous": lambda m, z, n: z.expand(n).contiguous(),
    "item assignment": lambda m, z, n: assigned(z.repeat(n) + 1, -0.0),
    "nan_to_num": lambda m, z, n: (z.repeat(n) * m.nan).nan_to_num(-0.0),
    "pad": lambda m, z, n: m.nn.functional.pad(z, (n, 0), value=-0.0),
    "add": lambda m, z, n: z.repeat(n) + -0.0,
    "sub": lambda m, z, n: z.expand(n) - 0.0,
    "mul": lambda m, z, n: m.ones_like(z.repeat(n)) * -0.0,
    "pow": lambda m, z, n: z.expand(n) ** 3,
    "rsub": lambda m, z, n: -0.0 - m.zeros_like(z.repeat(n)),
    "addcmul": lambda m, z, n: m.addcmul(z.expand(n), z, m.ones_like(z)),
    "scatter": lambda m, z, n: (z.repeat(n) + 1).scatter(0, m.arange(n), -0.0),
    "index_fill": lambda m, z, n: (z.repeat(n) + 1).index_fill(0, m.arange(n), -0.0),
    "cat": lambda m, z, n: m.cat([z.expand(n), z]),
    "max_pool": lambda m, z, n: m.nn.functional.max_pool1d(z.expand(1, 1, n), 1),
    "amax": lambda m, z, n: z.expand(2, n).amax(0),
    "to double": lambda m, z, n: z.expand(n).double(),
    "to half": lambda m, z, n: z.expand(n).half(),
}


def assigned(x, value):
    x[:] = value
    return x


@pytest.mark.parametrize("dtype", HALVES + FLOATS)
@pytest.mark.parametrize("name", NEGATIVE_ZEROS)
def test_a_negative_zero_keeps_its_sign(torch, name, dtype):
    for n in (1, 3, 16, 100):
        zero = torch.tensor([-0.0], dtype=getattr(torch, dtype))
        assert np.signbit(array_of(NEGATIVE_ZEROS[name](torch, zero, n))).all(), n


# ------------------------------------------------------------------------------ any byte is a bool

OF_BOOLS = {
    "order": lambda m, x: (x.sort(), x.unique(), x.mode(), x.max()),
    "scan": lambda m, x: (x.cummax(0), x.cummin(0), x.cumsum(0), x.sum(), x.any(), x.all()),
    "numbers": lambda m, x: (x.int(), x.half(), x.double(), x * x, ~x, x ^ x, x == x.clone()),
    "moved": lambda m, x: [
        y.int() for y in (x.flip(0), x.repeat(2), x.take(m.tensor([0, 1])), m.cat([x, x]))
    ],
    "masks": lambda m, x: (x.nonzero(), m.where(x, 1, 2), m.arange(6)[x], x.count_nonzero()),
    "items": lambda m, x: m.tensor([*x.tolist(), x[0].item()]),
}


@pytest.mark.parametrize("name", OF_BOOLS)
def test_bytes_other_than_0_are_true(name):
    """They are in memory that nobody wrote, or somebody else."""
    given = tiny_torch.frombuffer(bytearray([190, 0, 1, 2, 0, 255]), dtype=tiny_torch.bool)
    plain = tiny_torch.tensor([True, False, True, True, False, True])
    results = [flatten(OF_BOOLS[name](tiny_torch, x)) for x in (given, plain)]
    for a, b in zip(*results, strict=True):
        assert a.equal(b)


# ---------------------------------------------------------------------------- integers wrap around


def grid(case, dtype):
    values = extremes(dtype)
    axes = []
    for domain in case.domains:
        allowed = {"nonzero": values != 0, "positive": values >= 0}.get(domain, values == values)
        axes.append(values[allowed])
    return [np.ascontiguousarray(g).ravel() for g in np.meshgrid(*axes)]


def integer_plans(case):
    return [d for d in INTEGERS if d in case.dtypes and d in KINDS[case.name][1]]


# NumPy's lcm of int32 wraps to another sign than PyTorch's.
@by_name([case for case in ELEMENTWISE if integer_plans(case) and case.name != "lcm"])
def test_integers_wrap_as_numpys(case):
    for dtype in integer_plans(case):
        arrays = grid(case, dtype)
        with np.errstate(all="ignore"):
            expected = np.asarray(case.numpy(*arrays))
        found = array_of(case(tiny_torch, *map(tiny_torch.from_numpy, arrays)))
        np.testing.assert_array_equal(found, expected.astype(found.dtype), f"{case.name} {dtype}")


@pytest.mark.torch
@by_name([case for case in ELEMENTWISE if integer_plans(case) and case.name != "trunc_divide"])
def test_integers_wrap(oracle, case):
    with all_failures() as collect:
        for dtype in integer_plans(case):
            arrays = grid(case, dtype)
            if case.name in ("gcd", "lcm"):  # PyTorch's trap: the lowest has no magnitude
                low = np.iinfo(dtype).min if dtype != "uint8" else 1
                keep = (arrays[0] != low) & (arrays[1] != low)
                arrays = [np.ascontiguousarray(a[keep]) for a in arrays]
            with collect:
                check(
                    f"{case.name} {dtype}",
                    lambda a=arrays: case(tiny_torch, *map(tiny_torch.from_numpy, a)),
                    lambda a=arrays: case(oracle, *map(oracle.from_numpy, a)),
                )


# Of a vector x of extremes, and of w, the same in another order: sums of products.
RING = {
    "sum": lambda m, x, w: (x.sum(), x.sum(0), x.reshape(-1, 3).sum(1), x.sum(dtype=x.dtype)),
    "sum of columns": lambda m, x, w: m.stack([x, w, w]).repeat(40, 70).sum(0),
    "prod": lambda m, x, w: (x.prod(), x.reshape(-1, 3).prod(1), (x | 1).prod(dtype=x.dtype)),
    "nansum": lambda m, x, w: x.nansum(),
    "cumsum": lambda m, x, w: (x.cumsum(0), x.cumsum(0, dtype=x.dtype), x.repeat(2000).cumsum(0)),
    "cumprod": lambda m, x, w: ((x | 1).cumprod(0), (x | 1).cumprod(0, dtype=x.dtype)),
    "diff": lambda m, x, w: (x.diff(), x.diff(n=3)),
    "trace": lambda m, x, w: m.outer(x, w).trace(),
    "matmul": lambda m, x, w: (x.dot(w), m.outer(x, w) @ m.outer(w, x), m.outer(x, w) @ x),
    "addmm": lambda m, x, w: m.addmm(x, m.outer(x, w), m.outer(w, x), beta=7, alpha=-7),
    "baddbmm": lambda m, x, w: m.baddbmm(
        x.reshape(1, 1, -1), m.outer(x, w)[None], m.outer(w, x)[None], beta=-2, alpha=3
    ),
    "einsum": lambda m, x, w: m.einsum("i,j,j->i", x, w, w),
    "cross": lambda m, x, w: m.linalg.cross(x.reshape(-1, 3), w.reshape(-1, 3)),
    "alpha": lambda m, x, w: (m.add(x, w, alpha=7), m.sub(x, w, alpha=7)),
    "addcmul": lambda m, x, w: m.addcmul(x, x, w, value=7),
    "powers": lambda m, x, w: (x**2, x**3, x**7, x.square(), m.vander(x)),
    "scatter_add": lambda m, x, w: m.zeros_like(x).scatter_add(0, m.arange(len(x)) % 3, x),
    "scatter_reduce": lambda m, x, w: m.ones_like(x).scatter_reduce(
        0, m.arange(len(x)) % 3, x | 1, "prod"
    ),
    "index_add": lambda m, x, w: m.zeros_like(x).index_add(0, m.arange(len(x)) % 3, x, alpha=3),
    "index_put": lambda m, x, w: x.index_put((m.arange(len(x)) % 3,), w, accumulate=True),
    "conv1d": lambda m, x, w: m.nn.functional.conv1d(
        x.reshape(1, 1, -1), w[:3].reshape(1, 1, 3), w[:1], padding=1
    ),
}
# What else integers have.
WRAPPING = {
    **RING,
    "conv_transpose1d": lambda m, x, w: m.nn.functional.conv_transpose1d(
        x.reshape(1, 1, -1), w[:3].reshape(1, 1, 3)
    ),
    "avg_pool": lambda m, x, w: [
        m.nn.functional.avg_pool2d(m.outer(x, w)[None], size, divisor_override=by)
        for size in (1, 2, (1, 9), (9, 1), (9, 9))
        for by in (None, 1, 3, -2)
    ],
    "max_pool": lambda m, x, w: m.nn.functional.max_pool1d(x[None], 2),
    "order": lambda m, x, w: (x.median(), x.mode(), x.sort(), x.topk(3), x.argmax(), x.aminmax()),
    "number on the left": lambda m, x, w: (7 ** x.abs(), 7 - x, 7 * x, 7 // (x | 1), 7 % (x | 1)),
    "bits": lambda m, x, w: (~x, x << 1, x >> 1, x.sign(), x.clamp(w), x.floor()),
    "trapezoid": lambda m, x, w: m.trapezoid(x),
}


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
@pytest.mark.parametrize("name", RING)
def test_sums_of_products_know_no_width(name, dtype):
    """Modulo 2^64, and then modulo a smaller power of two, is modulo that."""
    wide = np.resize(extremes("int64"), 12)
    x, w = map(tiny_torch.from_numpy, (wide, wide[::-1].copy()))
    narrow = getattr(tiny_torch, dtype)
    expected = flatten(RING[name](tiny_torch, x, w))
    found = flatten(RING[name](tiny_torch, x.to(narrow), w.to(narrow)))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a.to(narrow).numpy(), b.to(narrow).numpy())


@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_a_divisor_that_is_written_over_divides_as_it_was(name):
    x = tiny_torch.arange(1, 12, dtype=tiny_torch.uint8).as_strided((3, 4, 5), (1, 1, 1))
    divide = getattr(tiny_torch, name)
    assert divide(x, x, out=x) is x  # remainders of 0 were divisors of other elements: a trap


@pytest.mark.parametrize("round_", [lambda x: x.bfloat16(), lambda x: x.bfloat16() * 1])
@pytest.mark.parametrize("n", [1, 16, 31, 33, 4099])
def test_bfloat16_is_rounded_to_even_beside_any_other_float(round_, n):
    """NaNs, subnormals and ties among 0 to 3 numbers: vectors that have some are rounded in
    another way."""
    bits = np.random.default_rng(n).integers(0, 2**32, (8, n), dtype=np.uint32)
    special = np.array([0x7F800001, 0xFFC12345, 0x00000001, 0x807FFFFF, 0x3F808000, 0x3F818000])
    for row, few in zip(bits, [1, 2, 5, 20, 100, n, n, n], strict=True):
        row[::few] = np.resize(special, row[::few].size)
    word = bits.astype(np.uint64)
    nan = np.isnan(bits.view(np.float32))
    expected = np.where(nan, 0x7FC0, (word + 0x7FFF + (word >> 16 & 1)) >> 16).astype(np.uint16)
    for row, want in zip(bits.view(np.float32), expected, strict=True):
        found = round_(tiny_torch.from_numpy(row.copy()))
        np.testing.assert_array_equal(found.view(tiny_torch.int16).numpy().view(np.uint16), want)


@pytest.mark.torch
@pytest.mark.parametrize("name", WRAPPING)
def test_sums_and_products_of_integers_wrap(oracle, name):
    with all_failures() as collect:
        for dtype in INTEGERS:
            values = np.resize(extremes(dtype), 12)

            def run(module, values=values):
                x, w = map(module.from_numpy, (values, values[::-1].copy()))
                return WRAPPING[name](module, x, w)

            with collect:
                check(f"{name} {dtype}", lambda r=run: r(tiny_torch), lambda r=run: r(oracle))
