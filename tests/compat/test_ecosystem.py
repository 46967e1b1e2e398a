"""Packages written for PyTorch, untouched, on tiny_torch: their numbers next to PyTorch's.

PYTHONPATH=folder-of-packages python -m pytest -m slow tests/compat/test_ecosystem.py
"""

import pytest
from compat.ecosystem.comparing import KNOWN, USES, answer, differences, version


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("package", USES)
def test_a_use_of_each_package(package):
    if version(package) is None:
        pytest.skip(f"{package} is not installed")
    theirs, error = answer(package, ours=False)
    if theirs is None:
        pytest.skip(f"{package} does not run under PyTorch: {error}")
    ours, error = answer(package, ours=True)
    assert ours is not None, error
    found = differences(ours, theirs)
    assert bool(found) == (package in KNOWN), found[:5]
