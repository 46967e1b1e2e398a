"""nn's families on devices whose memory the host cannot reach: `twin` computes the bits of the CPU,
`meta` has its shapes. Host code that touches an element dies: tests/twin.cpp.
"""

import pytest

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F


def floats(*shape, dtype=torch.float32):
    return lambda: torch.randn(shape, dtype=dtype).requires_grad_()


def numbers(*shape, low=0, below=7):
    return lambda: torch.randint(low, below, shape)


def values(*list):
    return lambda: torch.tensor(list)


def chances(*shape):
    return lambda: torch.rand(shape)


def module(make, *arguments, **options):
    return lambda: make(*arguments, **options)


def both_modes(module, x):
    """In training, which moves running statistics, then with them."""
    return module(x), module.eval()(x), *module.buffers()


def packed(module, x):
    sequences = nn.utils.rnn.PackedSequence(x, torch.tensor([3, 3, 2, 1]))  # sizes: on the CPU
    out, state = module(sequences)
    return out.data, *(state if isinstance(state, tuple) else (state,))


def option(function, **options):
    return lambda *inputs: function(*inputs, **options)


def ctc(x, targets):
    return F.ctc_loss(x.log_softmax(2), targets, (9, 8, 9), (4, 0, 3), reduction="none")


X, C, W = floats(5, 7), numbers(5), chances(7)
HALF, SMALL = floats(5, 7, dtype=torch.bfloat16), floats(4, 6, 5, 5)
BAG = (numbers(9), floats(7, 8), values(0, 2, 2))
RNN = {"input_size": 3, "hidden_size": 4, "num_layers": 2, "bidirectional": True}
LARGE = (floats(40000), floats(40000))

CASES = {
    "cross_entropy": (F.cross_entropy, X, C),
    "cross_entropy, weights": (option(F.cross_entropy, ignore_index=2), X, C, W),
    "cross_entropy, none": (option(F.cross_entropy, reduction="none"), X, C, W),
    "cross_entropy, smooth": (option(F.cross_entropy, label_smoothing=0.1), X, C, W),
    "cross_entropy, half": (F.cross_entropy, HALF, C),
    "cross_entropy, planes": (F.cross_entropy, floats(2, 7, 3), numbers(2, 3)),
    "cross_entropy, probabilities": (F.cross_entropy, X, chances(5, 7)),
    "nll_loss": (F.nll_loss, X, C),
    "nll_loss, weights": (option(F.nll_loss, ignore_index=2), X, C, W),
    "nll_loss, none": (option(F.nll_loss, reduction="none"), X, C, W),
    "nll_loss, sum": (option(F.nll_loss, reduction="sum"), floats(2, 7, 3), numbers(2, 3)),
    "nll_loss, half": (F.nll_loss, HALF, C),
    "batch_norm": (both_modes, module(nn.BatchNorm2d, 6), SMALL),
    "batch_norm, rows": (both_modes, module(nn.BatchNorm1d, 7), X),
    "instance_norm": (
        *(both_modes, module(nn.InstanceNorm2d, 6, affine=True, track_running_stats=True)),
        SMALL,
    ),
    "group_norm": (lambda module, x: module(x), module(nn.GroupNorm, 3, 6), SMALL),
    "layer_norm": (lambda module, x: module(x), module(nn.LayerNorm, 7), X),
    "layer_norm, no rows": (lambda module, x: module(x), module(nn.LayerNorm, 7), floats(0, 7)),
    "rms_norm": (lambda module, x: module(x), module(nn.RMSNorm, 7), X),
    "multilabel_margin_loss": (F.multilabel_margin_loss, X, numbers(5, 7, low=-1)),
    "ctc_loss": (ctc, floats(9, 3, 7), numbers(3, 4, low=1)),
    "ctc_loss, together": (ctc, floats(9, 3, 7), numbers(7, low=1)),
    "mse_loss": (F.mse_loss, *LARGE),
    "smooth_l1_loss": (option(F.smooth_l1_loss, reduction="sum"), *LARGE),
    "embedding": (F.embedding, C, floats(7, 8)),
    "embedding_bag, sum": (option(F.embedding_bag, mode="sum"), *BAG),
    "embedding_bag, mean": (option(F.embedding_bag, padding_idx=2), *BAG),
    "embedding_bag, max": (option(F.embedding_bag, mode="max"), *BAG),
    "rnn": (packed, module(nn.RNN, **RNN), floats(9, 3)),
    "lstm": (packed, module(nn.LSTM, **RNN), floats(9, 3)),
    "gru": (packed, module(nn.GRU, **RNN), floats(9, 3)),
    "lstm, padded": (lambda module, x: module(x)[0], module(nn.LSTM, **RNN), floats(3, 2, 3)),
    "lstm_cell": (lambda module, x: module(x), module(nn.LSTMCell, 3, 4), floats(5, 3)),
}


