"""nn.utils.fuse_*_bn_*: one layer that computes two, as PyTorch's; update_bn."""

from __future__ import annotations

import numpy as np
import pytest

import tiny_torch

LAYERS = {
    "Conv1d": ((3, 4, 3), {}, "BatchNorm1d", (2, 3, 9)),
    "Conv2d": ((3, 4, 3), {"bias": False}, "BatchNorm2d", (2, 3, 8, 8)),
    "ConvTranspose2d": ((3, 4, 3), {}, "BatchNorm2d", (2, 3, 5, 5)),
    "Linear": ((3, 4), {}, "BatchNorm1d", (6, 3)),
}


def pair(lib, name, **options):
    lib.manual_seed(0)
    args, more, norm, _ = LAYERS[name]
    layer = getattr(lib.nn, name)(*args, **more)
    bn = getattr(lib.nn, norm)(4, **options)
    with lib.no_grad():
        bn.running_mean.copy_(lib.randn(4))
        bn.running_var.copy_(lib.rand(4) + 0.5)
        if bn.affine:
            bn.weight.copy_(lib.randn(4))
            bn.bias.copy_(lib.randn(4))
    return layer.eval(), bn.eval()


def fused(lib, name, layer, bn):
    if name == "Linear":
        return lib.nn.utils.fuse_linear_bn_eval(layer, bn)
    return lib.nn.utils.fuse_conv_bn_eval(layer, bn, transpose="Transpose" in name)


@pytest.mark.parametrize(
    ("name", "affine"),
    [(name, True) for name in LAYERS] + [("Conv1d", False), ("Conv2d", False)],
)
def test_one_layer_computes_both(oracle, name, affine):
    weights = []
    for lib in (tiny_torch, oracle):
        layer, bn = pair(lib, name, affine=affine)
        one = fused(lib, name, layer, bn)
        x = lib.randn(*LAYERS[name][3])
        np.testing.assert_allclose(
            one(x).detach().numpy(), bn(layer(x)).detach().numpy(), rtol=1e-4, atol=1e-5
        )
        assert one is not layer and isinstance(one.weight, lib.nn.Parameter)
        weights.append([p.detach().numpy() for p in (one.weight, one.bias)])
    for ours, theirs in zip(*weights, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_errors(torch):
    layer, bn = pair(torch, "Linear")
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        torch.nn.utils.fuse_linear_bn_eval(layer.train(), bn)
    layer.eval()
    with pytest.raises(AssertionError, match="To fuse, linear"):
        torch.nn.utils.fuse_linear_bn_eval(torch.nn.Linear(3, 5).eval(), bn)
    bn = torch.nn.BatchNorm2d(4, track_running_stats=False).eval()
    with pytest.raises(AssertionError, match="must not be None"):
        torch.nn.utils.fuse_conv_bn_eval(torch.nn.Conv2d(3, 4, 3).eval(), bn)


def test_update_bn_is_pytorchs(oracle):
    states = []
    for lib in (tiny_torch, oracle):
        lib.manual_seed(0)
        model = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.BatchNorm1d(4), lib.nn.ReLU())
        model.eval()
        utils = lib.optim.swa_utils
        average = utils.AveragedModel(model)
        average.update_parameters(model)
        average.eval()
        batches = [lib.randn(6, 3) for _ in range(4)]
        loader = [batches[0], [batches[1], None], (batches[2],), batches[3]]
        utils.update_bn(loader, average)
        assert not average.module.training and average.module[1].momentum == 0.1
        states.append(average.state_dict())
    assert list(states[0]) == list(states[1])
    for key, value in states[0].items():
        np.testing.assert_allclose(value.numpy(), states[1][key].numpy(), rtol=1e-4, atol=1e-5)
