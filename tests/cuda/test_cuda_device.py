"""The device `cuda`: how it is named, what is there, and what goes there and back."""

from __future__ import annotations

import copy
import io
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tiny_torch as torch
from tiny_torch import cuda, nn

HERE = torch.device("cuda:0")


def test_there_is_one():
    assert cuda.is_available() and cuda.device_count() == 1 and cuda.current_device() == 0
    assert torch.backends.cuda.is_built() and cuda.is_bf16_supported()
    assert torch.accelerator.is_available() and torch.accelerator.device_count() == 1
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.current_device_index() == 0
    cuda.init()
    assert cuda.is_initialized() and not cuda.can_device_access_peer(0, 0)
    cuda.synchronize()
    torch.accelerator.synchronize(0)


def test_properties():
    properties = cuda.get_device_properties()
    assert cuda.get_device_name(0) == properties.name != ""
    assert cuda.get_device_capability("cuda") == (properties.major, properties.minor)
    assert properties.total_memory > 0 and properties.multi_processor_count > 0
    assert repr(properties).startswith(f"_CudaDeviceProperties(name='{properties.name}', major=")
    assert properties.warp_size == 32 and all("_" in arch for arch in cuda.get_arch_list())
    with pytest.raises(AssertionError, match="Invalid device id"):
        cuda.get_device_properties(1)


def test_tensors_say_where_they_are():
    for x in (
        torch.zeros(2, device="cuda"),
        torch.zeros(2, device="cuda:0"),
        torch.zeros(2, device=0),
        torch.zeros(2, device=HERE),
        torch.zeros(2).cuda(),
        torch.zeros(2).cuda(0),
        torch.zeros(2).cuda("cuda:0"),
        torch.zeros(2).to("cuda"),
        torch.zeros(2).to(0),
        torch.zeros(2).to(device=torch.device(0)),
        torch.zeros(2).type("torch.cuda.FloatTensor"),
        torch.tensor([0.0, 0.0], device="cuda"),
        torch.as_tensor(np.zeros(2, "float32"), device="cuda"),
    ):
        assert x.device == HERE and x.is_cuda and not x.is_cpu and x.get_device() == 0
        assert repr(x) == "tensor([0., 0.], device='cuda:0')" and x.untyped_storage().is_cuda
        assert x.type() == "torch.cuda.FloatTensor" and x.storage_offset() == 0
        assert x.cuda() is x and x.to("cuda:0") is x and x.cpu().device.type == "cpu"
    assert torch.zeros(1).get_device() == -1 and repr(HERE) == "device(type='cuda', index=0)"


def test_types():
    x = torch.zeros(2, device="cuda")
    assert not isinstance(x, torch.FloatTensor) and isinstance(x.cpu(), torch.FloatTensor)
    assert x.type(torch.float64).is_cuda and x.type(torch.DoubleTensor).is_cpu
    assert x.type("torch.cuda.LongTensor").type() == "torch.cuda.LongTensor"
    torch.set_default_tensor_type("torch.cuda.DoubleTensor")
    assert torch.zeros(1).type() == "torch.cuda.DoubleTensor"
    torch.set_default_tensor_type("torch.FloatTensor")
    torch.set_default_device(None)
    assert torch.zeros(1).type() == "torch.FloatTensor"


