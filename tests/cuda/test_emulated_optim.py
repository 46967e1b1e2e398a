"""The device `cuda-emulated`: optimisers move parameters and states there as on the CPU."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases.optim_cases import CASES, case_id
from helpers import CUDA as DEVICE

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.tensor import wrap

SHAPES = [(3,), (4, 5), (), (257,), (0,), (2, 3, 4)]  # one of several blocks, one of none
TOLERANCE = {"float32": 1e-6, "float64": 1e-13}
EVERY_DTYPE = pytest.mark.parametrize("dtype", TOLERANCE)


def drawn(seed, dtype, device):
    rng = np.random.default_rng(seed)
    for shape in SHAPES:
        x = rng.standard_normal(shape)
        yield torch.from_numpy(np.asarray(x + np.sign(x) * 0.1, dtype)).to(device)


def same(found, expected, dtype):
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(
            ours.detach().cpu().numpy(),
            theirs.detach().numpy(),
            rtol=TOLERANCE[dtype],
            atol=TOLERANCE[dtype],
        )


def trained(name, options, dtype, device):
    """Parameters and states after some steps."""
    params = [torch.nn.Parameter(x) for x in drawn(0, dtype, device)]
    optimizer = getattr(torch.optim, name)(params, **options)
    for step in range(6):
        for param, grad in zip(params, drawn(step + 1, dtype, device), strict=True):
            param.grad = grad
        optimizer.step()
    return params + [value for p in params for value in optimizer.state[p].values()]


@pytest.mark.parametrize(("name", "options"), CASES, ids=case_id)
@EVERY_DTYPE
def test_every_optimizer_steps_as_on_the_cpu(name, options, dtype):
    options = {**options, "foreach": True}
    found = trained(name, options, dtype, DEVICE)
    same(found, trained(name, options, dtype, "cpu"), dtype)
    assert {x.device.type for x in found[: len(SHAPES)]} == {DEVICE}


@pytest.mark.parametrize(("name", "options"), CASES, ids=case_id)
def test_one_step_for_all_has_the_bits_of_a_step_for_each(name, options):
    together, apart = (
        trained(name, {**options, "foreach": foreach}, "float32", DEVICE)
        for foreach in (True, False)
    )
    for ours, theirs in zip(together, apart, strict=True):
        assert torch.equal(ours, theirs)


def of(arrays, number):
    """A number on the device of arrays."""
    return torch.tensor(number, dtype=arrays[0].dtype, device=arrays[0].device).array


LISTS = {
    "scale": lambda xs, _: _core.foreach_scale(xs, of(xs, 0.3), None),
    "clamp": lambda xs, _: _core.foreach_clamp(xs, -0.5, 0.25),
    "lerp, near": lambda xs, ends: _core.foreach_lerp(xs, ends, 0.1),
    "lerp, far": lambda xs, ends: _core.foreach_lerp(xs, ends, 0.9),
}


@pytest.mark.parametrize("name", LISTS)
@EVERY_DTYPE
def test_lists_change_as_on_the_cpu(name, dtype):
    def changed(device):
        xs, ends = list(drawn(0, dtype, device)), list(drawn(1, dtype, device))
        assert not LISTS[name]([x.array for x in xs], [x.array for x in ends])
        return xs

    same(changed(DEVICE), changed("cpu"), dtype)


@pytest.mark.parametrize("order", [1.0, 2.0, math.inf])
@EVERY_DTYPE
def test_norms_of_lists(order, dtype):
    rng = np.random.default_rng(0)
    large = torch.from_numpy(rng.standard_normal(10000).astype(dtype))  # several blocks
    wrong = torch.tensor([1.0, math.nan, 2.0], dtype=getattr(torch, dtype))
    xs = [*drawn(0, dtype, "cpu"), large, wrong]
    found, expected = (
        wrap(_core.foreach_norm([x.to(device).array for x in xs], order)).tolist()
        for device in (DEVICE, "cpu")
    )
    assert math.isnan(found[-1])
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE[dtype])


@EVERY_DTYPE
@pytest.mark.parametrize("wrong", [None, math.inf, -math.inf, math.nan])
def test_scaling_looks_for_inf_and_nan(dtype, wrong):
    for device in (DEVICE, "cpu"):
        xs, flag = list(drawn(0, dtype, "cpu")), torch.zeros((), device=device)
        if wrong is not None:
            xs[1].view(-1)[-1] = wrong  # the rest of a vector, on the CPU
        expected = [x * 0.5 for x in xs]
        arrays = [x.to(device).array for x in xs]
        assert not _core.foreach_scale(arrays, of(arrays, 0.5), flag.array)
        assert flag.item() == (wrong is not None)
        for x, y in zip(arrays, expected, strict=True):
            np.testing.assert_array_equal(wrap(x).cpu().numpy(), y.numpy())
