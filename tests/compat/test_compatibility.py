"""docs/compatibility.md says something of every covered name."""

import re
from pathlib import Path

import pytest
from api_names import NAMESPACES

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"


@pytest.mark.parametrize("space", NAMESPACES)
def test_page_lists_every_name(space):
    sections = dict(re.findall(r"^## (\S+)$(.*?)(?=^## |\Z)", PAGE.read_text(), re.S | re.M))
    listed = set(re.findall(r"`(\w+)`", sections[space]))
    assert not set(NAMESPACES[space]) - listed
