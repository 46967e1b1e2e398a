"""Asks a student's code for its answers, case by case, and compares them with the right ones."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tiny_torch.tools.homework import kernel, rules
from tiny_torch.tools.homework.compare import difference
from tiny_torch.tools.homework.task import Task
from tiny_torch.tools.homework.values import decode, encode
from tiny_torch.tools.homework.worker import START as STARTER
from tiny_torch.tools.homework.worker import receive, send, task_package

START = 60  # seconds until the process has loaded the framework and the file
CASE = 10  # seconds of a case
TOTAL = 120  # of processor time
MEMORY = 2 << 30  # bytes above what the framework takes
KEPT = 1 << 14  # bytes of what the code prints
# variables of the environment that a student's process has, too
NEEDED = re.compile(
    r"PATH|LANG|LC_\w+|TZ|TMPDIR|SYSTEMROOT|(?:DY)?LD_LIBRARY_PATH|"
    r"(?:OMP|GOMP|OPENBLAS|MKL|TINY_TORCH)_\w+"
)


class Failure(NamedTuple):
    """Why a file does not pass, and where it first did not."""

    kind: str  # one of telling.HEADS
    text: str
    case: str = ""
    inputs: dict[str, Any] | None = None
    got: Any = None
    expected: Any = None
    line: int | None = None  # of the student's file


class Verdict(NamedTuple):
    """What a check has found."""

    task: Task
    right: int  # cases
    failure: Failure | None
    printed: str  # the end of what the code printed
    missing: list[str]  # what the sandbox of this system lacks, or its compiler
    seconds: float
    seed: int  # of the cases


class Failed(Exception):
    """The check ends with this failure."""

    def __init__(self, kind: str, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.failure = Failure(kind, text, line=line)


def check(task: Task, text: str, seed: int | None = None, namespace: str = "") -> Verdict:
    """Runs the cases of `seed`, or of a new one, until one fails.

    `namespace` names the module whose globals our own solution uses; rules do not bind it.
    """
    seed = secrets.randbits(63) if seed is None else seed
    start, right, failure, worker = time.monotonic(), 0, None, None
    printed, missing = "", list[str]()
    with tempfile.TemporaryDirectory(prefix="homework-") as place:
        file = Path(place) / task.file
        try:
            code = prepare(task, text, file, bound=not namespace)
            with Worker(task, file.parent, seed) as worker:
                worker.begin(code, namespace)
                right, failure = run_cases(task, worker, seed)
            if failure is None and task.language == "c++" and "counted" in task.answers():
                failure = other_way(task, text, file.parent, seed)
                if failure is not None and not counts(task, file.parent, seed):
                    failure, missing = None, ["with this compiler nobody can tell a kernel's way"]
        except kernel.Refused as error:
            failure = Failure("compile", str(error), line=error.line)
        except Failed as error:
            failure = error.failure
        if worker is not None:
            printed = kernel.with_lines(worker.read_output(), file.with_suffix(".so"))
        if failure is not None and failure.kind == "fault":
            said, line = kernel.with_source(failure.text, file.with_suffix(".so"), task.file, text)
            failure = failure._replace(text=said, line=line)
    missing += worker.missing if worker else []
    return Verdict(task, right, failure, printed, missing, time.monotonic() - start, seed)


def other_way(task: Task, text: str, folder: Path, seed: int) -> Failure | None:
    """What a kernel takes of memory, where a task's results cannot tell the way that it goes:
    `too_much` of answers.py judges the bytes of one more call, `counted`."""
    answers = task.answers()
    file = folder / f"counted_{task.file}"
    file.write_text(text, encoding="utf-8", newline="")
    try:
        library = kernel.build_counted(task, file)
    except kernel.Refused as error:
        return Failure("compile", str(error), line=error.line)
    with Worker(task, folder, seed) as worker:
        worker.begin(str(library), "")
        inputs = answers["counted"](np.random.default_rng(seed))
        compiled = Compiled(task, worker)
        failure = judge(answers, "its accesses are counted", inputs, compiled.call, task)
        if failure is None:
            told = answers["too_much"](compiled.count("bytes_of_memory"), **inputs)
            failure = Failure("way", told) if told else None
    return failure


def counts(task: Task, folder: Path, seed: int) -> bool:
    """Whether this compiler makes of our solution what it should: another may keep less of it in
    registers, or not know the options that make it count."""
    failure = other_way(task, task.solution_text, folder, seed)
    if failure is not None and failure.kind == "compile":
        return not re.search("option|argument", failure.text)
    return failure is None or failure.kind != "way"


def prepare(task: Task, text: str, file: Path, bound: bool) -> str:
    """What the process loads: the text itself, or the path of the library compiled from it."""
    try:
        broken = rules.broken_by(text, task.language, task.imports) if bound else ""
    except SyntaxError as error:
        raise Failed("syntax", str(error.msg), error.lineno) from None
    if broken:
        raise Failed("rule", broken)
    if task.language == "python":
        return text
    file.write_text(text, encoding="utf-8", newline="")
    return str(kernel.build(task, file))


def run_cases(task: Task, worker: Worker, seed: int) -> tuple[int, Failure | None]:
    """How many cases are right before the first that is not."""
    answers, right = task.answers(), 0
    call = worker.call if task.language == "python" else Compiled(task, worker).call
    for case, inputs in answers["cases"](np.random.default_rng(seed)):
        failure = judge(answers, case, inputs, call, task)
        if failure is not None:
            return right, failure
        right += 1
    return right, None


def judge(
    answers: dict[str, Any],
    case: str,
    inputs: dict[str, Any],
    call: Callable[[dict[str, Any]], dict[str, Any]],
    task: Task,
) -> Failure | None:
    """None if the student's answer is the right one."""
    try:
        reply = call(inputs)
    except Failed as error:
        return error.failure._replace(case=case, inputs=inputs)
    try:
        expected = answers["answer"](**inputs)
    except Exception as error:  # the right answer is to refuse
        expected = type(error).__name__
        if reply.get("error") == expected:
            return None
        got = reply.get("error", reply.get("value"))
        text = f"expected {expected}: {error}"
        return Failure("wrong", text, case, inputs, got, expected, reply.get("line"))
    if "error" in reply:
        kind, text = "raised", f"{reply['error']}: {reply['text']}"
        if task.language == "cuda":
            kind, text = "fault", reply["text"]
        return Failure(kind, text, case, inputs, None, expected, reply["line"])
    try:
        text = difference(reply["value"], expected, answers.get("TOLERANCE", 0.0))
    except Exception as error:  # an answer may be anything
        text = f"the result cannot be compared with the right one: {type(error).__name__}"
        return Failure("wrong", text, case, inputs, None, expected)
    if not text:
        return None
    why = ""
    with contextlib.suppress(Exception):  # words for an answer that may be anything
        why = answers.get("why", lambda **_: "")(got=reply["value"], expected=expected, **inputs)
    text = f"{text}\n{why}" if why else text
    return Failure("wrong", text, case, inputs, reply["value"], expected)


