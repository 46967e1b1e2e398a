"""Names that packages ask of PyTorch beside its documented ones: next to PyTorch's."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import tiny_torch

pytestmark = pytest.mark.torch

ALONE = ["abs", "neg", "exp", "sqrt", "reciprocal", "sign", "log1p", "erf", "tanh", "ceil", "round"]
OF_TWO = ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_min", "clamp_max"]
FOREACH = {
    **{f"{name}{form}": f"torch._foreach_{name}{form}(%s)" for name in ALONE for form in ("", "_")},
    **{
        f"{name}{form} {kind}": f"torch._foreach_{name}{form}(%s, {other})"
        for name in OF_TWO
        for form in ("", "_")
        for kind, other in {"number": "2.0", "numbers": "[2.0, 0.5]", "tensors": "ys()"}.items()
    },
    "add alpha": "torch._foreach_add(%s, ys(), alpha=3)",
    "add tensor": "torch._foreach_add(%s, torch.tensor(2.0))",
    "pow scalar": "torch._foreach_pow(2.0, %s)",
    "lerp": "torch._foreach_lerp(%s, ys(), 0.25)",
    "lerp_": "torch._foreach_lerp_(%s, ys(), ys())",
    "addcmul": "torch._foreach_addcmul(%s, ys(), ys(), 2.0)",
    "addcmul_": "torch._foreach_addcmul_(%s, ys(), ys(), [2.0, 3.0])",
    "addcdiv_ value": "torch._foreach_addcdiv_(%s, ys(), ys(), value=-0.5)",
    "addcdiv": "torch._foreach_addcdiv(%s, ys(), ys())",
    "addcdiv_": "torch._foreach_addcdiv_(%s, ys(), ys(), torch.tensor([2.0, 3.0]))",
    "norm": "torch._foreach_norm(%s)",
    "norm 1": "torch._foreach_norm(%s, 1)",
    "norm double": "torch._foreach_norm(%s, 2, torch.float64)",
    "max": "torch._foreach_max(%s)",
    "copy_": "torch._foreach_copy_(%s, ys())",
    "zero_": "torch._foreach_zero_(%s)",
    "clone": "torch._foreach_clone(%s)",
    "none": "torch._foreach_add([], 1)",
    "of another length": "torch._foreach_add(%s, [torch.ones(2)])",
}
OTHERS = [
    "torch._check(True)", "torch._check(False)", "torch._check(1 > 2, lambda: 'no')",
    "torch._check_value(False)", "torch._check_type(False, lambda: 'no')",
    "torch._check_index(False)", "torch._check_not_implemented(False)",
    "torch._assert(True, 'no')", "torch._assert(False, 'no')",
    "torch._assert_async(torch.ones(()))", "torch._assert_async(torch.zeros(1), 'no')",
    "torch._shape_as_tensor(torch.ones(2, 3))",
    "torch._C._get_tracing_state()", "torch._C._log_api_usage_once('x')",
    "torch._C._nn._parse_to('cpu', torch.float64)", "torch._C._nn._parse_to(torch.float16, True)",
    "[len(x) for x in foreach._group_tensors_by_device_and_dtype([xs(), ys()], True)"
    "[(torch.device('cpu'), torch.float32)][0]]",
    "foreach._get_fused_kernels_supported_devices()[-1:] != 0",
    "torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like(1)",
    "torch.overrides.has_torch_function((torch.ones(1),))",
    "str(torch.nn.modules.module._IncompatibleKeys([], []))",
    "torch.serialization.DEFAULT_PROTOCOL",
    "torch.autograd.forward_ad.unpack_dual(torch.ones(2))",
    "torch.autograd.forward_ad.unpack_dual(tensor=torch.ones(2, requires_grad=True)).tangent",
    "torch.autograd.forward_ad.unpack_dual(3), torch.autograd.forward_ad.unpack_dual()",
    "torch.autograd.forward_ad.UnpackedDualTensor(torch.ones(1), tangent=torch.zeros(1)).tangent",
    "[fake_tensor.is_fake(x) for x in (torch.ones(1), torch.ones(1, device='meta'), 3)]",
    "torch.hub.HASH_REGEX.search('resnet18-bfd8deac.pth')[1]",
]  # fmt: skip


def answer(torch, call):
    def xs():
        return [torch.tensor([0.5, 1.5]), torch.tensor([[0.25, 2.0], [0.75, 3.0]])]

    def ys():
        return [torch.tensor([2.0, 0.5]), torch.tensor([[0.25, 1.5], [1.0, 4.0]])]

    foreach = importlib.import_module(f"{torch.__name__}.utils._foreach_utils")
    fake_tensor = importlib.import_module(f"{torch.__name__}._subclasses.fake_tensor")
    names = {"torch": torch, "xs": xs, "ys": ys, "foreach": foreach, "a": xs()}
    names["fake_tensor"] = fake_tensor
    try:
        return repr((eval(call % "a" if "%s" in call else call, names), names["a"]))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("name", FOREACH)
def test_a_function_of_each_tensor(oracle, name):
    assert answer(tiny_torch, FOREACH[name]) == answer(oracle, FOREACH[name])


@pytest.mark.parametrize("call", OTHERS)
def test_what_is_asked_for(oracle, call):
    importlib.import_module("torch.hub")
    assert answer(tiny_torch, call) == answer(oracle, call)


@pytest.mark.parametrize("force", [True, False])
def test_models_whose_tensors_share_memory(oracle, force, tmp_path):
    """The file is the one that safetensors.torch writes; both read it."""
    theirs = pytest.importorskip("safetensors.torch")
    ours = importlib.import_module("tiny_torch.safetensors")

    def model(torch):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
        net.add_module("tied", torch.nn.Linear(3, 3))
        net.tied.weight = net[0].weight
        return net

    a, b = tmp_path / "a", tmp_path / "b"
    net = model(tiny_torch)
    ours.save_model(net, a, {"k": "v"}, force)
    theirs.save_model(model(oracle), str(b), {"k": "v"}, force)
    assert sorted(a.read_bytes()) == sorted(b.read_bytes())
    other = tiny_torch.nn.Sequential(tiny_torch.nn.Linear(3, 3), tiny_torch.nn.BatchNorm1d(3))
    other.add_module("tied", tiny_torch.nn.Linear(3, 3))
    other.tied.weight = other[0].weight
    assert ours.load_model(other, b) == ([], [])
    assert all((other.state_dict()[n] == t).all() for n, t in net.state_dict().items())
    del other.tied
    assert theirs.load_model(model(oracle), str(a)) == (set(), [])
    with pytest.raises(RuntimeError, match="Unexpected key"):
        ours.load_model(other, b)
    assert ours.load_model(other, b, strict=False) == ([], ["tied.bias"])


def test_views_of_which_none_is_whole(oracle, tmp_path):
    ours = importlib.import_module("tiny_torch.safetensors")
    net = tiny_torch.nn.Module()
    whole = tiny_torch.zeros(4)
    net.register_buffer("a", whole[:2])
    net.register_buffer("b", whole[2:])
    with pytest.raises(RuntimeError, match="found no suitable name to keep"):
        ours.save_model(net, tmp_path / "a")


def rarely_used(m):
    """Numbers of functions that few scripts call."""
    m.manual_seed(0)
    x = m.randn(5, 4)
    for options in ({"q": 2}, {"center": False, "niter": 1}):
        m.manual_seed(0)
        left, values, right = m.pca_lowrank(x, **options)
        yield left @ m.diag(values) @ right.T
    v = m.arange(24.0).reshape(2, 3, 4)
    yield from (m.norm_except_dim(v, 2, dim) for dim in (0, 1, 2, -1))
    yield m.norm_except_dim(v, 1)
    with pytest.warns(FutureWarning, match=r"`NLLLoss2d` has been deprecated. Please use"):
        loss = m.nn.NLLLoss2d(reduction="sum")
    yield loss(v[None].log_softmax(1), m.zeros(1, 3, 4).long())
    grad = m.nn.grad
    for n, conv in enumerate("conv1d conv2d conv3d".split(), 1):
        image, kernel = m.randn(1, 2, *[4] * n), m.randn(2, 1, *[2] * n)
        options = {"stride": 1, "padding": 1, "groups": 2}
        weights = m.arange(2.0 * 5**n).reshape(1, 2, *[5] * n)
        by_weight, by_input = (getattr(grad, f"{conv}_{what}") for what in ("weight", "input"))
        yield by_weight(image, kernel.shape, weights, **options)
        yield by_input(image.shape, kernel, weights, **options)


def test_rarely_used_functions(oracle):
    for ours, theirs in zip(rarely_used(tiny_torch), rarely_used(oracle), strict=True):
        assert ours.shape == theirs.shape
        assert np.allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-4)
    for q in (-1, 5):
        with pytest.raises(ValueError, match=r"must be non-negative integer and not greater than"):
            tiny_torch.pca_lowrank(tiny_torch.ones(5, 4), q)


def test_rarely_used_classes(torch):
    function = torch.autograd.function.InplaceFunction
    assert issubclass(function, torch.autograd.Function)
    with pytest.warns(DeprecationWarning):
        assert function(inplace=True).inplace is True
    assert issubclass(torch.nn.MaxPool2d, torch.nn.modules.pooling._MaxPoolNd)
