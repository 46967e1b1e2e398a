"""Packages that only some names need: extras of the installation, imported when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional(module: str, package: str, extra: str, user: str) -> Any:
    """A module of an optional package.

    Raises ModuleNotFoundError: what `user` needs, and which extra of tiny_torch installs it.

    >>> from tiny_torch.base.extras import optional
    >>> optional("json.decoder", "json", "none", "this example").JSONDecoder().decode("[1]")
    [1]
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{user} needs the package {package}: pip install 'tiny_torch[{extra}]'",
            name=error.name,
        ) from error


def pillow(user: str, module: str = "Image") -> Any:
    """Pillow's `Image`, or another of its modules."""
    return optional(f"PIL.{module}", "Pillow", "vision", user)
