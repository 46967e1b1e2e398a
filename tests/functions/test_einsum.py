"""einsum: PyTorch's answers, strides and errors, for chosen and for generated equations."""

import numpy as np
import pytest
from helpers import check
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tiny_torch

SHAPES = {
    "i": (3,), "j": (4,), "ij": (3, 4), "jk": (4, 5), "ik": (3, 5), "kl": (5, 2), "ii": (3, 3),
    "bij": (2, 3, 4), "bjk": (2, 4, 5), "bik": (2, 3, 5), "...ij": (2, 3, 4), "...jk": (4, 5),
    "i...": (3, 2, 4), "...": (2, 4), "iij": (3, 3, 4), "iii": (3, 3, 3), "": (), "ijk": (3, 4, 5),
    "b...": (2, 4), "jb": (4, 2), "IJ": (2, 3), "aI": (2, 2),
}  # fmt: skip
EQUATIONS = [
    "i->", "i->i", "ij->ji", "ij->j", "ij", "ii->", "ii->i", "ii", "iij->j", "iij->ji", "iii->i",
    "...ij->...ji", "...ij->ij...", "i...->...", "i...->", "i...->i", "->", "",
    "i,i->", "i,j->ij", "i,i->i", "i,j->", "ij,jk->ik", "ij,jk->ki", "ij,jk", "ij,jk->", "ij,jk->j",
    "bij,bjk->bik", "bij,bjk->ikb", "bij,jk->bik", "ij,j->i", "ij,j->ij", "bij,bik->jk",
    "...ij,...jk->...ik", "...ij,...jk", "...ij,...jk->ik...", "...ij,...jk->ik", "i...,i...->...",
    "ij,jk,kl->il", "ij,jk,kl->li", "bij,bjk,kl->bil", "i,i,i->", "ij,ik,jk->ijk", "ij,ik,jk->",
    "ii,ij->j", " i j , j k -> k i ", "IJ,aI->aJ", "IJ,aI", "ij,jb,bij->", "ijk,jk->ik",
]  # fmt: skip


def arrays(equation, seed=0, dtype="float64"):
    random = np.random.default_rng(seed)
    shapes = [SHAPES[part.replace(" ", "")] for part in equation.split("->")[0].split(",")]
    return [(random.random(shape) * 6 - 3).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equation(oracle, equation):
    for dtype in ("float32", "float64", "int64"):
        for turned in (False, True):
            parts = [a.T.copy().T if turned else a for a in arrays(equation, dtype=dtype)]

            def run(module, parts=parts):
                return module.einsum(equation, *[module.from_numpy(a) for a in parts])

            where = f"{equation} {dtype} {turned}"
            check(where, lambda f=run: f(tiny_torch), lambda f=run: f(oracle), ulps=64)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_gradients(oracle, equation):
    def run(module):
        xs = [module.from_numpy(a).requires_grad_() for a in arrays(equation)]
        y = module.einsum(equation, *xs)
        first = module.autograd.grad((y * y).sum(), xs, create_graph=True)
        total = sum((g * g).sum() for g in first)
        return [*first, *module.autograd.grad(total, xs)]

    check(equation, lambda: run(tiny_torch), lambda: run(oracle), ulps=1024, strides=False)


def test_forms(torch):
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4)
    expected = (a @ b).tolist()
    assert torch.einsum("ij,jk->ik", a, b).tolist() == expected
    assert torch.einsum("ij,jk->ik", [a, b]).tolist() == expected
    assert torch.einsum("ij,jk->ik", (a, b)).tolist() == expected
    assert torch.einsum(a, [0, 1], b, [1, 2], [0, 2]).tolist() == expected
    assert torch.einsum(a, [0, 1], b, [1, 2]).tolist() == expected
    assert torch.einsum(a, [..., 1], a, [..., 1], [...]).tolist() == [5.0, 50.0]
    assert torch.einsum(a, [51, 7]).tolist() == a.t().tolist()


