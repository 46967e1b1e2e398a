"""repr of a tensor is PyTorch's, letter by letter."""

import math

import numpy as np
import pytest

import tiny_torch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

inf, nan = math.inf, math.nan
RANDOM = np.random.default_rng(0).normal(size=2000)

VALUES = {
    "0-d": 1.5,
    "0-d integer": 7,
    "0-d bool": True,
    "0-d zero": 0.0,
    "0-d nan": nan,
    "0-d small": 1e-7,
    "0-d large": 123456789.0,
    "0-d negative zero": -0.0,
    "empty": [],
    "empty rows": [[], []],
    "zeros": [0.0, 0.0],
    "whole floats": [1.0, 2.0, -300.0],
    "whole floats, wide": [1.0, 5000.0],
    "whole floats, large": [1e9, 2.0],
    "whole floats with nan": [1.0, nan, inf, -inf],
    "only nan": [nan, nan],
    "only infinities": [inf, -inf, 0.0],
    "fractions": [0.5, -1.25, 3.0],
    "fractions with nan": [0.5, nan, inf, -inf],
    "fractions, wide": [0.001, 100.0],
    "fractions, small": [1e-5, 2e-5],
    "fractions, large": [1.5e8, 2.5],
    "fractions with zero": [0.0, 0.25, -0.0],
    "scientific with nan": [1e-9, nan, -inf, 0.0, 1.0],
    "exponent of three digits": [1e100, 1e-100],
    "whole up to 1e8": [1e8, 1e6],
    "thousandth": [1.0, 0.001],
    "integers": [1, -20, 300],
    "integers, large": [2**62, -1],
    "bools": [True, False],
    "rows": [[1.0, -2.5], [3.25, 4.0]],
    "rows of bools": [[True, False], [False, True]],
    "cubes": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
    "one of each": [[[[1.0]]]],
}
SHAPES = [
    *((n,) for n in (9, 10, 11, 12, 13, 40, 1000, 1001)),
    *((2, 30), (30, 2), (3, 4, 5), (40, 25), (40, 26), (7, 13, 11), (2, 7, 8, 10), (1, 1200)),
    *((0,), (0, 3), (3, 0, 2), (1, 1, 1)),
]


def both(make):
    return make(tiny_torch), make(torch)


def check(make, where=""):
    ours, theirs = both(lambda m: repr(make(m)))
    assert ours == theirs, f"{where}\n{ours}\ninstead of\n{theirs}"


@pytest.fixture
def options():
    yield
    for module in (tiny_torch, torch):
        module.set_printoptions(profile="default")


def numbers(module, shape, dtype, scale=1.0):
    count = math.prod(shape)
    values = (RANDOM.repeat(2) if count > 2000 else RANDOM)[:count] * scale
    if dtype == "bool":
        values = values > 0
    elif dtype == "uint8":
        values = np.abs(values * 50)
    return module.from_numpy(values.astype(dtype).reshape(shape))


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    check(lambda m: m.tensor(VALUES[name]))
    if not isinstance(VALUES[name], bool):
        check(lambda m: m.tensor(VALUES[name], dtype=m.float64), "float64")


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float32", "float64"])
def test_shapes(dtype):
    for shape in SHAPES:
        for scale in (1.0, 1000.0, 1e-6) if dtype.startswith("float") else (100.0,):
            check(lambda m, a=(shape, dtype, scale): numbers(m, *a), f"{shape} {scale}")


def test_strided():
    for view in (
        lambda x: x.t(),
        lambda x: x[::2, 1:],
        lambda x: x[0].expand(4, 6),
        lambda x: x[0, 0],
        lambda x: x[:, 0],
    ):
        check(lambda m, view=view: view(numbers(m, (5, 6), "float32")))


def test_gradients():
    for make in (
        lambda m, x: x,
        lambda m, x: x * 2,
        lambda m, x: x.sum(),
        lambda m, x: x.exp() + 1,
        lambda m, x: x.detach(),
        lambda m, x: (x * 2).reshape(-1)[3:],
        lambda m, x: x.repeat(3, 3).exp(),
        lambda m, x: x - x.t().abs().t(),
        lambda m, x: m.nn.functional.relu(x.detach().to(m.float64).requires_grad_()),
        lambda m, x: x.unsqueeze(0).expand(2, 3, 4) / 3,
        lambda m, x: x.new_zeros(0, 2, requires_grad=True),
        lambda m, x: m.nn.Parameter(x.detach()),
    ):
        check(lambda m, make=make: make(m, numbers(m, (3, 4), "float32").requires_grad_()))


