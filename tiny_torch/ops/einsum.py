"""einsum and tensordot: products summed over labelled dims, by one batched matmul per pair.

An equation is read into lists of labels; every operand is permuted into a view that has one dim per
label, the output's first; then the operands are multiplied from left to right, each label summed
over as soon as no operand further right has it.
"""

from __future__ import annotations

import functools
import math
import string
from typing import Any

from tiny_torch.autograd.apply import apply_view
from tiny_torch.ops.matmul import bmm, mm
from tiny_torch.ops.public import check_tensor, into
from tiny_torch.ops.views import Unsqueeze, unique_dims
from tiny_torch.tensor import Tensor

LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in the order of an implicit output
ELLIPSIS = "..."


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
    if not isinstance(equation, str):
        raise TypeError(
            f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}"
        )
    for position, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(
                "einsum(): argument 'tensors' (position 2) must be tuple of Tensors, but found "
                f"element of type {type(operand).__name__} at pos {position}"
            )
    return contracted(*aligned(equation, operands))


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


def parsed(part: str, where: str) -> list[str]:
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
    inputs = [parsed(part, f"operand {i}") for i, part in enumerate(parts)]
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
    output = parsed(right, "output")
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


@functools.lru_cache(maxsize=256)  # for it costs as much as the product of small matrices
def labelled(equation: str, ndims: tuple) -> tuple[list[list[str]], list[str], int]:
    """A label for each dim of the operands; all of them, the output's first; how many those are."""
    inputs, output = parsed_equation(equation, ndims)
    hidden = [ndim - len(labels) + 1 if ELLIPSIS in labels else 0
              for labels, ndim in zip(inputs, ndims, strict=True)]  # fmt: skip
    # The dims under an ellipsis get labels of their own, counted from the right: "0" is the last.
    dots = [str(i) for i in reversed(range(max(hidden)))]

    def spelled(labels, count):
        at = labels.index(ELLIPSIS) if ELLIPSIS in labels else len(labels)
        return [*labels[:at], *dots[len(dots) - count :], *labels[at + 1 :]]

    inputs = [spelled(labels, count) for labels, count in zip(inputs, hidden, strict=True)]
    output = spelled(output, len(dots)) if ELLIPSIS in output else output
    flat = {label for labels in inputs for label in labels}
    order = output + [label for label in (*dots, *LETTERS) if label in flat and label not in output]
    return inputs, order, len(output)


# --------------------------------------------------------------------------------- the operands


def aligned(equation: str, operands: Any) -> tuple[list[Tensor], int]:
    """Views of the operands with one dim per label each, and how many of them the output has."""
    inputs, order, kept = labelled(equation, tuple([x.ndim for x in operands]))
    sizes: dict[str, int] = {}
    views = []
    for i, (labels, x) in enumerate(zip(inputs, operands, strict=True)):
        x, labels = without_repeats(x, labels, i)
        for label, size in zip(labels, x.shape, strict=True):
            known = sizes.setdefault(label, size)
            if known != size and 1 not in (known, size):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for operand {i} which does not "
                    f"broadcast with previously seen size {known}"
                )
            sizes[label] = size if known == 1 else known
        missing = [label for label in order if label not in labels]
        x = apply_view(Unsqueeze, x, (("unsqueeze", (-1,)),) * len(missing)) if missing else x
        labels = labels + missing
        views.append(x.permute(tuple([labels.index(label) for label in order])))
    return views, kept


def without_repeats(x: Tensor, labels: list[str], operand: int) -> tuple[Tensor, list[str]]:
    """A label twice in one operand is the diagonal of its dims."""
    if len(set(labels)) == len(labels):
        return x, labels
    labels = list(labels)
    for label in labels:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if x.shape[first] != x.shape[second]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {operand} but the sizes "
                    f"don't match, {x.shape[second]} != {x.shape[first]}"
                )
            x = x.diagonal(0, first, second).movedim(-1, first)
            del labels[second]
    return x, labels


# ------------------------------------------------------------------------------- the contraction


