"""What mkdocs asks while it builds: the reference, pages from elsewhere, figures."""

from __future__ import annotations

import contextlib
import html
import io
import itertools
import os
import re
from pathlib import Path

import blocks
import reference
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
FIGURE = "<!-- figure: "
# Files outside of docs/ that are pages, too: their names here.
PAGES = {
    "src/README.md": "cpp.md",
    "homework/README.md": "homework/index.md",
    **{
        str(task.relative_to(ROOT)): f"homework/{task.parent.name}.md"
        for task in sorted((ROOT / "homework").glob("*/*/task.md"))
    },
}


def task_page(text: str, folder: str) -> str:
    """A task's page: what its header says stands as a line below the title."""
    _, header, body = text.split("+++\n", 2)
    facts = dict(re.findall(r"^(\w+): *(.*)$", header, re.M))
    title, _, rest = body.strip().partition("\n")
    number = folder.partition("_")[0]
    return (
        f"{title}\n\n{facts['minutes']} minutes, {facts['points']} points, {facts['language']}: "
        f"`python -m tiny_torch homework start {number}`\n{rest}\n"
    )


def source_text(path: str) -> str:
    text = (ROOT / path).read_text()
    return task_page(text, Path(path).parent.name) if path.endswith("task.md") else text


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    parts: dict[str, list[str]] = {}
    for path, page in PAGES.items():
        if path.endswith("task.md"):  # homework/1_views/1.3_permute/task.md
            number, _, part = path.split("/")[1].partition("_")
            parts.setdefault(f"{number} {part}", []).append(page)
    tasks = ["homework/index.md", *[{part: pages} for part, pages in parts.items()]]
    names = [{name: f"reference/{name}.md"} for name in reference.MODULES]
    config.nav = [*config.nav, {"Homework": tasks}, {"Reference": names}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, page in PAGES.items():
        files.append(File.generated(config, page, content=source_text(path)))
    for name in reference.MODULES:
        text = reference.page(name)
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    uri = page.file.src_uri
    if uri.startswith("reference/"):
        return markdown
    of_page = {here: path for path, here in PAGES.items()}
    original = Path(of_page.get(uri, f"docs/{uri}"))
    return within_site(with_figures(markdown, uri), original, uri)


def with_figures(markdown: str, uri: str) -> str:
    """Comments that draw as the pictures which they draw."""
    if FIGURE not in markdown:
        return markdown
    shown, end = [], 0
    with contextlib.redirect_stdout(io.StringIO()):
        # no further than to the last figure: what follows may write files
        figures = itertools.islice(blocks.drawings(markdown, uri), markdown.count(FIGURE))
        for part, svg in figures:
            caption = html.escape(" ".join(part["caption"].split()))
            figure = f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"
            shown += [markdown[end : part.start()], figure]
            end = part.end()
    return "".join(shown) + markdown[end:]


def within_site(markdown: str, original: Path, uri: str) -> str:
    """Links between files of the repository as links between pages."""

    def moved(link: re.Match[str]) -> str:
        target, hash_, anchor = link[1].partition("#")
        path = os.path.normpath(original.parent / target)
        if not target or not (ROOT / path).is_file():  # an address, or code such as f[0](x)
            return link[0]
        page = PAGES.get(path) or os.path.relpath(path, "docs")
        return f"]({os.path.relpath(page, Path(uri).parent)}{hash_}{anchor})"

    return re.sub(r"\]\(([^)\s]+)\)", moved, markdown)
