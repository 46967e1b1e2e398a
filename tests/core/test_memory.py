"""Memory that is shared: by DLPack, NumPy, processes, views; settings of devices and numbers."""

import gc
import os
import pickle
import threading

import numpy as np
import pytest

import tiny_torch
from tiny_torch import _core

# ------------------------------------------------------------------------------------------ DLPack

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")


def allocated():
    gc.collect()
    return _core.memory_statistics()["allocated"]


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_dlpack_both_ways_with_pytorch(oracle, dtype):
    ours = tiny_torch.arange(6).reshape(2, 3).to(getattr(tiny_torch, dtype)).t()
    theirs = oracle.from_dlpack(ours)
    assert theirs.stride() == (1, 3) and theirs.tolist() == ours.tolist()
    assert str(theirs.dtype) == str(ours.dtype) and theirs.data_ptr() == ours.data_ptr()
    back = tiny_torch.from_dlpack(theirs)
    assert back.stride() == (1, 3) and back.dtype is ours.dtype
    assert back.data_ptr() == ours.data_ptr()
    ours[0, 0] = 1
    assert theirs[0, 0].item() == back[0, 0].item() == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_both_ways_with_numpy(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)[:, ::2]
    ours = tiny_torch.from_dlpack(array)
    assert ours.tolist() == array.tolist() and ours.stride() == (3, 2)
    back = np.from_dlpack(ours)
    ours[0, 0] = 1
    assert array[0, 0] == back[0, 0] == 1 and back.strides == array.strides


def test_dlpack_keeps_memory_alive_as_long_as_it_is_needed():
    before = allocated()
    for max_version in (None, (1, 0)):
        x = tiny_torch.ones(1000)
        capsule = x.__dlpack__(max_version=max_version)
        del x
        assert allocated() > before
        y = tiny_torch.from_dlpack(capsule)
        del capsule
        assert y.sum().item() == 1000
        del y
        assert allocated() == before
        unused = tiny_torch.ones(1000).__dlpack__(max_version=max_version)
        assert allocated() > before
        del unused
        assert allocated() == before


def test_a_capsule_is_taken_once():
    capsule = tiny_torch.ones(2).__dlpack__()
    tiny_torch.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="only once"):
        tiny_torch.from_dlpack(capsule)


def test_dlpack_refuses():
    with pytest.raises(ValueError, match="negative strides"):  # PyTorch aborts
        tiny_torch.from_dlpack(np.arange(3)[::-1])
    with pytest.raises(RuntimeError, match="no dtype"):
        tiny_torch.from_dlpack(np.zeros(2, "uint16"))
    with pytest.raises(BufferError):
        tiny_torch.ones(1, device="ref").__dlpack__()

    class OnGpu:
        def __dlpack_device__(self):
            return 2, 0

        def __dlpack__(self, **options):
            raise AssertionError("not asked for")

    with pytest.raises(RuntimeError, match="not on the CPU"):
        tiny_torch.from_dlpack(OnGpu())


# ------------------------------------------------------------------------- sizes, shares, pickles


def test_resizing_is_seen_by_views(torch):
    x = torch.arange(6)
    view = x[1:3]
    x.resize_(100)
    x[:6] = 7
    assert view.tolist() == [7, 7] and view.untyped_storage().nbytes() == 800
    exported = torch.arange(3)
    array = exported.numpy()
    with pytest.raises(RuntimeError, match="not resizable"):
        exported.resize_(5)
    assert exported.resize_(2).tolist() == [0, 1] and array.tolist() == [0, 1, 2]
    assert torch.ones(3, out=torch.zeros(2, 2)).tolist() == [1, 1, 1]


def test_printing_and_lists_leave_memory_resizable(torch):
    x = torch.arange(3)
    repr(x), x.tolist(), x.sum().item()
    assert x.resize_(9).shape == (9,)


def test_shared_memory_is_written_by_a_fork():
    x = tiny_torch.zeros(4)
    array, view = x.numpy(), x[1:]
    assert not x.is_shared() and x.share_memory_() is x and view.is_shared()
    array[0] = 5  # NumPy still has the memory from before
    child = os.fork()
    if child == 0:
        view.fill_(3)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert x.tolist() == [0, 3, 3, 3] and array.tolist() == [5, 0, 0, 0]
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(100)


def test_deepcopy_keeps_what_tensors_share(torch):
    import copy

    x = torch.arange(6.0)
    a, b, c = copy.deepcopy([x, x[1:3], x[::2]])
    a.fill_(1)
    assert b.tolist() == [1, 1] and c.stride() == (2,) and x.tolist() == [0, 1, 2, 3, 4, 5]
    assert b.storage_offset() == 1


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickles(protocol):
    torch = tiny_torch
    values = [
        *(getattr(torch, name) for name in (*DTYPES, "bfloat16")),
        *(torch.strided, torch.channels_last, torch.preserve_format, torch.device("cpu", 0)),
        torch.Size((2, 3)),
    ]
    assert pickle.loads(pickle.dumps(values, protocol)) == values
    x = torch.arange(6.0).reshape(2, 3).t().requires_grad_()
    y = pickle.loads(pickle.dumps(x, protocol))
    assert y.tolist() == x.tolist() and y.stride() == (1, 3) and y.requires_grad


