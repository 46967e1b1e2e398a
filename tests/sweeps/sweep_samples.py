"""Where the sweep takes the samples of a name from.

1. PyTorch's own table of ops (OpInfo, in the installed package): arguments that its authors thought
   of, for functions, methods, in-place forms and `out=`, and the wrong ones with their exceptions.
2. The tables of this folder, op_cases*.py.
3. sweep_cases*.py: expressions that both packages evaluate, for what is not an op.

Each is tried in every dtype that PyTorch supports, and in other layouts.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import importlib
import inspect
import io
import itertools
import math
import operator
import pickle
import sys
import types
import unittest
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from cases.all_cases import CASES
from cases.op_cases import LAYOUTS, SHAPES, numbers
from torch.utils import _pytree

from sweeps.sweep_cases import EXPRESSIONS, OPINFO_NAMES, PREPARE, TENSORS
from sweeps.sweep_compare import DTYPES, Sample, is_tensor

FLOATING = ("float16", "bfloat16", "float32", "float64")
MAIN = ("float32", "int64", "bool")  # tried in every layout
LIMIT = 12  # samples of one kind, dtype and layout


# ---------------------------------------------------------------------------------------- layouts


def relaid(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """The tensor's numbers (of the first row, where it is expanded) in another layout."""
    shape = tuple(tensor.shape)
    if layout == "contiguous" or not shape:
        return tensor
    strides, offset = LAYOUTS[layout](shape)
    size = offset + 1 + sum(max(n - 1, 0) * s for n, s in zip(shape, strides, strict=True))
    result = tensor.detach().new_zeros(size).as_strided(shape, strides, offset)
    if tensor.numel():
        source = tensor.detach()
        result_row, source = (result[:1], source[:1]) if layout == "broadcast" else (result, source)
        result_row.copy_(source)
    return result.requires_grad_(tensor.requires_grad)


def special(tensor: torch.Tensor) -> torch.Tensor:
    """With NaN, infinities and zeros of both signs among its numbers."""
    result = tensor.detach().clone()
    flat = result.view(-1) if result.is_contiguous() else result.reshape(-1)
    for i, value in enumerate((math.nan, math.inf, -math.inf, 0.0, -0.0)):
        flat[i * 3 : i * 3 + 1] = value
    return flat.view(tensor.shape)


def usable(tensor: torch.Tensor) -> bool:
    return (
        tensor.layout == torch.strided
        and tensor.device.type == "cpu"
        and str(tensor.dtype).removeprefix("torch.") in DTYPES
        and tensor.numel() < 200_000
    )


# ----------------------------------------------------------------------------------------- OpInfo


def no_expecttest() -> None:
    """PyTorch's tests need this package, its tables do not."""
    if "expecttest" not in sys.modules:
        stub: Any = types.ModuleType("expecttest")
        stub.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stub


@functools.cache
def op_infos() -> dict[str, list]:
    """PyTorch's records by the names of ops and their aliases."""
    no_expecttest()
    from torch.testing._internal.common_methods_invocations import op_db

    # Importing it forbids to set the flags of torch.backends.
    torch.backends.m.__allow_nonbracketed_mutation_flag = True  # type: ignore[attr-defined]
    table: dict[str, list] = {}
    for info in op_db:
        for name in {info.name, *[alias.name for alias in info.aliases]}:
            table.setdefault(name, []).append(info)
    return table


def translated(module: Any, value: Any) -> Any:
    """An argument that is not a tensor, as the module's."""
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return getattr(module, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return module.device(str(value))
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, torch.nn.PairwiseDistance):
        return module.nn.PairwiseDistance(value.norm, value.eps, value.keepdim)
    name = getattr(value, "__name__", "")
    if callable(value) and getattr(torch.nn.functional, name, None) is value:
        return getattr(module.nn.functional, name)
    return value


