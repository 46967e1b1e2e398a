"""vmap: a function of samples made to a function of batches, by calling it for each sample.

PyTorch calls the function once, with tensors that hide their batch dimension, and every op has a
rule for such tensors. Here the function runs once a sample, on views of the batch, and the results
are stacked: the same numbers and gradients without a rule per op, at the cost of a loop. Of many
samples whose results have no history, the loop runs a recording of the function (program/), without
Python. What tensors of all samples at once cannot do, such as `item()` or a branch on a value, is
refused here, too, as are ops for which PyTorch has no rule, such as an LSTM (samples.py).
https://pytorch.org/docs/stable/func.batch_level.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tiny_torch.base.modes import Setting, thread
from tiny_torch.base.pytree import tree_flatten, tree_unflatten
from tiny_torch.func.samples import RANDOM, Samples, check_randomness
from tiny_torch.functions.offsets import shift_of
from tiny_torch.functions.random.generator import default_generator
from tiny_torch.functions.shape.join import stack
from tiny_torch.nn import Module
from tiny_torch.program.compiled import Compiled
from tiny_torch.tensor import Tensor

MANY = 48  # samples for which a recording of the function pays: it takes as long as some twenty


def vmap(
    func: Callable,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable:
    """The function that answers `func` of each sample of a batch, stacked; a loop over samples.

    `in_dims`: the batch dimension of each positional argument, None for one that all samples share,
    as a tree like the arguments or a beginning of it; keyword arguments are shared. `out_dims`: the
    batch dimension of each output; None for an output that is the same for all samples.
    `randomness`: "error" refuses draws from the default generator, "same" repeats them for each
    sample, "different" draws on (numbers other than PyTorch's, which draws for all samples at
    once). `chunk_size` bounds memory in PyTorch; the loop has one sample at a time. Raises
    ValueError for dimensions that do not fit; RuntimeError for another `randomness`, and where
    Python, or a shape, depends on a sample's elements, or a sample is written into what all share.
    https://pytorch.org/docs/stable/generated/torch.func.vmap.html

    >>> import tiny_torch as torch
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.func.vmap(torch.dot)(x, x)
    tensor([ 5., 25.])
    >>> torch.func.vmap(torch.func.grad(lambda row: (row**2).sum()))(x)
    tensor([[2., 4.],
            [6., 8.]])
    """
    check_randomness(randomness)
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    recorded = Compiled(func)

    @functools.wraps(func)
    def over_batch(*args: Any, **kwargs: Any) -> Any:
        check_out_dims(out_dims, func)
        leaves, dims, spec = batched_inputs(in_dims, args, func)
        sizes = [x.shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if len(set(sizes)) > 1:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got "
                f"sizes {sizes} for the mapped dimension"
            )

        def sample(i: int, function: Callable) -> Any:
            chosen = [
                x if d is None else x.select(d, i) if sizes[0] else x.new_zeros(others(x, d))
                for x, d in zip(leaves, dims, strict=True)
            ]
            if i == 0:
                samples.mark([x for x, d in zip(chosen, dims, strict=True) if d is not None])
            begins = [
                (part.array, shift_of(x.array, d, i))
                for x, d, part in zip(leaves, dims, chosen, strict=True)
                if d is not None
            ]
            with Setting(thread, "samples", (*thread.samples, begins)):
                return function(*tree_unflatten(chosen, spec), **kwargs)

        batches = [x for x, d in zip(leaves, dims, strict=True) if d is not None]
        samples = Samples(batches, randomness)
        # of an empty batch, a sample of zeros tells the shapes
        outputs = outputs_of(sample, func, recorded, max(sizes[0], 1), samples)
        return stack_outputs(outputs, out_dims, func, sizes[0], samples)

    return over_batch


def others(x: Tensor, dim: int) -> tuple[int, ...]:
    """The shape without one dimension."""
    return (*x.shape[:dim], *x.shape[dim + 1 :])


def outputs_of(
    sample: Callable, func: Callable, recorded: Compiled, count: int, samples: Samples
) -> list:
    """Samples 0, watched, 1, ... of func; what they draw is as `samples.randomness` says."""
    before = default_generator.get_state()
    with samples:
        outputs = [sample(0, func)]
    has_history = any(isinstance(x, Tensor) and x.requires_grad for x in tree_flatten(outputs)[0])
    pays = count >= MANY or recorded.cases
    function = recorded if pays and not has_history else func
    for i in range(1, count):
        if samples.randomness == "same":
            default_generator.set_state(before)
        outputs.append(sample(i, function))
    if samples.randomness == "error" and not before.equal(default_generator.get_state()):
        default_generator.set_state(before)  # drawn by what is no op
        raise RuntimeError(RANDOM)
    return outputs


def batched_inputs(in_dims: Any, args: tuple, func: Callable) -> tuple[list, list, Any]:
    """The arguments' leaves, the batch dimension of each from the front or None, and their spec."""
    start = f"vmap({func_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{start}expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({func_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, "
            "or you are trying to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = broadcast_leaves(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{start}in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {tree_flatten(in_dims)[1]!s} but inputs has structure "
            f"{spec!s}."
        )
    return leaves, [checked_dim(x, d, start) for x, d in zip(leaves, dims, strict=True)], spec


