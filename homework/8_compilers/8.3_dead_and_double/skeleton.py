"""Task 8.3: dead and double launches."""

from __future__ import annotations

Launch = tuple[str, tuple[str, ...], tuple[str, ...], str]  # kernel, reads, writes, effect


def simplify(launches: list[Launch], held: list[str]) -> list[Launch]:
    """The launches that remain without dead and double ones, in their order.

    >>> simplify([("exp", ("x",), ("a",), ""), ("neg", ("x",), ("y",), "")], ["x", "y"])
    [('neg', ('x',), ('y',), '')]
    """
    raise NotImplementedError("task 8.3: dead and double launches")
