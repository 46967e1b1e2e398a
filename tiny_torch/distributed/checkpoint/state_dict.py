"""State dicts of a model and its optimizers under the model's own names, however it is wrapped.

`get_state_dict` leaves out what DistributedDataParallel puts before a name, and names the states of
an optimizer by parameters, not by numbers. So what one process saves, several load, and the other
way round. With `full_state_dict` parts of sharded tensors are put together.
https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import tiny_torch as torch
from tiny_torch.distributed.collectives import broadcast
from tiny_torch.distributed.errors import refuse
from tiny_torch.distributed.fsdp.fully_shard import FSDPModule
from tiny_torch.distributed.objects import broadcast_object_list
from tiny_torch.distributed.pieces import mark, piece_of, whole_of
from tiny_torch.distributed.world import get_rank
from tiny_torch.nn.modules import Module
from tiny_torch.nn.modules._parts.state_dict import _IncompatibleKeys
from tiny_torch.nn.parallel import DataParallel, DistributedDataParallel

Tensor = torch.Tensor
WRAPPERS = (DataParallel, DistributedDataParallel)


@dataclass
class StateDictOptions:
    """What the functions of this module do.

    `full_state_dict`: whole tensors instead of parts; with `cpu_offload` on the CPU, and at rank 0
    only. `broadcast_from_rank0`: what is set is rank 0's, and others need not have it.
    `ignore_frozen_params`: none that requires no gradient. `strict`: as load_state_dict.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def check_options(options: StateDictOptions | None, submodules: Any = None) -> StateDictOptions:
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    refuse(
        "StateDictOptions",
        submodules=(submodules, None),
        keep_submodule_prefixes=(options.keep_submodule_prefixes, True),
        flatten_optimizer_state_dict=(options.flatten_optimizer_state_dict, False),
        dsd_fqn_modifiers=(options.dsd_fqn_modifiers, "_fqn_modifiers"),
    )
    return options


def plain_name(model: Module) -> Callable[[str], str]:
    """A function that leaves the wrappers' "module." out of a name."""
    prefixes = [
        f"{path}.module." if path else "module."
        for path, module in model.named_modules()
        if isinstance(module, WRAPPERS)
    ]

    def plain(name: str) -> str:
        for prefix in reversed(prefixes):  # the innermost first: the others stay as they are
            if name.startswith(prefix):
                name = prefix.removesuffix("module.") + name.removeprefix(prefix)
        return name

    return plain


def value_for(tensor: Any, options: StateDictOptions) -> Any:
    """A value as the options ask for it."""
    if not isinstance(tensor, Tensor):
        return tensor
    if options.full_state_dict:
        tensor = whole_of(tensor)
    return mark(tensor.cpu(), piece_of(tensor)) if options.cpu_offload else tensor


def is_elsewhere(options: StateDictOptions) -> bool:
    """Whether only rank 0 gets what is asked for, and this is another."""
    alone = options.full_state_dict and options.cpu_offload and torch.distributed.is_initialized()
    return alone and torch.distributed.get_rank() != 0