def test_devices_for_a_block():
    with HERE:
        assert torch.zeros(1).is_cuda and torch.get_default_device() == HERE
    with torch.device("cuda"):
        assert torch.get_default_device() == HERE
    for manager in (cuda.device(0), cuda.device("cuda"), cuda.device(None), cuda.device(-1)):
        with manager:
            assert cuda.current_device() == 0
    with cuda.device_of(torch.zeros(1)), cuda.device_of(torch.zeros(1).cuda()):
        assert torch.zeros(1).is_cpu
    with torch.accelerator.device_index(0), torch.accelerator.device_index(None):
        pass
    cuda.set_device("cuda:0")
    cuda.set_device(0)
    torch.accelerator.set_device_index(0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.zeros(1, device="cuda:1"),
        lambda: torch.zeros(1).cuda(1),
        lambda: torch.zeros(1).to("cuda:7"),
        lambda: cuda.set_device(1),
        lambda: cuda.device(1).__enter__(),
        lambda: cuda.synchronize(2),
        lambda: torch.Generator("cuda:1"),
    ],
)
def test_another_index_is_no_device(call):
    with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal"):
        call()
    assert torch.ones(1).cuda().item() == 1


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: cuda.set_device("cpu"), ValueError, "Expected a cuda device, but got: cpu"),
        (lambda: cuda.set_device("cuda"), ValueError, "with a specified index or an integer"),
        (lambda: cuda.set_device(None), ValueError, "with a specified index or an integer"),
        (lambda: cuda.device("cpu"), ValueError, "Expected a cuda device, but got: cpu"),
        (lambda: torch.zeros(1).cuda("cpu"), RuntimeError, "Invalid device, must be cuda device"),
        (lambda: torch.device(-1), RuntimeError, "must not be negative"),
        (lambda: torch.accelerator.synchronize("cpu"), ValueError, "the current accelerator cuda"),
    ],
)
def test_what_is_no_gpu(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_mixed_devices_are_refused():
    there, here = torch.ones(2, device="cuda"), torch.ones(2)
    message = "Expected all tensors to be on the same device, but found at least two devices, "
    with pytest.raises(RuntimeError, match=f"{message}cuda:0 and cpu!"):
        there + here
    with pytest.raises(RuntimeError, match=message):
        torch.cat([here, there])
    with pytest.raises(TypeError, match=r"can't convert cuda(:0)? device type tensor to numpy"):
        there.numpy()
    assert there.numpy(force=True).tolist() == [1, 1]


def test_numbers_on_the_cpu_go_along():
    x = torch.tensor([1.0, 2.0], device="cuda")
    assert (x * torch.tensor(3.0)).tolist() == [3, 6]
    assert (torch.tensor(3.0) - x).tolist() == [2, 1]
    assert x.mul_(torch.tensor(2)).tolist() == [2, 4]


def test_indices_on_the_cpu_go_along():
    x = torch.arange(4.0, device="cuda")
    assert x[torch.tensor([3, 0])].tolist() == [3, 0]
    assert x[torch.tensor([True, False, False, True])].tolist() == [0, 3]


def test_gradients_go_back_to_the_cpu():
    x = torch.ones(3, requires_grad=True)
    (x.cuda() * 2).cpu().sum().backward()
    assert x.grad.device.type == "cpu" and x.grad.tolist() == [2, 2, 2]


def test_modules():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    assert model.cuda() is model and {p.device for p in model.parameters()} == {HERE}
    assert {b.device for b in model.buffers()} == {HERE}
    assert nn.Linear(2, 2).to("cuda", non_blocking=True).weight.is_cuda
    assert nn.Linear(2, 2, device="cuda").cpu().weight.is_cpu
    packed = nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(5)], enforce_sorted=False).cuda()
    assert packed.is_cuda and packed.batch_sizes.is_cpu and packed.sorted_indices.is_cuda
    padded, lengths = nn.utils.rnn.pad_packed_sequence(packed)
    assert padded.is_cuda and lengths.tolist() == [3, 5] and packed.cuda(0).cpu().data.is_cpu


def test_legacy_constructors():
    assert torch.zeros(1).cuda().new(2).is_cuda
    with pytest.raises(RuntimeError, match="legacy constructor expects device type: cpu"):
        torch.Tensor(2, device="cuda")


# ------------------------------------------------------------------------------- random numbers


