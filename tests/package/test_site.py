"""The site: it is built without a warning, its links lead somewhere, and it asks no network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("material", reason="could not import 'material': the extra docs")

ROOT = Path(__file__).parents[2]


class Parsed(HTMLParser):
    """A page's ids, where its links lead, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and "href" in found:
            self.links.add(found["href"])
        if "src" in found:
            self.loads.add(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.add(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> dict[Path, Parsed]:
    """Every page of a fresh build, by its path."""
    work = tmp_path_factory.mktemp("site")
    folder, settings = work / "site", str(ROOT / "docs/site/mkdocs.yml")
    command = ["mkdocs", "build", "--strict", "-q", "-f", settings, "-d", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=work, env=quiet, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in work.iterdir()] == ["site"]  # blocks that draw write nothing
    # 404.html is for a server, which may answer it at any depth: its links begin with a slash
    return {path: Parsed(path) for path in folder.rglob("*.html") if path.name != "404.html"}


def folder_of(site) -> Path:
    return min(site, key=lambda path: len(path.parts)).parent


def is_elsewhere(link: str) -> bool:
    return re.match(r"(\w+:)?//|mailto:|data:", link) is not None


def test_every_link_and_anchor_leads_somewhere(site):
    lost = []
    for page, parsed in site.items():
        for link in filter(lambda link: not is_elsewhere(link), parsed.links):
            path, _, anchor = link.partition("#")
            target = (page.parent / unquote(path)).resolve() if path else page
            known = site[target].ids if target in site else None
            if not target.exists() or (anchor and known is not None and anchor not in known):
                lost.append(f"{page.name}: {link}")
    assert not lost


def test_pages_load_nothing_from_a_network(site):
    lost = []
    for page, parsed in site.items():
        loads = [load.partition("?")[0] for load in parsed.loads if not load.startswith("data:")]
        lost += [load for load in loads if not (page.parent / load).is_file()]
    assert not lost
    styles = "".join(path.read_text() for path in folder_of(site).rglob("*.css"))
    assert not re.search(r"@import|url\(\s*['\"]?(https?:)?//", styles)


def test_figures_and_the_reference_are_there(site):
    by_name = {path.name: path for path in site}
    assert by_name["arrays.html"].read_text().count("<svg viewBox=") == 3
    assert "tiny_torch.nn.Linear" in site[by_name["tiny_torch.nn.html"]].ids
    assert "tiny_torch/nn/modules/linear.py:" in by_name["tiny_torch.nn.html"].read_text()
    assert "note-determinism" in site[by_name["cpp.html"]].ids
