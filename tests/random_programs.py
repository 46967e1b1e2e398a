"""Runs random programs over the whole surface, and prints those that do what no program may.

    python tests/random_programs.py                         # 300 programs of a fresh seed
    python tests/random_programs.py --programs 20000 --seed 7 -j 2
    python tests/random_programs.py --programs 1 --seed 7123   # one again

What a program is: random_calls.py. Its lines may raise what PyTorch raises. What fails is a crash
or a sanitizer's report, a hang, memory that grows by a GiB for a small result, and an exception
from inside: pybind11's own, or one that speaks of an NDArray. A failing program is printed with its
seed, as the lines that are enough to fail again. Programs run in processes of some hundred; a
process writes each line to a file before it runs it, so that its end is blamed on its program.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import faulthandler
import json
import os
import pickle
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CALLS = 24  # of a program, besides the lines that make tensors
BATCH = 250  # programs of a process
CPU_LIMIT = 10  # seconds of a program, of all threads
SANITIZED = 4  # times as many under the sanitizers, where nn.Transformer() alone takes five
WALL_LIMIT = 240  # it may wait for a busy machine, or for ever
GROWTH = 2**20  # KiB that a line may add to the process if its result is small
ADDRESSES = 6 * 2**30  # bytes of a process without sanitizers, which reserve far more
# A result of 1 GB takes the sanitizers longer than the limit of time.
SANITIZERS = "max_allocation_size_mb=200:quarantine_size_mb=64:handle_abort=1"
# Exceptions of PyTorch's kinds.
KINDS = (
    RuntimeError, ValueError, TypeError, IndexError, MemoryError, AttributeError, KeyError,
    AssertionError, BufferError, OverflowError, StopIteration, OSError, EOFError, ImportError,
    pickle.PickleError,
)  # fmt: skip
# Where PyTorch divides by a zero that it was given: functions, and the files of the schedules,
# whose formulas are PyTorch's (test_lr_scheduler.py).
DIVIDES = (
    "init.xavier_uniform_", "init.xavier_normal_", "init.dirac_", "normalization.__init__",
    "batch_norm.group_norm", "init.trunc_normal_", "pool.norms_of_windows",
    "adaptive.__init__", "multihead.multi_head_attention_forward", "_schedules",
    "sequential.even",
)  # fmt: skip
# Texts that only an unexpected exception has.
INSIDE = re.compile(
    r"incompatible function arguments|incompatible constructor|attribute 'array'|std::|vector::"
    r"|basic_string|map::at|bad_alloc|NDArray|UnboundLocal"
)
HERE = Path(__file__).parent
SHRINK_SECONDS = 10

# ------------------------------------------------------------------------- in a worker's process


class Failed(Exception):
    """A line did what no line may."""


class Runner:
    """Runs the lines of a program, each written to a file before."""

    def __init__(self, notes: int, seed: int):
        self.names: dict[str, Any] = {"__name__": "program"}
        self.notes, self.length = notes, 0
        os.ftruncate(notes, 0)
        self.note({"seed": seed})
        reset_peak()

    def note(self, what: dict) -> None:
        text = json.dumps(what).encode() + b"\n"
        self.length += os.pwrite(self.notes, text, self.length)

    def run(self, line: str) -> bool:
        """Whether it ran; raises Failed if it did what it may not."""
        self.note({"line": line})
        before, limit = peak(), GROWTH
        try:
            exec(compile(line, "<program>", "exec"), self.names)
        except Exception as error:
            if "not enough memory" in str(error):  # for a large result, which was begun
                limit = ADDRESSES >> 10
            why = complaint(error)
            if why:
                raise Failed(why) from None
            self.note({"raised": f"{type(error).__name__}: {error}"[:200]})
            return False
        finally:
            self.check_growth(peak() - before, limit, line)
        return True

    def check_growth(self, growth: int, limit: int, line: str) -> None:
        if growth > limit:
            reset_peak()
            result = self.names.get(line.partition(" = ")[0])
            if getattr(result, "nbytes", 0) >> 10 < growth // 4:
                raise Failed(f"memory grew by {growth >> 10} MiB")


def peak() -> int:
    """The most KiB that this process has had. (getrusage's number begins with the parent's.)"""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def complaint(error: Exception) -> str | None:
    """Why no program may raise it, or None."""
    frames = traceback.extract_tb(error.__traceback__)
    while frames and frames[-1].name == "__getattr__":  # a name that the program asked for
        frames.pop()
    mine = ("<program>", "tiny_torch")
    place = next(f for f in reversed(frames) if any(name in f.filename for name in mine))
    own = place.filename == "<program>"  # its mistake, not one inside
    never = isinstance(error, SystemError | RecursionError)
    given = place.name == "assert_close"  # its msg may be empty
    bare = isinstance(error, AssertionError) and not str(error) and not given
    path = Path(place.filename)
    divides = isinstance(error, ZeroDivisionError) and (
        f"{path.stem}.{place.name}" in DIVIDES or path.parent.name in DIVIDES
    )
    expected = own or divides or (isinstance(error, KINDS) and not bare)
    if expected and not never and not INSIDE.search(str(error)):
        return None
    where = "" if own else f" at {path.name}:{place.lineno}, {place.name}"
    return f"{type(error).__name__}: {str(error)[:300]}{where}"


def reset() -> None:
    """What a program may have set for the next."""
    import tiny_torch as torch

    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.set_num_threads(2)
    torch.set_printoptions(profile="default")
    torch.use_deterministic_algorithms(False)
    torch.autograd.set_detect_anomaly(False)


def work(seeds: range, notes: str, calls: int, seconds: int) -> None:
    """Runs the programs of some seeds; a line of JSON on standard output for each that fails."""
    from programs.random_calls import Program

    prepare_process(Path(notes).parent)
    with open(notes, "wb", buffering=0) as file:
        for seed in seeds:
            limit_time(seconds)
            runner = Runner(file.fileno(), seed)
            try:
                program = Program(seed, runner.names, runner.run)
                for _ in range(program.draw.randint(calls // 3, calls * 2)):
                    program.call()
            except Failed as failed:
                print(json.dumps([seed, str(failed), Path(notes).read_text()]), flush=True)
            runner.names.clear()
            reset()


def again(lines: list[str], notes: str, seconds: int) -> None:
    """Runs given lines, for shorter programs."""
    prepare_process(Path(notes).parent)
    with open(notes, "wb", buffering=0) as file:
        runner = Runner(file.fileno(), 0)
        limit_time(seconds)
        try:
            for line in lines:
                runner.run(line)
        except Failed as failed:
            print(json.dumps([0, str(failed), ""]), flush=True)


def prepare_process(folder: Path) -> None:
    os.chdir(folder)  # where programs may write files
    warnings.simplefilter("ignore")
    faulthandler.register(signal.SIGPROF, chain=True)  # shows where, then ends the process
    faulthandler.register(signal.SIGALRM, chain=True)
    if "TINY_TORCH_SANITIZED" not in os.environ:
        faulthandler.enable()
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    sys.stdin.close()


def limit_time(seconds: int) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, WALL_LIMIT)


# ------------------------------------------------------------------------------- in the parent


class Failure:
    def __init__(self, seed: int, why: str, notes: list[dict]):
        self.seed, self.why = seed, why
        self.lines: list[str] = []
        self.raised: list[bool] = []
        for note in notes:
            if "line" in note:
                self.lines.append(note["line"])
                self.raised.append(False)
            elif "raised" in note and self.raised:
                self.raised[-1] = True

    @property
    def kind(self) -> str:
        """What stays the same of a shorter program; numbers and names do not."""
        return re.sub(r"0x[0-9a-f]+|\d+", "N", self.why)[:80]


def start(arguments: list[str], notes: Path, seconds: int = CPU_LIMIT) -> tuple[list, str, int]:
    """What a process printed, what it said at its end, and its exit code."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.setdefault("OMP_NUM_THREADS", "2")
    environment["TINY_TORCH_CUDA"] = "off"
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        environment["TINY_TORCH_SANITIZED"] = "1"
        seconds *= SANITIZED
        environment["ASAN_OPTIONS"] = f"{os.environ.get('ASAN_OPTIONS', '')}:{SANITIZERS}"
    command = [sys.executable, __file__, "--worker", str(notes), str(seconds), *arguments]
    with tempfile.TemporaryFile() as errors:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    lines = [line for line in done.stdout.decode(errors="replace").splitlines() if line[:1] == "["]
    found = []
    for line in lines:
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found, said, done.returncode