def test_seeds():
    torch.manual_seed(5)
    first, here = torch.rand(4, device="cuda"), torch.rand(4)
    cuda.manual_seed(5)
    assert torch.equal(torch.rand(4, device="cuda"), first) and cuda.initial_seed() == 5
    cuda.manual_seed_all(5)
    state = cuda.get_rng_state()
    assert torch.equal(torch.rand(4, device="cuda"), first)
    cuda.set_rng_state(state, "cuda:0")
    assert torch.equal(torch.rand(4, device="cuda"), first)
    cuda.set_rng_state_all([state])
    assert torch.equal(cuda.get_rng_state_all()[0], state) and state.is_cpu
    torch.manual_seed(5)
    assert torch.equal(torch.rand(4), here)  # the GPU's draws are not the CPU's
    cuda.seed()
    cuda.seed_all()
    assert cuda.initial_seed() != 5


def test_generators():
    generator = torch.Generator("cuda").manual_seed(3)
    assert generator.device == HERE and torch.Generator("cuda").initial_seed() == 67280421310721
    draws = [torch.randn(3, device="cuda", generator=generator.manual_seed(3)) for _ in range(2)]
    assert torch.equal(*draws)
    assert torch.randperm(5, device="cuda", generator=generator).is_cuda
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found"):
        torch.randn(3, device="cuda", generator=torch.Generator())
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found"):
        torch.randn(3, generator=generator)
    p = torch.full((1000,), 0.5, device="cuda")
    assert 400 < torch.bernoulli(p, generator=generator).sum().item() < 600
    assert torch.multinomial(p, 3, generator=generator).is_cuda


def test_forked_generators_go_back():
    cuda.manual_seed(1)
    state = cuda.get_rng_state()
    for devices in (None, [0], ["cuda"]):
        with torch.random.fork_rng(devices):
            torch.rand(5, device="cuda")
        assert torch.equal(cuda.get_rng_state(), state)
    with torch.random.fork_rng([]):
        torch.rand(5, device="cuda")
    assert not torch.equal(cuda.get_rng_state(), state)


def test_dropout_takes_the_gpus_generator():
    x = torch.ones(100, device="cuda")
    before = torch.get_rng_state()
    cuda.manual_seed(2)
    first = nn.functional.dropout(x)
    cuda.manual_seed(2)
    assert torch.equal(nn.functional.dropout(x), first)
    assert torch.equal(torch.get_rng_state(), before)


# -------------------------------------------------------------------------------------- files


def through(obj, map_location=None):
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, map_location=map_location)


def test_files_know_the_device():
    base = torch.arange(6.0, device="cuda")
    saved = {"x": base[1:4], "y": base.view(2, 3).t(), "n": torch.ones(1)}
    loaded = through(saved)
    assert loaded["x"].device == HERE and loaded["n"].is_cpu
    assert loaded["x"].tolist() == [1, 2, 3] and loaded["y"].stride() == (1, 3)
    loaded["x"].fill_(9)
    assert loaded["y"].tolist() == [[0, 9], [9, 4], [9, 5]]  # one memory still


@pytest.mark.parametrize("where", ["cpu", torch.device("cpu"), {"cuda:0": "cpu"}])
def test_files_go_to_the_cpu(where):
    assert through(torch.ones(2, device="cuda"), where).is_cpu


@pytest.mark.parametrize(
    "where",
    ["cuda", "cuda:0", torch.device("cuda"), HERE, {"cpu": "cuda:0"}, lambda s, where: s.cuda()],
)
def test_files_go_to_the_gpu(where):
    assert through(torch.ones(2), where).device == HERE


def test_files_of_other_devices():
    with pytest.raises(
        RuntimeError, match=r"on CUDA device 1 but torch.cuda.device_count\(\) is 1"
    ):
        through(torch.ones(2), "cuda:1")
    file = io.BytesIO()
    torch.save(torch.ones(2, device="cuda"), file)
    script = (
        "import sys, io, tiny_torch as torch\n"
        "data = sys.stdin.buffer.read()\n"
        "print(torch.load(io.BytesIO(data), map_location='cpu').tolist())\n"
        "torch.load(io.BytesIO(data))\n"
    )
    environment = {**os.environ, "TINY_TORCH_CUDA": "off"}
    done = subprocess.run(
        [sys.executable, "-c", script], input=file.getvalue(), env=environment, capture_output=True
    )
    assert done.stdout == b"[1.0, 1.0]\n"
    assert b"Attempting to deserialize object on a CUDA device" in done.stderr


