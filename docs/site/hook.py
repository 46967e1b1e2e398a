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

from tiny_torch.tools.homework.task import Task, all_tasks

ROOT = Path(__file__).parents[2]
FIGURE = "<!-- figure: "
TASKS = {f"homework/{task.folder.name}.md": task for task in all_tasks(ROOT / "homework").values()}
# Files outside of docs/ that are pages, too: their names here.
PAGES = {
    "src/README.md": "cpp.md",
    "homework/README.md": "homework/index.md",
    **{str((task.folder / "task.md").relative_to(ROOT)): page for page, task in TASKS.items()},
}


def task_page(task: Task) -> str:
    """A task's page: what its header says stands as a line below the title."""
    title, _, rest = task.page.strip().partition("\n")
    return (
        f"{title}\n\n{task.minutes} minutes, {task.points} points, {task.language}: "
        f"`python -m tiny_torch homework start {task.number}`\n{rest}\n"
    )


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    parts: dict[str, list[str]] = {}
    for page, task in TASKS.items():
        parts.setdefault(f"{task.number.partition('.')[0]} {task.track}", []).append(page)
    tasks = ["homework/index.md", *[{part: pages} for part, pages in parts.items()]]
    names = [{name: f"reference/{name}.md"} for name in reference.MODULES]
    config.nav = [*config.nav, {"Homework": tasks}, {"Reference": names}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, page in PAGES.items():
        text = task_page(TASKS[page]) if page in TASKS else (ROOT / path).read_text()
        files.append(File.generated(config, page, content=text))
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
