"""The steps of benchmarks/gpu.sh, each in processes of its own with a limit of seconds.

Only Python's own library is needed here: what a step lacks is its verdict. Everything that a step
runs finds `tiny_torch` and `benchmarks` in build/gpu/site, and not in the folder it starts from.
"""

import csv
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "gpu"
SITE = WORK / "site"
OUT = Path(os.environ.get("OUT") or WORK / "out")
EMULATED = os.environ.get("GPU") == "emulated"
DEVICE, SIZES = "cuda", "TINY" if EMULATED else "FULL"
THEIR_DEVICE = "cpu" if EMULATED else "cuda"
CORES = len(os.sched_getaffinity(0))
PATIENCE = float(os.environ.get("PATIENCE") or 1)  # what limits are multiplied with
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(SITE),
    "PYTHONSAFEPATH": "1",  # not the clone's tiny_torch, which has no extension
    "PYTHONUNBUFFERED": "1",
    "TINY_TORCH_CUDA": "emulated" if EMULATED else "on",
    "TINY_TORCH_TEST_DEVICE": DEVICE,
    "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]),
}

TESTS = [
    *(f"test_emulated_{part}.py" for part in (
        "device", "elementwise", "index", "layers", "losses", "optim", "products", "random",
        "sums")),
    *(f"test_cuda_{part}.py" for part in (
        "device", "graphs", "memory", "program_graphs", "programs", "streams")),
]  # fmt: skip
TRAININGS = ["test_emulated_training.py", "test_cuda_script.py"]

