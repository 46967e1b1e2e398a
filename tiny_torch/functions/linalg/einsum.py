"""einsum and tensordot: products summed over labelled dims, by one batched matmul per pair.

An equation is read into lists of labels; every operand is permuted into a view that has one dim per
label, the output's first; then the operands are multiplied from left to right, each label summed
over as soon as no operand further right has it.
"""

from __future__ import annotations

import functools
import math
import operator
import string
from typing import Any, NamedTuple

from tiny_torch.autograd.apply import apply_view
from tiny_torch.autograd.op_mode import as_one
from tiny_torch.functions.common import check_kind, check_listed, into
from tiny_torch.functions.linalg.matmul import bmm, dot, mm
from tiny_torch.functions.public import function
from tiny_torch.functions.shape.views import reshape_copying
from tiny_torch.ops.shape.views import Permute, Unsqueeze, are_ints, unique_dims
from tiny_torch.tensor import Tensor

LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in the order of an implicit output
ELLIPSIS = "..."


@function
@as_one
def einsum(*args: Any) -> Tensor:
    """Sums of products by the labels of an equation: einsum("ij,jk->ik", a, b) is a @ b.

    Labels that the output does not name are summed over; a label twice in one operand is its
    diagonal; "..." stands for dims that broadcast; without "->" the output has the labels that
    occur once. Instead of an equation, each operand may be followed by a list of ints.
    Raises RuntimeError where the equation is wrong or does not fit the operands.
    https://pytorch.org/docs/stable/generated/torch.einsum.html

    >>> import tiny_torch as torch
    >>> torch.einsum("ij,ij->i", torch.ones(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
    >>> torch.einsum(torch.ones(2, 2), [0, 0])
    tensor(2.)
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if isinstance(args[0], Tensor):
        equation = ",".join([subscripts(labels) for labels in args[1::2]])
        if len(args) % 2:
            equation += "->" + subscripts(args[-1])
        operands = args[: len(args) - len(args) % 2 : 2]
    else:
        equation, operands = args[0], args[1:]
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        return einsum(equation, *operands[0])
    check_kind("einsum", "equation", 1, equation, "str", str)
    check_listed("einsum", 2, operands)
    return make_plan(equation, tuple([x.array.shape for x in operands]))(operands)


def subscripts(labels: Any) -> str:
    """A list of ints (and Ellipsis) as the letters of an equation."""
    letters = ""
    for label in labels:
        if label != Ellipsis and not 0 <= label < len(LETTERS):
            raise ValueError(
                "einsum(): subscript in subscript list is not within the valid range [0, 52)"
            )
        letters += ELLIPSIS if label == Ellipsis else LETTERS[label]
    return letters


# ------------------------------------------------------------------------------- the equation


def parse_labels(part: str, where: str) -> list[str]:
    """The labels of one operand or of the output: letters, and ELLIPSIS at most once."""
    labels: list[str] = []
    rest = part.replace(" ", "")
    while rest:
        if rest.startswith("."):
            if ELLIPSIS in labels:
                raise RuntimeError(
                    f"einsum(): found '.' for {where} for which an ellipsis was already found"
                )
            if not rest.startswith(ELLIPSIS):
                raise RuntimeError(
                    f"einsum(): found '.' for {where} that is not part of any ellipsis"
                )
            labels.append(ELLIPSIS)
            rest = rest[3:]
        elif rest[0] in LETTERS:
            labels.append(rest[0])
            rest = rest[1:]
        else:
            raise RuntimeError(
                f"einsum(): invalid subscript '{rest[0]}' given for {where}, subscripts must be in "
                "[a-zA-Z]"
            )
    return labels


def parsed_equation(equation: str, ndims: tuple) -> tuple[list[list[str]], list[str]]:
    """The labels of every operand and of the output."""
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) != len(ndims):
        raise RuntimeError(
            f"einsum(): {'fewer' if len(parts) > len(ndims) else 'more'} operands were provided "
            "than specified in the equation"
        )
    inputs = [parse_labels(part, f"operand {i}") for i, part in enumerate(parts)]
    for i, (labels, ndim) in enumerate(zip(inputs, ndims, strict=True)):
        count = len(labels) - labels.count(ELLIPSIS)
        if count > ndim or (count < ndim and ELLIPSIS not in labels):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({count}) does not match the "
                f"number of dimensions ({ndim}) for operand {i}"
            )
    flat = [label for labels in inputs for label in labels]
    if not arrow:
        return inputs, [ELLIPSIS, *[label for label in LETTERS if flat.count(label) == 1]]
    output = parse_labels(right, "output")
    for label in output:
        if label != ELLIPSIS and label not in flat:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input "
                "operand"
            )
        if output.count(label) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {label} appears more than once in the output"
            )
    return inputs, output


def labels_of(equation: str, ndims: tuple) -> tuple[list[list[str]], list[str], int]:
    """A label for each dim of the operands; all of them, the output's first; how many those are."""
    inputs, output = parsed_equation(equation, ndims)
    hidden = [ndim - len(labels) + 1 if ELLIPSIS in labels else 0
              for labels, ndim in zip(inputs, ndims, strict=True)]  # fmt: skip
    # The dims under an ellipsis get labels of their own, counted from the right: "0" is the last.
    dots = [str(i) for i in reversed(range(max(hidden)))]

    def spell(labels, count):
        at = labels.index(ELLIPSIS) if ELLIPSIS in labels else len(labels)
        return [*labels[:at], *dots[len(dots) - count :], *labels[at + 1 :]]

    inputs = [spell(labels, count) for labels, count in zip(inputs, hidden, strict=True)]
    output = spell(output, len(dots)) if ELLIPSIS in output else output
    flat = {label for labels in inputs for label in labels}
    order = output + [label for label in (*dots, *LETTERS) if label in flat and label not in output]
    return inputs, order, len(output)


