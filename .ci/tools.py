"""Prints what this project's extras ask pip for: `tools.py dev`, `tools.py build dev test`.

pip cannot install an extra without building the package that it belongs to. "build" stands for what
the build itself needs. The package's own dependencies are always among them, for mypy.
"""

import sys
from pathlib import Path

try:
    import tomllib
except ImportError:  # before Python 3.11
    from pip._vendor import tomli as tomllib

pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
project = pyproject["project"]
# CMake and ninja come with the build backend where the machine has none, but only in isolation.
extras = {**project["optional-dependencies"]}
extras["build"] = [*pyproject["build-system"]["requires"], "cmake>=3.18", "ninja"]
print(*project["dependencies"], *[need for name in sys.argv[1:] for need in extras[name]], sep="\n")
