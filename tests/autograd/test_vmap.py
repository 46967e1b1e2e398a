"""func.vmap: the numbers, dtypes, gradients and refusals of PyTorch's."""

import ast

import pytest
from cases.all_cases import CASES as OPS
from cases.argument_calls import Package, changed, tensors
from helpers import CONTIGUOUS, compare, operands, outcome

import tiny_torch

PREPARE = """
nn, F, func = torch.nn, torch.nn.functional, torch.func
vmap, grad, jacrev, jacfwd = func.vmap, func.grad, func.jacrev, func.jacfwd
torch.manual_seed(0)
x = torch.linspace(-1, 1, 12, dtype=torch.float64).view(3, 4)
y = torch.linspace(0, 2, 12, dtype=torch.float64).view(3, 4)
w = torch.arange(4, dtype=torch.float64)
none = torch.zeros(0, 4, dtype=torch.float64)
nets = [nn.Linear(4, 2).double() for _ in range(3)]
lstm = nn.LSTM(4, 3)
plain = {name: p.detach() for name, p in nets[0].named_parameters()}
batches = torch.linspace(-1, 1, 24, dtype=torch.float64).view(3, 2, 4)
def zeros(): return torch.zeros(4, dtype=torch.float64)
def put(tensor, index, value):
    tensor[index] = value
    return tensor
def call(*state):
    return func.functional_call(nets[0], state[:-1], (state[-1],))
"""
CALLS = [
    "vmap(torch.dot)(x, y)",
    "vmap(torch.sin, in_dims=1)(x)",
    "vmap(torch.sin, in_dims=-1, out_dims=-1)(x)",
    "vmap(torch.dot, in_dims=(0, None))(x, w)",
    "vmap(lambda a, b: a * b, in_dims=(0, 1))(x, y.t())",
    "vmap(lambda a: (a.sum(), {'b': a * 2}), out_dims=(0, {'b': 1}))(x)",
    "vmap(lambda a: (a.sum(), w * 2), out_dims=(0, None))(x)",
    "vmap(lambda a: (a.sum(), 3), out_dims=(0, None))(x)",
    "vmap(lambda a: a, out_dims=(1,))(x)",
    "vmap(lambda a: w)(x)",
    "vmap(lambda d: d['a'] * d['b'], in_dims=({'a': 0, 'b': None},))({'a': x, 'b': w})",
    "vmap(lambda a, k=None: a * k)(x, k=w)",
    "vmap(lambda a, k: a * k, in_dims=(0, None))(x, 3)",
    "vmap(lambda a: a.max(0))(x)",
    "vmap(lambda a: [a, (a + 1).int()])(x)",
    "vmap(lambda a: a[1:3].unsqueeze(0).t(), out_dims=2)(x)",
    "vmap(vmap(torch.mul))(x, y)",
    "vmap(vmap(torch.mul, in_dims=(0, None)), in_dims=(None, 0))(w, w)",
    "vmap(torch.sin, chunk_size=2)(x)",
    "vmap(torch.sum)(none)",
    "vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(none)",
    "vmap(grad(lambda a: (a**3).sum()))(x)",
    "grad(lambda a: vmap(torch.dot)(a, y).sum())(x)",
    "vmap(jacrev(torch.sin))(x)",
    "vmap(jacfwd(torch.sin))(x)",
    "vmap(func.hessian(lambda a: (a**3).sum()))(x)",
    "jacrev(lambda a: vmap(torch.sin)(a))(x)",
    "jacfwd(lambda a: vmap(torch.sin)(a))(x)",
    "vmap(lambda a: torch.randn(3), randomness='same')(x)",
    "vmap(lambda a: torch.randn(3), randomness='different')(x) * 0",
    "vmap(lambda a: torch.nn.functional.gumbel_softmax(a, hard=True), randomness='different')(x)",
    "vmap(lambda a: F.dropout(a, training=False))(x)",
    "vmap(call, in_dims=(0, 0, None))(*func.stack_module_state(nets), x)",
    "vmap(grad(lambda p, a: call(p, a).square().sum()), in_dims=(None, 0))(plain, x)",
    "vmap(grad(lambda a: lstm(a)[0].square().sum()))(batches.float())",
    "vmap(lambda a: put(torch.zeros_like(a), 0, a.sum()))(x)",
    "vmap(lambda a: put(a.new_zeros(4), slice(0, 2), a[:2]))(x)",
    "vmap(lambda a: put(a.clone(), torch.tensor([0, 1]), a[2:]))(x)",
    "vmap(lambda a: torch.empty_like(a).copy_(a).mul_(a))(x)",
    "vmap(lambda a: a.mul_(2))(x)",
    "vmap(lambda a: a.as_strided((2, 2), (2, 1), 0))(x)",
    "vmap(lambda a: a.as_strided((2, 3), (8, 1), 1), in_dims=1)(batches)",
    "vmap(lambda a: a[1:].as_strided((2,), (1,), a[1:].storage_offset()))(x)",
    "vmap(lambda a: a[1:].as_strided((2,), (1,)))(x)",
    "vmap(vmap(lambda a: a.as_strided((2,), (2,), 1)))(batches)",
    "vmap(lambda a: x.as_strided((2,), (1,), 5) * a.storage_offset())(x)",
    "vmap(lambda a: a.clone().as_strided((2,), (1,), 1))(x)",
    "vmap(lambda a: a.view(torch.float32)[1:].storage_offset() + a)(x)",
    "vmap(grad(lambda a: a.as_strided((2, 2), (1, 1), 1).sum()))(x)",
    "vmap(lambda a: a * w.sum().item() if w.sum() > 0 else w)(x)",
    "vmap(lambda a: x[0].sum().item() * a)(x)",
    "vmap(lambda a: a[w > 0])(x)",
    "vmap(lambda a: a[w.nonzero()[:, 0]])(x)",
    "vmap(lambda a: torch.masked_select(a, w > 0))(x)",
    "vmap(lambda a: torch.argwhere(a))(x)",
    "vmap(lambda a: w[a.sum().long()])(x)",
    "vmap(lambda a: torch.searchsorted(w, a).sub_(a.long()))(x)",
    "vmap(lambda a: [part for part in a][0] + len(a))(x)",
    "vmap(lambda a: vmap(lambda b: a.sum() + b.sum())(x))(x)",
    "vmap(lambda a: w * 2, out_dims=None)(x)",
    "vmap(lambda a: torch.rand(2), out_dims=None, randomness='same')(x)",
    "vmap(lambda a: grad(lambda b: (b * b).sum())(a).add_(a))(x)",
    "vmap(lambda a: grad(lambda b: (b * b).sum())(w), out_dims=None)(x)",
    "vmap(nn.BatchNorm1d(4, track_running_stats=False).double())(batches)",
    "vmap(func.vjp(torch.sin, x[0])[1])(y)",
    "vmap(lambda a, t: func.jvp(torch.sin, (a,), (t,)))(x, y)",
    "vmap(vmap(grad(lambda a, b: (a * b).sin()), (0, None)), (None, 0))(w, w)",
    "vmap(func.hessian(lambda p, a: call(p, a).square().sum()), in_dims=(None, 0))(plain, x)",
    "vmap(jacrev(lambda p, a: call(p, a)), in_dims=(None, 0))(plain, x)",
    "vmap(func.grad_and_value(lambda a: a.prod()))(x)",
    "jacfwd(vmap(torch.sin))(x)",
    "jacfwd(lambda a: torch.rand(4, dtype=a.dtype) * 0 + a, randomness='same')(w)",
    "jacrev(lambda a: a if a.sum() > 0 else -a)(w)",
    "func.stack_module_state([nn.BatchNorm1d(2) for _ in range(2)])",
    "func.linearize(lambda a, b: (a * b, a), x, y)[1](y, x)",
]
REFUSALS = [
    "vmap(torch.dot, (0, 5))(x, y)",
    "vmap(torch.dot, (0, 'a'))(x, y)",
    "vmap(torch.dot, [0, 0])(x, y)",
    "vmap(torch.dot, (None, None))(x, y)",
    "vmap(torch.dot)(x, y[:2])",
    "vmap(torch.dot)()",
    "vmap(torch.dot)(x, 3.0)",
    "vmap(torch.sum)(torch.tensor(3.0))",
    "vmap(lambda a: (a.sum(), a * 2), out_dims=(0, None))(x)",
    "vmap(lambda a: (a, 3))(x)",
    "vmap(lambda a: None)(x)",
    "vmap(lambda a: a, out_dims='a')(x)",
    "vmap(lambda a: a, out_dims=5)(x)",
    "vmap(lambda a: torch.randn(3))(x)",
    "vmap(F.dropout)(x)",
    "vmap(torch.sin, randomness='odd')(x)",
    "vmap(torch.sin, chunk_size=0)(x)",
    # Python reads a sample
    "vmap(lambda a: a.sum().item())(x)",
    "vmap(lambda a: float(a.sum()))(x)",
    "vmap(lambda a: int(a.sum()))(x)",
    "vmap(lambda a: complex(a.sum()))(x)",
    "vmap(lambda a: [1, 2, 3][a.long()[0]])(x)",
    "vmap(lambda a: f'{a.sum()}')(x)",
    "vmap(lambda a: a * 2 if a.sum() > 0 else a)(x)",
    "vmap(lambda a: a.any() and a)(x)",
    "vmap(lambda a: a.sum() in a)(x)",
    "vmap(lambda a: torch.is_nonzero(a.sum()))(x)",
    "vmap(lambda a: a.tolist())(x)",
    "vmap(lambda a: a.numpy())(x)",
    "vmap(lambda a: a.data_ptr())(x)",
    "vmap(lambda a: a.untyped_storage())(x)",
    "vmap(lambda a: a.share_memory_())(x)",
    "vmap(lambda a: torch.tensor([a.sum(), a.sum()]))(x)",
    "vmap(lambda a: a.backward())(x)",
    "vmap(lambda a: w.requires_grad_())(x)",
    "vmap(lambda a: a.sum().item())(none)",
    "vmap(vmap(lambda a: a.item()))(x)",
    "vmap(lambda a: vmap(lambda b: b.sum().item())(x))(x)",
    "vmap(lambda a: grad(lambda b: (b * a).sum())(w).sum().item())(x)",
    "grad(lambda a: vmap(lambda b: b.sum().item())(a).sum())(x)",
    "vmap(torch.sin, chunk_size=2)(x) if vmap(lambda a: a.item())(w) else x",
    # a shape depends on a sample
    "vmap(lambda a: torch.zeros(a.sum().long()))(x)",
    "vmap(lambda a: w[: a.sum().long()])(x)",
    "vmap(lambda a: list(range(a.sum().long())))(x)",
    "vmap(lambda a: torch.arange(a.sum()))(x)",
    "vmap(lambda a: torch.sum(a, dim=a.long()[0]))(x)",
    "vmap(lambda a: torch.full((2,), a.sum()))(x)",
    "vmap(lambda a: a.nonzero())(x)",
    "vmap(lambda a: torch.masked_select(w, a > 0))(x)",
    "vmap(lambda a: a[a > 0])(x)",
    "vmap(lambda a: w[a > 0])(x)",
    "vmap(lambda a: put(a.clone(), a > 0, 1.0))(x)",
    "vmap(lambda a: a.unique())(x)",
    "vmap(lambda a: torch.unique(a, dim=0))(x)",
    "vmap(torch.unique_consecutive)(x)",
    "vmap(lambda a: F.one_hot(a.long().abs()))(x)",
    "vmap(lambda a: torch.equal(a, a))(x)",
    "vmap(nn.LSTM(4, 3).double())(batches)",
    "grad(lambda b: vmap(lambda a: lstm(a)[0])(b).sum())(batches.float())",
    "vmap(nn.GRU(4, 3, 2).double())(batches[:, 0])",
    "vmap(nn.RNN(4, 3, nonlinearity='relu').double())(batches)",
    "vmap(lambda a: nn.RNN(4, 3).double()(w.view(1, 1, 4), a[None, :1, :3]))(batches)",
    "vmap(nn.LSTMCell(4, 3).double())(x)",
    "vmap(lambda a: torch.allclose(a, a))(x)",
    # a sample is written where all samples share
    "vmap(lambda a: w.mul_(a))(x)",
    "vmap(lambda a: zeros().copy_(a))(x)",
    "vmap(lambda a: put(zeros(), 0, a.sum()))(x)",
    "vmap(lambda a: put(zeros(), slice(0, 2), a[:2]))(x)",
    "vmap(lambda a: put(zeros(), torch.tensor([0, 1]), a[:2]))(x)",
    "vmap(lambda a: put(zeros(), a > 0, 1.0))(x)",
    "vmap(lambda a: zeros().masked_fill_(w > 0, a.sum()))(x)",
    "vmap(lambda a: zeros().scatter_(0, torch.tensor([0]), a[:1]))(x)",
    "vmap(lambda a: zeros().index_add_(0, torch.tensor([0]), a[:1]))(x)",
    "vmap(lambda a: zeros().addcmul_(a, a))(x)",
    "vmap(lambda a: zeros().lerp_(a, 0.5))(x)",
    "vmap(vmap(lambda a, b: b.expand(4).clone().pow_(a), (0, None)))(x, w[:3])",
    "vmap(lambda a: a.as_strided((2,), (1,), 3))(x)",
    "vmap(lambda a: a[1:].as_strided((2,), (1,), 0))(x)",
    "vmap(lambda a: a.as_strided((2,), (1,), 1))(x[1:])",
    "vmap(lambda a: torch.add(a, a, out=torch.empty_like(a)))(x)",
    "vmap(nn.BatchNorm1d(4).double())(batches)",
    "vmap(nn.InstanceNorm1d(4, track_running_stats=True).double())(batches.mT)",
    "vmap(lambda a: torch.zeros_like(a), out_dims=None)(x)",
    "vmap(lambda a: grad(lambda b: (b * a).sum())(w), out_dims=None)(x)",
    # draws
    "vmap(lambda a: torch.randperm(3))(x)",
    "vmap(lambda a: w.uniform_())(x)",
    "vmap(lambda a: w.uniform_(), randomness='different')(x)",
    "vmap(lambda a: torch.bernoulli(a.abs()), randomness='same')(x)",
    "vmap(lambda a: torch.rand(3, generator=torch.Generator()))(x)",
    "vmap(lambda a: torch.rand(2), out_dims=None, randomness='different')(x)",
    "jacfwd(lambda a: torch.rand(3) * a.sum())(w)",
    "jacfwd(torch.sin, randomness='odd')(w)",
    # trees
    "vmap(torch.dot, (0, 0, 0))(x, y)",
    "vmap(torch.dot, ([0], 0))(x, y)",
    "vmap(lambda a: (a, a), 0, (0,))(x)",
    "vmap(lambda a: {'a': a}, out_dims={'b': 1})(x)",
    "func.stack_module_state([])",
    "func.stack_module_state([nn.Linear(2, 3), nn.ReLU()])",
    "func.stack_module_state([nn.Linear(2, 3), nn.Linear(2, 3).eval()])",
]


