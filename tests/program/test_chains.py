"""Chains: neighbouring elementwise launches run block by block, in threads' own memory."""

import pytest
from helpers import same_bits
from program.random_functions import difference

import tiny_torch as torch
from tiny_torch.nn import functional as F
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


def test_columns_of_one_matrix_are_apart():
    def function(x):
        out = torch.empty(3000, 6)
        for k in range(3):
            out[:, 2 * k : 2 * k + 2] = x * k
        out[:, 1:3].mul_(2)  # of two parts
        return out

    assert program_of(function, torch.randn(3000, 2)).chains == [(0, 5)]


LINES = {
    "softmax": lambda x, y, w: torch.softmax(x * 0.3 + y, -1) * 2,
    "log_softmax": lambda x, y, w: (x * 0.3 + y).log_softmax(-1).exp(),
    "halves": lambda x, y, w: (x + y).bfloat16().log_softmax(-1).float(),
    "layer_norm": lambda x, y, w: F.layer_norm(x + y, w.shape, w, w * 2).relu(),
    "rms_norm": lambda x, y, w: F.rms_norm(x + y, w.shape, w),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", LINES)
def test_chains_go_on_over_lines(kind, threads):
    """Of large arrays: what they pass on has no memory."""
    inputs = [torch.randn(8200, 257), torch.randn(8200, 257), torch.randn(257)]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        program = program_of(LINES[kind], *inputs)
    finally:
        torch.set_num_threads(before)
    chains = [last - first + 1 for first, last in program.chains]
    assert len(program.launches) - sum(chains) <= 1  # the product w * 2
    assert program.temporary_bytes < 8200 * 257


def test_small_arrays_are_no_chain_over_lines():
    program = program_of(LINES["softmax"], torch.randn(64, 128), torch.randn(64, 128), None)
    assert program.chains == [(0, 1)]


def test_a_launch_that_shares_nothing_runs_before_a_chain():
    mask = torch.randn(40, 50)

    def function(x):
        return (x * 0.3).masked_fill(mask > 0, -1e9) + x

    program = program_of(function, torch.randn(8, 40, 50))
    assert program.chains == [(0, 3)] and program.steps == 1


def test_a_launch_that_reads_or_writes_what_a_chain_does_stays_behind():
    def function(x, row):
        y = x * 2
        row = row + y[0]  # reads it
        z = y + row
        row.mul_(2)  # writes what it reads
        return z * row + y

    program_of(function, torch.randn(70, 300), torch.randn(300))


@pytest.mark.parametrize("seed", range(120))
def test_random_functions(seed):
    assert not difference(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_random_functions(part):
    assert not [s for s in range(1000 * part, 1000 * (part + 1)) if difference(1_000_000 + s)]
