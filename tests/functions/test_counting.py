"""unique, searchsorted, isin, bincount, histograms: PyTorch's results and exceptions."""

import numpy as np
import pytest
from cases.op_cases import DTYPES, numbers
from helpers import array_of, check, outcome

import tiny_torch

NAMES = """
x = m.tensor([[1.0, 3, 5], [2, 4, 6]]); t = m.tensor; n = float("nan"); inf = float("inf")
y = m.tensor([0.5, 1.0, 2.5, 9.0, n, 3.0, 3.0]); w = m.tensor([1, 2, 3, 2, 9, -1])
v = m.arange(6.0).view(2, 3); e = m.empty(0); i64 = m.int64; f64 = m.float64
""".replace(";", "\n").replace("\n ", "\n")

FACTS = """
unique(t([3, 1, 2, 1]))
unique(t([3, 1, 2, 1]), sorted=False)
unique(t([3, 1, 2, 1]), True, True, True)
unique(t([[3, 1], [2, 1]]), return_inverse=True)
unique(t([[3, 1], [2, 1]]), return_counts=True)
unique(t([[3, 1], [2, 1], [3, 1]]), dim=0, return_counts=True, return_inverse=True)
unique(t([[3, 1, 3], [2, 1, 2]]), dim=1, return_counts=True, return_inverse=True)
unique(t([n, 1, n, 0.0, -0.0]), return_counts=True, return_inverse=True)
unique(t([[n, 1], [n, 1], [0.0, -0.0], [-0.0, 0.0]]), True, True, True, 0)
unique(t([True, False, True]), return_counts=True, return_inverse=True)
unique(t(3), return_counts=True, return_inverse=True)
unique(t(3), dim=0)
unique(e, return_counts=True, return_inverse=True)
unique(m.zeros(0, 2), dim=0)
unique(m.zeros(0, 2), dim=1)
unique(m.zeros(2, 0), dim=0)
unique(m.zeros(0, 0), dim=0)
unique(t([[3, 1]]), dim=2)
unique(t([[3, 1]]), dim=-1)
unique(t([[3, 1]]), dim=1.0)
unique([1])
unique(t([3, 1]), 1)
unique(t([3, 1]), return_inverse=1)
unique_consecutive(t([3, 1]), 0)
unique(m.zeros(2, 3, 4).permute(2, 0, 1), dim=1)
unique(v.t(), return_inverse=True)
unique_consecutive(t([1, 1, 2, 2, 1]))
unique_consecutive(t([1, 1, 2, 2, 1]), True, True)
unique_consecutive(t([n, n, 0.0, -0.0, 1, n]), True, True)
unique_consecutive(t([[1, 1], [1, 1], [2, 1]]), True, True)
unique_consecutive(t([[1, 1], [1, 1], [2, 1]]), True, True, dim=0)
unique_consecutive(t([[1, 1], [1, 1], [2, 2]]), True, True, dim=1)
unique_consecutive(t(3), True, True)
unique_consecutive(e, True, True)
unique_consecutive(m.arange(100_000) // 3, True, True)
unique(m.arange(100_000) % 5, True, True, True)
unique_consecutive(m.zeros(0, 2), True, True, dim=0)
unique_consecutive(m.zeros(2, 0), True, True, dim=0)
searchsorted(t([1, 3, 5, 7]), t([3, 6, 9]))
searchsorted(t([1, 3, 5, 7]), t([3, 6, 9]), right=True)
searchsorted(t([1, 3, 5, 7]), t([3, 6, 9]), side="right")
searchsorted(t([1, 3, 5, 7]), t([3, 6, 9]), side="left", right=True)
searchsorted(t([1, 3, 5, 7]), t([3, 6, 9]), side="up")
searchsorted(t([1, 3, 5, 7]), 3)
searchsorted(t([1, 3, 5, 7]), 3.5)
searchsorted(t([1.0, 3, 5, 7]), 3)
searchsorted(t([1, 3, 5, 7]), t([3.5]))
searchsorted(x, t([[3.0], [9.0]]))
searchsorted(x, t([[3.0, 1], [9.0, 2]]), out_int32=True)
searchsorted(x, t([3.0]))
searchsorted(x, 3.0)
searchsorted(x, t([[3.0]]))
searchsorted(t([1.0, n]), t([n, 0.0, 2]))
searchsorted(t([1.0, n]), t([n, 0.0, 2]), right=True)
searchsorted(t([0.0, n, 3, n, 5, 2]), t([1.0, 4, 7, n]))
searchsorted(m.arange(13), m.arange(-1, 15).view(2, 8))
searchsorted(t([5.0, 1, 3]), t([2.0, 4]), sorter=t([1, 2, 0]))
searchsorted(t([5.0, 1, 3]), t([2.0, 4]), sorter=t([1, 2, 3]))
searchsorted(t([5.0, 1, 3]), t([2.0, 4]), sorter=t([1, 2]))
searchsorted(t([5.0, 1, 3]), t([2.0, 4]), sorter=t([1, 2, 0]).int())
searchsorted(e, t([2.0, 4]))
searchsorted(t([1.0]), e)
searchsorted(t(1.0), t([2.0]))
searchsorted(t([1.0, 2]), v.t())
searchsorted(x.t(), v.t())
searchsorted(t([1.0, 2]), t([2.0]), out=m.empty(1, dtype=i64))
searchsorted(t([1.0, 2]), t([2.0]), out=m.empty(1, dtype=m.int32))
searchsorted(t([True]), t([False]))
searchsorted([1], 2)
searchsorted(t([1]), "a")
bucketize(t([[3, 6, 9]]), t([1, 3, 5, 7]), right=True)
bucketize(3, t([1, 3, 5, 7]))
bucketize(3.5, t([1, 3, 5, 7]))
bucketize(y, t([1.0, 3, 5]), out_int32=True)
bucketize(y, x)
bucketize(y, t([1, 3, 5]))
bucketize(v.t(), t([1.0]))
isin(t([1, 2, 3]), t([2, 5]))
isin(t([1, 2, 3]), t([2, 5]), invert=True, assume_unique=True)
isin(m.arange(20), m.arange(0, 40, 3))
isin(t([1, 2, 3]), 2)
isin(2, t([1, 2]))
isin(2, 3)
isin(t([[1.0, n]]), t([n, 1]))
isin(t([1, 2]), t([1.0, 2.5]))
isin(t([1, 2]), 2.5)
isin(t([True, False]), t([True]))
isin(t([1, 2]), m.zeros(0, dtype=i64))
isin(e, t([1.0]))
isin(t(1), t([1]))
isin(v.t(), t([1.0]))
isin(t([0.0, -0.0]), t([-0.0]))
isin(t([n]), m.full((100,), n))
isin(t([1]), t([1]), out=m.empty(1, dtype=m.bool))
isin([1], t([1]))
isin(element=2, test_elements=t([1, 2]))
isin(elements=t([1, 2]), test_element=2)
isin(t([1, 2]))
bincount(t([1, 2, 1, 0]))
bincount(t([1, 2, 1, 0]), t([1.0, 2, 3, 4]))
bincount(t([1, 2, 1, 0]), t([1, 2, 3, 4]))
bincount(t([1, 2, 1, 0]), t([1.0, 2, 3, 4], dtype=f64))
bincount(t([1, 2, 1, 0]), t([True, True, False, True]))
bincount(m.arange(100_000) % 7)
bincount(t([1, 2, 1, 0]), minlength=5)
bincount(t([1, 2, 1, 0]), minlength=-1)
bincount(w)
bincount(x[0])
bincount(t([True, False]))
bincount(t([1, 2], dtype=m.uint8))
bincount(t([[1, 2]]))
bincount(t(1))
bincount(t([], dtype=i64), minlength=3)
bincount(t([], dtype=i64), e, minlength=3)
bincount(t([1, 2]), t([1.0]))
histc(x)
histc(x, 4)
histc(x, bins=4, min=1, max=3)
histc(x, 4, 3, 1)
histc(x, 0)
histc(x, 4, 2, 2)
histc(m.full((3,), 2.0), 4)
histc(e, 3)
histc(y, 3)
histc(y, 3, 0, 5)
histc(t([1.0, inf]), 3)
histc(t([1.0, inf]), 3, 0, 2)
histc(w, 3)
histc(w.double(), 3)
histc(t(3.0), 3)
histc(x, 4.0)
histc(x, 4, n, 1)
histc(x, 4, 0, inf)
histc(x, 4, out=m.empty(4))
histc(x, 4, out=m.empty(4, dtype=f64))
histc(m.full((3,), 1e20), 4).sum()
histogram(x)
histogram(x, range=(0, 6))
histogram(x, weight=v, density=True)
histogram(x, None)
histogram(x, True)
histogram(x, 4)
histogram(x, 4, range=(0.0, 6.0))
histogram(x, bins=4, density=True)
histogram(x, t([0.0, 2, 3, 7]))
histogram(x, t([0.0, 2, 3, 7]), density=True, weight=v)
histogram(x, 4, weight=v)
histogram(x, 4, weight=v.long())
histogram(x, t([0.0, 2, 3, 7], dtype=f64))
histogram(x, t([[0.0, 2]]))
histogram(x, t([0.0]))
histogram(x, e)
histogram(x, 0)
histogram(x, 4, range=(3.0, 1.0))
histogram(x, 4, range=(1.0,))
histogram(x, 4, range=(2.0, 2.0))
histogram(x, 4, range=(0.0, inf))
histogram(x, t([0.0, 2]), range=(0.0, 1.0))
histogram(w, 4)
histogram(e, 3)
histogram(m.full((3,), 2.0), 4)
histogram(y, 3)
histogram(y, 3, range=(0.0, 5.0))
histogram(t(3.0), 3)
histogram(x, 4, out=(m.empty(4), m.empty(5)))
histogram(x.double(), 7, range=(0.1, 3.3))
histogram(x, 7, range=(0.1, 3.3))
""".strip().split("\n")