def contracted(operands: list[Tensor], kept: int) -> Tensor:
    """The product of the operands, summed over all dims but the first `kept`."""
    result, *rest = operands
    summed = range(kept, result.ndim)
    if not rest:
        return result.sum(tuple(summed)) if summed else result
    shapes = [x.array.shape for x in rest]
    for i, x in enumerate(rest):
        own, other = result.array.shape, shapes[i]
        last = [d for d in summed if all(shape[d] == 1 for shape in shapes[i + 1 :])]
        # A dim that only one of the pair has is summed before the product.
        alone = [d for d in last if other[d] == 1 and own[d] != 1]
        result = result.sum(alone, True) if alone else result
        alone = [d for d in last if own[d] == 1 and other[d] != 1]
        x = x.sum(alone, True) if alone else x
        result = pair(result, x, [d for d in last if own[d] != 1 and other[d] != 1])
    return result.view(result.shape[:kept])


def pair(x: Tensor, y: Tensor, summed: list[int]) -> Tensor:
    """x * y summed over some dims, which stay with size 1, as one batched matmul."""
    if not summed:
        return x * y
    a, b = x.array.shape, y.array.shape
    dims = [d for d in range(len(a)) if d not in summed]
    batch = [d for d in dims if a[d] != 1 and b[d] != 1]
    rows = [d for d in dims if a[d] != 1 and b[d] == 1]
    columns = [d for d in dims if a[d] == 1]
    if rows and columns and rows[0] > columns[-1]:  # y @ x then comes out in order
        x, y, a, b, rows, columns = y, x, b, a, columns, rows
    for d in batch:
        if a[d] != b[d]:
            raise RuntimeError("einsum(): non-broadcast dimensions must match")

    def size(shape, part):
        return math.prod([shape[d] for d in part])

    order = batch + rows + summed + columns
    left = x.permute(tuple(order)).reshape(size(a, batch), size(a, rows), size(a, summed))
    right = y.permute(tuple(batch + summed + columns + rows))
    product = bmm(left, right.reshape(size(b, batch), size(b, summed), size(b, columns)))
    sizes = [a[d] for d in batch + rows] + [1] * len(summed) + [b[d] for d in columns]
    return product.view(tuple(sizes)).permute(tuple([order.index(d) for d in range(len(a))]))


# ------------------------------------------------------------------------------------ tensordot


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Products summed over dims of both: the last and first `dims`, or two lists of dims.

    Raises RuntimeError where sizes or dtypes differ.
    https://pytorch.org/docs/stable/generated/torch.tensordot.html

    >>> import tiny_torch as torch
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    check_tensor("tensordot", "a", 1, a)
    check_tensor("tensordot", "b", 2, b)
    dims_a, dims_b = contracted_dims(a, b, dims)
    if len(dims_a) != len(dims_b):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for i, j in zip(dims_a, dims_b, strict=True):
        n, m = a.size(i), b.size(j)
        if m == 1:
            a = a.sum(i, True, dtype=a.dtype)
        elif n == 1:
            b = b.sum(j, True, dtype=b.dtype)
        elif n != m:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {i} and "
                f"second has size {m} in dim {j}"
            )
    inner_a, inner_b = unique_dims(dims_a, a.ndim), unique_dims(dims_b, b.ndim)
    outer_a = [d for d in range(a.ndim) if d not in inner_a]
    outer_b = [d for d in range(b.ndim) if d not in inner_b]
    sizes_a, sizes_b = [a.shape[d] for d in outer_a], [b.shape[d] for d in outer_b]
    length = math.prod([a.shape[d] for d in inner_a])
    left = a.permute([*outer_a, *inner_a]).reshape(math.prod(sizes_a), length)
    right = b.permute([*inner_b, *outer_b]).reshape(length, math.prod(sizes_b))
    result = mm(left, right).reshape(sizes_a + sizes_b)
    if out is not None and out.dtype is not result.dtype:
        raise RuntimeError(
            f"tensordot: Expected the output tensor to have dtype {result.dtype}, but got an "
            f"output tensor with dtype {out.dtype}"
        )
    return into(out, result)


def contracted_dims(a: Tensor, b: Tensor, dims: Any) -> tuple[list, list]:
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, (tuple, list)):
        dims_a, dims_b = dims
        if not all(isinstance(part, (tuple, list)) for part in (dims_a, dims_b)):
            raise TypeError("tensordot(): dims must be an int or two lists of ints")
        return list(dims_a), list(dims_b)
    if not isinstance(dims, int):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={dims}"
        )
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a.ndim, b.ndim):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return list(range(-dims, 0)), list(range(dims))


FUNCTIONS = {f.__name__: f for f in (einsum, tensordot)}
METHODS: dict[str, Any] = {}