def get_model_state_dict(
    model: Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The model's state dict, under the names that it has without wrappers."""
    options = check_options(options, submodules)
    plain = plain_name(model)
    frozen = {plain(name) for name, p in model.named_parameters() if not p.requires_grad}
    left_out = frozen if options.ignore_frozen_params else set()
    found = {plain(name): value for name, value in model.state_dict().items()}
    found = {n: value_for(value, options) for n, value in found.items() if n not in left_out}
    return {} if is_elsewhere(options) else found


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> _IncompatibleKeys:
    """Loads what `get_model_state_dict` gave, whole tensors or parts."""
    options = check_options(options)
    plain = plain_name(model)
    known = {plain(name): (name, value) for name, value in model.state_dict().items()}
    taken = take(model_state_dict, lambda key: known[key][1] if key in known else None, options)
    named = {known[key][0] if key in known else key: value for key, value in taken.items()}
    return model.load_state_dict(named, strict=options.strict)


def fit(value: Any, ours: Any) -> Any:
    """A whole tensor cut to our part, where we have one; else the value."""
    if not isinstance(value, Tensor) or not isinstance(ours, Tensor):
        return value
    piece = piece_of(ours)
    if piece is None or piece_of(value) is not None or tuple(value.shape) != piece.shape:
        return value
    return value[piece.place(ours)]


@dataclass
class Coming:
    """A tensor that rank 0 is about to send."""

    shape: Any
    dtype: Any


def coming(value: Any) -> Any:
    """What rank 0 tells of a value before it sends the tensors."""
    return Coming(value.shape, value.dtype) if isinstance(value, Tensor) else value


def take(
    values: dict[str, Any], ours: Callable[[str], Any], options: StateDictOptions
) -> dict[str, Any]:
    """The values, or rank 0's, cut to our parts; no rank but 0 holds two whole tensors at once."""
    if not options.broadcast_from_rank0:
        return {key: fit(value, ours(key)) for key, value in values.items()}
    told = [{key: coming(value) for key, value in values.items()}]
    broadcast_object_list(told, 0)
    taken = {}
    for key, value in told[0].items():
        if isinstance(value, Coming):
            whole = torch.empty(value.shape, dtype=value.dtype)
            if get_rank() == 0:
                whole = values[key].detach().cpu().contiguous()
            broadcast(whole, 0)
            part = fit(whole, ours(key))
            value = part if part is whole else part.clone()
        taken[key] = value
    return taken


# -------------------------------------------------------------------------------------- optimizers


Optimizers = torch.optim.Optimizer | Iterable[torch.optim.Optimizer]


def list_of(optimizers: Optimizers) -> list[torch.optim.Optimizer]:
    return [optimizers] if isinstance(optimizers, torch.optim.Optimizer) else list(optimizers)


def names_of(model: Module) -> dict[int, str]:
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()  # the parts are what optimizers know
    plain = plain_name(model)
    return {id(p): plain(name) for name, p in model.named_parameters()}


def make_state(optimizer: torch.optim.Optimizer) -> None:
    """Gives a new optimizer the state that its first step makes: one with lr 0, without gradients.

    As in PyTorch, not while there are gradients.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in parameters):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    for p in parameters:
        if p.requires_grad:
            p.grad = torch.zeros_like(p)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = torch.tensor(0.0) if isinstance(rate, Tensor) else 0.0
    optimizer.step(closure=None)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The optimizers' states and groups, with names of parameters in the place of numbers.

    A new optimizer gets the state of its first step: `checkpoint.load` has something to fill.
    KeyError for a parameter that the model does not have.
    """
    options = check_options(options, submodules)
    names = names_of(model)
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in list_of(optimizers):
        make_state(optimizer)
        for group in optimizer.param_groups:
            params = [names[id(p)] for p in group["params"]]
            groups.append({**{k: v for k, v in group.items() if k != "params"}, "params": params})
            for p in group["params"]:
                if p in optimizer.state:
                    state[names[id(p)]] = {
                        key: value_for(of_parameter(value, p), options)
                        for key, value in optimizer.state[p].items()
                    }
    return {} if is_elsewhere(options) else {"state": state, "param_groups": groups}


def of_parameter(value: Any, parameter: Tensor) -> Any:
    """A value of a parameter's state, marked as the same part if it has the same shape."""
    if isinstance(value, Tensor) and value.shape == parameter.shape:
        return mark(value, piece_of(parameter))
    return value


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizers,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Loads what `get_optimizer_state_dict` gave; each optimizer takes what is its own."""
    options = check_options(options)
    names = names_of(model)
    told, states = [optim_state_dict.get("param_groups", [])], optim_state_dict.get("state", {})
    if options.broadcast_from_rank0:
        broadcast_object_list(told, 0)
    for optimizer in list_of(optimizers):
        numbers: dict[str, int] = {}
        state, groups = {}, []
        saved = {tuple(group["params"]): group for group in told[0]}
        for group in optimizer.param_groups:
            ours = [names[id(p)] for p in group["params"]]
            if tuple(ours) not in saved:
                raise ValueError("loaded state dict has a different number of parameter groups")
            for name, p in zip(ours, group["params"], strict=True):
                number = numbers.setdefault(name, len(numbers))
                theirs = take(states.get(name, {}), lambda _: p, options)  # noqa: B023
                if theirs:
                    state[number] = theirs
            found = {k: v for k, v in saved[tuple(ours)].items() if k != "params"}
            groups.append({**found, "params": [numbers[name] for name in ours]})
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def get_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state dicts of a model and its optimizers.

    >>> import tiny_torch as torch
    >>> from tiny_torch.distributed.checkpoint.state_dict import get_state_dict
    >>> net = torch.nn.DataParallel(torch.nn.Linear(1, 1))
    >>> model, optimizer = get_state_dict(net, torch.optim.SGD(net.parameters(), momentum=0.9))
    >>> list(model), list(optimizer["state"])
    (['weight', 'bias'], ['weight', 'bias'])
    """
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> _IncompatibleKeys:
    """Loads what `get_state_dict` gave."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip
