"""Recurrent layers, their cells, and packed sequences, next to PyTorch."""

import copy
import itertools
import pickle

import numpy as np
import pytest

import tiny_torch as torch
from tiny_torch.nn.utils import rnn as sequences

LAYERS = [
    ("RNN", {}),
    ("RNN", {"nonlinearity": "relu"}),
    ("LSTM", {}),
    ("LSTM", {"proj_size": 3}),
    ("GRU", {}),
]
SETTINGS = list(itertools.product((1, 2), (False, True), (False, True), (False, True)))


def ours(x, grad=True):
    copy = torch.tensor(x.detach().numpy())
    return copy.requires_grad_() if grad and x.requires_grad else copy


def pair(oracle, name, *args, **kwargs):
    """The same module of both packages, in float64; its first weights are equal, too."""
    made = []
    for module in (oracle, torch):
        module.manual_seed(3)
        made.append(getattr(module.nn, name)(*args, **kwargs).double())
    for (key, a), (other, b) in zip(*[m.state_dict().items() for m in made], strict=True):
        assert key == other
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert repr(made[0]) == repr(made[1])
    return made


def check(name, expected, found):
    assert tuple(found.shape) == tuple(expected.shape), name
    np.testing.assert_allclose(
        found.detach().numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-10, err_msg=name
    )


@pytest.mark.parametrize(
    "layers, both_ways, batch_first, bias", SETTINGS, ids=lambda x: str(int(x))
)
@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
@pytest.mark.parametrize("name, settings", LAYERS, ids=[f"{n}{list(s)}" for n, s in LAYERS])
def test_layer(oracle, name, settings, packed, layers, both_ways, batch_first, bias):
    theirs, mine = pair(
        oracle, name, 4, 6, num_layers=layers, bidirectional=both_ways, batch_first=batch_first,
        bias=bias, **settings,
    )  # fmt: skip
    double = {"dtype": oracle.double, "requires_grad": True}
    batch, rows = (5 if batch_first else 3), layers * (2 if both_ways else 1)
    x = oracle.randn(5, 3, 4, **double)
    h = oracle.randn(rows, batch, settings.get("proj_size", 6), **double)
    c = oracle.randn(rows, batch, 6, **double)
    leaves = [x, h, c][: 3 if name == "LSTM" else 2]
    copies = [ours(leaf) for leaf in leaves]
    lengths = [1, 3, 2, 3, 1] if batch_first else [2, 5, 3]
    losses = []
    for module, model, (data, *state) in ((oracle, theirs, leaves), (torch, mine, copies)):
        utils = module.nn.utils.rnn
        hx = tuple(state) if name == "LSTM" else state[0]
        if packed:
            data = utils.pack_padded_sequence(data, lengths, batch_first, enforce_sorted=False)
        output, last = model(data, hx)
        if packed:
            output, _ = utils.pad_packed_sequence(output, batch_first)
        last = last if name == "LSTM" else (last,)
        weights = module.arange(output.numel(), dtype=module.double).view(output.shape)
        loss = (output * weights.cos()).sum()
        for number, part in enumerate(last, 2):
            loss = loss + number * (part * part).sum()
        loss.backward()
        losses.append((output, *last))
    for k, (expected, found) in enumerate(zip(*losses, strict=True)):
        check(f"result {k}", expected, found)
    for k, (expected, found) in enumerate(zip(leaves, copies, strict=True)):
        check(f"gradient of input {k}", expected.grad, found.grad)
    for (key, expected), found in zip(theirs.named_parameters(), mine.parameters(), strict=True):
        check(f"gradient of {key}", expected.grad, found.grad)