def death(said: str, code: int) -> str:
    """Why a process ended, in a line."""
    report = re.search(r"runtime error: .*|ERROR: AddressSanitizer: [^\n(]*", said)
    if report:
        frame = re.search(r"#\d+ 0x\w+ in (.*?/src/\S+)", said[report.start() :])
        line = said[said.rfind("\n", 0, report.start()) + 1 : report.end()]
        return f"{line} {frame[1] if frame else ''}"[:300]
    inside = re.search(r'File "[^"]*(tiny_torch/[^"]*)", line (\d+) in (\w+)', said)
    where = f" at {inside[1]}:{inside[2]}, {inside[3]}" if inside else ""
    names = {-signal.SIGPROF: "hangs", -signal.SIGALRM: "hangs, or waits"}
    return names.get(code, f"dies with {code}") + (where or f" {said[-300:]}")


def parsed(text: str) -> list[dict]:
    found = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


def batch(seeds: range, calls: int, folder: Path) -> Iterator[Failure]:
    """Runs programs in a process, and the rest in another if one ends it."""
    notes = folder / f"notes-{seeds.start}"
    while seeds:
        arguments = [str(seeds.start), str(seeds.stop), str(calls)]
        found, said, code = start(arguments, notes)
        for seed, why, text in found:
            yield Failure(seed, why, parsed(text))
        if code == 0:
            return
        last = parsed(notes.read_text(errors="replace")) if notes.exists() else []
        if not last:
            raise SystemExit(f"a worker did not start ({code}): {said[-3000:]}")
        yield Failure(last[0]["seed"], death(said, code), last)
        seeds = range(last[0]["seed"] + 1, seeds.stop)


