"""Samples of the modules of nn from PyTorch's table of them (ModuleInfo, in the installed package).

Both packages build a module from the same arguments and seed. One sample asks what it is: its repr,
its numbers by the keys of state_dict, its copies. The others call it on tensors and weights that
are the sample's, so that outputs, what becomes of buffers, and the gradients by inputs and by
parameters are compared.
"""

from __future__ import annotations

import copy
import functools
import itertools
import pickle
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree

from sweeps.sweep_compare import Sample
from sweeps.sweep_samples import (
    FLOATING,
    LIMIT,
    brief,
    no_expecttest,
    other_layouts,
    translated,
    usable,
)


@functools.cache
def module_infos() -> dict[str, list]:
    no_expecttest()
    from torch.testing._internal.common_modules import module_db

    return {info.name: [info] for info in module_db}


class Recipe:
    """Arguments of a constructor and of the call, their tensors apart from the rest."""

    def __init__(self, kind: str, construct: Any, call: Any, dtype: str, training: bool):
        self.kind, self.dtype, self.training = kind.removeprefix("nn."), dtype, training
        self.text = brief((construct.args, construct.kwargs))
        arguments = [(i.args, i.kwargs) if i is not None else None for i in (call, construct)]
        self.calls = call is not None
        leaves, self.spec = _pytree.tree_flatten(arguments)
        self.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.tensors = [leaves[i] for i in self.places]
        self.others = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        if call is not None:
            self.text += f" called with {brief((call.args, call.kwargs))}"

    def usable(self) -> bool:
        return all(map(usable, self.tensors)) and not any(
            isinstance(leaf, torch.nn.Module | complex) for leaf in self.others
        )

    def filled(self, module: Any, tensors: Any) -> tuple:
        leaves = [translated(module, leaf) for leaf in self.others]
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        call, construct = _pytree.tree_unflatten(leaves, self.spec)
        return construct, call

    def build(self, module: Any, construct: tuple) -> Any:
        args, kwargs = construct
        built = getattr(module.nn, self.kind)(*args, **kwargs)
        return built.to(getattr(module, self.dtype)).train(self.training)

    def weights(self) -> dict[str, torch.Tensor]:
        """PyTorch's parameters and buffers; none of a module that gets them at its first call."""
        torch.manual_seed(11)
        built = self.build(torch, self.filled(torch, self.tensors)[0])
        named = {**dict(built.named_parameters()), **dict(built.named_buffers())}
        return {} if any(map(torch.nn.parameter.is_lazy, named.values())) else named

    def description(self, module: Any, *tensors: Any) -> Any:
        built = self.build(module, self.filled(module, tensors)[0])
        again = pickle.loads(pickle.dumps(built))
        return [
            repr(built), repr(again), built.training, again.training, [*built.state_dict()],
            [*copy.deepcopy(built).state_dict().values()], [*again.state_dict().values()],
            [name for name, _ in built.named_modules()],
            [(name, p.requires_grad) for name, p in built.named_parameters()],
        ]  # fmt: skip

    def output(self, names: list[str], module: Any, *tensors: Any) -> Any:
        count = len(self.places)
        construct, call = self.filled(module, tensors[:count])
        built = self.build(module, construct)
        if not self.calls:
            return None
        args, kwargs = call
        if not names:
            return built(*args, **kwargs)
        named = dict(zip(names, tensors[count:], strict=True))
        return module.func.functional_call(built, named, args, kwargs)


def module_samples(name: str) -> Iterator[Sample]:
    """Of a name such as "torch.nn.Linear"."""
    kind = name.removeprefix("torch.")
    for info in module_infos().get(kind, []):
        for dtype, training in itertools.product(FLOATING, (True, False)):
            yield from of_inputs(info, kind, dtype, training)
        if info.module_error_inputs_func is not None:
            torch.manual_seed(3)
            for number, wrong in enumerate(
                info.module_error_inputs_func(info, "cpu", torch.float32, False, True)
            ):
                given = wrong.module_error_input
                recipe = Recipe(kind, given.constructor_input, given.forward_input, "float32", True)
                if recipe.usable():
                    yield Sample(
                        f"{kind} wrong {number} {recipe.text}",
                        functools.partial(recipe.output, []),
                        recipe.tensors, dtype="wrong", gradient=False,
                    )  # fmt: skip


def of_inputs(info: Any, kind: str, dtype: str, training: bool) -> Iterator[Sample]:
    torch.manual_seed(3)
    grad = dtype in ("float32", "float64")
    source = info.module_inputs_func(info, "cpu", getattr(torch, dtype), grad, training)
    for number, given in enumerate(itertools.islice(source, 3 * LIMIT)):
        recipe = Recipe(kind, given.constructor_input, given.forward_input, dtype, training)
        if not recipe.usable():
            continue
        where = f"{kind} {dtype} {'train' if training else 'eval'} {number} {recipe.text}"
        if training and dtype == "float32":
            tensors = [t.detach() for t in recipe.tensors]
            yield Sample(f"{where} itself", recipe.description, tensors, dtype=dtype)
        if given.forward_input is None:
            continue
        named = recipe.weights()
        made = Sample(
            where, functools.partial(recipe.output, [*named]), [*recipe.tensors, *named.values()],
            dtype=dtype, gradient=grad,
        )  # fmt: skip
        yield made
        if dtype == "float32" and training and number < LIMIT:
            for other in other_layouts(made):
                other.gradient = other.layout != "special values"  # which of many terms is NaN
                yield other
