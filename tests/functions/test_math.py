"""Elementary and special functions: what they refuse, their answers' types, and their accuracy."""

import math
import operator

import numpy as np
import pytest

import tiny_torch

FLOATS = [1.5, 2.0]
INTEGERS = [3, 5]

# name: arguments that one of the packages may refuse; F and I stand for tensors of these numbers.
WRONG = {
    **{
        name: ["3", "None", "F, F"]
        for name in (
            "acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh", "erfc", "erfinv", "lgamma",
            "digamma", "i0", "sinc", "frac", "deg2rad", "rad2deg", "isneginf", "isposinf",
            "signbit", "sgn", "positive", "frexp", "absolute", "arccos", "arcsin", "arctan",
            "negative", "fix", "isnan", "isinf", "isfinite", "logical_not",
        )
    },
    **{
        name: ["3, F", "F, 3", "F, 2.5", "F, 'a'", "F, None", "F"]
        for name in (
            "copysign", "fmax", "fmin", "gcd", "lcm", "heaviside", "ldexp", "logaddexp",
            "logaddexp2", "xlogy", "float_power", "hypot", "arctan2", "divide", "multiply",
            "nextafter", "subtract", "true_divide", "greater", "greater_equal", "less",
            "less_equal", "not_equal",
        )
    },
    "bitwise_left_shift": ["3, I", "I, 3", "I, 2.5", "F, 1", "I, 'a'", "1.5, I", "I, F"],
    "bitwise_right_shift": ["3, I", "I, 3", "I, 2.5", "F, 1", "I, 'a'", "1.5, I", "I, F"],
    "rsub": [
        "3, I", "I, 3", "I, 3, 2", "I, F, alpha=2", "I, 1, alpha=0.5", "I, 2.5, alpha=2", "B, 1",
        "B, B", "I, True", "F, B", "F, 'a'", "F, 1, out=F", "F, other=2", "D, 2.1", "F, 2.1, 0.3",
    ],
    "mvlgamma": [
        "F, 2", "I + 3, 2", "D + 3, 4", "F, 0", "F, p=1", "F, 2.0", "B, 1", "F", "3.0, 2",
        "I, 1, out=F",
    ],
    "logit": ["3", "F, 'a'", "F, 1", "F, None", "F, True"],
    "polygamma": ["1.5, F", "True, F", "F, 1", "-1, F", "1, 2", "1"],
    "nan_to_num": ["3", "F, 'a'", "F, 1", "F, None, None, 'a'", "I, 1.5", "F, 1, 2, 3, 4"],
}  # fmt: skip
METHODS = {
    "acos_": ["I"], "erfinv_": ["I"], "lgamma_": ["I"], "frac_": ["I"], "copysign_": ["I, 2"],
    "gcd_": ["F, I"], "xlogy_": ["I, 2", "F, 2"], "float_power_": ["F, 2", "D, 2"],
    "heaviside_": ["F, I", "F, F"],
    "nextafter_": ["F, F", "F, D", "D, F", "I, I", "F, I", "F, 1.0"],
    "nan_to_num_": ["I", "F, 'a'"], "logit_": ["I", "F, 0.1"],
    "mvlgamma_": ["F, 2", "F, 0", "I, 2", "F, 1.5"],
    "polygamma_": ["F, 1", "F, -1", "F, 1.5"], "bitwise_left_shift_": ["I, 1", "F, 1"],
    "bitwise_right_shift_": ["I, 1", "I, 1.5"], "ldexp_": ["F, I", "F, 2", "I, I"],
    "arctan2_": ["F, F", "F, 2"], "subtract_": ["F, 2", "I, 1.5"], "true_divide_": ["F, 2", "I, 2"],
    "deg2rad_": ["I"], "sinc_": ["I", "F"], "eq_": ["F, 1", "I, F"], "logical_and_": ["F, I"],
    "greater_": ["F, I", "F, 'a'"], "sgn_": ["I"], "__pos__": ["F", "B"], "__lshift__": ["F, 1"],
    "__rlshift__": ["I, 1", "F, 1"], "__rshift__": ["I, 1"], "__ilshift__": ["I, 2", "F, 2"],
}  # fmt: skip


def said(function):
    """What a call answers, or raises, in words that both packages share."""
    try:
        result = function()
    except Exception as error:
        return type(error).__name__
    parts = result if isinstance(result, tuple) else (result,)
    return [(str(part.dtype).split(".")[-1], np.asarray(part).tolist()) for part in parts]


def tensors(module):
    return {
        "F": module.tensor(FLOATS),
        "D": module.tensor(FLOATS, dtype=module.float64),
        "I": module.tensor(INTEGERS),
        "B": module.tensor([True, False]),
    }