@pytest.mark.parametrize("fact", FACTS)
def test_fact(oracle, fact):
    def run(module):
        names = {"m": module}
        exec(NAMES, names)
        return eval("m." + fact, names)

    check(fact, lambda: run(tiny_torch), lambda: run(oracle))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bfloat16"])  # NumPy has none
@pytest.mark.parametrize("n", [37, 5000])
def test_unique_of_many(oracle, dtype, n):
    values = numbers("real", dtype, n)
    if "float" in dtype:
        values = values.round(1)
    for rows, options in (
        (values, {}), (values[: n // 6 * 6].reshape(-1, 3, 2), {"dim": 0}),
        (values[: n // 6 * 6].reshape(3, -1, 2), {"dim": 1}),
    ):  # fmt: skip
        for name in ("unique", "unique_consecutive"):
            check(
                f"{name} {dtype} {options}",
                lambda m=name, r=rows, o=options: getattr(tiny_torch.from_numpy(r), m)(
                    return_inverse=True, return_counts=True, **o
                ),
                lambda m=name, r=rows, o=options: getattr(oracle.from_numpy(r), m)(
                    return_inverse=True, return_counts=True, **o
                ),
            )


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_many_values(oracle, dtype):
    """Threads take part, and change nothing."""
    values = numbers("real", dtype, 100_000)
    edges = np.unique(numbers("real", dtype, 50))

    def run(module):
        x, bounds = module.from_numpy(values), module.from_numpy(edges)
        results = [
            module.bucketize(x, bounds),
            module.isin(x, bounds),
            *x.unique(return_counts=True),
        ]
        if dtype == "float32":
            results += [x.histc(13), *x.histogram(13), *x.histogram(bounds)]
        return results

    check(dtype, lambda: run(tiny_torch), lambda: run(oracle))
    before = tiny_torch.get_num_threads()
    expected = run(tiny_torch)
    tiny_torch.set_num_threads(1)
    for one, many in zip(run(tiny_torch), expected, strict=True):
        np.testing.assert_array_equal(array_of(one), array_of(many))
    tiny_torch.set_num_threads(before)


def test_there_is_no_gradient(oracle):
    for module in (tiny_torch, oracle):
        x = module.tensor([1.0, 2.0], requires_grad=True)
        for options, name in (({}, "Unique2"), ({"dim": 0}, "UniqueDim")):
            result = x.unique(**options)
            assert result.grad_fn.name() == name + "Backward0"
            error, _ = outcome(lambda r=result: r.sum().backward())
            assert isinstance(error, NotImplementedError)
        assert not module.histc(x, 3).requires_grad
