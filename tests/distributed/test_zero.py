"""ZeroRedundancyOptimizer: n ranks step as one, and each keeps its part of the state."""

import importlib

import oracles
import pytest
from ranks import outcomes, values
from test_checkpoints_of_ranks import train
from test_parallel import close, net

import tiny_torch as torch
from tiny_torch.distributed.optim import ZeroRedundancyOptimizer


def zero(lib, model, rank_count=2, **options):
    kind = importlib.import_module(f"{lib.__name__}.distributed.optim").ZeroRedundancyOptimizer
    parameters = list(model.parameters())
    groups = [{"params": parameters[:3], "lr": 0.02}, {"params": parameters[3:]}]
    return kind(groups, optimizer_class=lib.optim.Adam, lr=0.01, **options)


def facts_of(state):
    """Shapes and sums of an optimizer's state."""
    return {
        number: {key: (list(value.shape), value.sum().item()) for key, value in part.items()}
        for number, part in state["state"].items()
    }, [(group["lr"], group["params"]) for group in state["param_groups"]]


def stepped(lib, rank, n, folder):
    """Training, who has which state, the whole state, and going on from it."""
    found = []
    for options in ({}, {"parameters_as_bucket_view": True}):
        model = lib.nn.parallel.DistributedDataParallel(net(lib))
        optimizer = zero(lib, model, **options)
        scheduler = lib.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
        losses = train(lib, model, optimizer, range(3), rank, n)
        scheduler.step()
        own = [[list(p.shape) for p in g["params"]] for g in optimizer.optim.param_groups]
        optimizer.consolidate_state_dict(to=1)
        state = [optimizer.state_dict()] if rank == 1 else [None]
        lib.distributed.broadcast_object_list(state, src=1)
        facts = facts_of(state[0])
        on = train(lib, model, optimizer, range(3, 5), rank, n)
        found.append((losses, own, facts, on, [p.sum().item() for p in model.parameters()]))
    return found


def test_two_ranks_step_as_one():
    for options in ({}, {"parameters_as_bucket_view": True}):

        def run(rank, n, options=options):
            model = torch.nn.parallel.DistributedDataParallel(net(torch))
            optimizer = zero(torch, model, **options)
            train(torch, model, optimizer, range(4), rank, n)
            return [p.flatten().tolist() for p in model.parameters()], len(optimizer.optim.state)

        model = net(torch)
        parameters = list(model.parameters())
        groups = [{"params": parameters[:3], "lr": 0.02}, {"params": parameters[3:]}]
        train(torch, model, torch.optim.Adam(groups, lr=0.01), range(4), 0, 1)
        found = values(run, 2)
        assert found[0][0] == found[1][0] and found[0][1] + found[1][1] == 6
        assert close(found[0][0], [p.flatten().tolist() for p in model.parameters()], 1e-4)


def test_a_state_goes_to_another_number_of_ranks_and_to_plain_adam(tmp_path):
    def state_of(rank, n):
        model = torch.nn.parallel.DistributedDataParallel(net(torch))
        optimizer = zero(torch, model)
        train(torch, model, optimizer, range(2), rank, n)
        optimizer.consolidate_state_dict()
        if rank == 0:
            torch.save([optimizer.state_dict(), model.module.state_dict()], tmp_path / "state")

    values(state_of, 2)
    optimizer_state, model_state = torch.load(tmp_path / "state")

    def go_on(rank, n):
        model = net(torch)
        model.load_state_dict(model_state)
        optimizer = zero(torch, model)
        optimizer.load_state_dict(optimizer_state)
        train(torch, model, optimizer, range(2, 4), 0, 1)
        return [p.flatten().tolist() for p in model.parameters()]

    found = values(go_on, 3)  # before the plain one, which steps in the state's memory
    plain = net(torch)
    plain.load_state_dict(model_state)
    parameters = list(plain.parameters())
    groups = [{"params": parameters[:3], "lr": 0.02}, {"params": parameters[3:]}]
    adam = torch.optim.Adam(groups, lr=0.01)
    adam.load_state_dict(optimizer_state)
    train(torch, plain, adam, range(2, 4), 0, 1)
    for ours in found:
        assert close(ours, [p.flatten().tolist() for p in plain.parameters()], 1e-6)


@pytest.mark.torch
def test_next_to_pytorchs():
    ours = values(lambda rank, n: stepped(torch, rank, n, None), 2)
    for our, their in zip(ours, oracles.theirs("test_zero:stepped"), strict=True):
        for a, b in zip(our, their, strict=True):
            assert a[1] == b[1] and a[2][1] == b[2][1] and a[2][0].keys() == b[2][0].keys()
            assert close([a[0], a[3], a[4]], [b[0], b[3], b[4]])
            for number, part in b[2][0].items():
                for key, (shape, total) in part.items():
                    assert a[2][0][number][key][0] == shape
                    assert close([[a[2][0][number][key][1]]], [[total]], 1e-3)


def test_more_ranks_than_parameters():
    def run(rank, n):
        w = torch.nn.Parameter(torch.ones(2))
        optimizer = ZeroRedundancyOptimizer([w], torch.optim.Adam, lr=0.5)
        w.grad = torch.ones(2)
        optimizer.step()
        optimizer.consolidate_state_dict(2)
        return w.tolist(), list(optimizer.state_dict()["state"]) if rank == 2 else None

    found = values(run, 3)
    assert close([w for w, _ in found], [[0.5, 0.5]] * 3) and found[2][1] == [0]


def test_groups_added_and_parameters_frozen_later():
    def run(rank, n):
        model = net(torch)
        ps = list(model.parameters())
        optimizer = ZeroRedundancyOptimizer(
            ps[:2], torch.optim.SGD, parameters_as_bucket_view=True, lr=0.1
        )
        optimizer.add_param_group({"params": ps[2:], "lr": 0.2})
        ps[0].requires_grad_(False)
        before = [p.detach().clone() for p in ps]
        for p in ps[1:]:
            p.grad = torch.ones_like(p)
        optimizer.step()
        return [round((b - p).mean().item(), 4) for b, p in zip(before, ps, strict=True)]

    assert values(run, 2) == [[0.0, 0.1, 0.2, 0.2, 0.2, 0.2]] * 2


@pytest.mark.parametrize("make, kind, part", [
    (lambda: zero(torch, net(torch), overlap_with_ddp=True), "NotImplementedError",
     "overlap_with_ddp=True"),
    (lambda: ZeroRedundancyOptimizer(torch.ones(1), torch.optim.SGD), "TypeError",
     "should be an iterable of Tensors"),
    (lambda: ZeroRedundancyOptimizer([], torch.optim.SGD), "ValueError", "empty parameter list"),
    (lambda: ZeroRedundancyOptimizer([{"lr": 1}], torch.optim.SGD), "ValueError", "'params' key"),
    (lambda: ZeroRedundancyOptimizer([1], torch.optim.SGD), "TypeError", "Tensors or dicts"),
    (lambda: zero(torch, net(torch)).state_dict(), "RuntimeError", "consolidate_state_dict(to=0)"),
])  # fmt: skip
def test_what_is_refused(make, kind, part):
    raised, text = outcomes(lambda rank, n: make(), 1)[0]
    assert raised == kind and part in text
