"""The examples in PyTorch's own docstrings, run under both packages.

They come from the installed PyTorch when the tests run. An example counts if PyTorch runs it;
what it prints must then be what we print: the text of the docstring may be older.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import re
import sys
import warnings
from typing import Any

# Names whose examples are left out, with the reason.
OUTSIDE = {
    "torch.cholesky_inverse": "its matrix a a^T + 0.001 leaves 4 digits of float32",
    "torch.cholesky_solve": "its matrix a a^T + 0.001 leaves 4 digits of float32",
    "torch.get_default_device": "its examples need CUDA, and leave a default device behind",
    "torch.linalg.lu_solve": "one of its residuals is at the limit of allclose: PyTorch's rounding "
    "errors are within it by 7e-9, ours beyond it, those of double precision, too",
    "torch.hub.load_state_dict_from_url": "its example downloads",
    "torch.set_default_device": "its examples need CUDA, and leave a default device behind",
}
# Examples that are left out: a pattern of their source, with the reason.
LEFT_OUT = {
    r"\bcomplex|cfloat|cdouble|\dj\b|\.imag|\.real\b|view_as_": "complex numbers are outside",
    r"sparse|coo\b|csr\b": "sparse tensors are outside",
    r"cuda|mps|xpu|hpu": "a device that is not here",
    r"quantize|qint|qscheme": "quantised tensors are outside",
    r"names=|refine_names|align_": "named tensors are outside",
    r"\bjit\b|compile|vmap|_dynamo|fx\b|distributed": "outside, or later",
    r"^torch\.dot  #": "the name of a function, which stands there for its signature",
    r"%timeit|time\.|torch\.load\(|torch\.save\(": "files and times of the author's machine",
    r"torch\.empty|new_empty|resize_|\.Storage|FloatTensor\(\d": "memory that is not set",
    r"uint16|uint32|uint64|float8|torch\.Stream|torch\.Event": "dtypes and classes outside",
}


def documented(package: Any, name: str) -> str:
    found = package
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    text = getattr(found, "__doc__", None)
    return text if isinstance(text, str) else ""


def examples(oracle: Any, name: str) -> list[str]:
    """The sources of a name's examples, one after the other; they build on each other."""
    if name in OUTSIDE:
        return []
    with contextlib.suppress(ValueError):  # not a well-formed docstring
        return [e.source for e in doctest.DocTestParser().get_examples(documented(oracle, name))]
    return []


def run(package: Any, sources: list[str]) -> list[str]:
    """What each example prints; its exception in words if it raises."""
    package.manual_seed(0)
    modules = {"torch": package, "math": __import__("math"), "np": __import__("numpy")}
    names: dict[str, Any] = dict(modules, numpy=modules["np"])
    printed = []
    for source in sources:
        if package.__name__ != "torch":
            source = re.sub(
                r"^(\s*)import torch$", r"\1import tiny_torch as torch", source, flags=re.M
            )
            source = re.sub(r"^(\s*)(from|import) torch\b", r"\1\2 tiny_torch", source, flags=re.M)
        out = io.StringIO()
        hook, sys.displayhook = sys.displayhook, sys.__displayhook__
        try:
            with contextlib.redirect_stdout(out), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(source, "<example>", "single"), names)
        except Exception as error:
            out.write(f"{type(error).__name__}: {error}")
        finally:
            sys.displayhook = hook
        printed.append(plain(out.getvalue()))
    restore(package)
    return printed


def plain(text: str) -> str:
    """What was printed, without addresses and the paths of modules."""
    text = re.sub(r" at 0x\w+", "", text).replace("tiny_torch", "torch")
    return re.sub(r"<torch\.[\w.]*?(\w+) object>", r"<\1 object>", text)


def restore(package: Any) -> None:
    package.set_default_dtype(package.float32)
    package.set_grad_enabled(True)
    package.use_deterministic_algorithms(False)
    package.set_printoptions(profile="default")


def raised(text: str) -> bool:
    return re.match(r"\w*(Error|Exception|Warning): ", text) is not None


def differences(oracle: Any, ours: Any, name: str) -> tuple[int, list[tuple[str, str, str]]]:
    """How many examples of a name were compared; and those that print something else: (source,
    what we print, what PyTorch prints)."""
    sources = examples(oracle, name)
    if not sources:
        return 0, []
    path = ".".join(name.split(".")[:-1])
    with contextlib.suppress(ImportError):
        importlib.import_module(path.replace("torch", "tiny_torch", 1))
    left_out = [any(re.search(pattern, source) for pattern in LEFT_OUT) for source in sources]
    if any(left_out):  # what is left out may define what the others use
        sources = [s for s, left in zip(sources, left_out, strict=True) if not left]
    count, found = 0, []
    for source, theirs, mine in zip(sources, run(oracle, sources), run(ours, sources), strict=True):
        if raised(theirs):
            continue
        count += 1
        if mine != theirs:
            found.append((source.strip(), mine.strip(), theirs.strip()))
    return count, found
