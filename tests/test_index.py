"""Indexing: brackets, gather and scatter, index_*, masked_*, where, nonzero, copy_ and fill_.

A case is an expression, or statements that write, on tensors of both packages; they must agree in
values, dtype, strides, the type of an exception, and two orders of gradients.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import check, compare, make
from hypothesis import given, settings
from hypothesis import strategies as st
from op_cases import LAYOUTS

import tiny_torch

VALUES = np.random.default_rng(1).permutation(4096).astype("float64") / 64 - 30

# x has shape (2, 3, 4), m (3, 4), v (5,), s (), e (2, 0, 3); i, j, k are int64 tensors of shapes
# (3,), (3,) and (2, 2); p is a mask of m's shape, q of m's rows; n is m as int64, u as uint8.
SHAPES = {"x": (2, 3, 4), "m": (3, 4), "v": (5,), "s": (), "e": (2, 0, 3)}

READS = """
x[0]             x[-1]            x[2]             x[-3]            x[0, 1, 2]
x[0, 0, 0, 0]    x[0, -1]         x[0, 3]          s[0]             s[...]
s[None]          s[()]            x[()]            x[...]           x[..., 0]
x[0, ...]        x[..., 1, :]     x[0, ..., 1]     x[..., ..., 0]   x[10**30]
x[:]             x[1:]            x[:, 1:3]        x[:, ::2]        x[..., 1:-1]
x[5:]            x[:, 2:1]        x[:, -2:]        x[::-1]          x[::0]
x[:10**30]       x[0:1.5]         x['a']           x[1.5]           x[0, 1.5]
x[None]          x[:, None]       x[None, 0, None]  x[..., None]    x[0:1, None, 1]
s[0:1]           e[0]             e[:, 0]          e[1:]            e[:, :, None]
x[0][1:][0]      x[1][:, 1::2]    m.t()[1:, 0]     m.t()[2][1]      x[:, :, 3]
x[True]          x[False]         x[None, True]    x[:, True]       x[True, 0]
x[{}]            x[np.int64(1)]   x[np.array(1)]   x[np.array([1, 0])]  x[np.array([[0], [1]])]
x[np.array([True, False])]        x[np.bool_(True)]                 x[torch.tensor(1)]
x[torch.tensor(True)]             x[torch.tensor(False)]            x[torch.tensor(0), 1:]
x[[0, 1]]        x[[0, -1, 0]]    x[[]]            x[[True, False]]  x[(0, 1), (0, 1)]
x[[0, 1], [0, 1]]                 x[[0, 1], 1]     x[0, [0, 1]]     x[:, [0, 2]]
x[[0], :, [1, 2]]                 x[0, :, [1, 2]]  x[..., [3, 0]]   x[[[0, 1], [1, 0]]]
x[range(2)]      x[[5]]           x[[0, 1], [0, 1, 2]]              x[[1.0]]
m[i]             m[:, i]          m[i, j]          m[k]             m[:, k]
m[i, :]          m[None, i]       m[i, None]       m[i, None, j]    m[i, 1:]
m[1:, i]         m[k, k]          m[k, i]          m[i.int()]       m[i.float()]
m[k[0], k]       x[:, i, j]       x[i % 2, :, j]   x[i % 2, j]      x[:, i]
x[..., i]        x[0, i]          x[k % 2, 1:, k]  x[k, 0]          v[i]
v[k]             v[i + 9]         v[-i]            s[i]             m[i[:0]]
m[p]             m[q]             m[q, 1:]         m[q, i[:2]]      m[:, p[0]]
x[:, p]          x[0, p]          x[p]             x[None, :, p]    m[p.byte()]
m[~p]            m[p, None]       m[p & False]     s[s > 0]         s[s > 99]
m[q, q]          m[p, 0]          x[:, q, 0]       x[:, q, 1:3]     x[x > 0]
e[:, :, i]       e[[0, 1]]        e[e > 0]         m[torch.tensor([], dtype=torch.int64)]
m[k.t()]         m[i[:2], k]      x.transpose(0, 2)[i]              x.transpose(0, 2)[:, :, [1, 0]]
x.gather(2, x[:, :, :1].long() * 0)                m.gather(0, k)   m.gather(1, k)
m.gather(0, i)   m.gather(0, k + 9)                m.gather(0, -k)  m.gather(2, k)
m.gather(0, k.int())              m.gather(0, k.float())            m.gather(-1, k[:1])
s.gather(0, torch.tensor(0))      v.gather(0, i)   m.gather(1, k[:, :0])
torch.gather(m, 0, torch.tensor([[0, 1, 2, 0, 1]]))
m.take_along_dim(k[:1, :1], 0)    torch.take_along_dim(m, k[:1, :1], 1)  m.take_along_dim(i)
m.take_along_dim(i, 0)            m.take_along_dim(k, 0)
m.scatter(0, k, 1.5)              m.scatter(1, k, m)                m.scatter(0, k[:1], m[1:])
m.scatter(0, k, s)                m.scatter(0, k, m.double())       m.scatter(0, k + 9, 1.0)
m.scatter(0, k, value=2)          n.scatter(0, k, 1.5)              u.scatter(0, k, 300)
m.scatter(0, k, m[:1])            m.scatter(3, k, 1.0)              m.scatter(0, i, 1.0)
m.scatter_add(0, k, m)            m.scatter_add(1, k, m[1:, :2])    m.scatter_add(0, k, m.double())
m.scatter_add(0, k, 1.0)          m.scatter_add(0, k + 9, m)        v.scatter_add(0, i, v[:3])
m.index_select(0, i)              m.index_select(1, i)              m.index_select(-1, i[:1])
m.index_select(0, k)              m.index_select(0, -i)             m.index_select(0, i + 9)
m.index_select(0, i.float())      m.index_select(0, i[0])           m.index_select(2, i)
s.index_select(0, i[:1] * 0)      x.index_select(1, i)              torch.index_select(v, 0, i)
m.index_add(0, i, m)              m.index_add(1, i, m[:, :3])       m.index_add(0, i, m, alpha=2)
m.index_add(0, i, m.double())     m.index_add(0, i, m[:2])          m.index_add(0, i, m[:, :2])
m.index_add(0, -i, m)             m.index_add(0, i + 9, m)          m.index_add(0, k, m)
v.index_add(0, i, v[:3])          torch.index_add(x, 2, i, x[..., :3])
m.index_copy(0, torch.tensor([2, 0, 1]), m)        m.index_copy(1, torch.tensor([3, 0]), m[:, 1:3])
m.index_copy(0, i + 9, m)
m.index_fill(0, i, 1.5)           m.index_fill(1, -i, s)            m.index_fill(0, i, v)
m.index_fill(0, i + 9, 1.0)       n.index_fill(0, i, 1.5)           u.index_fill(0, i, 300)
m.index_fill(0, k, 1.0)           m.index_fill(0, i[0], 1.0)        v.index_fill(0, i, -1)
m.index_put((i,), s)              m.index_put((i, j), v[:3])        m.index_put((i,), m, True)
m.index_put((i,), v)              m.index_put((p,), s)              m.index_put((i, j, i), s)
m.index_put(i, s)                 m.index_put((i,), m.double())
m.index_put([k], s, accumulate=True)
m.index_put((i + 9,), s)          torch.index_put(m, (i, j), v[:1])
m.masked_fill(p, 1.5)             m.masked_fill(p, s)               m.masked_fill(p[0], 0)
m.masked_fill(q, 1)               m.masked_fill(m, 1)               m.masked_fill(p, v)
v.masked_fill(v > 0, float("-inf"))                m[0].masked_fill(p, 1.0)
n.masked_fill(p, 1.5)             u.masked_fill(p, 300)             u.masked_fill(p, -1)
m.masked_fill(p, 1e300)           m.masked_fill(p, s.double())      x.masked_fill(p, 0.0)
m.masked_fill(p.byte(), 1)        m.masked_fill(q[:, None], 2)      torch.masked_fill(m, ~p, True)
m.masked_select(p)                m.masked_select(q[:, None])       m[:1].masked_select(p)
m.masked_select(m)                m.masked_select(q[:2])            s.masked_select(s > 0)
torch.masked_select(x, p)
torch.where(p, m, 0.0)            torch.where(p, 0, m)              torch.where(p, m, s)
torch.where(p, m, m.double())     torch.where(p, m[0], x)           torch.where(q[:, None], m, -m)
torch.where(p, 1, 2)              torch.where(p, 1.0, 2)            torch.where(p, True, False)
torch.where(p, True, 2.5)         torch.where(p, n, 2.5)            torch.where(p, n, m)
torch.where(p, u, 300)            torch.where(m, 1, 2)              torch.where(p, m)
torch.where(True, m, m)           torch.where(p, m, v)              m.where(p, 0.0)
m.where(p, s)                     torch.where(p.byte(), m, 1.0)     torch.where(p)
torch.where(q)                    torch.where(p, s.double(), m)
m.nonzero()      n.nonzero()      p.nonzero()      q.nonzero()      s.nonzero()
e.nonzero()      p.nonzero(as_tuple=True)          s.nonzero(as_tuple=True)
torch.nonzero(q)                  torch.argwhere(p)                 (m > 99).nonzero()
"""

# Statements; what `m`, `x`, ... are afterwards is compared.
WRITES = """
m[0] = 1.5       m[-1] = s        m[:, 1] = m[:, 0]  m[1:] = m[:1]  m[0] = v
m[0, 0] = 7      m[...] = 2       m[()] = s        m[None] = 1.0    m[:, None] = 3
m[0] = [1, 2]    m[0] = None      m[0] = 'a'       m[0] = np.ones(4)  m[0] = np.float64(3)
m[5] = 1         m[::-1] = 1      m[1.5] = 1       m[10**30] = 1    m[0, 0] = 10**30
m[0] = m[None, None, 1]           m[0:2] = m[1:3]  m[:, 0:2] = m[:, 1:3]
m[0] = m[0].double()              n[0] = 1.5       n[0] = s         n[0] = True
n[0] = float('inf')               u[0] = 300       u[0] = -1        u[0] = -300
u.fill_(300)     n.fill_(1.5)     n.fill_(float('nan'))             m.fill_(1e300)
m.fill_(s)       m.fill_(v)       m.fill_('a')     m.fill_(value=2)  m.zero_()
m.copy_(m[0])    m.copy_(s)       m[0].copy_(m[1])  m.copy_(v)      m.copy_([1])
m.copy_(n)       n.copy_(m)       m.t().copy_(m[:3, :3])            v.copy_(True)
s[...] = 1       s[None] = 2      s[0] = 1         s[True] = 4      m[True] = 1
m[False] = 1     m[p] = 0         m[p] = v[:1]     m[p] = s         m[q] = 1.5
m[p] = v         x[:, p] = 0      x[0][p] = 1.0    x[p] = 1         m[p] = m[p] * 2
m[q, 0] = 5      m[q] = m[0].clone()               m[~p] = float('nan')
m[[0, 2]] = 1    m[i] = 2.5       m[:, i] = s      m[[0, 2]] = m[:2].clone()
m[[0, 2]] = m[:, :2].clone()
m[[0, 2]] = m[None, :2].clone()   m[[2, 0], [1, 3]] = v[:2]         m[[0, 9]] = 1
m[[0]] = m[:1].double()           n[[0]] = 1.5     u[[0]] = 300     n[p] = 2.5
m[[0]] = s.double()  m[p] = s.double()             x[0, :, [1, 2]] = 0.0
x[:, [0, 2], 1:] = 1              x[[0], :, [3]] = m[:, 0]          x[1, [0, 1]] = m[0]
x[..., [1, 2]] = x[..., :2].clone()
m[[0, 1]] += 1   m[0] += m[1]     m[:, 1] *= 2     m[p] -= 1        x[0, 1:] /= 2
m.scatter_(0, k, 9.0)             m.scatter_(1, k, m.clone())       m.scatter_(0, k, value=3)
m.scatter_add_(0, k, m.clone())   m.index_add_(0, i, m.clone())
m.index_add_(0, i, m.clone(), alpha=-1)
m.index_fill_(1, i, 4)            m.index_copy_(0, torch.tensor([2, 0, 1]), m.clone())
m.index_put_((i, j), v[:3], accumulate=True)       m.index_put_((p,), s)
m.masked_fill_(p, 6)              m.masked_fill_(p[:, :1], s)       v.masked_fill_(p, 1)
m.t().masked_fill_(p.t(), -1)     m.tril_()        m.triu_(1)       x[1].tril_(-1)
"""


def cases(text: str) -> list[str]:
    parts = [part.strip() for line in text.splitlines() for part in line.split("  ")]
    return [part for part in parts if part]


def tensors(module, layout: str, dtype: str = "float32") -> dict:
    made = {}
    for name, shape in SHAPES.items():
        usable = layout if shape and 0 not in shape else "contiguous"
        made[name] = make(module, VALUES.astype(dtype), shape, usable)
    made["n"] = made["m"].long()
    made["u"] = made["m"].abs().byte()
    made["i"] = module.tensor([2, 0, 2])
    made["j"] = module.tensor([1, 3, 1])
    made["k"] = module.tensor([[0, 1], [1, 1]])
    made["p"] = made["m"] > 0
    made["q"] = module.tensor([True, False, True])
    return {"torch": module, "np": np, **made}


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
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "broadcast"])
@pytest.mark.parametrize("case", cases(WRITES))
def test_write(case, layout):
    torch = pytest.importorskip("torch")
    check(
        f"{case} of {layout}",
        lambda: written(case, tiny_torch, layout),
        lambda: written(case, torch, layout),
    )


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
    x.scatter_(0, x, x * 10)  # the index is the memory that is written
    assert x.tolist() == [0, 10, 20, 1]
    y = tiny_torch.arange(4)
    y.scatter_add_(0, tiny_torch.tensor([1, 2, 3]), y[:3])
    assert y.tolist() == [0, 1, 3, 5]


def test_overlapping_memory_raises():
    x = tiny_torch.arange(4)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.expand(2, 4).copy_(x)
    with pytest.raises(RuntimeError, match="single memory location"):
        x[1:] = x[:-1]


@pytest.mark.parametrize("call", ["gather", "scatter", "scatter_"])
def test_what_is_not_implemented_says_so(call):
    x, index = tiny_torch.zeros(2), tiny_torch.tensor([0])
    with pytest.raises(NotImplementedError, match=call):
        if call == "gather":
            x.gather(0, index, sparse_grad=True)
        else:
            getattr(x, call)(0, index, 1.0, reduce="add")