def resolve(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module


def has(module: Any, name: str) -> bool:
    """Whether the module has a name, such as "torch.Tensor.add_"; submodules are imported."""
    *path, last = name.split(".")[1:]
    for part in path:
        if not hasattr(module, part):
            with contextlib.suppress(ImportError):
                importlib.import_module(f"{module.__name__}.{part}")
        module = getattr(module, part, None)
    return hasattr(module, last)


def rebound(function: Callable, module: Any) -> Callable:
    """A helper of PyTorch's table that calls `torch`, calling the module instead."""

    def seeded(op: Callable, *args: Any, **kwargs: Any) -> Any:
        module.manual_seed(42)
        return op(*args, **kwargs)

    names = {**function.__globals__, "torch": module, "wrapper_set_seed": seeded}
    result = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    result.__kwdefaults__ = function.__kwdefaults__
    return result


def caller(info: Any, path: str) -> Callable[[Any], Callable]:
    """What to call: the function of the name, or the helper that the record has in its place."""
    own = info.op
    helper = inspect.isfunction(own) and own.__module__.startswith("torch.testing")
    name = path.removeprefix("Tensor.")
    if name in ("linalg.eigh", "linalg.svd", "svd"):
        return lambda module: functools.partial(signed, resolve(module, path))
    if path != name:
        return lambda module: lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)
    if helper:
        return lambda module: rebound(own, module)
    return lambda module: resolve(module, path)


def signed(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """eigh or svd, its vectors with signs that do not depend on the version of LAPACK."""
    result = function(*args, **kwargs)
    kind = type(result).__name__.removesuffix("_out")
    if kind == "linalg_eigh":
        vectors = [result[1]]
    else:
        vectors = [result[0], result[2].mT if kind == "linalg_svd" else result[2]]
    signs = [sign_of_columns(v.detach()) for v in vectors]
    pairs = result[1].shape[-1]
    for v, sign in zip(vectors, signs, strict=True):
        sign[..., :pairs] = signs[0][..., :pairs]  # those of U and V go together
        if "out" in kwargs:
            v.mul_(sign)
    if "out" in kwargs:
        return result
    vectors = [v * sign for v, sign in zip(vectors, signs, strict=True)]
    if kind == "linalg_eigh":
        return type(result)((result[0], *vectors))
    vectors[1] = vectors[1].mT if kind == "linalg_svd" else vectors[1]
    return type(result)((vectors[0], result[1], vectors[1]))


def sign_of_columns(vectors: Any) -> Any:
    """Of a sum of the elements with weights, which is no 0 but for a column of zeros."""
    weights = vectors.new_ones(vectors.shape).cumsum(-2)
    return (vectors * weights).sum(-2, keepdim=True).sign()


def from_arguments(function: Callable, arguments: tuple, **options: Any) -> Sample | None:
    leaves, spec = _pytree.tree_flatten(arguments)
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    others = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    if not all(map(usable, tensors)) or any(
        isinstance(leaf, complex | torch.Generator)
        or (isinstance(leaf, torch.dtype) and str(leaf).removeprefix("torch.") not in DTYPES)
        for leaf in others
    ):
        return None

    def call(module: Any, *mine: Any, **more: Any) -> Any:
        filled = [translated(module, leaf) for leaf in others]
        for place, tensor in zip(places, mine, strict=True):
            filled[place] = tensor
        args, kwargs = _pytree.tree_unflatten(filled, spec)
        return function(module)(*args, **kwargs, **more)

    return Sample(call=call, tensors=tensors, **options)


def opinfo_samples(path: str) -> Iterator[Sample]:
    name = path.removeprefix("Tensor.")
    in_place = "." not in name and name.endswith("_") and not name.endswith("__")
    plain = name.removesuffix("_") if in_place and name not in op_infos() else name
    plain = OPINFO_NAMES.get(path if path != name else plain, plain)
    for info in op_infos().get(plain, []):
        if path.startswith("Tensor.") and not hasattr(torch.Tensor, path.removeprefix("Tensor.")):
            continue
        function = caller(info, path)
        label = f"{path} {info.variant_test_name}".strip()
        yield from wrong_samples(info, function, label)
        for dtype in DTYPES:
            if getattr(torch, dtype) in info.dtypes:
                yield from of_dtype(info, function, label, dtype, in_place)


def of_dtype(
    info: Any, function: Callable, label: str, dtype: str, in_place: bool
) -> Iterator[Sample]:
    grad = info.supports_autograd and dtype in FLOATING
    torch.manual_seed(3)
    source = info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=grad)
    out = info.supports_out and not in_place and not label.startswith("Tensor.")
    if label.startswith("nn.functional"):  # those of C++ take `out`, which no page of theirs says
        out = False
    plain = 0
    for number, sample in enumerate(itertools.islice(source, 200)):
        if plain >= LIMIT * (3 if dtype in MAIN else 1):
            break
        if in_place and (not isinstance(sample.input, torch.Tensor) or sample.broadcasts_input):
            continue
        arguments = ((sample.input, *sample.args), sample.kwargs)
        made = from_arguments(
            function, arguments, where=f"{label} {dtype} sample {number} {brief(arguments)}",
            dtype=dtype, mutates=in_place,
            gradient=grad and (dtype in ("float32", "float64") or number < 3),
        )  # fmt: skip
        if made is None:
            continue
        plain += 1
        yield made
        if dtype in MAIN and plain <= LIMIT:
            yield from other_layouts(made)
        if out and plain <= 4:
            yield from with_out(made)


