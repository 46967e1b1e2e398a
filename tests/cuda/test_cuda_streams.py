"""Streams and events: what is done in order, and what only after a wait."""

from __future__ import annotations

import os
import threading

import pytest

import tiny_torch as torch
from tiny_torch import cuda

emulated = pytest.mark.skipif(
    os.environ.get("TINY_TORCH_CUDA") != "emulated", reason="only the emulator waits so long"
)


@pytest.fixture(autouse=True)
def default_stream():
    yield
    cuda.synchronize()
    assert cuda.current_stream() == cuda.default_stream()


def test_the_default_stream():
    stream = cuda.current_stream()
    assert stream == cuda.default_stream() and stream.cuda_stream == 0
    assert repr(stream) == "<torch.cuda.Stream device=cuda:0 cuda_stream=0x0>"
    assert (stream.device, stream.device_index, stream.device_type) == (
        torch.device("cuda:0"),
        0,
        1,
    )
    assert stream.priority == 0 and stream.query() and stream.__cuda_stream__() == (0, 0)
    assert hash(stream) == hash(cuda.default_stream(0)) and stream != 0


def test_a_stream_is_current_for_a_block_and_a_thread():
    one, other = cuda.Stream(), cuda.Stream(priority=-1)
    assert one != other and one.cuda_stream != other.cuda_stream
    assert other.priority <= -1 and cuda.Stream("cuda").device.index == 0
    with cuda.stream(one):
        assert cuda.current_stream() == one
        with other:
            assert cuda.current_stream("cuda:0") == other
        with cuda.stream(None):
            assert cuda.current_stream() == one
        elsewhere = []
        thread = threading.Thread(target=lambda: elsewhere.append(cuda.current_stream()))
        thread.start()
        thread.join()
        assert elsewhere == [cuda.default_stream()]
    cuda.set_stream(other)
    assert cuda.current_stream() == other
    cuda.set_stream(cuda.default_stream())
    cuda.set_stream(None)


def test_an_exception_leaves_the_stream():
    with pytest.raises(KeyError), cuda.stream(cuda.Stream()):
        raise KeyError


@emulated
def test_a_forgotten_wait_shows():
    x, side = torch.ones(1000, device="cuda"), cuda.Stream()
    with cuda.stream(side):
        y = x + 1
    assert not (y * 2 == 4).all()  # y was not yet written
    cuda.current_stream().wait_stream(side)
    assert (y * 2 == 4).all()


def test_streams_wait_for_each_other():
    x, one, two = torch.ones(100, device="cuda"), cuda.Stream(), cuda.Stream()
    with cuda.stream(one):
        y = x + 1
    two.wait_stream(one)
    with cuda.stream(two):
        z = y * 3
        z.record_stream(cuda.default_stream())
    cuda.current_stream().wait_stream(two)
    assert z.sum().item() == 600


def test_a_backward_waits_for_its_forward():
    x, side = torch.ones(100, device="cuda", requires_grad=True), cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        y = (x * 3).square()
    y.sum().backward()  # sum runs in the default stream, too early; its gradient is 1 all the same
    assert (x.grad == 18).all()


def test_synchronising_a_stream():
    x, side = torch.ones(100, device="cuda"), cuda.Stream()
    with cuda.stream(side):
        y = x.cumsum(0)
    side.synchronize()
    assert side.query() and y[-1].item() == 100


def test_what_is_read_waits_for_the_current_stream():
    with cuda.stream(cuda.Stream()):
        assert torch.arange(100, device="cuda").sum().item() == 4950
        assert torch.arange(3, device="cuda").tolist() == [0, 1, 2]


# -------------------------------------------------------------------------------------- events


def test_an_event_before_its_record():
    event = cuda.Event()
    assert repr(event) == "<torch.cuda.Event uninitialized>" and event.cuda_event == 0
    assert event.query() and event.device is None
    event.wait()
    event.synchronize()
    event.record()
    assert repr(event).startswith("<torch.cuda.Event 0x") and event.device == torch.device("cuda:0")


def test_events_order_streams():
    x, side = torch.zeros(100, device="cuda"), cuda.Stream()
    with cuda.stream(side):
        x.add_(1)
        between = side.record_event()
        x.add_(1)
    between.synchronize()
    assert between.query()
    after = side.record_event(cuda.Event())
    cuda.current_stream().wait_event(after)
    assert (x == 2).all()


def test_the_time_between_events():
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(end)
    start.record()
    torch.ones(100, device="cuda").sum()
    end.record(cuda.current_stream())
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(cuda.Event())


