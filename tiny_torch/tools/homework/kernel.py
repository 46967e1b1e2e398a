"""Compiles a student's kernel: with AddressSanitizer and UBSan for the check, for the emulator of
CUDA, so that its accesses are counted, or for speed."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from tiny_torch.base.devices import LIBRARIES
from tiny_torch.tools.homework import rules
from tiny_torch.tools.homework.task import FOLDER, Task

SOURCES = Path(__file__).parents[3] / "src"
HEADERS = SOURCES if SOURCES.is_dir() else Path(__file__).parent / "include"
SECONDS = 60
# a file may make the compiler work without end: seconds, KiB of memory, blocks of 512 bytes
BOUNDED = (
    f'{{ ulimit -t {SECONDS}; ulimit -v {4 << 20}; ulimit -f {1 << 19}; }} 2>/dev/null; exec "$@"'
)
EXPORTED = 'extern "C" __attribute__((visibility("default")))'
STANDARD = ("-std=c++17", "-fPIC", "-Wall", f"-DENTRY={EXPORTED}")
# DWARF 4: addr2line takes the names of files from tables of version 5 wrongly
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
CHECKED = ("-O1", "-gdwarf-4", *SANITIZED)
FAST = ("-O3", "-march=native")
# what copies memory is a call of a function of ours, which sees it
SEEN = (
    "-fvisibility=hidden", "-fno-tree-loop-distribute-patterns",
    *(f"-D__builtin_{name}={name}" for name in ("memcpy", "memmove", "memset")),
    *(f"-fno-builtin-{name}" for name in ("memcpy", "memmove", "memset")),
)  # fmt: skip
# for the emulator, which answers the sanitizers' calls itself (src/cuda/host/hooks.cpp)
EMULATED = (
    *("-O1", "-g1", "-gdwarf-4", "-ffp-contract=off", "-Wno-unused-function"),
    *("-fsanitize=thread", "-fsanitize=bounds", "--param=tsan-instrument-func-entry-exit=0"), *SEEN,
)  # fmt: skip
# for homework/4_kernels/counts.cpp, which is called at each access: what the compiler keeps in
# registers is none. Loops of a constant length are unrolled, or it would keep no array there.
COUNTED = (
    *("-O3", "-fno-tree-vectorize", "-fsanitize=kernel-address", *SEEN),
    "--param=asan-instrumentation-with-call-threshold=0", "--param=asan-stack=0",
    "--param=asan-globals=0", "--param=asan-instrument-allocas=0",
    "--param=max-completely-peel-times=64", "--param=max-completely-peeled-insns=20000",
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
    given = [*STANDARD, *student(path), *ahead(task, path), str(entry_of(task))]
    refuse_text(task, path, entry_of(task), *given)
    run_compiler(task, path, "-shared", "-fopenmp", *CHECKED, *given, "-o", str(library))
    return library


def entry_of(task: Task) -> Path:
    entry = task.folder / "entry.cpp"
    if not entry.is_file():
        raise FileNotFoundError(f"{entry} is missing: it names what call.py calls")
    return entry


def build_counted(task: Task, path: Path) -> Path:
    """The library whose accesses of memory are counted: an object of its own, which asks for
    nothing but language and the hooks of counts.cpp."""
    made, library = path.with_suffix(".o"), path.with_suffix(".so")
    given = [*student(path), *ahead(task, path), "-c", str(entry_of(task))]
    run_compiler(task, path, *STANDARD, *COUNTED, *given, "-o", str(made))
    refuse_symbols(made, rules.OF_COUNTED, mangled=False)
    hooks = str(FOLDER / "4_kernels/counts.cpp")
    run_compiler(
        task, path, *STANDARD, "-O2", *SEEN, "-shared", str(made), hooks, "-o", str(library)
    )
    return library


def ahead(task: Task, path: Path, *headers: str) -> list[str]:
    """A file that the compiler reads before the student's, first of all what SEEN renames."""
    file = path.with_suffix(".ahead.h")
    listed = [x for x in (*rules.HEADERS, *task.imports) if "/" not in x]
    file.write_text(rules.ahead(["string.h", *headers, *listed]))
    return ["-include", str(file)]


def refuse_symbols(made: Path, asked: re.Pattern[str], mangled: bool) -> None:
    symbols = subprocess.run(["nm", "-P", str(made)], capture_output=True, text=True).stdout
    broken = rules.broken_symbols(symbols, asked, mangled)
    if broken:
        raise Refused(broken)


def build_fast(task: Task, path: Path) -> Path:
    """The library of a student's file that has passed, and of the glue that gives it to the
    framework."""
    library = path.with_suffix(".so")
    given = [*student(path, HEADERS, FOLDER), str(task.folder / "glue.cpp")]
    run_compiler(task, path, *STANDARD, "-shared", "-fopenmp", *FAST, *given, "-o", str(library))
    return library


def student(path: Path, *folders: Path) -> list[str]:
    """For a source that says `#include STUDENT`."""
    return [f'-DSTUDENT="{path.name}"', *(f"-I{x}" for x in (path.parent, *folders))]


def refuse_text(task: Task, path: Path, given: Path, *arguments: str) -> None:
    """Raises Refused for what the preprocessor makes of a file, which `given` may include."""
    text = path.with_suffix(".ii")
    run_compiler(task, path, *arguments, "-E", "-o", str(text))
    broken = rules.broken_text(text.read_text(errors="replace"), [path, given])
    if broken:
        raise Refused(broken)


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
    given = [*source, *ahead(task, path, f'"{header}"'), "-x", "c++", str(path)]
    refuse_text(task, path, path, *given)
    run_compiler(task, path, *given, "-S", "-o", str(made[0]))
    run_compiler(task, path, "-c", str(made[0]), "-o", str(made[1]))
    broken = rules.broken_assembly(made[0].read_text(errors="replace"))
    if broken:
        raise Refused(broken)
    refuse_symbols(made[1], rules.OF_EMULATED, mangled=True)
    subprocess.run(["objcopy", "-w", "-R", ".init_array*", str(made[1])], check=True)
    run_compiler(task, path, *source, "-c", str(task.folder / "glue.cpp"), "-o", str(glue))
    # without the sanitizers' own libraries
    parts = [str(made[1]), str(glue), str(EMULATOR)]
    run_compiler(task, path, "-shared", "-Wl,-z,defs", "-o", str(library), *parts)
    return library


def run_compiler(task: Task, path: Path, *arguments: str) -> None:
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
