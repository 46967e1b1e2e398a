"""`python -m tiny_torch run script.py [args…]`: a PyTorch script, untouched, on tiny_torch.

While it runs, `import torch` and `import torch.x.y` answer with the very modules tiny_torch and
tiny_torch.x.y, whether PyTorch is installed or not; in child processes too, forked, spawned, or
started as `python script.py`. `import torchvision` answers with what is here of it.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import io
import os
import runpy
import sys
import types
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from multiprocessing import spawn
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn

from tiny_torch.base.version import __version__
from tiny_torch.compat import absent, naming, paths

# Built on PyTorch's own C++ library: they cannot work on another.
NOT_COVERED = ("torchaudio", "torchtext", "torchdata", "triton")

USAGE = """\
usage: python -m tiny_torch run script.py [args…]
       python -m tiny_torch run -m module [args…]

Runs a PyTorch script, untouched, on tiny_torch: `import torch` answers with tiny_torch."""


class _Distribution(importlib.metadata.Distribution):
    """What `importlib.metadata` tells of the package `torch`."""

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\n"

    def locate_file(self, path: Any) -> Path:
        return Path(absent.PACKAGE).parent / path


class _Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        top, _, rest = fullname.partition(".")
        if top in NOT_COVERED:
            if is_probe(sys._getframe(1)):
                return None
            where = absent.user_line(sys._getframe(1))
            raise ModuleNotFoundError(
                f"{fullname} is built on PyTorch itself and not covered by tiny_torch ({where})",
                name=fullname,
            )
        if fullname == "safetensors.torch":
            return ModuleSpec(fullname, paths.Alias("tiny_torch.safetensors"))
        if top == "torchvision":
            ours = paths.replace_start(fullname, paths.TORCHVISION)
        elif top == "functorch":
            ours = f"tiny_torch.compat.{fullname}"
        elif top == "torch":
            ours = f"tiny_torch.{rest}" if rest else "tiny_torch"
        else:
            return None
        found = spec_of(ours)
        if found is None:
            if is_probe(sys._getframe(1)):
                return None
            namespace, _, name = ours.rpartition(".")
            place = sys._getframe(1)
            owner = sys.modules.get(namespace)
            text = absent.message(owner, paths.public_name(namespace), name, place)
            raise ModuleNotFoundError(text, name=fullname)
        is_package = found.submodule_search_locations is not None  # runpy runs no others
        return ModuleSpec(fullname, paths.Alias(ours), is_package=is_package)

    def find_distributions(self, context: Any = None) -> Any:
        if context is None or context.name in (None, "torch"):
            yield _Distribution()


def is_probe(frame: FrameType | None) -> bool:
    """True where `importlib.util.find_spec` asks whether there is a module, and imports none."""
    while frame is not None and frame.f_globals.get("__name__") == "importlib._bootstrap":
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == "importlib.util"


def spec_of(module: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(module)
    except ModuleNotFoundError:  # its package does not exist
        return None


class _InChild:
    """Unpickled by a spawned child before it imports the script: installs the finder there."""

    def __reduce__(self) -> Any:
        return install, ()


def install() -> _Finder | None:
    """From now on, in this process and those it forks or spawns, `torch` is tiny_torch.

    Answers the finder that makes it so; None if there was one.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return None
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    prepare = spawn.get_preparation_data

    def get_preparation_data(name: str) -> Any:
        told = {"tiny_torch": _InChild()} if finder in sys.meta_path else {}
        return {**told, **prepare(name)}

    spawn.get_preparation_data = get_preparation_data
    naming.rename_all()
    absent.FOLLOWING.append(naming.rename)
    sys.modules["tiny_torch"].__name__ = "torch"  # which packages compare with what they patch
    for name in paths.names("tiny_torch.optim"):  # packages go through its __dict__
        getattr(sys.modules["tiny_torch.optim"], name)
    return finder


class as_torch:
    """From here on, or in a `with` block, `import torch` answers with tiny_torch.

    For notebooks and tests; `python -m tiny_torch run` does the same for a script. As a call it
    holds until the process ends, as a context manager until the block does: modules that were
    imported in it keep what they have. Raises RuntimeError where PyTorch is imported already.

    >>> import sys, tiny_torch
    >>> if "torch" not in sys.modules:
    ...     with tiny_torch.as_torch():
    ...         import torch
    ...     assert torch is tiny_torch and "torch" not in sys.modules
    """

    def __init__(self) -> None:
        loaded = sys.modules.get("torch")
        if loaded is not None and loaded is not sys.modules["tiny_torch"]:
            raise RuntimeError("as_torch: PyTorch itself is imported already, as `torch`")
        self.known = {name for name in sys.modules if is_torch(name)}
        self.installed = install()

    def __enter__(self) -> ModuleType:
        return sys.modules["tiny_torch"]

    def __exit__(self, *exception: Any) -> None:
        if self.installed is not None:
            sys.meta_path.remove(self.installed)
            sys.modules["tiny_torch"].__name__ = "tiny_torch"
            absent.FOLLOWING.remove(naming.rename)
            naming.restore()
        for name in [name for name in sys.modules if is_torch(name) and name not in self.known]:
            del sys.modules[name]


def is_torch(module: str) -> bool:
    return module.partition(".")[0] == "torch"


def let_children_know() -> None:
    """Children that run Python find compat/startup/sitecustomize.py on their path."""
    folder = str(Path(__file__).with_name("startup"))
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if folder not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, *paths]))


def main(arguments: list[str]) -> int:
    """What `python script.py args…` does, or `python -m module args…`."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if (
        not arguments
        or arguments == ["-m"]
        or (arguments[0].startswith("-") and arguments[0] != "-m")
    ):
        print(USAGE, file=sys.stderr)
        raise SystemExit(2)
    install()
    let_children_know()
    sys.excepthook = print_from_script
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        with told_as_python():
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    sys.argv = arguments
    script = os.path.abspath(arguments[0])
    if os.path.isdir(script):  # of which __main__.py is run
        del sys.path[0]
        with told_as_python():
            runpy.run_path(script, run_name="__main__")
        return 0
    try:
        with io.open_code(script) as file:
            source = file.read()
    except OSError as error:
        refuse(f"can't open file {script!r}: [Errno {error.errno}] {error.strerror}", 2)
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    module = types.ModuleType("__main__")
    module.__file__ = script
    module.__loader__ = SourceFileLoader("__main__", script)
    vars(module).update(__builtins__=__builtins__, __cached__=None, __annotations__={})
    sys.modules["__main__"] = module
    exec(compile(source, script, "exec", dont_inherit=True), vars(module))
    return 0


class NothingToRun(SystemExit):
    """There is no such script or module."""


def refuse(what: object, status: int) -> NoReturn:
    """Ends as Python does where there is nothing to run."""
    print(f"{sys.executable}: {what}", file=sys.stderr)
    raise NothingToRun(status) from None


@contextlib.contextmanager
def told_as_python() -> Iterator[None]:
    """What runpy itself does not find is said in a line."""
    try:
        yield
    except ImportError as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        if (
            trace is None
            or trace.tb_frame.f_code.co_filename != runpy.run_path.__code__.co_filename
        ):
            raise
        refuse(error, 1)


def print_from_script(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Prints a traceback that begins at the script, as if Python had run it."""
    while trace is not None and is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def is_ours(file: str) -> bool:
    return file.startswith((absent.PACKAGE, "<frozen runpy>", os.path.abspath(runpy.__file__)))
