"""A module called with other parameters than its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tiny_torch import _core
from tiny_torch.base.modes import Scope
from tiny_torch.nn import Module
from tiny_torch.tensor import Tensor

ABSENT: Any = object()


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """module(*args, **kwargs) with other tensors in place of its parameters and buffers.

    `tie_weights`: a tensor given for one of several names of the same parameter stands for all.
    `strict`: RuntimeError unless the names are exactly the module's. Raises ValueError for a name
    in two dicts, or for different tensors under tied names.
    https://pytorch.org/docs/stable/generated/torch.func.functional_call.html

    >>> import tiny_torch as torch
    >>> layer = torch.nn.Linear(1, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 1)}, torch.tensor([3.0]))
    tensor([3.])
    """
    tensors = merge(parameter_and_buffer_dicts)
    own = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    swap = tie(own, tensors) if tie_weights else dict(tensors)
    if strict:
        check_names(module, own, swap)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    written = parameter_and_buffer_dicts if isinstance(parameter_and_buffer_dicts, dict) else {}
    return _core.within(Exchanged(module, swap, written), module, *args, **(kwargs or {}))


def merge(dicts: Any) -> dict[str, Tensor]:
    """One dict of several; ValueError where a name is in two."""
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for d in dicts for name in d]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {name: tensor for d in dicts for name, tensor in d.items()}


def tie(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What is given, under all the names of the tensor that it replaces."""
    names: dict[int, list[str]] = {}
    for name, tensor in own.items():
        names.setdefault(id(tensor), []).append(name)
    result = dict(given)
    for name, tensor in given.items():
        for other in names[id(own[name])] if name in own else ():
            if given.get(other, tensor) is not tensor:
                raise ValueError(
                    "functional_call got multiple values for keys "
                    f"{sorted(names[id(own[name])])}, which are tied. Consider using "
                    "tie_weights=False"
                )
            result[other] = tensor
    return result


def check_names(module: Module, own: Mapping, given: Mapping) -> None:
    lines = [
        f"{what} key(s): {', '.join(map(repr, sorted(keys)))}."
        for what, keys in (
            ("Unexpected", set(given) - set(own)),
            ("Missing", set(own) - set(given)),
        )
        if keys
    ]
    if lines:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(lines)
        )


class Exchanged(Scope):
    """A module with other tensors. What it has assigned instead stands in `written` afterwards."""

    def __init__(self, module: Module, swap: Mapping[str, Any], written: dict[str, Any]) -> None:
        self.module, self.swap, self.written = module, swap, written

    def current(self) -> dict[str, Any]:
        return {}

    def begin(self) -> None:
        self.before: dict[str, Any] = {}
        for name, tensor in self.swap.items():
            exchange(self.module, name, tensor, self.before)

    def restore(self, before: Any) -> None:
        for name in list(self.before):
            now = exchange(self.module, name, self.before[name])
            if now is not self.before[name] and name in self.written:
                self.written[name] = now
            del self.before[name]


def exchange(module: Module, path: str, tensor: Any, found: dict[str, Any] | None = None) -> Any:
    """Puts a tensor at a dotted path, and answers what was there; ABSENT stands for nothing.

    `found` has that, too, under the path, before it is replaced.
    """
    prefix, _, name = path.rpartition(".")
    owner = module.get_submodule(prefix)
    found = {} if found is None else found
    if tensor is not ABSENT and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    tables: tuple[dict[str, Any], ...] = (owner._parameters, owner._buffers)
    for table in tables:
        if name in table:
            before = found[path] = table[name]
            table[name] = tensor
            return before
    before = getattr(owner, name, ABSENT)
    if before is not ABSENT and before is not None and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    found[path] = before
    if tensor is not ABSENT:
        setattr(owner, name, tensor)
    elif before is not ABSENT:
        delattr(owner, name)
    return before


__all__ = ["functional_call"]