def evaluated(torch, text):
    names = {"torch": torch}
    exec(PREPARE, names)
    return eval(text, names)


def leaves(torch, tree):
    return torch.utils._pytree.tree_flatten(tree)[0]


@pytest.mark.parametrize("text", CALLS)
def test_values_are_pytorchs(oracle, text):
    ours, theirs = (leaves(m, evaluated(m, text)) for m in (tiny_torch, oracle))
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(one, tiny_torch.Tensor):
            compare(one, other, text, ulps=64, strides=False)
        else:
            assert one == other


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals_are_pytorchs(oracle, text):
    said = []
    for module in (tiny_torch, oracle):
        with pytest.raises(Exception) as caught:
            evaluated(module, text)
        said.append((caught.type, str(caught.value)))
    assert said[0] == said[1]


def test_an_offset_in_two_samples_is_refused():
    x = tiny_torch.zeros(3, 3)
    with pytest.raises(NotImplementedError, match="storage offset of a view of two arguments"):
        tiny_torch.vmap(lambda a, b: b + a.storage_offset())(x, x.t())


def test_a_refused_draw_leaves_the_generator(torch):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="randomness error mode"):
        torch.vmap(lambda a: a + torch.rand(2))(torch.ones(3, 2))
    assert torch.get_rng_state().equal(before)


