"""Corners of small functions: arguments, NaN, empty, strides; outcomes are PyTorch's."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import tiny_torch

nan, inf = math.nan, math.inf


def outcome(m, case):
    """(value, dtype, shape, strides), or the type of the exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = case(m, m.nn.functional)
        except Exception as error:
            return type(error)
    if not hasattr(result, "shape"):
        return result
    return result.tolist(), str(result.dtype), tuple(result.shape), result.stride()


# In the place of a number; the gradient of a tensor there would be lost.
SETTINGS = {
    "of a tensor": lambda m: m.ones(2),
    "of a leaf": lambda m: m.tensor(0.5, requires_grad=True),
    "of a 0-d tensor": lambda m: m.tensor(0.5),
    "of a list": lambda m: [0.5],
}
CASES = {
    "kl zero": lambda m, F: F.kl_div(
        m.tensor([-1.0, -2.0, 0.0]), m.tensor([0.0, 0.5, 1.0]), reduction="none"
    ),
    "kl neg": lambda m, F: F.kl_div(
        m.tensor([-1.0, -2.0]), m.tensor([-0.5, nan]), reduction="none"
    ),
    "kl inf": lambda m, F: F.kl_div(m.tensor([-inf, -inf]), m.tensor([0.0, 0.5]), reduction="none"),
    "kl log inf": lambda m, F: F.kl_div(
        m.tensor([-1.0, -2.0]), m.tensor([-inf, 0.0]), reduction="none", log_target=True
    ),
    "kl bcast": lambda m, F: F.kl_div(m.zeros(2, 3), m.ones(3) / 3, reduction="batchmean"),
    "kl 0d": lambda m, F: F.kl_div(m.tensor(0.5), m.tensor(0.5), reduction="batchmean"),
    "kl mixed": lambda m, F: F.kl_div(m.zeros(2), m.ones(2, dtype=m.float64)),
    "kl empty": lambda m, F: F.kl_div(m.zeros(0, 2), m.zeros(0, 2), reduction="batchmean"),
    "kl bad": lambda m, F: F.kl_div(m.zeros(2), m.ones(2), reduction="x"),
    "mse w": lambda m, F: F.mse_loss(m.zeros(2, 2), m.ones(2, 2), weight=m.ones(2)),
    "mse w2": lambda m, F: F.mse_loss(
        m.zeros(2, 2), m.ones(2, 2), weight=m.full((2, 2), 3.0), reduction="mean"
    ),
    "huber w": lambda m, F: F.huber_loss(m.zeros(2, 2), m.ones(2, 2), weight=m.full((2, 2), 3.0)),
    "l1 w": lambda m, F: F.l1_loss(
        m.zeros(2, 2), m.ones(2, 2), weight=m.full((2, 2), 3.0), reduction="none"
    ),
    "em": lambda m, F: F.mse_loss(m.tensor([1.0]), m.tensor([2.0]), reduction="elementwise_mean"),
    "empty mean": lambda m, F: F.binary_cross_entropy(m.zeros(0), m.zeros(0)),
    "empty logits": lambda m, F: F.binary_cross_entropy_with_logits(m.zeros(0), m.zeros(0)),
    "empty sum": lambda m, F: F.smooth_l1_loss(m.zeros(0), m.zeros(0), reduction="sum"),
    "nan": lambda m, F: F.huber_loss(
        m.tensor([nan, inf, -inf]), m.tensor([0.0, 0.0, -inf]), reduction="none"
    ),
    "nan sl": lambda m, F: F.smooth_l1_loss(
        m.tensor([nan, inf, -inf]), m.tensor([0.0, 0.0, -inf]), reduction="none"
    ),
    "nan mse": lambda m, F: F.mse_loss(
        m.tensor([nan, inf, -inf]), m.tensor([0.0, 0.0, -inf]), reduction="none"
    ),
    "nan bcel": lambda m, F: F.binary_cross_entropy_with_logits(
        m.tensor([nan, inf, -inf, inf, -inf]), m.tensor([0.0, 0.0, 0.0, 1.0, 1.0]), reduction="none"
    ),
    "strides": lambda m, F: F.mse_loss(
        m.ones(2, 3, 4).permute(2, 0, 1), m.zeros(2, 3, 4).permute(2, 0, 1), reduction="none"
    ),
    "strides2": lambda m, F: F.smooth_l1_loss(m.ones(3, 4).t(), m.zeros(4, 3), reduction="none"),
    "strides4": lambda m, F: F.binary_cross_entropy(
        m.ones(3, 4).t(), m.zeros(4, 3), reduction="none"
    ),
    "strides5": lambda m, F: F.glu(m.ones(4, 3).t()),
    "strides6": lambda m, F: F.prelu(m.ones(2, 4, 3).permute(0, 2, 1), m.ones(3)),
    "strides7": lambda m, F: F.huber_loss(m.ones(3, 4).t(), m.zeros(4, 3), reduction="none"),
    "strides8": lambda m, F: F.dropout(m.zeros(3, 4).t()),
    "none": lambda m, F: F.binary_cross_entropy(m.tensor([1.0]), None),
    "num": lambda m, F: F.l1_loss(m.tensor([1.0]), 2.0),
    "num2": lambda m, F: F.mse_loss(m.tensor([1.0]), 2.0),
    "numb": lambda m, F: F.smooth_l1_loss(m.tensor([1.0]), m.tensor([1.0]), beta="a"),
    "prelu0": lambda m, F: F.prelu(m.zeros(2, 0, 3), m.ones(0)),
    "prelu1": lambda m, F: F.prelu(m.tensor(-2.0), m.tensor(0.5)),
    "prelu2": lambda m, F: F.prelu(m.tensor([-2.0, 1.0]), m.ones(2)),
    "gumbel": lambda m, F: (m.manual_seed(0), F.gumbel_softmax(m.zeros(2, 3), hard=True).sum())[1],
    "gumbelt": lambda m, F: F.gumbel_softmax(m.zeros(2, 3), dim=3),
    "oh strides": lambda m, F: F.one_hot(m.tensor([[1, 0], [2, 1]])),
    "flat": lambda m, F: m.nn.Flatten(0)(m.zeros(2, 3)),
    "flat2": lambda m, F: m.nn.Flatten(2)(m.zeros(2, 3)),
    "flat0": lambda m, F: m.nn.Flatten(0, -1)(m.zeros(())),
    "unfl": lambda m, F: m.nn.Unflatten(1, (2, -1))(m.zeros(2, 6)),
    "unfl2": lambda m, F: m.nn.Unflatten(1, (4, -1))(m.zeros(2, 6)),
    "unfl3": lambda m, F: m.nn.Unflatten(1, [2.0, 3])(m.zeros(2, 6)),
    "unfl4": lambda m, F: m.nn.Unflatten(1, m.Size([2, 3]))(m.zeros(2, 6)),
    "unfl6": lambda m, F: m.nn.Unflatten(5, (2, 3))(m.zeros(2, 6)),
    "id": lambda m, F: m.nn.Identity()(3),
    "thr uint8": lambda m, F: F.threshold(m.tensor([1, 5], dtype=m.uint8), 2, 9),
    "softplus0": lambda m, F: F.softplus(m.tensor([1.0, -1.0]), beta=0),
    "lrelu str": lambda m, F: F.leaky_relu(m.tensor([1.0]), "a"),
    **{
        f"{name} {kind}": lambda m, F, name=name, setting=setting: getattr(F, name)(
            m.ones(2, dtype=m.float64), setting(m)
        )
        for name in (
            "leaky_relu",
            "elu",
            "celu",
            "softplus",
            "hardtanh",
            "hardshrink",
            "softshrink",
        )
        for kind, setting in SETTINGS.items()
    },
    "elu none": lambda m, F: F.elu(3),
    "relu6 int inplace": lambda m, F: F.relu6(m.tensor([-1, 9]), inplace=True),
    "hardtanh eq": lambda m, F: F.hardtanh(m.tensor([nan, 2.0]), 1.0, 1.0),
    "leaf inplace": lambda m, F: F.leaky_relu(m.tensor([1.0], requires_grad=True), inplace=True),
    "dropout leaf": lambda m, F: F.dropout(m.tensor([1.0], requires_grad=True), inplace=True),
    "dropout 0": lambda m, F: F.dropout(m.tensor([1.0]), 0.0),
    "dropout np": lambda m, F: F.dropout(m.tensor([1.0] * 4), m.tensor(1.0)),
    "d1 inplace": lambda m, F: F.dropout1d(m.ones(2, 3), 1.0, inplace=True),
}


@pytest.mark.parametrize("name", CASES)
def test_corner(oracle, name):
    ours, theirs = outcome(tiny_torch, CASES[name]), outcome(oracle, CASES[name])
    if not isinstance(theirs, tuple):
        assert ours == theirs
        return
    assert ours[1:] == theirs[1:]
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)


@pytest.mark.parametrize("name", ["Conv1d", "Conv3d", "Linear"])
def test_a_layer_without_inputs_draws_a_bias_of_zeros(torch, name):
    sizes = (0, 4) if name == "Linear" else (0, 4, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a weight without elements
        torch.manual_seed(3)
        bias = getattr(torch.nn, name)(*sizes).bias
    after = torch.rand(1)
    torch.manual_seed(3)
    torch.rand(4)
    assert bias.tolist() == [0] * 4 and after.equal(torch.rand(1))
