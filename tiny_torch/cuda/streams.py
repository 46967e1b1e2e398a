"""Streams, which do what they are given in order, and events, by which one waits for another.

https://pytorch.org/docs/stable/notes/cuda.html#cuda-streams
"""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn

from tiny_torch.base.devices import DEVICES, has_cuda, side_streams
from tiny_torch.base.devices import device as Device
from tiny_torch.base.modes import Scope
from tiny_torch.cuda import device_management


class Stream(Scope):
    """A queue of the GPU's: what is launched in it is done in order, beside other streams.

    `priority`: 0, or less for a stream that goes first. What one stream makes another may use only
    after `wait_stream` or `wait_event`. RuntimeError in a build without CUDA.
    https://pytorch.org/docs/stable/generated/torch.cuda.Stream.html
    """

    stream_id: int

    def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> Stream:
        if not has_cuda():
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        unknown = kwargs.keys() - {"stream_id", "device_index", "device_type"}
        if unknown:
            raise NotImplementedError(f"Stream({', '.join(sorted(unknown))}=)")
        accelerator = device_management.table()
        device_management.check_index(device_management.index_of(device, optional=True))
        self = super().__new__(cls)
        if "stream_id" in kwargs:
            self.stream_id = kwargs["stream_id"]
        else:
            self.stream_id = accelerator.new_stream(min(priority, 0))
            side_streams.add(self.stream_id)
        return self

    @property
    def device(self) -> Device:
        return DEVICES["cuda"]

    @property
    def device_index(self) -> int:
        return 0

    @property
    def device_type(self) -> int:
        return 1  # PyTorch's number of CUDA

    @property
    def priority(self) -> int:
        return device_management.table().priority_of(self.stream_id)

    @property
    def cuda_stream(self) -> int:
        """The address of the cudaStream_t."""
        return device_management.table().native_stream(self.stream_id)

    def wait_event(self, event: Event) -> None:
        """What the stream is given from now on waits for an event; the caller does not."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """What the stream is given from now on waits for what another has been given so far."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """An event, a new one if none is given, that comes when all so far is done."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all that it was given is done."""
        return device_management.table().query_stream(self.stream_id)

    def synchronize(self) -> None:
        """Waits until all that it was given is done."""
        device_management.table().synchronize_stream(self.stream_id)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version of the protocol, and the address: how other libraries take a stream."""
        return 0, self.cuda_stream

    def current(self) -> Stream:
        return current_stream()

    def begin(self) -> Stream:
        set_stream(self)
        return self

    def restore(self, before: Stream) -> None:
        set_stream(before)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.stream_id == other.stream_id

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library has made: not here."""

    def __new__(cls, stream_ptr: int, device: Any = None, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("ExternalStream: streams of other libraries")


class Event:
    """A mark in a stream, which comes when the stream has done what it was given before.

    `enable_timing` keeps the time for `elapsed_time`; `blocking` lets `synchronize` sleep instead
    of spin. Nothing is made before the first `record`. NotImplementedError for `interprocess` and
    `external`. https://pytorch.org/docs/stable/generated/torch.cuda.Event.html
    """

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        if not has_cuda():
            raise RuntimeError("Tried to instantiate dummy base class Event")
        if interprocess or external:
            raise NotImplementedError(f"Event({'interprocess' if interprocess else 'external'}=)")
        self._enable_timing = enable_timing
        self._blocking = blocking
        self._event = 0  # none before the first record

    @property
    def cuda_event(self) -> int:
        """The number of the device's event; 0 before the first record."""
        return self._event

    @property
    def device(self) -> Device | None:
        return DEVICES["cuda"] if self._event else None

    def record(self, stream: Stream | None = None) -> None:
        """Comes when a stream, the current one if none is given, has done all so far."""
        accelerator = device_management.table()
        stream = current_stream() if stream is None else stream
        if not self._event:
            self._event = accelerator.new_event(self._enable_timing, self._blocking)
            self._release = accelerator.release_event
        accelerator.record(self._event, stream.stream_id)

    def wait(self, stream: Stream | None = None) -> None:
        """What a stream, the current one if none is given, gets from now on waits for this."""
        stream = current_stream() if stream is None else stream
        if self._event:
            device_management.table().wait(stream.stream_id, self._event)

    def query(self) -> bool:
        """Whether it has come; True if it was never recorded."""
        return not self._event or device_management.table().query_event(self._event)

    def synchronize(self) -> None:
        """Waits until it has come."""
        if self._event:
            device_management.table().synchronize_event(self._event)

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this event to another.

        Raises ValueError for events without times or without record, RuntimeError where one has
        not come.
        """
        if not (self._enable_timing and end_event._enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._event and end_event._event):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return device_management.table().milliseconds_between(self._event, end_event._event)

    def ipc_handle(self) -> NoReturn:
        """NotImplementedError: events are not shared between processes here."""
        raise NotImplementedError("Event.ipc_handle")

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> NoReturn:
        """NotImplementedError: events are not shared between processes here."""
        raise NotImplementedError("Event.from_ipc_handle")

    def __del__(self) -> None:
        if getattr(self, "_event", 0):
            self._release(self._event)

    def __repr__(self) -> str:
        return (
            f"<torch.cuda.Event {self._event:#x}>"
            if self._event
            else ("<torch.cuda.Event uninitialized>")
        )


def current_stream(device: Any = None) -> Stream:
    """The stream that the calling thread's launches go to."""
    accelerator = device_management.table()
    if device is not None:
        device_management.check_index(device_management.index_of(device, optional=True))
    return _stream(accelerator.current_stream())


def default_stream(device: Any = None) -> Stream:
    """The stream that launches go to where none was chosen."""
    device_management.table()
    if device is not None:
        device_management.check_index(device_management.index_of(device, optional=True))
    return _stream(0)


def _stream(number: int) -> Stream:
    """The stream of a number, which is there."""
    stream = Scope.__new__(Stream)
    stream.stream_id = number
    return stream


def set_stream(stream: Stream | None) -> None:
    """Makes a stream the calling thread's; None changes nothing."""
    if stream is not None:
        identity = stream.stream_id
        device_management.table().set_stream(identity)


class StreamContext(Scope):
    """`with torch.cuda.stream(s):` makes a stream the thread's; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def current(self) -> Stream | None:
        return (
            current_stream()
            if self.stream is not None and device_management.is_available()
            else None
        )

    def begin(self) -> None:
        if device_management.is_available():
            set_stream(self.stream)

    def restore(self, before: Stream | None) -> None:
        set_stream(before)


def stream(stream: Stream | None) -> StreamContext:
    """Makes a stream the calling thread's for a block.

    https://pytorch.org/docs/stable/generated/torch.cuda.stream.html
    """
    return StreamContext(stream)
