"""Makes what a teacher edits: a course with all our tasks, and a task that is a working example."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from tiny_torch.tools.homework.course import FILE, tasks_to_choose
from tiny_torch.tools.homework.task import Task, all_tasks

TRACK = "own"  # of a number whose track has no folder yet


def make_course(folder: Path) -> Path:
    """A course of all our tasks, a line each, to delete from and reorder; its file.

    Raises FileExistsError where there is one.
    """
    path = folder / FILE
    lines = [
        "# number points",
        *(f"{t.number} {t.points}  # {t.title}" for t in all_tasks().values()),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path


def make_task(course: Path, number: str, title: str, kind: str) -> Path:
    """A folder with a task that `prove` finds right, listed in the course.

    Raises ValueError for a number that is taken or a title without a name, FileExistsError for a
    folder that is there.
    """
    if not re.fullmatch(r"[1-9]\d*\.[1-9]\d*", number):
        raise ValueError(f"a task's number is as 9.1, got {number!r}")
    if number in tasks_to_choose(course):
        raise ValueError(f"there is a task {number} already; homework list shows the numbers")
    name = symbol_of(title)
    track = number.partition(".")[0]
    folders = sorted(path for path in course.glob(f"{track}_*") if path.is_dir())
    folder = (folders or [course / f"{track}_{TRACK}"])[0] / f"{number}_{name}"
    folder.mkdir(parents=True)
    for file, text in files(number, title, name, kind).items():
        (folder / file).write_text(text, encoding="utf-8")
    path = course / FILE
    listed = path.read_text(encoding="utf-8")
    end = "" if listed.endswith("\n") or not listed else "\n"
    path.write_text(f"{listed}{end}{number}\n", encoding="utf-8")
    return folder


def symbol_of(title: str) -> str:
    """A function's name, from the title's words."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    name = "_".join(word for word in words if word not in ("a", "an", "the", "of"))
    if not name.isidentifier() or keyword.iskeyword(name) or not title.isprintable():
        raise ValueError(f"a title begins with a word, as in 'Running mean', got {title!r}")
    if set(title) & set('"\\'):
        raise ValueError(f"a title has no quotes and no backslash, got {title!r}")
    return name


def untouched_files(task: Task) -> list[str]:
    """Files that are still the example's."""
    made = files(task.number, task.title, task.name, task.language)
    return [
        file
        for file, text in made.items()
        if (task.folder / file).is_file() and (task.folder / file).read_text("utf-8") == text
    ]


def files(number: str, title: str, name: str, kind: str) -> dict[str, str]:
    """The example of a kind, by file."""
    return {
        file: text.lstrip("\n")
        .replace("NUMBER", number)
        .replace("TITLE", title)
        .replace("NAME", name)
        for file, text in (PYTHON if kind == "python" else CPP).items()
    }


# ---- the examples ------------------------------------------------------------------------------

PAGE = """
+++
title: TITLE
points: 10
minutes: 30
language: LANGUAGE
symbol: NAME
replaces: REPLACES
+++

# NUMBER TITLE

## Idea

IDEA

## Contract

CONTRACT

## Hints

HINTS

## Common mistakes

MISTAKES

## Further reading

FURTHER
"""


def filled_page(**parts: str) -> str:
    text = PAGE
    for part, words in parts.items():
        text = text.replace(part, words)
    return text


PYTHON = {
    "task.md": filled_page(
        LANGUAGE="python",
        REPLACES="-",
        IDEA="A mean that is asked for again and again need not be summed anew each time.",
        CONTRACT="`NAME(numbers)` answers a list: item i is the mean of `numbers[:i + 1]`.\n\n"
        "- `numbers` is a list of floats, perhaps empty, and is not changed.",
        HINTS="Keep the sum of the numbers that you have passed.\n\n"
        "How many numbers are in the sum at item i?",
        MISTAKES="- Dividing by i, not by i + 1.",
        FURTHER="D. E. Knuth, *The Art of Computer Programming*, volume 2, section 4.2.2.",
    ),
    "skeleton.py": '''
"""Task NUMBER: TITLE."""

from __future__ import annotations


def NAME(numbers: list[float]) -> list[float]:
    """The mean of each beginning of a list.

    >>> NAME([1.0, 3.0, 8.0])
    [1.0, 2.0, 4.0]
    """
    raise NotImplementedError("task NUMBER: TITLE")
''',
    "solution.py": """
from __future__ import annotations


def NAME(numbers: list[float]) -> list[float]:
    means, total = [], 0.0
    for i, number in enumerate(numbers):
        total += number
        means.append(total / (i + 1))
    return means
""",
    "call.py": '''
def call(student, numbers):
    """What the student's process runs for a case."""
    return {"means": student(numbers), "numbers": numbers}
''',
    "answers.py": '''
import numpy as np

TOLERANCE = 1e-6


def cases(rng):
    """(name, arguments of call), the simplest first; `rng` is another one for each check."""
    yield "one number", {"numbers": [2.0]}
    yield "two numbers", {"numbers": [2.0, 4.0]}
    yield "no numbers", {"numbers": []}
    yield "below 0", {"numbers": [-1.0, 0.0, -5.0]}
    for count in (5, 50):
        yield f"{count} numbers", {"numbers": rng.standard_normal(count).tolist()}


def answer(numbers):
    """What call is to answer, not by the student's way."""
    means = [float(np.mean(numbers[: i + 1])) for i in range(len(numbers))]
    return {"means": means, "numbers": numbers}


def why(got, expected, numbers):
    """The rule that a wrong answer breaks."""
    if got["numbers"] != numbers:
        return "the list is not to be changed"
    return "item i is the mean of i + 1 numbers"
''',
    "mutants.py": """
MUTANTS = {  # what is wrong: (a piece of the solution, what stands there instead)
    "divides by i": ("(i + 1)", "max(i, 1)"),
    "the sum begins with 1": ("total = [], 0.0", "total = [], 1.0"),
    "the first number is left out": ("enumerate(numbers)", "enumerate(numbers[1:])"),
    "changes the list": ("    return means", "    numbers.clear()\\n    return means"),
}
""",
}

