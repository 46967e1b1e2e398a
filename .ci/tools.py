"""Prints what the checks of .ci/run install: the `dev` extra, and for mypy what the package needs.

(pip cannot install an extra without building the package that it belongs to.)
"""

from pathlib import Path

import tomllib

pyproject = Path(__file__).parents[1] / "pyproject.toml"
project = tomllib.loads(pyproject.read_text())["project"]
print(*project["dependencies"], *project["optional-dependencies"]["dev"], sep="\n")
