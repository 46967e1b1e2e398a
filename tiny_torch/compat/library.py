"""`torch.library`: operators that a package defines, and calls as `torch.ops.namespace.name`.

An operator has kernels by device. One made by `custom_op`, or with `register_autograd`, is a call
of `autograd.Function`: its backward is what was registered. Autograd looks into the others, as
PyTorch's does where nobody has given it another kernel. There is no compiler: what is said for one
(tags, effects, what is written to) changes nothing.
https://docs.pytorch.org/docs/stable/library.html
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tiny_torch import ops
from tiny_torch.autograd import is_grad_enabled, no_grad
from tiny_torch.autograd.function import Function
from tiny_torch.base.pytree import tree_leaves
from tiny_torch.compat.schema import split_name, split_schema
from tiny_torch.tensor import Tensor

Kernel = Callable[..., Any]
OPERATORS: dict[str, CustomOpDef] = {}  # by full name
KERNELS: dict[str, dict[str, Kernel]] = {}  # by full name, and key; also of those defined later
DEFINED: set[str] = set()  # namespaces that a library of the kind DEF has
EXPLICIT, IMPLICIT, META = "CompositeExplicitAutograd", "CompositeImplicitAutograd", "Meta"
KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": META, "mps": "MPS", "xpu": "XPU", "hpu": "HPU",
        "default": EXPLICIT, "": IMPLICIT}  # fmt: skip
OTHERS = ("Autograd", "AutogradCPU", "AutogradCUDA", "AutogradMPS", "AutogradXPU",
          "ADInplaceOrView", "AutocastCPU", "AutocastCUDA", "BackendSelect", "Functionalize", "HIP",
          "PrivateUse1", "QuantizedCPU", "QuantizedCUDA", "SparseCPU", "SparseCUDA")  # fmt: skip
LACKING = (
    "Could not run '{name}' with arguments from the '{key}' backend. Its kernels are for {kernels}."
)
PLAIN = (int, float, bool, str, list, tuple)


class Namespace:
    """The operators of a package: `torch.ops.mine.scale`.

    Of one that has overloads only, such as `scale.out`, the first one defined.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> CustomOpDef:
        full = f"{self.__name__}::{name}"
        for found in (full, *(other for other in OPERATORS if other.startswith(f"{full}."))):
            if found in OPERATORS:
                return OPERATORS[found]
        text = f"'_OpNamespace' '{self.__name__}' object has no attribute '{name}'"
        raise AttributeError(text)


