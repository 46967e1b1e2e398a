"""Pipelines: stages at several ranks compute what one process would; in PyTorch's orders."""

import importlib

import oracles
import pytest
from ranks import outcomes, values
from test_parallel import batch, close

import tiny_torch as torch
from tiny_torch.distributed.pipelining import (
    Pipe,
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
)
from tiny_torch.distributed.pipelining.schedules import interleave


def layers(lib, parts):
    """Four layers, in as many stages."""
    lib.manual_seed(0)
    nn = lib.nn
    made = [nn.Sequential(nn.Linear(6, 9), nn.Tanh()), nn.Sequential(nn.Linear(9, 9), nn.ReLU()),
            nn.Sequential(nn.Linear(9, 8), nn.Tanh()), nn.Linear(8, 3)]  # fmt: skip
    each = 4 // parts
    return [nn.Sequential(*made[i : i + each]) for i in range(0, 4, each)]


def schedule_of(lib, kind, rank, n, microbatches):
    pipelining = importlib.import_module(f"{lib.__name__}.distributed.pipelining")
    per_rank = 2 if "Interleaved" in kind else 1
    parts = layers(lib, n * per_rank)
    stages = [
        pipelining.PipelineStage(parts[i], i, n * per_rank, lib.device("cpu"))
        for i in range(rank, n * per_rank, n)
    ]
    given = stages if per_rank > 1 else stages[0]
    loss = lib.nn.functional.mse_loss
    return getattr(pipelining, kind)(given, microbatches, loss_fn=loss), stages


KINDS = ["ScheduleGPipe", "Schedule1F1B", "ScheduleInterleaved1F1B"]


def trained(lib, rank, n, folder):
    """Per schedule: losses of each microbatch, outputs and parameters of this rank."""
    found = []
    for kind in KINDS:
        schedule, stages = schedule_of(lib, kind, rank, n, 4)
        parameters = [p for stage in stages for p in stage.submod.parameters()]
        optimizer = lib.optim.SGD(parameters, lr=0.1, momentum=0.9)
        steps = []
        for step in range(3):
            x, y = batch(lib, step)
            optimizer.zero_grad()
            losses = []
            args, target = ((x,) if rank == 0 else ()), (y if rank == n - 1 else None)
            out = schedule.step(*args, target=target, losses=losses)
            optimizer.step()
            steps.append((None if out is None else out.flatten().tolist(),
                          [loss.item() for loss in losses]))  # fmt: skip
        found.append((steps, [p.flatten().tolist() for p in parameters]))
    return found


def orders(lib, rank, n, folder):
    """Interleaved orders of PyTorch's, as (F or B, stage, microbatch)."""
    kind = lib.distributed.pipelining.ScheduleInterleaved1F1B
    found = {}
    for ranks, local, microbatches in SIZES:
        made = object.__new__(kind)
        made.pp_group_size, made.n_local_stages, made._n_microbatches = ranks, local, microbatches
        made.microbatches_per_round = microbatches // max(1, microbatches // ranks)
        for place in range(ranks):
            order = made._calculate_single_rank_operations(place)
            found[ranks, local, microbatches, place] = [
                ("FB"["FULL" in a.computation_type.name], a.stage_index, a.microbatch_index)
                for a in order if a is not None
            ]  # fmt: skip
    return found


