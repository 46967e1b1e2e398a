"""`python -m tiny_torch to-c model.pt --input 1x1x28x28 -o model.c`: a saved model as C."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from pickle import UnpicklingError
from time import perf_counter

import tiny_torch as torch
from tiny_torch.nn import Module
from tiny_torch.tensor import Tensor
from tiny_torch.tools.export.c import Report, to_c

PROGRAM = "python -m tiny_torch to-c"
FLAGS = ["-std=c99", "-O3", "-DSELF_TEST"]
SECONDS = 0.2  # how long each side is timed
HOW = (
    "a state_dict has no forward: give the function that makes the model, --model file.py:function"
)


def arguments_of(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        PROGRAM, description="Writes a model as one C99 file, compiles it, and compares its answer "
        "with the model's. Loading a model runs code of the file: only use files that you trust.",
    )  # fmt: skip
    parser.add_argument("file", help="what torch.save has written of a model or its state_dict")
    parser.add_argument("--input", action="append", required=True, metavar="1x1x28x28[:int64:N]",
                        help="shape of an input, by default float32; integers are below N; may be "
                        "repeated")  # fmt: skip
    parser.add_argument("-o", dest="output", required=True, metavar="model.c")
    parser.add_argument("--model", metavar="file.py:function",
                        help="makes the model that a state_dict is of")  # fmt: skip
    return parser.parse_args(given)


def example(text: str) -> Tensor:
    """The input that "2x3" or "1x16:int64:100" describes; ValueError for other text."""
    shape_text, *rest = text.split(":")
    try:
        shape = [int(n) for n in shape_text.split("x")] if shape_text else []
        name, limit = (rest[0] if rest else "float32"), int(rest[1]) if len(rest) > 1 else 2
    except ValueError:
        raise ValueError(f"--input: expected 1x28x28 or 1x16:int64:100, got {text!r}") from None
    generator = torch.Generator().manual_seed(0)
    if name == "float32" and len(rest) < 2:
        return torch.randn(shape, generator=generator)
    if name in ("int64", "int32") and len(rest) < 3:
        return torch.randint(limit, shape, generator=generator).to(getattr(torch, name))
    raise ValueError(f"--input: expected float32, int64:N or int32:N, got {text!r}")


def load_model(path: str, factory: str | None) -> Module:
    """The model of a file; ValueError with the way to go where it holds none."""
    try:
        found = torch.load(path, weights_only=False)
    except (UnpicklingError, EOFError) as error:
        raise ValueError(f"{path}: {error}") from error
    if isinstance(found, Module):
        return found
    if not isinstance(found, dict):
        raise ValueError(f"{path} holds a {type(found).__name__}, no model")
    if factory is None:
        raise ValueError(f"{path} holds a dict; {HOW}")
    model = made_by(factory)
    model.load_state_dict(found)
    return model


def made_by(factory: str) -> Module:
    file, _, name = factory.rpartition(":")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if not file or spec is None or spec.loader is None:
        raise ValueError(f"--model: expected file.py:function, got {factory!r}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        function = getattr(module, name, None)
        model = function() if callable(function) else None
    except Exception as error:
        raise ValueError(f"--model: {factory} raised {type(error).__name__}: {error}") from error
    if not isinstance(model, Module):
        raise ValueError(f"--model: {name} of {file} makes no nn.Module")
    return model


def main(given: list[str]) -> int:
    """The exit code: 1 where the file cannot be written, or answers something else."""
    wanted = arguments_of(given)
    sys.path.insert(0, os.getcwd())  # where the classes of a saved model may stand
    try:
        model = load_model(wanted.file, wanted.model)
        inputs = tuple([example(text) for text in wanted.input])
        report = to_c(model, inputs, wanted.output)
    except (RuntimeError, OSError, ValueError, ImportError, AttributeError) as error:
        print(f"to-c: {error}", file=sys.stderr)
        return 1
    code, verdict = comparison(report)
    ours = time_of(model.eval(), inputs) if code == 0 else 0.0
    print(table(report, verdict, ours))
    return code


def comparison(report: Report) -> tuple[int, list[tuple[str, str]]]:
    """What the file's self-test says: an exit code, and rows of the table."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return 0, [("self-test", "not run: no C compiler")]
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "test")
        build = [compiler, *FLAGS, report.path, "-o", program, "-lm"]
        done = subprocess.run(build, capture_output=True, text=True)
        if done.returncode == 0:
            once = subprocess.run([program, "3"], capture_output=True, text=True).stdout
            runs = max(1, int(SECONDS / max(float(once.split()[-4]), 1e-7)))
            done = subprocess.run([program, str(runs)], capture_output=True, text=True)
        if done.returncode:
            return 1, [("self-test", f"failed: {(done.stdout + done.stderr).strip()}")]
    _, told, spent = done.stdout.strip().replace(": ", ", ", 1).split(", ", 2)
    largest, spent = spent.split(", ")
    rows = [("self-test", f"{told}, {largest}"), ("time in C", time_text(float(spent.split()[0])))]
    return 0, rows


def time_of(model: Module, inputs: tuple) -> float:
    """Seconds of one forward, the best of several."""
    best, until = float("inf"), perf_counter() + SECONDS
    with torch.no_grad():
        while perf_counter() < until:
            start = perf_counter()
            model(*inputs)
            best = min(best, perf_counter() - start)
    return best


def time_text(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-2 else f"{seconds * 1e3:,.1f} ms"


def table(report: Report, verdict: list[tuple[str, str]], ours: float) -> str:
    rows = [
        ("file", f"{report.path}, {report.file:,} bytes"),
        ("function", report.function),
        ("weights", f"{report.weights:,} bytes"),
        ("buffers", f"{report.buffers:,} bytes ({report.unshared:,} without sharing)"),
        ("batch norms folded", str(report.norms)),
        *verdict,
    ]
    if ours:
        rows.append(("time in tiny_torch", f"{time_text(ours)}, {torch.get_num_threads()} threads"))
    return "\n".join([f"{name:20}{value}" for name, value in rows])
