"""docs/compatibility.md says something of every covered name."""

import re
from pathlib import Path

import pytest
from cases.api_names import NAMESPACES

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"


@pytest.mark.parametrize("space", NAMESPACES)
def test_page_lists_every_name(space):
    sections = dict(re.findall(r"^## (\S+)$(.*?)(?=^## |\Z)", PAGE.read_text(), re.S | re.M))
    listed = set(re.findall(r"`(\w+)`", sections[space]))
    assert not set(NAMESPACES[space]) - listed


def test_the_summary_counts_the_lists():
    text = PAGE.read_text()
    sections = dict(re.findall(r"^## (\S+)$(.*?)(?=^## |\Z)", text, re.S | re.M))
    rows = re.findall(r"^\| `(torch\S*)` \| (\d*) \| (\d*) \| (\d*) \|$", text, re.M)
    assert set(NAMESPACES) <= {row[0] for row in rows}
    for space, *counts in rows:
        for kind, count in zip(("Same", "differs", "Absent"), counts, strict=True):
            listed = re.search(rf"^{kind} \((\d+)\): (.*)$", sections.get(space, ""), re.M)
            if space in sections and kind != "differs":
                assert (listed[1] if listed else "") == count, space
                names = re.findall(r"`(\w+)`", listed[2]) if listed else []
                assert len(names) == int(count or 0) and names == sorted(names, key=str.lower)