class CustomOpDef:
    """An operator: called as its schema says."""

    def __init__(self, name: str, signature: inspect.Signature, schema: str) -> None:
        self._name, self._signature, self._schema = name, signature, schema
        self._kernels = KERNELS.setdefault(name, {})
        self._mutates = False
        self._function: type[Function] | None = None  # where autograd does not look into it
        kinds = [parameter.kind for parameter in signature.parameters.values()]
        self._positional = len(kinds) - kinds.count(inspect.Parameter.KEYWORD_ONLY)
        OPERATORS[name] = self
        ns = split_name(name)[0]
        vars(ops).setdefault(ns, Namespace(ns))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            given = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise RuntimeError(f"{self._name}() {error}. Declaration: {self._schema}") from None
        given.apply_defaults()
        values = tuple(given.arguments.values())
        for name, value in given.arguments.items():
            kind = self._signature.parameters[name].annotation
            if kind in ("Tensor", Tensor) and not isinstance(value, Tensor):
                raise RuntimeError(
                    f"{self._name}() Expected a value of type 'Tensor' for argument '{name}' but "
                    f"instead found type '{type(value).__name__}'. Declaration: {self._schema}"
                )
        if self._mutates:
            with no_grad():
                return self._run(*values)
        return self._run(*values) if self._function is None else self._function.apply(*values)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._name})>"

    def __getattr__(self, overload: str) -> CustomOpDef:
        """The overload of that name; "default" is the one without."""
        if overload.startswith("_"):  # among them those that a copy asks for
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {overload!r}")
        name = self._name.partition(".")[0]
        found = OPERATORS.get(name if overload == "default" else f"{name}.{overload}")
        if found is None:
            name = name.replace("::", ".")
            text = f"The underlying op of '{name}' has no overload name '{overload}'"
            raise AttributeError(text)
        return found

    def _run(self, *values: Any) -> Any:
        """Calls a kernel, which has its own defaults: those at the end are left out."""
        parameters = self._signature.parameters.values()
        given = list(zip(parameters, values, strict=True))
        named = {p.name: v for p, v in given[self._positional :] if not is_default(p, v)}
        del given[self._positional :]
        while given and is_default(*given[-1]):
            given.pop()
        return self._kernel(values)(*[value for _, value in given], **named)

    def _kernel(self, values: Sequence[Any]) -> Kernel:
        """The one for these arguments; NotImplementedError if there is none."""
        tensors = [value for value in tree_leaves(values) if isinstance(value, Tensor)]
        key = KEYS.get(tensors[0].device.type, EXPLICIT) if tensors else EXPLICIT
        keys = [key, EXPLICIT, IMPLICIT]
        if is_grad_enabled() and any(t.requires_grad for t in tensors):
            keys = [f"Autograd{key}", "Autograd", *keys]
        for found in keys:
            if found in self._kernels:
                return self._kernels[found]
        kernels = ", ".join(self._kernels) or "no backend"
        raise NotImplementedError(LACKING.format(name=self._name, key=key, kernels=kernels))

    def _hide(self, backward: Any = None, setup_context: Any = None) -> None:
        """Lets autograd see a call of a Function, with that backward."""
        name = self._name.replace("::", ".")

        def refuse(ctx: Any, *grads: Any) -> Any:
            raise RuntimeError(
                f"Trying to backward through {name}.default but no autograd formula was "
                "registered. Please use register_autograd to add one."
            )

        def save_nothing(ctx: Any, inputs: Any, output: Any) -> None:
            """Saves nothing."""

        members = {
            "forward": staticmethod(self._run),
            "setup_context": staticmethod(setup_context or save_nothing),
            "backward": staticmethod(backward or refuse),
        }
        kind = f"GeneratedBackwardFor_{name.replace('.', '_')}_default"
        self._function = type(kind, (Function,), members)

    def register_kernel(self, device_types: Any, fn: Kernel | None = None, /) -> Any:
        """The function for tensors of such devices; None: of all. Without one, a decorator."""
        return register_kernel(self, device_types, fn) or fn

    def register_fake(self, fn: Kernel) -> Kernel:
        """What the operator makes of tensors without values, which have a shape only."""
        self._kernels[META] = fn
        return fn

    def register_autograd(
        self, backward: Callable, /, *, setup_context: Callable | None = None
    ) -> None:
        """`backward(ctx, *grads)` answers a gradient, or None, for each argument.

        `setup_context(ctx, inputs, output)` keeps for it what it needs.
        """
        self._hide(backward, setup_context)


def is_default(parameter: inspect.Parameter, value: Any) -> bool:
    """Whether the value is that of a call without one."""
    default = parameter.default
    return value is default or (
        type(value) in PLAIN and type(default) in PLAIN and value == default
    )


def keys_of(types: str | Sequence[str]) -> list[str]:
    """The keys of kernels for device types, or of what PyTorch calls dispatch keys."""
    found = []
    for kind in [types] if isinstance(types, str) else types:
        key = KEYS.get(kind, kind)
        if key not in KEYS.values() and key not in OTHERS:
            raise RuntimeError(f"could not parse dispatch key: {kind}")
        found.append(key)
    return found


