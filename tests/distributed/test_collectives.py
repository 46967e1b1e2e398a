"""Collectives of tensors and objects: 1 to 4 ranks, all dtypes, next to NumPy's facts."""

import hashlib

import pytest
import random_sequences
from collective_cases import DTYPES, check_facts, run
from ranks import outcomes, values

import tiny_torch as torch
import tiny_torch.distributed as dist


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_table(n):
    found = values(lambda rank, n: run(torch, rank, n), n)
    for rank, results in enumerate(found):
        assert len({dtype for _, dtype in results}) == len(DTYPES)
        check_facts(results, rank, n)


def layouts(rank, n):
    """Transposed, strided and expanded tensors, 0-d, empty, and one that takes the ring."""
    base = torch.arange(24.0).view(4, 6) + rank
    found = []
    expanded = torch.full((2, 1), 1.0 + rank).expand(2, 3), torch.empty(0, 1).expand(0, 3)
    strided = base.clone().t(), base.clone()[:, ::2], *expanded
    for x in (*strided, torch.tensor(1.0 + rank), torch.empty(0, 3)):
        dist.all_reduce(x)
        dist.broadcast(x, n - 1)
        out = [torch.zeros(2, 3).t() for _ in range(n)]
        dist.all_gather(out, torch.full((3, 2), float(rank)))
        assert [o[0, 0].item() for o in out] == list(range(n))
        found.append(x.tolist())
    large = torch.arange(100_003, dtype=torch.float64) * (rank + 1)
    dist.all_reduce(large)
    assert large.equal(torch.arange(100_003, dtype=torch.float64) * (n * (n + 1) // 2))
    return found


@pytest.mark.parametrize("n", [2, 3])
def test_layouts(n):
    base = n * torch.arange(24.0).view(4, 6) + sum(range(n))
    total = float(sum(range(1, n + 1)))
    facts = [base.t().tolist(), base[:, ::2].tolist(), [[total] * 3] * 2, [], total, []]
    assert values(layouts, n) == [facts] * n


def marked(rank, n):
    """Writes are noticed by what saved the tensor."""
    x = torch.ones(3)
    w = torch.ones(3, requires_grad=True)
    y = (w * x).sum()
    dist.all_reduce(x)
    try:
        y.backward()
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error)


def test_a_collective_is_a_write_in_place():
    assert values(marked, 2) == [True, True]


def of_inference(rank, n):
    """Collectives of tensors made in inference mode, there and outside, in either thread."""
    found = []
    with torch.inference_mode():
        tensors = [torch.full((size,), 1.0 + rank) for size in (3, 50_000)]
        tensors.append(torch.full((2, 3), 1.0 + rank).t())
        for x in tensors:
            dist.all_reduce(x)
            dist.all_reduce(x, async_op=True).wait()
    for x in tensors:
        dist.all_reduce(x)
        work = dist.isend(x, 1) if rank == 0 else dist.irecv(x, 0)
        work.wait()
        found.append((x.sum().item() / x.numel(), x.is_inference()))
    return found


def test_tensors_of_inference_mode():
    assert values(of_inference, 2) == [[(12.0, True)] * 3] * 2


def digests(rank, n):
    generator = torch.Generator().manual_seed(rank)
    found = []
    for size in (7, 3000, 70_001):
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.randn(size, generator=generator).to(dtype)
            dist.all_reduce(x)
            found.append(hashlib.sha1(x.view(torch.uint8).numpy().tobytes()).hexdigest())
    return found


def test_the_same_bits_at_all_ranks_and_in_every_run():
    once, again = values(digests, 3), values(digests, 3)
    assert once == again and once[0] == once[1] == once[2]


def objects(rank, n):
    found = []
    things = [None] * n
    dist.all_gather_object(things, {"rank": rank, "text": "x" * rank * 100})
    found.append([(t["rank"], len(t["text"])) for t in things])
    things = [("from", 1), [1, 2]] if rank == 1 else [None, None]
    dist.broadcast_object_list(things, 1)
    found.append(things)
    things = [None] * n if rank == 0 else None
    dist.gather_object(rank, things)
    found.append(things)
    own = [None]
    dist.scatter_object_list(own, [f"for {r}" * r for r in range(n)] if rank == 0 else None, 0)
    found.append(own)
    if rank == 0:
        dist.send_object_list([torch.ones(2), "b"], 1)
    if rank == 1:
        things = [None, None]
        assert dist.recv_object_list(things) == 0
        found.append([things[0].tolist(), things[1]])
    return found


def test_objects():
    everything = [[(r, 100 * r) for r in range(3)], [("from", 1), [1, 2]]]
    assert values(objects, 3) == [
        [*everything, [0, 1, 2], [""]],
        [*everything, None, ["for 1"], [[1.0, 1.0], "b"]],
        [*everything, None, ["for 2for 2"]],
    ]


def works(rank, n):
    x, y = torch.ones(3), torch.ones(50_000) * rank
    first, second = dist.all_reduce(x, async_op=True), dist.all_reduce(y, async_op=True)
    z = torch.ones(2)
    dist.all_reduce(z)  # behind the two
    assert second.wait() and first.is_completed() and first.is_success()
    assert first.exception() is None and first.result()[0] is x
    doubled = dist.all_reduce(x, async_op=True).get_future().then(lambda f: f.value()[0] * 2)
    return doubled.wait().tolist(), y[0].item(), z.tolist(), dist.barrier(async_op=True).wait()


def test_async_work_runs_in_order():
    assert values(works, 3) == [([18.0] * 3, 3.0, [3.0] * 2, True)] * 3


def groups(rank, n):
    even = dist.new_group([2, 0])
    odd = dist.new_group([1, 3])
    own = even if rank % 2 == 0 else odd
    other = odd if rank % 2 == 0 else even
    x = torch.tensor([float(rank)])
    dist.all_reduce(x, group=own)
    dist.broadcast(x, group_src=1, group=own)
    assert dist.get_process_group_ranks(own) == [rank % 2, rank % 2 + 2]
    assert dist.get_rank(other) == dist.get_world_size(other) == -1
    assert other == dist.GroupMember.NON_GROUP_MEMBER
    assert dist.get_group_rank(own, rank) == rank // 2 == dist.get_rank(own)
    assert dist.get_global_rank(own, 1) == rank % 2 + 2
    mine, all_of_them = dist.new_subgroups(2)
    y = torch.tensor([float(rank)])
    dist.all_reduce(y, group=mine)
    dist.destroy_process_group(mine)
    assert len(all_of_them) == 2 and dist.get_backend(own) == "gloo"
    return x.item(), y.item()


def test_groups():
    assert values(groups, 4) == [(2.0, 1.0), (4.0, 1.0), (2.0, 5.0), (4.0, 5.0)]


def from_anyone(rank, n):
    if rank:
        dist.send(torch.tensor([rank]), 0)
        return None
    found = set()
    for _ in range(n - 1):
        x = torch.zeros(1, dtype=torch.int64)
        source = dist.recv(x)
        found.add((source, x.item()))
    return found


def test_receive_from_anyone():
    assert values(from_anyone, 3) == [{(1, 1), (2, 2)}, None, None]


# What raises before anything is sent: at all ranks alike, so the group goes on.
REFUSED = {
    "dist.all_reduce(3)": (TypeError, "Expected parameter `tensor` of type torch.Tensor"),
    "dist.all_reduce(torch.ones(2), 'sum')": (TypeError, "ReduceOp"),
    "dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND)": (RuntimeError, "non-integral dtype"),
    "dist.all_reduce(torch.ones(2).int(), dist.ReduceOp.AVG)": (
        RuntimeError, "result type Float can't be cast to the desired output type Int",
    ),
    "dist.broadcast(torch.ones(2))": (ValueError, "Must specify global_rank or group_rank"),
    "dist.broadcast(torch.ones(2), 5)": (RuntimeError, "broadcast: invalid root rank: 5"),
    "dist.broadcast(torch.ones(2), 0, group_src=0)": (ValueError, "Can't specify both"),
    "dist.reduce(torch.ones(2), -1)": (RuntimeError, "reduce: invalid root rank: -1"),
    "dist.all_gather([torch.ones(2)], torch.ones(2))": (RuntimeError, "(expected length 2, got 1)"),
    "dist.all_gather([torch.ones(2)] * 2, torch.ones(3))": (
        RuntimeError, "allgather: invalid tensor size at index 0 (expected (3), got (2))",
    ),
    "dist.all_gather([torch.ones(2).int()] * 2, torch.ones(2))": (
        ValueError, "Invalid usage of tensors with different dtypes",
    ),
    "dist.all_gather_into_tensor(torch.ones(5), torch.ones(3))": (
        RuntimeError, "invalid tensor size at index 1 (expected (3), got (2))",
    ),
    "dist.reduce_scatter(torch.ones(2), [torch.ones(2)])": (RuntimeError, "must be world size"),
    "dist.reduce_scatter_tensor(torch.ones(2), torch.ones(5))": (RuntimeError, "(4 vs. 5)"),
    "dist.all_to_all([torch.ones(1)], [torch.ones(1)] * 2)": (
        RuntimeError, "output tensor list size 1 does not match world size 2",
    ),
    "dist.all_to_all_single(torch.ones(4), torch.ones(4), [1, 2], [2, 2])": (
        RuntimeError, "Split sizes doesn't match total dim 0 size",
    ),
    "dist.all_to_all_single(torch.ones(3), torch.ones(3))": (RuntimeError, "divide equally"),
    "dist.all_reduce(torch.eye(2).to_sparse())": (NotImplementedError, "sparse tensors"),
    "dist.ReduceOp('sum')": (TypeError, "'sum' is none"),
    "dist.send(torch.ones(2), dist.get_rank())": (ValueError, "Invalid destination rank"),
    "dist.batch_isend_irecv([3])": (ValueError, "torch.distributed.P2POp"),
    "dist.P2POp(print, torch.ones(2), 1)": (ValueError, "Invalid ``op``"),
    "dist.new_group([0, 5])": (ValueError, "Rank 5 is out of range"),
    "dist.new_group([0, 0])": (ValueError, "duplicate"),
    "dist.new_group(backend='nccl')": (RuntimeError, "doesn't have NCCL built in"),
    "dist.new_subgroups(3)": (ValueError, "must not exceed the world size (2)"),
    "dist.scatter_object_list([], [1])": (ValueError, "a list of size at least 1"),
    "dist.init_process_group('gloo')": (ValueError, "twice"),
}  # fmt: skip


def refuse(rank, n):
    found = {}
    for text in REFUSED:
        try:
            found[text] = repr(eval(text))
        except Exception as error:
            found[text] = (type(error), str(error))
    x = torch.ones(1)
    dist.all_reduce(x)
    return found, x.item()


def test_mistakes_are_refused_before_anything_is_sent():
    for found, after in values(refuse, 2):
        assert after == 2.0
        for text, (kind, part) in REFUSED.items():
            assert found[text][0] is kind and part in found[text][1], (text, found[text])


def test_ops_are_shown_as_pytorchs():
    assert f"{dist.ReduceOp.SUM} {dist.ReduceOp.AVG!r}" == "RedOpType.SUM <RedOpType.AVG: 1>"


def test_a_number_of_ranks_that_never_come():
    def alone(rank, n):
        from datetime import timedelta

        url = "tcp://127.0.0.1:0"
        dist.init_process_group("gloo", url, rank=0, world_size=2, timeout=timedelta(seconds=0.5))

    ((kind, text),) = outcomes(alone, 1, timeout=None)
    assert kind == "DistStoreError" and "1/2 clients joined" in text


def sequence(seed, count, **limits):
    """Four ranks, random groups: each has what NumPy says."""
    found = values(lambda rank, n: random_sequences.run(torch, rank, n, seed, count), 4, **limits)
    assert found == random_sequences.model(4, seed, count)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_sequences_among_random_groups(seed):
    sequence(seed, 150)


@pytest.mark.slow
def test_a_long_random_sequence():
    sequence(4, 5000, seconds=600)