def environment(task: Task, seed: int) -> dict[str, str]:
    """Nothing of ours but what a process needs: no secrets, nothing that leads Python to modules.
    Sets are in the same order for a seed."""
    ours = {name: x for name, x in os.environ.items() if NEEDED.fullmatch(name)}
    order = np.random.default_rng(seed).integers(1 << 32)
    fixed = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": str(order)}
    return {**ours, **kernel.environment(task), **fixed}


class Replied(Exception):
    """What a kernel's process has told in place of results."""

    def __init__(self, reply: dict[str, Any]) -> None:
        self.reply = reply


class Compiled:
    """A task's call.py over a student's kernels, whose process has their arrays alone.

    It is `student` there: called with what a function of the library takes, it answers the arrays
    among these as they are afterwards.
    """

    def __init__(self, task: Task, worker: Worker) -> None:
        self._worker, self._call = worker, task.call()
        self._counts: dict[str, float] = {}
        self._asked = False

    def call(self, inputs: dict[str, Any]) -> dict[str, Any]:
        self._asked = False
        try:
            value = self._call(self, **deep_copy(inputs))
        except Replied as error:
            return error.reply
        if not self._asked:
            raise ValueError("call.py answers without the student's kernel")
        return {"value": value}

    def __call__(self, *arguments: Any) -> list[np.ndarray]:
        self._asked = True
        reply = self._worker.ask(encode(list(arguments)), CASE)
        if "error" in reply:
            raise Replied(reply)
        try:
            arrays, counts = reply["value"]["arrays"], reply["value"]["counts"]
            sent = [x for x in arguments if isinstance(x, np.ndarray)]
            fits = [(x.shape, x.dtype) for x in sent] == [(x.shape, x.dtype) for x in arrays]
            fits = fits and all(isinstance(count, int | float) for count in counts.values())
            self._counts = counts
        except Exception:  # it may be anything
            fits = False
        if not fits:
            raise Failed("crash", "what came back is no answer")
        return arrays

    def count(self, name: str) -> float:
        """What the last call did, as 5_cuda/glue.h or 4_kernels/counts.cpp counts it."""
        return self._counts[name]


