"""`Optimizer`: parameters in groups, a state for each of them, and hooks around its steps.

The algorithms are the subclasses. `saving.py` attaches saving and loading, and registering hooks.
"""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import tiny_torch as torch
from tiny_torch import _core
from tiny_torch.autograd.history import zero_without_history
from tiny_torch.base.modes import RECORDED, checks_of_steps, modes, module_of, outside_of_program
from tiny_torch.tensor import Tensor

if TYPE_CHECKING:  # what saving.py attaches here and to Optimizer
    from tiny_torch.optim.saving import (
        Saving,
        register_optimizer_step_post_hook,
        register_optimizer_step_pre_hook,
    )
else:
    Saving = object

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]

Params: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Group: TypeAlias = dict[str, Any]


class _Required:
    """The default of an option that every group must set; see `required`."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

# Hooks on the steps of all optimizers; PyTorch's names.
_global_optimizer_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Any] = OrderedDict()


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` between its optimizer's pre-hooks, which may change its arguments, and post-hooks."""

    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if _core.is_recording():
            return outside_of_program(wrapper, *args, **kwargs)
        self = args[0]
        if self._optimizer_step_pre_hooks or _global_optimizer_pre_hooks:
            args, kwargs = self._run_pre_hooks(step, args, kwargs)
        if "_opt_called" in self.__dict__:  # set by a scheduler, which asks at its first step
            self._opt_called = True
        row = self._row("step") if modes.bits & RECORDED else None
        for check in checks_of_steps:
            check(self)
        try:
            out = step(*args, **kwargs)
        finally:
            _core.leave(row)
        own = self._optimizer_step_post_hooks
        if own or _global_optimizer_post_hooks:
            for post_hook in (*own.values(), *_global_optimizer_post_hooks.values()):
                post_hook(self, args, kwargs)
        return out

    wrapper.hooked = True  # type: ignore[attr-defined]
    return wrapper


class Optimizer(Saving):
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
        self._patch_step_function()
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

    def _patch_step_function(self) -> None:
        for name in Optimizer.__annotations__:
            self.__dict__.setdefault(name, OrderedDict())
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]

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

    def _check_gradient(self, grad: Any) -> None:
        """RuntimeError for a layout of the gradient that the algorithm does not take."""
        if grad.is_sparse:
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._patch_step_function()
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
        if _core.is_recording():
            return outside_of_program(Optimizer.zero_grad, self, set_to_none)
        row = self._row("zero_grad") if modes.bits & RECORDED else None
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    zero_without_history(param.grad)
        _core.leave(row)

    def _row(self, method: str) -> Any:
        """A row of a profile begins, under PyTorch's name for it."""
        name = f"Optimizer.{method}#{type(self).__name__}.{method}"
        return module_of[RECORDED].enter_range(name)
