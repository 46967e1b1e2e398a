"""torch.linalg and the matrix functions of torch: PyTorch's values, strides, gradients and errors.

Vectors of svd and eigh have their signs fixed first (`gauged`): LAPACK leaves them open.
"""

import itertools
import math
import warnings

import numpy as np
import pytest
from cases.linalg_cases import CALLS, INF, WRONG
from helpers import all_failures, check, flatten

import tiny_torch


def tensors(module, shapes, dtype, turned=False):
    random = np.random.default_rng([len(shapes), *[n for shape in shapes for n in shape]])
    values = [np.asarray(random.random(shape) * 2 - 1).astype(dtype) for shape in shapes]
    return [module.from_numpy(v.T.copy().T if turned else v) for v in values]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", CALLS)
def test_values(oracle, name):
    call, plans = CALLS[name]
    with all_failures() as collect:
        for shapes, dtype, turned in itertools.product(
            plans, ("float32", "float64"), (False, name != "kron")
        ):

            def run(module, shapes=shapes, dtype=dtype, turned=turned):
                return call(module, *tensors(module, shapes, dtype, turned))

            with collect:
                check(
                    f"{name} {shapes} {dtype} {turned}",
                    lambda run=run: run(tiny_torch),
                    lambda run=run: run(oracle),
                    ulps=3000,
                    strides=not name.startswith(("svd", "eigh")),
                )


def gradients(module, call, shapes, twice):
    """First gradients of a weighted sum of the results, and those of their squares."""
    xs = [x.requires_grad_() for x in tensors(module, shapes, "float64")]
    results = [y for y in flatten(call(module, *xs)) if y.requires_grad]
    if not results:
        return []
    # Weights that differ everywhere: of orthonormal columns the sum of squares is constant.
    total = sum((y * y * y.new_ones(y.numel()).cumsum(0).view(y.shape)).sum() for y in results)
    first = module.autograd.grad(total, xs, create_graph=twice, allow_unused=True)
    first = [x * 0 if g is None else g for g, x in zip(first, xs, strict=True)]
    if not twice or not any(g.requires_grad for g in first):
        return first
    second = module.autograd.grad(sum((g * g).sum() for g in first), xs, allow_unused=True)
    return [*first, *[x * 0 if g is None else g for g, x in zip(second, xs, strict=True)]]


# Where PyTorch has no second gradient; where it fails to compute the first.
ONCE = ("cdist", "matrix_rank")
FAILS = ("cond 1", "cond -1", "cond inf", "cond -inf", "cond fro", "vander", "dist 0", "cdist 0.0")


@pytest.mark.parametrize("name", [name for name in CALLS if name not in FAILS])
def test_gradients(oracle, name):
    call, plans = CALLS[name]
    with all_failures() as collect:
        for shapes in plans:
            if 0 in [n for shape in shapes for n in shape]:
                continue

            def run(module, shapes=shapes):
                return gradients(module, call, shapes, not name.startswith(ONCE))

            with collect:
                check(
                    f"{name} {shapes}",
                    lambda run=run: run(tiny_torch),
                    lambda run=run: run(oracle),
                    ulps=1e6,
                    strides=False,
                )


@pytest.mark.parametrize("name", [*FAILS[:6], "cdist 2.0", "cdist 3.0", "cdist by mm"])
def test_gradcheck(name):
    call, plans = CALLS[name]
    xs = [x.requires_grad_() for x in tensors(tiny_torch, plans[0], "float64")]

    def results(*xs):
        return [y for y in flatten(call(tiny_torch, *xs)) if y.requires_grad]

    assert tiny_torch.autograd.gradcheck(results, xs, fast_mode=True)
    assert tiny_torch.autograd.gradgradcheck(results, xs, fast_mode=True, atol=1e-3)


def test_gradient_of_singular_determinants():
    values = np.random.default_rng(0).random((4, 3, 3))
    values[0, 2] = values[0, 1]  # of rank 2
    values[1] = np.outer(values[1, 0], values[1, 1])  # of rank 1
    values[2] = 0
    A = tiny_torch.from_numpy(values).requires_grad_()
    A.det().sum().backward()
    # Against cofactors: PyTorch's are zeros where its factorisation meets an exact 0.
    rows = np.moveaxis(values, 1, 0)
    cofactors = [np.cross(rows[(i + 1) % 3], rows[(i + 2) % 3]) for i in range(3)]
    np.testing.assert_allclose(A.grad.numpy(), np.stack(cofactors, axis=1), atol=1e-12)


# ------------------------------------------------------------------------------- dtypes and errors

FACTORS = ("cholesky", "inv", "det", "slogdet", "eigh", "eigvalsh", "svd", "svdvals", "qr", "pinv",
           "matrix_rank", "cond", "matrix_exp", "inv_ex", "cholesky_ex", "lu", "lu_factor",
           "lu_factor_ex")  # fmt: skip