def close(ours, theirs):
    if isinstance(ours, str) or isinstance(theirs, str):
        return ours == theirs
    return len(ours) == len(theirs) and all(
        a == b and np.allclose(x, y, rtol=1e-6, equal_nan=True)
        for (a, x), (b, y) in zip(ours, theirs, strict=True)
    )


def compare_calls(oracle, name, calls, of_tensor=False):
    def call(module, arguments):
        owner = module.Tensor if of_tensor else module
        return said(lambda: eval(f"f({arguments})", {**tensors(module), "f": getattr(owner, name)}))

    for arguments in calls:
        ours, theirs = call(tiny_torch, arguments), call(oracle, arguments)
        assert close(ours, theirs), f"{name}({arguments}): {ours} instead of {theirs}"


@pytest.mark.parametrize("name", WRONG)
def test_arguments(oracle, name):
    compare_calls(oracle, name, WRONG[name])


@pytest.mark.parametrize("name", METHODS)
def test_method_arguments(oracle, name):
    compare_calls(oracle, name, METHODS[name], of_tensor=True)


def test_names_of_nodes(torch):
    x = torch.tensor([0.5, 0.25], requires_grad=True)
    for name in (
        "acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh", "erfc", "erfinv", "lgamma",
        "digamma", "i0", "sinc", "logit", "frac", "deg2rad", "rad2deg", "nan_to_num", "sgn",
    ):  # fmt: skip
        expected = name.title().replace("_", "") + "Backward0"
        assert getattr(torch, name)(x).grad_fn.name() == expected
    for name in (
        "copysign",
        "fmax",
        "fmin",
        "logaddexp",
        "logaddexp2",
        "xlogy",
        "hypot",
        "nextafter",
    ):
        assert getattr(torch, name)(x, x * 1).grad_fn.name() == name.title() + "Backward0"


def test_what_has_no_gradient(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="derivative for aten::heaviside is not implemented"):
        torch.heaviside(x, x * 1).sum().backward()
    for name in ("signbit", "isposinf", "isneginf", "isnan", "isinf", "isfinite", "logical_not"):
        assert not getattr(torch, name)(x).requires_grad
    assert not torch.frexp(x).exponent.requires_grad
    assert torch.positive(x) is x
    assert (+x) is x


def test_reversed(torch):
    assert reversed(torch.tensor([[1, 2], [3, 4]])).tolist() == [[3, 4], [1, 2]]
    assert reversed(torch.tensor(3)).tolist() == 3


def test_gradients_at_the_edges(torch):
    def slope(function, *values):
        xs = [torch.tensor(v, requires_grad=True) for v in values]
        return [g.tolist() for g in torch.autograd.grad(function(*xs).sum(), xs)]

    nan = math.nan
    assert slope(torch.fmax, [1.0, 2, nan, nan], [1.0, 3, 1, nan]) == [[1, 0, 0, 1], [0, 1, 1, 0]]
    assert slope(torch.fmin, [1.0, 2, nan, nan], [1.0, 3, 1, nan]) == [[1, 1, 0, 1], [0, 0, 1, 0]]
    assert slope(torch.copysign, [0.0, 2, -3], [1.0, -1, -1]) == [[0, -1, 1], [0, 0, 0]]
    assert slope(torch.sinc, [0.0]) == [[0.0]]
    assert slope(lambda x: torch.logit(x, 0.1), [0.05, 0.5, 1.0]) == [[0, 4, 0]]
    assert slope(torch.xlogy, [0.0, 0.0], [0.0, 1.0])[0] == [0.0, 0.0]
    assert slope(torch.nan_to_num, [nan, math.inf, 1.0]) == [[0, 0, 1]]
    assert slope(lambda x: torch.frexp(x).mantissa, [3.0, 0.25]) == [[0.25, 2.0]]


def neighbours(values):
    """The float32 numbers around some."""
    x = np.array(values, np.float32)
    return np.concatenate(
        [x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, -np.float32(np.inf))]
    )


