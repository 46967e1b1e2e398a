"""Runs a function in n processes at once, each a rank, with a time limit that a hang meets."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import tempfile
import time
import traceback
from datetime import timedelta

import tiny_torch as torch

SECONDS = 40  # for all ranks; a hang is a failure, not a wait
TIMEOUT = timedelta(seconds=20)  # of the collectives


def call(function, rank, n, folder, timeout, pipe, args, backend):
    dist = torch.distributed
    gc.freeze()  # the objects of all tests before are no business of a rank's collector
    try:
        if timeout is not None:
            url = f"file://{folder}/store"
            dist.init_process_group(backend, url, rank=rank, world_size=n, timeout=TIMEOUT)
            dist.group.WORLD.set_timeout(timeout)  # a busy machine starts processes slowly
        pipe.send(("ok", function(rank, n, *args)))
        if dist.is_initialized():
            dist.destroy_process_group()
    except BaseException as error:
        pipe.send((type(error).__name__, f"{error}\n{traceback.format_exc()}"))
    finally:
        pipe.close()
        os._exit(0)


def outcomes(function, n, *args, timeout=TIMEOUT, seconds=SECONDS, backend="gloo"):
    """What each rank did: ("ok", value) or (its exception's name, text); ("died", ...) if killed.

    timeout=None leaves init_process_group to them.
    """
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        ends, processes = [], []
        for rank in range(n):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(
                target=call, args=(function, rank, n, folder, timeout, theirs, args, backend)
            )
            process.start()
            theirs.close()
            ends.append(ours)
            processes.append(process)
        try:
            deadline = time.monotonic() + seconds
            found = []
            for rank, end in enumerate(ends):
                if not end.poll(max(deadline - time.monotonic(), 0)):
                    raise TimeoutError(f"rank {rank} of {n} said nothing in {seconds} s: {found}")
                try:
                    found.append(end.recv())
                except EOFError:
                    processes[rank].join(5)
                    found.append(("died", processes[rank].exitcode))
            return found
        finally:
            for process in processes:
                if process.is_alive():
                    process.join(2)
                if process.is_alive():
                    os.kill(process.pid, signal.SIGKILL)
                process.join()


def values(function, n, *args, **options):
    """What the function returned at each rank; fails with the first traceback if one raised."""
    found = outcomes(function, n, *args, **options)
    for rank, (kind, value) in enumerate(found):
        assert kind == "ok", f"rank {rank}: {kind}: {value}"
    return [value for _, value in found]
