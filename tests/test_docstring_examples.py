"""PyTorch's docstring examples print the same under both packages."""

import re

import pytest
from api_names import NAMES
from docstring_examples import differences

import tiny_torch

# Names whose examples may print something else, with the reason.
DIFFER = {
    "torch.Generator.seed": "prints a number of the operating system's",
}
ABSENT = r"has no attribute|cannot import name|No module named|name '\w+' is not defined"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_examples(oracle, name):
    count, found = differences(oracle, tiny_torch, name)
    if found and name in DIFFER:
        return
    if found and all(re.search(ABSENT, text) for text in found):
        pytest.xfail("needs a name that is absent")
    assert not found, f"{len(found)} of {count} examples of {name}:\n" + "\n\n".join(found)
