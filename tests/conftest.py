"""What all tests share."""

import pytest

# These need PyTorch, and hold no tests.
collect_ignore_glob = ["sweep*.py", "docstring_examples.py", "scripts/*"]


def pytest_collection_modifyitems(items):
    for item in items:
        if "oracle" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.torch)


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
