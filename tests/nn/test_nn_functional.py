"""nn.functional, the layers and losses above it, and nn.init: facts, errors, warnings."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F


def fails(action, error, text):
    """`action` raises this type; its message, which str() of a KeyError would quote, has `text`."""
    with pytest.raises(error) as caught:
        action()
    assert caught.type is error and text in str(caught.value.args[0])


# ---- layers and functions-------------------------------------------------------------------


def test_flatten_and_identity():
    x = torch.ones(2, 3, 4)
    assert nn.Flatten()(x).shape == (2, 12) and nn.Flatten(0, 1)(x).shape == (6, 4)
    assert nn.Unflatten(-1, (2, -1))(x).shape == (2, 3, 2, 2)
    assert nn.Identity(3, a=4)(x) is x


def test_dropout():
    x = torch.ones(1000, requires_grad=True)
    assert nn.Dropout().eval()(x) is x and F.dropout(x, 0.0) is x
    torch.manual_seed(1)
    y = F.dropout(x, 0.75)
    assert set(y.tolist()) == {0.0, 4.0}
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    assert F.dropout(x, 1.0).tolist() == [0.0] * 1000
    z = torch.ones(10)
    assert F.dropout(z, 0.5, inplace=True) is z and set(z.tolist()) <= {0.0, 2.0}


@pytest.mark.parametrize("name", ["relu", "silu", "mish", "leaky_relu", "elu", "selu", "relu6"])
def test_in_place_activations(name):
    function = getattr(F, name)
    x = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)
    y = x * 2
    z = function(y, inplace=True)
    assert z is y and np.allclose(z.tolist(), function(x * 2).tolist())
    z.sum().backward()
    grad, x.grad = x.grad, None
    function(x * 2).sum().backward()
    assert np.allclose(grad.tolist(), x.grad.tolist())


def classes(*numbers):
    return torch.tensor(numbers, dtype=torch.int64)


LOSS_ERRORS = [
    (
        lambda x: F.cross_entropy(x, classes(0, 1)),
        ValueError,
        "batch_size (3) to match target batc",
    ),
    (lambda x: F.cross_entropy(x, torch.zeros(3)), RuntimeError, "expected target dtype to be"),
    (lambda x: F.cross_entropy(x, classes(0, 1, 4)), IndexError, "Target 4 is out of bounds"),
    (lambda x: F.cross_entropy(x, classes(0, 1, -1)), IndexError, "Target -1 is out of bounds"),
    (lambda x: F.cross_entropy(x, classes(0, 0, 0), x[0, :3]), RuntimeError, "all 4 classes"),
    (lambda x: F.cross_entropy(x, x, x[0, :3]), RuntimeError, "shape: [3]"),
    (lambda x: F.cross_entropy(x, x.long()), RuntimeError, "target with class probabilities"),
    (
        lambda x: F.cross_entropy(x, x, ignore_index=1),
        RuntimeError,
        "ignore_index is not supported",
    ),
    (lambda x: F.cross_entropy(x[0], classes(0, 1)), ValueError, "1D target must have size 1"),
    (lambda x: F.cross_entropy(x, classes(0, 1, 1), label_smoothing=2), RuntimeError, "Got: 2"),
    (lambda x: F.cross_entropy(x, classes(0, 1, 1), reduction="a"), ValueError, "a is not a valid"),
    (
        lambda x: F.nll_loss(x[..., None], classes(0, 1, 1)),
        RuntimeError,
        "Expected target size [3, 1], got [3]",
    ),
    (
        lambda x: F.nll_loss(x[0, 0], classes(0)),
        ValueError,
        "Expected 1 or more dimensions (got 0)",
    ),
    (lambda x: F.nll_loss(x, x.long()), RuntimeError, "multi-target not supported"),
    (lambda x: F.mse_loss(x, x, weight=x[0]), ValueError, "Weights and input must have the same"),
    (lambda x: F.smooth_l1_loss(x, x, beta=-1), RuntimeError, "negative values for beta"),
    (lambda x: F.huber_loss(x, x, delta=0), RuntimeError, "non-positive values for delta"),
    (lambda x: F.binary_cross_entropy(x, x[0]), ValueError, "different to the input size"),
    (lambda x: F.binary_cross_entropy(x + 2, x), RuntimeError, "input should be between 0 and 1"),
    (lambda x: F.binary_cross_entropy(x, x + 2), RuntimeError, "target should be between 0 and 1"),
    (lambda x: F.binary_cross_entropy(x, x.double()), RuntimeError, "Found dtype"),
    (
        lambda x: F.binary_cross_entropy_with_logits(x, x[0]),
        ValueError,
        "must be the same as input",
    ),
    (lambda x: F.kl_div(x, x, reduction="a"), ValueError, "a is not a valid value for reduction"),
]

FUNCTION_ERRORS = [
    (lambda x: F.linear(x, torch.ones(2, 5)), RuntimeError, ""),
    (lambda x: F.gelu(x, approximate="a"), RuntimeError, "must be either none or tanh"),
    (lambda x: F.silu(x.long()), NotImplementedError, "silu"),
    (lambda x: F.hardtanh(x, 2, 1), ValueError, "min_val cannot be greater than max_val"),
    (lambda x: F.glu(x[:, :3]), RuntimeError, "must be even, but dimension 1 is size 3"),
    (lambda x: F.glu(x[0, 0]), RuntimeError, "glu does not support scalars"),
    (
        lambda x: F.prelu(x, torch.ones(3)),
        RuntimeError,
        "parameter numbers = 3 and channel size = 4",
    ),
    (lambda x: F.prelu(x, torch.ones(4, 1)), RuntimeError, "scalar or 1D tensor"),
    (lambda x: F.prelu(x, torch.ones(1).double()), RuntimeError, "Type promoting not supported"),
    (lambda x: F.softmax(x, 2), IndexError, ""),
    (lambda x: F.dropout(x, -1.0), ValueError, "dropout probability has to be between 0 and 1"),
    (lambda x: F.one_hot(x), RuntimeError, "only applicable to index tensor"),
    (lambda x: F.one_hot(classes(-1)), RuntimeError, "Class values must be non-negative."),
    (lambda x: F.one_hot(classes(3), 2), RuntimeError, "must be smaller than num_classes"),
    (lambda x: F.one_hot(classes()), RuntimeError, "Can not infer total number of classes"),
    (lambda x: F.cosine_similarity(x.long(), x.long()), RuntimeError, "floating point"),
    (lambda x: F.pad(x, (1,)), RuntimeError, "Padding length must be divisible by 2"),
    (lambda x: F.pad(x, (1,) * 6), RuntimeError, "padding length 6 and input of dimension 2"),
    (lambda x: F.pad(x, (-3, -3)), RuntimeError, "(-3, -3) cuts off more than the 4 elements"),
]


@pytest.mark.parametrize("action, error, text", LOSS_ERRORS + FUNCTION_ERRORS)
def test_function_errors(action, error, text):
    fails(lambda: action(torch.full((3, 4), 0.25)), error, text)


def test_warnings():
    x = torch.zeros(3, 3)
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        assert F.softmax(x).tolist() == F.softmax(x, 1).tolist()
    with pytest.warns(UserWarning, match="Implicit dimension choice for log_softmax"):
        nn.LogSoftmax()(x)
    with pytest.warns(UserWarning, match=r"Using a target size \(torch.Size\(\[3\]\)\)"):
        F.mse_loss(x, x[0])
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(UserWarning, match="please use reduction='none' instead"):
        assert F.l1_loss(x, x, reduce=False).shape == (3, 3)
    with pytest.warns(UserWarning, match="'batchmean' divides only by the batch size"):
        F.kl_div(x, x)
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        nn.Linear(0, 1)
    with pytest.warns(FutureWarning, match="`nn.init.normal` is now deprecated"):
        nn.init.normal(x)


def test_one_hot_and_pad():
    assert F.one_hot(classes(0, 2)).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert F.one_hot(classes(), 5).shape == (0, 5) and F.one_hot(torch.tensor(1), 3).shape == (3,)
    assert F.pad(torch.ones(1, 2), (1, 0, 0, 1), value=2.0).tolist() == [[2, 1, 1], [2, 2, 2]]
    assert F.pad(torch.tensor([1, 2, 3]), (-1, 1)).tolist() == [2, 3, 0]


# ---- init -----------------------------------------------------------------------------------

INIT_ERRORS = [
    (lambda: nn.init.calculate_gain("foo"), "Unsupported nonlinearity foo"),
    (lambda: nn.init.calculate_gain("leaky_relu", True), "negative_slope True not a valid number"),
    (lambda: nn.init.eye_(torch.ones(1)), "Only tensors with 2 dimensions"),
    (lambda: nn.init.sparse_(torch.ones(1), 0.1), "Only tensors with 2 dimensions"),
    (lambda: nn.init.orthogonal_(torch.ones(1)), "Only tensors with 2 or more dimensions"),
    (lambda: nn.init.dirac_(torch.ones(1, 1)), "Only tensors with 3, 4, or 5 dimensions"),
    (lambda: nn.init.dirac_(torch.ones(3, 1, 1), 2), "dim 0 must be divisible by groups"),
    (lambda: nn.init.xavier_normal_(torch.ones(1)), "Fan in and fan out can not be computed"),
    (lambda: nn.init.kaiming_normal_(torch.ones(1, 1), mode="x"), "Mode x not supported"),
]


@pytest.mark.parametrize("action, text", INIT_ERRORS)
def test_init_errors(action, text):
    fails(action, ValueError, text)


def test_init_constants():
    gains = [("linear", None, 1), ("conv2d", None, 1), ("sigmoid", None, 1), ("tanh", None, 5 / 3)]
    gains += [("relu", None, math.sqrt(2)), ("selu", None, 0.75), ("leaky_relu", 1, 1.0)]
    for name, param, gain in gains:
        assert nn.init.calculate_gain(name, param) == gain
    w = nn.Parameter(torch.ones(2, 3))
    assert nn.init.zeros_(w) is w and w.tolist() == [[0.0] * 3] * 2 and w.requires_grad
    assert nn.init.eye_(w).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert nn.init.constant_(w, 2.5)[0, 0].item() == 2.5 and nn.init.ones_(w)[1, 2].item() == 1
    kernel = nn.init.dirac_(torch.empty(4, 2, 3, 3), groups=2)
    assert kernel.nonzero().tolist() == [[0, 0, 1, 1], [1, 1, 1, 1], [2, 0, 1, 1], [3, 1, 1, 1]]
