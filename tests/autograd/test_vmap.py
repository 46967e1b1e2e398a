"""func.vmap: the numbers, dtypes, gradients and refusals of PyTorch's."""

import pytest
from helpers import compare

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
plain = {name: p.detach() for name, p in nets[0].named_parameters()}
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
    "vmap(lambda a: F.dropout(a, training=False))(x)",
    "vmap(call, in_dims=(0, 0, None))(*func.stack_module_state(nets), x)",
    "vmap(grad(lambda p, a: call(p, a).square().sum()), in_dims=(None, 0))(plain, x)",
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


@pytest.mark.parametrize(
    "text", ["vmap(torch.dot, (0, 0, 0))(x, y)", "vmap(lambda a: (a, a), 0, (0,))(x)"]
)
def test_trees_that_do_not_fit(torch, text):
    with pytest.raises(ValueError, match="is not compatible with the structure of"):
        evaluated(torch, text)


def test_a_refused_draw_leaves_the_generator(torch):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="randomness error mode"):
        torch.vmap(lambda a: a + torch.rand(2))(torch.ones(3, 2))
    assert torch.get_rng_state().equal(before)
