"""What a student's code can do to its check: fail, but neither earn a point nor do harm."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from submissions import STRIDES as RIGHT

from tiny_torch.tools.homework import rules, telling
from tiny_torch.tools.homework.task import FOLDER, all_tasks
from tiny_torch.tools.homework.trial import check
from tiny_torch.tools.homework.values import encode

STRIDES = all_tasks()["1.1"]
SOFTMAX = all_tasks()["4.1"]
linux = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")


def failure_of(text: str, task=STRIDES, free: bool = True):
    """`free`: the rules for a file are not asked, only what its process can do."""
    verdict = check(task, text, 0, "tiny_torch.base.arguments" if free else "")
    assert verdict.failure is not None
    return verdict.failure


def test_a_right_file_passes():
    verdict = check(STRIDES, RIGHT, 0)
    assert verdict.failure is None
    assert verdict.right == 13
    assert verdict.missing == []
    assert telling.verdict_lines(verdict).startswith(
        "1.1 The strides of a contiguous array: passed, 13 cases"
    )


def test_the_first_failing_case_is_told():
    verdict = check(STRIDES, RIGHT.replace("max(n, 1)", "n"), 0)
    assert telling.verdict_lines(verdict).splitlines() == [
        "1.1 The strides of a contiguous array: not yet. 1.1_contiguous_strides.py answers "
        "something else",
        "  case 6, an empty dim counts as 1:",
        "    shape = (2, 0, 3)",
        "  item 0 of the result is 0, expected 3",
        "  a size of 0 counts as 1",
        "  got (0, 3, 1)",
        "  expected (3, 3, 1)",
        "  5 simpler cases are right",
    ]


RULES = {
    "import os": "line 1: imports os",
    "from tiny_torch.base.layouts import contiguous_strides": "line 1: imports tiny_torch",
    "x = open('answers')": "line 1: `open` is not for a solution",
    "x = eval('1')": "line 1: `eval` is not for a solution",
    "x = (1).__class__.__bases__": "line 1: `.__bases__` looks into the interpreter",
    "x = (i for i in ()).gi_frame": "line 1: `.gi_frame` looks into the interpreter",
}


@pytest.mark.parametrize("text", RULES)
def test_rules(text):
    failure = failure_of(text + RIGHT, free=False)
    assert failure.kind == "rule"
    assert RULES[text] in failure.text


BEGINNERS = {  # what a file has: the lines that are told
    "def contiguous_strides(shape)\n    return ()": [
        "1.1 The strides of a contiguous array: not yet. 1.1_contiguous_strides.py is no Python",
        "  line 1: expected ':'",
    ],
    "": [
        "1.1 The strides of a contiguous array: not yet. 1.1_contiguous_strides.py cannot be "
        "loaded",
        "  NameError: 1.1_contiguous_strides.py defines no contiguous_strides",
    ],
    "def contiguous_strides(shape):\n    return {1}": [
        "1.1 The strides of a contiguous array: not yet. 1.1_contiguous_strides.py raises an "
        "exception",
        "  case 1, a line:",
        "    shape = (4,)",
        "  TypeError: a set stands where numbers, strings, tuples, lists, dicts or NumPy arrays "
        "are expected",
    ],
    RIGHT.replace("    return", "    if type(shape) is list: shape.clear()\n    return"): [
        "1.1 The strides of a contiguous array: not yet. 1.1_contiguous_strides.py raises an "
        "exception",
        "  case 4, a list:",
        "    shape = [3, 2]",
        "  ValueError: the argument has been changed, from [3, 2] to []",
        "  3 simpler cases are right",
    ],
}


@pytest.mark.parametrize("text", BEGINNERS)
def test_a_beginners_mistake_is_told(text):
    assert telling.verdict_lines(check(STRIDES, text, 0)).splitlines() == BEGINNERS[text]


@linux
def test_a_kernel_of_another_name_is_told():
    task = all_tasks()["4.5"]
    verdict = check(task, task.solution().replace("matmul", "matmult"), 0)
    assert verdict.failure is not None and verdict.failure.kind == "compile"
    assert "`matmul` cannot be called as its contract says: " in verdict.failure.text


def test_an_argument_may_have_pytorchs_name():
    assert rules.first_breach("def unfold(input):\n    return input", ()) == ""


HOSTILE = {  # name: (body of contiguous_strides, kind, words of the failure)
    "prints that it passed": ("print('passed', 13); return None", "wrong", "the result is None"),
    "raises SystemExit": ("raise SystemExit(0)", "raised", "SystemExit"),
    "ends its process": ("import os; os._exit(0)", "crash", "exit code 0"),
    "crashes": ("import ctypes; ctypes.string_at(0)", "crash", "SIGSEGV"),
    "allocates all": ("return [bytes(1 << 40)]", "raised", "MemoryError"),
    "forks": ("import os\n    while True: os.fork()", "raised", "PermissionError"),
    "starts a program": (
        "import subprocess; return subprocess.run(['true'])", "raised", "PermissionError",
    ),
    "reads the answers": (
        f"return open({str(FOLDER / '1_views/1.1_contiguous_strides/answers.py')!r}).read()",
        "raised", "PermissionError",
    ),
    "reads our solution": (
        "import inspect; from tiny_torch.base import layouts;"
        "return inspect.getsource(layouts.packed_strides)", "raised", "OSError",
    ),
    "changes the cases": (
        f"open({str(FOLDER / '1_views/1.1_contiguous_strides/answers.py')!r}, 'w')",
        "raised", "PermissionError",
    ),
    "imports the grader": (
        "from tiny_torch.tools.homework import trial", "raised", "PermissionError",
    ),
    "patches what it can": (
        "import json, sys\n    json.dumps = lambda *x, **y: '{\"value\": \"passed\"}'\n"
        "    return None", "crash", "no answer",
    ),
    "kills the grader": ("import os; os.kill(os.getppid(), 9)", "raised", "PermissionError"),
    "opens a socket": ("import socket; socket.socket()", "raised", "PermissionError"),
    "answers with an object": ("return object()", "raised", "TypeError"),
    "forges an answer": (
        "import os\n    for fd in range(3, 999):\n        try: os.write(fd, b'passed!!' * 99)\n"
        "        except OSError: pass", "crash", "no answer",
    ),
    "answers with a number that is too large": (
        "import os, json\n    text = json.dumps({'dict': [['value', {'array': '', 'dtype': '<f8', "
        "'shape': [10**30]}]]}).encode()\n    for fd in range(3, 99):\n"
        "        try: os.write(fd, len(text).to_bytes(8, 'little') + text)\n"
        "        except OSError: pass", "crash", "no answer: no value",
    ),
    "calls the framework's": (
        "from tiny_torch.base import layouts; return layouts.contiguous_strides(shape)",
        "raised", "RecursionError",
    ),
}  # fmt: skip


@linux
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_code(name):
    body, kind, words = HOSTILE[name]
    before = Path(FOLDER, "1_views/1.1_contiguous_strides/answers.py").read_bytes()
    failure = failure_of(f"def contiguous_strides(shape):\n    {body}\n")
    assert (failure.kind, words in failure.text) == (kind, True), failure
    assert Path(FOLDER, "1_views/1.1_contiguous_strides/answers.py").read_bytes() == before


def test_an_endless_loop_is_ended(monkeypatch):
    monkeypatch.setattr("tiny_torch.tools.homework.trial.CASE", 1)
    failure = failure_of("def contiguous_strides(shape):\n    while True: pass\n", free=False)
    assert (failure.kind, failure.text) == ("time", "no answer within 1 s: does a loop never end?")


FOREVER = """
import os, time
for fd in range(3, 99):
    try: os.write(fd, REPLY)
    except OSError: pass
