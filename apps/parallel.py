"""Trains gpt.py's Transformer on several processes, which share its batch, layers and weights.

    python apps/parallel.py                     eight processes: 2 x 2 x 2
    python apps/parallel.py --mesh 3 1 1        three, each with a third of the layers

The processes are an array. Along its first dim they have some of the layers each (a pipeline);
along the second a part of the batch, and a part of the parameters (`fully_shard`); along the third
some heads of each attention and some columns of each MLP (`parallelize_module`). What they compute
is what gpt.py does with the same options in one process, to rounding.

                first half of the batch    second half
    blocks 0        heads 0, 1              heads 0, 1
    blocks 1        heads 0, 1              heads 0, 1

Shoeybi et al. 2019, "Megatron-LM"; Narayanan et al. 2021, "Efficient Large-Scale Language Model
Training on GPU Clusters".
"""

import argparse
import contextlib
import copy
import importlib
import math
import tempfile
from typing import Any

import common
import gpt
import language
import read
from common import Run
from framework import F, nn, torch

dist: Any = importlib.import_module(f"{torch.__name__}.distributed")
fsdp: Any = importlib.import_module(f"{torch.__name__}.distributed.fsdp")
pipelining: Any = importlib.import_module(f"{torch.__name__}.distributed.pipelining")
tensor: Any = importlib.import_module(f"{torch.__name__}.distributed.tensor.parallel")
helpers: Any = importlib.import_module(f"{torch.__name__}.distributed.checkpoint.state_dict")
DIMS = ("stage", "data", "tensor")
MICROBATCHES = 2  # for each stage


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    apart = "processes compute with one thread each"
    refuse = {
        "device": "its messages are of the CPU",
        "compile": "its steps send and wait",
        "profile": apart,
        "threads": apart,
    }
    parser = gpt.options("parallel", __doc__, refuse=refuse)
    parser.set_defaults(device="cpu", threads=None, profile=False)
    parser.add_argument(
        "--mesh",
        type=read.whole(1, 64),
        nargs=3,
        default=[2, 2, 2],
        help="ranks for stages, the batch, heads; default: 2 2 2",
    )
    args = common.parse(parser, argv)
    stages, batches, heads = args.mesh
    parts = batches * stages * MICROBATCHES
    if args.batch_size % parts:
        parser.error(f"--batch-size {args.batch_size} is no multiple of {parts}: --mesh")
    if args.layers < stages:
        parser.error(f"--layers {args.layers} is less than the stages of --mesh")
    if args.heads % heads or args.width % args.heads:
        parser.error(f"--heads {args.heads} is no multiple of --mesh's, or --width not of --heads")
    return args


