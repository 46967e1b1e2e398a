"""What the host does for the device `cuda`, as only the emulator sees it: when it waits, what it
asks CUDA for in a steady loop, and other libraries, streams and processes beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from cuda_emulator import calls, calls_of, current_device, set_device

import tiny_torch as torch
from tiny_torch import cuda, nn

pytestmark = pytest.mark.skipif(
    os.environ.get("TINY_TORCH_CUDA") != "emulated", reason="the emulator is asked"
)

# ------------------------------------------------------------------------------------- programs


def test_a_program_is_one_launch_of_a_graph():
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 4)).to("cuda")
    compiled, plain = torch.compile(model, mode="reduce-overhead"), torch.compile(model)
    x = torch.randn(6, 8, device="cuda")
    with torch.no_grad():
        for _ in range(3):
            compiled(x), plain(x)
        assert calls_of(lambda: compiled(x), "cudaGraphLaunch", "launch", "waits") == [1, 0, 0]
        assert calls_of(lambda: plain(x), "cudaGraphLaunch", "launch", "waits") == [0, 3, 0]


# ---------------------------------------------------------------------------------------- waits


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.cpu(),
        lambda x: x.tolist(),
        lambda x: x.sum().item(),
        lambda x: bool(x.sum()),
        lambda x: repr(x),
        lambda x: x.nonzero(),
        lambda x: x[x > 1],
        lambda x: x.masked_select(x > 1),
        lambda x: x.unique(),
        lambda x: x.long().bincount(),
        lambda x: torch.equal(x, x),
        lambda x: x.numpy(force=True),
        lambda x: x.copy_(torch.ones(1000)),
        lambda x: torch.zeros(1000).copy_(x),
        lambda x: torch.zeros(1 << 19).cuda(),
        lambda x: torch.ones(1000).pin_memory(),
        lambda x: torch.empty(1 << 20, pin_memory=True),
        lambda x: x.to("cpu", non_blocking=True),
        lambda x: nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True),
        lambda x: cuda.mem_get_info(),
        lambda x: cuda.synchronize(),
        lambda x: cuda.Stream().synchronize(),
        lambda x: cuda.Stream().record_event().synchronize(),
        lambda x: cuda.empty_cache(),
        lambda x: cuda.set_per_process_memory_fraction(1.0),
        lambda x: torch.save(x, os.devnull),
        lambda x: captured(),  # whose pool asks for memory
    ],
)
def test_no_wait_holds_the_gil(call):
    # The emulator throws where one does.
    x = torch.arange(1000.0, device="cuda")
    x.grad = torch.ones_like(x)
    for stream in (cuda.default_stream(), cuda.Stream()):
        with cuda.stream(stream):
            call(x)


def test_threads_that_wait_do_not_hold_each_other_up():
    # Each takes locks of the device's and the GIL, in the same order as the others.
    failures = []

    def work(seed):
        try:
            with cuda.stream(cuda.Stream()):
                for k in range(20):
                    x = torch.full((1000 + k,), float(seed)).pin_memory().cuda(non_blocking=True)
                    assert nn.functional.dropout(x, 0.1).mean().item() > 0
                    assert x.sum().item() == seed * (1000 + k)
                    x.record_stream(cuda.default_stream())
                    cuda.mem_get_info()
                    cuda.empty_cache()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert not failures


def test_out_of_memory_waits_without_the_gil():
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 42, device="cuda")


def test_what_waits():
    x = torch.ones(3, device="cuda")
    assert calls_of(lambda: (x + 1).relu_(), "waits", "launch") == [0, 2]
    assert calls_of(lambda: x.sum().item(), "waits", "launch") == [2, 1]  # the copy and its stream
    assert calls_of(lambda: torch.ones(3).cuda(), "waits") <= [1]


# -------------------------------------------------------------------------------- a steady loop


def test_a_steady_loop_asks_for_nothing():
    model = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 4)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    side = cuda.Stream()  # backward waits for it

    def step():
        batch = torch.randn(8, 20).pin_memory().cuda(non_blocking=True)
        target = torch.tensor([0, 1, 2, 3] * 2).cuda()
        with cuda.stream(side):
            x = batch + 1
        x.record_stream(cuda.current_stream())
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch), target).backward()
        optimizer.step()
        return target

    for _ in range(5):
        step()
    functions = "cudaHostAlloc", "cudaEventCreateWithFlags", "cudaFuncSetAttribute"
    assert calls_of(lambda: [step() for _ in range(20)], *functions) == [0, 0, 0]


def test_pinned_memory_goes_back():
    held = torch.ones(5000).pin_memory()
    torch.ones(5000).pin_memory()
    cuda.empty_cache()
    assert calls("cudaHostAlloc") - calls("cudaFreeHost") >= 1 and (held == 1).all()
    del held
    cuda.empty_cache()
    kept = 1  # where kernels tell what they find wrong
    assert calls("cudaHostAlloc") - calls("cudaFreeHost") <= kept


def test_idle_pinned_memory_goes_back_without_being_asked():
    cuda.empty_cache()
    size = 1 << 26  # bytes of a block
    before = calls("cudaHostAlloc") - calls("cudaFreeHost")
    held = [torch.empty(size, dtype=torch.uint8, pin_memory=True) for _ in range(8)]
    assert calls("cudaHostAlloc") - calls("cudaFreeHost") == before + 8
    del held[4:]
    assert calls("cudaHostAlloc") - calls("cudaFreeHost") == before + 8  # as much as is in use
    del held
    assert calls("cudaHostAlloc") - calls("cudaFreeHost") == before + 4  # 256 MiB
    cuda.empty_cache()


# ------------------------------------------------------------------- other libraries and devices


def captured():
    x, graph = torch.zeros(4, device="cuda"), cuda.CUDAGraph()
    with cuda.graph(graph):
        nn.functional.dropout(x).add_(1)
    graph.replay()
    return graph


def timed():
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    end.record()
    cuda.synchronize()
    return start.elapsed_time(end)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.ones(4, device="cuda"),
        lambda: torch.ones(4).cuda().add_(1).cpu(),
        lambda: torch.ones(4).pin_memory().cuda(non_blocking=True).to("cpu", non_blocking=True),
        lambda: torch.randn(4, 4, device="cuda") @ torch.ones(4, 4, device="cuda"),
        lambda: nn.Linear(3, 3).cuda()(torch.ones(2, 3, device="cuda")).sum().backward(),
        lambda: torch.randperm(5, device="cuda"),
        lambda: torch.ones(4, device="cuda").unique(),
        lambda: cuda.Stream().record_event().synchronize(),
        lambda: cuda.Stream().query(),
        lambda: cuda.current_stream().wait_stream(cuda.Stream()),
        lambda: torch.ones(4, device="cuda").record_stream(cuda.Stream()),
        captured,
        timed,
        cuda.synchronize,
        cuda.mem_get_info,
        cuda.empty_cache,
        cuda.get_device_properties,
        lambda: cuda.is_available() or pytest.fail("not available"),
        lambda: torch.from_dlpack(torch.ones(4, device="cuda")) + 1,
    ],
)
def test_another_library_may_choose_another_device(call):
    set_device(1)
    try:
        call()
        assert current_device() == 1
    finally:
        set_device(0)


def test_what_was_made_there_goes_there():
    x, event, graph = torch.ones(4, device="cuda"), cuda.Stream().record_event(), captured()
    pinned = torch.ones(4).pin_memory()
    set_device(1)
    try:
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            torch.zeros(1, device="cuda:1")
        del x, event, graph, pinned
    finally:
        set_device(0)


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("name", ["None", "1", "side"])
def test_a_consumer_of_dlpack_waits_in_its_stream(copy, name):
    own, side = cuda.Stream(), cuda.Stream()
    stream, number = {
        "None": (cuda.default_stream(), None),
        "1": (cuda.default_stream(), 1),
        "side": (side, side.cuda_stream),
    }[name]
    x = torch.ones(1000, device="cuda")
    with cuda.stream(own):
        y = x + 1
        capsule = y.__dlpack__(stream=number, copy=copy)
    with cuda.stream(stream):
        assert (torch.from_dlpack(capsule) * 2 == 4).all()
    with cuda.stream(side):
        y.add_(1)
        assert (torch.from_dlpack(y) == 3).all()


@pytest.mark.parametrize(
    ("stream", "error", "text"),
    [
        (0, AssertionError, "unsupported stream on CUDA: 0"),
        (2, BufferError, "per-thread default stream is not supported"),
        (12345, RuntimeError, "invalid resource handle"),
        (1.0, TypeError, "stream must be ``int`` or ``none``"),
    ],
)
def test_no_stream_of_dlpack(stream, error, text):
    with pytest.raises(error, match=text):
        torch.ones(2, device="cuda").__dlpack__(stream=stream)


class Foreign:
    """An array of another library, which a stream is still writing."""

    def __init__(self, x, stream):
        self.x = x
        interface = {**x.__cuda_array_interface__, "version": 3}
        self.__cuda_array_interface__ = {**interface, "stream": stream}


def test_the_stream_of_a_cuda_array_is_waited_for():
    x, side = torch.ones(1000, device="cuda"), cuda.Stream()
    with cuda.stream(side):
        y = x + 1
    assert (torch.as_tensor(Foreign(y, side.cuda_stream)) == 2).all()
    for stream in (None, 1, 2):  # none, and the two default streams
        assert (torch.as_tensor(Foreign(y, stream), device="cuda") == 2).all()
    with pytest.raises(ValueError, match="stream 0"):
        torch.as_tensor(Foreign(y, 0))


def test_backward_waits_for_no_capture():
    x, other, graph = torch.ones(3, device="cuda", requires_grad=True), cuda.Stream(), None
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        y = x.detach() * 2
        with cuda.stream(other):  # what another thread does meanwhile
            (x * 3).sum().backward()
            assert x.grad.tolist() == [3, 3, 3]
    graph.replay()
    assert y.tolist() == [2, 2, 2]


# ---------------------------------------------------------------------------------------- forks

FORKS = """
import os
import traceback
import tiny_torch as torch
from tiny_torch import cuda

