"""Sparse tensors next to PyTorch's: how they are made, printed, computed with, differentiated."""

import copy
import io
import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tiny_torch
from tiny_torch.exchange import rebuild

INDICES = [[0, 1, 1, 0, 3], [2, 0, 2, 2, 1]]
VALUES = [3.0, 4.0, 5.0, 6.0, 1.5]
NONLINEAR = "abs asin asinh atan ceil deg2rad erf expm1 floor neg rad2deg relu round sign sin sinh"


def parts(m):
    """Values that require grad, s of them with a place twice, c coalesced, D dense (3, 2)."""
    v = m.tensor(VALUES, dtype=m.float64, requires_grad=True)
    s = m.sparse_coo_tensor(INDICES, v, (4, 3))
    D = m.from_numpy(np.random.default_rng(0).standard_normal((3, 2))).requires_grad_()
    return v, s, s.coalesce(), D


def rows_of_two(m):
    return m.sparse_coo_tensor([[2, 0]], [[1.0, 2], [3, 4]], (3, 2))


def check_same(oracle, ours, theirs):
    """Layout, places and values; of tuples each."""
    if isinstance(theirs, tuple):
        for x, y in zip(ours, theirs, strict=True):
            check_same(oracle, x, y)
        return
    if not isinstance(theirs, oracle.Tensor):
        assert ours == theirs
        return
    assert str(ours.layout) == str(theirs.layout) and str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    if theirs.is_sparse:
        assert ours._nnz() == theirs._nnz() and ours.is_coalesced() >= theirs.is_coalesced()
        assert ours._indices().tolist() == theirs._indices().tolist()
        check_same(oracle, ours._values(), theirs._values())
    else:
        ours, theirs = ours.detach().numpy(), theirs.detach().numpy()
        assert np.allclose(ours, theirs, rtol=1e-12, atol=0, equal_nan=True)


