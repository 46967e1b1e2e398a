"""Every module can be the first of the package that is imported: no other order makes it work."""

import os
import pkgutil
import sys
from importlib import import_module
from types import ModuleType

import pytest

import tiny_torch

# What is written against the whole package, as users write: `import tiny_torch` comes first there.
USERS = (
    *("__main__", "distributed", "distributions", "exchange", "func", "hub"),
    *("jit", "nn", "optim", "tools", "types", "utils", "vision"),
)
USING = (
    *("tiny_torch.autograd.profiler", "tiny_torch.autograd._profiler"),
    *("tiny_torch.compat.check", "tiny_torch.compat.standins", "tiny_torch.compat.torchvision"),
    "tiny_torch.functions.torch_special",
)
MODULES = [
    module.name
    for module in pkgutil.walk_packages(tiny_torch.__path__, "tiny_torch.")
    if module.name.split(".")[1] not in (*USERS, "_core") and not module.name.startswith(USING)
]


def import_first(name: str) -> None:
    """Ends this process: imports a module while the package is an empty one."""
    package = ModuleType("tiny_torch")
    package.__path__ = tiny_torch.__path__
    for loaded in [n for n in sys.modules if n.partition(".")[0] == "tiny_torch"]:
        if loaded != "tiny_torch._core":
            del sys.modules[loaded]
    sys.modules["tiny_torch"] = package
    package._core = sys.modules["tiny_torch._core"]
    try:
        import_module(name)
    except BaseException as error:
        os.write(2, f"{name}: {error!r}\n".encode())
        os._exit(1)
    os._exit(0)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_imported_first(name):
    child = os.fork()
    if child == 0:
        import_first(name)
    assert os.waitpid(child, 0)[1] == 0
