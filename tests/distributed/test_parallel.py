"""DistributedDataParallel, SyncBatchNorm, DistributedSampler: n ranks do what one process would."""

import copy
import hashlib
import importlib
import itertools
import pickle

import oracles
import pytest
from ranks import outcomes, values

import tiny_torch as torch
from tiny_torch.distributed.host import HostBackend


def net(lib, seed=0):
    lib.manual_seed(seed)
    nn = lib.nn
    return nn.Sequential(
        nn.Linear(6, 20), nn.Tanh(), nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 3)
    )


def batch(lib, step, n=2):
    generator = lib.Generator().manual_seed(100 + step)
    x = lib.randn(6 * n, 6, generator=generator)
    return x, x.sum(1, keepdim=True).expand(-1, 3) * 0.1


def train(lib, model, parts, steps=4, optimizer=None):
    """Losses, and the parameters after some steps of SGD; `parts` cuts this rank's rows out."""
    optimizer = optimizer or lib.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(steps):
        x, y = (parts(t) for t in batch(lib, step))
        optimizer.zero_grad()
        loss = lib.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach().flatten().tolist() for p in model.parameters()]


def in_parts(lib, rank, n, **options):
    model = lib.nn.parallel.DistributedDataParallel(net(lib, seed=rank), **options)
    return train(lib, model, lambda t: t[rank::n])


def close(a, b, rtol=1e-5):
    return all(
        torch.allclose(torch.tensor(x), torch.tensor(y), rtol=rtol, atol=1e-6)
        for x, y in zip(a, b, strict=True)
    )


OPTIONS = [
    {},
    {"bucket_cap_mb": 0},  # a bucket for each parameter
    {"gradient_as_bucket_view": True},
    {"find_unused_parameters": True},
    {"static_graph": True},
]


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_two_ranks_are_one_process_with_twice_the_batch(monkeypatch, options, beside):
    monkeypatch.setattr(HostBackend, "runs_beside", beside)  # buckets go early, or at the end
    found = values(lambda rank, n: in_parts(torch, rank, n, **options), 2)
    losses, parameters = train(torch, net(torch), lambda t: t)
    assert found[0][1] == found[1][1] and close(found[0][1], parameters)
    means = [(a + b) / 2 for a, b in zip(found[0][0], found[1][0], strict=True)]
    assert close([means], [losses])


def test_a_core_that_becomes_free_during_backward(monkeypatch):
    """Whether buckets are sent early is asked once for each backward: else some would not be."""
    answers = itertools.cycle([False, True])
    monkeypatch.setattr(HostBackend, "runs_beside", property(lambda self: next(answers)))
    found = values(lambda rank, n: in_parts(torch, rank, n, bucket_cap_mb=0.0005), 2)
    _, parameters = train(torch, net(torch), lambda t: t)
    assert found[0][1] == found[1][1] and close(found[0][1], parameters)


def test_the_same_bits_twice():
    def digest(rank, n):
        _, parameters = in_parts(torch, rank, n)
        return hashlib.sha1(repr(parameters).encode()).hexdigest()

    once, again = values(digest, 3), values(digest, 3)
    assert once == again and len(set(once)) == 1


def theirs(lib, rank, n, folder):
    return in_parts(lib, rank, n)


@pytest.mark.torch
def test_next_to_pytorchs():
    ours = values(lambda rank, n: theirs(torch, rank, n, None), 2)
    for our, their in zip(ours, oracles.theirs("test_parallel:theirs"), strict=True):
        assert close([our[0]], [their[0]]) and close(our[1], their[1])