def in_a_child(body):
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
    else:
        try:
            body()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

def use():
    assert cuda.is_available()
    for call in (
        lambda: torch.zeros(1, device="cuda"),
        lambda: torch.zeros(1).pin_memory(),
        lambda: cuda.Event().record(),
        cuda.Stream,
        cuda.synchronize,
        cuda.mem_get_info,
    ):
        try:
            call()
        except RuntimeError as error:
            assert str(error).startswith("Cannot re-initialize CUDA in forked subprocess"), error
        else:
            raise AssertionError("no error")

def after(first):
    kept = first()
    in_a_child(use)
    torch.ones(2, device="cuda").sum().item()

in_a_child(lambda: torch.zeros(1, device="cuda").item())  # nobody had used it
in_a_child(lambda: after(cuda.is_available))
in_a_child(lambda: after(cuda.device_count))
in_a_child(lambda: after(cuda.get_device_properties))
in_a_child(lambda: after(lambda: cuda.Event().record()))
in_a_child(lambda: after(cuda.Stream))
in_a_child(lambda: after(lambda: torch.zeros(3).pin_memory()))
in_a_child(lambda: after(lambda: torch.zeros(3).cuda()))
print("done")
"""


def test_a_fork_is_seen_whatever_came_before():
    done = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=100
    )
    assert done.stdout == "done\n", done
