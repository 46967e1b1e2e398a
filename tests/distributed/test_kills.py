"""A rank killed at a random moment of a training, and what a restart makes of the checkpoint."""

import os
import random
import signal
import threading
import time

import pytest
from ranks import outcomes, values
from test_parallel import batch, net

import tiny_torch as torch
from tiny_torch.distributed import checkpoint as dcp
from tiny_torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

RANKS, STEPS = 4, 24
SAVED_EVERY = 3  # steps


def train(rank, n, folder, victim=None, delay=0.0):
    """From the last checkpoint on, to the end; what all parameters are then, as bytes."""
    model = torch.nn.parallel.DistributedDataParallel(net(torch))
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    state = dict(zip(("model", "adam"), get_state_dict(model, adam), strict=True), step=0)
    if (folder / ".metadata").exists():
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(model, adam, model_state_dict=state["model"], optim_state_dict=state["adam"])
    torch.distributed.barrier()  # nobody saves before all have looked
    if rank == victim:
        timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    for step in range(state["step"], STEPS):
        x, y = batch(torch, step, n)
        adam.zero_grad()
        torch.nn.functional.mse_loss(model(x[rank::n]), y[rank::n]).backward()
        adam.step()
        if step % SAVED_EVERY == SAVED_EVERY - 1:
            weights, moments = get_state_dict(model, adam)
            saved = {"model": weights, "adam": moments, "step": step + 1}
            dcp.save(saved, checkpoint_id=folder)
    return b"".join(p.detach().numpy().tobytes() for p in model.parameters())


def kill(folder, draw, most, undisturbed):
    """Kills a rank at a moment before `most` seconds; whether it met the others at work."""
    victim = draw.randrange(RANKS)
    found = outcomes(train, RANKS, folder, victim, draw.random() * most)
    others = [outcome for rank, outcome in enumerate(found) if rank != victim]
    assert found[victim] in (("died", -signal.SIGKILL), ("ok", undisturbed))
    for kind, said in others:
        if kind == "ok":
            assert said == undisturbed
        else:
            assert kind == "DistBackendError", said
            assert f"rank {victim} closed its connection" in said, said
    assert values(train, RANKS, folder) == [undisturbed] * RANKS
    return any(kind != "ok" for kind, _ in others)


def kills(folder, count, seed):
    draw, begin = random.Random(seed), time.monotonic()
    undisturbed, *others = values(train, RANKS, folder / "undisturbed")
    most = time.monotonic() - begin
    assert others == [undisturbed] * (RANKS - 1)
    met = attempts = 0
    while met < count:
        attempts += 1
        met += kill(folder / str(attempts), draw, most, undisturbed)
        most *= 0.95 if met < attempts / 2 else 1.0  # most come when all is done
    return met


def test_a_restart_after_a_kill_ends_as_if_nothing_had_been(tmp_path):
    assert kills(tmp_path, 2, seed=0) == 2


@pytest.mark.slow
def test_fifty_kills_at_random_moments(tmp_path):
    """Each ends within the seconds of `outcomes`, names who was killed, and is made good."""
    assert kills(tmp_path, 50, seed=1) == 50
