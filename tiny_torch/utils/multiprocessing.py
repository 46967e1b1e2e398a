"""`torch.multiprocessing`: Python's multiprocessing, where tensors on the CPU travel by reference.

A tensor that goes through a queue or pipe, or to a process that starts, is moved into shared memory
(`share_memory_`), and the other side looks at the same memory: what one writes, the other reads.
The memory is an open file without a name, so nothing is left behind however a process ends. The
sender must live until the tensor has been taken, as in PyTorch; a child that ends waits for that
some seconds. A tensor on a GPU, or one for whose memory the system gave no file, is copied.
https://pytorch.org/docs/stable/multiprocessing.html
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import resource
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing import resource_sharer, util
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.nn import Parameter
from tiny_torch.tensor import wrap

SECONDS_TO_TAKE = 10
# Held while the socket at which others take tensors is made; a handler may send, too.
making = threading.RLock()
NON_LEAF = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not "
    "support crossing process boundaries.  If you just want to transfer the data, call detach() on "
    "the tensor before serializing (e.g., putting it on the queue)."
)

# ---------------------------------------------------------------------------------------- tensors


def reduce_tensor(tensor: torch.Tensor) -> Any:
    """How a tensor is pickled for another process: its memory's file and how to look at it."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(NON_LEAF)
    array = tensor.array
    if tensor.is_cpu:
        array.share_memory()
    if not tensor.is_cpu or array.shared_file() < 0:
        return tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    with making:
        file = DupFd(array.shared_file())
        stay_reachable()
    layout = array.dtype, array.shape, array.strides, array.offset
    size = array.storage_nbytes
    return rebuild_tensor, (type(tensor), file, size, layout, tensor.requires_grad)


