"""The device `meta`: shapes, strides and dtypes without memory."""

from __future__ import annotations

import io

import pytest
from conftest import SOURCES
from test_twin import TABLE, run

import tiny_torch
from tiny_torch import nn

# Their shape, or whether they raise, hangs on elements; PyTorch's cannot either.
OF_ELEMENTS = {"equal", "allclose"}


@TABLE
def test_every_op_infers_shape_dtype_and_strides(case):
    dtype = "float64" if "float64" in case.dtypes else case.dtypes[0]
    error, expected = run(case, dtype, "cpu")
    meta_error, found = run(case, dtype, "meta")
    if meta_error is not None and error is None:
        refused = isinstance(meta_error, NotImplementedError)
        assert refused or case.name.split()[0] in OF_ELEMENTS, meta_error
        return
    assert repr(error) == repr(meta_error)
    for a, b in zip(expected, found, strict=True):
        if isinstance(a, tiny_torch.Tensor):
            assert b.is_meta
            assert (a.shape, a.stride(), a.dtype) == (b.shape, b.stride(), b.dtype)


def test_it_is_printed_without_elements(torch):
    x = torch.empty(2, 3, device="meta")
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(x.long()) == f"tensor(..., device='meta', size=(2, 3), dtype={torch.int64})"
    assert x.is_meta and not x.is_cpu and x.data_ptr() == 0
    assert not torch.ones(1).is_meta


def test_a_model_of_any_size_is_made_and_filled_later(torch):
    with torch.device("meta"):
        model = torch.nn.Sequential(torch.nn.Linear(10**6, 10**6), torch.nn.LayerNorm(10**6))
    assert model(torch.empty(3, 10**6, device="meta")).shape == (3, 10**6)
    small = torch.nn.Linear(3, 2, device="meta")
    state = torch.nn.Linear(3, 2).state_dict()
    small.load_state_dict(state, assign=True)
    assert small.weight.is_cpu and small.weight.data_ptr() == state["weight"].data_ptr()
    empty = torch.nn.BatchNorm2d(4, device="meta").to_empty(device="cpu")
    assert {p.device.type for p in empty.state_dict().values()} == {"cpu"}
    with pytest.raises(NotImplementedError, match=r"Please use torch.nn.Module.to_empty\(\)"):
        torch.nn.Linear(3, 2, device="meta").to("cpu")


def test_there_are_no_elements_to_read(torch):
    x = torch.ones(2, device="meta")
    for read in (lambda: x.cpu(), lambda: x.tolist(), lambda: torch.zeros(2).copy_(x)):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            read()
    for read in (lambda: x[0].item(), lambda: bool(x[0]), lambda: float(x[0])):
        with pytest.raises(RuntimeError, match=r"Tensor.item\(\) cannot be called on meta tensors"):
            read()
    for ask in (x.nonzero, x.unique, lambda: x[x > 0], lambda: x.long().bincount()):
        with pytest.raises(NotImplementedError):
            ask()
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        x.numpy()
    with pytest.raises(RuntimeError, match="on the"):
        x + torch.ones(2)


def test_training_steps_infer_everything(torch):
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Dropout(), torch.nn.Linear(8 * 15 * 15, 10),
    ).to("meta")  # fmt: skip
    x = torch.randn(4, 3, 32, 32, device="meta")
    target = torch.randint(10, (4,), device="meta")
    for optimizer in (torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop):
        steps = optimizer(net.parameters(), lr=0.1)
        torch.nn.functional.cross_entropy(net(x), target).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        steps.step()
        assert all(p.grad.is_meta and p.grad.shape == p.shape for p in net.parameters())


def test_draws_leave_the_generator_alone(torch):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    torch.rand(5, device="meta"), torch.ones(2, device="meta").normal_()
    assert torch.equal(torch.rand(3), expected)


def test_saved_and_loaded(torch):
    file = io.BytesIO()
    torch.save({"x": torch.ones(2, 3, device="meta").t(), "y": torch.ones(2)}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["x"].is_meta and loaded["x"].stride() == (1, 3) and loaded["y"].is_cpu
    file.seek(0)
    assert torch.load(file, map_location="meta")["y"].is_meta


def test_modules_of_every_kind_infer_shapes(torch):
    nn, device = torch.nn, "meta"
    image, sequence = torch.empty(2, 4, 9, 9, device=device), torch.empty(5, 2, 4, device=device)
    cases = [
        (nn.Conv2d(4, 6, 3, stride=2, device=device), (image,), (2, 6, 4, 4)),
        (nn.ConvTranspose2d(4, 3, 2, stride=2, device=device), (image,), (2, 3, 18, 18)),
        (nn.GroupNorm(2, 4, device=device), (image,), (2, 4, 9, 9)),
        (nn.AvgPool2d(2), (image,), (2, 4, 4, 4)),
        (nn.AdaptiveMaxPool2d(3), (image,), (2, 4, 3, 3)),
        (nn.Upsample(scale_factor=2, mode="bilinear"), (image,), (2, 4, 18, 18)),
        (nn.Embedding(7, 3, device=device), (image[0, 0].long(),), (9, 9, 3)),
        (nn.LayerNorm(4, device=device), (sequence,), (5, 2, 4)),
        (nn.Softmax(0), (sequence,), (5, 2, 4)),
    ]
    for module, inputs, shape in cases:
        result = module(*inputs)
        assert result.is_meta and tuple(result.shape) == shape, module
    attention = nn.MultiheadAttention(4, 2, device=device)
    assert attention(sequence, sequence, sequence)[0].shape == (5, 2, 4)


def test_parameters_and_their_copies():
    parameter = nn.Parameter(tiny_torch.ones(2, device="meta"))
    assert parameter.is_meta and nn.Parameter(parameter.data).is_meta
    assert repr(parameter).splitlines()[0] == "Parameter containing:"


@pytest.mark.parametrize("function", ["conv2d", "searchsorted"])
def test_a_refusal_names_the_device_that_was_asked(function):
    x = tiny_torch.ones(1, 1, 4, 4, dtype=tiny_torch.bool, device="meta")
    call = {"conv2d": nn.functional.conv2d, "searchsorted": tiny_torch.searchsorted}[function]
    with pytest.raises(NotImplementedError, match="is not implemented for bool on meta"):
        call(x[0, 0, 0] if function == "searchsorted" else x, x)


def test_no_check_that_all_devices_share_names_one_of_them():
    named = [
        path.name for path in SOURCES.glob("core/api/**/*.cpp") if ' on cpu"' in path.read_text()
    ]
    assert not named
