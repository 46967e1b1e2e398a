"""Indexing by anything that PyTorch takes, drawn at random: read, written, differentiated.

Values, strides and the types of exceptions must be PyTorch's.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import check
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny_torch

pytestmark = pytest.mark.torch
FEW = settings(deadline=None, max_examples=150)

# An item of an index is (kind, value): made anew for each package.
KINDS = ("int", "slice", "array", "array", "list", "numpy", "mask", "bools", "none", "...")
INTEGERS = ("int64", "int32", "uint8", "int16", "int8")


@st.composite
def index_arrays(draw, size, wrong):
    """Positions along a dim of `size`; a few outside if `wrong`."""
    shape = draw(st.sampled_from([(), (1,), (2,), (3,), (2, 1), (2, 3), (0,)]))
    low, high = (-size - 1, size) if wrong else (-size, size - 1)
    if size == 0 and not wrong:
        shape = (0,)
    count = int(np.prod(shape))
    values = draw(st.lists(st.integers(low, max(low, high)), min_size=count, max_size=count))
    return np.array(values, "int64").reshape(shape)


@st.composite
def items(draw, sizes, wrong):
    """An item for the first of `sizes`, and how many of them it takes."""
    size = sizes[0]
    kind = draw(st.sampled_from(KINDS))
    if kind == "int":
        low, high = (-size - 1, size) if wrong or size == 0 else (-size, size - 1)
        return ("int", draw(st.integers(low, high))), 1
    if kind == "slice":
        bound = st.none() | st.integers(-size - 1, size + 1)
        return ("slice", (draw(bound), draw(bound), draw(st.none() | st.integers(1, 3)))), 1
    if kind == "array":
        dtype = draw(st.sampled_from(INTEGERS if wrong else INTEGERS[:2]))
        values = draw(index_arrays(size, wrong))
        return ("array", values.astype(dtype)), 1
    if kind in ("list", "numpy"):
        values = draw(index_arrays(size, wrong))
        return (kind, values), 1
    if kind == "mask":
        dims = draw(st.integers(1, len(sizes)))
        shape = list(sizes[:dims])
        if wrong and draw(st.booleans()):
            shape[-1] += 1
        count = int(np.prod(shape))
        held = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        return ("array", np.array(held, bool).reshape(shape)), dims
    if kind == "bools":
        return ("list", np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))), 1
    return (kind, None), 0


@st.composite
def cases(draw, wrong=False):
    """(shape, order of dims in memory, index)"""
    sizes = st.integers(0 if draw(st.integers(0, 9)) == 0 else 1, 4)
    shape = tuple(draw(st.lists(sizes, min_size=1, max_size=4)))
    order = draw(st.permutations(range(len(shape))))
    index: list = []
    left = list(shape)
    while left and draw(st.integers(0, 5)):
        item, taken = draw(items(left, wrong))
        if item[0] == "...":
            if any(kind == "..." for kind, _ in index):
                continue
            del left[: draw(st.integers(0, len(left)))]
            # What follows counts from the end: sizes fit where just as many are left.
        index.append(item)
        left = left[taken:]
    return shape, tuple(order), index, draw(st.booleans())


def made(module, index, as_tuple):
    found: list = []
    for kind, value in index:
        if kind == "slice":
            found.append(slice(*value))
        elif kind == "array":
            found.append(module.from_numpy(value.copy()) if value.ndim else module.tensor(value))
        elif kind == "list":
            found.append(value.tolist())
        elif kind == "...":
            found.append(Ellipsis)
        else:
            found.append(value)
    return found[0] if len(found) == 1 and not as_tuple else tuple(found)


def tensor(module, shape, order, dtype="float32"):
    """Numbers in a shape whose dims lie in memory in another order."""
    values = np.arange(int(np.prod(shape)), dtype=dtype).reshape([shape[d] for d in order])
    return module.from_numpy(values.copy()).permute(*np.argsort(order).tolist())


@FEW
@given(cases())
def test_read(case):
    torch = pytest.importorskip("torch")
    shape, order, index, whole = case
    check(
        f"{shape} in {order} at {index}",
        lambda: tensor(tiny_torch, shape, order)[made(tiny_torch, index, whole)],
        lambda: tensor(torch, shape, order)[made(torch, index, whole)],
    )


@FEW
@given(cases(wrong=True))
def test_wrong_indices(case):
    torch = pytest.importorskip("torch")
    shape, order, index, whole = case
    check(
        f"{shape} in {order} at {index}",
        lambda: tensor(tiny_torch, shape, order)[made(tiny_torch, index, whole)],
        lambda: tensor(torch, shape, order)[made(torch, index, whole)],
    )


@FEW
@given(cases(), st.sampled_from(["number", "0-d", "row", "same", "one more", "float64"]))
def test_write(case, kind):
    torch = pytest.importorskip("torch")
    shape, order, index, whole = case

    def write(module):
        x = tensor(module, shape, order)
        at = made(module, index, whole)
        part = x[at]
        value = {
            "number": lambda: 7,
            "0-d": lambda: module.tensor(8.5),
            "row": lambda: -module.ones(part.shape[-1:]),
            "same": lambda: -1 - part,
            "one more": lambda: -1 - part.unsqueeze(0),
            "float64": lambda: -1.0 - part.double(),
        }[kind]()
        x[at] = value
        return x

    repeats = any(k in ("array", "list", "numpy") and v.dtype != bool for k, v in index)
    if repeats and kind not in ("number", "0-d"):
        return  # which of several writes to one place stays is not PyTorch's promise
    check(f"{shape} in {order} at {index}", lambda: write(tiny_torch), lambda: write(torch))


@FEW
@given(cases())
def test_gradient_and_repeated_positions_add_up(case):
    torch = pytest.importorskip("torch")
    shape, order, index, whole = case

    def gradient(module):
        x = tensor(module, shape, order, "float64").requires_grad_()
        part = x[made(module, index, whole)]
        weights = module.arange(part.numel(), dtype=module.float64).reshape(part.shape)
        (part * part * weights).sum().backward()
        return x.grad

    check(
        f"{shape} at {index}",
        lambda: gradient(tiny_torch),
        lambda: gradient(torch),
        strides=False,
    )


@FEW
@given(cases())
def test_index_put_accumulates(case):
    torch = pytest.importorskip("torch")
    shape, order, index, _ = case
    arrays = [value for kind, value in index if kind == "array" and value.dtype != bool]
    fitting = [a for a, n in zip(arrays, shape, strict=False) if a.size == 0 or -n <= a.min()]
    indices = [a for a, n in zip(fitting, shape, strict=False) if a.size == 0 or a.max() < n]
    if not indices:
        return

    def put(module):
        x = tensor(module, shape, order, "int64")
        x.index_put_([module.tensor(a) for a in indices], module.tensor(3), accumulate=True)
        return x

    check(f"{shape} at {indices}", lambda: put(tiny_torch), lambda: put(torch))
