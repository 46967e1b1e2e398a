"""The device `twin`: the CPU's kernels over memory that host code cannot reach (twin.cpp).

What touches an element outside of a launch dies of SIGSEGV, here and on a GPU.
"""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from cases.all_cases import CASES
from cases.op_cases import SHAPES
from helpers import CONTIGUOUS, by_name, gradients, operands, outcome, same_bits

import tiny_torch as torch
from tiny_torch import nn, reference
from tiny_torch.nn import functional as F
from tiny_torch.program import Compiled

pytestmark = pytest.mark.usefixtures("twin")
TABLE = by_name([case for case in CASES if case.dtypes])


def run(case, dtype, device):
    """The results of a case, with its gradients and second ones if it has some; or its error."""
    shapes = (case.shapes or SHAPES[case.arity])[0]
    inputs = case.domains, shapes, CONTIGUOUS[: case.arity], [dtype] * case.arity
    if case.gradient and dtype == "float64":
        return outcome(lambda: gradients(torch, case, inputs, device))
    return outcome(lambda: case(torch, *operands(torch, *inputs, device)))


@TABLE
def test_every_op_has_the_cpus_bits(case):
    dtype = "float64" if "float64" in case.dtypes else case.dtypes[0]
    error, expected = run(case, dtype, "cpu")
    same_error, found = run(case, dtype, "twin")
    assert repr(error) == repr(same_error)
    for a, b in zip(expected, found, strict=True):
        if isinstance(a, torch.Tensor):
            assert b.device.type == "twin" and a.stride() == b.stride() and same_bits(a, b)
        else:
            assert a == b


def test_host_code_cannot_reach_its_memory(twin):
    program = (
        "import ctypes, sys; import tiny_torch as torch; from tiny_torch import devices\n"
        "devices.register('twin', sys.argv[1]); x = torch.ones(3, device='twin') + 1\n"
        "assert x.tolist() == [2, 2, 2]; print('before', flush=True)\n"
        "ctypes.string_at(x.data_ptr(), 12)"
    )
    command = [sys.executable, "-c", program, str(twin)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("before\n", -signal.SIGSEGV), done.stderr


# ------------------------------------------------------------------------------------- training
def mlp():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.25), nn.Linear(16, 4))


def cnn():
    layers = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    return nn.Sequential(nn.Unflatten(1, (1, 8)), *layers, nn.Linear(36, 4))


def trained(make, optimizer, device, **options):
    """The losses and the state after three steps, on the CPU."""
    torch.manual_seed(0)
    net = make().to(device)
    x, target = torch.randn(8, 8, 8 if make is cnn else 1).squeeze(-1), torch.arange(8) % 4
    x, target = x.to(device), target.to(device)
    steps = optimizer(net.parameters(), lr=0.01, **options)
    scheduler = torch.optim.lr_scheduler.StepLR(steps, 2)
    losses = []
    for _ in range(3):
        steps.zero_grad()
        loss = F.cross_entropy(net(x), target)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        steps.step()
        scheduler.step()
        losses.append(loss.detach())
    assert {p.device.type for p in net.parameters()} == {device}
    return [torch.stack(losses).cpu(), *[p.cpu() for p in net.state_dict().values()]]


OPTIMIZERS = [
    (torch.optim.SGD, {"momentum": 0.9}),
    *[(getattr(torch.optim, name), {}) for name in ("Adam", "AdamW", "NAdam", "RAdam", "Adamax")],
    *[(getattr(torch.optim, name), {}) for name in ("RMSprop", "Adagrad", "Adadelta", "Rprop")],
    (torch.optim.ASGD, {}),
    (torch.optim.Adam, {"foreach": False, "amsgrad": True}),
]


@pytest.mark.parametrize("make", [mlp, cnn])
@pytest.mark.parametrize("optimizer, options", OPTIMIZERS)
def test_training_steps_have_the_cpus_bits(make, optimizer, options):
    expected, found = (trained(make, optimizer, d, **options) for d in ("cpu", "twin"))
    for a, b in zip(expected, found, strict=True):
        assert same_bits(a, b)


def test_a_script_runs_there_untouched(twin, tmp_path):
    script = Path(__file__).parents[1] / "scripts" / "dcgan.py"
    program = (
        "import runpy, sys; import tiny_torch as torch; from tiny_torch import devices\n"
        "from tiny_torch.compat import run\n"
        "device, library, script, out = sys.argv[1:]\n"
        "devices.register('twin', library); torch.set_default_device(device)\n"
        "run.main([script, '--out', out, '--steps', '2'])"
    )
    records = []
    for device in ("cpu", "twin"):
        out = tmp_path / f"{device}.pt"
        command = [sys.executable, "-c", program, device, str(twin), str(script), str(out)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=script.parents[2])
        assert done.returncode == 0, done.stderr
        records.append(torch.load(out))
    expected, found = records
    assert expected["losses"] == found["losses"]
    for name, gradient in expected["gradients"].items():
        assert same_bits(gradient, found["gradients"][name])