# name, the numbers tried, largest error allowed, in ulp of float32
ANGLES = np.concatenate([np.linspace(-50, 50, 4001), np.geomspace(1e-7, 3e7, 999)])
POSITIVE = np.concatenate([np.linspace(0, 3, 4001), np.geomspace(1e-44, 1e38, 999)])
ACCURACY = {
    "sin": (ANGLES, 1.5),
    "cos": (ANGLES, 1.5),
    "tan": (ANGLES, 2),
    "atan": (ANGLES, 1.5),
    "log": (POSITIVE, 1),
    "log2": (POSITIVE, 2),
    "log10": (POSITIVE, 1.5),
    "rsqrt": (POSITIVE, 1.5),
    "asin": (np.linspace(-1, 1, 4001), 2),
    "acos": (np.linspace(-1, 1, 4001), 2),
    "sinh": (np.linspace(-89, 89, 4001), 2.5),
    "cosh": (np.linspace(-89, 89, 4001), 2.5),
    "asinh": (np.concatenate([np.linspace(-5, 5, 4001), np.geomspace(1e-7, 1e38, 999)]), 1),
    "acosh": (1 + np.geomspace(1e-6, 1e38, 4001), 1),
    "atanh": (np.linspace(-1, 1, 4001), 2.5),
    "erfc": (np.linspace(-4, 9, 4001), 3.5),
    "erfinv": (np.concatenate([np.linspace(-1, 1, 4001), 1 - np.geomspace(6e-8, 0.1, 999)]), 3),
    "lgamma": (np.concatenate([np.linspace(-3, 12, 4001), np.geomspace(1e-30, 1e35, 999)]), 4),
    "digamma": (np.concatenate([np.linspace(0.01, 12, 4001), np.geomspace(1e-30, 1e35, 999)]), 2),
    "i0": (np.linspace(-90, 90, 4001), 0.6),
    "special.i1": (np.linspace(-90, 90, 4001), 0.6),
}


@pytest.mark.parametrize("name", ACCURACY)
def test_float32_accuracy(name):
    """Against our float64, of which the op cases say that it is PyTorch's."""
    values, limit = ACCURACY[name]
    x = tiny_torch.from_numpy(neighbours(values))
    function = operator.attrgetter(name)(tiny_torch)
    ours = function(x).numpy().astype("float64")
    exact = function(x.double()).numpy()
    finite = np.isfinite(exact) & (np.abs(exact) < 3e38) & (np.abs(exact) > 1e-37)
    spacing = np.spacing(np.abs(exact[finite]).astype(np.float32))
    error = np.abs(ours[finite] - exact[finite])
    # Beside a zero that is not a float's, the error is absolute.
    floor = 1e-9 if name in ("lgamma", "digamma") else 0
    assert (np.maximum(error - floor, 0) / spacing).max() <= limit
    assert np.array_equal(np.isnan(ours), np.isnan(exact))


def test_integer_division_is_pythons():
    """Also where doubles would round."""
    random = np.random.default_rng(0)
    edges = [s * 2**k + d for k in (0, 1, 26, 51, 52, 53, 62) for s in (-1, 1) for d in (-1, 0, 1)]
    x = [*edges, -(2**63), 2**63 - 1, *random.integers(-(2**51), 2**51, 99).tolist()]
    pairs = [(a, b) for a in x for b in x if b != 0 and (a, b) != (-(2**63), -1)]
    a, b = (tiny_torch.tensor(side) for side in zip(*pairs, strict=True))
    assert tiny_torch.floor_divide(a, b).tolist() == [i // j for i, j in pairs]
    assert tiny_torch.remainder(a, b).tolist() == [i % j for i, j in pairs]


def test_float64_power_accuracy():
    """Against a longer mantissa, where NumPy has one; negative numbers are libm's lanes."""
    random = np.random.default_rng(0)
    x = random.uniform(0, 10, 20_000)
    x[:5000] = 1 + random.uniform(-1e-3, 1e-3, 5000)
    x[5000:10_000] = np.exp(random.uniform(-700, 700, 5000))
    x[::97] *= -1
    y = random.uniform(-650, 650, x.size) / np.maximum(np.abs(np.log(np.abs(x))), 1e-3)
    y[::97] = y[::97].round()
    ours = tiny_torch.from_numpy(x).pow(tiny_torch.from_numpy(y)).numpy()
    exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    spacing = np.spacing(np.abs(exact).astype(np.float64))
    assert (np.abs(ours - exact) / spacing).max() <= 1.1


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_neighbours(oracle, dtype):
    """Bit for bit: of halves all numbers, of others their ends, powers of two and infinities."""

    def bits(module):
        kind = {"float32": module.int32, "float64": module.int64}.get(dtype, module.int16)
        if kind is module.int16:
            x = module.arange(-(2**15), 2**15, dtype=kind).view(getattr(module, dtype))
        else:
            limits = module.finfo(getattr(module, dtype))
            sizes = [0.0, limits.tiny * limits.eps, limits.tiny, 0.5, 1.0, 3.0, 1e10, limits.max]
            x = module.tensor([*sizes, math.inf, math.nan], dtype=getattr(module, dtype))
            x = module.cat([x, -x])
        found = []
        for y in (0.0, -0.0, 1.0, math.inf, -math.inf, math.nan):
            result = module.nextafter(x, module.full_like(x, y))
            found.append(result.view(kind)[~result.isnan()].tolist())
        return found

    assert bits(tiny_torch) == bits(oracle)
