"""Arrays that lie across each other are walked in tiles: the values are NumPy's in every order."""

import itertools

import numpy as np
import pytest

import tiny_torch as torch

DTYPES = ["uint8", "int16", "float32", "float64", "bool"]
SHAPES = [(2, 130), (3, 257), (17, 33), (40, 7, 9), (5, 2, 3, 70), (200, 150), (4, 300)]


def draw(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_copies_of_permuted_arrays(shape: tuple[int, ...], dtype: str) -> None:
    array = draw(shape, dtype)
    for order in itertools.permutations(range(len(shape))):
        x = torch.from_numpy(array).permute(order)
        np.testing.assert_array_equal(x.contiguous().numpy(), array.transpose(order))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 11, 16, 33, 64, 129, 600])
def test_copies_of_short_runs(size: int, dtype: str) -> None:
    """Each of neighbours, or of one element that is repeated."""
    array = draw((5, 6, 4, size + 1), dtype)[..., 1:]
    x = torch.from_numpy(array)
    swapped, spread = array.transpose(0, 2, 1, 3), np.broadcast_to(array[..., :1], array.shape)
    np.testing.assert_array_equal(x.transpose(1, 2).contiguous().numpy(), swapped)
    np.testing.assert_array_equal(x[..., :1].expand(x.shape).contiguous().numpy(), spread)
    room = torch.zeros(5, 6, 4, size + 2, dtype=x.dtype)
    room[..., 1:-1] = x
    np.testing.assert_array_equal(room.numpy(), np.pad(array, [(0, 0)] * 3 + [(1, 1)]))
    np.testing.assert_array_equal(torch.full_like(x, True).numpy(), np.ones_like(array))


@pytest.mark.parametrize("to", ["float16", "float64", "int64"])
def test_conversions_of_transposed_arrays(to: str) -> None:
    array = draw((131, 75), "float32")
    out = torch.empty(75, 131, dtype=getattr(torch, to))
    out.copy_(torch.from_numpy(array).t())
    np.testing.assert_array_equal(out.numpy(), array.T.astype(to))


def test_ops_on_operands_that_lie_across_each_other() -> None:
    a, b, c = draw((90, 70), "float32"), draw((70, 90), "float64"), draw((90,), "float32")
    x, y, z = (torch.from_numpy(v) for v in (a, b, c))
    np.testing.assert_array_equal((x.t() + y).numpy(), a.T + b)
    np.testing.assert_array_equal((y + x.t()).numpy(), b + a.T)
    np.testing.assert_array_equal((x.t() > y).numpy(), b < a.T)
    np.testing.assert_array_equal((x.t() + z).numpy(), a.T + c)
    np.testing.assert_array_equal(torch.where(x.t() > 50, y, z).numpy(), np.where(a.T > 50, b, c))
    out = torch.zeros(140, 90, dtype=torch.float64)[::2]
    torch.add(y, x.t(), out=out)
    np.testing.assert_array_equal(out.numpy(), b + a.T)


def test_a_part_of_a_transposed_array() -> None:
    array = draw((100, 100), "float32")
    x = torch.from_numpy(array).t()[3:90, 5:88]
    np.testing.assert_array_equal(x.contiguous().numpy(), array.T[3:90, 5:88])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_large_copies_go_past_the_caches(threads: int) -> None:
    array = draw((1030, 4100), "float32")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x = torch.from_numpy(array)
        np.testing.assert_array_equal(x.t().contiguous().numpy(), array.T)
        room = torch.zeros(array.size + 1)[1:].view(4100, 1030)  # not aligned to 16 bytes
        np.testing.assert_array_equal(room.copy_(x.t()).numpy(), array.T)
        rows = torch.zeros(1030, 4100).copy_(
            torch.from_numpy(draw((1030, 5000), "float32"))[:, 7:4107]
        )
        np.testing.assert_array_equal(rows.numpy(), draw((1030, 5000), "float32")[:, 7:4107])
    finally:
        torch.set_num_threads(before)
