"""`python -m tiny_torch apps`: the example trainings, and `apps NAME …`, which runs one.

A wheel carries them in `tiny_torch/apps`; in a checkout they stand beside the package. An app runs
as a script does: its folder comes first on the path.
"""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
FOLDERS = (PACKAGE / "apps", PACKAGE.parent / "apps")


def apps() -> dict[str, Path]:
    """The apps by name: the files that can be run.

    >>> "mlp" in apps()
    True
    """
    folder = next((folder for folder in FOLDERS if folder.is_dir()), PACKAGE / "apps")
    runnable = {path.stem: path for path in sorted(folder.glob("*.py"))}
    return {name: path for name, path in runnable.items() if "__main__" in path.read_text()}


def listing() -> str:
    """A line for each app, and the pictures that its runs have left in ./runs."""
    lines = []
    for name, path in apps().items():
        about = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()[0]
        lines.append(f"{name:10} {about}")
        pictures = sorted(
            p for kind in ("png", "gif") for p in Path("runs", name).glob(f"*.{kind}")
        )
        lines += [f"{'':10} {picture}" for picture in pictures]
        if not pictures:
            lines.append(f"{'':10} no pictures yet: python -m tiny_torch apps {name}")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """The exit code of `python -m tiny_torch apps` with these arguments."""
    if not arguments:
        print(listing())
        return 0
    name, *rest = arguments
    if name not in apps():
        print(f"apps: there is no {name}, only {', '.join(apps())}", file=sys.stderr)
        return 2
    path = apps()[name]
    sys.argv = [str(path), *rest]
    sys.path.insert(0, str(path.parent))
    try:
        runpy.run_path(str(path), run_name="__main__")
    except ModuleNotFoundError as error:
        print(f"apps need {error.name}: pip install 'tiny_torch[apps]'", file=sys.stderr)
        return 1
    return 0
