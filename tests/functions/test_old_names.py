"""Functions under names that PyTorch is to give up: what is warned of, in its words."""

from __future__ import annotations

import re
import warnings

import pytest

CALLS = {
    "qr": lambda torch, x: torch.qr(x),
    "cholesky": lambda torch, x: torch.cholesky(x),
    "lu": lambda torch, x: torch.lu(x),
    "lu_solve": lambda torch, x: torch.lu_solve(x, *torch.linalg.lu_factor(x)),
    "chain_matmul": lambda torch, x: torch.chain_matmul(x, x),
    "set_default_tensor_type": lambda torch, x: torch.set_default_tensor_type("torch.FloatTensor"),
    "volatile": lambda torch, x: torch.autograd.Variable(x, volatile=True),
    "upsample": lambda torch, x: torch.nn.functional.upsample(x[None, None], scale_factor=2),
    "upsample_nearest": lambda torch, x: torch.nn.functional.upsample_nearest(x[None, None], 5),
    "upsample_bilinear": lambda torch, x: torch.nn.functional.upsample_bilinear(x[None, None], 5),
}


@pytest.mark.parametrize("name", CALLS)
def test_old_names_warn(torch, name):
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            CALLS[name](torch, torch.eye(3) + 1)
    finally:
        torch.set_warn_always(before)
    (warning,) = seen
    assert warning.category is UserWarning and warning.lineno
    text = re.sub(r"\(Triggered.*|\s", "", str(warning.message))  # where PyTorch lacks a space
    assert text.startswith(WORDS[name].replace(" ", ""))


WORDS = {
    "qr": "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future",
    "cholesky": "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be",
    "lu": "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex",
    "lu_solve": "torch.lu_solve is deprecated in favor of torch.linalg.lu_solve and will be",
    "chain_matmul": "torch.chain_matmul is deprecated and will be removed in a future PyTorch",
    "set_default_tensor_type": "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1",
    "volatile": "volatile was removed and now has no effect.",
    "upsample": "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate`",
    "upsample_nearest": "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.inter",
    "upsample_bilinear": "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.inte",
}


def test_upsample_is_interpolate(torch):
    F = torch.nn.functional
    x = torch.arange(12.0).view(1, 1, 3, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.equal(F.upsample_nearest(x, scale_factor=2), F.interpolate(x, scale_factor=2))
        corners = F.interpolate(x, (5, 7), mode="bilinear", align_corners=True)
        assert torch.equal(F.upsample_bilinear(x, (5, 7)), corners)


def test_flattened_tensors_come_back(torch):
    tensors = [torch.ones(2, 3), torch.zeros(0), torch.tensor(3.0)]
    flat = torch._utils._flatten_dense_tensors(tensors)
    assert flat.tolist() == [1] * 6 + [3]
    for part, x in zip(torch._utils._unflatten_dense_tensors(flat, tensors), tensors, strict=True):
        assert torch.equal(part, x) and part.shape == x.shape
    assert torch._utils._flatten_dense_tensors(tensors[:1]).data_ptr() == tensors[0].data_ptr()


@pytest.mark.parametrize(
    ("name", "text"),
    [("set_flush_denormal", "flush_denormal expects a bool, but got int"),
     ("set_warn_always", "setWarnOnlyOnce expects a bool, but got int")],
)  # fmt: skip
def test_switches_refuse_numbers(torch, name, text):
    with pytest.raises(RuntimeError, match=text):
        getattr(torch, name)(1)


def test_denormals_are_kept():
    import tiny_torch as torch

    assert torch.set_flush_denormal(False) and not torch.set_flush_denormal(True)
    assert (torch.tensor([1e-40]) * 1).item() > 0