def test_pytorch_reads_our_files(oracle):
    file = io.BytesIO()
    torch.save({"w": torch.arange(3.0, device="cuda")}, file)
    file.seek(0)
    assert oracle.load(file, map_location="cpu")["w"].tolist() == [0, 1, 2]


def test_pickles_and_copies():
    x = torch.arange(4.0, device="cuda", requires_grad=True)
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert other.device == HERE and other.requires_grad and other.tolist() == [0, 1, 2, 3]
    with torch.no_grad():
        copy.copy(x)[0] = 7
    assert x[0].item() == 7


# ----------------------------------------------------------------------------- other libraries


def test_the_cuda_array_interface():
    x = torch.arange(6.0, device="cuda").view(2, 3)
    told = x.__cuda_array_interface__
    assert told == {
        "typestr": "<f4", "shape": (2, 3), "strides": None, "data": (x.data_ptr(), False),
        "version": 2,
    }  # fmt: skip
    assert x.t().__cuda_array_interface__["strides"] == (4, 12)
    assert x[:0].__cuda_array_interface__["data"] == (0, False)
    assert x.bool().__cuda_array_interface__["typestr"] == "|b1"
    with pytest.raises(RuntimeError, match="requires grad"):
        x.clone().requires_grad_().__cuda_array_interface__  # noqa: B018
    assert not hasattr(torch.ones(1), "__cuda_array_interface__")


class Foreign:
    """Another library's array."""

    def __init__(self, tensor, **changes):
        self.tensor = tensor
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, **changes}


def test_arrays_with_the_cuda_array_interface():
    x = torch.arange(6.0, device="cuda").view(2, 3)
    shared = torch.as_tensor(Foreign(x.t()))
    assert shared.device == HERE and shared.shape == (3, 2) and shared.stride() == (1, 3)
    shared.add_(10)
    assert x[0].tolist() == [10, 11, 12]
    copied = torch.tensor(Foreign(x), dtype=torch.float64)
    copied.zero_()
    assert x[0, 0].item() == 10 and copied.dtype is torch.float64
    assert torch.as_tensor(Foreign(x), device="cpu").is_cpu
    assert torch.asarray(Foreign(x), copy=False).data_ptr() == x.data_ptr()
    del x
    assert shared.sum().item() == 75  # the memory is kept
    with pytest.raises(TypeError, match="<c8"):
        torch.as_tensor(Foreign(shared, typestr="<c8"))
    with pytest.raises(ValueError, match="strides"):
        torch.as_tensor(Foreign(shared, strides=(-4, 12)))


def test_dlpack():
    x = torch.arange(4.0, device="cuda")
    assert (
        x.__dlpack_device__() == (2, 0) and torch.ones(1).pin_memory().__dlpack_device__()[0] == 3
    )
    shared = torch.from_dlpack(x)
    shared.mul_(2)
    assert shared.device == HERE and x.tolist() == [0, 2, 4, 6]
    for stream in (None, 1, -1, cuda.current_stream().cuda_stream or 1):
        assert torch.from_dlpack(x.__dlpack__(stream=stream)).tolist() == x.tolist()
    side = cuda.Stream()
    with cuda.stream(side):
        y = x + 1
        z = torch.from_dlpack(y)
        capsule = y.__dlpack__(stream=1)  # the default stream waits
    assert torch.from_dlpack(capsule).tolist() == z.tolist() == [1, 3, 5, 7]
    assert torch.from_dlpack(x, device="cpu").is_cpu and torch.from_dlpack(x, copy=True).is_cuda
    with pytest.raises(BufferError, match="per-thread"):
        x.__dlpack__(stream=2)
    with pytest.raises(TypeError, match="stream must be"):
        x.__dlpack__(stream="1")
    with pytest.raises(BufferError, match="require gradient"):
        x.requires_grad_().__dlpack__()