# ------------------------------------------------------------------------------- from and to it
def test_there_and_back():
    x = torch.arange(6.0).view(2, 3).t()
    y = x.to("twin")
    assert y.device == torch.device("twin") and y.stride() == x.stride() and not y.is_cpu
    assert torch.equal(y.cpu(), x) and y.to("twin") is y and y.tolist() == x.tolist()
    assert y[0, 1].item() == 3 and float(y[2, 1]) == 5 and bool(y[0, 1] > 2) and len(y) == 3
    assert repr(y[0]) == "tensor([0., 3.], device='twin')"
    assert torch.equal(y.to("ref").cpu(), x) and torch.equal(x.to("ref").to("twin").cpu(), x)
    assert torch.empty_like(x, device="twin").stride() == x.stride()
    leaf = torch.ones(2, requires_grad=True)
    (leaf.to("twin") * 3).sum().backward()
    assert leaf.grad.tolist() == [3, 3] and leaf.grad.is_cpu
    z = torch.zeros(3, 2).copy_(y)
    z += y.cpu()
    assert torch.equal(z, 2 * x) and torch.equal(y.clone().copy_(z).cpu(), z)
    # an index may be on the CPU
    y[0], y[y > 4], y[torch.tensor([1])] = 7, 8.0, torch.ones(2, device="twin")
    assert y.cpu().tolist() == [[8, 8], [1, 1], [2, 8]]


def test_what_numpy_and_others_cannot_reach():
    x = torch.ones(2, device="twin")
    with pytest.raises(TypeError, match=r"can't convert twin device type tensor to numpy. Use Ten"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1, 1]
    with pytest.raises(TypeError, match="can't convert twin"):
        np.asarray(x)
    with pytest.raises(BufferError, match="DLPack knows no device twin"):
        torch.from_dlpack(x)


def test_devices_are_not_mixed():
    x, y = torch.ones(2, 2, device="twin"), torch.ones(2, 2)
    calls = [
        lambda: x + y, lambda: y.mul_(x), lambda: x @ y, lambda: torch.cat((x, y)),
        lambda: torch.where(x > 0, x, y), lambda: F.linear(x, y), lambda: x.lerp(y, 0.5),
        lambda: torch.exp(x, out=y), lambda: F.conv2d(x[None, None], y[None, None]),
        lambda: x.gather(0, y.long()), lambda: torch.ones(2, 2, device="meta") + x,
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            call()
    assert (x + torch.tensor(2.0)).tolist() == [[3, 3], [3, 3]]  # a 0-d tensor counts as a number
    assert (torch.tensor(2) * x).device.type == "twin"
    assert torch.where(x > 0, torch.tensor(1.0), 0.0).device.type == "twin"


def test_generators_draw_the_same_numbers():
    draws = []
    for device in ("cpu", "twin"):
        torch.manual_seed(3)
        drawn = [torch.randn(5, device=device), torch.rand(2, 3, device=device)]
        drawn += [torch.randint(9, (4,), device=device), torch.randperm(6, device=device)]
        drawn += [torch.ones(4, device=device).multinomial(3), F.dropout(drawn[0])]
        drawn += [torch.bernoulli(drawn[1]), torch.normal(drawn[1], 1.0)]
        drawn += [drawn[0].uniform_(generator=torch.Generator().manual_seed(1)), torch.rand(1)]
        draws.append(drawn)
    for a, b in zip(*draws, strict=True):
        assert same_bits(a, b)


def test_saved_and_loaded():
    file, model = io.BytesIO(), nn.Linear(2, 3, device="twin")
    torch.save({"x": torch.ones(2, device="twin"), "model": model.state_dict()}, file)
    for where, device in ((None, "cpu"), ("twin", "twin"), (torch.device("twin"), "twin")):
        file.seek(0)
        loaded = torch.load(file, map_location=where)
        assert loaded["x"].device.type == device and loaded["x"].tolist() == [1, 1]
    model.load_state_dict(loaded["model"])
    model.load_state_dict({name: value.cpu() for name, value in loaded["model"].items()})
    assert model.weight.device.type == "twin"


def test_threads_launch_at_once():
    x = torch.randn(64, 64, device="twin")
    expected, wrong = (x @ x).softmax(1).sum().item(), []

    def work():
        for _ in range(50):
            if (x @ x).softmax(1).sum().item() != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_programs_are_recorded(twin):
    net = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Dropout(0.3), nn.Linear(32, 4)).to("twin")
    program = Compiled(net, fullgraph=True)
    for k in range(4):
        x, found = torch.randn(16, 8).to("twin"), []
        for call in (program, net):
            torch.manual_seed(k)
            net.zero_grad()
            result = call(x)
            result.sum().backward()
            found.append([y.cpu() for y in (result.detach(), *[p.grad for p in net.parameters()])])
        assert all(map(same_bits, *found))


def test_a_device_that_cannot_be_registered(compiled, twin):
    from tiny_torch.base import devices

    empty = compiled("empty", "int nothing = 0;")
    with pytest.raises(RuntimeError, match="has no TT_DEVICE"):
        devices.register("another", empty)
    with pytest.raises(RuntimeError, match="has a device 'twin', not 'another'"):
        devices.register("another", twin)
    with pytest.raises(RuntimeError, match="no device could be loaded"):
        devices.register("another", "/nowhere.so")
    for name in ("cpu", "cuda", "twin", "meta", "Two words"):
        with pytest.raises(RuntimeError, match="cannot be called"):
            devices.register(name, twin)
    with pytest.raises(RuntimeError, match="are on another device"):
        devices.register("another", reference)
    assert "another" not in devices.TYPES
