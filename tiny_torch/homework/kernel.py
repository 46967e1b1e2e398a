"""Compiles a student's kernel, with AddressSanitizer and UBSan unless its speed is asked for."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from tiny_torch.homework.task import FOLDER, Task

SOURCES = Path(__file__).parents[2] / "src"
HEADERS = SOURCES if SOURCES.is_dir() else Path(__file__).parent / "include"
SECONDS = 60
# a file may make the compiler work without end: seconds, KiB of memory, blocks of 512 bytes
BOUNDED = (
    f'{{ ulimit -t {SECONDS}; ulimit -v {4 << 20}; ulimit -f {1 << 19}; }} 2>/dev/null; exec "$@"'
)
# DWARF 4: addr2line takes the names of files from tables of version 5 wrongly
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
CHECKED = ("-O1", "-gdwarf-4", "-DCHECKED", *SANITIZED)
FAST = ("-O3", "-march=native")


class Refused(Exception):
    """The compiler's first error, and its line in the student's file."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


def compiler() -> str:
    """The C++ compiler's path. Refused where there is none."""
    found = shutil.which(os.environ.get("CXX", "g++")) or shutil.which("c++")
    if found is None:
        raise Refused("no C++ compiler: install one (on Debian, apt install g++), or set CXX")
    return found


def build(task: Task, path: Path, flags: tuple[str, ...] = CHECKED) -> Path:
    """The library of a student's file and of the task's glue, which gives it to the framework.

    Raises Refused with what the compiler says.
    """
    library = path.with_suffix(".so")
    command = [
        "sh", "-c", BOUNDED, "sh",
        compiler(), "-std=c++17", "-shared", "-fPIC", "-fopenmp", "-Wall", *flags,
        f'-DSTUDENT="{path.name}"', "-I", str(path.parent), "-I", str(HEADERS), "-I", str(FOLDER),
        "-o", str(library), str(task.folder / "glue.cpp"),
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Refused(f"the compiler did not end within {SECONDS} s") from None
    if done.returncode:
        found = re.search(rf"{re.escape(path.name)}:(\d+):\d+: (?:fatal )?error: (.*)", done.stderr)
        if found:
            raise Refused(found[2], int(found[1]))
        found = re.search(r"glue\.cpp:\d+:\d+: (?:fatal )?error: (.*)", done.stderr)
        if found:  # where the task calls what the file is to define
            raise Refused(f"`{task.symbol}` cannot be called as its contract says: {found[1]}")
        raise Refused(done.stderr.strip()[-2000:])
    return library


def with_lines(printed: str, library: Path) -> str:
    """A sanitizer's report with lines of the source for places in the library.

    It cannot read them itself: the process that it runs in reads no files.
    """
    places = list(dict.fromkeys(re.findall(rf"{re.escape(str(library))}\+(0x[0-9a-f]+)", printed)))
    if not places or shutil.which("addr2line") is None:
        return printed
    command = ["addr2line", "-e", str(library), *places]
    found = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    for place, line in zip(places, found, strict=False):
        printed = printed.replace(f"{library}+{place}", line)
    return printed


@functools.cache
def sanitizers() -> str:
    """What must be loaded before Python for a checked library."""
    names = ("libasan.so", "libubsan.so", "libstdc++.so")
    ask = [compiler(), *(f"-print-file-name={name}" for name in names)]
    return " ".join(
        subprocess.run([ask[0], flag], capture_output=True, text=True).stdout.strip()
        for flag in ask[1:]
    )


def environment(task: Task) -> dict[str, str]:
    """What the process that runs a kernel needs."""
    if task.language == "python":
        return {}
    return {
        "LD_PRELOAD": sanitizers(),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:hard_rss_limit_mb=4096",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def memory(task: Task, most: int) -> int | None:
    """AddressSanitizer maps terabytes, and has a limit of its own."""
    return most if task.language == "python" else None
