"""The process that runs a student's code: `python -m tiny_torch.homework.worker IN OUT`.

IN and OUT are file descriptors. The first message says what to load, each further one has the
inputs of a call, each answer what the call gave or how it failed. It knows no answers, and once
the student's code is there it can read none.
"""

from __future__ import annotations

import os
import runpy
import select
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from tiny_torch.homework import cuda, sandbox, used
from tiny_torch.homework.task import read_task
from tiny_torch.homework.values import MOST, decoded, encoded


def receive(fd: int, until: float | None = None) -> bytes:
    """A message: its length in 8 bytes, then that many. EOFError where the other end is shut.

    TimeoutError if it has not come by `until`, of time.monotonic.
    """
    size = int.from_bytes(_exactly(fd, 8, until), "little")
    if size > MOST:
        raise ValueError(f"a message of {size} bytes")
    return _exactly(fd, size, until)


def _exactly(fd: int, size: int, until: float | None) -> bytes:
    parts = []
    while size:
        _wait(until, [fd], [])
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def send(fd: int, message: bytes, until: float | None = None) -> None:
    """Writes a message; TimeoutError if nobody reads it by `until`, where `fd` does not block."""
    message = len(message).to_bytes(8, "little") + message
    while message:
        _wait(until, [], [fd])
        message = message[os.write(fd, message) :]


def _wait(until: float | None, readable: list[int], writable: list[int]) -> None:
    if until is not None:
        left = max(until - time.monotonic(), 0)
        if not any(select.select(readable, writable, [], left)):
            raise TimeoutError


def failure(error: BaseException, file: str) -> dict[str, Any]:
    """What a student's code raised, and in which of its lines."""
    frames = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    if isinstance(error, SyntaxError):
        frames.append(error.lineno)
    line = frames[-1] if frames else None
    return {"error": type(error).__name__, "text": str(error)[:2000], "line": line}


def main(source: int, target: int) -> None:
    request = decoded(receive(source))
    task = read_task(Path(request["task"]))
    call = runpy.run_path(str(task.folder / "call.py"))["call"]
    if task.language == "python" and not task.stands_alone:
        task.solution()  # loads its modules while files can be read
    if task.language == "cuda":
        cuda.open_device()
    sandbox.limit(request["seconds"], request["memory"])
    # a sanitizer reads its own process's memory map and the library, to tell a line
    missing = sandbox.shut([Path(np.__file__).parent, Path(request["folder"]), Path("/proc/self")])
    try:
        mine = request["text"]  # a kernel's library
        if task.language == "python":
            mine = used.load(task, request["text"], request["namespace"])
        elif task.language == "cuda":
            mine = cuda.Kernels(mine)
        used.install(task, mine)
    except BaseException as error:  # SystemExit, too
        return send(target, encoded(failure(error, task.file)))
    send(target, encoded({"value": missing}))
    while True:
        inputs = decoded(receive(source))
        try:
            answer = encoded({"value": call(mine, **inputs)})
        except BaseException as error:
            answer = encoded(failure(error, task.file))
        send(target, answer)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
