"""Packages written for PyTorch, untouched, on tiny_torch: their numbers next to PyTorch's.

PYTHONPATH=folder-of-packages python -m pytest -m slow tests/compat/test_ecosystem.py
"""

import math

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
    found = [error] if ours is None else differences(ours, theirs)
    assert bool(found) == (package in KNOWN), found[:5]


@pytest.mark.slow
@pytest.mark.torch
def test_captums_own_configurations():
    """In float32, to captum's own tolerance."""
    if version("captum") is None:
        pytest.skip("captum is not installed")
    theirs, ours = [answer("", ours, "captum_configurations.py") for ours in (False, True)]
    if theirs[0] is None:
        pytest.skip(f"captum does not run under PyTorch: {theirs[1]}")
    assert ours[0] is not None, ours[1]
    assert len(theirs[0]) > 400 and ours[0].keys() == theirs[0].keys()
    assert [name for name, x in theirs[0].items() if not are_near(ours[0][name], x)] == []


def are_near(a, b):
    if isinstance(b, list):
        return len(a) == len(b) and all(map(are_near, a, b))
    return a == b or math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-4)
