"""`python -m tiny_torch explain script.py:LINE`: runs a script, and explains one of its lines.

With `--program` in the place of a line: its programs (programs.py).
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from tiny_torch.compat import run
from tiny_torch.tools.explaining.explanation import Explanation
from tiny_torch.tools.explaining.lines import Line, extent
from tiny_torch.tools.explaining.programs import explain_programs
from tiny_torch.tools.explaining.watching import Watch

PROGRAM = "python -m tiny_torch explain"


class Explained(BaseException):
    """Ends the script: its line is explained."""


def arguments_of(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        PROGRAM, description="Runs a script, and tells the way of each op of one of its lines from "
        "Python to the kernel. The script ends there.",
        usage=f"{PROGRAM} [-o PAGE] [--nth N] [--go-on] script.py:LINE [-- args…]\n"
        f"       {PROGRAM} [-o PAGE] --program script.py [-- args…]",
    )  # fmt: skip
    parser.add_argument("line", metavar="script.py:LINE")
    parser.add_argument("-o", dest="page", metavar="PAGE", help="write an HTML page, too")
    parser.add_argument("--nth", type=int, default=0, metavar="N",
                        help="its N-th run; else the first that runs an op")  # fmt: skip
    parser.add_argument("--go-on", action="store_true", help="let the script run on afterwards")
    parser.add_argument("--program", action="store_true",
                        help="run the whole script, and tell its programs")  # fmt: skip
    cut = given.index("--") if "--" in given else len(given)
    found = parser.parse_args(given[:cut])
    found.rest = given[cut + 1 :]
    if found.program:
        if found.nth or found.go_on:
            parser.error("--program takes a script, and neither --nth nor --go-on")
        return found
    found.script, _, number = found.line.rpartition(":")
    if not found.script or not number.isdigit() or found.nth < 0:
        parser.error("expected script.py:LINE, and N from 1 on")
    found.number = int(number)
    return found


def main(given: list[str]) -> int:
    """The exit code. What the script raises goes on."""
    wanted = arguments_of(given)
    if wanted.page and not os.path.isdir(os.path.dirname(os.path.abspath(wanted.page))):
        return fail(f"there is no folder for {wanted.page}")
    target = wanted.page and os.path.abspath(wanted.page)  # the script may go elsewhere
    if wanted.program:
        if not os.path.isfile(wanted.line):
            return fail(f"there is no script {wanted.line}")
        return explain_programs(wanted.line, lambda: run.main([wanted.line, *wanted.rest]), target)
    try:
        with open(wanted.script, encoding="utf-8") as file:
            source = file.read()
        lines = extent(source, wanted.number)
    except (OSError, SyntaxError, ValueError) as error:
        return fail(f"cannot read {wanted.script}: {error}")
    if lines is None:
        return fail(f"{wanted.line} holds no statement")
    found: list[Explanation] = []

    def done(watch: Watch, failed: bool) -> None:
        found.append(Explanation(title_of(wanted, source, lines), watch))
        show(found[0], target)
        if not wanted.go_on and not failed:  # else its exception ends the script
            raise Explained

    line = Line(os.path.realpath(wanted.script), *lines, wanted.nth, done)
    code: Any = 0
    line.begin()
    try:
        run.main([wanted.script, *wanted.rest])
    except Explained:
        pass
    except SystemExit as error:
        code = error.code
    except BaseException:
        line.stop()
        if not found:
            print(f"explain: {miss_text(wanted, line)}", file=sys.stderr)
        raise
    line.stop()
    if not found:
        return fail(miss_text(wanted, line))
    if code not in (None, 0):
        raise SystemExit(code)
    return int(not found[0].steps)


def show(explanation: Explanation, target: str | None) -> None:
    if explanation.steps:
        print(explanation)
    else:
        print(f"explain: {explanation.title} ran no op", file=sys.stderr)
    if target:
        explanation.save(target)
        print(f"explain: {target}", file=sys.stderr)


def title_of(wanted: argparse.Namespace, source: str, lines: tuple[int, int]) -> str:
    text = " ".join(" ".join(source.splitlines()[lines[0] - 1 : lines[1]]).split())
    return f"{os.path.basename(wanted.script)}:{lines[0]}    {text}"


def miss_text(wanted: argparse.Namespace, line: Line) -> str:
    if not line.count:
        return f"{wanted.line} was never reached"
    times = f"{line.count} time{'s' * (line.count != 1)}"
    if wanted.nth:
        return f"{wanted.line} ran {times}, not {wanted.nth}"
    return f"{wanted.line} ran {times}, and ran no op"


def fail(text: str) -> int:
    print(f"explain: {text}", file=sys.stderr)
    return 1
