"""Products of halves: sums in float32, rounded once; the bits depend on the shape alone."""

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers import same_bits

import tiny_torch as torch

HALVES = {
    torch.bfloat16: 2.0**-8,
    torch.float16: 2.0**-11,
}  # the largest relative error of rounding
SHAPES = [  # m, n, k
    (1, 1, 1), (1, 5, 7), (5, 1, 300), (2, 3, 5), (12, 32, 32), (13, 33, 65), (128, 100, 513),
    (3, 200, 1000), (300, 10, 64), (10, 300, 1025), (64, 64, 5000), (250, 530, 70), (600, 40, 17),
    (1, 70, 600), (40, 1, 513), (1, 1, 2000), (241, 513, 33),
]  # fmt: skip


def draw(*shape, dtype, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape)).to(dtype)


def laid_out(x):
    """The same matrix by rows, by columns, and with gaps, NaN all around."""
    m, n = x.shape
    frame = torch.full((m + 2, n + 2), float("nan"), dtype=x.dtype)
    frame[1:-1, 1:-1] = x
    spaced = torch.full((m, 2 * n), float("nan"), dtype=x.dtype)
    spaced[:, ::2] = x
    return [x, x.t().contiguous().t(), frame[1:-1, 1:-1], spaced[:, ::2]]


def wide(x):
    return x.double().numpy()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("m, n, k", SHAPES)
def test_the_error_is_that_of_float32_sums_rounded_once(dtype, m, n, k):
    a, b, bias = (draw(*shape, dtype=dtype) for shape in ((m, k), (k, n), (n,)))
    for more in (None, bias):
        extra = 0 if more is None else wide(more)
        exact = wide(a) @ wide(b) + extra
        size = np.abs(wide(a)) @ np.abs(wide(b)) + np.abs(extra)
        bound = HALVES[dtype] * np.abs(exact) + (k + 3) * 2.0**-24 * size + 2.0**-25
        results = []
        for x in laid_out(a):
            for y in laid_out(b):
                results.append(
                    x @ y if more is None else torch.nn.functional.linear(x, y.t(), more)
                )
        assert (np.abs(wide(results[0]) - exact) <= bound).all()
        assert all(same_bits(r.float(), results[0].float()) for r in results)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("n, k", [(1, 1), (3, 40), (17, 31), (65, 257), (1030, 300), (2100, 513)])
def test_a_row_is_that_of_the_product_of_floats_rounded(dtype, n, k):
    a, b = draw(1, k, dtype=dtype), draw(k, n, dtype=dtype)
    expected = (a.float() @ b.float()).to(dtype).float()
    for x in laid_out(a):
        for y in laid_out(b):
            assert same_bits((x @ y).float(), expected)
            assert same_bits((y.t() @ x.t()).t().float(), expected)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("k", [1, 24, 31, 513, 1100])
def test_a_part_of_a_product_has_the_bits_of_the_whole(dtype, k):
    a, b = draw(60, k, dtype=dtype), draw(k, 70, dtype=dtype)
    whole = a @ b
    for m in (2, 4, 5, 9, 12, 13, 40):
        for n in (2, 15, 16, 17, 33, 64):
            assert same_bits((a[:m] @ b[:, :n]).float(), whole[:m, :n].float()), (m, n)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(
    "m, n, k", [(128, 300, 700), (64, 64, 5000), (297, 40, 800), (1, 900, 600), (700, 20, 90)]
)
def test_the_bits_are_those_of_any_number_of_threads(dtype, m, n, k):
    a, b = draw(m, k, dtype=dtype), draw(k, n, dtype=dtype)
    before, results = torch.get_num_threads(), []
    for threads in (1, 2, 3, 5, 8, 16):
        torch.set_num_threads(threads)
        results.append(a @ b)
    torch.set_num_threads(before)
    assert all(same_bits(r.float(), results[0].float()) for r in results)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(
    "left, right",
    [
        ((3, 5, 8, 9), (5, 9, 40)),
        ((6, 1, 50), (50, 20)),
        ((6, 1, 50), (6, 50, 20)),
        ((2, 3, 20, 33), (33, 7)),
        ((4, 130, 32), (4, 32, 130)),
        ((5, 8), (2, 8, 3)),
    ],
)
def test_a_stack_of_products_is_each(dtype, left, right):
    a, b = draw(*left, dtype=dtype), draw(*right, dtype=dtype)
    result = a @ b
    A, B = wide(a), wide(b)
    size = np.abs(A) @ np.abs(B)
    assert (np.abs(wide(result) - A @ B) <= HALVES[dtype] * np.abs(A @ B) + 1e-5 * size).all()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_empty_products(dtype):
    x = torch.empty(3, 0, dtype=dtype)
    assert (x @ x.t()).tolist() == [[0.0] * 3] * 3
    assert (x.t() @ x).shape == (0, 0)
    linear = torch.nn.functional.linear(x, torch.empty(2, 0, dtype=dtype), torch.ones(2).to(dtype))
    assert linear.tolist() == [[1.0, 1.0]] * 3
    assert (torch.empty(0, 2, 3, dtype=dtype) @ torch.ones(3, 4, dtype=dtype)).shape == (0, 2, 4)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("m, n, k", [(1, 20, 33), (3, 20, 33), (14, 40, 33), (14, 1, 33)])
