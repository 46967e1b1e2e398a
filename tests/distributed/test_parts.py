"""What needs the whole of a parameter of which ranks have parts: right, or refused by name."""

import math

import pytest
from ranks import values

import tiny_torch as torch
from tiny_torch.distributed import init_device_mesh
from tiny_torch.distributed.fsdp import fully_shard
from tiny_torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from tiny_torch.nn import init, utils

PLAN = {"0": ColwiseParallel(), "1": RowwiseParallel()}


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 4))


def norm_and_clipped(model):
    """The gradients' norm, and what is left of the first after clipping by it."""
    model(torch.arange(8.0).view(2, 4)).square().sum().backward()
    norm = utils.get_total_norm([p.grad for p in model.parameters()])
    utils.clip_grads_with_norm_(model.parameters(), 1.0, norm)
    return norm.item(), model[0].weight.grad[0].tolist()


def check_part(model):
    """Fans are those of the whole; who cannot do with a part says so."""
    for weight in (model[0].weight, model[1].weight):
        init.xavier_uniform_(weight)
        assert weight.abs().max() <= math.sqrt(6 / (4 + 8))
        for fill in (init.orthogonal_, init.eye_, lambda part: init.sparse_(part, 0.5)):
            with pytest.raises(NotImplementedError, match=r"looks at .* as a whole.* fully_shard"):
                fill(weight)
        for optimizer in (torch.optim.Muon, torch.optim.Adafactor, torch.optim.LBFGS):
            with pytest.raises(NotImplementedError, match=rf"^{optimizer.__name__} looks at"):
                optimizer([weight])


def test_parts_of_fully_shard_and_of_tensor_parallelism():
    def run(rank, n):
        models = fully_shard(net()), parallelize_module(net(), init_device_mesh("cpu", (n,)), PLAN)
        found = [norm_and_clipped(model) for model in models]
        for model in models:
            check_part(model)
        return found

    norm, row = norm_and_clipped(net())
    for found in values(run, 2)[0]:
        assert found == (pytest.approx(norm), pytest.approx(row))


def test_one_rank_has_the_whole():
    def run(rank, n):
        model = fully_shard(net())
        init.orthogonal_(model[0].weight)
        torch.optim.Muon([model[0].weight])

    values(run, 1)
