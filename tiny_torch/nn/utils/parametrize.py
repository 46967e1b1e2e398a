"""Tensors of a module that are computed from others: `module.weight` becomes a function's result.

A parametrized module gets a class of its own, in which the tensor's name is a property; what it is
computed from stands in `module.parametrizations`, as `original` (or `original0`, `original1`, ...).
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from typing import Any

from tiny_torch.autograd import no_grad
from tiny_torch.base.modes import Scope
from tiny_torch.nn.modules import Module, ModuleDict, ModuleList
from tiny_torch.nn.parameter import Parameter
from tiny_torch.tensor import Tensor

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


class cached(Scope):
    """A block in which every parametrized tensor is computed once, at its first use.

    Source: PyTorch, torch.nn.utils.parametrize.cached.
    """

    _depth = 0
    _values: dict[tuple[int, str], Tensor] = {}  # noqa: RUF012

    def current(self) -> int:
        return cached._depth

    def begin(self) -> None:
        cached._depth += 1

    def restore(self, before: int) -> None:
        cached._depth = before
        if before == 0:
            cached._values = {}


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied one after the other, and what they start from.

    Raises ValueError where the tensor would change its dtype or shape, unless `unsafe`.
    Source: PyTorch, torch.nn.utils.parametrize.ParametrizationList.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        new = module.right_inverse(new)
        _check_inverse(new)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._check_original(original, new)
            original.data = new
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                part.requires_grad_(original.requires_grad)
                _register(self, f"original{i}", part)
        if not unsafe:
            _check_result(
                self(),
                shape,
                dtype,
                "Registering a parametrization may not change the {} of the tensor, unless "
                "`unsafe` flag is enabled.\nunparametrized {}: {}\nparametrized {}: {}",
            )

    @staticmethod
    def _check_original(original: Tensor, new: Tensor) -> None:
        for what in ("dtype", "device"):
            before, after = getattr(original, what), getattr(new, what)
            if before != after:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {before}\nright_inverse(original).{what}: {after}"
                )

    @no_grad()
    def right_inverse(self, value: Any) -> None:
        """Change what the tensor is computed from, so that it becomes `value`.

        Raises RuntimeError where a parametrization has no right_inverse, ValueError where one
        answers another number of tensors or another dtype.
        """
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                name = type(module).__name__
                raise RuntimeError(f"parametrization {name} does not implement right_inverse.")
            value = module.right_inverse(value)
        if self.is_tensor:
            if not isinstance(value, Tensor):
                kind = type(value).__name__
                raise ValueError(f"`right_inverse` should return a tensor. Got {kind}")
            if value.dtype != self.original.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {value.dtype} "
                    f"while `original` has dtype {self.original.dtype}"
                )
            self.original.data = value
            return
        if not isinstance(value, Sequence) or isinstance(value, Tensor):
            kind = type(value).__name__
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {kind}.")
        if len(value) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(value)}."
            )
        _check_inverse(value)
        for i, part in enumerate(value):
            original = getattr(self, f"original{i}")
            if original.dtype != part.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {part.dtype} "
                    f"while `original{i}` has dtype {original.dtype}"
                )
            original.data = part

    def forward(self) -> Any:
        """The tensor."""
        first, *others = list(self)
        if self.is_tensor:
            x = first(self.original)
        else:
            x = first(*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in others:
            x = module(x)
        return x


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let module.tensor_name be parametrization(what it is now); several are applied in turn.

    If the parametrization has a `right_inverse`, what the tensor starts from is that of its value,
    and the tensor can be assigned. Returns `module`.

    Raises ValueError where there is no such parameter or buffer, and, unless `unsafe`, where the
    parametrization changes the shape or dtype.
    Source: PyTorch, torch.nn.utils.parametrize.register_parametrization.

    >>> import tiny_torch as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).t()
    >>> layer = torch.nn.Linear(3, 3)
    >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.t()).all())
    True
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original']
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.__class__ = _class_of_its_own(type(module))
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property_of(tensor_name))
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether that tensor of the module is parametrized, or any.

    Source: PyTorch, torch.nn.utils.parametrize.is_parametrized.
    """
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make the tensor an ordinary one again, with its present value, or with the original's.

    Returns `module`. Raises ValueError where the tensor is not parametrized, and for
    `leave_parametrized=False` where it was computed from several tensors.
    Source: PyTorch, torch.nn.utils.parametrize.remove_parametrizations.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name)
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor "
            "that is parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The module's class, without what parametrizations have made of it.

    Source: PyTorch, torch.nn.utils.parametrize.type_before_parametrizations.
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give `to_module` the parametrizations of `from_module` and what they start from.

    Source: PyTorch, torch.nn.utils.parametrize.transfer_parametrizations_and_params.
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for key in ["original", *(f"original{i}" for i in range(source.ntensors))]:
            if hasattr(source, key):
                setattr(target, key, getattr(source, key))
    return to_module


# ---- classes and properties ---------------------------------------------------------------------


def _class_of_its_own(cls: type) -> type:
    def refuse(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        replica = memo[id(self)] = self.__new__(type(self))
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    members: dict[str, Any] = {"__getstate__": refuse}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = deepcopy
    return type(f"Parametrized{cls.__name__}", (cls,), members)


def _property_of(name: str) -> property:
    def get(self: Any) -> Any:
        if not cached._depth:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in cached._values:
            cached._values[key] = self.parametrizations[name]()
        return cached._values[key]

    def assign(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, assign)


def _register(module: Module, name: str, tensor: Any) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


# ---- checks -------------------------------------------------------------------------------------


def _check_inverse(value: Any) -> None:
    text = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
    if isinstance(value, Tensor):
        return
    if not isinstance(value, Sequence):
        raise ValueError(f"{text}{type(value).__name__}")
    for i, part in enumerate(value):
        if not isinstance(part, Tensor):
            kind = type(part).__name__
            raise ValueError(f"{text}element {i} of the sequence with type {kind}.")


def _check_result(value: Any, shape: Any, dtype: Any, text: str) -> None:
    if not isinstance(value, Tensor):
        kind = type(value).__name__
        raise ValueError(f"A parametrization must return a tensor. Got {kind}.")
    for what, before in (("dtype", dtype), ("shape", shape)):
        after = getattr(value, what)
        if after != before:
            raise ValueError(text.format(what, what, before, what, after))


def _check_further(module: Module, name: str, parametrization: Any) -> None:
    """That one more parametrization, and its inverse, keep shape and dtype."""
    before = getattr(module, name)
    after = parametrization(before)
    _check_result(
        after,
        before.shape,
        before.dtype,
        "Registering a parametrization may not change the {} of the tensor, unless the `unsafe` "
        f"flag is enabled.\nmodule.{name}.{{}}: {{}}\nparametrization(module.{name}).{{}}: {{}}",
    )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        kind = type(back).__name__
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {kind}")
    _check_result(
        back,
        before.shape,
        before.dtype,
        "The tensor returned by parametrization.right_inverse must have the same {} as "
        f"module.{name}, unless the `unsafe` flag is enabled.\nmodule.{name}.{{}}: {{}}\n"
        "returned {}: {}",
    )
