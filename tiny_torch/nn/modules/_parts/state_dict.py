"""The part of Module that saves its state to a flat dict and loads it again.

Keys are dotted paths of parameters and persistent buffers; `_metadata` carries each module's
version. Writing files is not done here.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from tiny_torch import _core
from tiny_torch.autograd import no_grad
from tiny_torch.base.hooks import RemovableHandle, add_hook
from tiny_torch.nn.parameter import Parameter
from tiny_torch.tensor import Tensor

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` returns: the keys that one side has and the other lacks."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StateDict:
    """A part of Module: `state_dict`, `load_state_dict`, their hooks, what subclasses override."""

    if TYPE_CHECKING:
        _parameters: dict[str, Parameter | None]
        _buffers: dict[str, Tensor | None]
        _non_persistent_buffers_set: set[str]
        _modules: dict[str, Any]
        _state_dict_hooks: OrderedDict[int, Callable]
        _state_dict_pre_hooks: OrderedDict[int, Callable]
        _load_state_dict_pre_hooks: OrderedDict[int, Callable]
        _load_state_dict_post_hooks: OrderedDict[int, Callable]

    T_destination = TypeVar("T_destination", bound=dict[str, Any])

    _version: int = 1

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """All parameters and persistent buffers by dotted name, detached unless `keep_vars`.

        The tensors share memory with the module; a parameter with two names is there twice.
        `prefix` comes before every name. Positional arguments (destination, prefix, keep_vars)
        still work and warn.
        Source: PyTorch, torch.nn.Module.state_dict.

        >>> import tiny_torch as torch
        >>> list(torch.nn.Linear(2, 3).state_dict(prefix="head."))
        ['head.weight', 'head.bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead.",
                FutureWarning,
                stacklevel=2,
            )
            named = (destination, prefix, keep_vars)
            destination, prefix, keep_vars = args + named[len(args) :]
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata

        if self._state_dict_pre_hooks:
            for hook in tuple(self._state_dict_pre_hooks.values()):
                hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        if self._state_dict_hooks:
            for hook in tuple(self._state_dict_hooks.values()):
                answer = hook(self, destination, prefix, metadata)
                if answer is not None and type(hook) is not _Replacing:
                    raise RuntimeError("state_dict post-hook must return None")
                destination = destination if answer is None else answer
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write this module's own state, without its children's; subclasses may override it."""
        for name, value in self._persistent_state().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not StateDict.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _persistent_state(self) -> dict[str, Tensor]:
        state: dict[str, Tensor] = {
            name: value for name, value in self._parameters.items() if value is not None
        }
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                state[name] = value
        return state

    def get_extra_state(self) -> Any:
        """Further state to save with the module; a subclass that has some overrides it.

        Raises RuntimeError where it is not overridden.
        """
        return _refuse_extra_state(self, "get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave; a subclass that has extra state overrides it.

        Raises RuntimeError where it is not overridden.
        """
        _refuse_extra_state(self, "set_extra_state")

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the values of `state_dict` into this module and its descendants.

        With `assign` the module takes the given tensors themselves instead of copying from them.
        Raises TypeError unless `state_dict` is a mapping; RuntimeError, naming every problem, for a
        shape that differs and, where `strict`, for missing and unexpected keys.
        Source: PyTorch, torch.nn.Module.load_state_dict.

        >>> import tiny_torch as torch
        >>> torch.nn.Linear(2, 3).load_state_dict(torch.nn.Linear(2, 3).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)  # hooks and overrides may change it
        if metadata is not None:
            state._metadata = metadata
        keys = _IncompatibleKeys([], [])
        problems: list[str] = []
        self._load_tree(state, "", metadata or {}, assign, keys, problems)

        if strict:
            for kind, names in (("Unexpected", keys[1]), ("Missing", keys[0])):
                if names:
                    listed = ", ".join(f'"{name}"' for name in names)
                    problems.insert(0, f"{kind} key(s) in state_dict: {listed}. ")
        if problems:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(
                    type(self).__name__, "\n\t".join(problems)
                )
            )
        return keys

    def _load_tree(
        self,
        state: Any,
        prefix: str,
        metadata: Mapping[str, Any],
        assign: bool,
        keys: _IncompatibleKeys,
        problems: list[str],
    ) -> None:
        """Load this module, then its children, each from the entries under its own prefix."""
        local = dict(metadata.get(prefix[:-1], {}))
        if assign:
            local["assign_to_params_buffers"] = True
        self._load_from_state_dict(state, prefix, local, True, *keys, problems)
        for name, child in self._modules.items():
            if child is not None:
                start = f"{prefix}{name}."
                below = OrderedDict((k, v) for k, v in state.items() if k.startswith(start))
                child._load_tree(below, start, metadata, assign, keys, problems)
        for hook in tuple(self._load_state_dict_post_hooks.values()):
            if hook(self, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                    "to return new values, if incompatible_keys need to be modified, it should be "
                    "done inplace."
                )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own state, without its children's; subclasses may override it."""
        for hook in tuple(self._load_state_dict_pre_hooks.values()):
            hook(
                self,
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = self._persistent_state()
        for name, current in own.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_value(key, name, current, state_dict[key], assign)
                if problem is not None:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)

        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateDict.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)

        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    head, dot, _ = key[len(prefix) :].partition(".")
                    if head not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def _load_value(
        self, key: str, name: str, current: Tensor, value: Any, assign: bool
    ) -> str | None:
        """Copy or assign one value; the text of the problem if that is not possible."""
        if not isinstance(value, Tensor):
            _core.refuse_pytorchs(value)
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                f"object from checkpoint but received {type(value)}"
            )
        if current.ndim == 0 and value.shape == (1,):
            value = value[0]  # scalars were saved with one dim before PyTorch 0.4
        if value.shape != current.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from "
                f"checkpoint, the shape in current model is {current.shape}."
            )
        try:
            if assign:
                setattr(self, name, _like_current(value, current))
            else:
                with no_grad():
                    current.copy_(value)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{current.shape} and whose dimensions in the checkpoint are {value.shape}, "
                f"an exception occurred : {error.args}."
            )
        return None

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, prefix, keep_vars) before `state_dict` reads the module."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata) once the module has been read.

        The hook may change `state_dict`; `state_dict` raises RuntimeError if it returns a value.
        """
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        """The same; the root module's answer replaces the state dict. As libraries call it."""
        return add_hook(self._state_dict_hooks, _Replacing(hook))

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call the hook before the module is loaded; it may change the state dict.

        Its arguments: module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs.
        """
        return add_hook(self._load_state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable, with_module: bool = False
    ) -> RemovableHandle:
        """The same; the hook does not get the module unless `with_module`. As libraries call it."""
        return self.register_load_state_dict_pre_hook(
            hook if with_module else partial(_without_module, hook)
        )

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, incompatible_keys) after loading; it may change those lists in place.

        Where it returns a value, `load_state_dict` raises AssertionError.
        """
        return add_hook(self._load_state_dict_post_hooks, hook)


class _Replacing(partial):
    """A hook whose answer, if it is not None, becomes the state dict."""


def _refuse_extra_state(module: Any, method: str) -> NoReturn:
    raise RuntimeError(f"{type(module).__name__} has no extra state: {method} is missing")


def _without_module(hook: Callable, module: Any, *arguments: Any) -> Any:
    return hook(*arguments)


def _like_current(value: Tensor, current: Tensor) -> Tensor:
    """`value` as what `assign` puts in `current`'s place: a Parameter for a Parameter."""
    if not isinstance(current, Parameter):
        return value
    if not isinstance(value, Parameter):
        return Parameter(value, current.requires_grad)
    return value.requires_grad_(current.requires_grad)
