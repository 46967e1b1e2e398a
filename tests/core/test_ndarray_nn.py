"""nn's kernels on odd sizes: float32 agrees with float64, forward and backward, in every layout.

Needs no PyTorch, so that the build with sanitizers runs it, too.
"""

import numpy as np
import pytest

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F


def images(*shape):
    return lambda: torch.randn(*shape, dtype=torch.float64)


def classes(count, *shape):
    return lambda: torch.randint(0, count, shape)


class Attention(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.causal = causal

    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)


# name, what to call, what makes its arguments
CASES = [
    ("conv1d", lambda m: nn.Conv1d(3, 5, 3, padding=2, dilation=2), [images(2, 3, 17)]),
    ("conv2d", lambda m: nn.Conv2d(3, 7, 3, padding=1), [images(2, 3, 9, 11)]),
    ("conv2d stride", lambda m: nn.Conv2d(5, 13, 3, stride=2), [images(3, 5, 13, 10)]),
    ("conv2d 1x1", lambda m: nn.Conv2d(17, 33, 1), [images(2, 17, 5, 5)]),
    ("conv2d groups", lambda m: nn.Conv2d(6, 8, 3, groups=2), [images(2, 6, 7, 7)]),
    ("depthwise", lambda m: nn.Conv2d(6, 6, 3, padding=1, groups=6), [images(2, 6, 7, 9)]),
    ("conv2d tiny", lambda m: nn.Conv2d(1, 1, 1), [images(1, 1, 1, 1)]),
    ("conv2d circular", lambda m: nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular"),
     [images(2, 2, 5, 6)]),
    ("conv3d", lambda m: nn.Conv3d(2, 3, 2, padding=1), [images(1, 2, 4, 5, 6)]),
    ("transposed", lambda m: nn.ConvTranspose2d(5, 7, 4, stride=2, padding=1),
     [images(1, 5, 5, 7)]),
    ("transposed 1d", lambda m: nn.ConvTranspose1d(3, 2, 3, stride=3, output_padding=1),
     [images(2, 3, 6)]),
    ("max_pool2d", lambda m: nn.MaxPool2d(3, 2, 1), [images(2, 5, 9, 10)]),
    ("max_pool1d", lambda m: nn.MaxPool1d(2, ceil_mode=True), [images(2, 3, 7)]),
    ("avg_pool2d", lambda m: nn.AvgPool2d(3, 2, 1, count_include_pad=False), [images(2, 5, 9, 10)]),
    ("adaptive", lambda m: nn.AdaptiveAvgPool2d((3, 4)), [images(2, 5, 7, 10)]),
    ("adaptive max", lambda m: nn.AdaptiveMaxPool2d(2), [images(2, 5, 7, 3)]),
    ("batch_norm", lambda m: nn.BatchNorm2d(7), [images(3, 7, 5, 3)]),
    ("batch_norm 1d", lambda m: nn.BatchNorm1d(17), [images(5, 17)]),
    ("layer_norm", lambda m: nn.LayerNorm(19), [images(3, 5, 19)]),
    ("rms_norm", lambda m: nn.RMSNorm(19), [images(3, 5, 19)]),
    ("group_norm", lambda m: nn.GroupNorm(3, 6), [images(3, 6, 5, 7)]),
    ("instance_norm", lambda m: nn.InstanceNorm2d(3, affine=True), [images(2, 3, 5, 7)]),
    ("softmax", lambda m: nn.Softmax(1), [images(3, 37, 5)]),
    ("log_softmax", lambda m: nn.LogSoftmax(-1), [images(3, 5, 37)]),
    ("cross_entropy", lambda m: nn.CrossEntropyLoss(label_smoothing=0.1),
     [images(7, 19), classes(19, 7)]),
    ("cross_entropy of images", lambda m: nn.CrossEntropyLoss(),
     [images(2, 5, 3, 7), classes(5, 2, 3, 7)]),
    ("gelu", lambda m: nn.GELU(), [images(3, 37)]),
    ("lstm", lambda m: nn.LSTM(5, 19, 2, bidirectional=True), [images(7, 3, 5)]),
    ("gru", lambda m: nn.GRU(5, 17), [images(4, 1, 5)]),
    ("rnn", lambda m: nn.RNN(3, 33, nonlinearity="relu"), [images(4, 2, 3)]),
    ("embedding", lambda m: nn.Embedding(11, 7), [classes(11, 5, 3)]),
    ("interpolate", lambda m: nn.Upsample(scale_factor=1.7, mode="bilinear"), [images(2, 3, 5, 7)]),
    ("nearest", lambda m: nn.Upsample(size=(4, 9)), [images(2, 3, 5, 7)]),
    ("unfold", lambda m: nn.Unfold(3, padding=1, stride=2), [images(2, 3, 5, 7)]),
    ("fold", lambda m: nn.Fold((5, 6), 2), [images(2, 12, 20)]),
    ("attention", lambda m: nn.MultiheadAttention(12, 3), [images(7, 2, 12)] * 3),
    ("sdpa", lambda m: Attention(False), [images(2, 3, 19, 5), *[images(2, 3, 37, 5)] * 2]),
    ("causal sdpa", lambda m: Attention(True), [images(2, 2, 33, 8)] * 3),
    ("bce", lambda m: nn.BCEWithLogitsLoss(), [images(3, 37), lambda: torch.rand(3, 37).double()]),
    ("linear", lambda m: nn.Linear(37, 19), [images(5, 37)]),
]  # fmt: skip


