"""What all tests share."""

import pytest

# These need PyTorch or mypy, and hold no tests.
collect_ignore_glob = ["sweep*.py", "docstring_examples.py", "scripts/*", "typed.py"]


def pytest_collection_modifyitems(config, items):
    for item in items:
        if "oracle" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.torch)
    config.hook.pytest_deselected(items=[item for item in items if is_unknown_to_pytorch(item)])
    items[:] = [item for item in items if not is_unknown_to_pytorch(item)]


def is_unknown_to_pytorch(item):
    """Whether it would compare a case with PyTorch of which the op table says that it has none."""
    case = item.callspec.params.get("case") if hasattr(item, "callspec") else None
    return not getattr(case, "in_torch", True) and item.get_closest_marker("torch") is not None


@pytest.fixture
def oracle():
    """PyTorch; a test that asks for it is marked `torch`, and skipped where it is not installed."""
    return pytest.importorskip("torch")


@pytest.fixture(params=["tiny_torch", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request):
    """Each package in turn: a fact that is stated of both."""
    module = pytest.importorskip(request.param)
    yield module
    module.set_grad_enabled(True)