def results_and_gradients(module, model, x, lengths):
    """Of a layer whose sequences end at different times, or all at once."""
    model.zero_grad()
    x = x.detach().requires_grad_()
    data = x
    if lengths is not None:
        data = module.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
    output, last = model(data)
    if lengths is not None:
        output, _ = module.nn.utils.rnn.pad_packed_sequence(output)
    parts = [output, *(last if isinstance(last, tuple) else (last,))]
    sum([(part * part).sum() for part in parts]).backward()
    return [*parts, x.grad, *[p.grad for p in model.parameters()]]


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("hidden", [17, 70, 300])
@pytest.mark.parametrize("steps, batch", [(5, 29), (6, 2), (3, 40), (9, 1)])
@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
def test_many_units(oracle, name, hidden, steps, batch, packed):
    theirs, mine = pair(oracle, name, 3, hidden, bidirectional=True)
    x = oracle.randn(steps, batch, 3, dtype=oracle.double)
    lengths = [1 + (7 * k) % steps for k in range(batch - 1)] + [steps] if packed else None
    expected = results_and_gradients(oracle, theirs, x, lengths)
    found = results_and_gradients(torch, mine, ours(x), lengths)
    for k, (a, b) in enumerate(zip(expected, found, strict=True)):
        check(f"part {k}", a, b)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_the_number_of_threads_changes_no_bit(name):
    model, x = getattr(torch.nn, name)(8, 100), torch.randn(6, 20, 8)
    found, before = [], torch.get_num_threads()
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append([p.clone() for p in results_and_gradients(torch, model, x, None)])
    torch.set_num_threads(before)
    for others in found[1:]:
        for a, b in zip(found[0], others, strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("name, settings", LAYERS, ids=[f"{n}{list(s)}" for n, s in LAYERS])
def test_single_sequence_and_no_state(oracle, name, settings):
    theirs, mine = pair(oracle, name, 4, 6, **settings)
    x = oracle.randn(7, 4, dtype=oracle.double)
    expected, found = theirs(x), mine(ours(x))
    check("output", expected[0], found[0])
    for a, b in zip(*[r[1] if name == "LSTM" else (r[1],) for r in (expected, found)], strict=True):
        check("state", a, b)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_the_gates_give_their_memory_to_their_gradients(name):
    """Unless the graph is to be walked again."""
    model, x = getattr(torch.nn, name)(16, 64), torch.randn(64, 32, 16)
    y = model(x)[0]
    upstream, peaks, grads = torch.ones_like(y), [], []
    for retain in (True, False):
        model.zero_grad()
        before = torch._core.memory_statistics()["allocated"]
        torch._core.reset_peak_memory()
        y.backward(upstream, retain_graph=retain)
        peaks.append(torch._core.memory_statistics()["peak_allocated"] - before)
        grads.append([p.grad.numpy().tobytes() for p in model.parameters()])
    gates = 64 * 32 * 64 * 4 * (4 if name == "LSTM" else 3)
    assert peaks[0] - peaks[1] > 0.9 * gates
    assert grads[0] == grads[1]


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("both_ways", [False, True])
def test_a_gradient_does_not_depend_on_which_others_are_needed(name, both_ways):
    layer = getattr(torch.nn, name)(5, 7, bidirectional=both_ways)
    x = torch.randn(4, 3, 5, requires_grad=True)
    tensors = {"x": x, **dict(layer.named_parameters())}
    every = torch.autograd.grad(layer(x)[0].square().sum(), list(tensors.values()))
    for (part, tensor), expected in zip(tensors.items(), every, strict=True):
        for other in tensors.values():
            other.requires_grad_(other is tensor)
        (grad,) = torch.autograd.grad(layer(x)[0].square().sum(), tensor)
        assert grad.tolist() == expected.tolist(), part


@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(3, 4), (4,)])
def test_cell(oracle, name, bias, shape):
    theirs, mine = pair(oracle, name, 4, 6, bias=bias)
    x = oracle.randn(*shape, dtype=oracle.double)
    expected, found = theirs(x), mine(ours(x))
    for _ in range(2):
        expected, found = theirs(x, expected), mine(ours(x), found)
    for a, b in zip(*[r if name == "LSTMCell" else (r,) for r in (expected, found)], strict=True):
        check("state", a, b)


@pytest.mark.parametrize("layers, both_ways, batch_first", itertools.product((1, 2), *[(0, 1)] * 2))
@pytest.mark.parametrize("steps, batch", [(3, 0), (0, 2), (0, 0)])
@pytest.mark.parametrize("name, settings", LAYERS, ids=[f"{n}{list(s)}" for n, s in LAYERS])
def test_nothing(oracle, name, settings, steps, batch, layers, both_ways, batch_first):
    """An empty batch gives empty results and gradients of zeros; no steps raise."""
    settings = {**settings, "num_layers": layers, "bidirectional": bool(both_ways)}
    facts = []
    for module in (oracle, torch):
        model = getattr(module.nn, name)(4, 5, batch_first=bool(batch_first), **settings)
        shape = (batch, steps, 4) if batch_first else (steps, batch, 4)
        x = module.ones(shape, requires_grad=True)
        try:
            output, last = model(x)
        except RuntimeError as error:
            facts.append(str(error))
            continue
        parts = [output, *(last if name == "LSTM" else (last,))]
        sum(part.sum() for part in parts).backward()
        facts.append([(*part.shape, *part.stride()) for part in [*parts, x.grad]])
        assert not any(p.grad.any() for p in model.parameters())
    assert facts[0] == facts[1]


