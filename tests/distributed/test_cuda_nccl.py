"""The backend nccl on the emulated GPU, with nccl_stub.py in nccl4py's place: gloo's results."""

import time
from datetime import timedelta

import nccl_stub
import numpy as np
import pytest
import ranks
from collective_cases import CASES, DTYPES, check_facts, fits, run

import tiny_torch as torch
import tiny_torch.distributed as dist
from tiny_torch import nn
from tiny_torch.distributed.fsdp import fully_shard
from tiny_torch.distributed.nccl import StreamFuture


@pytest.fixture(scope="module", autouse=True)
def stub():
    nccl_stub.install()


def values(function, n, *args, backend="nccl", **options):
    return ranks.values(function, n, *args, backend=backend, **options)


def has(name, dtype):
    """NCCL moves all dtypes. It does not combine int16, nor by bits."""
    reduces = any(word in name for word in ("reduce", "SUM", "AVG"))
    return fits(name, dtype) and "_B" not in name.replace(" ", "_") and not (
        reduces and dtype == "int16"
    )  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_table(n):
    found = values(lambda rank, n: run(torch, rank, n, DTYPES, "cuda", has), n)
    for rank, results in enumerate(found):
        assert len({dtype for _, dtype in results}) == len(DTYPES)
        assert {name.split()[0] for name, _ in results} == {name.split()[0] for name in CASES}
        check_facts(results, rank, n)


def waits(rank, n):
    """What is on its way when a collective begins is waited for, and so is the collective."""
    side, x = torch.cuda.Stream(), torch.zeros(1000, device="cuda")
    with torch.cuda.stream(side):
        x += rank + 1
        work = dist.all_reduce(x, async_op=True)
        early = x.clone()
        assert not work.is_completed() and isinstance(work.get_future(), StreamFuture)
        assert work.wait()
        late = x * 2
    side.synchronize()
    return early[0].item(), late[0].item(), work.is_success(), work.result()[0] is x


def test_wait_lets_the_current_stream_wait():
    assert values(waits, 2) == [(1.0, 6.0, True, True), (2.0, 6.0, True, True)]