ANSWERS = {
    "parts": lambda m, s, c, D: (s._indices(), s._values(), c.indices(), c.values(), s._nnz()),
    "kind": lambda m, s, c, D: (s.is_sparse, s.sparse_dim(), s.dense_dim(), len(s), s.numel()),
    "kind of rows": lambda m, s, c, D: (rows_of_two(m).sparse_dim(), rows_of_two(m).dense_dim()),
    "dense": lambda m, s, c, D: (s.to_dense(), c.to_dense(), rows_of_two(m).to_dense()),
    "coalesce": lambda m, s, c, D: (s.is_coalesced(), c, rows_of_two(m).coalesce()),
    "of dense": lambda m, s, c, D: (c.to_dense().to_sparse(), D.to_sparse(1), m.eye(2).to_sparse()),
    "dense's own": lambda m, s, c, D: (D.to_dense(), D.sparse_dim(), D.dense_dim(), D.is_sparse),
    "mask": lambda m, s, c, D: (m.ones(4, 3).sparse_mask(s), m.ones(4, 3).sparse_mask(c)),
    "t": lambda m, s, c, D: (s.t(), c.T, c.transpose(0, 1), c.t().coalesce()),
    "mm": lambda m, s, c, D: (m.sparse.mm(s, D), s @ D, m.mm(c, D), m.spmm(c, D), c.mm(D)),
    "mm after": lambda m, s, c, D: (D.t() @ s.t(), m.mm(D.t(), c.t())),
    "mv": lambda m, s, c, D: (s @ D[:, 0], m.mv(c, D[:, 1])),
    "mm of two": lambda m, s, c, D: (m.sparse.mm(s, s.t()), m.mm(c, c.t()), c.t() @ s),
    "slices": lambda m, s, c, D: (s[0], c[-1], s.select(1, 2), rows_of_two(m)[0]),
    "elements": lambda m, s, c, D: (s[0, 2], c[2, 0], c[3][1], rows_of_two(m)[2, 1]),
    "select of rows": lambda m, s, c, D: rows_of_two(m).select(1, 1),
    "index_select": lambda m, s, c, D: (
        c.index_select(0, m.tensor([1, 0, 1])), s.index_select(-1, m.tensor([2, 2])),
        rows_of_two(m).index_select(0, m.tensor([2, 0])), s.index_select(0, m.tensor([2])),
        rows_of_two(m).index_select(1, m.tensor([1])),
    ),
    "cat": lambda m, s, c, D: (m.cat([s, c]), m.cat([c, c, c], -1), m.cat([rows_of_two(m)] * 2)),
    "stack": lambda m, s, c, D: (m.stack([s, c]), m.stack([s, c], 1), m.stack([c], -1)),
    "unsqueeze": lambda m, s, c, D: (
        s.unsqueeze(0), c.unsqueeze(-1), rows_of_two(m).unsqueeze(1), rows_of_two(m).unsqueeze(2),
    ),
    "permute": lambda m, s, c, D: (s.permute(1, 0), c.permute((0, 1)), m.permute(c, (-1, 0))),
    "bool": lambda m, s, c, D: [
        bool(m.sparse_coo_tensor([[0]], [value], (1,))) for value in (0.0, 2.0)
    ],
    "addmm": lambda m, s, c, D: m.sparse.addmm(m.ones(4, 2).double(), s, D, beta=2, alpha=3),
    "torch.addmm": lambda m, s, c, D: m.addmm(m.ones(4, 2).double(), c, D),
    "sum": lambda m, s, c, D: (m.sparse.sum(s), m.sparse.sum(s, 0), m.sparse.sum(s, (0, 1))),
    "sum of rows": lambda m, s, c, D: (
        m.sparse.sum(rows_of_two(m), 0), m.sparse.sum(rows_of_two(m), 1),
    ),
    "sum, dtype": lambda m, s, c, D: (m.sparse.sum(s, -1), m.sparse.sum(s, dtype=m.float32)),
    "add": lambda m, s, c, D: (s + s, c + c, c.add(c, alpha=3), c - c, m.ones(4, 3) + s),
    "mul": lambda m, s, c, D: (s * 2, 2 * c, c * m.tensor(2.0), c * m.full((4, 3), 2.0), c * c),
    "div": lambda m, s, c, D: (s / 2, -s, c.pow(2), c**2, c.norm()),
    "cast": lambda m, s, c, D: (c.float(), c.to(m.float32), c.bool(), c.type(), c.clone()),
    "empty": lambda m, s, c, D: (
        m.sparse_coo_tensor((2, 3)), m.sparse_coo_tensor((2, 3)) @ m.ones(3, 2),
    ),
    "zeros": lambda m, s, c, D: (
        m.zeros_like(s), m.zeros_like(rows_of_two(m)), m.empty_like(c, dtype=m.float32),
        m.zeros_like(s, layout=m.strided),
    ),
    "new": lambda m, s, c, D: (
        s.new(s._indices(), s._values(), s.size()), c.new(c.indices(), c._values()), c.new(2, 3),
        c.new(), c.new(m.Size([2])),
    ),
    "resize": lambda m, s, c, D: (
        s.new().resize_as_(s), s.detach().clone().resize_as_(m.sparse_coo_tensor((5, 3))),
        m.zeros_like(s).resize_as_(rows_of_two(m)),
    ),
    "legacy": lambda m, s, c, D: (
        m.sparse.FloatTensor(m.tensor(INDICES), m.ones(5), m.Size([4, 3])),
        m.sparse.DoubleTensor(2, 3),
    ),
    **{
        name: lambda m, s, c, D, name=name: getattr(c.detach() / 8, name)()
        for name in (*NONLINEAR.split(), "sqrt", "tan", "tanh", "trunc", "log1p", "square", "sgn")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(oracle, name):
    check_same(oracle, *(ANSWERS[name](m, *parts(m)[1:]) for m in (tiny_torch, oracle)))


DIFFERENTIABLE = {
    "mm": lambda m, s, D: m.sparse.mm(s, D),
    "mm of the transpose": lambda m, s, D: (D.t() @ s.t()).t(),
    "scaled": lambda m, s, D: (s * 2 / 3) @ D,
    "dense": lambda m, s, D: s.t().t().to_dense() @ D,
    "sums": lambda m, s, D: (s + s).to_dense() @ D + m.sparse.sum(s),
    "sum over rows": lambda m, s, D: m.sparse.sum(s, 0).to_dense()[:2] * D,
    "values": lambda m, s, D: (s.coalesce().values() ** 2).sum() * D,
    "times dense": lambda m, s, D: (s * m.full((4, 3), 2.0).double()).to_dense() @ D,
    "mv": lambda m, s, D: s @ D[:, 0],
    "mm of two": lambda m, s, D: m.sparse.mm(s, s.t()).to_dense(),
    "addmm": lambda m, s, D: m.addmm(m.ones(4, 2).double(), s, D),
    "power": lambda m, s, D: s.coalesce().pow(2) @ D,
    "added to dense": lambda m, s, D: m.ones(4, 3).double() + s,
}


def gradients(m, name, coalesced):
    v, s, c, D = parts(m)
    y = DIFFERENTIABLE[name](m, c if coalesced else s, D)
    (y * m.arange(y.numel()).reshape(y.shape)).sum().backward()
    return y, v.grad, m.zeros_like(D) if D.grad is None else D.grad


@pytest.mark.parametrize("coalesced", [False, True])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_values_and_dense_operands(oracle, name, coalesced):
    ours, theirs = (gradients(m, name, coalesced) for m in (tiny_torch, oracle))
    check_same(oracle, ours, theirs)


SHAPED = {
    "slice": lambda x: x[0],
    "element": lambda x: x[0, 2],
    "index_select": lambda x: x.index_select(0, tiny_torch.tensor([1, 0, 1])),
    "cat": lambda x: tiny_torch.cat([x, x * 2]),
    "stack, permute": lambda x: tiny_torch.stack([x, x], 1).permute(2, 0, 1),
}


@pytest.mark.parametrize("name", SHAPED)
def test_gradients_that_pytorch_lacks(name):
    """Those of the dense tensor."""
    v, s, _, _ = parts(tiny_torch)
    found, expected = SHAPED[name](s).to_dense(), SHAPED[name](s.to_dense())
    weights = tiny_torch.arange(found.numel()).reshape(found.shape).double() + 1
    one, other = (
        tiny_torch.autograd.grad((y * weights).sum(), v, retain_graph=True)[0]
        for y in (found, expected)
    )
    assert found.tolist() == expected.tolist() and one.tolist() == other.tolist()


def leaf_gradients(m):
    """Of a sparse leaf, after one and two backwards, by grad, by a hook, deep copied."""
    _, _, c, D = parts(m)
    leaf = c.detach().requires_grad_()
    m.sparse.mm(leaf, D).sum().backward()
    first = leaf.grad.clone()
    (m.sparse.mm(leaf, D) ** 2).sum().backward()
    (alone,) = m.autograd.grad(m.sparse.mm(leaf, D).sum(), leaf)
    seen = []
    leaf.register_hook(seen.append)
    m.sparse.mm(leaf, D).sum().backward()
    twin = copy.deepcopy(leaf)
    facts = leaf.is_leaf, leaf.requires_grad, twin.requires_grad, seen[0].is_sparse
    return facts, first, leaf.grad, alone, twin.detach(), D.grad


def test_gradients_of_sparse_leaves(oracle):
    check_same(oracle, *(leaf_gradients(m) for m in (tiny_torch, oracle)))


def test_second_derivatives(oracle):
    def second(m):
        v, s, _, D = parts(m)
        (first,) = m.autograd.grad((m.sparse.mm(s, D) ** 3).sum(), D, create_graph=True)
        first.sum().backward()
        return v.grad, D.grad

    v, s, _, D = parts(oracle)  # whose own second derivative is not there
    (first,) = oracle.autograd.grad(((s.to_dense() @ D) ** 3).sum(), D, create_graph=True)
    first.sum().backward()
    check_same(oracle, second(tiny_torch), (v.grad, D.grad))


def test_texts(oracle):
    def texts(m):
        _, s, c, _ = parts(m)
        wide = m.sparse_coo_tensor(m.arange(2000).reshape(1, -1), m.ones(2000), (2000,))
        leaf = c.detach().requires_grad_()
        empty = m.sparse_coo_tensor((2, 3))
        return [repr(x) for x in (s, c.detach(), rows_of_two(m), wide, leaf, empty, c.float())]

    ours, theirs = texts(tiny_torch), texts(oracle)
    assert ours[0] == theirs[0]
    assert ours[1:-1] == theirs[1:-1]
    assert ours[-1].partition("grad_fn")[0].split() == theirs[-1].partition("grad_fn")[0].split()
    s = parts(tiny_torch)[1]
    assert f"{s}" == repr(s)
    with pytest.raises(TypeError, match="unsupported format string passed to"):
        f"{s:.2f}"


# Where both raise the same.
ERRORS = [
    lambda m, s, c: s.indices(),
    lambda m, s, c: s.values(),
    lambda m, s, c: m.ones(2).indices(),
    lambda m, s, c: m.ones(2).values(),
    lambda m, s, c: m.ones(2).coalesce(),
    lambda m, s, c: m.ones(2).is_coalesced(),
    lambda m, s, c: c.numpy(),
    lambda m, s, c: c + 1,
    lambda m, s, c: c / c,
    lambda m, s, c: c.contiguous,
    lambda m, s, c: c @ m.ones(2, 2).double(),
    lambda m, s, c: c.mm(m.ones(3, 2)),
    lambda m, s, c: c.transpose(0, 5),
    lambda m, s, c: m.sparse.mm(c, c),
    lambda m, s, c: s[9],
    lambda m, s, c: s[0, 9],
    lambda m, s, c: s[0, 0, 0],
    lambda m, s, c: s.select(1, -4),
    lambda m, s, c: s.index_select(0, m.tensor([0, 7])),
    lambda m, s, c: s.unsqueeze(5),
    lambda m, s, c: s.permute(0),
    lambda m, s, c: rows_of_two(m).permute(1, 0),
    lambda m, s, c: m.cat([c, c.to_dense()]),
    lambda m, s, c: m.cat([c, m.sparse_coo_tensor((2, 2)).double()]),
    lambda m, s, c: bool(c),
    lambda m, s, c: m.sparse.sum(c, 5),
    lambda m, s, c: m.sparse.sum(m.ones(2)),
    lambda m, s, c: m.eye(2).to_sparse(5),
    lambda m, s, c: m.sparse_coo_tensor(INDICES, [1.0, 2.0], (4, 3)),
    lambda m, s, c: m.sparse_coo_tensor(INDICES, VALUES, (4,)),
    lambda m, s, c: m.sparse_coo_tensor([[-1]], [1.0]),
    lambda m, s, c: m.nn.functional.embedding_bag(
        m.tensor([[0]]), m.ones(2, 2), mode="max", sparse=True
    ),
]


@pytest.mark.parametrize("i", range(len(ERRORS)))
def test_errors(oracle, i):
    def refused(m):
        _, s, c, _ = parts(m)
        try:
            ERRORS[i](m, s, c)
        except Exception as error:
            return type(error), str(error)
        return None

    assert refused(tiny_torch) == refused(oracle)


# What is not here, or is checked where PyTorch does not.
REFUSED = [
    (lambda m, c: c.exp(), NotImplementedError, "exp of a sparse tensor"),
    (lambda m, c: c[1:], NotImplementedError, "__getitem__ of a sparse tensor"),
    (lambda m, c: c.view(12), NotImplementedError, "view of a sparse tensor"),
    (lambda m, c: m.cat([m.eye(2).to_sparse(1)] * 2, 1), NotImplementedError, "along a dense dim"),
    (lambda m, c: c == c, NotImplementedError, "__eq__ of a sparse tensor"),
    (lambda m, c: c.add_(c.requires_grad_()), NotImplementedError, "in-place operations"),
    (lambda m, c: c.to_dense(masked_grad=False), NotImplementedError, "masked_grad"),
    (lambda m, c: m.tensor(3.0).to_sparse(), NotImplementedError, "no sparse dims"),
    (lambda m, c: m.eye(2).to_sparse(dense_dim=1), NotImplementedError, "dense_dim"),
    (lambda m, c: m.sparse_coo_tensor([[5]], [1.0], (2,)), RuntimeError, "found index 5"),
    (lambda m, c: c.resize_as_(m.sparse_coo_tensor((2, 3))), RuntimeError, "shrinking the size"),
    (lambda m, c: c.resize_as_(m.sparse_coo_tensor((9, 3, 2))), RuntimeError, "changing the num"),
    (lambda m, c: c.resize_as_(m.ones(4, 3)), NotImplementedError, "but as a sparse one"),
    (lambda m, c: m.zeros_like(c, pin_memory=True), NotImplementedError, "pin_memory"),
    (lambda m, c: m.ones(2, 2).sparse_mask(c), RuntimeError, "incompatible sizes"),
    (lambda m, c: m.sparse.FloatTensor([[1]], c.values()[:1]), TypeError, "expected values of"),
]


@pytest.mark.parametrize("i", range(len(REFUSED)))
def test_what_is_refused(i):
    call, kind, words = REFUSED[i]
    c = tiny_torch.sparse_coo_tensor(INDICES, tiny_torch.tensor(VALUES).double(), (4, 3))
    with pytest.raises(kind, match=words):
        call(tiny_torch, c.coalesce())


def test_in_place(oracle):
    def written(m):
        _, s, c, _ = parts(m)
        s, c, dense = s.detach(), c.detach(), m.ones(4, 3).double()
        dense.add_(s).sub_(c, alpha=2)
        turned = m.ones(3, 4).double().t()
        turned += s
        c.mul_(3)
        c.add_(c)
        c /= 2
        zero = c.clone().zero_()
        return dense, turned, c, zero.to_dense()

    check_same(oracle, *(written(m) for m in (tiny_torch, oracle)))


def test_a_module_with_a_sparse_buffer(oracle):
    def through(m):
        net = m.nn.Linear(3, 2)
        m.nn.init.constant_(net.weight, 0.5)
        m.nn.init.constant_(net.bias, 0.25)
        net.register_buffer("edges", parts(m)[2].detach().float())
        net = copy.deepcopy(net.double())
        net.load_state_dict(net.state_dict())
        return net(net.edges.t() @ m.ones(4, 3).double()), net.state_dict()["edges"]

    check_same(oracle, *(through(m) for m in (tiny_torch, oracle)))


def stored(m):
    _, s, c, _ = parts(m)
    return s.detach(), c.detach(), rows_of_two(m), m.sparse_coo_tensor((2, 3))


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("weights_only", [True, False])
def test_each_reads_what_the_other_saves(oracle, weights_only):
    for writer, reader in itertools.product((oracle, tiny_torch), repeat=2):
        file = io.BytesIO()
        writer.save([*stored(writer), writer.sparse_coo], file)
        file.seek(0)
        *found, layout = reader.load(file, weights_only=weights_only)
        assert layout is reader.sparse_coo
        ours = tuple(found) if reader is tiny_torch else stored(tiny_torch)
        check_same(oracle, ours, tuple(found) if reader is oracle else stored(oracle))


def test_pickle_and_copy():
    s = stored(tiny_torch)[0]
    s.tag = "edges"
    for found in (pickle.loads(pickle.dumps(s)), copy.copy(s)):
        assert found._values().tolist() == VALUES and found._indices().tolist() == INDICES
        assert not found.is_coalesced() and found.tag == "edges"


def test_a_file_that_calls_a_tensor_coalesced():
    s = stored(tiny_torch)[0]
    found = rebuild._rebuild_sparse_tensor(s.layout, (s._indices(), s._values(), s.shape, True))
    assert found.is_coalesced() and found._indices().tolist() == s.coalesce()._indices().tolist()
    for parts in ((s._indices(),), ([[0]], [1.0], s.shape), [s._indices(), s._values(), s.shape]):
        with pytest.raises(pickle.UnpicklingError):
            rebuild._rebuild_sparse_tensor(s.layout, parts)
    with pytest.raises(pickle.UnpicklingError, match="a layout is one of"):
        rebuild._get_layout("torch.float32")


def test_other_processes_take_them():
    queue = tiny_torch.multiprocessing.get_context("fork").Queue()
    for x in stored(tiny_torch):
        queue.put(x)
    options = {"batch_size": None, "num_workers": 1}
    loader = tiny_torch.utils.data.DataLoader(stored(tiny_torch), **options)
    for x, y in zip(stored(tiny_torch), loader, strict=True):
        for found in (y, queue.get(timeout=60)):
            assert found.is_sparse and found.to_dense().tolist() == x.to_dense().tolist()


def test_the_core_does_not_load_the_room():
    program = (
        "import sys, tiny_torch as t; t.nn.Embedding(2, 2)(t.tensor([1])).sum().backward();"
        "print([name for name in sys.modules if name.startswith('tiny_torch.sparse')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "jagged"])
def test_creation_makes_strided_tensors_only(layout):
    layout, x = getattr(tiny_torch, layout), tiny_torch.ones(2)
    makers = (
        tiny_torch.empty,
        tiny_torch.zeros,
        tiny_torch.rand,
        tiny_torch.arange,
        tiny_torch.eye,
        x.new_ones,
    )
    for make in (*makers, lambda size, layout: tiny_torch.zeros_like(x, layout=layout)):
        with pytest.raises(NotImplementedError, match=f"layout={layout}; it makes strided tensors"):
            make(2, layout=layout)
