"""Runs a page: its Python blocks in one namespace, its figures, its console blocks.

    python docs/site/blocks.py docs/arrays.md

A line `print(...)  # text` of a Python block states what is printed; `…` stands for anything. A
figure is a comment, which only the site shows:

    <!-- figure: layout(x)
    Its caption. -->

Its expression sees the names of the blocks above it and those of figures.py, and gives SVG. In a
block of the language `console`, `$` begins a command, and what follows is its output.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import figures

PYTHON = r"^(?P<indent> *)```python\n(?P<code>.*?)^ *```$"
FIGURE = r"^<!-- figure: (?P<drawing>.+?)\n(?P<caption>.*?) -->$"
PARTS = re.compile(f"{PYTHON}|{FIGURE}", re.M | re.S)
STATED = re.compile(r"^ *(?:print\(.*|print\([^#]*\n *)\)  # (.*)$", re.M)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


def drawings(text: str, page: str) -> Iterable[tuple[re.Match[str], str]]:
    """Each figure's place and its SVG; the blocks above it have run, and so do those below."""
    namespace = {"__name__": "__main__"}
    for part in PARTS.finditer(text):
        line = text.count("\n", 0, part.start())
        if part["drawing"]:
            names = {name: getattr(figures, name) for name in figures.__all__}
            yield part, eval(compile(part["drawing"], page, "eval"), names | namespace)
        else:
            code = re.sub(f"^{part['indent']}", "", part["code"], flags=re.M)
            # the page's own line numbers, for the traceback of a block that fails
            exec(compile("\n" * (line + 1) + code, page, "exec"), namespace)


def lacking(stated: Iterable[str], printed: list[str]) -> str | None:
    """The first line that is stated and not printed, or not in this order."""
    rest = iter(printed)
    for line in stated:
        pattern = ".*".join(map(re.escape, line.strip().split("…")))
        if not any(re.fullmatch(pattern, said.strip()) for said in rest):
            return line
    return None


def check(path: Path) -> str | None:
    """Runs a page; what it states and does not print, if anything."""
    text = path.read_text()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for _ in drawings(text, str(path)):
            pass
    stated = [line for part in PARTS.finditer(text) for line in STATED.findall(part["code"] or "")]
    wrong = lacking(stated, printed.getvalue().splitlines())
    for block in CONSOLE.findall(text):
        for command in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, *expected = command.splitlines()
            run = line.replace("python -m", f"{sys.executable} -m", 1)
            done = subprocess.run(run, shell=True, capture_output=True, text=True)
            if done.returncode:
                return f"{line}: {done.stderr}"
            wrong = wrong or lacking(filter(None, expected), done.stdout.splitlines())
    return wrong


if __name__ == "__main__":
    for name in sys.argv[1:]:
        if wrong := check(Path(name).resolve()):
            sys.exit(f"{name}: not printed: {wrong}")