def other_layouts(sample: Sample) -> Iterator[Sample]:
    for layout in list(LAYOUTS)[1:]:
        if any(t.ndim for t in sample.tensors):
            yield replaced(sample, layout, [relaid(t, layout) for t in sample.tensors])
    floats = sample.tensors and sample.tensors[0].is_floating_point() and sample.tensors[0].numel()
    if floats and "linalg" not in sample.where:
        first, *rest = sample.tensors
        yield replaced(sample, "special values", [special(first), *rest])


def replaced(sample: Sample, layout: str, tensors: list) -> Sample:
    result = copy.copy(sample)
    result.where, result.layout, result.tensors = f"{sample.where} {layout}", layout, tensors
    return result


def with_out(sample: Sample) -> Iterator[Sample]:
    """`out` like the result, with strides, empty (it grows), of a dtype that cannot hold it."""

    def made(kind: str) -> Callable:
        def call(module: Any, *tensors: Any) -> Any:
            result = sample.call(module, *tensors)
            many = not is_tensor(result)
            outs = [out_like(module, part, kind) for part in (result if many else [result])]
            given = tuple(outs) if many else outs[0]
            answer = sample.call(module, *tensors, out=given)
            same = [a is b for a, b in zip(answer, outs, strict=True)] if many else answer is given
            return [same, outs]

        return call

    if not sample.tensors:
        return
    for kind in ("like it", "strided", "empty", "of int8"):
        result = replaced(sample, f"out {kind}", [t.detach() for t in sample.tensors])
        result.call, result.gradient = made(kind), False
        yield result


def out_like(module: Any, part: Any, kind: str) -> Any:
    shape = tuple(part.shape)
    if kind == "empty":
        return module.empty(0, dtype=part.dtype)
    if kind == "of int8":
        return module.zeros(shape, dtype=module.int8)
    if kind == "strided" and shape:
        return module.zeros((*shape[:-1], 2 * shape[-1]), dtype=part.dtype)[..., ::2]
    return module.zeros(shape, dtype=part.dtype)


def wrong_samples(info: Any, function: Callable, label: str) -> Iterator[Sample]:
    """Arguments that PyTorch refuses, by its own table."""
    if info.error_inputs_func is None:
        return
    torch.manual_seed(3)
    for number, wrong in enumerate(info.error_inputs("cpu")):
        sample = wrong.sample_input
        arguments = ((sample.input, *sample.args), sample.kwargs)
        made = from_arguments(
            function, arguments, where=f"{label} wrong {number} {brief(arguments)}",
            dtype="wrong", gradient=False,
        )  # fmt: skip
        if made is not None:
            yield made


def brief(arguments: Any) -> str:
    """Arguments in one line: of tensors, the shapes."""

    def short(value: Any) -> str:
        if isinstance(value, torch.Tensor) and value.layout != torch.strided:
            return f"{value.layout}"
        if isinstance(value, torch.Tensor):
            strides = "" if value.is_contiguous() else f"/{tuple(value.stride())}"
            kind = str(value.dtype).removeprefix("torch.")
            return f"{kind}{list(value.shape)}{strides}"
        if isinstance(value, tuple | list):
            return "(" + ", ".join(map(short, value)) + ")"
        return repr(value)[:60]

    args, kwargs = arguments
    return f"{short(args)} " + " ".join(f"{k}={short(v)}" for k, v in kwargs.items())


# -------------------------------------------------------------------------------- tables of cases


def case_samples(path: str) -> Iterator[Sample]:
    name = path.removeprefix("Tensor.")
    method = path != name
    in_place = method and name.endswith("_")
    for case in CASES:
        if case.function != name.removesuffix("_") or (method and case.call is not None):
            continue
        if in_place and case.shapes is not None:
            continue
        for number, shapes in enumerate((case.shapes or SHAPES[case.arity])[:6]):
            if any(math.prod(s) > 1000 for s in shapes):
                continue
            yield from of_case(case, path, method, in_place, number, shapes)