# Whose type alone is PyTorch's: it says the same of ops in other words.
ALSO_REFUSED = [
    "vmap(grad(lambda a: a.sum() if a.sum() > 0 else -a.sum()))(x)",
    "vmap(lambda a: torch.where(a > 0))(x)",
    "vmap(lambda a: zeros().add_(a))(x)",
    "vmap(lambda a: zeros().fill_(a.sum()))(x)",
    "vmap(lambda a: vmap(lambda b: a.clone().add_(b))(x))(x)",
    "vmap(lambda a: torch.sum(a, 0, out=torch.empty_like(a)))(x)",
    "vmap(lambda a: max(a, w))(x)",
]


@pytest.mark.parametrize("text", ALSO_REFUSED)
def test_types_of_other_refusals(oracle, text):
    for module in (tiny_torch, oracle):
        with pytest.raises(RuntimeError):
            evaluated(module, text)


def test_methods_are_plain_afterwards(torch):
    """vmap watches some methods of Tensor only while its first sample runs."""
    before = dict(vars(torch.Tensor))
    with pytest.raises(RuntimeError, match="item"):
        torch.vmap(lambda a: torch.vmap(lambda b: b.item())(a))(torch.ones(2, 2))
    assert dict(vars(torch.Tensor)) == before


# A draw; wrong shapes; PyTorch answers wrongly, or its float64 is not exact.
LEFT_OUT = ("dropout", "rrelu", "of matrices", "of vectors", "any none", "all none", "trigamma")


