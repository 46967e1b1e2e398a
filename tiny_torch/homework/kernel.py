"""Compiles a student's kernel: with AddressSanitizer and UBSan unless its speed is asked for, or
for the emulator of CUDA."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from tiny_torch.devices import LIBRARIES
from tiny_torch.homework import rules
from tiny_torch.homework.task import FOLDER, Task

SOURCES = Path(__file__).parents[2] / "src"
HEADERS = SOURCES if SOURCES.is_dir() else Path(__file__).parent / "include"
SECONDS = 60
# a file may make the compiler work without end: seconds, KiB of memory, blocks of 512 bytes
BOUNDED = (
    f'{{ ulimit -t {SECONDS}; ulimit -v {4 << 20}; ulimit -f {1 << 19}; }} 2>/dev/null; exec "$@"'
)
STANDARD = ("-std=c++17", "-fPIC", "-Wall")
# DWARF 4: addr2line takes the names of files from tables of version 5 wrongly
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
CHECKED = ("-O1", "-gdwarf-4", *SANITIZED)
FAST = ("-O3", "-march=native")
# for the emulator, which answers the sanitizers' calls itself (src/cuda/host/hooks.cpp)
EMULATED = (
    *("-O1", "-g1", "-gdwarf-4", "-ffp-contract=off", "-Wno-unused-function"),
    *("-fsanitize=thread", "-fsanitize=bounds", "--param=tsan-instrument-func-entry-exit=0"),
    # what copies memory is a call of the glue's own function, which the emulator sees
    "-fvisibility=hidden", "-fno-tree-loop-distribute-patterns",
    *(f"-D__builtin_{name}={name}" for name in ("memcpy", "memmove", "memset")),
    *(f"-fno-builtin-{name}" for name in ("memcpy", "memmove", "memset")),
)  # fmt: skip
EMULATOR = LIBRARIES / "cuda_emulated.so"


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


def build(task: Task, path: Path) -> Path:
    """The library of a student's file that is checked: its functions, and nothing of the framework.

    Raises Refused with what the compiler says.
    """
    library = path.with_suffix(".so")
    if task.language == "cuda":
        return build_for_emulator(task, path, library)
    entry = task.folder / "entry.cpp"
    if not entry.is_file():
        raise FileNotFoundError(f"{entry} is missing: it names what call.py calls")
    compiled(task, path, *STANDARD, "-shared", "-fopenmp", *CHECKED, *student(path), *read(path),
             str(entry), "-o", str(library))  # fmt: skip
    refuse_ours(path, entry)
    return library


def build_fast(task: Task, path: Path, source: str = "glue.cpp") -> Path:
    """The library of a student's file that has passed, and of the glue that gives it to the
    framework; or of another file of the task's that includes it."""
    library = path.with_suffix(".so")
    given = [*student(path, HEADERS, FOLDER), str(task.folder / source)]
    compiled(task, path, *STANDARD, "-shared", "-fopenmp", *FAST, *given, "-o", str(library))
    return library


def student(path: Path, *folders: Path) -> list[str]:
    """For a source that says `#include STUDENT`."""
    return [f'-DSTUDENT="{path.name}"', *(f"-I{x}" for x in (path.parent, *folders))]


def read(path: Path) -> list[str]:
    """The compiler writes down what it reads."""
    return ["-MD", "-MF", str(path.with_suffix(".d"))]


def refuse_ours(path: Path, given: Path) -> None:
    """Raises Refused where the compiler has read another of our files than `given` and what that
    includes: a task's solution, or a kernel of the framework."""
    words = path.with_suffix(".d").read_text().replace("\\\n", " ").split(": ", 1)[1]
    read = {
        Path(os.path.realpath(x.replace("\\ ", " "))) for x in re.split(r"(?<!\\)\s+", words) if x
    }
    ours = [FOLDER, SOURCES.parent / "src", Path(__file__).parents[1]]
    allowed = {path.resolve(), given.resolve()}
    if given.name == "device.h":
        allowed |= {x for x in read if HEADERS.resolve() in x.parents and x.suffix == ".h"}
        allowed.add((FOLDER / "5_cuda/device.h").resolve())
    for file in sorted(read - allowed):
        if any(x.resolve() in file.parents for x in ours):
            raise Refused(f"reads {file.name}, which is not for a solution")