# ---- a rank's part of the model -----------------------------------------------------------------
class Stage(nn.Module):
    """Some blocks of a GPT, under the names that they have there; before them, or behind, the rest.

    The first takes tokens (B, T), the last answers scores (B, T, V); between stages is (B, T, W).
    """

    def __init__(self, model: Any, number: int, stages: int) -> None:
        super().__init__()
        self.args, count = model.args, len(model.blocks)
        first, last = number == 0, number == stages - 1
        mine = range(count * number // stages, count * (number + 1) // stages)
        self.tokens: Any = model.tokens if first else None
        self.places: Any = model.places if first else None
        self.blocks: Any = nn.ModuleDict({str(i): model.blocks[i] for i in mine})
        self.norm: Any = model.norm if last else None
        self.head: Any = model.head if last else None

    def forward(self, x: Any) -> Any:
        with common.autocast(self.args):
            if self.tokens is not None:
                x = self.tokens(x) + self.places(torch.arange(x.shape[1]))
            for block in self.blocks.values():
                x, _ = common.through(self.args, block, x)
            return x if self.head is None else self.head(self.norm(x))


def regroup(attention: Any, source: tuple[int, int], dims: tuple[int, int]) -> None:
    """Sorts the rows of q, k and v, which are `source` blocks, with two dims swapped."""
    with torch.no_grad():
        for p in attention.qkv.parameters():
            p.copy_(p.view(*source, -1, *p.shape[1:]).transpose(*dims).reshape(p.shape))


def cut(stage: Stage, mesh: Any) -> None:
    """Leaves this rank its part of the weights: along "tensor" first, then along "data"."""
    ranks = mesh["tensor"].size()
    columns, rows = tensor.ColwiseParallel, tensor.RowwiseParallel
    for block in stage.blocks.values():
        regroup(block.attention, (3, ranks), (0, 1))  # q0 k0 v0 q1 k1 v1: a rank's are neighbours
        block.attention.heads //= ranks
        plan = {"attention.qkv": columns(), "attention.out": rows()}
        plan |= {"mlp.0": columns(), "mlp.2": rows()}
        tensor.parallelize_module(block, mesh["tensor"], plan)
        fsdp.fully_shard(block, mesh=mesh["data"])
    fsdp.fully_shard(stage, mesh=mesh["data"])


def gather(stage: Stage, model: Any, mesh: Any) -> None:
    """Gives rank 0 the whole model, of the parts of all."""
    options = helpers.StateDictOptions(full_state_dict=True)
    weights = helpers.get_model_state_dict(stage, options=options)
    found: list[Any] = [None] * mesh["stage"].size()
    dist.all_gather_object(found, weights, mesh["stage"].get_group())
    for part in found:
        model.load_state_dict(part, strict=False)
    for block in model.blocks:
        regroup(block.attention, (mesh["tensor"].size(), 3), (0, 1))


def groups_of(stage: Stage) -> list[list[Any]]:
    """The parameters that are cut along "tensor", and the others: PyTorch does not mix them."""
    groups: list[list[Any]] = [[], []]
    for name, parameter in stage.named_parameters():
        groups[".attention." not in name and ".mlp." not in name].append(parameter)
    return [group for group in groups if group]


def clip(stage: Stage, mesh: Any) -> None:
    """Clips the norm of all gradients, those of other stages too."""
    squares = torch.zeros(())
    for group in groups_of(stage):
        norm = nn.utils.clip_grad_norm_(group, math.inf)
        squares += (norm.full_tensor() if hasattr(norm, "full_tensor") else norm) ** 2
    dist.all_reduce(squares, group=mesh["stage"].get_group())
    for group in groups_of(stage):
        nn.utils.clip_grads_with_norm_(group, stage.args.clip, squares.sqrt())


# ---- a rank's training --------------------------------------------------------------------------
class States(list):
    """The states of all ranks, each of its parts, for the checkpoint."""

    def state_dict(self) -> dict[str, Any]:
        return {"ranks": list(self)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self[:] = state["ranks"]


class Trainer:
    """A rank's stage, its schedule and its optimiser."""

    def __init__(self, args: argparse.Namespace, model: Any, states: States) -> None:
        self.args, self.states = args, states
        self.mesh = dist.init_device_mesh("cpu", tuple(args.mesh), mesh_dim_names=DIMS)
        number, stages = self.mesh["stage"].get_local_rank(), self.mesh["stage"].size()
        self.stage = Stage(model, number, stages)
        cut(self.stage, self.mesh)
        self.pipe = pipelining.PipelineStage(
            self.stage, number, stages, torch.device("cpu"), group=self.mesh["stage"].get_group()
        )
        self.schedule = pipelining.Schedule1F1B(self.pipe, stages * MICROBATCHES, loss_fn=loss_of)
        self.optimiser = common.optimiser(
            args, [{"params": group} for group in groups_of(self.stage)]
        )
        self.rates = common.schedule(self.optimiser, 0.75)
        if states:
            for part, state in zip(self.parts(), states[dist.get_rank()], strict=True):
                part.load_state_dict(state)

    def parts(self) -> tuple[Any, ...]:
        """What this rank trains with."""
        return self.stage, self.optimiser, self.rates

    def step(self, batch: Any) -> float:
        """A step with this rank's rows of a batch; the loss, at all ranks."""
        rows = batch[self.mesh["data"].get_local_rank() :: self.mesh["data"].size()]
        self.optimiser.zero_grad()
        given = (rows[:, :-1],) if self.pipe.is_first else ()
        target = rows[:, 1:] if self.pipe.is_last else None
        losses: list[Any] = []
        self.schedule.step(*given, target=target, losses=losses)
        clip(self.stage, self.mesh)
        self.optimiser.step()
        # every last stage has a loss, of its part of the batch, at all ranks of "tensor"
        total = torch.tensor(sum((loss.item() for loss in losses), 0.0))
        dist.all_reduce(total)
        return float(total) / (math.prod(self.args.mesh) * MICROBATCHES)

    def epoch(self, model: Any, batches: Any) -> float:
        """The mean loss of an epoch; rank 0 has the whole model and all states behind it."""
        losses = [self.step(batch) for batch in batches]
        self.rates.step()
        gather(self.stage, model, self.mesh)
        mine = [part.state_dict() for part in self.parts()]
        self.states[:] = [None] * dist.get_world_size()
        dist.gather_object(mine, self.states if dist.get_rank() == 0 else None)
        return sum(losses) / len(losses)


def loss_of(scores: Any, target: Any) -> Any:
    return F.cross_entropy(scores.float().flatten(0, 1), target.flatten())


def join_group(args: argparse.Namespace, rank: int, folder: str) -> None:
    address = f"file://{folder}/store"
    dist.init_process_group("gloo", address, rank=rank, world_size=math.prod(args.mesh))


def work(
    place: int, args: argparse.Namespace, folder: str, corpus: Any, model: Any, run: Any
) -> None:
    """Trains as rank place + 1, beside rank 0, which alone has figures."""
    join_group(args, place + 1, folder)
    whole, trainer = copy.deepcopy(model), Trainer(args, model, run.parts["ranks"])
    for epoch in range(run.done + 1, args.epochs + 1):
        trainer.epoch(whole, language.segments(args, whole, corpus.train, epoch))
    dist.destroy_process_group()


def main(argv: list[str] | None = None) -> list[dict[str, float]]:
    args = parse_args(argv)
    corpus = language.load_corpus(args)
    model, states = gpt.GPT(args, len(corpus.vocabulary)), States()
    baseline = language.ngram_perplexity(corpus, args.ngram)
    steps = language.segment_count(args, corpus.train)
    threads = torch.get_num_threads()
    with (
        Run(args, steps, model=model, ranks=states) as run,
        tempfile.TemporaryDirectory() as folder,
        contextlib.ExitStack() as stack,
    ):
        if args.epochs > run.done:
            torch.set_num_threads(1)
            stack.callback(torch.set_num_threads, threads)
            start, given = torch.multiprocessing.start_processes, (args, folder, corpus, model, run)
            # daemons, which end with this process
            workers: Any = start(work, given, math.prod(args.mesh) - 1, False, True, "fork")
            join_group(args, 0, folder)
            trainer = Trainer(args, copy.deepcopy(model), states)
            for epoch in run.epochs():
                batches = run.counted(language.segments(args, model, corpus.train, epoch))
                loss = trainer.epoch(model, batches)
                run.record(
                    train_perplexity=math.exp(loss),
                    test_perplexity=language.perplexity(model, corpus.test),
                    ngram_perplexity=baseline,
                )
                text = language.sample(model, corpus, args.length)
                run.line += f"\n{text}".replace("\n", "\n    ")
            while not workers.join():
                pass
            dist.destroy_process_group()
    return run.history


if __name__ == "__main__":
    common.launch(main)