WRONG = [
    lambda m, a, b: m.einsum("ij"),
    lambda m, a, b: m.einsum("ij,jk", a),
    lambda m, a, b: m.einsum("ij", a, b),
    lambda m, a, b: m.einsum("ijk", a),
    lambda m, a, b: m.einsum("i", a),
    lambda m, a, b: m.einsum("i1", a),
    lambda m, a, b: m.einsum("i.j", a),
    lambda m, a, b: m.einsum("i..", a),
    lambda m, a, b: m.einsum("...i...", a),
    lambda m, a, b: m.einsum("ijk...", a),
    lambda m, a, b: m.einsum("ij->k", a),
    lambda m, a, b: m.einsum("ij->ii", a),
    lambda m, a, b: m.einsum("ij->......", a),
    lambda m, a, b: m.einsum("ij->i,j", a),
    lambda m, a, b: m.einsum("ij->i->j", a),
    lambda m, a, b: m.einsum("ii", a),
    lambda m, a, b: m.einsum("ij,ij", a, b),
    lambda m, a, b: m.einsum("ij,jk->ik", a, b.double()),
    lambda m, a, b: m.einsum("ij,jk->ik", a, 2.0),
    lambda m, a, b: m.einsum(2, a),
    lambda m, a, b: m.einsum(a, b),
    lambda m, a, b: m.einsum(a, [0, 52]),
    lambda m, a, b: m.einsum(a, [0, -1]),
    lambda m, a, b: m.einsum("ij", []),
    lambda m, a, b: m.einsum("...,...", a, b),
    lambda m, a, b: m.einsum("ij,k->", a.int(), b.sum(0).int()),
    lambda m, a, b: m.einsum("ij,jk->ik", a > 0, b > 0),
    lambda m, a, b: m.tensordot(a, b, 3),
    lambda m, a, b: m.tensordot(a, b, -1),
    lambda m, a, b: m.tensordot(a, b, 2),
    lambda m, a, b: m.tensordot(a, b, 1.5),
    lambda m, a, b: m.tensordot(a, b, ([0], [0])),
    lambda m, a, b: m.tensordot(a, b, ([0, 1], [0])),
    lambda m, a, b: m.tensordot(a, b, ([1, 1], [0, 0])),
    lambda m, a, b: m.tensordot(a, b, ([5], [0])),
    lambda m, a, b: m.tensordot(a, b.double(), 1),
    lambda m, a, b: m.tensordot(a, b, 1, out=m.zeros(2, 4, dtype=m.float64)),
]


@pytest.mark.parametrize("call", WRONG)
def test_errors(oracle, call):
    def run(module):
        return call(module, module.ones(2, 3), module.ones(3, 4))

    check("", lambda: run(tiny_torch), lambda: run(oracle))


@st.composite
def equations(draw):
    """An equation of one to four operands, their shapes (some sizes 1), and their layouts."""
    letters = draw(st.lists(st.sampled_from("abcdZ"), min_size=1, max_size=5, unique=True))
    sizes = {letter: draw(st.integers(0 if draw(st.booleans()) else 1, 4)) for letter in letters}
    parts, shapes = [], []
    dots = draw(st.lists(st.integers(1, 3), max_size=2))
    for _ in range(draw(st.integers(1, 4))):
        labels = draw(st.lists(st.sampled_from(letters), max_size=4))
        shape = [1 if draw(st.integers(0, 9)) == 0 else sizes[label] for label in labels]
        if draw(st.integers(0, 2)) == 0:
            at = draw(st.integers(0, len(labels)))
            hidden = dots[draw(st.integers(0, len(dots))) :]
            labels = [*labels[:at], "...", *labels[at:]]
            shape = [*shape[:at], *hidden, *shape[at:]]
        parts.append("".join(labels))
        shapes.append(shape)
    equation = ",".join(parts)
    if draw(st.booleans()):
        seen = sorted(set(equation) - set(",."))
        output = draw(st.lists(st.sampled_from(seen), unique=True)) if seen else []
        if "..." in equation and draw(st.booleans()):
            output.insert(draw(st.integers(0, len(output))), "...")
        equation += "->" + "".join(output)
    return equation, shapes, draw(st.booleans())


@pytest.mark.torch
@settings(max_examples=200, deadline=None)
@given(equations())
@example(("c,ab,b,...a", [[0], [0, 1], [1], [2, 0]], False))
def test_generated_equations(plan):
    oracle = pytest.importorskip("torch")
    equation, shapes, turned = plan
    random = np.random.default_rng(len(equation))
    values = [np.asarray(random.random(shape)) for shape in shapes]
    values = [v.T.copy().T if turned else v for v in values]

    def run(module):
        return module.einsum(equation, *[module.from_numpy(v) for v in values])

    check(f"{equation} {shapes}", lambda: run(tiny_torch), lambda: run(oracle), ulps=256)