@pytest.mark.parametrize(
    "settings",
    [
        {"precision": 2},
        {"precision": 8, "sci_mode": True},
        {"sci_mode": False},
        {"threshold": 5},
        {"threshold": 5, "edgeitems": 1},
        {"threshold": 0, "edgeitems": 0},
        {"linewidth": 30},
        {"linewidth": 5},
        {"profile": "short"},
        {"profile": "full"},
        {"profile": "short", "precision": 6},
        {"threshold": inf},
    ],
)
def test_options(settings, options):
    for module in (tiny_torch, torch):
        module.set_printoptions(**settings)
    for name, values in VALUES.items():
        check(lambda m, values=values: m.tensor(values), name)
    for shape in ((12,), (4, 9), (7, 8, 9), (40, 26)):
        check(lambda m, shape=shape: numbers(m, shape, "float32"), shape)
        check(lambda m, shape=shape: numbers(m, shape, "int64", 1e6), shape)


KINDS = {
    "normal": lambda r, n: r.normal(size=n),
    "whole": lambda r, n: np.round(r.normal(size=n) * 10.0 ** r.integers(0, 9)),
    "wide": lambda r, n: r.normal(size=n) * 10.0 ** r.integers(-8, 8, size=n),
    "small": lambda r, n: r.normal(size=n) * 1e-5,
    "large": lambda r, n: r.normal(size=n) * 1e9,
    "zeros": lambda r, n: r.choice([0.0, -0.0], size=n),
    "special": lambda r, n: r.choice([0.0, -0.0, 1, -1.5, nan, inf, -inf, 1e-3, 1234.5], size=n),
    "not finite": lambda r, n: r.choice([nan, inf, -inf], size=n),
    "sparse": lambda r, n: r.normal(size=n) * (r.random(n) > 0.5),
}
ODD_SHAPES = [(), (1,), (7,), (2, 0), (3, 3), (2, 3, 4), (40, 3), (3, 40), (1001,), (2, 1, 7, 3)]
SETTINGS = {
    "profile": ["default", "short", "full", "unknown"],
    "precision": [0, 1, 2, 6, 10],
    "threshold": [0, 5, 100, inf],
    "edgeitems": [0, 1, 2, 5],
    "linewidth": [10, 20, 40, 120],
    "sci_mode": [True, False, None],
}
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float64"]


@pytest.mark.parametrize("seed", range(300))
def test_generated(seed, options):
    """Values, shapes, dtypes and settings drawn at random."""
    r = np.random.default_rng(seed)
    settings = {name: r.choice(values) for name, values in SETTINGS.items() if r.random() < 0.3}
    settings = {k: v.item() if hasattr(v, "item") else v for k, v in settings.items()}
    for module in (tiny_torch, torch):
        module.set_printoptions(**settings)
    shape = ODD_SHAPES[r.integers(len(ODD_SHAPES))]
    kind, dtype = r.choice(list(KINDS)), r.choice([*DTYPES, "float32", "float32"])
    values = KINDS[kind](r, math.prod(shape))
    if "int" in dtype:
        values = np.nan_to_num(values, posinf=5, neginf=-5) % 100
    grad, transposed, sliced = ("float" in dtype, True, True) & (r.random(3) < 0.3)

    def make(module):
        x = module.from_numpy(values.reshape(shape)).to(getattr(module, dtype))
        x = x.transpose(0, 1) if transposed and len(shape) > 1 else x
        x = x[::2] if sliced and shape and shape[0] > 2 else x
        return x.requires_grad_() if grad else x

    check(make, f"{settings} {shape} {kind} {dtype}")
    ours, theirs = both(lambda m: f"{make(m)} {make(m).detach()!s}")
    assert ours == theirs


def test_default_dtype():
    try:
        for module in (tiny_torch, torch):
            module.set_default_dtype(module.float64)
        for dtype in ("float32", "float64"):
            check(lambda m, dtype=dtype: m.tensor([1.5], dtype=getattr(m, dtype)))
            check(lambda m, dtype=dtype: m.tensor([], dtype=getattr(m, dtype)))
    finally:
        for module in (tiny_torch, torch):
            module.set_default_dtype(module.float32)


def test_text_of_a_0d_tensor():
    for value in (1.5, 3, True, nan):
        ours, theirs = both(lambda m, v=value: (f"{m.tensor(v)}", str(m.tensor(v))))
        assert ours == theirs
    ours, theirs = both(lambda m: f"{m.tensor(3.14159):.2f}|{m.tensor([1.5])}")
    assert ours == theirs


@pytest.mark.parametrize("name", ["precision", "edgeitems"])
def test_a_number_of_digits_is_an_integer(name, options):
    with pytest.raises(TypeError, match="integer"):
        tiny_torch.set_printoptions(**{name: tiny_torch.tensor([1.5, 2.5])})
    tiny_torch.set_printoptions(**{name: tiny_torch.tensor(2)})
    assert str(tiny_torch.tensor([0.5, 0.25])) in (
        "tensor([0.50, 0.25])",
        "tensor([0.5000, 0.2500])",
    )
