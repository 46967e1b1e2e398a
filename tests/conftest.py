"""What all tests share."""

import pytest


@pytest.fixture
def oracle():
    """PyTorch; a test that asks for it is skipped where it is not installed."""
    return pytest.importorskip("torch")