def futures(rank, n):
    x = torch.ones(3, device="cuda")
    doubled = dist.all_reduce(x, async_op=True).get_future().then(lambda f: f.value()[0] * 2)
    wrong = dist.all_reduce(x, async_op=True).get_future().then(lambda f: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        wrong.wait()
    with pytest.raises(dist.DistBackendError, match=r"all_reduce.*waited 0 s"):
        dist.all_reduce(x, async_op=True).wait(timedelta(seconds=0))
    return doubled.wait().tolist()


def test_futures():
    assert values(futures, 2) == [[4.0] * 3] * 2


def factors(rank, n):
    found = []
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = torch.ones(3, device="cuda", dtype=dtype)
        dist.all_reduce(x, dist._make_nccl_premul_sum(rank + 0.5))
        found.append(x.tolist())
    whole = torch.tensor([7, 8], device="cuda")
    dist.all_reduce(whole, dist.ReduceOp.AVG)
    return found, whole.tolist()


def test_sums_by_factors_and_averages_of_integers():
    assert values(factors, 2) == [([[2.0] * 3] * 4, [7, 8])] * 2


REFUSED = {
    "all_reduce(torch.ones(2))": (
        RuntimeError, "No backend type associated with device type cpu",
    ),
    "all_reduce(gpu, dist.ReduceOp.BOR)": (ValueError, "Cannot use ReduceOp.BOR with NCCL"),
    "all_reduce(gpu.short())": (
        TypeError, "Input tensor data type is not supported for NCCL process group: Short",
    ),
    "all_reduce(gpu.bool(), dist.ReduceOp.AVG)": (
        TypeError, "Cannot use ReduceOp.AVG with Boolean inputs",
    ),
    "all_reduce(gpu.int(), dist._make_nccl_premul_sum(2.0))": (
        ValueError, "PreMulSum Data type must be half, float, bfloat16 or double",
    ),
    "all_reduce(gpu, dist.ReduceOp.PREMUL_SUM)": (ValueError, "Cannot use ReduceOp.PREMUL_SUM"),
    "recv(gpu)": (RuntimeError, "Backend nccl does not support recvAnysource"),
    "monitored_barrier()": (ValueError, "only implemented for GLOO backend"),
}  # fmt: skip


def refused(rank, n):
    scope = {"torch": torch, "dist": dist, "gpu": torch.ones(2, device="cuda")}
    for call, (kind, message) in REFUSED.items():
        try:
            eval(f"dist.{call}", scope)
        except Exception as error:
            assert type(error) is kind and message in str(error), (call, error)
        else:
            raise AssertionError(f"{call} passed")
    dist.all_reduce(scope["gpu"])
    return scope["gpu"].tolist()


def test_what_nccl_lacks():
    assert values(refused, 2) == [[2.0, 2.0]] * 2


def both(rank, n):
    here, there = torch.full((2,), float(rank)), torch.full((2,), float(rank), device="cuda")
    dist.all_reduce(here)
    dist.all_reduce(there)
    dist.monitored_barrier()
    own = dist.new_group([2, 0], backend="nccl")
    if rank != 1:
        dist.all_reduce(there, group=own)
        dist.barrier(own)
    things = [None] * n
    dist.all_gather_object(things, rank)
    return here.tolist(), there.tolist(), things


def test_gloo_for_the_cpu_and_nccl_for_the_gpu():
    assert values(both, 3, backend="cpu:gloo,cuda:nccl") == [
        ([3.0] * 2, [6.0 if rank != 1 else 3.0] * 2, [0, 1, 2]) for rank in range(3)
    ]


def objects(rank, n):
    things, own = [None] * n, [None]
    dist.all_gather_object(things, {"rank": rank})
    dist.scatter_object_list(own, [f"for {r}" for r in range(n)] if rank == 0 else None, 0)
    parts = ["a", 1] if rank == 1 else [None, None]
    dist.broadcast_object_list(parts, 1)
    if rank == 0:
        dist.send_object_list([[1, 2]], 1)
    else:
        assert dist.recv_object_list(received := [None], 0) == 0 and received == [[1, 2]]
    return things, own, parts


def test_objects_travel_on_the_gpu():
    things = [{"rank": 0}, {"rank": 1}]
    assert values(objects, 2) == [(things, [f"for {r}"], ["a", 1]) for r in range(2)]


# ------------------------------------------------------------------------------------- training


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 4), nn.Tanh(), nn.Linear(4, 1))


def batch():
    torch.manual_seed(1)
    return torch.randn(8, 5).cuda(), torch.randn(8, 1).cuda()


def train(model, x, y):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def weights(model):
    return [p.detach().cpu().numpy() for p in model.parameters()]


def by_ddp(rank, n, hook, options):
    model = nn.parallel.DistributedDataParallel(net().cuda(), **options)
    if hook:
        name = f"{hook}_hook"
        hooks = torch.distributed.algorithms.ddp_comm_hooks.default_hooks
        model.register_comm_hook(None, getattr(hooks, name))
    x, y = batch()
    train(model, x[rank::n], y[rank::n])
    return weights(model)


def by_fsdp(rank, n):
    model = net().cuda()
    for layer in (model[0], model[2]):
        fully_shard(layer)
    fully_shard(model)
    x, y = batch()
    train(model, x[rank::n], y[rank::n])
    for module in (model, model[0], model[2]):
        module.unshard()
    return weights(model)


def alone(rank, n):
    model = net().cuda()
    train(model, *batch())
    return weights(model)


@pytest.fixture(scope="module")
def whole():
    return values(alone, 1)[0]


TRAININGS = {
    "DDP": (by_ddp, None, {}),
    "small buckets": (by_ddp, None, {"bucket_cap_mb": 1e-4, "gradient_as_bucket_view": True}),
    "unused": (by_ddp, None, {"find_unused_parameters": True}),
    "bf16": (by_ddp, "bf16_compress", {}),
    "all-reduce by a hook": (by_ddp, "allreduce", {}),
    "FSDP": (by_fsdp,),
}


@pytest.mark.parametrize("kind", TRAININGS)
def test_two_ranks_train_as_one(kind, whole):
    function, *args = TRAININGS[kind]
    tolerance = 3e-2 if kind == "bf16" else 1e-5
    for found in values(function, 2, *args):
        for ours, theirs in zip(found, whole, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def by_zero(rank, n):
    from tiny_torch.distributed.optim import ZeroRedundancyOptimizer

    model = nn.parallel.DistributedDataParallel(net().cuda())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.05)
    x, y = batch()
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x[rank::n]), y[rank::n]).backward()
        optimizer.step()
    return weights(model)