def test_no_sync_accumulates():
    def run(rank, n):
        model = torch.nn.parallel.DistributedDataParallel(net(torch))
        grads = []
        for step in range(2):
            x, y = batch(torch, step)
            with model.no_sync() if step == 0 else torch.enable_grad():
                torch.nn.functional.mse_loss(model(x[rank::n]), y[rank::n]).backward()
            grads.append(model.module[0].weight.grad.tolist())
        return grads

    first, second = values(run, 2)
    assert first[0] != second[0] and first[1] == second[1]
    model = net(torch)
    for step in range(2):
        x, y = batch(torch, step)
        torch.nn.functional.mse_loss(model(x), y).backward()
    assert close(first[1], model[0].weight.grad.tolist())


class Branches(torch.nn.Module):
    """Rank r uses branch r only, and nobody the third; all use the last."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.branches = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(3))
        self.last = torch.nn.Linear(3, 1)

    def forward(self, x, which):
        return {"out": [self.last(self.branches[which](x))]}


def branches(rank, n, find):
    parallel = torch.nn.parallel.DistributedDataParallel
    model = parallel(Branches(), find_unused_parameters=find)
    for _ in range(2):
        model.zero_grad()
        model(torch.ones(2, 3), rank)["out"][0].sum().backward()
    return [None if b.weight.grad is None else b.weight.grad.sum().item() for b in
            model.module.branches]  # fmt: skip


def test_unused_parameters():
    first, second = values(branches, 2, True)
    assert first == second and first[2] is None and None not in first[:2]
    found = outcomes(branches, 2, False)
    assert all(kind == "RuntimeError" for kind, _ in found)
    assert "did not receive grad for rank 0: branches.1.weight, branches.1.bias" in found[0][1]


def hooked(rank, n, name):
    hooks = torch.distributed.algorithms.ddp_comm_hooks.default_hooks
    model = torch.nn.parallel.DistributedDataParallel(net(torch))
    seen = []

    def own(state, bucket: torch.distributed.GradBucket):
        seen.append((bucket.index(), bucket.is_last(), len(bucket.gradients())))
        assert bucket.parameters()[0] is model.module[4].bias
        return hooks.allreduce_hook(state, bucket)

    model.register_comm_hook(None, own if name == "own" else getattr(hooks, name))
    with pytest.raises(RuntimeError, match="only be called once"):
        model.register_comm_hook(None, own)
    return *train(torch, model, lambda t: t[rank::n]), seen


@pytest.mark.parametrize("name, rtol", [
    ("own", 1e-5), ("allreduce_hook", 1e-5), ("fp16_compress_hook", 0.02),
    ("bf16_compress_hook", 0.1),
])  # fmt: skip
def test_communication_hooks(name, rtol):
    found = values(hooked, 2, name)
    losses, _ = train(torch, net(torch), lambda t: t)
    means = [(a + b) / 2 for a, b in zip(found[0][0], found[1][0], strict=True)]
    assert found[0][1] == found[1][1] and close([means], [losses], rtol)
    assert found[0][2] == ([(0, True, 6)] * 4 if name == "own" else [])


def test_models_that_differ_and_models_without_gradients():
    def other(rank, n):
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2 + rank, 1))

    found = outcomes(other, 2)
    assert all(kind == "RuntimeError" for kind, _ in found)
    assert "parameter weight of rank 0 is torch.float32 (1, 2)" in found[1][1]

    def frozen(rank, n):
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1).requires_grad_(False))

    assert "any parameters that require a gradient" in outcomes(frozen, 1)[0][1]

    def sparse(rank, n):
        net = torch.nn.Sequential(torch.nn.Embedding(5, 1, sparse=True))
        torch.nn.parallel.DistributedDataParallel(net)

    kind, text = outcomes(sparse, 1)[0]
    assert kind == "NotImplementedError" and "gradients of 0 are sparse" in text


def test_buffers_begin_as_those_of_rank_0_and_stay_so():
    def run(rank, n):
        module = torch.nn.BatchNorm1d(3)
        module.running_mean.fill_(float(rank))
        model = torch.nn.parallel.DistributedDataParallel(module)
        start = module.running_mean.tolist()
        for _ in range(2):
            model(torch.ones(4, 3) * (rank + 1)).sum().backward()
        return start, list(model.state_dict())[:2], module.running_mean.tolist()

    first, second = values(run, 2)
    assert first[0] == second[0] == [0.0] * 3 and first[1] == ["module.weight", "module.bias"]
    assert first[2] != second[2]  # each has moved them since the last forward


# ----------------------------------------------------------------------------------- SyncBatchNorm


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("shape", [(6, 3), (6, 3, 4), (6, 3, 2, 2)])
def test_synced_batch_norm_is_that_of_the_whole_batch(shape, momentum):
    torch.manual_seed(1)
    whole = torch.randn(shape)
    weight, bias = torch.rand(3) + 0.5, torch.rand(3)
    passed = torch.randn(shape)

    def layer(kind):
        made = kind(3, momentum=momentum)
        with torch.no_grad():
            made.weight.copy_(weight), made.bias.copy_(bias)
        return made

    def run(rank, n):
        norm = layer(torch.nn.SyncBatchNorm)
        rows = slice(0, 4) if rank == 0 else slice(4, 6)  # uneven
        x = whole[rows].clone().requires_grad_()
        y = norm(x)
        y.backward(passed[rows])
        grads = torch.stack([norm.weight.grad, norm.bias.grad])
        torch.distributed.all_reduce(grads)
        return (y.flatten().tolist(), x.grad.flatten().tolist(), grads.flatten().tolist(),
                norm.running_mean.tolist(), norm.running_var.tolist())  # fmt: skip

    kinds = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d}
    norm = layer(kinds[len(shape)])
    x = whole.clone().requires_grad_()
    y = norm(x)
    y.backward(passed)
    first, second = values(run, 2)
    for i, fact in enumerate((y, x.grad)):
        assert close([first[i] + second[i]], [fact.flatten().tolist()], 1e-4)
    assert close([first[2]], [torch.stack([norm.weight.grad, norm.bias.grad]).flatten().tolist()])
    assert close(first[3:], [norm.running_mean.tolist(), norm.running_var.tolist()])
    assert first[3:] == second[3:]


def test_the_first_parameter_that_differs_is_named():
    """A rank whose third and fourth parameters go astray after the second step."""

    def run(rank, n, level):
        torch.distributed.set_debug_level(torch.distributed.DebugLevel[level])
        model = torch.nn.parallel.DistributedDataParallel(net(torch))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            x, y = batch(torch, step, n)
            torch.nn.functional.mse_loss(model(x[rank::n]), y[rank::n]).backward()
            optimizer.step()
            if step == 1 and rank == 1:
                with torch.no_grad():
                    model.module[2].weight[3, 4] *= 1.00001
                    model.module[2].bias[0] = float("nan")

    assert outcomes(run, 3, "OFF") == [("ok", None)] * 3
    text = (
        "DistributedDataParallel, before forward 3: parameter 2.weight is not alike at all ranks: "
        "one value at [0, 2], others at [1]. It is the first of 2 that differ, of 6."
    )
    for kind, said in outcomes(run, 3, "DETAIL"):
        assert kind == "RuntimeError" and said.startswith(text), said


def test_samplers_know_their_rank():
    def run(rank, n):
        sampler = torch.utils.data.DistributedSampler(range(7), shuffle=False)
        return list(sampler)

    assert values(run, 3) == [[0, 3, 6], [1, 4, 0], [2, 5, 1]]


def flowing(lib, rank, n, folder):
    functional = importlib.import_module(f"{lib.__name__}.distributed.nn.functional")
    found, into = [], lib.zeros(2)
    for call in (
        functional.all_reduce,
        functional.all_gather,
        lambda x: functional.broadcast(x, 1),
        lambda x: functional.reduce(x, 1) * rank,  # what the others have is not said
        lambda x: functional.gather(x, 1),
        lambda x: functional.scatter([x, 2 * x], 1),
        lambda x: functional.reduce_scatter(into[:1], [x[:1], x[1:].clone()]),
        lambda x: functional.all_to_all([into[:1], into[1:]], [x[:1], 3 * x[1:]]),
        lambda x: functional.all_to_all_single(into, x),
        lambda x: functional.all_to_all_single(
            lib.zeros(1 + 2 * rank), x, [2 * rank, 1], [rank, 2 - rank]
        ),
    ):
        x = lib.tensor([1.0 + rank, 2.0], requires_grad=True)
        y = call(x)
        y = lib.stack(list(y)) if isinstance(y, tuple) else y
        (y * (rank + 1) * lib.arange(1.0, 1.0 + y.numel()).view(y.shape)).sum().backward()
        found.append((y.tolist(), x.grad.tolist()))
    return found


def test_gradients_flow_through_collectives():
    first, second = values(lambda rank, n: flowing(torch, rank, n, None), 2)
    assert first[0] == second[0] == ([3.0, 4.0], [3.0, 6.0])
    assert first[1] == ([[1.0, 2.0], [2.0, 2.0]], [3.0, 6.0]) and second[1][1] == [9.0, 12.0]
    assert first[2] == ([2.0, 2.0], [0.0, 0.0]) and second[2] == ([2.0, 2.0], [3.0, 6.0])
    assert second[6] == ([4.0], [1.0, 2.0]) and second[7] == ([[6.0], [6.0]], [2.0, 12.0])
    assert second[9] == ([1.0, 2.0, 2.0], [1.0, 6.0])


@pytest.mark.torch
def test_gradients_of_collectives_are_pytorchs():
    ours = values(lambda rank, n: flowing(torch, rank, n, None), 2)
    assert ours == oracles.theirs("test_parallel:flowing")


def test_buffers_of_several_dtypes_travel_together():
    """Those of rank 0, each time: small ones in one row, a large one by itself."""

    def run(rank, n):
        model = torch.nn.BatchNorm1d(3)
        model.register_buffer("flags", torch.tensor([rank == 0, True, False]))
        model.register_buffer("none", torch.empty(0, 4, dtype=torch.float64))
        model.register_buffer("halves", torch.full((5,), float(rank), dtype=torch.bfloat16))
        model.register_buffer("turned", torch.full((2, 3), float(rank)).t())
        model.register_buffer("large", torch.full((20_000,), rank))
        ddp = torch.nn.parallel.DistributedDataParallel(model)
        for _ in range(2):
            with torch.no_grad():
                model.halves += rank
                model.large += rank
            ddp(torch.full((4, 3), float(rank))).sum().backward()
        return [b.tolist() for b in (model.num_batches_tracked, *model.buffers())][3:]

    first, *others = values(run, 3)
    assert all(other == first for other in others)
    assert first[1:4] == [[True, True, False], [], [0.0] * 5]
    assert first[5] == [0] * 20_000


@pytest.mark.parametrize("way", [copy.deepcopy, lambda ddp: pickle.loads(pickle.dumps(ddp))])
def test_a_copy_trains_by_itself(way):
    def run(rank, n):
        ddp = torch.nn.parallel.DistributedDataParallel(net(torch), bucket_cap_mb=3)
        before = train(torch, ddp, lambda t: t[rank::n])[1]
        other = way(ddp)
        found = train(torch, other, lambda t: t[rank::n])[1]
        assert [p.flatten().tolist() for p in ddp.parameters()] == before
        return found, train(torch, ddp, lambda t: t[rank::n])[1]

    for found, expected in values(run, 2):
        assert found == expected


def test_only_a_copy_in_the_default_group():
    def run(rank, n):
        group = torch.distributed.new_group([0, 1])
        copy.deepcopy(torch.nn.parallel.DistributedDataParallel(net(torch), process_group=group))

    for kind, text in outcomes(run, 2):
        assert kind == "RuntimeError"
        assert text.startswith("DDP Pickling/Unpickling are only supported")