BAD = {
    "int": lambda m: m.ones(3, 3, dtype=m.int64),
    "bool": lambda m: m.ones(3, 3, dtype=m.bool),
    "vector": lambda m: m.ones(3),
    "number": lambda m: m.ones(()),
    "rectangle": lambda m: m.ones(3, 4).tril(),
    "list": lambda m: [[1.0]],
    "NaN": lambda m: m.full((3, 3), math.nan),
    "zeros": lambda m: m.zeros(3, 3),
    "zeros in a batch": lambda m: m.stack([m.ones(2, 2).diag().diag_embed(), m.zeros(2, 2)]),
}


@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.parametrize("what", BAD)
def test_bad_matrices(oracle, name, what):
    def run(module):
        try:
            results = flatten(getattr(module.linalg, name)(BAD[what](module)))
        except module.linalg.LinAlgError as error:
            raise ArithmeticError from error  # both packages': of one type
        return [] if what == "NaN" else results[-1].abs()

    check(f"{name} {what}", lambda: run(tiny_torch), lambda: run(oracle), ulps=64)


NOT_FINITE = {
    "svd": lambda m, A: m.linalg.svd(A)[1] if not A.isinf().any() else m.linalg.svdvals(A),
    "svdvals": lambda m, A: m.linalg.svdvals(A),
    "matrix_rank": lambda m, A: m.linalg.matrix_rank(A),
    "matrix_rank hermitian": lambda m, A: m.linalg.matrix_rank(A, hermitian=True),
    "pinv hermitian": lambda m, A: m.linalg.pinv(A, hermitian=True),
    "eigh": lambda m, A: m.linalg.eigh(A)[0],
    "eigh upper": lambda m, A: m.linalg.eigh(A, "U")[0],
    "cholesky": lambda m, A: m.linalg.cholesky(A),
    "cholesky upper": lambda m, A: m.linalg.cholesky(A, upper=True),
    "inv": lambda m, A: m.linalg.inv(A),
    "solve": lambda m, A: m.linalg.solve(A, A[..., :1] * 0 + 1),
    "lstsq by NaN and of infinity": lambda m, A: m.linalg.lstsq(
        A if A.isnan().any() else A.nan_to_num(0, 0, 0), A[..., :2]
    )[0],
    "matrix_exp": lambda m, A: (A.matrix_exp(), A[..., :1, :1].matrix_exp()),
    "matrix_power": lambda m, A: m.linalg.matrix_power(A, 3),
    **{f"cond {p}": lambda m, A, p=p: m.linalg.cond(A, p) for p in (None, -2, "fro", "nuc", 1)},
    **{f"norm {p}": lambda m, A, p=p: m.linalg.matrix_norm(A, p) for p in (2, -2, "nuc", "fro")},
}


@pytest.mark.parametrize("name", NOT_FINITE)
def test_matrices_that_are_not_finite(oracle, name):
    """Of three positive definite matrices, the second has one bad number, or is one alone."""
    places = [(0, 0), (2, 2), (2, 0), (0, 2)]
    with all_failures() as collect:
        for bad, at, batched in itertools.product((math.nan, INF, -INF), places, (True, False)):

            def run(module, bad=bad, at=at, batched=batched):
                A = module.tensor([[4.0, 1, 2], [1, 5, 1], [2, 1, 6]]).double().repeat(3, 1, 1)
                A[1][at] = bad
                try:
                    return NOT_FINITE[name](module, A if batched else A[1])
                except (module.linalg.LinAlgError, RuntimeError) as error:
                    raise ArithmeticError from error

            with collect:
                check(
                    f"{name} {bad} {at} {batched}",
                    lambda run=run: run(tiny_torch),
                    lambda run=run: run(oracle),
                    ulps=1000,
                    strides=False,
                )


def test_singular_values_of_infinity_are_nan():
    A = tiny_torch.eye(3).repeat(2, 2, 1)[:, :4]
    A[0, 1, 1] = INF
    for full in (True, False):
        for x in tiny_torch.linalg.svd(A, full):
            assert x[0].isnan().all() and x[1].isfinite().all()
    solution, _, rank, _ = tiny_torch.linalg.lstsq(A, tiny_torch.ones(2, 4, 1))
    assert solution[0].isnan().all() and solution[1].isfinite().all() and rank.tolist() == [0, 3]
    A[1, 0, 0] = math.nan
    with pytest.raises(tiny_torch.linalg.LinAlgError, match="Batch element 1"):
        tiny_torch.linalg.lstsq(A, tiny_torch.ones(2, 4, 1))


@pytest.mark.parametrize("call", WRONG)
def test_errors(oracle, call):
    def run(module):
        try:
            return call(module)
        except module.linalg.LinAlgError as error:
            raise ArithmeticError from error

    check("", lambda: run(tiny_torch), lambda: run(oracle), ulps=256)


