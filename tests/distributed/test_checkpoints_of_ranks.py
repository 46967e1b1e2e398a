"""torch.distributed.checkpoint: what n ranks save m ranks load, and nothing is ever half there."""

import importlib

import oracles
import pytest
from ranks import outcomes, values
from test_launcher import launch
from test_parallel import batch, close, net

import tiny_torch as torch
from tiny_torch.distributed import checkpoint as dcp
from tiny_torch.distributed.checkpoint import api
from tiny_torch.distributed.checkpoint.stateful import Stateful
from tiny_torch.distributed.pieces import Piece, cut, mark


def functions(lib):
    name = f"{lib.__name__}.distributed.checkpoint"
    return importlib.import_module(name), importlib.import_module(f"{name}.state_dict")


def plain(tree):
    """Tensors as lists, to compare two packages."""
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [plain(value) for value in tree]
    return tree.tolist() if hasattr(tree, "tolist") else tree


def trained(lib, rank, n, steps, wrapped=True):
    model = net(lib, seed=rank)
    if wrapped:
        model = lib.nn.parallel.DistributedDataParallel(model)
    optimizer = lib.optim.Adam(model.parameters(), lr=0.01)
    losses = train(lib, model, optimizer, range(steps), rank, n)
    return model, optimizer, losses


def train(lib, model, optimizer, steps, rank, n):
    losses = []
    for step in steps:
        x, y = batch(lib, step)
        optimizer.zero_grad()
        loss = lib.nn.functional.mse_loss(model(x[rank::n]), y[rank::n])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def saved_and_loaded(lib, rank, n, folder):
    """The figures of saving after two steps, and of going on from there, wrapped or not."""
    dcp, helpers = functions(lib)
    model, optimizer, _ = trained(lib, rank, n, 2)
    model_state, optimizer_state = helpers.get_state_dict(model, optimizer)
    told = dcp.save({"model": model_state, "optim": optimizer_state, "step": 2},
                    checkpoint_id=folder)  # fmt: skip
    sizes = {k: list(v.size) if hasattr(v, "size") else None
             for k, v in told.state_dict_metadata.items()}  # fmt: skip
    on = train(lib, model, optimizer, range(2, 4), rank, n)
    fresh = net(lib, seed=7)
    again = lib.nn.parallel.DistributedDataParallel(fresh)
    optimizer = lib.optim.Adam(again.parameters(), lr=0.5)
    model_state, optimizer_state = helpers.get_state_dict(again, optimizer)
    state = {"model": model_state, "optim": optimizer_state, "step": 0}
    dcp.load(state, checkpoint_id=folder)
    helpers.set_state_dict(again, optimizer, model_state_dict=state["model"],
                           optim_state_dict=state["optim"])  # fmt: skip
    after = train(lib, again, optimizer, range(2, 4), rank, n)
    return sizes, plain(optimizer_state["param_groups"]), on, after, state["step"]


def test_going_on_from_a_checkpoint_is_going_on(tmp_path):
    for _, groups, on, after, step in values(
        lambda rank, n: saved_and_loaded(torch, rank, n, tmp_path), 2
    ):
        assert on == after and step == 2 and groups[0]["lr"] == 0.01
    assert len(list(tmp_path.iterdir())) == 3  # a file per rank, .metadata


@pytest.mark.torch
def test_next_to_pytorchs(tmp_path):
    ours = values(lambda rank, n: saved_and_loaded(torch, rank, n, tmp_path / "ours"), 2)
    theirs = oracles.theirs("test_checkpoints_of_ranks:saved_and_loaded")
    for our, their in zip(ours, theirs, strict=True):
        absent = {"foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay"}
        absent = {f"optim.param_groups.0.{key}" for key in absent}
        assert our[0] == {k: v for k, v in their[0].items() if k in our[0]}
        assert set(their[0]) - set(our[0]) <= absent
        ours_only, theirs_only = our[1][0], their[1][0]
        assert ours_only == {key: theirs_only[key] for key in ours_only}
        assert close(our[2:4], their[2:4]) and our[4] == their[4]


WHOLE = torch.arange(35.0).view(7, 5)


@pytest.mark.parametrize("before, after, dims", [(3, 2, (0, 0)), (2, 3, (0, 1)), (1, 3, (1, 1))])
def test_another_number_of_ranks(tmp_path, before, after, dims):
    """Parts along dim 0 become parts along dim 1, and others; rank 2 of 3 may have none."""

    def part(rank, n, dim, whole):
        mine, start = cut(whole, dim, rank, n)
        offset = (start, 0) if dim == 0 else (0, start)
        return mark(mine.clone(), Piece((7, 5), offset, torch.distributed.group.WORLD))

    def save(rank, n):
        dcp.save({"w": part(rank, n, dims[0], WHOLE), "all": WHOLE}, checkpoint_id=tmp_path)

    def load(rank, n):
        state = {"w": part(rank, n, dims[1], torch.zeros(7, 5)), "all": torch.zeros(7, 5)}
        dcp.load(state, checkpoint_id=tmp_path)
        return state["w"].equal(part(rank, n, dims[1], WHOLE)) and state["all"].equal(WHOLE)

    values(save, before)
    assert values(load, after) == [True] * after
    read = {"w": torch.zeros(7, 5)}
    dcp.load(read, checkpoint_id=tmp_path, no_dist=True)
    assert read["w"].equal(WHOLE)


