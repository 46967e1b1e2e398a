"""Scans beyond the table of cases: zeros, NaN, long lines, in place, out=, what is refused."""

import numpy as np
import pytest
from cases.op_cases import DTYPES, HALVES, LAYOUTS, numbers
from helpers import array_of, check, compare, make, outcome

import tiny_torch

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "values",
    [
        [2.0, 3.0, 4.0],
        [2.0, 0.0, 4.0],
        [0.0, 0.0, 4.0],
        [2.0, 3.0, 0.0],
        [0.0, 5.0, 0.0],
        [[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]],
    ],
)
def test_gradients_of_cumprod_with_zeros(oracle, values):
    def gradients(module):
        x = module.tensor(values, dtype=module.float64, requires_grad=True)
        y = module.cumprod(x, 0)
        weights = module.arange(1, y.numel() + 1, dtype=module.float64).reshape(y.shape)
        (first,) = module.autograd.grad(y, x, weights, create_graph=True)
        (second,) = module.autograd.grad((first * weights).sum(), x, retain_graph=True)
        return first, second

    check(f"cumprod of {values}", lambda: gradients(tiny_torch), lambda: gradients(oracle))


SPECIAL = [
    [1.0, NAN, 2.0, NAN, 5.0],
    [3.0, 3.0, 1.0, 5.0, 5.0],
    [-INF, -INF, 1.0, INF, INF, 2.0],
    [INF, -INF, 1.0],
    [NAN],
    [-0.0, 0.0, -0.0],
    [88.0, 1000.0, -1000.0],
]


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"])
@pytest.mark.parametrize("values", SPECIAL)
def test_nan_and_infinity(oracle, name, values):
    for dtype in ("float32", "float64"):
        check(
            f"{name} {values}",
            lambda d=dtype: getattr(tiny_torch.tensor(values, dtype=getattr(tiny_torch, d)), name)(
                0
            ),
            lambda d=dtype: getattr(oracle.tensor(values, dtype=getattr(oracle, d)), name)(0),
        )


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in ("bool", *HALVES)])
@pytest.mark.parametrize("size", [8192, 8193, 40961, 36000])
def test_long_lines(dtype, size):
    """They are scanned in chunks: every element is the sum of those up to it."""
    values = numbers("real", dtype, size)
    x = tiny_torch.from_numpy(values)
    expected = np.cumsum(values.astype("float64" if "float" in dtype else "int64"))
    wide = tiny_torch.from_numpy(np.stack([values, values], 1))
    for result in (x.cumsum(0), wide.t()[1].cumsum(0), wide.t().cumsum(1)[1], wide.cumsum(0)[:, 0]):
        np.testing.assert_allclose(array_of(result), expected, rtol=1e-6, atol=2e-4)


def test_threads_change_no_bit():
    x = tiny_torch.from_numpy(numbers("real", "float32", 300_000))
    results = []
    before = tiny_torch.get_num_threads()
    for threads in (1, 2, 3):
        tiny_torch.set_num_threads(threads)
        results.append(
            [
                array_of(result)
                for shape, dim in (((-1,), 0), ((300, 1000), 0), ((300, 1000), 1), ((3, -1), 1))
                for result in (
                    x.view(shape).cumsum(dim), x.view(shape).cumprod(dim),
                    x.view(shape).logcumsumexp(dim), x.view(shape).cummax(dim).indices,
                )
            ]
        )  # fmt: skip
    tiny_torch.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_in_place(oracle, name, layout):
    def run(module, dtype, **options):
        x = make(module, numbers("real", dtype, 60), (3, 4), layout)
        assert getattr(x, name)(1, **options) is x
        return x

    for dtype in DTYPES:
        check(f"{name} {dtype}", lambda d=dtype: run(tiny_torch, d), lambda d=dtype: run(oracle, d))
        for to in ("float64", "int32"):
            check(
                f"{name} {dtype} to {to}",
                lambda d=dtype, to=to: run(tiny_torch, d, dtype=getattr(tiny_torch, to)),
                lambda d=dtype, to=to: run(oracle, d, dtype=getattr(oracle, to)),
            )


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
def test_gradient_in_place(oracle, name):
    def run(module):
        x = module.tensor([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0]], requires_grad=True)
        y = x * 2
        view = y[:, 1:]
        getattr(view, name)(1)
        (y * y).sum().backward()
        return y, x.grad

    check(name, lambda: run(tiny_torch), lambda: run(oracle))


X = [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x, o: m.cumsum(x, 0, out=o(2, 2, dtype=m.int64)),
        lambda m, x, o: m.cumsum(x, 0, dtype=m.float64, out=o(2, 2, dtype=m.int64)),
        lambda m, x, o: m.cumprod(x, 0, dtype=m.int64, out=o(2, 2)),
        lambda m, x, o: m.cumsum(x, 0, dtype=m.float64, out=o(2, 2, dtype=m.float64)),
        lambda m, x, o: m.cumsum(x > 2, 0, out=o(2, 2, dtype=m.bool)),
        lambda m, x, o: m.logcumsumexp(x, 0, out=o(2, 2)),
        lambda m, x, o: m.cummax(x, 0, out=(o(2, 2), o(2, 2, dtype=m.int64))),
        lambda m, x, o: m.cummax(x, 0, out=(o(2, 2, dtype=m.float64), o(2, 2, dtype=m.int64))),
        lambda m, x, o: m.cummin(x, 0, out=(o(2, 2), o(2, 2, dtype=m.int32))),
        lambda m, x, o: m.cummin(x, 0, out=(o(2, 2),)),
        lambda m, x, o: m.cumsum(x),
        lambda m, x, o: m.cumsum(x, True),
        lambda m, x, o: m.cumsum(x, 1.0),
        lambda m, x, o: m.cumsum(x, None),
        lambda m, x, o: m.cumsum(x, 2),
        lambda m, x, o: m.cumprod(x, -3),
        lambda m, x, o: m.cumsum(X, 0),
        lambda m, x, o: m.cumsum(x.requires_grad_(), 0, out=o(2, 2)),
        lambda m, x, o: m.cumsum(x.requires_grad_(), 0, dtype=m.int32),
        lambda m, x, o: x.requires_grad_().cumsum_(0),
        lambda m, x, o: x.expand(3, 2, 2).cumsum_(0),
    ],
)
def test_out_and_errors(oracle, call):
    def run(module):
        return call(module, module.tensor(X), module.empty)

    check("", lambda: run(tiny_torch), lambda: run(oracle))


def test_gradient_from_another_dtype(oracle):
    def run(module):
        x = module.tensor([1.0, 2.0, 3.0], requires_grad=True)
        module.cumprod(x, 0, dtype=module.float64).sum().backward()
        return x.grad

    compare(run(tiny_torch), run(oracle), "cumprod to float64")
    error, _ = outcome(lambda: tiny_torch.ones(2, 0).cummax(1).values.sum().backward())
    assert isinstance(error, RuntimeError)