def test_names_of_results():
    A = tiny_torch.ones(2, 2)
    assert type(tiny_torch.linalg.svd(A)).__name__ == "linalg_svd"
    assert tiny_torch.linalg.eigh(A).eigenvalues.shape == (2,)
    assert tiny_torch.svd(A).V.shape == (2, 2) and tiny_torch.qr(A).R.shape == (2, 2)
    assert issubclass(tiny_torch.linalg.LinAlgError, RuntimeError)


def test_in_place_sums_of_products(torch):
    x, a, b = torch.ones(2, 2), torch.ones(2, 3), torch.ones(3, 2)
    assert x.addmm_(a, b, beta=2, alpha=3) is x and x.tolist() == [[11.0, 11.0], [11.0, 11.0]]
    assert torch.ones(2).addmv_(a, b[:, 0]).tolist() == [4.0, 4.0]
    assert torch.ones(1, 2, 2).baddbmm_(a[None], b[None]).tolist() == [[[4.0, 4.0], [4.0, 4.0]]]
    assert torch.ones(2, 2).addbmm_(a[None], b[None]).tolist() == [[4.0, 4.0], [4.0, 4.0]]
    assert torch.ones(2, 3).addr_(torch.ones(2), torch.ones(3), alpha=2).tolist() == [[3.0] * 3] * 2
    for name, arguments in (
        ("addmm_", (a, b)),
        ("addmv_", (a, b[:, 0])),
        ("addr_", (x[0], b[:, 0])),
    ):
        with pytest.raises(RuntimeError):
            getattr(torch.ones(1), name)(*arguments)
        with pytest.raises(RuntimeError):
            getattr(torch.ones(2, dtype=torch.int64), name)(*arguments)
    w = torch.ones(2, 2, requires_grad=True)
    y = w * 1
    y.addmm_(a, b, beta=3)
    y.sum().backward()
    assert w.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    y = torch.zeros(2, 2)
    y.addmm_(w, w, alpha=2).sum().backward()
    assert w.grad.tolist() == [[11.0, 11.0], [11.0, 11.0]]


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, INF])
def test_distances_at_special_numbers(oracle, p):
    """Of equal points, infinities and NaN; PyTorch's largest distance leaves NaN out."""
    numbers = [0.0, -0.0, 1.0, -1.0, 2.0, 1e9, 1e-9, INF, -INF, math.nan]
    rows = np.array(list(itertools.product(numbers, repeat=2)), "float32")
    rows = rows[np.random.default_rng(0).permutation(len(rows))]

    def distances(module, other, name):
        x, y = (module.from_numpy(a).requires_grad_() for a in (rows, other))
        if name == "pdist":
            found = module.nn.functional.pdist(x[:30], p)
        else:
            found = module.cdist(x[:, None], y[:, None], p)
        return found, *module.autograd.grad(found.sum(), (x, y)[: 1 if name == "pdist" else 2])

    for name, other in (("pdist", rows), ("equal", rows.copy()), ("pairs", np.roll(rows, 1, 0))):
        ours, theirs = distances(tiny_torch, other, name), distances(oracle, other, name)
        odd = np.isnan(rows - other).any(1) if p == INF and name != "pdist" else slice(0)
        for found, right in zip(ours, theirs, strict=True):
            found, right = found.detach().numpy(), right.detach().numpy()
            assert np.isnan(found[odd]).all()
            right[odd] = math.nan
            np.testing.assert_allclose(found, right, 1e-5, err_msg=f"{name} {p}")


def test_eigenvalues_that_are_complex_are_refused():
    rotation = tiny_torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    for function in (tiny_torch.linalg.eig, tiny_torch.linalg.eigvals):
        with pytest.raises(NotImplementedError, match=r"\[linalg.eig\] .* complex eigenvalues"):
            function(rotation)
        with pytest.raises(RuntimeError, match="input tensor should not contain infs or NaNs"):
            function(rotation * math.nan)
        with pytest.raises(RuntimeError, match="must be batches of square matrices"):
            function(rotation[:1])
    values = tiny_torch.linalg.eigvals(rotation @ rotation)
    assert values.real is values and values.tolist() == [-1, -1]


@pytest.mark.torch
@pytest.mark.parametrize("function", ["inv", "cholesky", "solve"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_fails_is_told(oracle, function, place):
    def message(module, batch):
        A = module.eye(3)
        A[place, place] = 0
        A = module.stack([module.eye(3), A]) if batch else A
        arguments = (A, module.ones(3, 1)) if function == "solve" else (A,)
        with pytest.raises(RuntimeError) as raised:
            getattr(module.linalg, function)(*arguments)
        return str(raised.value).split("\n")[0]

    for batch in (False, True):
        assert message(tiny_torch, batch) == message(oracle, batch)