# ---------------------------------------------------------------------------------------- data


def test_a_data_loader_pins_its_batches():
    data = [(torch.full((2,), float(i)), {"n": i, "name": "a"}) for i in range(4)]
    for workers in (0, 2):
        loader = torch.utils.data.DataLoader(data, 2, num_workers=workers, pin_memory=True)
        batches = list(loader)
        assert all(x.is_pinned() and more["n"].is_pinned() for x, more in batches)
        assert [x.cuda(non_blocking=True)[0, 0].item() for x, _ in batches] == [0, 2]
        assert batches[0][1]["name"] == ["a", "a"]


class Batch:
    def __init__(self, pinned=False):
        self.pinned = pinned

    def pin_memory(self):
        return Batch(True)


def test_a_batch_of_ones_own_pins_itself():
    loader = torch.utils.data.DataLoader([1, 2], collate_fn=lambda _: Batch(), pin_memory=True)
    assert all(batch.pinned for batch in loader)


# ------------------------------------------------------------------------------------- processes


def test_nothing_is_loaded_before_it_is_asked_for():
    script = (
        "import tiny_torch as torch\n"
        "maps = lambda: 'cuda_emulated' in open('/proc/self/maps').read()\n"
        "torch.ones(2).sum()\n"
        "assert not maps() and not torch.cuda.is_initialized()\n"
        "torch.cuda.manual_seed(3)\n"
        "assert torch.cuda.memory_stats() == {} and not maps()\n"
        "assert torch.cuda.is_available() and maps() and not torch.cuda.is_initialized()\n"
        "assert torch.cuda.initial_seed() == 3 and torch.cuda.is_initialized()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_forked_process_is_refused():
    torch.ones(1, device="cuda")
    child = os.fork()
    if child == 0:
        try:
            torch.ones(1, device="cuda")
        except RuntimeError as error:
            os._exit(0 if "Cannot re-initialize CUDA in forked subprocess" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_emulators_other_name():
    if os.environ["TINY_TORCH_CUDA"] == "emulated":
        with pytest.raises(RuntimeError, match="the device is called 'cuda'"):
            torch.zeros(1, device="cuda-emulated")


CAPABILITY = """
import tiny_torch as torch
from tiny_torch import cuda
error = ""
try:
    assert torch.ones(2, device="cuda").sum() == 2
except RuntimeError as caught:
    error = str(caught)
assert cuda.is_available() and cuda.get_device_properties().major == cuda.get_device_capability()[0]
print(cuda.is_bf16_supported(), cuda.is_tf32_supported(), cuda.get_arch_list(), error)
"""
TOO_OLD = (
    "CUDA on the host has compute capability 7.5, "
    "and tiny_torch's kernels need 8.0 (Ampere) or newer"
)


@pytest.mark.skipif(os.environ.get("TINY_TORCH_CUDA") != "emulated", reason="it can be any GPU")
@pytest.mark.parametrize(
    ("capability", "said"), [("7.5", f"False False ['sm_80', 'compute_80'] {TOO_OLD}"),
                             ("8.6", "True True ['sm_80', 'compute_80']"),
                             ("12.0", "True True ['sm_80', 'compute_80']")]
)  # fmt: skip
def test_a_gpu_that_is_too_old_is_named_at_its_first_use(capability, said):
    environment = {**os.environ, "TINY_TORCH_EMULATED_CAPABILITY": capability}
    done = subprocess.run(
        [sys.executable, "-c", CAPABILITY], env=environment, capture_output=True, text=True
    )
    assert done.stdout.strip() == said, done.stderr
