"""Views, and ops that rearrange, join, split or cast: facts, and a comparison with PyTorch.

A case is a function of a module and a tensor. It is run on both packages over memory layouts, and
must agree in values, dtype, strides, the type of an exception, and two orders of gradients.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases.op_cases import LAYOUTS
from helpers import check, compare, make
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny_torch

VALUES = np.random.default_rng(0).permutation(4096).astype("float64") / 64 - 30

# ------------------------------------------------------------------------------------------ cases
# x has shape (2, 3, 4), m (3, 4), v (5,), s (), o (1, 3, 1), e (2, 0, 3), c (2, 3, 4, 5).

SHAPES = {
    "x": (2, 3, 4), "m": (3, 4), "v": (5,), "s": (), "o": (1, 3, 1), "e": (2, 0, 3),
    "c": (2, 3, 4, 5),
}  # fmt: skip

VIEWS = """
x.view(6, 4)            x.view(-1)              x.view(2, -1, 2)        x.view((4, 6))
x.view(size=(2, 12))    x.view(5)               x.view(-1, -1)          x.view(3, -2)
x.view(2, 1, 3, 4)      o.view(3)               s.view(1, 1)            s.view(())
e.view(0, 6)            e.view(-1)              e.view(-1, 0)           x.view_as(x)
x.view(2.5)             x.view(True, 24)        x.view()                x.view(10**30)
x.view('a')             m.view_as(x)
x.reshape(6, 4)         x.reshape(-1)           x.reshape(shape=(4, 6)) x.reshape(5)
x.reshape([24])         torch.reshape(x, (3, 8))  torch.reshape(x, (-1, 5))  x.reshape()
e.reshape(3, 0)         x.reshape_as(x)         x.reshape(2, 3, 4)      m.reshape(2.5)
x.flatten()             x.flatten(1)            x.flatten(0, 1)         x.flatten(-2)
x.flatten(2, 1)         s.flatten()             x.flatten(0, 5)         v.flatten()
x.ravel()               s.ravel()               torch.ravel(m)          e.flatten()
x.unflatten(2, (2, 2))  x.unflatten(-1, (-1, 2))  x.unflatten(1, (2, 2))  x.unflatten(0, ())
o.squeeze()             o.squeeze(0)            o.squeeze(1)            o.squeeze((0, 2))
o.squeeze(-1)           o.squeeze((0, 0))       o.squeeze(3)            x.squeeze(())
s.squeeze()             s.squeeze(0)            o.squeeze(dim=0)        torch.squeeze(o)
x.unsqueeze(0)          x.unsqueeze(-1)         x.unsqueeze(2)          x.unsqueeze(4)
s.unsqueeze(0)          s.unsqueeze(-1)         s.unsqueeze(1)          x.unsqueeze(dim=1)
x.transpose(0, 2)       x.transpose(-1, 0)      x.transpose(1, 1)       x.transpose(0, 3)
x.swapaxes(0, 1)        x.swapdims(1, 2)        torch.transpose(m, 0, 1)  s.transpose(0, 0)
m.t()                   v.t()                   s.t()                   x.t()
m.T                     x.mT                    v.mT                    c.mT
x.permute(2, 0, 1)      x.permute((1, 0, 2))    x.permute(0, 0, 1)      x.permute(0, 1)
x.permute(-1, 0, 1)     x.permute(dims=(2, 1, 0))  x.permute()          s.permute(())
torch.permute(x, (1, 2, 0))
x.movedim(0, 2)         x.movedim((0, 1), (1, 2))  x.movedim((0, 0), (1, 2))  x.moveaxis(-1, 0)
x.movedim((0, 1), 1)    x.movedim(0, 3)         torch.movedim(x, (2, 0), (0, 2))
m.expand(2, 3, 4)       o.expand(2, 3, 4)       o.expand(-1, 3, 5)      v.expand(5)
o.expand(size=(2, 3, 1))  m.expand(2, 2, 4)     m.expand(4)             m.expand(-1, 3, 4)
s.expand(2, 2)          s.expand(())            e.expand(2, 2, 0, 3)    o.expand(0, 3, 1)
o.expand_as(x)          torch.broadcast_to(v, (2, 5))  m.broadcast_to((2, 3, 4))  m.expand_as(x)
m.expand(1, 3, 4)       m.expand(2, 1, 3, 4)    o.expand(1, 3, 2)       m.expand(-2, 3, 4)
x.select(0, 1)          x.select(-1, -2)        x.select(1, 3)          s.select(0, 0)
x.narrow(2, 1, 2)       x.narrow(0, -1, 1)      x.narrow(0, 1, 2)       x.narrow(0, 3, 0)
x.narrow(1, 0, -1)      s.narrow(0, 0, 1)       x.narrow(2, 4, 0)       torch.narrow(x, 2, 0, 4)
m.diagonal()            m.diagonal(1)           m.diagonal(-2)          x.diagonal(0, 1, 2)
x.diagonal(1, 0, 2)     x.diagonal(0, -1, -2)   m.diagonal(0, 1, 1)     v.diagonal()
torch.diagonal(m, offset=2)
v.unfold(0, 2, 1)       v.unfold(0, 3, 2)       v.unfold(0, 6, 1)       v.unfold(0, 2, 0)
m.unfold(1, 2, 1)       x.unfold(-1, 2, 2)      x.unfold(1, 3, 1)       s.unfold(0, 1, 1)
x.unfold(0, 1, 1)       m.unfold(0, 2, 1).unfold(1, 2, 1)               v.unfold(0, -1, 1)
x.float()               x.double()              x.cpu()                 x.to(x)
x.contiguous()          m.contiguous()          o.contiguous()          x[...]
"""

COPIES = """
x.clone()               torch.clone(m)
s.clone()               e.clone()
m.repeat(2, 1)          m.repeat(1, 2, 3)       v.repeat(3)             s.repeat(2, 2)
m.repeat((2, 2))        m.repeat(2)             m.repeat(0, 1)          m.repeat(-1, 1)
x.repeat(1, 1, 1)       s.repeat(())            v.repeat(repeats=(2,))  m.repeat()
torch.tile(m, (2,))     m.tile(2, 1, 1)         m.tile((1, 3))          torch.tile(s, (2,))
x.repeat_interleave(2)  x.repeat_interleave(2, 1)  x.repeat_interleave(0, 0)  s.repeat_interleave(3)
torch.repeat_interleave(m, 2, dim=-1)           m.repeat_interleave(-1)
m.repeat_interleave(torch.tensor([1, 0, 2]), 0)  m.repeat_interleave(torch.tensor([2]), 1)
m.repeat_interleave(torch.tensor([1, 2]), 0)    m.repeat_interleave(torch.tensor([1.0, 2, 3]), 0)
m.repeat_interleave(torch.tensor(2), 0)         torch.repeat_interleave(torch.tensor([2, 0, 1]))
x.flip(0)               x.flip(0, 2)            x.flip((1,))            x.flip(-1, 0, 1)
x.flip(0, 0)            x.flip(3)               torch.flip(m, (0, 1))   torch.flip(m, 0)
x.flip()                m.flip(dims=(0,))       m.fliplr()              m.flipud()
v.fliplr()              s.flip(())              e.flip(0)               torch.flip(x, [2])
x.roll(1)               x.roll(2, 0)            x.roll((1, -1), (0, 2))  x.roll(5, 1)
x.roll((1, 2))          torch.roll(m, -1, 1)    e.roll(1, 0)            x.roll((1, 1), (1, 1))
x.roll(1, 3)            s.roll(1)
m.tril()                m.triu()                m.tril(1)               m.triu(-1)
x.tril(-1)              x.triu(2)               v.tril()                e.tril()
torch.tril(m, diagonal=-5)                      torch.triu(m, diagonal=9)
v.diag()                v.diag(1)               v.diag(-2)              m.diag()
m.diag(1)               x.diag()                m.diag(-1)              torch.diag(m, diagonal=2)
torch.diag_embed(m)     torch.diag_embed(m, 1)  torch.diag_embed(m, -1, 0, 2)  torch.diagflat(m)
torch.diag_embed(v, 0, 0, 0)                    torch.diag_embed(v, 0, 1, 0)
m.rot90()               m.rot90(2)              m.rot90(-1)             x.rot90(1, (1, 2))
m.rot90(4)
x.to(torch.float64)     x.to(torch.float32)     x.type(torch.float64)   x.to(torch.int64)
x.int()                 x.long()                x.bool()                x.type("torch.DoubleTensor")
x.to(copy=True)         x.to("cpu", torch.float64)  x.to(device="cpu", dtype=torch.int32)
x.type_as(m.double())   x.type()                x.type("nonsense")      x.cuda()
x.to("cuda")            x.to("nonsense")        x.to(torch.float64, copy=True)  x.to(dtype=None)
x.to(float)             x.type(torch.float32)   x.bool().type()         x.long().float()
x.to(m.int())           x.float().byte()
"""

JOINS = """
torch.cat((x, x))       torch.cat((x, x), 1)    torch.cat((x, x), -1)   torch.cat((x, x), 3)
torch.cat([x])          torch.cat((x, m))       torch.cat((x, x.select(0, 0)))  torch.cat(())
torch.cat((s, s))       torch.cat((x, 3))       torch.cat(x)
torch.cat((m, torch.ones(0)))
torch.cat((x, x.double()))  torch.cat((x.long(), x))  torch.cat((x.bool(), x.int()))
torch.cat((e, e), 1)    torch.cat((e, x))       torch.cat((x, x), axis=2)  torch.concat((m, m))
torch.cat((v, m))       torch.cat(tensors=(m, m), dim=1)  torch.concatenate((m, m), 1)
torch.cat((x.narrow(2, 0, 1), x), 2)
torch.stack((x, x))     torch.stack((x, x), 1)  torch.stack((x, x), -1)  torch.stack((s, s, s))
torch.stack((x, m))     torch.stack(())         torch.stack((m, m), 3)  torch.stack((m, m.double()))
torch.stack((e, e), 2)  torch.stack((m, 1))     torch.stack(m)
torch.hstack((v, v))    torch.hstack((m, m))    torch.hstack((s, s))    torch.hstack(())
torch.vstack((v, v))    torch.vstack((m, m))    torch.vstack((s, s))    torch.row_stack((v, v))
torch.dstack((v, v))    torch.dstack((m, m))    torch.dstack((x, x))    torch.column_stack((s, s))
torch.column_stack((m.select(1, 0), m))         torch.vstack((m, v))
torch.atleast_1d(s)     torch.atleast_2d(v)     torch.atleast_3d(m)     torch.atleast_3d(v)
torch.atleast_2d(s, v)  torch.atleast_3d(s)     torch.atleast_1d(x)
x.split(1)              x.split(2, 2)           x.split(3, -1)          x.split(0)
x.split(-1)             x.split([1, 2], 1)      x.split([1, 1], 1)      x.split([4, -1], 1)
torch.split(x, 2, dim=1)  torch.split(x, (1, 1, 2), 2)  s.split(1)      e.split(1, 1)
e.split(0, 1)           x.split_with_sizes((1, 2), 1)  x.split(1, 3)    x.split([2, 0], 0)
x.chunk(2)              x.chunk(3, 2)           x.chunk(9, 1)           x.chunk(0)
e.chunk(3, 1)           s.chunk(1)              torch.chunk(x, 2, dim=2)
x.tensor_split(2, 2)    x.tensor_split(3, 2)    x.tensor_split(5, 1)    x.tensor_split((1, 3), 2)
x.tensor_split((3, 1), 2)  x.tensor_split(0)    s.tensor_split(1)
x.tensor_split(torch.tensor([1, 2]), 2)         torch.tensor_split(x, (-1,), dim=1)
x.unbind()              x.unbind(1)             x.unbind(-1)            x.unbind(3)
s.unbind()              e.unbind(1)             torch.unbind(m, dim=1)  e.unbind()
m.hsplit(2)             v.hsplit((2,))          m.vsplit(3)             x.dsplit(2)
m.hsplit(3)             v.vsplit(1)             m.dsplit(1)             s.hsplit(1)
torch.broadcast_tensors(m, x)                   torch.broadcast_tensors(o, s)
torch.broadcast_tensors(m, v)                   torch.broadcast_tensors(x)
torch.meshgrid(v, m.select(0, 0), indexing='ij')  torch.meshgrid(v, s, indexing='xy')
torch.meshgrid(v, v, v, indexing='xy')          torch.meshgrid(m, indexing='ij')
torch.meshgrid(v, v, indexing='ji')             torch.meshgrid((v, s), indexing='ij')
torch.broadcast_shapes((2, 1), (3,), ())        torch.broadcast_shapes((2,), (3,))
"""


def cases(text: str) -> list[str]:
    """The expressions of a table: one or more a line, two blanks apart."""
    parts = [part.strip() for line in text.splitlines() for part in line.split("  ")]
    return [part for part in parts if part]


def tensors(module, layout: str, dtype: str = "float32", requires_grad: bool = False) -> dict:
    made = {}
    for name, shape in SHAPES.items():
        usable = layout if shape and 0 not in shape else "contiguous"
        tensor = make(module, VALUES.astype(dtype), shape, usable)
        made[name] = tensor.requires_grad_(requires_grad)
    return made


def value(case: str, module, made: dict):
    return eval(case, {"torch": module, "float": float, **made})


ALL = cases(VIEWS + COPIES + JOINS)


@pytest.mark.torch
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", ALL)
def test_result(case, layout):
    torch = pytest.importorskip("torch")
    check(
        f"{case} of {layout}",
        lambda: value(case, tiny_torch, tensors(tiny_torch, layout)),
        lambda: value(case, torch, tensors(torch, layout)),
    )


@pytest.mark.torch
@pytest.mark.parametrize("case", ALL)
def test_aliasing(case):
    """The same results are the tensor itself, or views of it, as in PyTorch."""
    torch = pytest.importorskip("torch")
    kinds = []
    for module in (torch, tiny_torch):
        made = tensors(module, "permuted")
        memory = {tensor.data_ptr() for tensor in made.values()}
        try:
            result = value(case, module, made)
        except Exception:
            return
        results = result if isinstance(result, tuple) else (result,)
        if not all(hasattr(r, "data_ptr") for r in results):
            return
        kinds.append(
            [
                "itself" if any(r is tensor for tensor in made.values())
                else "view" if r.data_ptr() in memory and r.numel() else "other"
                for r in results
            ]
        )  # fmt: skip
    assert kinds[0] == kinds[1]


def gradients(case: str, module, layout: str) -> list:
    """First gradients of a weighted sum, and gradients of those with respect to the weights."""
    made = tensors(module, layout, "float64", requires_grad=True)
    leaves = list(made.values())
    result = value(case, module, made)
    results = result if isinstance(result, tuple | list) else (result,)
    results = [r for r in results if getattr(r, "requires_grad", False)]
    if not results:
        return []
    weights = [
        make(module, VALUES[::-1].astype(str(r.dtype).split(".")[-1]), tuple(r.shape), "contiguous")
        .requires_grad_()
        for r in results
    ]  # fmt: skip
    first = module.autograd.grad(results, leaves, weights, create_graph=True, allow_unused=True)
    first = [g for g in first if g is not None]
    loss = sum([(g * g).sum() for g in first if g.requires_grad])
    if not hasattr(loss, "sum") or any(w.numel() == 0 for w in weights):
        return first
    return [*first, *module.autograd.grad(loss, weights, allow_unused=True)]


@pytest.mark.torch
@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize("layout", ["contiguous", "permuted"])
def test_gradients(case, layout):
    torch = pytest.importorskip("torch")
    try:
        expected = gradients(case, torch, layout)
    except Exception:
        return
    found = gradients(case, tiny_torch, layout)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        compare(ours, theirs, case, ulps=64, strides=False)


GRAD_FNS = """
x.view(24)  x.select(0, 0)  x.narrow(0, 0, 1)  x.squeeze()  x.unsqueeze(0)  x.transpose(0, 1)
m.t()  x.permute(2, 0, 1)  x.expand(2, 2, 3, 4)  x.unbind()[0]  x.split(1)[0]  x.chunk(2)[0]
x.split([1, 1])[0]  x.tensor_split(2)[0]  torch.cat((x, x))  torch.stack((x, x))  x.flip(0)
x.roll(1, 0)  x.tril()  x.triu()  v.diag()  x.repeat(2, 1, 1)  x.clone()  m.diagonal()  m.mT
x.unfold(0, 1, 1)  x.as_strided((2,), (1,))
"""


@pytest.mark.torch
@pytest.mark.parametrize("case", cases(GRAD_FNS))
def test_grad_fn_has_pytorchs_name(case):
    torch = pytest.importorskip("torch")
    names = [
        value(case, m, tensors(m, "contiguous", requires_grad=True)).grad_fn.name()
        for m in (torch, tiny_torch)
    ]
    assert names[0] == names[1]


# ------------------------------------------------------------------------------- views, by NumPy


@st.composite
def view_chains(draw):
    """A shape, and view methods to apply in turn with the same made by NumPy."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    chain = []
    reference = np.arange(int(np.prod(shape))).reshape(shape)
    for _ in range(draw(st.integers(1, 5))):
        ndim = reference.ndim
        kinds = ["unsqueeze", "squeeze"]
        kinds += ["transpose", "slice", "permute", "diagonal"] if ndim >= 2 else []
        kinds += ["slice"] if ndim == 1 else []
        kind = draw(st.sampled_from(kinds))
        if kind == "unsqueeze":
            dim = draw(st.integers(0, ndim))
            chain.append(("unsqueeze", dim))
            reference = np.expand_dims(reference, dim)
        elif kind == "squeeze":
            chain.append(("squeeze",))
            reference = np.squeeze(reference)
        elif kind == "transpose":
            a, b = draw(st.integers(-ndim, ndim - 1)), draw(st.integers(-ndim, ndim - 1))
            chain.append(("transpose", a, b))
            reference = np.swapaxes(reference, a, b)
        elif kind == "permute":
            order = draw(st.permutations(range(ndim)))
            chain.append(("permute", tuple(order)))
            reference = np.transpose(reference, order)
        elif kind == "diagonal":
            offset = draw(st.integers(-3, 3))
            chain.append(("diagonal", offset, 0, 1))
            reference = np.diagonal(reference, offset, 0, 1)
        else:
            dim = draw(st.integers(0, ndim - 1))
            size = reference.shape[dim]
            start = draw(st.integers(0, size))
            length = draw(st.integers(0, size - start))
            chain.append(("narrow", dim, start, length))
            reference = reference[(slice(None),) * dim + (slice(start, start + length),)]
    return shape, chain, reference


