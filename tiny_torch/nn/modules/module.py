"""`Module`: the base of all layers. It registers parameters, buffers and submodules as attributes.

Its other parts, in `_parts`, are attached by `__init__.py`: `calling` (hooks around forward and
backward), `state_dict` (saving and loading by name), `conversion` (train and eval, dtype,
device). Not here: `lazy` (shapes that the first input tells).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import tiny_torch as torch
from tiny_torch.nn.parameter import Buffer, Parameter
from tiny_torch.tensor import Tensor

if TYPE_CHECKING:  # what __init__.py attaches here and to Module
    from tiny_torch.nn.modules._parts.calling import (
        Calling,
        register_module_backward_hook,
        register_module_buffer_registration_hook,
        register_module_forward_hook,
        register_module_forward_pre_hook,
        register_module_full_backward_hook,
        register_module_full_backward_pre_hook,
        register_module_module_registration_hook,
        register_module_parameter_registration_hook,
    )
    from tiny_torch.nn.modules._parts.conversion import Conversion
    from tiny_torch.nn.modules._parts.state_dict import StateDict

    class Parts(Calling, StateDict, Conversion):
        pass

else:
    Parts = object

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_M = TypeVar("_M", bound="Module")

# Hooks on what any module registers.
buffer_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
module_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
parameter_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
ON_CALLS: OrderedDict[int, bool] = OrderedDict()  # the ids of hooks on any module's call

# Everything a Module keeps besides `training`. PyTorch's names: pickles move both ways.
_STATE: dict[str, Callable[[], Any]] = {
    "_parameters": dict,
    "_buffers": dict,
    "_non_persistent_buffers_set": set,
    "_backward_pre_hooks": OrderedDict,
    "_backward_hooks": OrderedDict,
    "_is_full_backward_hook": type(None),
    "_forward_hooks": OrderedDict,
    "_forward_hooks_with_kwargs": OrderedDict,
    "_forward_hooks_always_called": OrderedDict,
    "_forward_pre_hooks": OrderedDict,
    "_forward_pre_hooks_with_kwargs": OrderedDict,
    "_state_dict_hooks": OrderedDict,
    "_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_post_hooks": OrderedDict,
    "_modules": dict,
}


class Module(Parts):
    """Base of all neural network modules: a tree of named parameters, buffers and submodules.

    A subclass calls `super().__init__()`, assigns Parameters and Modules as attributes (that
    registers them) and defines `forward`; calling the module calls `forward` and the hooks.

    Source: PyTorch, torch.nn.Module.

    >>> import tiny_torch as torch
    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = torch.nn.Parameter(torch.full((1,), 3.0))
    ...
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Scale()(torch.ones(2)).tolist()
    [3.0, 3.0]
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]
    _shown: tuple[str, ...] = ()  # the attributes that `extra_repr` shows

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        if kwargs:
            raise TypeError(
                f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
            )
        if args:
            raise TypeError(
                f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        state = self.__dict__  # past __setattr__, which needs what is being made here
        state["training"] = True
        for key, make in _STATE.items():
            state[key] = make()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; every subclass that is called defines it.

        Raises NotImplementedError where it does not.
        """
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = self.__dict__  # faster than attributes: a tenth of an empty call
        try:
            if (
                state["_backward_hooks"]
                or state["_backward_pre_hooks"]
                or state["_forward_hooks"]
                or state["_forward_pre_hooks"]
                or ON_CALLS
            ):
                return self._call_with_hooks(args, kwargs)
            return self.forward(*args, **kwargs)
        except KeyError:
            if "_backward_hooks" in state:
                raise
            name = type(self).__name__  # Module.__init__ was not called
            raise AttributeError(f"'{name}' object has no attribute '_backward_hooks'") from None
        except (AttributeError, IndexError, RuntimeError, ValueError) as error:
            better = self._better_error(args, kwargs, error)
            if better is error:
                raise
            raise better from None

    def _better_error(self, args: tuple, kwargs: dict, error: Exception) -> Exception:
        """What to raise in the place of an error; __init__.py attaches one in PyTorch's words."""
        return error

    # ---- registering ------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add state that is not trained; where `persistent`, `state_dict` holds it.

        Raises TypeError, KeyError or AttributeError for a wrong kind, a bad or taken name, and a
        call before `Module.__init__()`.

        >>> import tiny_torch as torch
        >>> module = torch.nn.Module()
        >>> module.register_buffer("mean", torch.zeros(2))
        >>> module.mean
        tensor([0., 0.])
        """
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        if buffer_registration_hooks:
            tensor = after_registration_hooks(buffer_registration_hooks, self, name, tensor)
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under `name`; None reserves the name.

        Raises TypeError, KeyError, AttributeError as `register_buffer`; ValueError for a non-leaf.
        """
        self._check_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{torch.typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param is not None and not param.is_leaf:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                "the value in the forward() method."
            )
        if param is not None and parameter_registration_hooks:
            param = after_registration_hooks(parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under `name`; None reserves the name.

        Raises TypeError, KeyError, AttributeError as `register_buffer`.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._set_module(name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def _set_module(self, name: str, module: Module | None) -> None:
        if module_registration_hooks:
            module = after_registration_hooks(module_registration_hooks, self, name, module)
        self._modules[name] = module

    def _names_in(self, table: str, kind: str) -> Any:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        return self.__dict__[table]

    def _check_name(self, kind: str, name: str, table: str) -> None:
        names = self._names_in(table, kind)
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {torch.typename(name)}")
        if hasattr(self, name) and name not in names:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            seen = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{seen}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    # ---- attributes -------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        for key in ("_parameters", "_buffers", "_modules"):
            if name in (table := state.get(key, ())):
                return table[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        """Register by the kind of `value`, or by the table that has `name`; else set it plainly."""
        state = self.__dict__
        if isinstance(value, Parameter):
            self._take_over(name, "parameters", "_parameters")
            self.register_parameter(name, value)
        elif name in state.get("_parameters", ()):
            _require_none(value, "parameter", name, "torch.nn.Parameter or None")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._take_over(name, "module", "_modules")
            self._set_module(name, value)
        elif name in state.get("_modules", ()):
            _require_none(value, "child module", name, "torch.nn.Module or None")
            self._set_module(name, None)
        elif isinstance(value, Tensor) and isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)
        elif name in state.get("_buffers", ()):
            if not isinstance(value, Tensor):
                _require_none(value, "buffer", name, "torch.nn.Buffer, torch.Tensor or None")
            self.register_buffer(name, value, name not in state["_non_persistent_buffers_set"])
        else:
            super().__setattr__(name, value)

    def _take_over(self, name: str, kind: str, table: str) -> None:
        """Free `name` from every other table, so that assigning replaces what was there."""
        self._names_in(table, kind)
        state = self.__dict__
        state.pop(name, None)
        for other in ("_parameters", "_buffers", "_modules"):
            if other != table:
                state[other].pop(name, None)
        state["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for key, make in _STATE.items():
            if key not in self.__dict__:  # saved by a version that did not have it
                self.__dict__[key] = make()

    def __dir__(self) -> list[str]:
        tables = (self.__dict__, self._parameters, self._modules, self._buffers)
        keys = [*dir(type(self)), *(key for table in tables for key in table)]
        return sorted(key for key in keys if not key[0].isdigit())

    # ---- walking the tree -------------------------------------------------------------------

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it with dotted names, each module once by default.

        >>> import tiny_torch as torch
        >>> net = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Tanh()))
        >>> [name for name, _ in net.named_modules()]
        ['', '0', '1', '1.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                below = prefix + ("." if prefix else "") + name  # TypeError unless it is a str
                yield from module.named_modules(memo, below, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it, each once by default."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules with their names, each module once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self, table: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        own = ((prefix, self),)
        for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else own:
            for name, value in module.__dict__[table].items():
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters with dotted names, each once by default; only its own unless `recurse`.

        >>> import tiny_torch as torch
        >>> [name for name, _ in torch.nn.Linear(2, 3).named_parameters()]
        ['weight', 'bias']
        """
        yield from self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once; only its own unless `recurse`."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with dotted names, each once by default; only its own unless `recurse`."""
        yield from self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once; only its own unless `recurse`."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """The module at the dotted path `target`; the module itself for "".

        Raises AttributeError where the path leads nowhere or to something that is no Module.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            module = _get(module, name, "an nn.Module", lambda found: isinstance(found, Module))
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at the dotted path `target`; with `strict` only where one stands already.

        Raises ValueError for an empty path or a value that is no Module, AttributeError for a path
        that leads nowhere or to something that is no Module.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at the dotted path `target`; AttributeError where there is none."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        return _get(module, name, "an nn.Parameter", lambda found: isinstance(found, Parameter))

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at the dotted path `target`; AttributeError where there is none."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        return _get(module, name, "a buffer", lambda found: name in module._buffers)

    def apply(self: _M, fn: Callable[[Module], Any]) -> _M:
        """Call fn(module) on every submodule, then on the module itself; returns the module.

        >>> import tiny_torch as torch
        >>> net = torch.nn.Sequential(torch.nn.Tanh()).apply(lambda m: print(type(m).__name__))
        Tanh
        Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ---- text -------------------------------------------------------------------------------

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Makes a program of `forward`, in place; takes what `torch.compile` takes.

        https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.compile
        """
        self.__dict__["forward"] = torch.compile(self.forward, *args, **kwargs)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What `repr` shows of the module's own settings; subclasses override it."""
        return ", ".join([f"{name}={getattr(self, name)}" for name in self._shown])

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) <= 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        lines += [f"({name}): {add_indent(repr(child))}" for name, child in self._modules.items()]
        return "{}(\n  {}\n)".format(self._get_name(), "\n  ".join(lines))


def after_registration_hooks(
    hooks: OrderedDict[int, Callable], module: Any, name: str, value: Any
) -> Any:
    """What is to be registered in a module, after the hooks have seen it."""
    for hook in tuple(hooks.values()):
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


def add_indent(text: str) -> str:
    """Two spaces before every line but the first; blank lines stay empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line if line.strip() else "" for line in rest)])


def _require_none(value: Any, kind: str, name: str, expected: str) -> None:
    if value is not None:
        raise TypeError(
            f"cannot assign '{torch.typename(value)}' as {kind} '{name}' ({expected} expected)"
        )


def _get(module: Module, name: str, kind: str, is_kind: Callable[[Any], bool]) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    found = getattr(module, name)
    if not is_kind(found):
        raise AttributeError(f"`{name}` is not {kind}")
    return found