def batched(module, case):
    """Three operands of each of a case's, stacked."""
    dtype = "float64" if "float64" in case.dtypes else case.dtypes[-1]
    shapes = SMALL[case.arity] if case.shapes is None else case.shapes[0]
    layouts, dtypes = CONTIGUOUS[:1] * case.arity, [dtype] * case.arity
    samples = [operands(module, case.domains, shapes, layouts, dtypes, seed=k) for k in range(3)]
    return [module.stack(parts) for parts in zip(*samples, strict=True)]


SMALL = {1: [(2, 3)], 2: [(2, 3), (3,)], 3: [(2, 3), (3,), (2, 1)]}
PLAIN = [c for c in OPS if c.in_torch and not any(word in c.name for word in LEFT_OUT)]


@pytest.mark.parametrize("case", PLAIN[::3], ids=[case.name for case in PLAIN[::3]])
def test_ops(oracle, case):
    check_op(oracle, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", PLAIN, ids=[case.name for case in PLAIN])
def test_all_ops(oracle, case):
    check_op(oracle, case)


def check_op(oracle, case):
    """As PyTorch's, and what depends on a sample is known to."""

    def mapped(module, out_dims=0):
        return lambda: module.vmap(lambda *a: case(module, *a), out_dims=out_dims)(
            *batched(module, case)
        )

    wrong, theirs = outcome(mapped(oracle))
    error, ours = outcome(mapped(tiny_torch))
    if wrong is not None:
        assert type(error) is type(wrong) or "Batching rule not implemented" in str(wrong)
        return
    assert error is None, error
    for one, other in zip(ours, theirs, strict=True):
        compare(one, other, case.name, 256, strides=False)
    shared, _ = outcome(mapped(oracle, None))
    if shared is not None:  # else PyTorch's result is the same for all
        error, _ = outcome(mapped(tiny_torch, None))
        assert "can not return a BatchedTensor when out_dim is None" in str(error)


# PyTorch refuses for want of a rule, or by accident; values are not unique.
OTHER_CALLS = (
    "PackedSequence", "pack_padded", "topk", "svd", "TransformerEncoderLayer", "rrelu", "resize_as",
    "torch.tensor(", "new_tensor", "Categorical", "orthogonal_", "torch.fill(", "cross_entropy",
    "CrossEntropyLoss", "vector_to",
)  # fmt: skip


@pytest.mark.slow
def test_tensors_of_all_functions(oracle):
    """Each tensor that a function takes, as the sample of a vmap: taken or refused as PyTorch."""
    packages, found, count = (Package(tiny_torch), Package(oracle)), [], 0
    for call, place in tensors():
        given = [*call.args, *(k.value for k in call.keywords if k.arg == place)]
        value = ast.unparse(given[place if isinstance(place, int) else -1])
        text = changed(call, place, "sample")
        if any(word in text for word in OTHER_CALLS):
            continue
        count += 1
        (error, ours), (wrong, theirs) = (
            outcome(lambda p=package: mapped_call(p, text, value))  # noqa: B023
            for package in packages
        )
        if wrong is not None and "Batching rule not implemented" in str(wrong):
            continue
        if type(error) is not type(wrong):
            found.append(f"{text}: {error!r:.200}, not {wrong!r:.200}")
        for one, other in zip(ours, theirs, strict=False):
            compare(one, other, text, 256, strides=False)
    assert not found, "\n".join(found)
    assert count > 400


def mapped_call(package, text, given):
    names = package.names()
    value = eval(given, names).detach()

    def function(sample):
        return eval(text, {**names, "sample": sample})

    return package.module.vmap(function, randomness="same")(package.module.stack([value, value]))


# ---- many samples, of which all but the first two are run from a recording ----------------------

MANY = 60


def loop(function, *batches):
    """What `vmap` answers, by a loop over samples."""
    results = [function(*parts) for parts in zip(*batches, strict=True)]
    if isinstance(results[0], tuple):
        return tuple(tiny_torch.stack(parts) for parts in zip(*results, strict=True))
    return tiny_torch.stack(results)


SMOOTH = {
    "value": lambda x: x.sin() * x.sum(),
    "several": lambda x: (x.exp(), x[1:] * 2),
    "gradient": tiny_torch.func.grad(lambda x: (x.tanh() * x).sum()),
    "Jacobian": tiny_torch.func.jacrev(lambda x: x.sin() * x.sum()),
    "Hessian": tiny_torch.func.hessian(lambda x: (x.sin() * x).sum()),
    "written": lambda x: x.clone().index_fill_(0, tiny_torch.tensor([1]), 5.0).mul_(x),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_many_samples_are_those_of_a_loop(name):
    function, batch = SMOOTH[name], tiny_torch.randn(MANY, 4)
    mapped = tiny_torch.func.vmap(function)
    for x in (batch, batch * 2, batch[:5]):
        ours, expected = mapped(x), loop(function, x)
        if not isinstance(expected, tuple):
            ours, expected = (ours,), (expected,)
        assert all(a.equal(b) for a, b in zip(ours, expected, strict=True))


def test_many_samples_see_what_python_does():
    batch, calls, factor = tiny_torch.randn(MANY, 4), [], tiny_torch.ones(4)

    def counted(x):
        calls.append(len(calls))
        return x * len(calls)

    numbers = tiny_torch.arange(1.0, MANY + 1)[:, None]
    assert tiny_torch.func.vmap(counted)(batch).equal(batch * numbers) and len(calls) == MANY
    scaled = tiny_torch.func.vmap(lambda x: x * factor)
    assert scaled(batch).equal(batch)
    factor.mul_(3)
    assert scaled(batch).equal(batch * 3)
    factor = tiny_torch.full((4,), 2.0)
    assert scaled(batch).equal(batch * 2)
    with pytest.raises(RuntimeError, match="invalid for input of size 4"):
        tiny_torch.func.vmap(lambda x: x.view(5))(batch)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_many_samples_draw_as_a_loop_does(randomness):
    batch = tiny_torch.zeros(MANY, 3)
    tiny_torch.manual_seed(4)
    begin = tiny_torch.get_rng_state()
    ours = tiny_torch.func.vmap(lambda x: x + tiny_torch.rand(3), randomness=randomness)(batch)
    end = tiny_torch.get_rng_state()
    tiny_torch.set_rng_state(begin)
    for row in ours:
        if randomness == "same":
            tiny_torch.set_rng_state(begin)
        assert row.equal(tiny_torch.rand(3))
    assert end.equal(tiny_torch.get_rng_state())


def test_gradients_through_many_samples():
    batch = tiny_torch.randn(MANY, 4, requires_grad=True)
    tiny_torch.func.vmap(lambda x: x.sin().sum())(batch).sum().backward()
    assert batch.grad.equal(batch.cos())
    layer = tiny_torch.nn.Linear(4, 3)
    tiny_torch.func.vmap(layer)(batch.detach()).sum().backward()
    assert layer.bias.grad.tolist() == [MANY] * 3