@emulated
def test_the_time_of_an_event_that_has_not_come():
    start, end, side = cuda.Event(True), cuda.Event(True), cuda.Stream()
    start.record()
    with cuda.stream(side):
        torch.ones(10, device="cuda").add_(1)
        end.record()
    with pytest.raises(RuntimeError, match="must be completed"):
        start.elapsed_time(end)
    side.synchronize()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: cuda.Event(interprocess=True), "interprocess"),
        (lambda: cuda.Event(external=True), "external"),
        (lambda: cuda.Event().ipc_handle(), "ipc_handle"),
        (lambda: cuda.Event.from_ipc_handle("cuda", b""), "from_ipc_handle"),
        (lambda: cuda.ExternalStream(1), "ExternalStream"),
        (lambda: cuda.Stream(stream_ptr=3), "stream_ptr"),
    ],
)
def test_what_is_not_here_is_named(call, text):
    with pytest.raises(NotImplementedError, match=text):
        call()


# ------------------------------------------------------------------------------- pinned copies


def test_pinned_memory():
    x = torch.arange(6.0).view(2, 3)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned() and torch.equal(pinned, x)
    assert pinned.pin_memory() is pinned and pinned.device.type == "cpu"
    assert pinned[1:].is_pinned() and pinned.t().pin_memory().is_pinned()
    assert pinned.untyped_storage().is_pinned() and not pinned.clone().is_pinned()
    assert x.t().pin_memory().stride() == (1, 3)
    with pytest.raises(RuntimeError, match=r"cannot pin 'torch.cuda.FloatTensor' only dense CPU"):
        x.cuda().pin_memory()


@pytest.mark.parametrize(
    "make",
    [
        lambda **o: torch.empty(2, 3, **o),
        lambda **o: torch.zeros(2, **o),
        lambda **o: torch.full((2,), 7, **o),
        lambda **o: torch.tensor([1, 2], **o),
        lambda **o: torch.arange(3, **o),
        lambda **o: torch.linspace(0, 1, 3, **o),
        lambda **o: torch.eye(3, **o),
        lambda **o: torch.randn(3, **o),
        lambda **o: torch.randperm(3, **o),
        lambda **o: torch.zeros_like(torch.ones(2), **o),
        lambda **o: torch.empty_strided((2, 2), (1, 2), **o),
        lambda **o: torch.tril_indices(2, 2, **o),
        lambda **o: torch.ones(2).new_zeros(2, **o),
        lambda **o: torch.empty(1, 2, 3, 4, memory_format=torch.channels_last, **o),
    ],
)
def test_tensors_are_made_in_pinned_memory(make):
    assert make(pin_memory=True).is_pinned() and not make().is_pinned()


def test_copies_that_nobody_waits_for():
    x = torch.arange(1000.0).pin_memory()
    there = x.to("cuda", non_blocking=True)
    assert there.device == torch.device("cuda:0")
    back = (there + 1).to("cpu", non_blocking=True)
    assert back.is_pinned()
    cuda.synchronize()
    assert torch.equal(back, torch.arange(1000.0) + 1)
    there.copy_(back, non_blocking=True)
    half = there.to("cpu", torch.float16, non_blocking=True)
    x.copy_(there, non_blocking=True)
    cuda.synchronize()
    assert torch.equal(x, back) and torch.equal(half, back.half())
    assert x.cuda(non_blocking=True).is_cuda and x.cuda(0, True).is_cuda


@emulated
def test_a_copy_that_was_not_waited_for_shows():
    x, side = torch.ones(1000, device="cuda"), cuda.Stream()
    with cuda.stream(side):
        back = x.to("cpu", non_blocking=True)
    assert not (back == 1).all()
    side.synchronize()
    assert (back == 1).all()


def test_pinned_memory_may_be_dropped_before_its_copy_is_done():
    side = cuda.Stream()
    with cuda.stream(side):
        there = [
            torch.full((1000,), float(i)).pin_memory().cuda(non_blocking=True) for i in range(5)
        ]
    side.synchronize()
    assert [x.mean().item() for x in there] == [0, 1, 2, 3, 4]


def test_what_cannot_be_copied_at_once_is_waited_for():
    x = torch.arange(6.0).view(2, 3)
    assert x.t()[1:].cuda(non_blocking=True).tolist() == x.t()[1:].tolist()  # not dense
    out = torch.zeros(2, 3).pin_memory()
    out.copy_(x.cuda().double(), non_blocking=True)  # another dtype
    assert torch.equal(out, x)
    grad = x.clone().requires_grad_()
    (grad.to("cuda", non_blocking=True) * 2).sum().backward()
    assert grad.grad.tolist() == [[2.0] * 3] * 2 and grad.grad.device.type == "cpu"