CPP = {
    "task.md": filled_page(
        LANGUAGE="c++",
        REPLACES="softmax\nimports: algorithm cmath cstdint",
        IDEA="Scores of any size become shares that sum to 1.",
        CONTRACT="```cpp\nvoid NAME(const float* x, float* y, int64_t rows, int64_t size);\n```\n\n"
        "y[r, i] = exp(x[r, i]) / the sum of exp over row r. x and y are dense, of `rows` rows of "
        "`size`\nelements. No exp overflows, whatever the scores.",
        HINTS="Three passes over a row: its maximum, the sum, the shares.\n\n"
        "exp(x - m) / the sum of exp(x - m) is the same for every m.",
        MISTAKES="- One sum for all rows.\n- exp of a large score.",
        FURTHER="I. Goodfellow, Y. Bengio and A. Courville, *Deep Learning*, section 4.1 (2016).",
    ),
    "skeleton.cpp": """
// Task NUMBER: TITLE.
#include <cstdint>

// y[r, i] = exp(x[r, i]) / the sum of exp over row r; no exp overflows.
void NAME(const float* x, float* y, int64_t rows, int64_t size) {
#error "NotImplementedError: task NUMBER: TITLE"
}
""",
    "solution.cpp": """
#include <algorithm>
#include <cmath>
#include <cstdint>

void NAME(const float* x, float* y, int64_t rows, int64_t size) {
  for (int64_t r = 0; r < rows; ++r, x += size, y += size) {
    if (size == 0) continue;
    const float most = *std::max_element(x, x + size);
    float sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += y[i] = std::exp(x[i] - most);
    for (int64_t i = 0; i < size; ++i) y[i] /= sum;
  }
}
""",
    "glue.cpp": """
// Gives the student's function to the framework, in the place of its kernel `softmax`.
#include "4_kernels/glue.h"

#include "core/tables/softmax.h"
#include STUDENT

using Softmax = decltype(tt::SoftmaxTable::softmax);
TT_REPLACED(Softmax, softmax)

namespace {

void run(const tt::SoftmaxArgs& args) {
  const tt::Lines& lines = args.lines;
  if (args.log || lines.compute != tt::DType::Float32) return tt_replaced_softmax(args);
  glue::through_lines<float>(
      lines, [&](const float* x, float* y) { NAME(x, y, lines.count, lines.size); });
}

}  // namespace

TT_OVERRIDE(SoftmaxTable, softmax, run)
""",
    "entry.cpp": """
// What call.py calls by its name here: pointers, int64_t and double.
#include STUDENT

ENTRY void NAME_entry(const float* x, float* y, int64_t rows, int64_t size) {
  NAME(x, y, rows, size);
}
""",
    "call.py": '''
import numpy as np


def call(student, x):
    """`student` is another process, with these arrays and no more; it answers them afterwards."""
    return student("NAME_entry", x, np.full_like(x, np.nan), *x.shape)[1]
''',
    "answers.py": '''
import numpy as np

TOLERANCE = 1e-5


def cases(rng):
    """(name, arguments of call), the simplest first; `rng` is another one for each check."""
    yield "one element", {"x": np.float32([[3]])}
    yield "a row", {"x": np.float32([[1, 2, 3]])}
    yield "two rows", {"x": np.float32([[1, 2, 3], [3, 0, 0]])}
    yield "large scores", {"x": np.float32([[1000, 1001]])}
    yield "no rows", {"x": np.zeros((0, 3), np.float32)}
    for rows, size in rng.integers(1, 60, (2, 2)):
        yield "larger", {"x": rng.standard_normal((rows, size)).astype(np.float32)}


def answer(x):
    """What call is to answer, not by the student's way."""
    powers = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True, initial=-np.inf))
    return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)


def why(got, expected, x):
    """The rule that a wrong answer breaks."""
    if not np.isfinite(got).all():
        return "exp overflows: the row's maximum is subtracted first"
    return "the shares of a row sum to 1" if not np.allclose(got.sum(-1), 1) else ""
''',
    "mutants.py": """
MUTANTS = {  # what is wrong: (a piece of the solution, what stands there instead)
    "no maximum": ("x[i] - most", "x[i]"),
    "one sum for all rows": ("float sum = 0;", "static float sum = 0;"),
    "one element too many": ("i < size; ++i) sum", "i <= size; ++i) sum"),
}
""",
}