def test_a_failing_rank_leaves_the_checkpoint_before(tmp_path):
    def run(rank, n):
        dcp.save({"x": torch.ones(2)}, checkpoint_id=tmp_path)
        try:
            dcp.save({"x": torch.zeros(2), "y": lambda: rank},
                     checkpoint_id=tmp_path)  # fmt: skip
        except dcp.CheckpointException as error:
            return sorted(error.failures), "RANK" in str(error)

    found = values(run, 2)
    assert found[0] == found[1] and found[0][0] and found[0][1]
    state = {"x": torch.zeros(2)}
    dcp.load(state, checkpoint_id=tmp_path)
    assert state["x"].tolist() == [1.0, 1.0] and len(list(tmp_path.iterdir())) == 2


def test_who_loses_the_others_after_writing_keeps_the_file(tmp_path, monkeypatch):
    """A rank died when rank 0 had heard of all files and rank 1 had not: `.metadata` has both."""
    gather = api.Ranks.gather

    def lost(ranks, name, work):
        if name == "finish":
            return [work()]
        found = gather(ranks, name, work)
        if name == "write" and ranks.rank == 1:
            raise torch.distributed.DistBackendError("rank 2 closed its connection")
        return found

    def run(rank, n):
        monkeypatch.setattr(api.Ranks, "gather", lost)
        dcp.save({"x": torch.ones(2), "y": torch.full((3,), 2.0)}, checkpoint_id=tmp_path)

    assert [kind for kind, _ in outcomes(run, 2)] == ["ok", "DistBackendError"]
    state = {"x": torch.zeros(2), "y": torch.zeros(3)}
    dcp.load(state, checkpoint_id=tmp_path)
    assert state["x"].tolist() == [1.0] * 2 and state["y"].tolist() == [2.0] * 3


@pytest.mark.parametrize("state, part", [
    ({"no": torch.zeros(1)}, "RuntimeError: Missing key in checkpoint state_dict: no."),
    ({"x": torch.zeros(3)},
     "ValueError: Size mismatch between saved torch.Size([2]) and current: torch.Size([3]) for x"),
    ({"x": 1}, "Invalid checkpoint metadata for x, expected BytesStorageMetadata"),
])  # fmt: skip
def test_what_does_not_fit_is_said(tmp_path, state, part):
    dcp.save({"x": torch.zeros(2)}, checkpoint_id=tmp_path)
    with pytest.raises(dcp.CheckpointException) as error:
        dcp.load(state, checkpoint_id=tmp_path)
    assert part in str(error.value)


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(dcp.CheckpointException, match="No such file"):
        dcp.load({}, checkpoint_id=tmp_path)
    with pytest.raises(RuntimeError, match="must be specified"):
        dcp.save({})
    for call, name in [
        (lambda: dcp.save({}, checkpoint_id=tmp_path, planner=1), "planner=1"),
        (lambda: dcp.async_save({}), "async_save"),
        (lambda: dcp.FileSystemWriter(tmp_path, thread_count=2), "thread_count=2"),
    ]:
        with pytest.raises(NotImplementedError, match=name):
            call()
    writer = dcp.FileSystemWriter(tmp_path, overwrite=False)
    dcp.save({"x": 1}, storage_writer=writer)
    with pytest.raises(dcp.CheckpointException, match="already exists"):
        dcp.save({"x": 1}, storage_writer=writer)
    assert dcp.FileSystemReader(tmp_path).read_metadata().state_dict_metadata.keys() == {"x"}


RESTARTED = """
import torch.distributed.checkpoint as dcp
folder = sys.argv[0] + ".checkpoint"
state = {"w": torch.zeros(3), "step": 0}
if os.path.exists(folder):
    dcp.load(state, checkpoint_id=folder)
start = state["step"]
for step in range(start, 6):
    g = torch.full((3,), 0.1 * (rank + 1) * (step + 1))
    dist.all_reduce(g)
    state["w"] -= 0.1 * g
    state["step"] = step + 1
    if step % 2:
        dcp.save(state, checkpoint_id=folder)
    if step == 3 and attempt == 0 and rank == 1:
        os.kill(os.getpid(), 9)
if rank == 0:
    print("attempt", attempt, "from", start, state["w"].tolist())
"""


def test_a_restart_goes_on_from_it(tmp_path):
    code, out, err = launch(tmp_path, RESTARTED, "--nproc-per-node=2", "--max-restarts=1")
    w = torch.zeros(3)
    for step in range(6):
        w -= 0.1 * (torch.full((3,), 0.1 * (step + 1)) + torch.full((3,), 0.2 * (step + 1)))
    assert code == 0 and out == [f"[rank0]: attempt 1 from 4 {w.tolist()}"], err


def test_a_saver_killed_at_any_moment(tmp_path):
    """What can be read is the last checkpoint or the one before."""

    def run(rank, n, moment):
        import os
        import threading

        dcp.save({"x": torch.full((50_000,), 1.0), "n": 1}, checkpoint_id=tmp_path)
        if rank == 1:
            threading.Timer(moment, os._exit, (9,)).start()
        for i in range(2, 1000):
            dcp.save({"x": torch.full((50_000,), float(i)), "n": i}, checkpoint_id=tmp_path)

    for moment in (0.01, 0.033, 0.1):
        outcomes(run, 2, moment)
        state = {"x": torch.zeros(50_000), "n": 0}
        dcp.load(state, checkpoint_id=tmp_path)
        assert state["n"] >= 1 and state["x"].eq(state["n"]).all()


def test_what_has_a_state_dict_is_stateful():
    assert isinstance(torch.nn.Linear(1, 1), Stateful) and not isinstance(torch.ones(1), Stateful)