def deep_copy(value: Any) -> Any:
    """Without arrays in common: call.py may write into what it is given."""
    return decode(encode(value))


class Worker:
    """A process with a student's code, in a session of its own so that all of it can be ended."""

    def __init__(self, task: Task, folder: Path, seed: int) -> None:
        self.task, self.folder = task, folder
        self.missing: list[str] = []
        theirs, self._to = os.pipe()
        os.set_blocking(self._to, False)
        self._from, to_us = os.pipe()
        # -u: what it has printed is there when it is ended; -s: no modules of a user's own
        isolated = [sys.executable, "-u", "-s", "-c", STARTER, str(task_package())]
        self._process = subprocess.Popen(
            [*isolated, str(theirs), str(to_us)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(theirs, to_us),
            start_new_session=True,
            env=environment(task, seed),
        )
        os.close(theirs)
        os.close(to_us)
        self._printed = bytearray()
        self._reader = threading.Thread(target=self._keep, daemon=True)
        self._reader.start()

    def _keep(self) -> None:
        assert self._process.stdout is not None
        while part := os.read(self._process.stdout.fileno(), 1 << 16):
            self._printed += part
            del self._printed[:-KEPT]

    @property
    def process(self) -> int:
        return self._process.pid

    def read_output(self) -> str:
        return self._printed.decode(errors="replace")

    def begin(self, text: str, namespace: str) -> None:
        """Loads the student's code. Raises Failed if that fails."""
        request = {
            "task": str(self.task.folder), "folder": str(self.folder), "text": text,
            "namespace": namespace, "seconds": TOTAL, "memory": kernel.memory(self.task, MEMORY),
        }  # fmt: skip
        reply = self.ask(encode(request), START)
        if "error" in reply:
            raise Failed("load", f"{reply['error']}: {reply['text']}", reply["line"])
        if not isinstance(reply["value"], list):
            raise Failed("crash", "what came back is no answer")
        self.missing = [str(x) for x in reply["value"]]

    def call(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What a Python task's `call` has answered, or raised."""
        return self.ask(encode(inputs), CASE)

    def ask(self, message: bytes, seconds: float) -> dict[str, Any]:
        """The answer, whose parts may be anything; Failed if there is none in time."""
        try:
            until = time.monotonic() + seconds
            send(self._to, message, until)
            reply = decode(receive(self._from, until))
        except TimeoutError:
            raise Failed("time", f"no answer within {seconds} s: does a loop never end?") from None
        except (EOFError, BrokenPipeError):
            raise Failed("crash", self._end()) from None
        except ValueError as error:
            raise Failed("crash", f"what came back is no answer: {error}") from None
        if not isinstance(reply, dict) or not reply.keys() & {"value", "error"}:
            raise Failed("crash", "what came back is no answer")
        if "error" in reply:
            line = reply.get("line")
            return {
                "error": str(reply["error"]),
                "text": str(reply.get("text", "")),
                "line": line if isinstance(line, int) else None,
            }
        return reply

    def _end(self) -> str:
        try:
            code = self._process.wait(2)
        except subprocess.TimeoutExpired:
            return "the process closed its answers"
        self._reader.join(2)
        if code >= 0:
            return f"the code ended its process, with exit code {code}"
        name = signal.Signals(-code).name
        if name == "SIGXCPU":
            return f"the code took more than {TOTAL} s of processor time"
        return f"the code crashed: {name}"

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exception: Any) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(2)
        for fd in (self._to, self._from):
            os.close(fd)