# --------------------------------------------------------------------------------------- inference


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_inference_reuses_a_few_buffers(mode):
    nn = tiny_torch.nn
    layers = [layer for _ in range(20) for layer in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(*layers)
    x = tiny_torch.randn(4096, 256)
    with getattr(tiny_torch, mode)():
        model(x)  # what is packed once
        _core.reset_peak_memory()
        before = allocated()
        model(x)
    buffer = x.numel() * 4
    assert _core.memory_statistics()["peak_allocated"] - before <= 3 * buffer


# --------------------------------------------------------------------------------- default device


def test_the_default_device():
    try:
        tiny_torch.set_default_device("ref")
        for make in (
            lambda m: m.zeros(2),
            lambda m: m.tensor([1.0]),
            lambda m: m.arange(3),
            lambda m: m.as_tensor(np.ones(2)),
            lambda m: m.full((2,), 3),
            lambda m: m.eye(2),
        ):
            assert make(tiny_torch).device.type == "ref"
        assert tiny_torch.from_numpy(np.ones(2)).is_cpu and tiny_torch.Tensor([1]).is_cpu
        with tiny_torch.device("cpu"):
            assert tiny_torch.zeros(1).is_cpu
            with tiny_torch.device("ref"):
                assert tiny_torch.zeros(1).device.type == "ref"
            assert tiny_torch.get_default_device() == tiny_torch.device("cpu")
        seen = []
        thread = threading.Thread(target=lambda: seen.append(tiny_torch.zeros(1).is_cpu))
        thread.start()
        thread.join()
        assert seen == [True]
    finally:
        tiny_torch.set_default_device(None)


def test_a_default_device_without_cuda(torch):
    try:
        torch.set_default_device("cuda")
        for function in (lambda: torch.zeros(2), lambda: torch.tensor(1), torch.get_default_device):
            with pytest.raises(AssertionError, match="CUDA"):
                function()
        assert torch.from_numpy(np.ones(1)).is_cpu
        with pytest.raises(RuntimeError):
            torch.set_default_device("nowhere")
    finally:
        torch.set_default_device(None)
    assert torch.zeros(1).is_cpu


# ---------------------------------------------------------------------------------------- settings


def test_settings_can_be_set_and_read(torch):
    backends = torch.backends
    try:
        torch.set_float32_matmul_precision("high")
        assert torch.get_float32_matmul_precision() == "high"
        with pytest.warns(UserWarning, match="not one of"):
            torch.set_float32_matmul_precision("lowest")
        with pytest.raises(RuntimeError):
            torch.set_float32_matmul_precision(1)
        torch.use_deterministic_algorithms(True, warn_only=True)
        assert torch.are_deterministic_algorithms_enabled()
        with pytest.raises(TypeError):
            torch.use_deterministic_algorithms(1)
        backends.cudnn.benchmark = True
        backends.cudnn.deterministic = True
        backends.cuda.matmul.allow_tf32 = True
        assert backends.cudnn.benchmark and backends.cuda.matmul.allow_tf32
        with pytest.raises(AttributeError):
            backends.cuda.matmul.nothing = 1
        assert backends.cudnn.version() is None and not backends.cudnn.is_available()
        assert torch.get_num_interop_threads() >= 1
        for wrong in (0, 1.5, "2"):
            with pytest.raises(RuntimeError):
                torch.set_num_interop_threads(wrong)
    finally:
        backends.cuda.matmul.allow_tf32 = False
        torch.set_float32_matmul_precision("highest")
        torch.use_deterministic_algorithms(False)
        backends.cudnn.benchmark = backends.cudnn.deterministic = False


def test_default_tensor_types(torch):
    try:
        torch.set_default_tensor_type(torch.DoubleTensor)
        assert torch.zeros(1).dtype is torch.Tensor([1]).dtype is torch.float64
        torch.set_default_tensor_type("torch.HalfTensor")
        assert torch.get_default_dtype() is torch.float16
        for wrong in (torch.LongTensor, "torch.IntTensor", torch.float32, "torch.cuda.FloatTensor"):
            with pytest.raises(TypeError):
                torch.set_default_tensor_type(wrong)
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)


def test_cuda_without_cuda(torch):
    cuda = torch.cuda
    assert not cuda.is_available() and cuda.device_count() == 0 and not cuda.is_bf16_supported()
    assert cuda.manual_seed(1) is cuda.manual_seed_all(1) is cuda.empty_cache() is None
    assert cuda.set_device(-1) is None and issubclass(cuda.OutOfMemoryError, RuntimeError)
    for function in (
        *(cuda.current_device, cuda.get_device_name, cuda.get_device_capability),
        *(cuda.synchronize, lambda: cuda.get_device_properties(0)),
        *(lambda: torch.zeros(1).cuda(), lambda: torch.zeros(1, device="cuda")),
    ):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            function()
    with pytest.raises(ValueError):
        cuda.set_device("cpu")
