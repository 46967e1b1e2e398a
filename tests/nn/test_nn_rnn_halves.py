"""Recurrent layers of halves: in float32, with products of bfloat16 by tiles if there are any."""

import pytest
from helpers import same_bits

import tiny_torch as torch
from tiny_torch import _core

ROUNDING = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
SIZES = [  # inputs, hidden, steps, batch, settings
    (9, 37, 12, 5, {"num_layers": 2, "bidirectional": True}),
    (40, 64, 5, 70, {}),
    (64, 33, 6, 32, {"bias": False}),
    (8, 8, 3, 1, {}),
    (5, 7, 1, 3, {}),
    (33, 100, 4, 2, {"batch_first": True}),
]


def run(name, dtype, inputs, hidden, steps, batch, settings):
    """The results and gradients of a layer of bfloat16's weights, in a dtype."""
    torch.manual_seed(0)
    model = getattr(torch.nn, name)(inputs, hidden, **settings).to(torch.bfloat16).to(dtype)
    x = torch.randn(steps, batch, inputs).to(torch.bfloat16).to(dtype).requires_grad_()
    y, state = model(x)
    (y * torch.linspace(-1, 1, y.shape[-1]).to(dtype)).sum().backward()
    states = state if isinstance(state, tuple) else (state,)
    return [
        y.detach(),
        *(s.detach() for s in states),
        x.grad,
        *(p.grad for p in model.parameters()),
    ]


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("case", SIZES, ids=str)
def test_results_and_gradients_are_those_of_float64_to_the_roundings(name, dtype, case):
    for result, want in zip(run(name, dtype, *case), run(name, torch.float64, *case), strict=True):
        assert result.dtype == dtype
        error = (result.double() - want).abs().max()
        assert error <= 4 * ROUNDING[dtype] * want.abs().max()


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_the_bits_are_those_of_any_number_of_threads(name):
    before, results = torch.get_num_threads(), []
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        results.append(run(name, torch.bfloat16, 40, 200, 9, 33, {}))
    torch.set_num_threads(before)
    for result in results:
        assert all(same_bits(a.float(), b.float()) for a, b in zip(result, results[0], strict=True))


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_what_is_not_finite_stays_in_its_sequence(name):
    torch.manual_seed(0)
    model = getattr(torch.nn, name)(8, 20).to(torch.bfloat16)
    x = torch.randn(6, 40, 8).to(torch.bfloat16)
    want = model(x)[0]
    x[2, 7, 3] = float("nan")
    y = model(x)[0]
    assert y[2:, 7].isnan().all()
    y[2:, 7], want[2:, 7] = 0, 0
    assert torch.equal(y, want)


def test_packed_sequences_of_bfloat16():
    torch.manual_seed(0)
    model = torch.nn.LSTM(6, 40).to(torch.bfloat16)
    x, sizes = torch.randn(9, 4, 6).to(torch.bfloat16), [9, 7, 7, 2]
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, sizes)
    y, _ = torch.nn.utils.rnn.pad_packed_sequence(model(packed)[0])
    for i, size in enumerate(sizes):
        alone = model(x[:size, i : i + 1])[0][:, 0]
        assert (y[:size, i] - alone).abs().max() <= 2.0**-6


def test_arrays_of_other_dtypes_are_refused():
    x = _core.empty((2, 3), _core.bfloat16)
    state, *weights = (_core.empty(s, _core.float32) for s in ((2, 4), (4, 3), (4, 4)))
    with pytest.raises(
        RuntimeError, match=r"\[recurrent\] expected arrays of bfloat16, got float32"
    ):
        _core.recurrent_forward(0, x, [2], state, None, *weights, None, None, False)