class Library:
    """Operators of a namespace: `Library("mine", "DEF")` defines them, "IMPL" adds kernels.

    Raises RuntimeError for a second DEF of a namespace: "FRAGMENT" defines more there.
    https://docs.pytorch.org/docs/stable/library.html#torch.library.Library

    >>> import tiny_torch as torch
    >>> mine = torch.library.Library("mine", "DEF")
    >>> mine.define("scale(Tensor x, float by=2.0) -> Tensor")
    'scale'
    >>> mine.impl("scale", lambda x, by=2.0: x * by, "CPU")
    >>> torch.ops.mine.scale(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if kind == "DEF" and ns in DEFINED:
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; a "
                "Library of the kind FRAGMENT defines more operators in it"
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: list[str] = []
        if kind == "DEF":
            DEFINED.add(ns)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Defines an operator, `name(Tensor x, int n=1) -> Tensor`; its name.

        RuntimeError for a library of kernels only, and for what is no schema or is defined.
        """
        if self.kind == "IMPL":
            raise RuntimeError("Cannot define new operators in a Library of the kind IMPL")
        name, signature, writes = split_schema(schema)
        full = f"{self.ns}::{name}"
        if full in OPERATORS:
            raise RuntimeError(
                f"Tried to register an operator ({self.ns}::{schema}) with the same name and "
                "overload name multiple times."
            )
        found = CustomOpDef(full, signature, f"{self.ns}::{schema}")
        found._mutates = writes
        self._defined.append(full)
        return name.partition(".")[0]

    def impl(
        self,
        op_name: Any,
        fn: Kernel,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """The function computes that operator, for the devices of a dispatch key.

        Without one, for all devices. The operator may be defined later. RuntimeError for an
        unknown key.
        """
        if with_keyset:
            raise NotImplementedError("Library.impl: with_keyset=True is not in tiny_torch")
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        name = op_name._name if isinstance(op_name, CustomOpDef) else f"{self.ns}::{op_name}"
        (key,) = keys_of(dispatch_key or self.dispatch_key)
        if key in KERNELS.get(name, ()) and not allow_override:
            raise RuntimeError(f"{name} has a kernel for {key}")
        KERNELS.setdefault(name, {})[key] = fn

    def _destroy(self) -> None:
        """Takes away what it has defined."""
        for name in self._defined:
            OPERATORS.pop(name, None)
            KERNELS.pop(name, None)
        if self.kind == "DEF":
            DEFINED.discard(self.ns)


def custom_op(
    name: str,
    fn: Callable | None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """A function as an operator into which autograd does not look; without one, a decorator.

    The name is "namespace::name". `mutates_args` names the arguments that the function writes to;
    () promises that there are none. `device_types` are those that it computes on; None: all.
    """
    if fn is None:
        return lambda function: custom_op(
            name, function, mutates_args=mutates_args, device_types=device_types, schema=schema
        )
    signature = inspect.signature(fn) if schema is None else split_schema(f"f{schema}")[1]
    KERNELS.pop(name, None)
    found = CustomOpDef(name, signature, schema or f"{name}{signature}")
    found.register_kernel(device_types, fn)
    found._mutates = bool(mutates_args)
    found._hide()
    return found


def triton_op(
    name: str, fn: Callable | None = None, /, *, mutates_args: Any, schema: str | None = None
) -> Any:
    """As `custom_op`; of an operator that launches kernels of Triton, a compiler for GPUs."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Defines an operator, `define("mine::scale", "(Tensor x) -> Tensor")`.

    ValueError for a name without a namespace.
    """
    ns, name = split_name(qualname)
    (lib or Library(ns, "FRAGMENT")).define(name + schema)


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """A kernel of an operator for device types; without a function, a decorator.

    The older form is `impl(library, "name", "CPU")`, a decorator.
    """
    if isinstance(qualname, Library):
        library, key = qualname, func or ""

        def add(function: Kernel) -> Kernel:
            library.impl(types, function, key)
            return function

        return add
    return register_kernel(qualname, types, func)


def operator(op: Any) -> CustomOpDef:
    """An operator, or the one of that name; RuntimeError where there is none."""
    if isinstance(op, CustomOpDef):
        return op
    if op not in OPERATORS:
        raise RuntimeError(f"operator {op} does not exist")
    return OPERATORS[op]


def register_kernel(
    op: Any, device_types: Any, func: Kernel | None = None, /, *, lib: Library | None = None
) -> Any:
    """The function for tensors of such devices; None: of all. Without one, a decorator."""
    if func is None:
        return lambda function: register_kernel(op, device_types, function) or function
    name = op._name if isinstance(op, CustomOpDef) else op
    for key in keys_of("default" if device_types is None else device_types):
        KERNELS.setdefault(name, {})[key] = func
    return None


def register_fake(
    op: Any,
    func: Callable | None = None,
    /,
    *,
    lib: Library | None = None,
    allow_override: bool = True,
) -> Any:
    """As `CustomOpDef.register_fake`; without a function, a decorator."""
    if META in operator(op)._kernels and not allow_override:
        raise RuntimeError(f"{operator(op)._name} has a kernel for {META}")
    return operator(op).register_fake if func is None else operator(op).register_fake(func)


def impl_abstract(qualname: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """The older name of `register_fake`."""
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Any,
    backward: Callable,
    /,
    *,
    setup_context: Callable | None = None,
    lib: Library | None = None,
) -> None:
    """As `CustomOpDef.register_autograd`."""
    operator(op).register_autograd(backward, setup_context=setup_context)
