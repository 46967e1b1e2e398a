"""Indexing: brackets, gather and scatter, index_*, masked_*, where, nonzero, copy_ and fill_.

A case is an expression, or statements that write, on tensors of both packages; they must agree in
values, dtype, strides, the type of an exception, and two orders of gradients.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from cases.index_cases import OUTS, READS, SHAPES, VALUES, WRITES, cases, tensors
from cases.op_cases import LAYOUTS
from helpers import check, compare, make
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny_torch


@pytest.mark.torch
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", cases(READS))
def test_read(case, layout):
    torch = pytest.importorskip("torch")
    check(
        f"{case} of {layout}",
        lambda: eval(case, tensors(tiny_torch, layout)),
        lambda: eval(case, tensors(torch, layout)),
    )


def written(case: str, module, layout: str):
    names = tensors(module, layout)
    exec(case, names)
    return [names[name] for name in (*SHAPES, "n", "u")]


@pytest.mark.torch
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", cases(WRITES))
def test_write(case, layout):
    torch = pytest.importorskip("torch")
    check(
        f"{case} of {layout}",
        lambda: written(case, tiny_torch, layout),
        lambda: written(case, torch, layout),
    )


@pytest.mark.torch
@pytest.mark.parametrize("out", ["same", "float64", "int64", "permuted"])
@pytest.mark.parametrize("case", cases(OUTS))
def test_out(case, out):
    torch = pytest.importorskip("torch")

    def call(module):
        names = tensors(module, "contiguous")
        found = eval(case.replace(", out=o", ""), dict(names))
        shape = tuple((found[0] if isinstance(found, tuple) else found).shape)
        dtype = getattr(module, out if "64" in out else "int64" if "nonzero" in case else "float32")
        names["o"] = module.zeros(shape, dtype=dtype)
        if out == "permuted":
            names["o"] = module.zeros(shape[::-1], dtype=dtype).permute(*range(len(shape))[::-1])
        result = eval(case, names)
        assert result is names["o"]
        return result

    check(f"{case} into {out}", lambda: call(tiny_torch), lambda: call(torch))


def gradients(case: str, module, layout: str) -> list:
    """Gradients of what a case gives, or leaves behind, and of those by their weights."""
    leaves = {}
    names = tensors(module, layout, "float64")
    for name in SHAPES:
        leaves[name] = names[name].detach().requires_grad_()
        names[name] = leaves[name] * 1
    if case in cases(READS):
        result = eval(case, names)
        results = result if isinstance(result, tuple) else (result,)
    else:
        exec(case, names)
        results = [names[name] for name in SHAPES]
    results = [r for r in results if getattr(r, "requires_grad", False)]
    weights = [
        make(module, VALUES[::-1].astype(str(r.dtype).split(".")[-1]), tuple(r.shape), "contiguous")
        .requires_grad_()
        for r in results
    ]  # fmt: skip
    inputs = list(leaves.values())
    first = module.autograd.grad(results, inputs, weights, create_graph=True, allow_unused=True)
    given = [g for g in first if g is not None and g.requires_grad]
    loss = sum([(g * g).sum() for g in given])
    if not given or any(w.numel() == 0 for w in weights):
        return list(first)
    return [*first, *module.autograd.grad(loss, weights, allow_unused=True)]


@pytest.mark.torch
@pytest.mark.parametrize("layout", ["contiguous", "permuted"])
@pytest.mark.parametrize("case", [*cases(READS), *cases(WRITES)])
def test_gradients(case, layout):
    torch = pytest.importorskip("torch")
    try:
        expected = gradients(case, torch, layout)
    except Exception:
        return
    found = gradients(case, tiny_torch, layout)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        if theirs is not None and ours is None:  # what nothing is left of: no gradient, or zeros
            assert not theirs.any()
        else:
            compare(ours, theirs, case, ulps=64, strides=False)


# ----------------------------------------------------------------------------------- by NumPy


@st.composite
def basic_indices(draw):
    """A shape, and an index of ints, slices, None and Ellipsis that is inside it."""
    shape = tuple(draw(st.lists(st.integers(1, 5), max_size=4)))
    count = draw(st.integers(0, len(shape)))
    gap = draw(st.integers(0, count)) if draw(st.booleans()) else None
    items: list = []
    for position in range(count):
        if gap == position:
            items.append(Ellipsis)
        if draw(st.integers(0, 4)) == 0:
            items.append(None)
        axis = position if gap is None or position < gap else position - count
        size = shape[axis]
        if draw(st.booleans()):
            items.append(draw(st.integers(-size, size - 1)))
        else:
            bound = st.none() | st.integers(-7, 7)
            items.append(slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3))))
    return shape, tuple(items)


@settings(deadline=None, max_examples=300)
@given(basic_indices())
def test_basic_indexing_is_numpys(case):
    shape, index = case
    count = int(np.prod(shape))
    reference = np.arange(count).reshape(shape)
    x = tiny_torch.arange(count).reshape(shape)
    part = x[index]
    assert part._base is None or part._base is x
    np.testing.assert_array_equal(part.numpy(), reference[index])
    x[index] = -1
    reference[index] = -1
    np.testing.assert_array_equal(x.numpy(), reference)


@settings(deadline=None, max_examples=100)
@given(basic_indices())
def test_basic_indexing_is_one_node_with_its_own_gradient(case):
    shape, index = case
    x = tiny_torch.ones(shape, requires_grad=True)
    part = x[index]
    assert part.grad_fn.next_functions[0][0] is x or part.grad_fn.next_functions[0][0] is not None
    weights = np.random.default_rng(0).random(tuple(part.shape)).astype("float32")
    part.backward(tiny_torch.tensor(weights))
    expected = np.zeros(shape, "float32")
    expected[index] = weights
    np.testing.assert_array_equal(x.grad.numpy(), expected)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(-4, 3), max_size=9), st.lists(st.integers(-5, 4), max_size=9))
def test_integer_lists_are_numpys(rows, columns):
    reference = np.arange(20.0).reshape(4, 5)
    x = tiny_torch.tensor(reference)
    np.testing.assert_array_equal(x[rows].numpy(), reference[np.array(rows, int)])
    np.testing.assert_array_equal(x[:, columns].numpy(), reference[:, np.array(columns, int)])
    n = min(len(rows), len(columns))
    pair = np.array(rows[:n], int), np.array(columns[:n], int)
    np.testing.assert_array_equal(x[pair].numpy(), reference[pair])


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=20))
def test_repeated_indices_add_their_gradients(index):
    counts = np.bincount(index, minlength=5).astype("float32")
    positions = tiny_torch.tensor(index)
    for pick in (
        lambda x: x[index],
        lambda x: x[positions],
        lambda x: x.index_select(0, positions),
        lambda x: x.gather(0, positions),
        lambda x: tiny_torch.take_along_dim(x, positions, 0),
        lambda x: tiny_torch.stack([x[i] for i in index]),
    ):
        x = tiny_torch.zeros(5, requires_grad=True)
        pick(x).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), counts)


# ------------------------------------------------------------------------------------- known facts


def test_outside_is_an_index_error():
    x = tiny_torch.zeros(2, 3)
    assert x[-1].tolist() == [0, 0, 0]
    for index in (2, -3, (0, 3), (0, -4), [2], tiny_torch.tensor([-3]), (slice(None), [3])):
        with pytest.raises(IndexError):
            x[index]
        with pytest.raises(IndexError):
            x[index] = 1.0


def test_messages_name_what_was_wrong():
    x = tiny_torch.zeros(2, 3)
    for index, message in (
        (5, "index 5 is out of bounds for dimension 0 with size 2"),
        ((0, 0, 0), "too many indices for tensor of dimension 2"),
        (tiny_torch.tensor([True] * 3), r"shape of the mask \[3\] at index 0"),
        (1.5, "only integers, slices"),
    ):
        with pytest.raises(IndexError, match=message):
            x[index]
    with pytest.raises(RuntimeError, match=r"must match the existing size \(2\)"):
        x[0] = tiny_torch.zeros(2)
    with pytest.raises(TypeError, match="can't assign a list to a torch"):
        x[0] = [1, 2, 3]


@pytest.mark.parametrize(
    "shape, write, error, message",
    [
        ((3,), "index_add_(0, at, row)", IndexError, "index out of range in self"),
        ((3, 2), "index_add_(0, at, row)", RuntimeError, "index 5 is out of bounds for dim"),
        ((3,), "index_copy_(0, at, row)", IndexError, "index_copy_(): index 5 is out of"),
        ((3,), "index_fill_(0, at, 1)", IndexError, "index 5 is out of bounds for dimension 0"),
    ],
)
def test_positions_of_slices_that_are_not_there(torch, shape, write, error, message):
    x = torch.zeros(shape)
    known = {"x": x, "at": torch.tensor([0, 5]), "row": torch.ones(2, *shape[1:])}
    with pytest.raises(error, match=re.escape(message)):
        eval(f"x.{write}", known)
    assert torch is not tiny_torch or x.eq(0).all()  # PyTorch may have written the first


def test_reads_are_views_or_copies():
    x = tiny_torch.arange(6).view(2, 3)
    x[0][1] = 10
    x[:, 1:][1][0] = 20
    assert x.tolist() == [[0, 10, 2], [3, 20, 5]]
    x[[0]][0] = 99
    x[x > 0].zero_()
    assert x.tolist() == [[0, 10, 2], [3, 20, 5]]


def test_a_write_through_an_index_keeps_its_gradient():
    a = tiny_torch.ones(2, 2, requires_grad=True)
    b = a * 2
    b[0].add_(1)
    (b * b).sum().backward()
    assert a.grad.tolist() == [[12, 12], [8, 8]]


def test_gradients_flow_into_the_value_and_around_it():
    a = tiny_torch.ones(3, requires_grad=True)
    value = tiny_torch.tensor(5.0, requires_grad=True)
    b = a * 2
    b[1:] = value
    (b * tiny_torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert a.grad.tolist() == [2, 0, 0] and value.grad.item() == 5

    row = tiny_torch.ones(2, requires_grad=True)
    table = tiny_torch.zeros(3, 2)
    table[0] = row
    table[[1, 2]] = row
    table.sum().backward()
    assert row.grad.tolist() == [3, 3]


def test_a_mask_assignment_has_gradients():
    a = tiny_torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    b = a * 1
    b[b < 0] = 0
    b.sum().backward()
    assert a.grad.tolist() == [1, 0, 1]


def test_a_changed_index_is_noticed():
    x = tiny_torch.ones(3, requires_grad=True)
    index = tiny_torch.tensor([0, 1])
    y = x[index]
    index[0] = 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_writes_into_leaves_raise_unless_under_no_grad():
    x = tiny_torch.ones(2, requires_grad=True)
    for write in (lambda: x.__setitem__(0, 1.0), lambda: x.__setitem__([0], 1.0), x.zero_):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            write()
    with tiny_torch.no_grad():
        x[0] = 5.0
    assert x.tolist() == [5, 1]


def test_filling_and_zeroing_cut_the_gradient():
    a = tiny_torch.ones(2, requires_grad=True)
    b = a * 1
    b.zero_()
    b.sum().backward()
    assert a.grad.tolist() == [0, 0]


def test_what_is_read_and_written_is_read_first():
    x = tiny_torch.tensor([2, 0, 1, 5])
    x[[1, 2, 3]] = x[:3]
    assert x.tolist() == [2, 2, 0, 1]


def test_overlapping_memory_raises():
    x = tiny_torch.arange(4)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.expand(2, 4).copy_(x)
    with pytest.raises(RuntimeError, match="single memory location"):
        x[1:] = x[:-1]
    with pytest.raises(RuntimeError, match="single memory location"):
        x.scatter_(0, x, x * 10)  # the index is the memory that is written
    with pytest.raises(RuntimeError, match="single memory location"):
        x.scatter_add_(0, tiny_torch.tensor([1, 2, 3]), x[:3])
    assert x.tolist() == [0, 1, 2, 3]


def test_what_is_not_implemented_says_so():
    x, index = tiny_torch.zeros(2), tiny_torch.tensor([0])
    with pytest.raises(NotImplementedError, match="sparse_grad"):
        x.gather(0, index, sparse_grad=True)


def test_uint8_masks_warn():
    mask = tiny_torch.tensor([1, 0], dtype=tiny_torch.uint8)
    with pytest.warns(UserWarning, match="uint8 is now deprecated"):
        tiny_torch.zeros(2)[mask]


def test_positions_of_nothing_are_not_looked_at(torch):
    x = torch.zeros(0, 2, 1, 1)
    assert x[:, ..., torch.tensor([1]), torch.tensor([5])].shape == (0, 2, 1)
    x[:, ..., torch.tensor([1]), torch.tensor([5])] = 1.0
    with pytest.raises(IndexError, match="out of bounds"):
        torch.zeros(1, 2, 1, 1)[:, ..., torch.tensor([1]), torch.tensor([5])]


@pytest.mark.parametrize("write", ["scatter_", "scatter_add_"])
def test_a_position_outside_leaves_all_as_it_was(write):
    x = tiny_torch.zeros(4)
    with pytest.raises(RuntimeError, match="out of bounds"):
        getattr(x, write)(0, tiny_torch.tensor([0, 1, 9]), tiny_torch.ones(3))
    assert x.tolist() == [0, 0, 0, 0] and x._version == 0