def build_for_emulator(task: Task, path: Path, library: Path) -> Path:
    """The student's file by itself, then the task's glue, which starts its kernels.

    What the compiler has made of the file is read before it is linked: it has nothing that the
    emulator would not see.
    """
    if not EMULATOR.exists():
        raise Refused(f"this build of tiny_torch has no {EMULATOR.name}, which runs kernels")
    header = task.folder / "device.h"
    header = header if header.is_file() else task.folder.parent / "device.h"
    made = [path.with_suffix(suffix) for suffix in (".s", ".o")]
    glue = path.with_suffix(".glue.o")
    source = [*STANDARD, *EMULATED, *student(path, HEADERS, FOLDER)]
    compiled(task, path, *source, *read(path), "-include", str(header), "-x", "c++", "-S",
             str(path), "-o", str(made[0]))  # fmt: skip
    refuse_ours(path, header)
    compiled(task, path, "-c", str(made[0]), "-o", str(made[1]))
    symbols = subprocess.run(["nm", "-P", str(made[1])], capture_output=True, text=True).stdout
    broken = rules.broken_assembly(made[0].read_text(errors="replace"), symbols)
    if broken:
        raise Refused(broken)
    subprocess.run(["objcopy", "-w", "-R", ".init_array*", str(made[1])], check=True)
    compiled(task, path, *source, "-c", str(task.folder / "glue.cpp"), "-o", str(glue))
    # without the sanitizers' own libraries
    parts = [str(made[1]), str(glue), str(EMULATOR)]
    compiled(task, path, "-shared", "-Wl,-z,defs", "-o", str(library), *parts)
    return library


def compiled(task: Task, path: Path, *arguments: str) -> None:
    """Runs the compiler; raises Refused, with the line of the student's file if it tells one."""
    command = ["sh", "-c", BOUNDED, "sh", compiler(), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Refused(f"the compiler did not end within {SECONDS} s") from None
    if done.returncode:
        found = re.search(rf"{re.escape(path.name)}:(\d+):\d+: (?:fatal )?error: (.*)", done.stderr)
        if found:
            raise Refused(found[2], int(found[1]))
        found = re.search(r"(?:glue|entry)\.cpp:\d+:\d+: (?:fatal )?error: (.*)", done.stderr)
        found = found or re.search(r"(undefined reference to .*)", done.stderr)
        if found:  # where the task calls what the file is to define
            raise Refused(f"`{task.symbol}` cannot be called as its contract says: {found[1]}")
        raise Refused(done.stderr.strip()[-2000:])


def with_lines(printed: str, library: Path) -> str:
    """A sanitizer's or the emulator's report with lines of the source for places in the library.

    Neither can read them itself: the process that it runs in reads no files.
    """
    places = dict.fromkeys(re.findall(rf"{re.escape(str(library))}\+(0x[0-9a-f]+)", printed))
    if shutil.which("addr2line") is None:
        return printed
    for place in places:  # each is a chain of inlined functions, the student's among others
        command = ["addr2line", "-i", "-e", str(library), place]
        lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
        found = [x for x in lines if f"/{library.stem}." in x] or lines or [place]
        line = found[0].partition(" (")[0]  # "... (discriminator 2)"
        printed = re.sub(rf"{re.escape(f'{library}+{place}')}\b", line, printed)
    return printed


def with_source(fault: str, library: Path, file: str, text: str) -> tuple[str, int | None]:
    """The fault with the lines of the student's `file` that it names, and the last one's number."""
    fault = with_lines(fault, library).removeprefix("CUDA error in ")
    fault = re.sub(rf"\(at \S*{re.escape(file)}:(\d+)\)", r"(line \1)", fault)
    numbers = [int(number) for number in re.findall(r"\(line (\d+)\)", fault)]
    if not numbers:
        return fault, None
    source = text.splitlines()
    shown = [f"{n:4} | {source[n - 1]}" for n in sorted(set(numbers)) if n <= len(source)]
    said = fault.removesuffix(f" (line {numbers[-1]})")
    return "\n".join([said, *shown]), numbers[-1]


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
    if task.language == "cuda":  # memory of the device is as long as it was asked for
        return {"TINY_TORCH_CUDA": "off", "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    return {
        "LD_PRELOAD": sanitizers(),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:hard_rss_limit_mb=4096",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def memory(task: Task, most: int) -> int | None:
    """AddressSanitizer maps terabytes, and has a limit of its own."""
    return None if task.language == "c++" else most
