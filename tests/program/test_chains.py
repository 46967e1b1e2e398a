"""Chains: neighbouring elementwise launches run block by block, in threads' own memory."""

import pytest
from helpers import same_bits
from program.random_functions import difference

import tiny_torch as torch
from tiny_torch.program import Compiled


def program_of(function, *inputs):
    """The program of a function, whose bits are eager's."""
    compiled = Compiled(function, fullgraph=True)
    for _ in range(2):
        assert same_bits(compiled(*inputs), function(*inputs))
    return compiled.cases.popitem()[1][0].program


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x)))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [4097, 50_001])
def test_what_only_a_chain_uses_has_no_memory(threads, n):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        program = program_of(gelu, torch.randn(n))
    finally:
        torch.set_num_threads(before)
    assert program.steps == 1
    assert program.temporary_bytes == 0
    assert program.born_bytes >= 8 * 4 * n


def test_few_elements_are_no_chain():
    assert program_of(gelu, torch.randn(4096)).steps == 9


def test_rows_columns_masks_and_other_dtypes():
    x = torch.randn(70, 300)

    def function(row, column):
        mask = (x * row > column) | (x < -1)
        wide = torch.where(mask, x.double() * column, row.half().float())
        return ((wide - row).to(torch.bfloat16) * 2).float()

    program = program_of(function, torch.randn(300), torch.randn(70, 1))
    assert program.steps < 6


def test_another_block_is_not_read():
    """What shifts elements cannot run block by block."""
    x = torch.randn(3, 5000)

    def function(y):
        z = y + 1
        z[:, 1:].mul_(2)
        return z[:, :-1] + z[:, 1:] + z.flip(1)[:, 1:]

    program_of(function, x)


@pytest.mark.parametrize("seed", range(120))
def test_random_functions(seed):
    assert not difference(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_random_functions(part):
    assert not [s for s in range(1000 * part, 1000 * (part + 1)) if difference(1_000_000 + s)]
