"""The simulator next to real processes: messages, bytes and memory; and its arithmetic."""

import math
from collections import Counter

import pytest
from ranks import values

import tiny_torch as torch
from tiny_torch.distributed.fsdp import fully_shard
from tiny_torch.distributed.links import Links
from tiny_torch.distributed.pipelining import PipelineStage, Schedule1F1B
from tiny_torch.distributed.post import Post
from tiny_torch.distributed.simulate import STRATEGIES, Layer, Link, Step, Weather, record_step
from tiny_torch.distributed.simulate.__main__ import main
from tiny_torch.distributed.simulate.page import simulate
from tiny_torch.distributed.simulate.strategies import buckets_of
from tiny_torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from tiny_torch.nn.parallel import reducer
from tiny_torch.utils import memory

WIDTH, DEPTH, BATCH = 128, 8, 64


def deep():
    torch.manual_seed(0)
    return torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(DEPTH)))


def loss_of(net):
    return net(torch.ones(BATCH, WIDTH)).square().mean()


def recorded():
    net = deep()
    return record_step(net, torch.optim.Adam(net.parameters()), loss_of, repeats=1)


def counted():
    """Messages and bytes that this rank sends, from now on."""
    found, exchange, send = Counter(), Links.exchange, Post.send

    def see(view):
        found.update(messages=1, sent=len(view))

    def exchange_seen(links, sends, receives, call):
        sends = list(sends)
        for _, view in sends:
            see(view)
        exchange(links, sends, receives, call)

    def send_seen(post, peer, tag, view, work):
        see(view)
        send(post, peer, tag, view, work)

    Links.exchange, Post.send = exchange_seen, send_seen
    return found


def ring(rank, n):
    net = torch.nn.parallel.DistributedDataParallel(deep())
    return lambda: loss_of(net).backward()


def tree(rank, n):
    gradients = torch.ones(sum(p.numel() for p in deep().parameters()))

    def step():
        torch.distributed.reduce(gradients, 0)
        torch.distributed.broadcast(gradients, 0)

    return step


def sharded(rank, n):
    net = deep()
    for layer in net:
        fully_shard(layer)
    fully_shard(net)
    return lambda: loss_of(net).backward()


def pipeline(rank, n):
    size = DEPTH // n
    part = deep()[rank * size : (rank + 1) * size]
    stage = PipelineStage(part, rank, n, "cpu")
    schedule = Schedule1F1B(stage, 4 * n, loss_fn=lambda y, _: y.square().mean())
    x = torch.ones(4 * n * BATCH, WIDTH)
    given = (x,) if rank == 0 else ()
    wanted = {"target": x} if rank == n - 1 else {}
    return lambda: schedule.step(*given, **wanted)


def tensor(rank, n):
    mesh = torch.distributed.init_device_mesh("cpu", (n,))
    plan = {str(i): (RowwiseParallel if i % 2 else ColwiseParallel)() for i in range(DEPTH)}
    net = parallelize_module(deep(), mesh, plan)
    x = torch.ones(BATCH, WIDTH, requires_grad=True)
    return lambda: net(x).square().mean().backward()


REAL = dict(zip(STRATEGIES, (ring, tree, sharded, pipeline, tensor), strict=True))


@pytest.mark.parametrize("n", [2, 4])
def test_real_processes_send_as_many_messages_and_bytes(n):
    """Of the rank that sends most, in a second step: the first one of a pipeline tells shapes."""

    def run(rank, n):
        torch.distributed.group.WORLD.backend_for("cpu").links.mailbox = None  # as between machines
        found = []
        for make in REAL.values():
            step = make(rank, n)
            step()
            torch.distributed.barrier()
            seen = counted()
            step()
            found.append((seen["messages"], seen["sent"]))
            torch.distributed.barrier()
        return found

    step, link = recorded(), Link(1e-5, 1e9)
    ranks = values(run, n, seconds=90)
    for i, (name, strategy) in enumerate(STRATEGIES.items()):
        told, real = strategy(step, n, link), max(found[i] for found in ranks)
        assert real[0] == told.messages, (name, real, told)
        assert real[1] == pytest.approx(told.sent, rel=0.01), name


def peak(make):
    with memory.record(holders=False) as before:
        pass
    with memory.record(holders=False) as recording:
        net = make()
        adam = torch.optim.Adam(net.parameters())
        for _ in range(3):
            adam.zero_grad()
            loss_of(net).backward()
            adam.step()
    return recording.peak[0] - before.peak[0]


@pytest.mark.parametrize("n", [2, 4])
def test_real_processes_take_as_much_memory(n):
    def run(rank, n):
        def shard():
            net = deep()
            for layer in net:
                fully_shard(layer)
            return fully_shard(net)

        return peak(lambda: torch.nn.parallel.DistributedDataParallel(deep())), peak(shard)

    step, link = recorded(), Link(1e-5, 1e9)
    for found in values(run, n):
        for name, real in zip(("DDP, ring", "FSDP"), found, strict=True):
            assert STRATEGIES[name](step, n, link).memory == pytest.approx(real, rel=0.12), name


