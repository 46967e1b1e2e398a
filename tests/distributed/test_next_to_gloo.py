"""The same collectives under PyTorch's gloo, and what the model of random sequences says."""

import functools

import gloo
import pytest
import random_sequences
from collective_cases import DTYPES, run
from ranks import values

import tiny_torch as torch

pytestmark = pytest.mark.torch

THEIRS = [dtype for dtype in DTYPES if dtype not in ("int16", "bool")]  # gloo has no int16


def of_gloo(lib, rank, n):
    return run(lib, rank, n, THEIRS)


@functools.cache
def theirs():
    """The table at 1 to 4 ranks, and a random sequence at 4, of one start of PyTorch."""
    tables = [("test_next_to_gloo:of_gloo", n) for n in (1, 2, 3, 4)]
    return gloo.answers(*tables, ("random_sequences:run", 4, 1, 150))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_table(n):
    ours = values(lambda rank, n: of_gloo(torch, rank, n), n)
    for our, their in zip(ours, theirs()[n - 1], strict=True):
        assert {k: v for k, v in our.items() if "AVG" not in k[0]} == {
            k: v for k, v in their.items() if "AVG" not in k[0]
        }
        for key in our:
            if "AVG" in key[0]:
                for a, b in zip(our[key], their[key], strict=True):
                    assert torch.allclose(torch.tensor(a), torch.tensor(b), rtol=1e-2)


def test_the_model_of_random_sequences():
    assert theirs()[-1] == random_sequences.model(4, 1, 150)
