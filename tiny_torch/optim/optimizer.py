"""`Optimizer`: parameters in groups, a state for each of them, saving and loading, hooks.

The algorithms are the subclasses.
"""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.autograd.record import RANGE, enter, leave
from tiny_torch.base.hooks import RemovableHandle, add_hook
from tiny_torch.base.modes import RECORDED, modes
from tiny_torch.tensor import Tensor

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]

Params: TypeAlias = "Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]"
Group: TypeAlias = dict[str, Any]
StateDict: TypeAlias = dict[str, Any]


class _Required:
    """The default of an option that every group must set; see `required`."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

# Hooks on the steps of all optimizers; PyTorch's names.
_global_optimizer_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Any] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` runs before any optimizer's `step` and its own hooks."""
    return add_hook(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` runs after any optimizer's `step` and its own hooks."""
    return add_hook(_global_optimizer_post_hooks, hook)


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` between its optimizer's pre-hooks, which may change its arguments, and post-hooks."""

    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        if self._optimizer_step_pre_hooks or _global_optimizer_pre_hooks:
            args, kwargs = self._run_pre_hooks(step, args, kwargs)
        if "_opt_called" in self.__dict__:  # set by a scheduler, which asks at its first step
            self._opt_called = True
        row = self._row("step") if modes.bits & RECORDED else None
        try:
            out = step(*args, **kwargs)
        finally:
            leave(row)
        own = self._optimizer_step_post_hooks
        if own or _global_optimizer_post_hooks:
            for post_hook in (*own.values(), *_global_optimizer_post_hooks.values()):
                post_hook(self, args, kwargs)
        return out

    wrapper.hooked = True  # type: ignore[attr-defined]
    return wrapper


class Optimizer:
    """Base class of all optimizers: a subclass defines `step`.

    `params` is an iterable of leaf Tensors, of (name, Tensor) pairs, or of dicts, each a group with
    its own options beside "params"; `defaults` has the options of groups that do not set them.
    `param_groups` is the list of groups; `state` maps a parameter to a dict of what the algorithm
    keeps for it.

    Raises TypeError for what is no Tensor, ValueError for no parameters, a non-leaf, a parameter in
    two groups, or names for some only. Source: PyTorch, torch.optim.Optimizer.

    >>> import tiny_torch as torch
    >>> class Descent(torch.optim.Optimizer):
    ...     @torch.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for param in group["params"]:
    ...                 param.sub_(group["lr"] * param.grad)
    >>> w = torch.ones(2, requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Descent([w], {"lr": 0.25}).step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    _optimizer_step_pre_hooks: OrderedDict[int, Any]
    _optimizer_step_post_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._prepare_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be "
                "an iterable of Tensors or dicts, but got " + torch.typename(params)
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []

        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _prepare_hooks(self) -> None:
        for name in Optimizer.__annotations__:
            self.__dict__.setdefault(name, OrderedDict())
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _hooked(cls.step)  # type: ignore[method-assign]

    def _run_pre_hooks(self, step: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        own = self._optimizer_step_pre_hooks
        for pre_hook in (*_global_optimizer_pre_hooks.values(), *own.values()):
            result = pre_hook(self, args, kwargs)
            if result is None:
                continue
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), "
                    f"but got {result}."
                )
            args, kwargs = result
        return args, kwargs

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        groups = []
        for i, group in enumerate(self.param_groups):
            lines = [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
            groups.append(f"\nParameter Group {i}\n" + "".join(lines))
        return f"{type(self).__name__} ({''.join(groups)})"

    # ---- parameters -------------------------------------------------------------------------

    def add_param_group(self, param_group: Group) -> None:
        """Put one more group of parameters under this optimizer.

        `param_group` is a dict: "params" (a Tensor, Tensors, or pairs with names) and options; it
        is completed with the defaults and kept. Raises as the constructor does.
        Source: PyTorch, torch.optim.Optimizer.add_param_group.

        >>> import tiny_torch as torch
        >>> optimizer = torch.optim.SGD([torch.ones(2)], lr=0.1)
        >>> optimizer.add_param_group({"params": torch.ones(3), "lr": 0.01})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        self._take_params(param_group)
        for param in param_group["params"]:
            if not isinstance(param, Tensor):
                _core.refuse_pytorchs(param)
                raise TypeError(
                    "optimizer can only optimize Tensors, "
                    "but one of the params is " + torch.typename(param)
                )
            if not self.defaults.get("differentiable") and not (
                param.is_leaf or param.retains_grad
            ):
                raise ValueError("can't optimize a non-leaf Tensor")

        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    + name
                )
            param_group.setdefault(name, default)

        own = {id(param) for param in param_group["params"]}
        if len(own) != len(param_group["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; "
                "in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        named = "param_names" in param_group
        for group in self.param_groups:
            if ("param_names" in group) != named:
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {'with names' if named else 'without names'} to the optimizer"
                )
        if any(id(param) in own for group in self.param_groups for param in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    @staticmethod
    def _take_params(param_group: Group) -> None:
        """Make "params" a list of what shall be Tensors, and of their names, if any, another."""
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        params = [params] if isinstance(params, Tensor) else list(params)
        names = [param[0] for param in params if isinstance(param, tuple)]
        if names and len(names) != len(params):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        if names:
            param_group["param_names"] = names
        param_group["params"] = [p[1] if isinstance(p, tuple) else p for p in params]

    # ---- training ---------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; `closure` computes the loss anew and returns it.

        Raises NotImplementedError unless a subclass defines it.
        Source: PyTorch, torch.optim.Optimizer.step.

        >>> import tiny_torch as torch
        >>> w = torch.ones(1, requires_grad=True)
        >>> w.sum().backward()
        >>> torch.optim.SGD([w], lr=0.5).step()
        >>> w
        tensor([0.5000], requires_grad=True)
        """
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros.

        Without a gradient a parameter is left out of `step`; with one of zeros it is not.
        Source: PyTorch, torch.optim.Optimizer.zero_grad.

        >>> import tiny_torch as torch
        >>> w = torch.ones(1, requires_grad=True)
        >>> w.sum().backward()
        >>> torch.optim.SGD([w]).zero_grad()
        >>> print(w.grad)
        None
        """
        row = self._row("zero_grad") if modes.bits & RECORDED else None
        for group in self.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()
        leave(row)

    def _row(self, method: str) -> Any:
        """A row of a profile begins, under PyTorch's name for it."""
        return enter(f"Optimizer.{method}#{type(self).__name__}.{method}", RANGE, -1)

    # ---- saving and loading -----------------------------------------------------------------

    def state_dict(self) -> StateDict:
        """The state and the groups, with numbers in the place of the parameters.

        {"state": {number: state}, "param_groups": [group]}; the Tensors in it are not copied.
        Source: PyTorch, torch.optim.Optimizer.state_dict.

        >>> import tiny_torch as torch
        >>> w = torch.ones(1, requires_grad=True)
        >>> w.sum().backward()
        >>> optimizer = torch.optim.SGD([w], momentum=0.9)
        >>> optimizer.step()
        >>> optimizer.state_dict()["state"]
        {0: {'momentum_buffer': tensor([1.])}}
        """
        for pre_hook in self._optimizer_state_dict_pre_hooks.values():
            pre_hook(self)

        numbers: dict[int, int] = {}
        start = 0
        packed_groups = []
        for group in self.param_groups:
            params = group["params"]
            numbers.update({id(p): i for i, p in enumerate(params, start) if id(p) not in numbers})
            start += len(params)
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(param)] for param in params]
            packed_groups.append(packed)
        packed_state = {
            (numbers[id(key)] if isinstance(key, Tensor) else key): value
            for key, value in self.state.items()
        }

        state_dict: StateDict = {"state": packed_state, "param_groups": packed_groups}
        for post_hook in self._optimizer_state_dict_post_hooks.values():
            result = post_hook(self, state_dict)
            if result is not None:
                state_dict = result
        return state_dict

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over what `state_dict` returned, matching parameters by their order.

        The options of the groups are replaced. A state's Tensors move to their parameter's dtype
        and device ("step" stays as it is), and share memory where nothing has to change.
        Raises ValueError where groups differ in number or size.
        Source: PyTorch, torch.optim.Optimizer.load_state_dict.

        >>> import tiny_torch as torch
        >>> saved = torch.optim.SGD([torch.ones(1)], lr=0.5).state_dict()
        >>> optimizer = torch.optim.SGD([torch.ones(1)])
        >>> optimizer.load_state_dict(saved)
        >>> optimizer.param_groups[0]["lr"]
        0.5
        """
        state_dict = state_dict.copy()
        for pre_hook in self._optimizer_load_state_dict_pre_hooks.values():
            result = pre_hook(self, state_dict)
            if result is not None:
                state_dict = result

        groups, saved_groups = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(
            len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved_groups, strict=True)
        ):
            raise ValueError(
                "loaded state dict contains a parameter group "
                "that doesn't match the size of optimizer's group"
            )
        numbers = chain.from_iterable(group["params"] for group in saved_groups)
        params = chain.from_iterable(group["params"] for group in groups)
        param_of = dict(zip(numbers, params, strict=True))
        on_device = {
            number
            for group in saved_groups
            if group.get("fused") or group.get("capturable")
            for number in group["params"]
        }

        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in param_of:
                state[param_of[key]] = _fitted(value, param_of[key], key in on_device)
            else:
                state[key] = value
        for group, saved in zip(groups, saved_groups, strict=True):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved_groups})

        for post_hook in self._optimizer_load_state_dict_post_hooks.values():
            post_hook(self)

    # ---- hooks ------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` runs before `step`; may return (new_args, new_kwargs)."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` runs after `step`."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer)` runs before `state_dict`."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[[Optimizer, StateDict], StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer, state_dict)` runs after `state_dict`, and may return another dict."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[[Optimizer, StateDict], StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer, state_dict)` runs before loading, and may return another dict."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer)` runs after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _fitted(value: Any, param: Tensor, on_device: bool, key: Any = None) -> Any:
    """A loaded state, with its Tensors in the dtype and on the device where `param` is updated."""
    if isinstance(value, Tensor):
        if key == "step":  # counts in a dtype of its own, on the CPU unless fused or capturable
            return value.to(dtype=torch.float32, device=param.device) if on_device else value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {k: _fitted(v, param, on_device, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_fitted(v, param, on_device) for v in value)  # type: ignore[call-arg]
    return value
