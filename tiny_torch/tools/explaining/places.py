"""Where ops and kernels stand, as `python -m tiny_torch where` finds them."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import tiny_torch
from tiny_torch.autograd.graph import Op
from tiny_torch.tools import where

ROOT = Path(tiny_torch.__file__).parents[1]


def short_path(found: where.Found | None) -> str:
    """A path as it is read: ours from the package's folder on, others from this one."""
    if found is None:
        return ""
    path = str(found[0])
    for folder in (ROOT, Path.cwd()):
        path = path.removeprefix(f"{folder}/")
    return f"{path}:{found[1]}"


def of_op(op: Any, backward: bool) -> list[str]:
    """The class of an op, and of a node the function that computes its gradient."""
    if not isinstance(op, type) or not issubclass(op, Op):
        return []
    lines = [f"{op.__name__}  {short_path(where.place(op))}".rstrip()]
    if backward:
        found = where.place(op.backward)
        lines = [f"{op.__name__}.backward  {short_path(found)}".rstrip()]
    return lines


@functools.cache
def of_kernel(family: str | None, name: str | None) -> tuple[str, ...]:
    """The lines of the sources that name a kernel; () in an installation without sources."""
    if not family or not name or not where.files("src", ".def"):
        return ()
    last = re.split(r"->|\.", name)[-1]
    lines = []
    record = next(where.find(rf"^[A-Z]+\({last},", where.files("src", ".def")), None)
    if family in ("elementwise", "reduce") and record is not None:
        lines.append(short_path(record) + "  " + record[2].strip()[:80])
    else:
        last = "product" if (family, last) == ("matmul", "matmul") else last
        headers = [p for p in where.files("src/core/tables", ".h") if p.stem == family]
        field = next(where.find(rf"^  \S.*(\(\*|\W){last}[\[);,]", headers), None)
        lines += [f"{short_path(field)}  {field[2].strip()[:80]}"] if field else []
    folder = where.files(f"src/cpu/{family}", ".cpp", ".h")
    function = next(where.find(rf"^[A-Za-z][\w:<>,&* ]*[ *](run_)?{last}\([^;]*$", folder), None)
    lines += [f"{short_path(function)}  {function[2].strip()[:80]}"] if function else []
    return tuple(lines)
