"""PowerSGD: gradients as products of thin matrices, next to PyTorch's numbers."""

import importlib
import pickle

import oracles
import pytest
from ranks import values
from test_checkpoints_of_ranks import train
from test_parallel import close, net

import tiny_torch as torch
from tiny_torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import (
    PowerSGDState,
    orthogonal,
)

VARIANTS = [
    {},
    {"matrix_approximation_rank": 2, "use_error_feedback": False},
    {"matrix_approximation_rank": 3, "warm_start": False},
    {"orthogonalization_epsilon": 1e-3, "min_compression_rate": 4, "random_seed": 3},
]


def compressed(lib, rank, n, folder):
    """Losses, parameters and the rate of compression, after two plain steps and four others."""
    name = f"{lib.__name__}.distributed.algorithms.ddp_comm_hooks.powerSGD_hook"
    hooks, found = importlib.import_module(name), []
    for options in VARIANTS:
        model = lib.nn.parallel.DistributedDataParallel(net(lib))
        state = hooks.PowerSGDState(None, start_powerSGD_iter=2, **options)
        model.register_comm_hook(state, hooks.powerSGD_hook)
        optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
        losses = train(lib, model, optimizer, range(6), rank, n)
        parameters = [p.detach().flatten().tolist() for p in model.parameters()]
        found.append((losses, parameters, state.compression_stats(), state.iter))
    return found


@pytest.mark.torch
def test_next_to_pytorchs():
    ours = values(lambda rank, n: compressed(torch, rank, n, None), 2)
    for our, their in zip(ours, oracles.theirs("test_power_sgd:compressed"), strict=True):
        for a, b, variant in zip(our, their, VARIANTS, strict=True):
            assert a[3] == b[3] == 6 and close([a[2]], [b[2]]), variant
            assert close([a[0]], [b[0]], 1e-4) and close(a[1], b[1], 1e-3), variant
    assert [found[1] for found in ours[0]] == [found[1] for found in ours[1]]


def test_of_a_matrix_of_low_rank_nothing_is_lost():
    def run(rank, n):
        layer = torch.nn.Linear(40, 30, bias=False)
        model = torch.nn.parallel.DistributedDataParallel(layer)
        hooks = torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook
        state = PowerSGDState(None, 1, 0, use_error_feedback=False, warm_start=False)
        model.register_comm_hook(state, hooks.powerSGD_hook)
        x = torch.randn(1, 40, generator=torch.Generator().manual_seed(0)) * (rank + 1)
        model(x).sum().backward()
        return layer.weight.grad.allclose(
            1.5 * x / (rank + 1), atol=1e-5
        ), state.compression_stats()

    assert values(run, 2) == [(True, (1200 / 70, 1200, 70))] * 2


def test_columns_are_orthogonal():
    for r in (1, 2, 3, 5):
        q = orthogonal(torch.randn(9, r, generator=torch.Generator().manual_seed(r)), 0)
        assert (q.T @ q).allclose(torch.eye(r), atol=1e-5)


def test_states():
    with pytest.raises(ValueError, match="`start_powerSGD_iter` > 1 if"):
        PowerSGDState(None, start_powerSGD_iter=1)
    with pytest.raises(NotImplementedError, match="batch_tensors_with_same_shape=True"):
        PowerSGDState(None, batch_tensors_with_same_shape=True)
    state = PowerSGDState(object(), random_seed=5)
    copy = pickle.loads(pickle.dumps(state))
    assert copy.process_group is None and copy.rng.randint(1000) == state.rng.randint(1000)
