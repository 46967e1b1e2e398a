"""Functions of tensors made to other functions of tensors: grad, vjp, jvp, Jacobians.

A transform runs its function on *marks*: tensors of the same memory, at which the gradients of this
transform end. A mark of a tensor that requires grad has an edge to it, so that transforms nest and
mix with autograd; what depends on nothing but marks of our own answers without history. There is no
forward mode: jvp and jacfwd differentiate the vector-Jacobian product, which is linear in its
vector, by that vector. Jacobians are computed row by row.
https://pytorch.org/docs/stable/func.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from tiny_torch import autograd
from tiny_torch.autograd.grad_mode import inference_mode, is_grad_enabled
from tiny_torch.autograd.graph import Node, edge_of
from tiny_torch.base.modes import Setting, modes, thread
from tiny_torch.base.pytree import tree_flatten, tree_map, tree_unflatten
from tiny_torch.base.several import Several
from tiny_torch.func.samples import Samples, check_randomness
from tiny_torch.functions.shape.join import stack
from tiny_torch.tensor import Tensor

Argnums = int | tuple[int, ...]


def grad(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """The function that answers the gradient of `func` with respect to its argument `argnums`.

    `func` returns a 0-d tensor, or with `has_aux` a pair (0-d tensor, tensors that are passed on).
    A tuple of `argnums` gives a tuple of gradients; an argument may be a tree of tensors. Raises
    RuntimeError for other outputs, ValueError for arguments that are not tensors.
    https://pytorch.org/docs/stable/generated/torch.func.grad.html

    >>> import tiny_torch as torch
    >>> cube = lambda x: x**3
    >>> torch.func.grad(torch.func.grad(cube))(torch.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """As `grad`, but the function answers (gradient, value), or (gradient, (value, aux)).

    https://pytorch.org/docs/stable/generated/torch.func.grad_and_value.html
    """
    name = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def both(*args: Any, **kwargs: Any) -> Any:
        with inference_mode(False):
            point = Point(args, argnums)
            output, aux = split_aux(point.run(func, **kwargs), has_aux, name)
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"{name}: Expected f(*args) to return a Tensor, got {type(output)}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            gradient = tree_unflatten(point.pull([output], [output.new_ones(())]), point.spec)
        gradient, output, aux = (point.leave(tree) for tree in (gradient, output, aux))
        return (gradient, (output, aux)) if has_aux else (gradient, output)

    return both


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> Any:
    """(output, f): f maps cotangents, shaped as the output, to a tuple of one gradient per primal.

    With `has_aux`, (output, f, aux). Raises RuntimeError for outputs that are not floating point.
    https://pytorch.org/docs/stable/generated/torch.func.vjp.html
    """
    return vjp_by(func, primals, None, has_aux)


def jvp(
    func: Callable, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """(output, the change of output along `tangents`): primals and tangents are equal trees.

    Without a forward mode: the derivative of a vector-Jacobian product by its vector. With
    `strict`, RuntimeError where an output does not depend on the primals.
    https://pytorch.org/docs/stable/generated/torch.func.jvp.html

    >>> import tiny_torch as torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    output, push, aux = pusher(func, primals, None, has_aux, strict)
    pushed = push(tangents)
    return (output, pushed, aux) if has_aux else (output, pushed)


def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """(output, f): f maps tangents, one for each primal, to the change of the output along them.

    https://pytorch.org/docs/stable/generated/torch.func.linearize.html

    >>> import tiny_torch as torch
    >>> output, push = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> output, push(torch.tensor(2.0))
    (tensor(0.), tensor(2.))
    """
    output, push, _ = pusher(func, primals, None, False, False)
    return output, lambda *tangents: push(tangents)


def jacrev(
    func: Callable, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable:
    """The function that answers the Jacobian of `func`, computed row by row from the outputs.

    For an output of shape S and an argument of shape T it has shape S + T; trees of outputs hold
    trees of arguments. `chunk_size` changes nothing here.
    https://pytorch.org/docs/stable/generated/torch.func.jacrev.html
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        output, pull, *aux = vjp_by(func, args, argnums, has_aux)
        outputs, output_spec = tree_flatten(output)
        inputs, input_spec = tree_flatten(slice_arguments(args, argnums))
        rows = []
        for basis in standard_basis(outputs):
            rows.append(tree_flatten(pull(tree_unflatten(basis, output_spec)))[0])
        parts, start = [], 0
        for y in outputs:
            block, start = rows[start : start + y.numel()], start + y.numel()
            parts.append([stack_rows([r[i] for r in block], y, x) for i, x in enumerate(inputs)])
        result = tree_unflatten([tree_unflatten(part, input_spec) for part in parts], output_spec)
        return (result, *aux) if has_aux else result

    return jacobian


def jacfwd(
    func: Callable,
    argnums: Argnums | None = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable:
    """The function that answers the Jacobian of `func`, computed column by column, as by `jvp`.

    None for `argnums` means all of them. `func` may draw random numbers unless `randomness` is
    "error".
    https://pytorch.org/docs/stable/generated/torch.func.jacfwd.html

    >>> import tiny_torch as torch
    >>> torch.func.jacfwd(torch.square)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        check_randomness(randomness)
        inputs, input_spec = tree_flatten(chosen_of(args, argnums))
        sizes = [x.numel() for x in inputs]
        with Samples((), randomness):
            output, push, aux = pusher(func, args, argnums, has_aux, False)
        outputs, output_spec = tree_flatten(output)
        columns = []
        for basis in standard_basis(inputs):
            columns.append(tree_flatten(push(tree_unflatten(basis, input_spec)))[0])
        parts = []
        for j, y in enumerate(outputs):
            row, start = [], 0
            for x, size in zip(inputs, sizes, strict=True):
                block, start = columns[start : start + size], start + size
                column_wise = stack_rows([c[j] for c in block], x, y)  # (*x, *y)
                row.append(column_wise.permute((*range(x.ndim, x.ndim + y.ndim), *range(x.ndim))))
            parts.append(tree_unflatten(row, input_spec))
        result = tree_unflatten(parts, output_spec)
        return (result, aux) if has_aux else result

    return jacobian


def hessian(func: Callable, argnums: Argnums = 0) -> Callable:
    """The function that answers the second derivatives: jacfwd(jacrev(func)).

    https://pytorch.org/docs/stable/generated/torch.func.hessian.html

    >>> import tiny_torch as torch
    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


# ------------------------------------------------------------------------- what transforms share


class Point:
    """Where a function is differentiated: its arguments, some of them replaced by marks."""

    def __init__(self, args: tuple, argnums: Argnums | None):
        chosen = args if argnums is None else slice_arguments(args, argnums, False)
        leaves, self.spec = tree_flatten(chosen)
        self.marks = [mark(x) for x in leaves]
        self.own = {m for m in self.marks if m.is_leaf}
        marked = tree_unflatten(self.marks, self.spec)
        if argnums is None:
            self.args = marked
        else:
            places = [argnums] if isinstance(argnums, int) else list(argnums)
            values = [marked] if isinstance(argnums, int) else marked
            by_place = {n % len(args): v for n, v in zip(places, values, strict=True)}
            self.args = tuple(by_place.get(i, a) for i, a in enumerate(args))

    def run(self, func: Callable, **kwargs: Any) -> Any:
        """The function at the marks."""
        samples = [mode for mode in modes.op_modes if isinstance(mode, Samples)]
        settings = [Setting(mode, "in_gradient", True) for mode in samples]
        with Several(Setting(thread, "in_transform", True), *settings):
            return func(*self.args, **kwargs)

    def pull(self, outputs: list, weights: Any, create_graph: bool = True) -> list:
        """The gradients of outputs with respect to the marks; zeros where there is none."""
        weights = [None] * len(outputs) if weights is None else weights
        pairs = [(y, w) for y, w in zip(outputs, weights, strict=True) if y.requires_grad]
        if not pairs:
            return [m.detach().new_zeros(m.shape) for m in self.marks]
        return list(
            autograd.grad(
                [y for y, _ in pairs],
                self.marks,
                [w for _, w in pairs],
                retain_graph=True,
                create_graph=create_graph,
                materialize_grads=True,
            )
        )

    def leave(self, tree: Any) -> Any:
        """Results for the caller, who knows nothing of marks."""
        recorded = is_grad_enabled()

        def leave_leaf(x: Any) -> Any:
            if not isinstance(x, Tensor):
                if x is None:
                    return x
                raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
            if not x.requires_grad or (recorded and leads_outside(x, self.own)):
                return x
            return x.detach()

        return tree_map(leave_leaf, tree)


def mark(x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    if x.requires_grad:
        return x.view_as(x)
    own = x.detach()
    own.requires_grad = True
    return own


def leads_outside(x: Tensor, own: set) -> bool:
    """Whether x depends on a leaf that is not among `own`."""
    seen = set()
    stack = [edge_of(x)[0]]
    while stack:
        target = stack.pop()
        if not isinstance(target, Node):
            if target not in own:
                return True
        elif target not in seen:
            seen.add(target)
            stack += [edge[0] for edge in target.edges if edge is not None]
    return False


def vjp_by(func: Callable, args: tuple, argnums: Argnums | None, has_aux: bool) -> Any:
    with inference_mode(False):
        point = Point(args, argnums)
        output, aux = split_aux(point.run(func), has_aux, "vjp(f, *primals)")
        outputs, spec = tree_flatten(output)
        check_outputs(outputs, "vjp(f, *primals)")
        for y in outputs:
            if not y.is_floating_point():
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                    f"Tensor with dtype {y.dtype}"
                )

    outside = any(y.requires_grad and leads_outside(y, point.own) for y in outputs)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        weights, given = tree_flatten(cotangents)
        if given != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {given}, primal output: {spec}"
            )
        if isinstance(retain_graph, Tensor) or isinstance(create_graph, Tensor):
            raise TypeError("the cotangents are one tree, no arguments one after the other")
        recorded = create_graph
        if recorded is None:  # as `leave` asks of each result: who could differentiate it?
            recorded = is_grad_enabled() and (outside or any(w.requires_grad for w in weights))
        with inference_mode(False):
            gradients = point.pull(outputs, weights, recorded)
        return point.leave(tree_unflatten(gradients, point.spec))

    left = point.leave(output)
    return (left, pull, point.leave(aux)) if has_aux else (left, pull)


def pusher(
    func: Callable, primals: Any, argnums: Argnums | None, has_aux: bool, strict: bool
) -> tuple:
    """(output, push, aux): push maps tangents, shaped as the primals, to those of the output."""
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    chosen, chosen_spec = tree_flatten(chosen_of(primals, argnums))
    check_tensors(chosen, name, "primals")
    for x in chosen:
        if not x.is_floating_point():
            raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")
    with inference_mode(False):
        point = Point(primals, argnums)
        output, aux = split_aux(point.run(func), has_aux, name)
        outputs, spec = tree_flatten(output)
        check_outputs(outputs, name)
        vectors = [
            y.detach().new_zeros(y.shape, requires_grad=True) for y in outputs if y.requires_grad
        ]
        point.own.update(vectors)
        pulled = point.pull([y for y in outputs if y.requires_grad], vectors)
        outside = any(g.requires_grad and leads_outside(g, point.own) for g in pulled)

    def push(tangents: Any) -> Any:
        weights, given = tree_flatten(tangents)
        if given != chosen_spec:
            raise RuntimeError(
                f"{name}: Expected primals and tangents to have the same python structure. For "
                "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals "
                f"with structure {chosen_spec} and tangents with structure {given}"
            )
        check_tensors(weights, name, "tangents")
        for x, t in zip(chosen, weights, strict=True):
            if x.shape != t.shape:
                raise RuntimeError(
                    "Trying to set a forward gradient that has a different size than that of the "
                    f"original Tensor, this is not supported. Tensor is of size {list(x.shape)} "
                    f"while the given forward gradient is of size {list(t.shape)}."
                )
        pairs = [(g, t) for g, t in zip(pulled, weights, strict=True) if g.requires_grad]
        found: Any = [None] * len(vectors)
        if pairs and vectors:
            recorded = is_grad_enabled() and (outside or any(t.requires_grad for t in weights))
            with inference_mode(False):
                found = autograd.grad(
                    [g for g, _ in pairs],
                    vectors,
                    [t for _, t in pairs],
                    retain_graph=True,
                    create_graph=recorded,
                    allow_unused=True,
                )
        by_output = iter(found)
        changes = [next(by_output) if y.requires_grad else None for y in outputs]
        if strict and None in changes:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True."
            )
        filled = [
            y.detach().new_zeros(y.shape) if c is None else c
            for y, c in zip(outputs, changes, strict=True)
        ]
        return point.leave(tree_unflatten(filled, spec))

    return point.leave(output), push, point.leave(aux)


def chosen_of(args: tuple, argnums: Any) -> Any:
    return args if argnums is None else slice_arguments(args, argnums)


def slice_arguments(args: tuple, argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments that `argnums` names; RuntimeError where it names none, or one twice."""
    if not isinstance(argnums, int | tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    places = argnums if isinstance(argnums, tuple) else (argnums,)
    for place in places:
        if not isinstance(place, int):
            raise RuntimeError(f"argnum must be int, got: {type(place)}")
        if not -len(args) <= place < len(args):
            raise RuntimeError(f"Got argnum={place}, but only {len(args)} positional inputs")
    if not places:
        raise RuntimeError("argnums must be non-empty")
    if len({place % len(args) for place in places}) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    if isinstance(argnums, int) and not as_tuple:
        return args[argnums]
    return args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in places)


def split_aux(output: Any, has_aux: bool, name: str) -> tuple:
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return output


def check_outputs(outputs: list, name: str) -> None:
    if not outputs or outputs == [None]:
        raise RuntimeError(
            f"{name}: Expected f to be a function that has non-empty output (got output = "
            f"{outputs})"
        )
    for y in outputs:
        if not isinstance(y, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(y)}"
            )


def check_tensors(leaves: list, name: str, what: str) -> None:
    if not leaves:
        raise RuntimeError(f"{name}: Expected {what} to contain at least one Tensor.")
    for x in leaves:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{name}: Expected {what} to only contain Tensors, got {type(x)}")


def standard_basis(tensors: list) -> Iterator[list]:
    """For every element of every tensor, in order: all zeros but for a one there."""
    for i, x in enumerate(tensors):
        for k in range(x.numel()):
            basis = [t.detach().new_zeros(t.shape) for t in tensors]
            basis[i].view(-1)[k] = 1
            yield basis


def stack_rows(rows: list, outer: Tensor, inner: Tensor) -> Tensor:
    """Tensors like `inner`, one per element of `outer`, as one: (*outer, *inner)."""
    if not rows:
        return inner.detach().new_zeros((*outer.shape, *inner.shape))
    return stack(rows).view((*outer.shape, *inner.shape))
