"""One rank is killed, hangs, raises or does something else: the others say which, and end."""

import os
import signal
import time
from datetime import timedelta

import pytest
from ranks import outcomes

import tiny_torch as torch
import tiny_torch.distributed as dist
from tiny_torch.distributed.fsdp import fully_shard

LIMIT = timedelta(seconds=1)
ENOUGH = 12  # seconds in which all must have ended


def all_but(rank, what):
    """A function that does `what` at a rank, and goes on with all_reduce at the others."""

    def run(r, n):
        x = torch.ones(3)
        dist.all_reduce(x)
        if r == rank:
            what()
        for _ in range(3):
            dist.all_reduce(x)
        return x.tolist()

    return run


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def stop():
    time.sleep(60)


def fail():
    raise KeyError("of its own")


@pytest.mark.parametrize("victim", [0, 1, 3])
def test_killed(victim):
    before = time.monotonic()
    found = outcomes(all_but(victim, die), 4, seconds=ENOUGH)
    assert found[victim] == ("died", -signal.SIGKILL)
    for rank, (kind, text) in enumerate(found):
        if rank != victim:
            assert kind == "DistBackendError" and "all_reduce(SUM) float32 [3]" in text
            assert f"rank {victim} closed its connection" in text, text
    assert time.monotonic() - before < ENOUGH / 2


def test_raising():
    found = outcomes(all_but(2, fail), 3, seconds=ENOUGH)
    assert found[2][0] == "KeyError"
    for kind, text in found[:2]:
        assert kind == "DistBackendError" and "rank 2 closed its connection" in text


def test_parameters_that_could_not_be_gathered():
    """Each forward says so, and none computes without them; the parts can be saved."""

    def run(r, n):
        module = fully_shard(torch.nn.Linear(600, 2))
        if r == 1:
            with pytest.raises(dist.DistBackendError):
                dist.barrier()
        for _ in range(2):
            with pytest.raises(dist.DistBackendError):
                module(torch.ones(1, 600))
        return module.state_dict()["weight"].shape == (1, 600)

    assert outcomes(run, 2, seconds=ENOUGH) == [("ok", True)] * 2


@pytest.mark.parametrize("victim", [0, 2])
def test_hanging(victim):
    def run(r, n):
        x = torch.ones(40_000)  # by the ring
        dist.all_reduce(x)
        if r == victim:
            time.sleep(3)
        dist.all_reduce(x)

    found = outcomes(run, 4, timeout=LIMIT, seconds=ENOUGH)
    assert all(kind == "DistBackendError" for kind, _ in found)
    for rank, (_, text) in enumerate(found):
        if rank != victim:
            assert f"nothing is heard of rank {victim}" in text, text
            assert "all_reduce(SUM) float32 [40000]" in text


def other_collective(r, n):
    x = torch.ones(3)
    dist.broadcast(x, 0) if r == 1 else dist.all_reduce(x)


def other_shape(r, n):
    dist.all_reduce(torch.ones(3 if r != 2 else 4))


def other_dtype(r, n):
    dist.all_reduce(torch.ones(3, dtype=torch.float32 if r != 1 else torch.float64))


def other_op(r, n):
    dist.all_reduce(torch.ones(30_000), dist.ReduceOp.SUM if r else dist.ReduceOp.MAX)


def one_more(r, n):
    dist.barrier()
    if r != 1:
        dist.all_reduce(torch.ones(2))
    dist.barrier()


@pytest.mark.parametrize(
    "run, words",
    [
        (other_collective, ["all_reduce(SUM) float32 [3]", "broadcast(0) float32 [3]"]),
        (other_shape, ["float32 [3]", "float32 [4]", "rank 2"]),
        (other_dtype, ["float32 [3]", "float64 [3]", "rank 1"]),
        (other_op, ["all_reduce(SUM) float32 [30000]", "all_reduce(MAX) float32 [30000]"]),
        (one_more, ["all_reduce(SUM) float32 [2]", "barrier", "rank 1"]),
    ],
)
def test_another_call_than_the_rest(run, words):
    found = outcomes(run, 3, seconds=ENOUGH)
    said = " ".join(text for _, text in found)
    assert all(kind == "DistBackendError" for kind, _ in found), found
    assert all(word in said for word in words), said
    assert sum(any(w in text for w in (" is in ", "what failed first")) for _, text in found) == 3


def test_after_a_failure_nothing_goes_on():
    def run(r, n):
        if r == 1:
            return "gone"
        for _ in range(2):
            try:
                dist.all_reduce(torch.ones(2))
            except dist.DistBackendError as error:
                said = str(error)
        work_refused = "failed before" in said
        dist.destroy_process_group()
        return work_refused

    assert outcomes(run, 2, timeout=LIMIT, seconds=ENOUGH) == [("ok", True), ("ok", "gone")]


def test_async_works_raise_when_they_are_waited_for():
    def run(r, n):
        if r == 1:
            die()
        work = dist.all_reduce(torch.ones(2), async_op=True)
        future = work.get_future()
        for wait in (work.wait, future.wait):
            try:
                wait()
                return "nothing raised"
            except dist.DistBackendError as error:
                assert "rank 1 closed its connection" in str(error)
        assert not work.is_success() and work.exception() is not None
        return "raised"

    assert outcomes(run, 2, timeout=LIMIT, seconds=ENOUGH)[0] == ("ok", "raised")


def test_messages_that_never_come():
    def run(r, n):
        if r == 1:
            time.sleep(2)
            return "slept"
        dist.recv(torch.ones(2), 1)

    (kind, text), other = outcomes(run, 2, timeout=LIMIT, seconds=ENOUGH)
    assert kind == "DistBackendError" and "irecv from rank 1, tag 0, float32 [2]" in text
    assert "waited 1 s" in text and other == ("ok", "slept")


def test_messages_from_one_who_died_and_of_another_size():
    def run(r, n):
        if r == 1:
            dist.send(torch.ones(3), 0)
            die()
        said = []
        for _ in range(2):
            try:
                dist.recv(torch.ones(2), 1)
            except dist.DistBackendError as error:
                said.append(str(error))
        return said

    (_, said), _ = outcomes(run, 2, timeout=LIMIT, seconds=ENOUGH)
    assert "sent 12 bytes, 8 were expected" in said[0] and "closed its connection" in said[1]


def test_monitored_barrier_names_the_late():
    def run(r, n):
        if r in (1, 3):
            time.sleep(1.5)
        dist.monitored_barrier(timeout=timedelta(seconds=0.5), wait_all_ranks=True)

    found = outcomes(run, 4, timeout=LIMIT, seconds=ENOUGH)
    assert "[Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 500 ms" in found[0][1]


def test_a_forked_child_does_not_hold_the_connections():
    def run(r, n):
        if r == 1:
            if os.fork() == 0:
                time.sleep(2)
                os._exit(0)
            die()
        before = time.monotonic()
        with pytest.raises(dist.DistBackendError, match="rank 1 closed its connection"):
            dist.all_reduce(torch.ones(2))
        return time.monotonic() - before

    (kind, waited), _ = outcomes(run, 2, timeout=timedelta(seconds=8), seconds=ENOUGH)
    assert kind == "ok" and waited < 1.5