def run(build, inputs, dtype, layout):
    """The sum of the results' squares, and the gradients of inputs and parameters."""
    torch.manual_seed(2)
    model = build(nn).to(dtype)
    leaves = []
    for x in inputs:
        if x.is_floating_point():
            x = x.to(dtype)
            if layout == "permuted":
                x = x.transpose(0, -1).contiguous().transpose(0, -1)
            elif layout == "channels_last" and x.ndim == 4:
                x = x.contiguous(memory_format=torch.channels_last)
            elif layout == "offset":
                x = F.pad(x, (1, 2))[..., 1:-2]
            x = x.detach().requires_grad_()
        leaves.append(x)
    result = model(*leaves)
    result = result[0] if isinstance(result, tuple) else result
    weights = torch.linspace(-1, 1, result.numel(), dtype=dtype).view(result.shape)
    (result * weights).sum().backward()
    grads = [x.grad for x in (*leaves, *model.parameters()) if x.requires_grad]
    return [t.detach().double().numpy() for t in (result, *grads)]


@pytest.mark.parametrize("layout", ["contiguous", "permuted", "channels_last", "offset"])
@pytest.mark.parametrize("name, build, makers", CASES, ids=[case[0] for case in CASES])
def test_single_precision_is_as_double(name, build, makers, layout):
    torch.manual_seed(1)
    inputs = [make() for make in makers]
    exact = run(build, inputs, torch.float64, "contiguous")
    found = run(build, inputs, torch.float32, layout)
    assert len(exact) == len(found)
    for a, b in zip(exact, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name, build, makers", CASES, ids=[case[0] for case in CASES])
def test_same_bits_for_any_number_of_threads(name, build, makers):
    torch.manual_seed(1)
    inputs = [make() for make in makers]
    threads = torch.get_num_threads()
    results = []
    for n in (1, 2, 3):
        torch.set_num_threads(n)
        results.append([x.tobytes() for x in run(build, inputs, torch.float32, "contiguous")])
    torch.set_num_threads(threads)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("size", [(3, 0), (0, 3), (0, 0)])
def test_a_max_pool_without_windows_reads_nothing(size):
    x = torch.ones(1, 2, 3, 3, requires_grad=True)
    y = F.adaptive_max_pool2d(x, size)
    assert y.shape == (1, 2, *size)
    y.sum().backward()
    assert torch.equal(x.grad, torch.zeros(1, 2, 3, 3))