def test_nan_and_inf_stay_in_their_row_and_column(dtype, m, n, k):
    a, b = torch.ones(m, k, dtype=dtype), torch.ones(k, n, dtype=dtype)
    a[m // 2, k - 1] = float("inf")
    b[k - 1, n // 2] = float("nan")
    expected = np.full((m, n), float(k))
    expected[m // 2], expected[:, n // 2] = np.inf, np.nan
    np.testing.assert_array_equal(wide(a @ b), expected)


def test_what_is_too_large_for_float16_is_infinite():
    x = torch.full((4, 4), 200.0, dtype=torch.float16)
    assert (x @ x).tolist() == [[float("inf")] * 4] * 4
    assert (x @ -x).tolist() == [[float("-inf")] * 4] * 4
    huge = torch.full((4, 4), 1e38, dtype=torch.bfloat16)
    assert (huge @ huge).tolist() == [[float("inf")] * 4] * 4


def test_sums_of_halves_pass_what_the_dtype_cannot_count():
    for dtype in HALVES:
        ones = torch.ones(8, 4096, dtype=dtype)
        assert (ones @ ones.t()).tolist() == [[4096.0] * 8] * 8


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_the_gradients_are_those_of_the_products(dtype):
    x, w = draw(40, 70, dtype=dtype).requires_grad_(), draw(33, 70, dtype=dtype).requires_grad_()
    g = draw(40, 33, dtype=dtype)
    torch.nn.functional.linear(x, w).backward(g)
    for grad, (left, right) in ((x.grad, (g, w)), (w.grad, (g.t(), x))):
        exact = wide(left.detach()) @ wide(right.detach())
        size = np.abs(wide(left.detach())) @ np.abs(wide(right.detach()))
        assert (np.abs(wide(grad) - exact) <= HALVES[dtype] * np.abs(exact) + 1e-5 * size).all()


def test_subnormal_factors_count():
    """vdpbf16ps, which multiplies pairs, takes them for 0."""
    tiny = torch.full((2, 2), 2.0**-130, dtype=torch.bfloat16)
    large = torch.full((2, 2), 2.0**20, dtype=torch.bfloat16)
    assert (tiny @ large).tolist() == [[2.0**-109] * 2] * 2


BITS = """
import numpy as np, tiny_torch as torch
draw = np.random.default_rng(0).standard_normal
for m, n, k, size in [(70, 33, 100, 1), (16, 16, 32, 1e20), (5, 200, 1100, 1e-25), (1, 9, 40, 1)]:
    a, b = (torch.from_numpy(draw(shape) * size).bfloat16() for shape in ((m, k), (k, n)))
    print((a @ b).view(torch.int16).sum().item(), (b.t() @ a.t()).view(torch.int16).sum().item())
"""


def test_tiles_in_cpp_have_the_bits_of_the_machines():
    def run(isa):
        environment = {**os.environ, "TINY_TORCH_ISA": isa}
        command = [sys.executable, "-c", BITS]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    emulated, real = run("v4amx-emulated"), run("v4amx")
    assert emulated.returncode == 0, emulated.stderr
    if "not supported by this machine" not in real.stderr:
        assert real.stdout == emulated.stdout


def test_tiles_of_threads_and_forks_are_their_own():
    from concurrent.futures import ThreadPoolExecutor

    a, b = draw(70, 300, dtype=torch.bfloat16), draw(300, 50, dtype=torch.bfloat16)
    expected = a @ b
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: a @ b, range(40)))
    assert all(torch.equal(result, expected) for result in results)
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
    else:
        os._exit(not torch.equal(a @ b, expected))