MIB = 2**20
STEP = Step(tuple(Layer(str(i), 0.01, 0.02, 10 * MIB, MIB) for i in range(8)), 0.004, 8 * MIB, 2.0)
FAST, SLOW = Link(1e-9, 1e15), Link(1e-3, 1e8)


def test_buckets_wait_for_backward_where_the_link_needs_the_processor():
    link = Link(1e-4, 1e9)
    shared = Link(link.latency, link.bandwidth, beside=False)
    messages = sum(link.message(size / 4, 6) for _, size in buckets_of(STEP))
    compute = STEP.seconds
    assert STRATEGIES["DDP, ring"](STEP, 4, shared).seconds == pytest.approx(compute + messages)
    assert STRATEGIES["DDP, ring"](STEP, 4, link).seconds < compute + 0.8 * messages


def test_with_links_that_cost_nothing_only_compute_is_left():
    found = {name: strategy(STEP, 4, FAST) for name, strategy in STRATEGIES.items()}
    assert found["DDP, ring"].seconds == pytest.approx(0.244, rel=1e-4)
    assert found["FSDP"].seconds == pytest.approx(0.24 + 0.001, rel=1e-4)
    assert found["tensor"].seconds == pytest.approx(0.244 / 4, rel=1e-4)
    # 16 microbatches of a quarter of the layers, 3 more for the bubble
    assert found["pipeline"].seconds == pytest.approx(19 * 0.06 + 0.001, rel=1e-4)


def test_slow_links():
    ring, tree = (STRATEGIES[name](STEP, 16, SLOW) for name in ("DDP, ring", "DDP, tree"))
    # the first bucket, of a layer, is full after 20 ms; then of three layers, and of two, 25 MiB
    sizes = [10 * MIB] + [20 * MIB] * 3 + [10 * MIB]
    whole = sum(30 * (1e-3 + size / 16 / 1e8) for size in sizes)
    assert ring.seconds == pytest.approx(0.08 + 0.02 + whole + 0.004)
    assert tree.seconds == pytest.approx(
        0.08 + 0.02 + sum(8 * (1e-3 + size / 1e8) for size in sizes) + 0.004
    )
    assert STRATEGIES["pipeline"](STEP, 9, SLOW) is None


def test_stragglers_and_failures():
    rainy = Weather(straggling=0.01, slowdown=3, between_failures=1e6, checkpoint=20, restart=60)
    plain = STRATEGIES["DDP, ring"](STEP, 100, FAST)
    slow = 1 - 0.99**100
    assert rainy.slow_down(plain, 100).seconds == pytest.approx(plain.seconds + slow * 2 * 0.244)
    interval = math.sqrt(2 * 20 * 1e4)
    assert rainy.useful(100) == pytest.approx(1 - 20 / interval - (interval / 2 + 60) / 1e4)
    assert rainy.useful(10**6) == 0 and Weather().useful(10**6) == 1


def test_the_command(tmp_path, capsys):
    STEP.save(tmp_path / "step.json")
    assert Step.load(tmp_path / "step.json") == STEP
    main(
        [str(tmp_path / "step.json"), "--workers", "2", "10000", "--page", str(tmp_path / "p.html")]
    )
    told, text = capsys.readouterr().out, (tmp_path / "p.html").read_text()
    assert told.startswith("One worker: 244.00 ms a step, 80.0 MiB of parameters in 8 layers.")
    rows = simulate(STEP, Link(20e-6, 1.25e9), Weather(), (2, 10_000))
    assert len(rows) == 9 and told.count("\n") == 3 + 9 + 2  # a pipeline has 8 stages at most
    assert text.count("<svg") == 3 and text.count("<polyline") == 15 and "FSDP" in text
    (tmp_path / "other.json").write_text("{}")
    for arguments, part in (([str(tmp_path / "other.json")], "is no recorded step"),
                            (["--workers", "1"], None)):  # fmt: skip
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert part is None or part in str(ended.value)


def test_buckets_are_those_of_distributed_data_parallel():
    """Parameters that another module uses (an attention's output) count, each with its size."""
    layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, 0.0, batch_first=True)
    x = torch.randn(1, 2, 256)
    step = record_step(layer, torch.optim.SGD(layer.parameters()), lambda net: net(x).sum(), 1)
    assert {"self_attn", "self_attn.out_proj"} < {layer.name for layer in step.layers}
    sizes = [4 * p.numel() for p in layer.parameters()]
    assert step.parameters == sum(sizes)
    real = reducer.buckets_of(list(layer.parameters()), 1 << 20, 25 << 20)
    assert len(real) == 2 == len(buckets_of(step))
    parts = Layer("whole", 1.0, 2.0, 7 << 20, 0, (4 << 20, 2 << 20, 1 << 20))
    assert buckets_of(Step((parts,), 0.0, 0, 0.0)) == [(2.0, 1 << 20), (2.0, 6 << 20)]