METRICS = {
    "gpu__time_duration.sum": "time",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "SM %",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "memory %",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "warps %",
    "launch__registers_per_thread": "registers",
}
MICROSECONDS = {"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3}


class Stop(Exception):
    """Nothing that follows can run."""


def verdict(text: str) -> None:
    print(text, flush=True)
    with (OUT / "verdicts.txt").open("a") as file:
        print(text, file=file)


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def run(
    command: list[str], file: Path, limit: float, extra: dict[str, str] | None = None
) -> int | None:
    """The command's exit status, None if the limit ended it; what it says is added to the file."""
    with file.open("ab") as out:
        process = subprocess.Popen(
            command,
            cwd=WORK,
            env={**ENVIRONMENT, **(extra or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        for patience, end in ((max(limit, 1), signal.SIGTERM), (5, signal.SIGKILL)):
            try:
                code = process.wait(patience)
                return code if end == signal.SIGTERM else None
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, end)
        process.wait()
        return None


def end_of(code: int | None, limit: float) -> str:
    if code is None:
        return f"cut at {limit:.0f} s"
    return "ended with a signal" if code < 0 else f"exit status {code}"


def python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


def contents(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""


def last_line(file: Path) -> str:
    lines = contents(file).split("\n")
    return next((line for line in reversed(lines) if line.strip()), "nothing was said")


# ---- the steps: (the limit, whether all of it or a little) > verdict ----------------------------
def build(limit: float, quick: bool) -> str:
    missing = [name for name in ("numpy", "pybind11") if not has(name)]
    if missing:
        raise Stop(f"{sys.executable} has no {' and no '.join(missing)}")
    cmake = shutil.which("cmake", path=ENVIRONMENT["PATH"])
    if cmake is None:
        raise Stop("there is no cmake")
    file, start = OUT / "build.txt", time.monotonic()
    generator = ["-G", "Ninja"] if shutil.which("ninja", path=ENVIRONMENT["PATH"]) else []
    pybind11 = subprocess.run(
        python("-m", "pybind11", "--cmakedir"), capture_output=True, text=True, check=True
    ).stdout.strip()
    commands = [
        [cmake, "-S", str(ROOT), "-B", ".", *generator, "-DCMAKE_BUILD_TYPE=Release",
         f"-DPython_EXECUTABLE={sys.executable}", f"-Dpybind11_DIR={pybind11}",
         f"-DTINY_TORCH_CUDA={'OFF' if EMULATED else 'AUTO'}",
         f"-DTINY_TORCH_CUDA_EMULATED={'ON' if EMULATED else 'OFF'}"],
        [cmake, "--build", ".", "--parallel",
         os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(CORES))],
        [cmake, "--install", ".", "--prefix", str(SITE)],
    ]  # fmt: skip
    for command in commands:
        left = limit - (time.monotonic() - start)
        code = run(command, file, left)
        if code != 0:
            raise Stop(f"{end_of(code, limit)}: {last_line(file)}; see {file.name}")
    shutil.copytree(ROOT / "tiny_torch", SITE / "tiny_torch", dirs_exist_ok=True)
    link = SITE / "benchmarks"
    if not link.is_symlink():
        link.symlink_to(ROOT / "benchmarks")
    library = SITE / "tiny_torch" / "lib" / ("cuda_emulated.so" if EMULATED else "cuda.so")
    if not library.exists():
        said = re.findall(r"built without the device cuda, .*", file.read_text())
        raise Stop(said[-1] if said else f"no {library.name} was built")
    (WORK / "built").touch()
    return f"{library.name}, {library.stat().st_size / 2**20:.0f} MiB"


def first(limit: float, quick: bool) -> str:
    file, start = OUT / "first.txt", time.monotonic()
    code = run(python("-m", "benchmarks.gpu.checks", "first", DEVICE), file, limit)
    if code != 0:
        raise Stop(f"one op, one step: {end_of(code, limit)}: {last_line(file)}; see {file.name}")
    said = ["one op, one step: right"]
    tools = [("", "cases")]
    if shutil.which("compute-sanitizer", path=ENVIRONMENT["PATH"]) is None:
        said.append("no compute-sanitizer here: memcheck and racecheck did not run")
    elif not quick:
        tools += [("memcheck", "cases"), ("racecheck", "shared")]
    for tool, which in tools:
        sanitizer = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9"]
        # Blocks of memory are CUDA's own, with room behind each: else a neighbour is hit unseen.
        sanitizer += ["--padding", "512"] if tool == "memcheck" else []
        left = (limit - (time.monotonic() - start)) * (0.5 if tool == "memcheck" else 1)
        before = len(contents(file))
        checks = python("-m", "benchmarks.gpu.checks", "cases", DEVICE, which)
        extra = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"} if tool else {}
        code = run([*(sanitizer if tool else []), *checks], file, left, extra)
        text = contents(file)[before:]
        right, wrong = (
            len(re.findall(rf"^{word} .* s  ", text, re.M)) for word in ("ok", "FAILED")
        )
        errors = re.findall(r"ERROR SUMMARY: .*|RACECHECK SUMMARY: .*", text)
        how = "" if code == 0 else f", {end_of(code, left)}"
        said.append(
            f"{tool or 'cases'}: {right} right, {wrong} wrong{how} {' '.join(errors)}".strip()
        )
    return "; ".join(said)


def tests(names: list[str], file: Path, limit: float, quick: bool) -> str:
    if not has("pytest"):
        return "did not run: no pytest here"
    raw, before = WORK / f"pytest_{file.name}", len(contents(file))
    raw.unlink(missing_ok=True)
    workers = min(CORES, 8)
    parallel = ["-n", str(workers), "--max-worker-restart", "500"] if has("xdist") else []
    code = run(
        python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "benchmarks.gpu.plugin",
               "-m", "not slow and not torch", "-o", "faulthandler_timeout=60", "--tb=short",
               "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml"), *parallel,
               *(["-k", "float32 and not random"] if quick else []),
               *(str(ROOT / "tests" / "cuda" / name) for name in names)),
        raw, limit, {"TT_OUTCOMES": str(file)},
    )  # fmt: skip
    text = contents(file)[before:]
    passed = len(re.findall(r"^passed ", text, re.M))
    failed = re.findall(r"^failed (?:.*/)?(.*)", text, re.M)
    how = "" if code in (0, 1) and passed else end_of(code, limit)
    if how and code is not None:  # pytest itself failed: it says why
        how = f"{how}: {last_line(raw)}"
        with file.open("a") as out:
            out.write(contents(raw)[-8000:])
    worst = f", first {', '.join(failed[:3])}" if failed else ""
    return f"{passed} passed, {len(failed)} failed{worst} {how}".strip()


def op_table(limit: float, quick: bool) -> str:
    return tests(TESTS[:3] if quick else TESTS, OUT / "ops.txt", limit, quick)


def trainings(limit: float, quick: bool) -> str:
    file, start = OUT / "trainings.txt", time.monotonic()
    code = run(python("-m", "benchmarks.gpu.checks", "trainings", DEVICE, SIZES), file, limit)
    how = "" if code in (0, 1) else f" {end_of(code, limit)}"
    said = f"next to the CPU: {last_line(file)}{how}"
    left = limit - (time.monotonic() - start)
    if quick or left < 5:  # seconds
        return said
    return f"{said}; {tests(TRAININGS, file, left, quick)}"


def figures(limit: float, quick: bool) -> str:
    against = ["--against", "torch"] if has("torch") else []
    file = OUT / "figures.txt"
    table = python("-m", "benchmarks.gpu.figures", str(OUT / "figures.md"), "--device", DEVICE,
                   *against, "--their-device", THEIR_DEVICE, "--sizes", SIZES,
                   *(["--quick"] if quick else []), "--seconds", str(limit - 20),
                   "--state", str(WORK / "ratios.json"))  # fmt: skip
    code = run(table, file, limit, {"TT_CARD": card()})
    said = last_line(file) if code in (0, 1) else f"{end_of(code, limit)}: {last_line(file)}"
    return said if against else f"{said}; no PyTorch here to compare with"


def kernels(limit: float, quick: bool) -> str:
    ncu = shutil.which("ncu", path=ENVIRONMENT["PATH"])
    if ncu is None:
        return "did not run: no ncu here"
    state = WORK / "ratios.json"
    ratios: dict[str, float] = json.loads(state.read_text()) if state.exists() else {}
    worst = sorted(ratios, key=ratios.__getitem__, reverse=True)
    lines = [x for x in worst if not x.startswith(("host:", "captured"))][:10] or ["copy", "add"]
    log, file = WORK / "ncu.csv", OUT / "kernels.txt"
    command = [ncu, "--csv", "--page", "raw", "--clock-control", "none", "--log-file", str(log),
               "--kernel-name-base", "demangled", "--metrics", ",".join(METRICS),
               *python("-m", "benchmarks.gpu.worker", "tiny_torch", DEVICE, SIZES, *lines),
    ]  # fmt: skip
    code = run(command, file, limit)
    found = slowest(log) if log.exists() else []
    with file.open("a") as out:
        print(f"lines: {', '.join(lines)}\n", file=out)
        for row in found:
            print("  ".join(row), file=out)
    if not found:
        return f"no kernel was seen, {end_of(code, limit)}: {last_line(file)}"
    return f"{len(found) - 1} kernels of the slowest lines, the slowest {' '.join(found[1][:2])}"


def slowest(log: Path) -> list[list[str]]:
    """ncu's rows of the ten kernels that took most time in one launch, below a head."""
    text = log.read_text(errors="replace")
    at = text.find('"ID"')
    if at < 0:
        return []
    table = list(csv.DictReader(text[at:].splitlines()))
    units, rows = table[0], table[1:]  # the second line holds the units

    def microseconds(row: dict[str, str]) -> float:
        value = row["gpu__time_duration.sum"].replace(",", "")
        return float(value or 0) * MICROSECONDS.get(units["gpu__time_duration.sum"], 1.0)

    longest: dict[str, dict[str, str]] = {}
    for row in sorted(rows, key=microseconds):
        longest[re.sub(r"<unnamed>::|\(anonymous namespace\)::", "", row["Kernel Name"])] = row
    ten = list(reversed(longest.items()))[:10]
    head = ["µs", "kernel", *list(METRICS.values())[1:], "grid", "block"]
    return [head] + [
        [f"{microseconds(row):.1f}", name[:100], *(row.get(m, "") for m in list(METRICS)[1:]),
         row.get("Grid Size", ""), row.get("Block Size", "")]
        for name, row in ten
    ]  # fmt: skip


def card() -> str:
    if EMULATED:
        return "the emulator next to PyTorch on the CPU: no figure says anything of a GPU"
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"nvidia-smi does not answer: {error}"
    return done.stdout.strip().replace("\n", "; ") or done.stderr.strip()


# What a step is called, its seconds at most, those of `quick`, and what it does.
Step = Callable[[float, bool], str]
STEPS: dict[str, tuple[Step, float, float]] = {
    "build": (build, 240, 240),
    "1": (first, 180, 25),
    "2": (op_table, 270, 30),
    "3": (trainings, 120, 20),
    "4": (figures, 510, 40),
    "5": (kernels, 150, 0),
}


def main(arguments: list[str]) -> int:
    quick = "quick" in arguments
    chosen = [name for name in arguments if name != "quick"] or list(STEPS)
    unknown = [name for name in chosen if name not in STEPS]
    if unknown:
        print(f"gpu.sh: no step {', '.join(unknown)}: there are {', '.join(STEPS)}, quick")
        return 2
    if "build" not in chosen and not (WORK / "built").exists():
        chosen.insert(0, "build")
    for folder in (OUT, WORK):
        folder.mkdir(parents=True, exist_ok=True)
    verdict(f"{time.strftime('%F %T')}  {card()}; {CORES} cores, Python {sys.version.split()[0]}")
    for name in chosen:
        step, long, short = STEPS[name]
        limit = PATIENCE * (short if quick else long)
        if limit == 0:
            continue
        start = time.monotonic()
        try:
            said, stops = step(limit, quick), False
        except Stop as reason:
            said, stops = f"STOPPED: {reason}", True
        except Exception as error:  # the next step may well run
            said, stops = f"failed: {type(error).__name__}: {error}", False
        verdict(f"{name:6} {time.monotonic() - start:5.0f} s  {said}")
        if stops:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