@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
def test_cell_of_nothing(name):
    cell, x = getattr(torch.nn, name)(4, 5), torch.ones(0, 4, requires_grad=True)
    h, *_ = last if isinstance(last := cell(x), tuple) else (last,)
    h.sum().backward()
    assert h.shape == (0, 5) and x.grad.shape == (0, 4)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_second_derivatives(name):
    model = getattr(torch.nn, name)(2, 3, bidirectional=True).double()
    x = torch.randn(3, 2, 2, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: model(x)[0], (x,))
    assert torch.autograd.gradgradcheck(lambda x: model(x)[0], (x,))


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_dtypes(oracle, name, dtype):
    made = []
    for module in (oracle, torch):
        module.manual_seed(0)
        model = getattr(module.nn, name)(8, 20).to(getattr(module, dtype))
        x = module.linspace(-1, 1, 48, dtype=module.float32).view(3, 2, 8)
        made.append(model(x.to(getattr(module, dtype)))[0].float())
    tolerance = 1e-6 if dtype == "float32" else 2e-2
    np.testing.assert_allclose(
        made[1].detach().numpy(), made[0].detach().numpy(), rtol=tolerance, atol=tolerance
    )


def test_same_bits_for_any_number_of_threads():
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        model = torch.nn.LSTM(64, 128, 2)
        model(torch.randn(12, 40, 64))[0].square().mean().backward()
        found.append([p.grad.numpy().tobytes() for p in model.parameters()])
    assert found[0] == found[1]


def test_dropout_between_layers():
    torch.manual_seed(0)
    model = torch.nn.GRU(3, 4, num_layers=2, dropout=1.0)
    x = torch.randn(5, 2, 3)
    assert not model(x)[0].equal(model.eval()(x)[0])
    model.train()
    zeros = torch.nn.GRU(4, 4)
    zeros.load_state_dict(
        {k.replace("l1", "l0"): v for k, v in model.state_dict().items() if "l1" in k}
    )
    assert model(x)[0].allclose(zeros(torch.zeros(5, 2, 4))[0])