def of_case(
    case: Any, path: str, method: bool, in_place: bool, number: int, shapes: tuple
) -> Iterator[Sample]:
    def call(module: Any, *tensors: Any) -> Any:
        if method:
            first, *rest = tensors
            return getattr(first, path.removeprefix("Tensor."))(*rest, *case.args, **case.kwargs)
        return case(module, *tensors)

    for dtype in DTYPES if number == 0 else ("float32", "int64"):
        for layout in LAYOUTS if dtype in MAIN and number < 2 else ("contiguous",):
            tensors = [
                relaid(random_tensor(shape, dtype, domain, i), layout)
                for i, (shape, domain) in enumerate(zip(shapes, case.domains, strict=True))
            ]
            yield Sample(
                f"{path} case '{case.name}' {dtype} {shapes} {layout}", call,
                [t.requires_grad_(t.is_floating_point()) for t in tensors],
                layout, dtype, in_place, max(1, case.ulps / 64),
                case.gradient and dtype in ("float32", "float64"), case.strides, case.second,
            )  # fmt: skip


def random_tensor(shape: tuple, dtype: str, domain: str = "real", seed: int = 0) -> torch.Tensor:
    like = dtype if dtype in ("bool", "float32", "float64") else "float32"
    like = "uint8" if dtype == "uint8" else "int64" if "int" in dtype else like
    flat = torch.from_numpy(numbers(domain, like, max(math.prod(shape), 1), seed))
    return flat[: math.prod(shape)].clone().reshape(shape).to(getattr(torch, dtype))


# ------------------------------------------------------------------------------------ expressions


def tensors_of(dtype: str) -> dict[str, torch.Tensor]:
    made = {
        name: random_tensor(shape, dtype, domain, number)
        for number, (name, (shape, domain)) in enumerate(TENSORS.items())
    }
    for tensor in made.values():
        tensor.requires_grad_(tensor.is_floating_point())
    return {
        **made,
        "f": random_tensor((3, 4, 5), "float32").requires_grad_(),
        "k": torch.tensor([[0, 2, 1, 3], [3, 0, 2, 1], [1, 1, 0, 0], [2, 3, 3, 0]]),
        "i": torch.tensor([2, 0, 1]),
        "b": random_tensor((3, 4, 5), "bool"),
    }


class Expression:
    """The text of a sample, run under a module: statements, and an expression, the result."""

    def __init__(self, text: str, prepare: str):
        tree = ast.parse(f"{prepare}\n{text}")
        self.names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        last = tree.body[-1]
        self.statements, self.result = compile(tree, "<sample>", "exec"), None
        if isinstance(last, ast.Expr):
            tree.body.pop()
            self.statements = compile(tree, "<sample>", "exec")
            self.result = compile(ast.Expression(last.value), "<sample>", "eval")

    def __call__(self, module: Any, names: dict, dtype: str) -> Any:
        scope = {
            "torch": module, "np": np, "math": math, "copy": copy, "pickle": pickle, "io": io,
            "operator": operator, "inspect": inspect, "nn": module.nn,
            "F": module.nn.functional, "data": module.utils.data, **names,
        }  # fmt: skip
        if "d" in self.names:
            scope["d"] = getattr(module, dtype)
        try:
            exec(self.statements, scope)
            return None if self.result is None else eval(self.result, scope)
        finally:
            module.set_default_dtype(module.float32)
            module.set_grad_enabled(True)


def expression_samples(path: str) -> Iterator[Sample]:
    for text in EXPRESSIONS.get(path, ()):
        expression = Expression(text, PREPARE.get(path, ""))
        world = tensors_of("float32")
        names = [name for name in world if name in expression.names]
        varied = "d" in expression.names or any(name in TENSORS for name in names)
        for dtype in DTYPES if varied else ("float32",):
            world = tensors_of(dtype)
            for layout in LAYOUTS if dtype in MAIN and names else ("contiguous",):

                def call(
                    module: Any, *tensors: Any, expression=expression, names=names, dtype=dtype
                ) -> Any:
                    return expression(module, dict(zip(names, tensors, strict=True)), dtype)

                tensors = [relaid(world[name], layout) for name in names]
                yield Sample(
                    f"{path} `{text}` {dtype} {layout}", call, tensors, layout, dtype,
                    mutates=path.endswith("_") or path.startswith("Tensor.__i"),
                    gradient=dtype in ("float32", "float64"),
                )  # fmt: skip


def samples(name: str) -> Iterator[Sample]:
    """All samples of a name, such as "torch.Tensor.add_"."""
    path = name.removeprefix("torch.")
    yield from expression_samples(path)
    yield from case_samples(path)
    yield from opinfo_samples(path)
