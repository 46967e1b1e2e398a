"""What is public: torch's functions and Tensor's methods, put here where they are defined.

`@function` makes a definition torch's, `@method` Tensor's, `@function_and_method` both; each by
another name than its own if that is given: `@method("permute")`. methods.py publishes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

FUNCTIONS: dict[str, Any] = {}  # torch's
METHODS: dict[str, Any] = {}  # Tensor's
Definition = TypeVar("Definition", bound=Callable)


class Publisher:
    """A decorator: puts a definition into tables."""

    def __init__(self, *tables: dict[str, Any]):
        self.tables = tables

    @overload
    def __call__(self, name: str, /) -> Callable[[Definition], Definition]: ...
    @overload
    def __call__(self, definition: Definition, name: str = "", /) -> Definition: ...
    def __call__(self, definition: Any, name: str = "", /) -> Any:
        if isinstance(definition, str):
            return lambda function: self(function, definition)
        for table in self.tables:
            table[name or definition.__name__] = definition
        return definition


function, method = Publisher(FUNCTIONS), Publisher(METHODS)
function_and_method = Publisher(FUNCTIONS, METHODS)


def quick(
    first: Any, count: int = 1, numbers: bool = False, sizes: bool = False
) -> Callable[[Definition], Definition]:
    """What answers a call of `count` arguments by position in the place of the function.

    It is an op, if all of them are tensors, or behind the first, numbers, if `numbers`; or of a
    tensor and any number of `sizes`. Or it is a function of C++, which answers None where the
    function has to.
    """
    takes = 3 if sizes else int(numbers) if isinstance(first, type) else 2

    def mark(function: Definition) -> Definition:
        function.quick = first, count, takes  # type: ignore[attr-defined]
        return function

    return mark
