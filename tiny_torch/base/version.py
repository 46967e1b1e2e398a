"""`torch.version`: the version of PyTorch whose API is covered, with this package's own behind it.

"2.13.0+tiny.0.1.0": scripts compare the first part, and see in the second what runs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

OWN = "0.1.0"
PARTS = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>a|alpha|b|beta|c|rc|pre|preview)[-_.]?(?P<pre_number>\d*))?"
    r"(?P<post>(?:-(?P<bare>\d+))|[-_.]?(?:post|rev|r)[-_.]?(?P<post_number>\d*))?"
    r"(?P<dev>[-_.]?dev[-_.]?(?P<dev_number>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.IGNORECASE,
)
STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1}  # and 2 for a release candidate
LAST = float("inf")


def key_of(version: str) -> tuple | None:
    """What orders versions as PEP 440 does; None for what is no version."""
    found = PARTS.fullmatch(version.strip())
    if found is None:
        return None
    release = [int(number) for number in found["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    post = int(found["bare"] or found["post_number"] or 0) if found["post"] else -1
    dev = int(found["dev_number"] or 0) if found["dev"] else LAST
    pre: tuple = (LAST,)
    if found["pre"]:
        pre = (STAGES.get(found["pre"].lower(), 2), int(found["pre_number"] or 0))
    elif post < 0 and found["dev"]:
        pre = (-1,)
    local = re.split(r"[-_.]", found["local"].lower()) if found["local"] else []
    # numbers come after words, and a longer local part after its beginning
    return release, pre, post, dev, [(p.isdigit(), int(p) if p.isdigit() else p) for p in local]


class TorchVersion(str):
    """A version that compares with versions, by their numbers: strings, and tuples of numbers.

    What is no version compares as text.
    https://pytorch.org/docs/stable/generated/torch.torch_version.TorchVersion.html

    >>> import tiny_torch as torch
    >>> torch.__version__ > "2.9", torch.__version__ >= (2, 13), torch.__version__ < "2.13.1"
    (True, True, True)
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def _compare(self, other: Any, method: str) -> Any:
        text = other
        if not isinstance(other, str) and isinstance(other, Iterable):
            text = ".".join(map(str, other))
        ours, theirs = key_of(self), key_of(str(text))
        if ours is None or theirs is None:
            return getattr(str, method)(self, other)
        return getattr(tuple, method)(ours, theirs)


def comparing(name: str) -> Callable[[TorchVersion, Any], Any]:
    return lambda self, other: self._compare(other, name)


for _name in ("__eq__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(TorchVersion, _name, comparing(_name))

__version__ = TorchVersion(f"2.13.0+tiny.{OWN}")

cuda: str | None = None
hip: str | None = None
