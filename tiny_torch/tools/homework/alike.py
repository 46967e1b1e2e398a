"""Pairs of students whose files of a task are nearly the same.

A file is the set of its runs of GRAM tokens, without comments and strings, where all names that a
student chooses are one name; runs that the skeleton has do not count. Two files are alike by how
much of the smaller set the other one has, so that neither new names, another order of functions
nor added code hides a copy: S. Schleimer, D. S. Wilkerson and A. Aiken, *Winnowing: local
algorithms for document fingerprinting* (2003), without the choice of a few runs.
"""

from __future__ import annotations

import builtins
import keyword
import re
from itertools import combinations
from typing import NamedTuple

from tiny_torch.tools.homework.task import Task

GRAM = 8  # tokens
LEAST = 100  # runs of the smaller file: a shorter solution is much like another by itself
SHARE = 0.8
KEPT = {
    *keyword.kwlist, *dir(builtins),
    "auto", "bool", "case", "char", "const", "constexpr", "do", "double", "int32_t", "int64_t",
    "namespace", "operator", "size_t", "static", "struct", "switch", "template", "this", "typename",
    "uint64_t", "unsigned", "using", "void",
}  # fmt: skip
TOKEN = re.compile(
    r"""(?P<string>\"{3}.*?(?:\"{3}|\Z)|'{3}.*?(?:'{3}|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
    |(?P<number>\.?[0-9][\w.]*)
    |(?P<name>(?:(?:\.|->|::)\s?)?[A-Za-z_]\w*)
    |(?P<space>\s+)
    |(?P<other>.)""",
    re.X | re.S,
)
COMMENT = {"python": r"\#[^\n]*", "c++": r"//[^\n]*|/\*.*?(?:\*/|\Z)"}


class Pair(NamedTuple):
    """Two students, and how much of the one's file of a task the other's has."""

    task: str
    one: str
    other: str
    share: float


def pairs(texts: dict[str, dict[str, str]], tasks: dict[str, Task]) -> list[Pair]:
    """Pairs among files {student: {task: text}}, the most alike first."""
    found = []
    for number, task in tasks.items():
        given = runs(task.skeleton, task.language)
        files = {
            student: runs(by_task[number], task.language) - given
            for student, by_task in texts.items()
            if number in by_task
        }
        for (one, a), (other, b) in combinations(files.items(), 2):
            least = min(len(a), len(b))
            share = len(a & b) / least if least >= LEAST else 0
            if share >= SHARE:
                found.append(Pair(number, one, other, share))
    return sorted(found, key=lambda pair: -pair.share)


def runs(text: str, language: str) -> set[int]:
    """Hashes of the runs of tokens.

    >>> one, other = "def f(x): return x + 1  # one", "def g(y):\\n return y + 1"
    >>> runs(one, "python") == runs(other, "python")
    True
    """
    text = re.sub(COMMENT["python" if language == "python" else "c++"], " ", text, flags=re.S)
    tokens = []
    for token in TOKEN.finditer(text):
        word = token[0]
        if token.lastgroup == "name":
            tokens.append(word if word in KEPT or not word[0].isidentifier() else "name")
        elif token.lastgroup in ("number", "other"):
            tokens.append(word)
    return {hash(tuple(tokens[i : i + GRAM])) for i in range(len(tokens) - GRAM + 1)}