@settings(deadline=None, max_examples=200)
@given(view_chains())
def test_chains_of_views(case):
    shape, chain, reference = case
    base = tiny_torch.arange(int(np.prod(shape))).reshape(shape)
    view = base
    for name, *arguments in chain:
        view = getattr(view, name)(*arguments)
    assert tuple(view.shape) == reference.shape
    np.testing.assert_array_equal(view.numpy(), reference)
    np.testing.assert_array_equal(view.reshape(-1).numpy(), reference.reshape(-1))
    np.testing.assert_array_equal(view.contiguous().numpy(), reference)
    # Writing through the view reaches the base, there and nowhere else.
    view.fill_(-1)
    expected = np.arange(base.numel()).reshape(shape)
    expected[np.isin(expected, reference)] = -1
    np.testing.assert_array_equal(base.numpy(), expected)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.lists(st.integers(0, 3), min_size=1, max_size=3),
    st.integers(0, 3),
)
def test_as_strided_never_leaves_the_memory(shape, strides, offset):
    x = tiny_torch.arange(12)
    strides = [*strides, 1, 1, 1][: len(shape)]
    last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if last >= 12:
        with pytest.raises(RuntimeError, match="out of bounds"):
            x.as_strided(shape, strides, offset)
    else:
        view = x.as_strided(shape, strides, offset)
        assert int(view.max()) == last


@pytest.mark.parametrize("used", [(0, 1, 2), (1,), (0, 2)])
def test_gradient_of_some_parts(used):
    x = tiny_torch.ones(2, 6, requires_grad=True)
    parts = x.split([1, 2, 3], 1)
    sum([(k + 1) * parts[k].sum() for k in used]).backward()
    assert x.grad.tolist() == 2 * [[k + 1.0 if k in used else 0.0 for k in (0, 1, 1, 2, 2, 2)]]


@pytest.mark.parametrize("shape", [(3, 4), (4,), (3, 1)])
@pytest.mark.parametrize("turned", [False, True])
def test_masked_fill_is_contiguous(shape, turned):
    x = tiny_torch.arange(12.0)[: math.prod(shape)].view(shape)
    mask = (
        tiny_torch.arange(12).view(4, 3).t() if turned else tiny_torch.arange(12).view(3, 4)
    ) % 2 == 0
    result = x.masked_fill(mask, -1)
    assert result.is_contiguous() and result.dtype is tiny_torch.float32
    assert tiny_torch.equal(result, tiny_torch.where(mask, tiny_torch.tensor(-1.0), x))