def checked_dim(x: Any, dim: Any, start: str) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{start}Got in_dim={dim} for an input but in_dim must be either an integer dimension "
            "or None."
        )
    if not isinstance(x, Tensor):
        raise ValueError(
            f"{start}Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot "
            "vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -x.ndim <= dim < x.ndim:
        raise ValueError(
            f"{start}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
            f"{x.ndim} so expected in_dim to satisfy -{x.ndim} <= in_dim < {x.ndim}."
        )
    return dim % x.ndim


def check_out_dims(out_dims: Any, func: Callable) -> None:
    if not all(isinstance(d, int | None) for d in tree_flatten(out_dims)[0]):
        raise ValueError(
            f"vmap({func_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None "
            "or a python collection of ints representing where in the outputs the vmapped "
            "dimension should appear."
        )


def stack_outputs(
    outputs: list, out_dims: Any, func: Callable, count: int, samples: Samples
) -> Any:
    """The samples' outputs as trees of batches."""
    spec = tree_flatten(outputs[0])[1]
    by_sample = [tree_flatten(output)[0] for output in outputs]
    if spec.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    dims = broadcast_leaves(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({func_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not "
            f"compatible with the structure of `outputs`. out_dims has structure "
            f"{tree_flatten(out_dims)[1]!s} but outputs has structure {spec!s}."
        )
    leaves = zip(*by_sample, strict=True)
    joined = [
        batch(list(parts), d, func, count, samples) for parts, d in zip(leaves, dims, strict=True)
    ]
    return tree_unflatten(joined, spec)


def batch(parts: list, dim: int | None, func: Callable, count: int, samples: Samples) -> Any:
    """One output of all samples."""
    name = func_name(func)
    if dim is None:
        if samples.depends(parts[0]) or any(not same(part, parts[0]) for part in parts):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return parts[0]
    for part in parts:
        if not isinstance(part, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(part)}. "
                "Did you mean to set out_dims= to None for output?"
            )
    whole = stack(parts, dim)
    return whole if count else whole.narrow(dim, 0, 0)


def same(part: Any, first: Any) -> bool:
    if part is first:
        return True
    if isinstance(part, Tensor):
        a, b = part.array, first.array
        return a.same_shape(b) and (a == b).all(None, False).item()
    return part == first


def broadcast_leaves(tree: Any, spec: Any) -> list | None:
    """The leaves of a tree, each as often as its place in `spec` has leaves; None for a misfit."""
    leaves, own = tree_flatten(tree)
    if own.is_leaf():
        return leaves * spec.num_leaves
    if (own.type, own.context, own.num_children) != (spec.type, spec.context, spec.num_children):
        return None
    children = tree.values() if isinstance(tree, dict) else tree
    found: list = []
    for child, part in zip(children, spec.children(), strict=True):
        more = broadcast_leaves(child, part)
        if more is None:
            return None
        found += more
    return found


def func_name(func: Callable) -> str:
    if isinstance(func, functools.partial):
        return f"functools.partial({func_name(func.func)}, ...)"
    return getattr(func, "__name__", None) or repr(func)


def stack_module_state(models: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """(parameters, buffers) of several models of one class, each stacked: (models, *shape).

    With `functional_call` in `vmap` they are an ensemble. Raises RuntimeError for no models, for
    different classes, and where some train and some do not.
    https://pytorch.org/docs/stable/generated/torch.func.stack_module_state.html

    >>> import tiny_torch as torch
    >>> parameters, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 3) for _ in "abcd"])
    >>> parameters["weight"].shape, buffers
    (torch.Size([4, 3, 2]), {})
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def all_of(tables: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        return {name: join([table[name] for table in tables]) for name in tables[0]}

    def join(tensors: list[Tensor]) -> Tensor:
        if not all(t.is_leaf for t in tensors):
            return stack(tensors)
        if len({t.requires_grad for t in tensors}) > 1:
            raise RuntimeError("Expected all tensors to have the same requires_grad")
        return stack(tensors).detach().requires_grad_(tensors[0].requires_grad)

    names: tuple[Callable[[Module], Any], ...] = (Module.named_parameters, Module.named_buffers)
    parameters, buffers = (all_of([dict(named(model)) for model in models]) for named in names)
    return parameters, buffers


__all__ = ["stack_module_state", "vmap"]
