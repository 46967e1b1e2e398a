"""The same collectives under PyTorch's gloo, and what the model of random sequences says."""

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


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_table(n):
    ours = values(lambda rank, n: of_gloo(torch, rank, n), n)
    theirs = gloo.answers("test_next_to_gloo:of_gloo", n)
    for our, their in zip(ours, theirs, strict=True):
        assert {k: v for k, v in our.items() if "AVG" not in k[0]} == {
            k: v for k, v in their.items() if "AVG" not in k[0]
        }
        for key in our:
            if "AVG" in key[0]:
                for a, b in zip(our[key], their[key], strict=True):
                    assert torch.allclose(torch.tensor(a), torch.tensor(b), rtol=1e-2)


def test_the_model_of_random_sequences():
    theirs = gloo.answers("random_sequences:run", 4, 1, 150)
    assert theirs == random_sequences.model(4, 1, 150)