# --------------------------------------------------------------------------------- the operands
#
# From here on a dim is a place in `order`, where a size of 1 stands for a label that is not there.


class Arranged(NamedTuple):
    """How an operand is viewed: dims of size 1 added, all permuted, some summed, some made one."""

    added: int
    dims: tuple | None  # None where that changes nothing
    summed: tuple
    shape: tuple | None

    def __call__(self, x: Tensor) -> Tensor:
        if self.added:
            x = apply_view(Unsqueeze, x, (("unsqueeze", (-1,)),) * self.added)
        if self.dims is not None:
            x = apply_view(Permute, x, self.dims)
        if self.summed:
            x = x.sum(self.summed, True)
        return x if self.shape is None else x.reshape(self.shape)


class Operand(NamedTuple):
    """What a plan knows of an operand: its own dim at each place, or None; both shapes."""

    places: list[int | None]
    shape: tuple
    sizes: tuple
    alone: tuple = ()  # its own dims that are summed before any product, and have size 1 then

    def without(self, places: list[int]) -> Operand:
        """It after a sum over some places."""
        own = [self.places[d] for d in places]
        alone = tuple([d for d in own if d is not None])
        shape = tuple([1 if d in alone else size for d, size in enumerate(self.shape)])
        sizes = tuple([1 if d in places else size for d, size in enumerate(self.sizes)])
        return Operand(self.places, shape, sizes, alone)

    def arrange(self, added: int, dims: list[int], wanted: tuple | None) -> Arranged:
        """Its dims in another order, to be of the wanted shape."""
        return Arranged(
            added,
            tuple(dims) if dims != sorted(dims) else None,
            tuple([i for i, d in enumerate(dims) if d in self.alone]),
            None if wanted is None or wanted == tuple([self.shape[d] for d in dims]) else wanted,
        )

    def as_matrices(self, parts: list[list[int]]) -> Arranged:
        """The places of each part as one dim."""
        own = [self.places[d] for part in parts for d in part]
        dims = [d for d in own if d is not None]
        rest = [d for d in range(len(self.shape)) if d not in dims]  # of size 1
        wanted = tuple([math.prod([self.sizes[d] for d in part]) for part in parts])
        return self.arrange(0, rest + dims, wanted)

    def align(self) -> Arranged:
        """A dim at every place."""
        own = len(self.shape)
        behind = iter(range(own, len(self.places)))
        dims = [next(behind) if d is None else d for d in self.places]
        return self.arrange(len(dims) - own, dims, None)


def diagonals(labels: list[str], shape: tuple, operand: int) -> tuple[list, list[str], tuple]:
    """The pairs of dims whose diagonal a repeated label is; then the labels and the shape."""
    pairs = []
    labels, sizes = list(labels), list(shape)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if sizes[first] != sizes[second]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {operand} but the sizes "
                    f"don't match, {sizes[second]} != {sizes[first]}"
                )
            pairs.append((first, second))
            del labels[second], sizes[second]
    return pairs, labels, tuple(sizes)


# ------------------------------------------------------------------------------- the contraction


