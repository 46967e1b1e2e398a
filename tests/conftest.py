"""What all tests share."""

import gc
import importlib.util
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from app_runs import app, apps, finish, run, start  # noqa: F401 -- fixtures, by their names
from cuda_process import pytest_pycollect_makemodule  # noqa: F401 -- a hook, known by its name

SOURCES = Path(__file__).parent.parent / "src"

# Whatever was built: tests are of the CPU, and compare with a PyTorch for the CPU, unless they say
# otherwise (cuda_process.py).
os.environ.setdefault("TINY_TORCH_CUDA", "off")

# Ctrl-C reaches programs that tests start, also where a shell has started the tests with `&`.
signal.signal(signal.SIGINT, signal.default_int_handler)

# These hold no tests, and need PyTorch, mypy, or another tiny_torch than this.
collect_ignore_glob = [
    "compat/ecosystem/*",
    "sweep*",
    "cases/docstring_examples.py",
    "scripts/*",
    "spine/package.py",
    "spine/training.py",
    "typed.py",
]


# Comparisons with PyTorch are left out where it is missing, not skipped: a skip means something.
HAS_PYTORCH = importlib.util.find_spec("torch") is not None
LEFT_OUT = (
    "Left out: comparisons with PyTorch (`pip install torch==2.13.0`, then `pytest -m torch`), "
    "sweeps and long trainings (`pytest -m slow`)."
)


def pytest_ignore_collect(collection_path):
    if HAS_PYTORCH or collection_path.suffix != ".py":
        return None
    marked = "\npytestmark = pytest.mark.torch\n" in collection_path.read_text()
    return marked or None  # None: what other hooks say


def pytest_collection_modifyitems(config, items):
    for item in items:
        if "oracle" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.torch)
    config.hook.pytest_deselected(items=[item for item in items if is_left_out(item)])
    items[:] = [item for item in items if not is_left_out(item)]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session):
    """Ends pytest's report with what it leaves out, and with how to run it."""
    answer = yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not HAS_PYTORCH:
        reporter.write_line(LEFT_OUT)
    return answer


def pytest_collection_finish(session):
    gc.freeze()  # a collection need not look at fifty thousand tests each time
    for item in session.items:
        if isinstance(item, pytest.DoctestItem):  # its names, among which holders are looked for
            item.dtest.globs = dict(item.dtest.globs)


def is_left_out(item):
    """Whether it asks PyTorch, which is not here or has no answer."""
    lacks_pytorch = item.get_closest_marker("torch") is not None and not HAS_PYTORCH
    return lacks_pytorch or is_unknown_to_pytorch(item)


def is_unknown_to_pytorch(item):
    """Whether it would compare a case with PyTorch of which the op table says that it has none."""
    case = item.callspec.params.get("case") if hasattr(item, "callspec") else None
    return not getattr(case, "in_torch", True) and item.get_closest_marker("torch") is not None


@pytest.fixture
def oracle():
    """PyTorch; a test that asks for it is marked `torch`, and left out where that is missing."""
    package = pytest.importorskip("torch")
    package.distributions.Distribution.set_default_validate_args(True)  # its compiler ends that
    return package


@pytest.fixture(params=["tiny_torch", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request):
    """Each package in turn: a fact that is stated of both."""
    module = pytest.importorskip(request.param)
    yield module
    module.set_grad_enabled(True)


def compiler():
    """The start of a g++ command that finds our headers; a test is skipped where there is none."""
    path = shutil.which("g++")
    if path is None or not SOURCES.is_dir():
        pytest.skip("needs g++ and the sources")
    return [path, "-std=c++17", "-I", str(SOURCES)]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """compiled(name, source): a shared library, built by g++ from one file next to our headers."""
    command = [*compiler(), "-O1", "-shared", "-fPIC"]

    def build(name: str, source: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        path = folder / f"{name}.cpp"
        path.write_text(source)
        library = folder / f"{name}.so"
        subprocess.run([*command, "-o", str(library), str(path)], check=True)
        return library

    return build


@pytest.fixture(scope="session")
def twin(compiled):
    """The library of the device `twin` (twin.cpp), which is there from now on."""
    from tiny_torch.base import devices

    library = compiled("twin", Path(__file__).with_name("twin.cpp").read_text())
    if "twin" not in devices.TYPES:
        devices.register("twin", library)
    return library


@pytest.fixture
def homework(tmp_path, capsys, monkeypatch):
    """`python -m tiny_torch homework …` in a folder of its own: its exit code and its words."""
    from tiny_torch.tools.homework import command  # after TINY_TORCH_CUDA is set

    monkeypatch.chdir(tmp_path)

    def ask(*arguments: str) -> tuple[int, str]:
        code = command.main([*arguments])
        output = capsys.readouterr()
        return code, output.out + output.err

    return ask
