"""The process that runs a student's code.

The first message says what to load, each further one has the inputs of a call, each answer what the
call gave or how it failed. It is given no right answers, and once the student's code is there it
can read none. Nor can anything be called there that does the task: the framework is not loaded
where call.py does not import it, and where it does, `absent.py` makes raise what does the task.
"""

from __future__ import annotations

import importlib
import os
import select
import time
import traceback
from pathlib import Path
from typing import Any

from tiny_torch.tools.homework import sandbox
from tiny_torch.tools.homework.task import read_task
from tiny_torch.tools.homework.values import MOST, decode, encode

# Run by `python -c`: makes this package known without running tiny_torch/__init__.py. The folder
# that it was started in, in which a student's files may lie, is never looked into for a module.
START = """
import sys
sys.path[:] = [place for place in sys.path if place]
from types import ModuleType
folder, source, target = sys.argv[1:]
for name in ("tiny_torch", "tiny_torch.tools", "tiny_torch.tools.homework"):
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__path__ = [folder + name[len("tiny_torch"):].replace(".", "/")]
from tiny_torch.tools.homework import worker
worker.main(int(source), int(target))
"""


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
    request = decode(receive(source))
    task = read_task(Path(request["task"]))
    load, readable = ours(WAYS[task.language]).open_task(task, request)
    sandbox.limit(request["seconds"], request["memory"])
    missing = sandbox.shut([*readable, Path(request["folder"])])
    try:
        answer = load()
    except BaseException as error:  # SystemExit, too
        return send(target, encode(failure(error, task.file)))
    send(target, encode({"value": missing}))
    while True:
        message = receive(source)
        try:
            reply = answer(message)
        except BaseException as error:
            reply = encode(failure(error, task.file))
        send(target, reply)


# A module's `opened(task, request)`, before files are hidden, gives a function that loads the
# student's code and gives one that answers a message; and the folders that it may read.
WAYS = {"python": "functions", "c++": "library", "cuda": "cuda"}


def ours(name: str) -> Any:
    """A module of this folder: no process has all of them."""
    return importlib.import_module(f"tiny_torch.tools.homework.{name}")


def task_package() -> Path:
    """The folder of tiny_torch."""
    return Path(__file__).parents[2]