while True: time.sleep(9)
"""


def test_half_an_answer_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("tiny_torch.tools.homework.trial.START", 9)
    failure = failure_of(FOREVER.replace("REPLY", r"b'\x09\0\0'"))
    assert (failure.kind, failure.text[:20]) == ("time", "no answer within 9 s")


def test_a_forged_beginning_is_no_answer():
    text = encode({"value": 5})
    reply = repr(len(text).to_bytes(8, "little") + text)
    failure = failure_of(FOREVER.replace("REPLY", reply))
    assert (failure.kind, failure.text) == ("crash", "what came back is no answer")


def test_inputs_that_nobody_reads_are_not_waited_for(monkeypatch):
    """The pipe holds 64 KiB; the other end says that all is well, and sleeps."""
    monkeypatch.setattr("tiny_torch.tools.homework.trial.CASE", 2)
    task = all_tasks()["2.2"]
    large = {**dict.fromkeys(("x", "y", "grad"), np.ones(1 << 16)), "needs": (True, True)}
    answers = {"cases": lambda rng: [("large", large)], "answer": lambda **_: None}
    monkeypatch.setattr(type(task), "answers", lambda self: answers)
    text = encode({"value": []})
    reply = repr(len(text).to_bytes(8, "little") + text)
    failure = failure_of(FOREVER.replace("REPLY", reply), task)
    assert (failure.kind, failure.case) == ("time", "large")


def test_what_steers_a_terminal_is_not_shown(monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    text = "def contiguous_strides(shape):\n    print('\\x1b[2J passed')\n"
    said = telling.verdict_lines(check(STRIDES, text, 0))
    assert "it printed: \ufffd[2J passed" in said


def test_an_answer_of_another_kind_that_the_rule_cannot_read():
    """Task 1.2 sorts the places to word its rule."""
    text = "def positions(shape, strides, offset=0):\n    return [None, '', 1]\n"
    failure = failure_of(text, all_tasks()["1.2"], free=False)
    assert (failure.kind, failure.text) == ("wrong", "item 0 of the result is None, expected 0")


def test_much_output_is_cut():
    verdict = check(STRIDES, "def contiguous_strides(shape):\n    print('x' * 10**7)\n", 0)
    assert verdict.failure is not None
    assert len(verdict.printed) <= 1 << 14


KERNEL = """
#include <cmath>
#include <cstdint>
template <class T>
void softmax(const T* x, T* y, int64_t rows, int64_t size) {
  BODY
}
"""
KERNELS = {
    "T sum = 0;\n  for (int64_t i = 0; i <= rows * size; ++i) sum += x[i];\n  y[0] = sum;": (
        "crash", "line 7: heap-buffer-overflow, a read of 4 bytes"
    ),
    "y[-1] = x[0];": ("crash", "line 6: heap-buffer-overflow, a write of 4 bytes"),
    "int n = 1 << 30; n *= int(size + 2); y[0] = n;": ("crash", "line 6: signed integer overflow"),
    "undeclared = 1;": ("compile", "line 6: 'undeclared' was not declared"),
}  # fmt: skip


@linux
@pytest.mark.parametrize("body", KERNELS)
def test_a_kernels_faults_are_told_by_line(body):
    kind, words = KERNELS[body]
    verdict = check(SOFTMAX, KERNEL.replace("BODY", body), 0)
    assert verdict.failure is not None and verdict.failure.kind == kind
    assert words in telling.verdict_lines(verdict).replace("‘", "'").replace("’", "'")


CUDA_FAULTS = {  # (task, mutant): what is told, with the lines of the file
    ("5.1", "one element too many"): (
        "  line 4: kernel axpy, block (0, 0, 0), thread (0, 0, 0): reads 4 bytes of global memory "
        "0 bytes behind a block of 4 bytes",
        "     4 |   for (int i = first; i <= n; i += step) y[i] += a * x[i];",
    ),
    ("5.2", "a barrier that half of the threads miss"): (
        "  line 14: kernel sum_rows, block (0, 0, 0): thread (127, 0, 0) waits in __syncthreads "
        "(line 14), but thread (255, 0, 0) has ended without it",
        "    14 |     __syncthreads();",
    ),
    ("5.5", "no barrier between two uses of the array"): (
        "  line 16: kernel softmax, block (0, 0, 0), thread (1, 0, 0): a race: reads 4 bytes of "
        "shared memory that thread number 0 has written (line 10) with no barrier between",
        "    10 |   values[thread] = value;",
        "    16 |   return values[0];",
    ),
}


@linux
@pytest.mark.parametrize(("number", "name"), CUDA_FAULTS)
def test_a_cuda_kernels_faults_are_told_by_line(number, name):
    task = all_tasks()[number]
    verdict = check(task, task.mutants()[name], 0)
    assert verdict.failure is not None and verdict.failure.kind == "fault"
    said = telling.verdict_lines(verdict).splitlines()
    lines = CUDA_FAULTS[number, name]
    assert "has a fault, which the emulator has seen" in said[0]
    at = said.index(lines[0])
    assert tuple(said[at : at + len(lines)]) == lines


SUM_ROWS = """
__global__ void sum_rows(const float* x, float* y, int size) {
  BODY
}
"""
CUDA_KERNELS = {  # the body of sum_rows: kind, what is told
    "float elsewhere(float); y[0] = elsewhere(x[0]);": ("compile", "undefined reference"),
    "*reinterpret_cast<float*>(1 << 20) = 1;": (
        "fault", "line 3: kernel sum_rows, block (0, 0, 0), thread (0, 0, 0): writes 4 bytes that "
        "are not the device's memory",
    ),
}  # fmt: skip


@linux
@pytest.mark.parametrize("body", CUDA_KERNELS)
def test_a_cuda_kernel_that_goes_wrong(body):
    kind, words = CUDA_KERNELS[body]
    verdict = check(all_tasks()["5.2"], SUM_ROWS.replace("BODY", body), 0)
    assert verdict.failure is not None and verdict.failure.kind == kind
    assert words in telling.verdict_lines(verdict).replace("‘", "'").replace("’", "'")


@linux
def test_a_cuda_kernel_whose_arrays_are_larger_than_its_stack():
    body = "float deep[1 << 20]; for (float& one : deep) one = x[0]; y[0] = deep[size];"
    failure = check(all_tasks()["5.2"], SUM_ROWS.replace("BODY", body), 0).failure
    assert failure is not None
    told = {"crash": "SIGSEGV", "fault": "that are not the device's memory"}  # as memory lies
    assert told[failure.kind] in failure.text


@linux
def test_a_cuda_kernel_without_end_is_ended(monkeypatch):
    monkeypatch.setattr("tiny_torch.tools.homework.trial.CASE", 1)
    body = "for (int i = threadIdx.x; i < size; i -= i % 2) y[0] += x[i];"
    verdict = check(all_tasks()["5.2"], SUM_ROWS.replace("BODY", body), 0)
    assert verdict.failure is not None
    assert verdict.failure.text == "no answer within 1 s: does a loop never end?"


@linux
def test_a_fault_in_a_function_that_is_no_template_is_told_by_line():
    task = all_tasks()["4.5"]
    verdict = check(task, task.mutants()["one product too many"], 0)
    assert "line 8: heap-buffer-overflow, a read of 4 bytes" in telling.verdict_lines(verdict)
