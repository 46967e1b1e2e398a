"""Some random programs (random_programs.py); and that their runner sees what it is there to see."""

import ast
import json

import pytest
from programs.random_calls import Program
from programs.random_values import LargeArguments
from random_programs import CALLS, CPU_LIMIT, batch, death, needed, parsed, start

CRASH = "import ctypes; ctypes.string_at(0)"


def lines_of(seed):
    """A program's lines, run in this process."""
    names, lines = {"__name__": "program"}, []

    def run(line):
        lines.append(line)
        try:
            exec(line, names)
        except Exception:
            return False
        return True

    program = Program(seed, names, run)
    for _ in range(4):
        program.call()
    return lines


def test_large_arguments_have_lines_of_their_own():
    lines = []
    program = Program(0, {"__name__": "program"}, lambda line: not lines.append(line))
    tree = ast.parse("r = torch.set_rng_state(torch.zeros(2097152)); torch.zeros(4194304)")
    assert LargeArguments(program, tree).names == ["t1"]
    assert lines[1:] == ["t1 = torch.zeros(2097152)"]
    assert ast.unparse(tree) == "r = torch.set_rng_state(t1)\ntorch.zeros(4194304)"


@pytest.mark.filterwarnings("ignore")
def test_a_program_follows_from_its_seed():
    assert lines_of(5) == lines_of(5) != lines_of(6)


def test_some_programs(tmp_path):
    found = list(batch(range(40), CALLS, tmp_path))
    assert not [(f.seed, f.why, f.lines) for f in found]


@pytest.mark.slow
def test_many_programs(tmp_path):
    found = list(batch(range(1000, 3000), CALLS, tmp_path))
    assert not [(f.seed, f.why, f.lines) for f in found]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (CRASH, "dies with -11"),
        ("while True: F.relu(torch.ones(3))", "hangs"),
        ("b = b'x' * (2**30 + 2**28)", "memory grew"),
        (
            "from tiny_torch.functions.shape.views import flatten; flatten(3)",
            "AttributeError: 'int' object",
        ),
        ("raise SystemError('inside')", "SystemError: inside"),
    ],
)
def test_what_fails(line, why, tmp_path):
    lines = ["import tiny_torch as torch; F = torch.nn.functional", "x = torch.ones(3)", line]
    limit = 2 if why == "hangs" else CPU_LIMIT
    found, said, code = start(["--lines", json.dumps(lines)], tmp_path / "notes", seconds=limit)
    assert why in (found[0][1] if found else death(said, code))


def test_a_crash_is_blamed_on_its_line(tmp_path):
    start(["--lines", json.dumps(["x = 1", CRASH, "x = 2"])], tmp_path / "notes")
    notes = parsed((tmp_path / "notes").read_text())
    assert [note["line"] for note in notes if "line" in note] == ["x = 1", CRASH]


def test_a_program_is_cut_to_what_its_last_line_needs():
    lines = ["import math", "a = 1", "b = a", "c = [2]", "d = c", "c.append(a)", "print(c)"]
    assert needed(lines) == ["import math", "a = 1", "c = [2]", "c.append(a)", "print(c)"]