def by_stages(rank, n, schedule):
    from tiny_torch.distributed import pipelining

    model, (x, y) = net().cuda(), batch()
    parts = [model[:1], model[1:2], model[2:3], model[3:]]
    if schedule == "ScheduleInterleaved1F1B":
        chosen = [pipelining.PipelineStage(parts[i].cuda(), i, 4, "cuda") for i in (rank, rank + 2)]
        made = pipelining.ScheduleInterleaved1F1B(chosen, 4, loss_fn=nn.functional.mse_loss)
    else:
        half = nn.Sequential(*parts[2 * rank], *parts[2 * rank + 1])
        stage = pipelining.PipelineStage(half, rank, 2, "cuda")
        made = getattr(pipelining, schedule)(stage, 4, loss_fn=nn.functional.mse_loss)
    made.step(*((x,) if rank == 0 else ()), **({"target": y} if rank == n - 1 else {}))
    return [None if p.grad is None else p.grad.cpu().numpy() for p in model.parameters()]


def test_the_sharded_optimizer_trains_as_one(whole):
    for found in values(by_zero, 2):
        for ours, theirs in zip(found, whole, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def gradients(rank, n):
    model, (x, y) = net().cuda(), batch()
    nn.functional.mse_loss(model(x), y).backward()
    return [p.grad.cpu().numpy() for p in model.parameters()]


@pytest.mark.parametrize("schedule", ["ScheduleGPipe", "Schedule1F1B", "ScheduleInterleaved1F1B"])
def test_pipelines(schedule):
    first, last = values(by_stages, 2, schedule)
    for ours, theirs, fact in zip(first, last, values(gradients, 1)[0], strict=True):
        assert (ours is None) != (theirs is None)
        np.testing.assert_allclose(theirs if ours is None else ours, fact, rtol=1e-5, atol=1e-6)


# --------------------------------------------------------------------------------------- faults


def fails(rank, n, what):
    x = torch.ones(4, device="cuda")
    dist.all_reduce(x)
    dist.barrier()
    start = time.monotonic()
    if rank == 1 and what == "dies":
        return None
    try:
        if rank == 1:
            dist.broadcast(x, 0)
        else:
            dist.all_reduce(x)
        dist.barrier()
    except dist.DistBackendError as error:
        assert time.monotonic() - start < 15
        return str(error)


@pytest.mark.parametrize("what", ["dies", "calls another"])
def test_the_others_end_within_the_timeout(what):
    found = ranks.outcomes(fails, 3, what, timeout=timedelta(seconds=2), backend="nccl")
    if what == "dies":
        said = [found[0][1], found[2][1]]
        assert all("all_reduce(SUM) float32 [4]" in text for text in said)
        assert any("nothing is heard of rank 1" in text for text in said)
    else:
        said = [text for _, text in found]
        for words in ("rank 1", "broadcast(0) float32 [4]", "all_reduce(SUM) float32 [4]"):
            assert all(words in text for text in said), said
    assert all("not done in 2 s" in text for text in said)


def compared(rank, n):
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    x = torch.ones(4, device="cuda")
    for _ in range(3):
        dist.all_reduce(x)
    try:
        dist.all_reduce(x[: 4 - rank])
    except dist.DistBackendError as error:
        return str(error)


def test_detail_compares_what_ranks_call():
    said = values(compared, 2)
    assert "rank 1 is in all_reduce(SUM) float32 [3]" in said[0]
    assert "rank 0 is in all_reduce(SUM) float32 [4]" in said[1]


def test_without_a_gpu_or_nccl4py(monkeypatch):
    assert dist.is_nccl_available() and dist.is_backend_available("cpu:gloo,cuda:nccl")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    store = dist.HashStore()
    with pytest.raises(ValueError, match="only supported with GPUs, no GPUs found"):
        dist.init_process_group("nccl", store=store, rank=0, world_size=1)
    with pytest.raises(ValueError, match="custom backend string argument is invalid: cpu:,cuda:"):
        dist.init_process_group("cpu:,cuda:", store=store, rank=0, world_size=1)