class Result(NamedTuple):
    """How the product of matrices is viewed: with a dim per place, in their order, without some."""

    shape: tuple | None
    dims: tuple | None
    last: tuple | None

    def __call__(self, x: Tensor) -> Tensor:
        x = x if self.shape is None else x.view(self.shape)
        x = x if self.dims is None else apply_view(Permute, x, self.dims)
        return x if self.last is None else x.view(self.last)


class Pair(NamedTuple):
    """One product: how the operands and the result are viewed."""

    swapped: bool
    product: Any
    left: Arranged
    right: Arranged
    result: Result

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        x, y = (y, x) if self.swapped else (x, y)
        return self.result(self.product(self.left(x), self.right(y)))


class Plan(NamedTuple):
    """What einsum does with operands of some shapes."""

    diagonals: list[list[tuple[int, int]]]
    first: Arranged | None
    pairs: list[Pair]
    summed: tuple  # of the first operand, where it is alone

    def __call__(self, operands: Any) -> Tensor:
        operands = list(operands)
        for i, pairs in enumerate(self.diagonals):
            for first, second in pairs:
                operands[i] = operands[i].diagonal(0, first, second).movedim(-1, first)
        result = operands[0] if self.first is None else self.first(operands[0])
        for pair, x in zip(self.pairs, operands[1:], strict=True):
            result = pair(result, x)
        return result.sum(self.summed) if self.summed else result


@functools.lru_cache(maxsize=256)  # for it costs more than the product of small matrices
def make_plan(equation: str, shapes: tuple) -> Plan:
    """All that follows from the equation and the shapes; RuntimeError where they do not fit."""
    inputs, order, kept = labels_of(equation, tuple([len(shape) for shape in shapes]))
    known: dict[str, int] = {}
    repeats, operands = [], []
    for i, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        pairs, labels, shape = diagonals(labels, shape, i)
        for label, size in zip(labels, shape, strict=True):
            so_far = known.setdefault(label, size)
            if so_far != size and 1 not in (so_far, size):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for operand {i} which does not "
                    f"broadcast with previously seen size {so_far}"
                )
            known[label] = size if so_far == 1 else so_far
        places = [labels.index(label) if label in labels else None for label in order]
        sizes = tuple([1 if d is None else shape[d] for d in places])
        repeats.append(pairs)
        operands.append(Operand(places, shape, sizes))
    if len(operands) == 1:
        return Plan(repeats, operands[0].align(), [], tuple(range(kept, len(order))))
    result, *rest = operands
    steps = []
    for i, x in enumerate(rest):
        others = rest[i + 1 :]
        last = [d for d in range(kept, len(order)) if all(y.sizes[d] == 1 for y in others)]
        step, result = multiply_pair(result, x, last, len(order) if others else kept)
        steps.append(step)
    return Plan(repeats, None, steps, ())


def multiply_pair(x: Operand, y: Operand, last: list[int], kept: int) -> tuple[Pair, Operand]:
    """x * y, summed over the places of `last`; the result has the first `kept` places."""
    # A place that only one of the pair has is summed before the product.
    a, b = x.sizes, y.sizes
    x = x.without([d for d in last if b[d] == 1 and a[d] != 1])
    y = y.without([d for d in last if a[d] == 1 and b[d] != 1])
    a, b = x.sizes, y.sizes
    summed = [d for d in last if a[d] != 1 and b[d] != 1]
    if not summed:
        shape = tuple([m if n == 1 else n for m, n in zip(a, b, strict=True)])
        dropped = Result(shape[:kept] if kept < len(shape) else None, None, None)
        step = Pair(False, operator.mul, x.align(), y.align(), dropped)
        return step, Operand(list(range(kept)), shape[:kept], shape[:kept])
    dims = [d for d in range(len(a)) if d not in summed]
    batch = [d for d in dims if a[d] != 1 and b[d] != 1]
    rows = [d for d in dims if a[d] != 1 and b[d] == 1]
    columns = [d for d in dims if a[d] == 1]
    swapped = bool(rows and columns) and rows[0] > columns[-1]  # y @ x then comes out in order
    if swapped:
        x, y, a, b, rows, columns = y, x, b, a, columns, rows
    for d in batch:
        if a[d] != b[d]:
            raise RuntimeError("einsum(): non-broadcast dimensions must match")
    parts = [batch] if batch else []
    left = x.as_matrices([*parts, rows, summed])
    right = y.as_matrices([*parts, summed, columns])
    # Places are then in the order of batch, rows and columns; those that were summed have size 1.
    whole = tuple(
        [1 if d in summed else a[d] if d in batch + rows else b[d] for d in range(len(a))]
    )
    shape = whole[:kept]
    # Strides of sizes of 1, and of what is empty, are PyTorch's only if all places go its way.
    roundabout = kept < len(a) and (0 in shape or 1 in shape)
    count = len(a) if roundabout else kept
    made = [d for d in batch + rows + summed + columns if d < count]
    sizes = tuple([whole[d] for d in made])
    matrices = tuple([math.prod([a[d] for d in part]) for part in [*parts, rows]])
    flat = (*matrices, math.prod([b[d] for d in columns]))
    back = Result(
        sizes if flat != sizes else None,
        tuple([made.index(d) for d in range(count)]) if made != sorted(made) else None,
        shape if roundabout else None,
    )
    step = Pair(swapped, bmm if batch else mm, left, right, back)
    return step, Operand(list(range(kept)), shape, shape)


