"""What Optimizer can do without: saving and loading its state, and registering hooks."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import tiny_torch as torch
from tiny_torch.base.docstrings import extend
from tiny_torch.base.hooks import RemovableHandle, add_hook
from tiny_torch.optim import optimizer
from tiny_torch.tensor import Tensor

StateDict: TypeAlias = dict[str, Any]


class Saving:
    """A part of Optimizer."""

    if TYPE_CHECKING:
        state: defaultdict[Any, Any]
        param_groups: list[dict[str, Any]]
        _optimizer_step_pre_hooks: OrderedDict[int, Any]
        _optimizer_step_post_hooks: OrderedDict[int, Any]
        _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
        _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
        _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
        _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]
        __setstate__: Callable[[StateDict], None]

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
                state[param_of[key]] = _fit_state(value, param_of[key], key in on_device)
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
        self, hook: Callable[[Any], None], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer)` runs before `state_dict`."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[[Any, StateDict], StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer, state_dict)` runs after `state_dict`, and may return another dict."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[[Any, StateDict], StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer, state_dict)` runs before loading, and may return another dict."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Any], None], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer)` runs after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _fit_state(value: Any, param: Tensor, on_device: bool, key: Any = None) -> Any:
    """A loaded state, with its Tensors in the dtype and on the device where `param` is updated."""
    if isinstance(value, Tensor):
        if key == "step":  # counts in a dtype of its own, on the CPU unless fused or capturable
            return value.to(dtype=torch.float32, device=param.device) if on_device else value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {k: _fit_state(v, param, on_device, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_fit_state(v, param, on_device) for v in value)  # type: ignore[call-arg]
    return value


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` runs before any optimizer's `step` and its own hooks."""
    return add_hook(optimizer._global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` runs after any optimizer's `step` and its own hooks."""
    return add_hook(optimizer._global_optimizer_post_hooks, hook)


extend(optimizer.Optimizer, Saving)
for _register in (register_optimizer_step_pre_hook, register_optimizer_step_post_hook):
    setattr(optimizer, _register.__name__, _register)
