"""Sorting and selection beyond the table of cases: ties, NaN, sizes, threads, what is refused."""

import numpy as np
import pytest
from cases.op_cases import DTYPES, LAYOUTS, numbers
from helpers import CUDA, array_of, check, compare, make, outcome

import tiny_torch

NAN, INF = float("nan"), float("inf")
NUMPY = [dtype for dtype in DTYPES if dtype != "bfloat16"]
NUMBERS = [dtype for dtype in NUMPY if dtype != "bool"]
# PyTorch reads outside an expanded tensor: torch.zeros(1).expand(9).median(0) is any number.
SAFE_LAYOUTS = [layout for layout in LAYOUTS if layout != "broadcast"]


def picks(x, result, dim, keepdim=False):
    """The values of a result, once it is sure that they stand where its indices say."""
    values, indices = result
    if x.ndim:
        at = indices if keepdim or indices.ndim == x.ndim else indices.unsqueeze(dim)
        found = x.gather(dim, at)
        found = found if found.ndim == values.ndim else found.squeeze(dim)
        np.testing.assert_array_equal(array_of(found), array_of(values))
    return values


# Values whose keys span few bits, many, all of them; that are equal; that are in order.
def samples(dtype, n, seed=0):
    random = np.random.default_rng([n, seed])
    if dtype == "bool":
        yield random.random(n) < 0.5
    elif dtype.startswith("float"):
        x = random.standard_normal(n).astype(dtype)
        yield x
        yield np.exp(20 * x)
        yield (1 + 1e-9 * x).astype(dtype)
        yield np.round(3 * x)
        x[::3] = NAN
        x[1::5] = -0.0
        x[2::7] = 0.0
        x[3::11] = -INF
        yield x
        outlier = (1e-12 * random.standard_normal(n)).astype(dtype) + 1
        outlier[n // 2 : n // 2 + 1] = -1e30
        yield outlier
    else:
        info = np.iinfo(dtype)
        yield random.integers(info.min, info.max, n, dtype, endpoint=True)
        yield random.integers(max(info.min, -3), 4, n).astype(dtype)
    yield np.sort(random.integers(0, 100, n)).astype(dtype)
    yield np.ones(n, dtype)


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("dtype", NUMPY)
@pytest.mark.parametrize("n", [1, 17, 32, 33, 63, 64, 1000, 8193, 40_000])
def test_sort(dtype, n):
    """Equal elements keep their order; NaN is last, or first in descending order."""
    for values in samples(dtype, n):
        x = tiny_torch.from_numpy(values)
        # NumPy's order: NaN last, -0 equal to 0.
        order = np.argsort(values, kind="stable")
        result = x.sort()
        np.testing.assert_array_equal(array_of(result.indices), order)
        assert array_of(result.values).tobytes() == values[order].tobytes()
        keys = np.unique(values, return_inverse=True)[1].astype("int64")
        falling = np.argsort(-keys, kind="stable")
        np.testing.assert_array_equal(array_of(x.argsort(descending=True)), falling)


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("n", [1, 17, 159, 1000, 40_000])
def test_selection(dtype, n):
    """topk, kthvalue, median and mode pick what a stable sort would."""
    for values in samples(dtype, n):
        x = tiny_torch.from_numpy(values)
        rising = array_of(x.sort().indices)
        for largest in (False, True):
            order = array_of(x.argsort(descending=largest))
            for k in {1, min(n, 3), min(n, 16), n // 5, n // 3, n}:
                values_, indices = x.topk(k, largest=largest)
                np.testing.assert_array_equal(array_of(indices), order[:k])
                np.testing.assert_array_equal(array_of(values_), values[order[:k]])
                columns = array_of(tiny_torch.stack((x, x), 1).topk(k, 0, largest).indices)
                np.testing.assert_array_equal(columns, np.stack([order[:k]] * 2, 1))
        for k in {1, (n + 1) // 2, n}:
            assert x.kthvalue(k).indices.item() == rising[k - 1]
        nans = int((values != values).sum())
        if not nans:
            assert x.median(0).indices.item() == rising[(n - 1) // 2]
            numbers, counts = np.unique(values, return_counts=True)
            mode = numbers[np.argmax(counts)]
            assert x.mode().values.item() == mode
            assert x.mode().indices.item() == np.flatnonzero(values == mode)[-1]
        else:
            assert x.median(0).indices.item() == np.flatnonzero(values != values)[0]
            assert x.median().isnan()
        if nans < n:
            assert x.nanmedian(0).indices.item() == rising[(n - nans - 1) // 2]


@pytest.mark.parametrize("name", ["median", "nanmedian"])
@pytest.mark.parametrize("layout", SAFE_LAYOUTS)
def test_median(oracle, name, layout):
    def run(module, dtype, dim, keepdim):
        x = make(module, numbers("real", dtype, 400), (5, 4, 7), layout)
        return picks(x, getattr(x, name)(dim, keepdim), dim, keepdim)

    for dtype in NUMPY:
        for dim, keepdim in ((0, False), (1, True), (-1, False), (3, False)):
            check(
                f"{name} {dtype} {dim}",
                lambda d=dtype, dim=dim, k=keepdim: run(tiny_torch, d, dim, k),
                lambda d=dtype, dim=dim, k=keepdim: run(oracle, d, dim, k),
            )


@pytest.mark.parametrize("name", ["median", "nanmedian"])
@pytest.mark.parametrize(
    "values", [[1.0, 3.0, 2.0], [1.0, 2.0, 2.0, 3.0], [NAN, 1.0, NAN], [NAN, NAN], [4.0], []]
)
def test_gradient_of_median(oracle, name, values):
    def run(module, **dim):
        x = module.tensor(values, requires_grad=True)
        y = getattr(x * 2, name)(**dim)
        y = y.values if dim else y
        y.backward()
        return y, x.grad

    check(name, lambda: run(tiny_torch), lambda: run(oracle))
    if len(set(values)) == len(values):
        check(name, lambda: run(tiny_torch, dim=0), lambda: run(oracle, dim=0))


def test_gradient_of_values(oracle):
    """It goes to the elements that were picked."""
    values = np.random.default_rng(0).standard_normal((4, 5, 6))

    def run(module, name, *arguments):
        x = module.from_numpy(values).requires_grad_()
        picked = getattr(x, name)(*arguments).values
        (first,) = module.autograd.grad((picked**3).sum(), x, create_graph=True)
        (second,) = module.autograd.grad((first * first).sum(), x)
        return first, second

    for arguments in (
        ("sort", 1, True), ("topk", 3, 0), ("topk", 2, -1, False), ("kthvalue", 2, 1),
        ("kthvalue", 2, 0, True), ("median", 2), ("nanmedian", 0, True), ("mode", 1),
        ("max", 1), ("min", 0, True), ("cummax", 1), ("cummin", -1),
    ):  # fmt: skip
        check(
            f"{arguments}",
            lambda a=arguments: run(tiny_torch, *a),
            lambda a=arguments: run(oracle, *a),
            ulps=64,
        )


def test_grad_fn_names(oracle):
    for name, *arguments in (
        ("sort",), ("topk", 1), ("kthvalue", 1), ("mode",), ("cummax", 0), ("cummin", 0),
        ("cumsum", 0), ("cumprod", 0), ("logcumsumexp", 0),
    ):  # fmt: skip
        ours, theirs = (
            getattr(module.ones(3, requires_grad=True), name)(*arguments)
            for module in (tiny_torch, oracle)
        )
        if isinstance(ours, tuple):
            ours, theirs = ours[0], theirs[0]
        assert ours.grad_fn.name() == theirs.grad_fn.name()


def test_bfloat16(oracle):
    """Which NumPy does not have: in float32's order."""
    values = np.random.default_rng(2).standard_normal((300, 40)).astype("float32")
    values[::7] = NAN

    def run(module):
        x = module.from_numpy(values).to(module.bfloat16)
        return [
            *x.sort(dim=0, stable=True),
            x.topk(3, 1).values, x.kthvalue(9, 1).values, x.nanmedian(), x.cummax(0).values,
        ]  # fmt: skip

    check("bfloat16", lambda: run(tiny_torch), lambda: run(oracle))


def test_threads_change_no_bit():
    values = np.random.default_rng(1).standard_normal(200_000).round(3)
    before = tiny_torch.get_num_threads()
    results = []
    for threads in (1, 2, 3):
        tiny_torch.set_num_threads(threads)
        x = tiny_torch.from_numpy(values)
        rows = x.view(400, 500)
        results.append(
            [
                array_of(result)
                for result in (
                    *x.sort(), *x.topk(60_000), *x.kthvalue(77), *x.float().sort(descending=True),
                    *rows.sort(), *rows.sort(0), *rows.topk(9, 0), *rows.mode(), *rows.median(1),
                )
            ]
        )  # fmt: skip
    tiny_torch.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert a.tobytes() == b.tobytes()


X = [[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.sort(x, True),
        lambda m, x: m.sort(x, 1.0),
        lambda m, x: m.sort(x, None),
        lambda m, x: m.sort(x, 0, 1),
        lambda m, x: m.sort(X),
        lambda m, x: m.sort(x, 2),
        lambda m, x: m.sort(m.tensor(3.0)),
        lambda m, x: m.sort(m.tensor(3.0), 1),
        lambda m, x: m.sort(x, out=(m.empty(2, 3), m.empty(2, 3, dtype=m.int64))),
        lambda m, x: m.sort(x, out=(m.empty(2, 3), m.empty(2, 3, dtype=m.int32))),
        lambda m, x: m.sort(x, out=(m.empty(2, 3, dtype=m.float64), m.empty(2, 3, dtype=m.int64))),
        lambda m, x: m.sort(x, out=m.empty(2, 3)),
        lambda m, x: m.argsort(x, 0, False, True),
        lambda m, x: m.msort(x, out=m.empty(2, 3)),
        lambda m, x: m.msort(m.tensor(3.0)),
        lambda m, x: m.topk(x, 4),
        lambda m, x: m.topk(x, -1),
        lambda m, x: m.topk(x, 1.0),
        lambda m, x: m.topk(x, True),
        lambda m, x: m.topk(x, m.tensor(1)),
        lambda m, x: m.topk(x > 1, 1),
        lambda m, x: m.topk(m.tensor(3.0), 1),
        lambda m, x: m.topk(m.tensor(3.0), 0),
        lambda m, x: m.topk(m.zeros(0), 1),
        lambda m, x: m.topk(m.zeros(0, 3), 1, 1),
        lambda m, x: m.kthvalue(x, 4),
        lambda m, x: m.kthvalue(x > 1, 1),
        lambda m, x: m.kthvalue(m.zeros(0), 1),
        lambda m, x: m.kthvalue(m.zeros(0, 3), 1, 1),
        lambda m, x: m.kthvalue(m.tensor(3.0), 2),
        lambda m, x: m.median(x > 1),
        lambda m, x: m.median(x > 1, 1),
        lambda m, x: m.median(x, keepdim=True),
        lambda m, x: m.median(m.zeros(0, 3), 0),
        lambda m, x: m.median(m.zeros(0, 3), 1),
        lambda m, x: m.median(x, out=m.empty(())),
        lambda m, x: m.mode(m.zeros(0)),
        lambda m, x: m.mode(m.zeros(0, 3), 1),
        lambda m, x: m.mode(x, 2),
        lambda m, x: m.mode(x > 1, 0),
        lambda m, x: m.quantile(x, m.tensor([[0.5]])),
        lambda m, x: m.quantile(x, m.tensor([0.5], dtype=m.float64)),
        lambda m, x: m.quantile(x, m.tensor([1.5])),
        lambda m, x: m.quantile(x, [0.5]),
        lambda m, x: m.quantile(x, NAN),
        lambda m, x: m.quantile(x, m.tensor([])),
        lambda m, x: m.quantile(x, 0.5, 2),
        lambda m, x: m.quantile(x, 0.5, out=m.empty(())),
        lambda m, x: m.quantile(x, 0.5, out=m.empty((), dtype=m.float64)),
    ],
)
def test_results_and_errors(oracle, call):
    def run(module):
        return call(module, module.tensor(X))

    check("", lambda: run(tiny_torch), lambda: run(oracle))


@pytest.mark.parametrize("values", [[NAN, 1.0, 2.0], [NAN, NAN], [1.0, INF], [-INF, 3.0, 4.0]])
def test_quantiles_of_nan_and_infinity(oracle, values):
    for name in ("quantile", "nanquantile"):
        for q in (0.0, 0.5, 0.7, 1.0):
            check(
                f"{name} {values} {q}",
                lambda n=name, q=q: getattr(tiny_torch, n)(tiny_torch.tensor(values), q),
                lambda n=name, q=q: getattr(oracle, n)(oracle.tensor(values), q),
            )


def test_gradient_of_quantile_by_q(oracle):
    def run(module):
        q = module.tensor([0.3, 0.6], requires_grad=True)
        module.quantile(module.tensor(X), q, 1).sum().backward()
        return q.grad

    compare(run(tiny_torch), run(oracle), "by q", ulps=64)


def test_no_median_of_no_integers():
    error, _ = outcome(lambda: tiny_torch.zeros(0, dtype=tiny_torch.int64).median())
    assert isinstance(error, RuntimeError)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("device", ["cpu", CUDA])
def test_each_nan_is_a_mode_of_its_own(dtype, device):
    """As in PyTorch, but that a NaN between equal elements does not part them."""
    nan = float("nan")
    for values, place in (
        ([nan, 1, 2], 0), ([nan, nan, 1], 0), ([1, nan, nan], 0), ([2, nan, 1], 2), ([nan] * 3, 0),
        ([nan, 1, 1], 2), ([1, nan, nan, 2, 2], 4), ([2, nan, 2, 1], 2),
    ):  # fmt: skip
        x = tiny_torch.tensor(values, dtype=getattr(tiny_torch, dtype)).to(device)
        found = x.mode()
        assert found.indices.item() == place, values
        np.testing.assert_equal(found.values.item(), values[place])