# ------------------------------------------------------------------------------------ tensordot


@function
@as_one
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Products summed over dims of both: the last and first `dims`, or two lists of dims.

    Raises RuntimeError where sizes or dtypes differ.
    https://pytorch.org/docs/stable/generated/torch.tensordot.html

    >>> import tiny_torch as torch
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    dims_a, dims_b = contracted_dims(a, b, dims)
    if len(dims_a) != len(dims_b):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if not are_ints(dims_a) or not are_ints(dims_b):
        dims_a, dims_b = unique_dims(dims_a, a.ndim), unique_dims(dims_b, b.ndim)
    plan = contraction(a.array.shape, b.array.shape, dims_a, dims_b)
    for dim in plan.sums_a:
        a = a.sum(dim, True, dtype=a.dtype)
    for dim in plan.sums_b:
        b = b.sum(dim, True, dtype=b.dtype)
    left = reshape_copying(apply_view(Permute, a, plan.order_a), plan.left)
    right = reshape_copying(apply_view(Permute, b, plan.order_b), plan.right)
    if out is None:
        if plan.shape == ():  # a product of vectors to autocast, too
            return dot(left.flatten(), right.flatten())
        return reshape_copying(mm(left, right), plan.shape)
    if out.dtype is not left.dtype:
        raise RuntimeError(
            f"tensordot: Expected the output tensor to have dtype {left.dtype}, but got an "
            f"output tensor with dtype {out.dtype}"
        )
    if out.array.shape == plan.shape and out.is_contiguous():
        mm(left, right, out=out.view(left.shape[0], right.shape[1]))
        return out
    return into(out, reshape_copying(mm(left, right), plan.shape))


class Contraction(NamedTuple):
    sums_a: tuple  # dims where the other has size 1
    sums_b: tuple
    order_a: tuple  # of dims: what is kept, what is contracted
    order_b: tuple  # the reverse
    left: tuple  # sizes as a matrix
    right: tuple
    shape: tuple


@functools.lru_cache(maxsize=256)
def contraction(shape_a: tuple, shape_b: tuple, dims_a: tuple, dims_b: tuple) -> Contraction:
    """How tensordot becomes a matrix product, for two shapes."""
    inner_a, inner_b = unique_dims(dims_a, len(shape_a)), unique_dims(dims_b, len(shape_b))
    sums_a, sums_b = [], []
    length = 1
    for i, j in zip(inner_a, inner_b, strict=True):
        n, m = shape_a[i], shape_b[j]
        if n == m:
            length *= n
        elif m == 1:
            sums_a.append(i)
        elif n == 1:
            sums_b.append(j)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {i} and "
                f"second has size {m} in dim {j}"
            )
    outer_a = tuple([d for d in range(len(shape_a)) if d not in inner_a])
    outer_b = tuple([d for d in range(len(shape_b)) if d not in inner_b])
    sizes_a, sizes_b = tuple([shape_a[d] for d in outer_a]), tuple([shape_b[d] for d in outer_b])
    return Contraction(
        tuple(sums_a),
        tuple(sums_b),
        outer_a + inner_a,
        inner_b + outer_b,
        (math.prod(sizes_a), length),
        (length, math.prod(sizes_b)),
        sizes_a + sizes_b,
    )


def contracted_dims(a: Tensor, b: Tensor, dims: Any) -> tuple[tuple, tuple]:
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, (tuple, list)):
        dims_a, dims_b = dims
        if not all(isinstance(part, (tuple, list)) for part in (dims_a, dims_b)):
            raise TypeError("tensordot(): dims must be an int or two lists of ints")
        return tuple(dims_a), tuple(dims_b)
    if not isinstance(dims, int):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={dims}"
        )
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a.ndim, b.ndim):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return tuple(range(-dims, 0)), tuple(range(dims))