def results(case, device):
    """What the call answers on a device, and the gradients of its first answer."""
    torch.manual_seed(0)
    call, *makers = case
    inputs = [make() for make in makers]
    grads = torch.randn(100000)
    for k, i in enumerate(inputs):
        moved = i.to(device) if isinstance(i, nn.Module) else i.detach().to(device)
        inputs[k] = moved.requires_grad_(isinstance(i, nn.Module) or i.requires_grad)
    answer = call(*inputs)
    answer = answer if isinstance(answer, tuple) else (answer,)
    leaves = [p for i in inputs if isinstance(i, nn.Module) for p in i.parameters()]
    leaves += [i for i in inputs if isinstance(i, torch.Tensor) and i.requires_grad]
    first = answer[0]
    grad = grads[: first.numel()].view(first.shape).to(first.dtype).to(device)
    return *answer, *torch.autograd.grad(first, leaves, grad)


def bits(tensor):
    return tensor.detach().cpu().flatten().view(torch.uint8).tolist()


def layout(tensors):
    return [(t.shape, t.dtype, t.stride()) for t in tensors]


@pytest.mark.usefixtures("twin")
@pytest.mark.parametrize("name", CASES)
def test_twin_computes_the_bits_of_the_cpu(name):
    expected, found = results(CASES[name], "cpu"), results(CASES[name], "twin")
    assert {t.device.type for t in found} == {"twin"}
    assert layout(found) == layout(expected)
    for a, b in zip(expected, found, strict=True):
        assert bits(a) == bits(b)


@pytest.mark.parametrize("name", CASES)
def test_meta_has_the_shapes_of_the_cpu(name):
    expected, found = results(CASES[name], "cpu"), results(CASES[name], "meta")
    assert {t.device.type for t in found} == {"meta"}
    assert layout(found) == layout(expected)


WRONG = {
    "class": (F.cross_entropy, X, values(0, 1, 7, 2, 9)),
    "class of nll_loss": (F.nll_loss, X, values(0, 1, 7, 2, -1)),
    "label": (F.multilabel_margin_loss, X, numbers(5, 7, low=7, below=8)),
    "label of ctc_loss": (ctc, floats(9, 3, 7), numbers(3, 4, low=7, below=8)),
    "first offset": (F.embedding_bag, numbers(9), floats(7, 8), values(1, 2)),
    "offsets that decrease": (F.embedding_bag, numbers(9), floats(7, 8), values(0, 4, 3)),
    "offset beyond": (F.embedding_bag, numbers(9), floats(7, 8), values(0, 10)),
    "row": (F.embedding_bag, values(1, 7), floats(7, 8), values(0, 1)),
}


@pytest.mark.usefixtures("twin")
@pytest.mark.parametrize("name", WRONG)
def test_wrong_numbers_raise_as_on_the_cpu(name):
    errors = []
    for device in ("cpu", "twin"):
        with pytest.raises((IndexError, RuntimeError)) as caught:
            results(WRONG[name], device)
        errors.append((caught.type, str(caught.value)))
    assert errors[0] == errors[1]
