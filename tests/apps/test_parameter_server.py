"""The parameter server: in step it is one process; stale, within its bound."""

import os

import pytest

import tiny_torch as torch

OPTIONS = ["--width", "16", "--batch-size", "256", "--epochs", "2"]


def test_in_step_it_trains_as_one_process(run, app, tmp_path):
    history = run("parameter_server", *OPTIONS, "--seed", "3")
    served = torch.load(tmp_path / "parameter_server.pt")["parts"]["model"]
    module, common = app("parameter_server"), app("common")
    args = module.parse_args([*OPTIONS, "--seed", "3", "--out", str(tmp_path / "alone")])
    data = module.load_images(args)
    model = module.MLP(data.train_x[0].numel(), len(data.names), args)
    optimiser = common.optimiser(args, model.parameters())
    for epoch in (1, 2):
        for x, y in common.batches(args, epoch, data.train_x, data.train_y):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimiser.step()
    assert [figures["staleness"] for figures in history] == [0, 0]
    for name, value in model.state_dict().items():
        assert torch.allclose(served[name], value, atol=1e-4), name


def test_nobody_is_further_ahead_than_allowed(run, app, monkeypatch):
    module, gaps, ages = app("parameter_server"), [], []
    take = module.Server.take

    def seen(server, worker, gradients):
        take(server, worker, gradients)
        gaps.append(server.clocks[worker] - min(server.clocks))
        ages.extend(server.ages[-1:])

    monkeypatch.setattr(module.Server, "take", seen)
    run("parameter_server", *OPTIONS, "--workers", "3", "--staleness", "1")
    steps = 5  # of 1,438 digits, 256 at a time
    assert len(gaps) == 2 * steps * 3 and max(gaps) <= 1 and 0 < max(ages) <= 2 * 3


def test_a_worker_that_dies_ends_the_run(run, app, monkeypatch):
    module = app("parameter_server")
    take, calls = module.take, []

    def die(row, parameters):
        calls.append(1)
        if len(calls) == 3 and module.dist.get_rank() == 2:
            os._exit(9)
        take(row, parameters)

    monkeypatch.setattr(module, "take", die)
    try:
        with pytest.raises(module.dist.DistBackendError, match="rank 2 of the group closed"):
            run("parameter_server", *OPTIONS)
    finally:
        module.dist.destroy_process_group()
