"""What an operator's schema says: `name(Tensor x, int n=2, *, float? eps=None) -> Tensor`.

https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

CLOSING = {"(": ")", "[": "]"}


def split_name(qualname: str) -> tuple[str, str]:
    """The namespace and the name; ValueError where there are not both."""
    ns, found, name = qualname.partition("::")
    if not (ns and found and name) or "::" in name:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The '
            "qualname passed to the torch.library APIs must consist of a namespace and a name, "
            "e.g. aten::sin"
        )
    return ns, name


def split_schema(schema: str) -> tuple[str, inspect.Signature, bool]:
    """The name, the parameters, and whether an argument is written to.

    RuntimeError for what is no schema.
    """
    name, found, behind = schema.partition("(")
    if not found:
        raise RuntimeError("Tried to parse a function schema but only the operator name was given")
    parts, end = split_arguments(behind)
    if "->" not in behind[end:]:
        raise RuntimeError(f"{schema}: a schema is name(arguments) -> results")
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for part in parts:
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        declaration, _, default = part.partition("=")
        of_type, _, parameter = declaration.strip().rpartition(" ")
        if not (of_type and parameter.isidentifier()):
            raise RuntimeError(f"{schema}: {part!r} is no argument: a type and a name are expected")
        value = value_of(default.strip()) if default else inspect.Parameter.empty
        if of_type.startswith(("Tensor(", "Tensor!")):  # it is written to
            of_type = "Tensor"
        parameters.append(
            inspect.Parameter(parameter, kind, default=value, annotation=of_type.strip())
        )
    try:
        signature = inspect.Signature(parameters)
    except ValueError as error:
        raise RuntimeError(f"{schema}: {error}") from None
    return name.strip(), signature, any("!" in part for part in parts)


def split_arguments(text: str) -> tuple[list[str], int]:
    """What stands between commas up to the closing bracket, and where that is."""
    open_brackets, parts, begin = [")"], [], 0
    for place, letter in enumerate(text):
        if letter in CLOSING:
            open_brackets.append(CLOSING[letter])
        elif letter == open_brackets[-1]:
            open_brackets.pop()
        if not open_brackets or (letter == "," and len(open_brackets) == 1):
            parts.append(text[begin:place].strip())
            begin = place + 1
        if not open_brackets:
            return [part for part in parts if part], place
    raise RuntimeError(f"...({text}: the bracket of a schema's arguments is not closed")


def value_of(text: str) -> Any:
    """A default: a Python value; a word such as `contiguous_format` is itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