def rebuild_tensor(kind: type, file: Any, size: int, layout: tuple, requires_grad: bool) -> Any:
    """The tensor of `reduce_tensor` on the other side."""
    opened = file.detach()
    try:
        array = _core.map_file(opened, max(size, 1), keep=True)
    finally:
        os.close(opened)
    dtype, shape, strides, offset = layout
    tensor = wrap(array.reinterpret(dtype, shape, strides, offset))
    if kind is Parameter:
        return Parameter(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


for _kind in (torch.Tensor, Parameter):
    ForkingPickler.register(_kind, reduce_tensor)


def stay_reachable() -> None:
    """Keeps the socket at which others take what was sent: Python unlinks it as a process begins to
    end (0), while its queues are still sending (-5) and others still take (-10)."""
    listener = resource_sharer._resource_sharer._listener  # type: ignore[attr-defined]
    if listener is None:  # a process is being started, which inherits the file
        return
    socket = listener._listener
    unlink = socket._unlink
    if unlink is not None and unlink._key[0] == 0:
        unlink.cancel()
        socket._unlink = util.Finalize(socket, os.unlink, (socket._address,), exitpriority=-20)


def wait_until_taken() -> None:
    """In a child: waits until others have taken what it sent, for SECONDS_TO_TAKE at most."""
    if multiprocessing.parent_process() is None:
        return
    end = time.monotonic() + SECONDS_TO_TAKE
    sent = resource_sharer._resource_sharer._cache  # type: ignore[attr-defined]
    while sent and time.monotonic() < end:
        time.sleep(0.001)
    with contextlib.suppress(FileNotFoundError):  # no tensor was sent: Python has unlinked it
        resource_sharer.stop(max(0, end - time.monotonic()))  # when what is being sent has been


def wait_for_the_socket(again: bool = True) -> None:
    """Waits until the socket that a queue's thread makes stays reachable. Python ends a process in
    two rounds, the first down to priority 0; each takes the list of what it ends at its start."""
    with making:
        if again:
            util.Finalize(None, wait_for_the_socket, (False,), exitpriority=1)


def wait_at_the_end(_: Any = None) -> None:
    """Lets this process wait when it ends: before its socket is unlinked (0), and after its queues
    have sent everything (-5)."""
    global making
    making = threading.RLock()  # a fork may have found it held
    util.Finalize(None, wait_for_the_socket, exitpriority=1)
    util.Finalize(None, wait_until_taken, exitpriority=-10)


wait_at_the_end()
util.register_after_fork(wait_at_the_end, wait_at_the_end)


STRATEGIES = {"file_descriptor", "file_system"}
strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """{"file_descriptor", "file_system"}"""
    return set(STRATEGIES)


def get_sharing_strategy() -> str:
    """The one that `set_sharing_strategy` has set; "file_descriptor" at first."""
    return strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Sets "file_descriptor", or "file_system" for many tensors; AssertionError for others.

    Both share memory through open files without names, so that none is left behind. For
    "file_system" this process, and those that it starts, may have as many of them open as the
    system allows (`ulimit -Hn`).
    https://pytorch.org/docs/stable/multiprocessing.html#sharing-strategies
    """
    global strategy
    if new_strategy not in STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy '{new_strategy}', expected one of {sorted(STRATEGIES)}"
        )
    strategy = new_strategy
    if new_strategy == "file_system":
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


# -------------------------------------------------------------------------------------- processes


class ProcessException(Exception):
    """A process of `spawn` failed: which of them, its id, and why."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid


class ProcessRaisedException(ProcessException):
    """It raised; the message holds its traceback."""


class ProcessExitedException(ProcessException):
    """It ended with a code other than 0, or by a signal."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


class ProcessContext:
    """The processes that `spawn(join=False)` and `start_processes` have started."""

    def __init__(self, processes: list[Any], error_files: list[str], folder: Any = None) -> None:
        self.processes, self.error_files, self._folder = processes, error_files, folder
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The processes' ids."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until one ends or all have; True if none runs any more.

        Where one fails, the others get `grace_period` seconds and are then ended: raises
        ProcessRaisedException with its traceback, or ProcessExitedException.
        """
        if not self.sentinels:
            return True
        for sentinel in multiprocessing.connection.wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                self._end_all(grace_period)
                raise self._failure(index)
        return not self.sentinels

    def _end_all(self, grace_period: float | None) -> None:
        wait_for(self.processes, grace_period or 0)
        for end in (multiprocessing.Process.terminate, multiprocessing.Process.kill):
            for process in self.processes:
                if process.is_alive():
                    end(process)
            wait_for(self.processes, 30)

    def _failure(self, index: int) -> ProcessException:
        process = self.processes[index]
        with contextlib.suppress(OSError), open(self.error_files[index]) as file:
            text = f"\n\n-- Process {index} terminated with the following error:\n{file.read()}"
            return ProcessRaisedException(text, index, process.pid)
        code = process.exitcode
        if code >= 0:
            text = f"process {index} terminated with exit code {code}"
            return ProcessExitedException(text, index, process.pid, code)
        name = signal.Signals(-code).name
        text = f"process {index} terminated with signal {name}"
        return ProcessExitedException(text, index, process.pid, code, name)


def wait_for(processes: list[Any], seconds: float) -> None:
    """Joins processes for this long altogether."""
    end = time.monotonic() + seconds
    for process in processes:
        process.join(max(0, end - time.monotonic()))


def call(fn: Callable[..., Any], index: int, args: tuple, error_file: str) -> None:
    """What a process of `spawn` runs: fn(index, *args), whose traceback goes to a file."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        with open(error_file, "w") as file:
            file.write(traceback.format_exc())
        raise SystemExit(1) from None


def start_processes(
    fn: Callable[..., Any],
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """As `spawn`, by another start method: "fork", "spawn" or "forkserver"."""
    context: Any = multiprocessing.get_context(start_method)
    folder = tempfile.TemporaryDirectory(prefix="tiny_torch_errors")  # removed with the context
    files = [os.path.join(folder.name, str(i)) for i in range(nprocs)]
    processes = [
        context.Process(target=call, args=(fn, i, args, files[i]), daemon=daemon)
        for i in range(nprocs)
    ]
    for process in processes:
        process.start()
    started = ProcessContext(processes, files, folder)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Runs fn(i, *args) in `nprocs` processes, i from 0, and waits for them.

    With join=False, answers their ProcessContext at once. `fn` must be found by name in a new
    process. Where one fails, the others are ended, and ProcessRaisedException or
    ProcessExitedException says how.
    https://pytorch.org/docs/stable/multiprocessing.html#torch.multiprocessing.spawn.spawn
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)


__all__ = [
    *multiprocessing.__all__,
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn",
    "start_processes",
]  # fmt: skip
