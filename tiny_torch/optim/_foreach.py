"""What most optimisers share: an update written twice.

`_change` changes one parameter by Tensor operations: the algorithm as a book has it, on any device.
`_update_all` changes a list of parameters by one call of C++ (src/core/formulas/optim_steps.h),
which repeats the same operations element by element, so both give the same bits.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from tiny_torch import _core
from tiny_torch.autograd.grad_mode import enable_grad, recording
from tiny_torch.base.devices import array_module
from tiny_torch.optim.optimizer import Group, Optimizer
from tiny_torch.tensor import Tensor, wrap

# What C++ says of arguments that it does not take.
NOT_TAKEN = re.compile("incompatible function arguments|expected an NDArray, got SparseArray")
PAIRS = ("betas", "etas", "step_sizes")  # options of two numbers


class ForeachOptimizer(Optimizer):
    """An Optimizer whose groups have the options "foreach" and, maybe, "fused".

    "foreach": False is the loop over `_update`. None and True take `_update_all` for parameters
    that it can handle: float32 or float64, on the device of the first (a GPU or the CPU), gradient
    and state in the same dense layout. The others go through the loop.
    "fused": True is the same as "foreach": True.
    "differentiable": the loop records history, so that backward goes through the steps.
    "capturable", where a class has it: the loop, with the count of steps on the GPU, so that a CUDA
    graph counts on.
    """

    _capturable: ClassVar[bool] = False  # whether the class has that way

    # what the groups of files from older versions of PyTorch lack
    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    # the states that are one number for a parameter; such files may have them as Python's
    _numbers: ClassVar[tuple[str, ...]] = ("step",)
    # the C++ call, and what it takes after the parameters and gradients: states, then options
    _kernel: Callable[..., Iterable[int]]
    _kernel_states: ClassVar[tuple[str, ...]] = ()
    _kernel_options: ClassVar[tuple[str, ...]] = ()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for option, value in self._later_options.items():
                group.setdefault(option, value)
            for param in group["params"]:
                kept: dict[str, Any] = self.state.get(param) or {}
                for key in self._numbers if kept else ():
                    if not isinstance(kept[key], Tensor):
                        kept[key] = new_number(float(kept[key]), group, param)

    def add_param_group(self, param_group: Group) -> None:
        """As Optimizer's; NotImplementedError for "capturable" where the class has it not."""
        group = param_group if isinstance(param_group, dict) else {}
        if not self._capturable and group.get("capturable", self.defaults.get("capturable")):
            raise NotImplementedError(f"{type(self).__name__}: capturable=True")
        super().add_param_group(param_group)

    add_param_group.__qualname__ = "Optimizer.add_param_group"

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure` does.

        Raises AssertionError for a group that is differentiable and foreach,
        NotImplementedError for one that is differentiable and whose lr, say, requires a gradient,
        RuntimeError in the recording of a CUDA graph unless all groups are capturable.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with recording(bool(self.defaults["differentiable"])):
            self._update_groups()
        return loss

    def _update_groups(self) -> None:
        for group in self.param_groups:
            params = [param for param in group["params"] if param.grad is not None]
            grads = [param.grad for param in params]
            left: Iterable[int] = range(len(params))
            if _may_take_list(group, params):
                try:
                    left = self._update_all(params, grads, group)
                except TypeError as error:
                    if not NOT_TAKEN.search(str(error)):
                        raise
                    # An option is no number, a gradient sparse: the loop takes it, or raises.
            for i in left:
                self._update(params[i], grads[i], group)

    def _state_of(self, param: Tensor, group: Group) -> dict[str, Any]:
        state = self.state[param]
        if not state:
            self._begin(state, param, group)
        return state

    def _begin(self, state: dict[str, Any], param: Tensor, group: Group) -> None:
        """Fill a parameter's empty state; its order is that of PyTorch's files."""
        state["step"] = new_number(0, group, param)
        for key in self._kernel_states:
            if key not in ("step", *self._absent_states(group)):
                array = param.array.empty_like()
                array.copy_(0)
                state[key] = wrap(array)

    def _absent_states(self, group: Group) -> tuple[str, ...]:
        """The states that the group's options leave out."""
        return ()

    def _update(self, param: Any, grad: Any, group: Group) -> None:
        """Update one parameter: count the step, and go by the algorithm."""
        self._check(group)
        self._check_gradient(grad)
        state = self._state_of(param, group)
        if group.get("capturable"):
            check_on_gpu(param, state["step"], group["foreach"])
        state["step"] += 1
        self._change(param, -grad if group["maximize"] else grad, state, group)

    def _check(self, group: Group) -> None:
        """Raise where the loop cannot go by a group's options, which users may have changed."""
        for name in PAIRS:
            if name in group:
                _first, _second = group[name]

    def _change(self, param: Any, grad: Any, state: dict[str, Any], group: Group) -> None:
        """The algorithm; `state["step"]` counts this step already."""
        raise NotImplementedError

    def _update_all(self, params: list[Any], grads: list[Any], group: Group) -> Iterable[int]:
        """Update the parameters that one C++ call can; returns the indices of the others."""
        states = [self.state[param] or self._state_of(param, group) for param in params]
        arguments: list[Any] = [arrays(params), arrays(grads)]
        unused = self._absent_states(group)
        for key in self._kernel_states:
            arguments.append([] if key in unused else [state[key].array for state in states])
        for name in self._kernel_options:
            if name in PAIRS:
                arguments += group[name]
            else:
                arguments.append(group[name])
        return self._kernel(*arguments)


def _may_take_list(group: Group, params: Sequence[Tensor]) -> bool:
    foreach, fused = group["foreach"], group.get("fused")
    if group.get("capturable"):
        return False  # the count of steps is on the GPU
    options = [group.values()]
    for name in PAIRS:
        if name in group:
            if not isinstance(group[name], (tuple, list)) or len(group[name]) != 2:
                return False  # _check raises
            options.append(group[name])
    if group["differentiable"]:
        if foreach:
            raise AssertionError("_foreach ops don't support autograd")
        if any(isinstance(x, Tensor) and x.requires_grad for x in itertools.chain(*options)):
            raise NotImplementedError("differentiable=True with an option that requires a gradient")
        return False
    if not (foreach or fused or (foreach is None and fused is None)):
        return False
    for values in options:
        if _core.any_tensor(values):
            return False  # Tensors are rounded differently
    return {type(param.array) for param in params} == {_core.NDArray}


def check_not_negative(name: str, value: Any) -> None:
    """Raise PyTorch's ValueError unless value >= 0; NaN is not."""
    if not 0.0 <= value:  # noqa: SIM300 -- Python's TypeError tells the order
        raise ValueError(f"Invalid {name}: {value}")


def check_at_least(bound: float, name: str, value: Any) -> None:
    """Raise the ValueError of PyTorch's newer optimisers unless value >= bound."""
    if not bound <= value:
        raise ValueError(f"{name} should be >= {bound:g} but is: {value}")


def check_lr(lr: Any) -> None:
    """Raise PyTorch's ValueError unless lr is a number >= 0, or a Tensor of one."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_not_negative("learning rate", lr)


def check_betas(betas: Any) -> None:
    """Raise PyTorch's ValueError unless 0 <= beta < 1 for both."""
    for i in range(2):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_options(lr: Any, betas: Any, eps: Any, weight_decay: Any) -> None:
    """Raise PyTorch's ValueError where one of Adam's kin is out of range."""
    check_lr(lr)
    check_not_negative("epsilon value", eps)
    check_betas(betas)
    check_not_negative("weight_decay value", weight_decay)


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Raise PyTorch's RuntimeError where fused goes together with another way."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def new_number(value: float, group: Group, param: Any = None) -> Any:
    """A number of a parameter's state: a 0-d float tensor on the CPU, as in PyTorch's files.

    Where the group is capturable, it is on the parameter's device.
    """
    wide = _core.get_default_dtype() is _core.float64 and not group.get("fused")
    where = param.array.device if param is not None and group.get("capturable") else "cpu"
    dtype = _core.float64 if wide else _core.float32
    return wrap(array_module(where).full((), number(value), dtype))


def check_on_gpu(param: Any, step: Any, foreach: bool | None) -> None:
    """Raises PyTorch's AssertionError unless a capturable parameter and its count are on a GPU."""
    if param.is_cuda and step.is_cuda:
        return
    places = ["cuda", "xpu", "hpu", "privateuseone", "xla"][: 4 if foreach else 5]
    raise AssertionError(
        f"If capturable=True, params and state_steps must be on supported devices: {places}."
    )


def number(value: Any) -> Any:
    """The number in a Tensor of one element; anything else as it is."""
    return value.item() if isinstance(value, Tensor) else value


def scalar(value: Any) -> Any:
    """A Tensor of one element as a 0-d one; anything else as it is."""
    return value.squeeze() if isinstance(value, Tensor) and value.dim() != 0 else value


def arrays(tensors: Iterable[Any]) -> list[Any]:
    """The arrays of the tensors."""
    return [tensor.array for tensor in tensors]


def decay(param: Any, grad: Any, group: Any, lr: Any) -> Any:
    """Adam's weight decay: of the parameter itself where it is decoupled, else added to grad."""
    weight_decay = group["weight_decay"]
    if weight_decay == 0:
        return grad
    if group["decoupled_weight_decay"]:
        param.mul_(1 - lr * weight_decay)
        return grad
    return grad.add(param, alpha=weight_decay)
