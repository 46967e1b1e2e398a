"""`torch.nn.modules.utils`: sizes as tuples, which layers of others import, and names of states."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple]:
    """A function that repeats a number n times, and makes a tuple of what is iterable."""

    def parse(x: Any) -> tuple:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple:
    """The elements from the last to the first, each n times: padding as `pad` takes it."""
    return tuple(x for x in reversed(tuple(t)) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes a prefix off the keys that have it, in place: "module." of `DataParallel`.

    https://pytorch.org/docs/stable/generated/torch.nn.modules.utils.consume_prefix_in_state_dict_if_present.html

    >>> import tiny_torch as torch
    >>> state = {"module.weight": 3, "bias": 4}
    >>> torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'bias': 4, 'weight': 3}
    """
    tables = [state_dict, *([state_dict._metadata] if hasattr(state_dict, "_metadata") else [])]
    for table in tables:
        for key in [key for key in table if key.startswith(prefix)]:
            table[key[len(prefix) :]] = table.pop(key)
    for table in tables[1:]:  # "module" itself, whose metadata are the whole's
        if prefix[:-1] in table:
            table[""] = table.pop(prefix[:-1])