def shorter(failure: Failure, folder: Path) -> list[str]:
    """Fewer lines that fail alike."""
    end = time.monotonic() + SHRINK_SECONDS
    notes = folder / f"shorter-{failure.seed}"

    def fails(lines: list[str]) -> bool:
        found, said, code = start(["--lines", json.dumps(lines)], notes)
        if not found and code == 0:
            return False
        why = found[0][1] if found else death(said, code)
        return Failure(0, why, []).kind == failure.kind

    lines = failure.lines
    if len(needed(lines)) < len(lines) and fails(needed(lines)):
        lines = needed(lines)
    for place in range(len(lines) - 2, 0, -1):  # the last line is the one that fails
        fewer = lines[:place] + lines[place + 1 :]
        if time.monotonic() < end and fails(fewer):
            lines = fewer
    return lines


def needed(lines: list[str]) -> list[str]:
    """The lines that name what the last line needs, and what those need."""
    wanted, kept = set(re.findall(r"[A-Za-z_]\w*", lines[-1])), [lines[-1]]
    for line in lines[-2:0:-1]:
        names = set(re.findall(r"[A-Za-z_]\w*", line))
        makes = re.match(r"(?:class |def )?(\w+) =|\s*(?:class|def) (\w+)|\((\w+),", line)
        if makes is None or wanted & set(makes.groups()):
            wanted |= names
            kept.append(line)
    return [lines[0], *kept[::-1]]


def show(failure: Failure, lines: list[str]) -> None:
    raised = {line for line, did in zip(failure.lines, failure.raised, strict=True) if did}
    print(f"\n# seed {failure.seed}: {failure.why}")
    for line in lines:
        if line in raised and line is not lines[-1]:
            line = "try:\n" + "\n".join(f"    {part}" for part in line.splitlines())
            line += "\nexcept Exception as error: print(repr(error))"
        print(line)
    sys.stdout.flush()


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        notes, seconds, *rest = sys.argv[2:]
        if rest[0] == "--lines":
            return again(json.loads(rest[1]), notes, int(seconds))
        first, end, calls = map(int, rest)
        return work(range(first, end), notes, calls, int(seconds))

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--seed", type=int, help="of the first program; the others' follow")
    parser.add_argument("--calls", type=int, default=CALLS, help="of a program, about")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--ignore", default="^$", help="a pattern of failures that are known")
    parser.add_argument("--show", type=int, default=20, help="failures to shorten and print")
    args = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if args.seed is None else args.seed
    print(f"{args.programs} programs from seed {seed} on", flush=True)

    began = time.monotonic()
    seen: dict[str, list[int]] = {}
    size = min(BATCH, -(-args.programs // args.j))
    batches = [
        range(first, min(first + size, seed + args.programs))
        for first in range(seed, seed + args.programs, size)
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def run(seeds: range) -> None:
            for failure in batch(seeds, args.calls, folder):
                if re.search(args.ignore, failure.why):
                    continue
                known = seen.setdefault(failure.kind, [])
                known.append(failure.seed)
                if len(known) == 1 and len(seen) <= args.show:
                    show(failure, shorter(failure, folder))

        with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
            for _ in pool.map(run, batches):
                pass
    print(
        f"\n{args.programs} programs in {time.monotonic() - began:.0f} s: "
        f"{len(seen)} kinds of failures"
    )
    for kind, seeds in sorted(seen.items(), key=lambda item: -len(item[1])):
        print(f"{len(seeds)} x {kind}: {seeds[:5]}")
    sys.exit(bool(seen))


if __name__ == "__main__":
    main()