SIZES = [(ranks, local, m) for ranks in (1, 2, 3, 4) for local in (1, 2, 3) for m in range(1, 13)
         if m % max(1, m // ranks) == 0]  # fmt: skip


def spread(lib, rank, n, folder):
    """Losses and parameters where each rank has all stages, which are DDP or sharded."""
    pipelining = importlib.import_module(f"{lib.__name__}.distributed.pipelining")
    fsdp = importlib.import_module(f"{lib.__name__}.distributed.fsdp")
    mesh = lib.distributed.init_device_mesh("cpu", (n, 1), mesh_dim_names=("dp", "pp"))
    ddp = lib.nn.parallel.DistributedDataParallel
    wraps = [  # without the option PyTorch's DDP fails in the second step of a pipeline
        lambda part: ddp(part, find_unused_parameters=True),
        lambda part: fsdp.fully_shard(part, mesh=mesh["dp"]),
    ]
    found = []
    for wrap in wraps:
        for kind, count in (("ScheduleGPipe", 1), ("ScheduleInterleaved1F1B", 2)):
            stages = [
                pipelining.PipelineStage(
                    wrap(part), i, count, lib.device("cpu"), group=mesh["pp"].get_group()
                )
                for i, part in enumerate(layers(lib, count))
            ]
            given = stages if count > 1 else stages[0]
            loss_of = lib.nn.functional.mse_loss
            schedule = getattr(pipelining, kind)(given, 3, loss_fn=loss_of)
            parameters = [p for stage in stages for p in stage.submod.parameters()]
            optimizer = lib.optim.SGD(parameters, lr=0.1, momentum=0.9)
            losses = []
            for step in range(2):
                x, y = (t[rank::n] for t in batch(lib, step))
                optimizer.zero_grad()
                some = []
                schedule.step(x, target=y, losses=some)
                optimizer.step()
                losses.append([loss.item() for loss in some])
            parts = [p.to_local() if hasattr(p, "to_local") else p for p in parameters]
            found.append((losses, [p.flatten().tolist() for p in parts]))
    return found


@pytest.mark.torch
def test_stages_over_ranks_next_to_pytorchs():
    ours = values(lambda rank, n: spread(torch, rank, n, None), 2)
    for our, their in zip(ours, oracles.theirs("test_pipelining:spread"), strict=True):
        for (losses, parameters), (their_losses, their_parameters) in zip(our, their, strict=True):
            assert close(losses, their_losses) and close(parameters, their_parameters)


@pytest.mark.torch
def test_next_to_pytorchs():
    ours = values(lambda rank, n: trained(torch, rank, n, None), 2)
    for our, their in zip(ours, oracles.theirs("test_pipelining:trained"), strict=True):
        for (steps, parameters), (their_steps, their_parameters) in zip(our, their, strict=True):
            assert close(parameters, their_parameters)
            for (out, losses), (their_out, their_losses) in zip(steps, their_steps, strict=True):
                assert (out is None) == (their_out is None) and close([losses], [their_losses])
                assert out is None or close([out], [their_out])


@pytest.mark.torch
def test_interleaved_orders_are_pytorchs():
    for (ranks, local, microbatches, rank), order in oracles.theirs("test_pipelining:orders")[
        0
    ].items():
        assert [tuple(a) for a in interleave(rank, ranks, ranks * local, microbatches)] == order


@pytest.mark.parametrize("kind, n, microbatches", [
    ("ScheduleGPipe", 1, 3), ("ScheduleGPipe", 4, 3), ("Schedule1F1B", 4, 6),
    ("ScheduleInterleaved1F1B", 2, 2), ("ScheduleInterleaved1F1B", 2, 6),
])  # fmt: skip
def test_stages_compute_what_one_process_does(kind, n, microbatches):
    """Gradients are those of the whole batch: means of microbatches of the same size."""

    def run(rank, n):
        schedule, stages = schedule_of(torch, kind, rank, n, microbatches)
        x, y = batch(torch, 0)
        losses = []
        with torch.no_grad():
            out = schedule.eval(*((x,) if rank == 0 else ()))
        schedule.step(*((x,) if rank == 0 else ()), target=y if rank == n - 1 else None,
                      losses=losses)  # fmt: skip
        named = [(f"{s.stage_index}.{k}", p.grad.flatten().tolist())
                 for s in stages for k, p in s.submod.named_parameters()]  # fmt: skip
        return dict(named), None if out is None else out.tolist(), len(losses)

    count = n * (2 if "Interleaved" in kind else 1)
    whole = torch.nn.Sequential(*layers(torch, count))
    x, y = batch(torch, 0)
    out = whole(x)
    torch.nn.functional.mse_loss(out, y).backward()
    found = values(run, n)
    grads = {name: grad for named, _, _ in found for name, grad in named.items()}
    for name, p in whole.named_parameters():
        assert close([grads[name]], [p.grad.flatten().tolist()], 1e-4), name
    assert close([found[-1][1]], [out.tolist()]) and [c for *_, c in found][-1] == microbatches


def test_activations_that_are_held():
    """1F1B holds those of n - i microbatches at stage i, GPipe those of all."""

    def run(rank, n, kind):
        schedule, (stage,) = schedule_of(torch, kind, rank, n, 6)
        most = []
        plain = stage.backward

        def backward(microbatch, loss, is_last):
            most.append(len(stage.held))
            plain(microbatch, loss, is_last)

        stage.backward = backward
        x, y = batch(torch, 0)
        schedule.step(*((x,) if rank == 0 else ()), target=y if rank == n - 1 else None)
        return max(most)

    assert values(run, 4, "Schedule1F1B") == [4, 3, 2, 1]
    assert values(run, 4, "ScheduleGPipe") == [6, 6, 6, 6]


class Two(torch.nn.Module):
    """Passes two tensors on, one of integers, with a keyword of each rank's own."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor(2.0))

    def forward(self, x, i, shift=0):
        return x * self.w + shift, i + 1


def test_several_tensors_keywords_and_shapes():
    def run(rank, n):
        stage = PipelineStage(
            Two(), rank, n, "cpu", input_args=(torch.ones(2), torch.ones(2).long())
        )

        def loss_of(output, target):
            return (output[0] * output[1]).sum() - target.sum()

        schedule = ScheduleGPipe(stage, 2, loss_fn=loss_of, scale_grads=False)
        args = (torch.arange(4.0), torch.zeros(4, dtype=torch.int64)) if rank == 0 else ()
        out = schedule.step(*args, target=torch.zeros(4), shift=torch.ones(4) * rank)
        return stage.submod.w.grad.item(), None if out is None else [t.tolist() for t in out]

    first, second = values(run, 2)
    assert first == (2 * 2 * 6.0, None)  # 2 steps of i; d(w1 (w0 x) + 1)/dw0 = w1 x
    assert second == (2 * 2 * 6.0, [[1.0, 5.0, 9.0, 13.0], [2, 2, 2, 2]])

    def uneven(rank, n):
        schedule, _ = schedule_of(torch, "ScheduleGPipe", rank, n, 5)
        schedule.step(*((batch(torch, 0)[0],) if rank == 0 else ()),
                      target=batch(torch, 0)[1] if rank else None)  # fmt: skip

    assert "all microbatches must have the same shapes" in outcomes(uneven, 2)[0][1]


def stage(**options):
    return PipelineStage(torch.nn.Linear(1, 1), 0, 1, "cpu", **options)


@pytest.mark.parametrize("make, kind, part", [
    (lambda: PipelineStage(torch.nn.Linear(1, 1), 2, 2, "cpu"), "ValueError",
     "Stage index 2 is out of range of 2"),
    (lambda: stage(dw_builder=len), "NotImplementedError", "dw_builder"),
    (lambda: ScheduleGPipe(stage(), 2, output_merge_spec=1), "NotImplementedError",
     "output_merge_spec=1"),
    (lambda: Schedule1F1B.order_of(0, 3, 2), "ValueError", "Number of microbatches (2) must be"),
    (lambda: ScheduleInterleaved1F1B([stage()], 2, defer_pp_recv=True), "NotImplementedError",
     "defer_pp_recv=True"),
    (lambda: torch.no_grad()(ScheduleGPipe(stage(), 1, loss_fn=len).step)(torch.ones(1, 1)),
     "RuntimeError", "Please call eval() instead"),
    (lambda: ScheduleGPipe(stage(), 3).step(torch.ones(2, 1)), "ValueError", "no 3 parts"),
    (lambda: Pipe(1), "NotImplementedError", "models are cut by hand"),
])  # fmt: skip
def test_what_is_refused(make, kind, part):
    raised, text = outcomes(lambda rank, n: bool(make()), 1)[0]
    assert raised == (kind) and part in str(text)