def test_weights_move_and_modules_copy(oracle):
    theirs, mine = oracle.nn.LSTM(4, 5), torch.nn.LSTM(4, 5)
    mine.load_state_dict({k: torch.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    x = oracle.randn(2, 3, 4)
    again = copy.deepcopy(mine)
    again.flatten_parameters()
    np.testing.assert_allclose(
        again(ours(x))[0].detach().numpy(), theirs(x)[0].detach().numpy(), atol=1e-6
    )
    assert [len(w) for w in mine.all_weights] == [len(w) for w in theirs.all_weights] == [4]
    assert mine._flat_weights_names == theirs._flat_weights_names
    assert all(
        weight is getattr(mine, name)
        for name, weight in zip(mine._flat_weights_names, mine._flat_weights, strict=True)
    )


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_scripts_put_other_weights_where_forward_reads_them(oracle, kind):
    def answers(m):
        layer = getattr(m.nn, kind)(2, 3, num_layers=2, bidirectional=True)
        with m.no_grad():
            for i, weight in enumerate(layer.parameters()):
                weight.copy_(m.arange(weight.numel()).reshape(weight.shape) % (i + 2) * 0.1 - 0.05)
        x, seen = m.ones(4, 1, 2), []

        def say(layer):
            seen.append(layer(x)[0].sum())
            seen.append(layer._flat_weights[0] is layer.weight_ih_l0)

        say(layer)
        layer._flat_weights = [
            weight * 0.5 for weight in layer._flat_weights
        ]  # as weight drop does
        say(layer)
        seen[-2].backward()
        seen.append(layer.weight_hh_l1.grad.sum())
        layer._flat_weights[0] = layer._flat_weights[0] * 0
        say(layer)
        layer.weight_ih_l0 = m.nn.Parameter(layer.weight_ih_l0.detach() + 1)
        say(layer)
        for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            say(again)
            say(again.double().float())
        del layer._parameters["weight_ih_l0"]
        layer.weight_ih_l0 = m.zeros(layer._flat_weights[0].shape)  # as weight norm does
        say(layer)
        swapped = {"weight_hh_l0": m.zeros(layer.weight_hh_l0.shape)}
        seen.append(m.func.functional_call(layer, swapped, (x,))[0].sum())
        say(layer)
        layer._flat_weights = layer._flat_weights[:3]
        with pytest.raises(RuntimeError):
            layer(x)
        return [round(float(v.detach() if hasattr(v, "detach") else v), 4) for v in seen]

    assert answers(torch) == answers(oracle)


# ------------------------------------------------------------------------------- packed sequences


def same(expected, found):
    """Whether results are equal: packed sequences, tuples, lists, tensors."""
    if isinstance(expected, tuple | list):
        assert len(expected) == len(found)
        for a, b in zip(expected, found, strict=True):
            same(a, b)
    elif expected is None:
        assert found is None
    else:
        np.testing.assert_array_equal(expected.numpy(), found.numpy())
        assert str(expected.dtype) == str(found.dtype)


PADDED = "m.arange(24).view(4, 3, 2)"
PARTS = "[m.arange(3), m.arange(1), m.arange(4)]"
SEQUENCES = [
    f"u.pack_padded_sequence({PADDED}, [4, 2, 1])",
    f"u.pack_padded_sequence({PADDED}, m.tensor([1, 4, 2]), enforce_sorted=False)",
    f"u.pack_padded_sequence({PADDED}, [3, 3, 2, 1], batch_first=True)",
    f"u.pad_packed_sequence(u.pack_padded_sequence({PADDED}, [4, 2, 1]))",
    f"u.pad_packed_sequence(u.pack_padded_sequence({PADDED}, [1, 4, 2], enforce_sorted=False),"
    " batch_first=True, padding_value=-1, total_length=6)",
    f"u.pack_sequence({PARTS}, enforce_sorted=False)",
    f"u.pack_sequence({PARTS}, enforce_sorted=False).to(m.float32)",
    f"u.pad_sequence({PARTS})",
    f"u.pad_sequence({PARTS}, batch_first=True, padding_value=7, padding_side='left')",
    f"u.unpad_sequence(u.pad_sequence({PARTS}), m.tensor([3, 1, 4]))",
    f"u.unpack_sequence(u.pack_sequence({PARTS}, enforce_sorted=False))",
    "u.invert_permutation(m.tensor([2, 0, 1]))",
]


@pytest.mark.parametrize("expression", SEQUENCES)
def test_sequences(oracle, expression):
    expected, found = (
        eval(expression, {"m": m, "u": m.nn.utils.rnn}) for m in (oracle, torch)
    )  # fmt: skip
    same(expected, found)


def test_packed_sequence_is_a_named_tuple():
    packed = sequences.pack_sequence([torch.arange(2), torch.arange(1)])
    assert isinstance(packed, tuple)
    assert packed._fields == ("data", "batch_sizes", "sorted_indices", "unsorted_indices")
    assert not packed.is_cuda
    assert packed.cpu() is packed
    assert packed.double().data.dtype is torch.float64


WRONG = [
    "m.nn.LSTM(4, 0)",
    "m.nn.LSTM(0, 4)",
    "m.nn.LSTM(4, 4, 0)",
    "m.nn.LSTM(4, 4.0)",
    "m.nn.LSTM(4, 4, bias=1)",
    "m.nn.LSTM(4, 4, batch_first=1)",
    "m.nn.LSTM(4, 4, dropout=2)",
    "m.nn.LSTM(4, 4, dropout='a')",
    "m.nn.LSTM(4, 4, proj_size=4)",
    "m.nn.LSTM(4, 4, proj_size=-1)",
    "m.nn.RNN(4, 4, nonlinearity='a')",
    "m.nn.LSTM(4, 5)(m.ones(1, 2, 3, 4))",
    "m.nn.LSTM(4, 5)(m.ones(2, 3))",
    "m.nn.LSTM(4, 5)(m.ones(2, 3, 5))",
    "m.nn.LSTM(4, 5)(m.ones(2, 3, 4).double())",
    "m.nn.LSTM(4, 5)(m.ones(2, 3, 4), (m.ones(1, 3, 5), m.ones(1, 2, 5)))",
    "m.nn.LSTM(4, 5)(m.ones(2, 3, 4), (m.ones(3, 5), m.ones(3, 5)))",
    "m.nn.LSTM(4, 5)(m.ones(2, 4), (m.ones(1, 1, 5), m.ones(1, 1, 5)))",
    "m.nn.GRU(4, 5)(m.ones(2, 3, 4), m.ones(2, 3, 5))",
    "m.nn.GRU(4, 5)(m.ones(2, 3, 4), m.ones(3, 5))",
    "m.nn.GRU(4, 5)(m.ones(2, 4), m.ones(1, 1, 5))",
    "m.nn.GRU(4, 5)(m.ones(2, 3, 4), (m.ones(1, 3, 5),))",
    "m.nn.RNN(4, 5)(m.ones(2, 4), [m.ones(1, 5)])",
    "m.nn.LSTM(4, 5)(m.ones(2, 3, 4), m.ones(1, 3, 5))",
    "m.nn.LSTM(4, 5)(m.ones(2, 3, 4), m.ones(2, 1, 3, 5))",
    "m.nn.LSTM(4, 5)(m.ones(2, 3, 4), (m.ones(1, 3, 5),))",
    "m.nn.LSTM(4, 5)(m.ones(2, 3, 4), (m.ones(1, 3, 5),) * 3)",
    "m.nn.LSTMCell(4, 5)(m.ones(1, 1, 4))",
    "m.nn.LSTMCell(4, 5)(m.ones(1, 3))",
    "m.nn.LSTMCell(4, 5)(m.ones(2, 4), m.ones(2, 2, 5))",
    "m.nn.LSTMCell(4, 5)(m.ones(2, 4), (m.ones(2, 5),) * 3)",
    "m.nn.GRUCell(4, 5)(m.ones(2, 4), m.ones(3, 5))",
    "m.nn.RNNCell(4, 5)(m.ones(2, 4), m.ones(1, 1, 5))",
    "m.nn.RNNCell(4, 5, nonlinearity='a')(m.ones(2, 4))",
    f"u.pack_padded_sequence({PADDED}, [1, 2, 4])",
    f"u.pack_padded_sequence({PADDED}, [4, 2])",
    f"u.pack_padded_sequence({PADDED}, [4, 2, 0])",
    "u.pack_padded_sequence(m.ones(0, 3), [1, 1, 1])",
    f"u.pad_packed_sequence(u.pack_padded_sequence({PADDED}, [4, 2, 1]), total_length=3)",
    "m.nn.LSTM(3, 4)(u.PackedSequence(m.ones(3, 3), m.tensor([2, 1], dtype=m.int32)))",
    "u.pad_sequence([])",
    "u.pad_sequence(3)",
    f"u.pad_sequence({PARTS}, padding_side='up')",
]


@pytest.mark.parametrize("expression", WRONG)
def test_errors(oracle, expression):
    errors = []
    for module in (oracle, torch):
        with pytest.raises(Exception) as caught:
            eval(expression, {"m": module, "u": module.nn.utils.rnn})
        errors.append(caught.type)
    assert errors[0] is errors[1], caught.value


def test_a_wrong_call_of_the_kernel_raises():
    zeros = torch.zeros(4, 3).array
    with pytest.raises(RuntimeError, match="sizes add up to 3"):
        torch._core.recurrent_forward(
            0, zeros, [2, 1], torch.zeros(2, 5).array, None,
            torch.zeros(5, 3).array, torch.zeros(5, 5).array, None, None, False,
        )  # fmt: skip


def test_lengths_beyond_the_input_raise():  # PyTorch packs what it reads there
    with pytest.raises(RuntimeError, match="at most 4, the input's, got 5"):
        sequences.pack_padded_sequence(torch.ones(4, 3), [5, 2, 1])


def test_dropout_of_a_single_layer_warns():
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        torch.nn.LSTM(2, 2, dropout=0.5)
