"""Trains a perceptron by a parameter server: one process steps, others compute gradients.

    python apps/parameter_server.py                     two workers, in step with each other
    python apps/parameter_server.py --staleness 3       no worker more than 3 steps ahead of another

The server has the parameters and the optimiser. A worker asks for the parameters, computes its part
of a batch, and sends each gradient as soon as backward has it, the last layers' first. In step, the
server waits for all workers and takes one step with the mean, as one process would with the whole
batch. With `--staleness S` it steps with each worker's gradients as they come, and lets a worker go
on unless it is more than S steps ahead of the slowest: gradients are then of parameters that others
have changed meanwhile (`staleness`, the mean number of such steps), and runs are not alike to the
bit.

Li et al. 2014, "Scaling Distributed Machine Learning with the Parameter Server"; Ho et al. 2013,
"More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server".
"""

import argparse
import importlib
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import common
import inputs
import read
from common import Run
from framework import F, torch
from inputs import GREY, load_images
from mlp import MLP, evaluate

dist: Any = importlib.import_module(f"{torch.__name__}.distributed")
SERVER = 0  # its rank; workers are 1, 2, ...
EPOCH, PARAMETERS, LOSS, GRADIENT = range(4)  # tags of messages; gradient i has GRADIENT + i


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    apart = "workers compute in processes of their own"
    parser = common.options(
        "parameter_server",
        __doc__,
        data=GREY,
        epochs=10,
        batch_size=64,
        refuse={
            "device": "its messages are of the CPU",
            "compile": "its steps send and wait",
            "profile": apart,
            "threads": apart,
        },
    )
    parser.set_defaults(device="cpu", init="default", norm="none")
    inputs.add_options(parser)
    add = parser.add_argument
    add("--width", type=read.whole(1), default=256, help="of hidden layers; default: 256")
    add("--depth", type=read.whole(1, 100), default=2, help="hidden layers; default: 2")
    add("--workers", type=read.whole(1, 64), default=2, help="default: 2")
    add("--staleness", type=read.whole(0), help="steps ahead; default: all in step")
    return common.parse(parser, argv)


def join_group(args: argparse.Namespace, rank: int, folder: str) -> None:
    address = f"file://{folder}/store"
    dist.init_process_group("gloo", address, rank=rank, world_size=args.workers + 1)


# ---- a worker -----------------------------------------------------------------------------------
def work(place: int, args: argparse.Namespace, folder: str, data: Any, model: Any) -> None:
    """Computes gradients of its part of each batch, until the server has no further epoch."""
    torch.set_num_threads(1)
    join_group(args, place + 1, folder)
    parameters, sent = list(model.parameters()), []

    def sends(i: int) -> Any:
        """What sends gradient i, while backward computes those of the layers before."""
        return lambda p: sent.append(dist.isend(p.grad, SERVER, tag=GRADIENT + i))

    for i, parameter in enumerate(parameters):
        parameter.register_post_accumulate_grad_hook(sends(i))
    while epoch := int(receive(torch.zeros(1, dtype=torch.int64), SERVER, EPOCH)):
        for x, y in common.batches(args, epoch, data.train_x, data.train_y):
            take(receive(row_of(parameters), SERVER, PARAMETERS), parameters)
            model.zero_grad()
            with common.autocast(args):
                logits = model(x[place :: args.workers])
            loss = F.cross_entropy(logits.float(), y[place :: args.workers])
            loss.backward()
            sent.append(dist.isend(loss.detach(), SERVER, tag=LOSS))
            while sent:
                sent.pop().wait()
    dist.destroy_process_group()


def receive(tensor: Any, rank: int, tag: int) -> Any:
    dist.recv(tensor, rank, tag=tag)
    return tensor


def row_of(parameters: list[Any]) -> Any:
    """All parameters in one row."""
    return torch.cat([p.detach().reshape(-1) for p in parameters])


def take(row: Any, parameters: list[Any]) -> None:
    """Gives the parameters the values of a row."""
    with torch.no_grad():
        for p, part in zip(parameters, row.split([p.numel() for p in parameters]), strict=True):
            p.copy_(part.view(p.shape))


# ---- the server ---------------------------------------------------------------------------------
class Server:
    """The parameters, and a thread for each worker that sends them and takes gradients."""

    def __init__(self, args: argparse.Namespace, model: Any, optimiser: Any, steps: int) -> None:
        self.args, self.optimiser, self.steps = args, optimiser, steps
        self.parameters = list(model.parameters())
        self.turn = threading.Condition()
        self.stopped = False

    def epoch(self, number: int) -> Iterator[None]:
        """Each step of an epoch, as it is done."""
        workers = range(self.args.workers)
        self.clocks = [0 for _ in workers]  # steps that each worker has given gradients of
        self.updates = 0  # of the parameters
        self.losses: list[float] = []
        self.ages: list[int] = []  # of gradients: updates since their parameters were sent
        self.given: dict[int, list[Any]] = {}  # gradients that wait for other workers'
        for worker in workers:
            dist.send(torch.tensor([number]), worker + 1, tag=EPOCH)
        with ThreadPoolExecutor(self.args.workers) as threads:
            served = [threads.submit(self.serve, worker) for worker in workers]
            try:
                for step in range(self.steps):
                    with self.turn:
                        self.turn.wait_for(lambda: self.stopped or min(self.clocks) > step)  # noqa: B023 -- within the step
                    yield
            finally:
                self.stop()
            for done in served:
                done.result()

    def stop(self) -> None:
        """Lets no thread wait any more."""
        with self.turn:
            self.stopped = self.stopped or min(self.clocks) < self.steps
            self.turn.notify_all()

    def serve(self, worker: int) -> None:
        """An epoch of one worker."""
        try:
            for step in range(self.steps):
                with self.turn:
                    self.turn.wait_for(lambda: self.stopped or self.may_begin(step))  # noqa: B023
                    if self.stopped:
                        return
                    row, began = row_of(self.parameters), self.updates
                dist.send(row, worker + 1, tag=PARAMETERS)
                gradients = [
                    receive(torch.empty_like(p), worker + 1, GRADIENT + i)
                    for i, p in reversed(list(enumerate(self.parameters)))
                ]
                loss = receive(torch.zeros(()), worker + 1, LOSS)
                with self.turn:
                    self.losses.append(loss.item())
                    self.ages.append(self.updates - began)
                    self.take(worker, gradients[::-1])
                    self.clocks[worker] += 1
                    self.turn.notify_all()
        except BaseException:
            self.stop()
            raise

    def may_begin(self, step: int) -> bool:
        """Whether a worker may have the parameters of its next step."""
        if self.args.staleness is None:
            return self.updates == step
        return min(self.clocks) >= step - self.args.staleness

    def take(self, worker: int, gradients: list[Any]) -> None:
        """Steps: with a worker's gradients, or with the mean, when the last worker's are there."""
        if self.args.staleness is not None:
            self.step(gradients)
            return
        self.given[worker] = gradients
        if len(self.given) == self.args.workers:
            rows = zip(*(self.given.pop(i) for i in range(self.args.workers)), strict=True)
            self.step([torch.stack(row).mean(0) for row in rows])

    def step(self, gradients: list[Any]) -> None:
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient
        self.optimiser.step()
        self.updates += 1

    def close(self) -> None:
        """Tells the workers that there is no further epoch."""
        for worker in range(self.args.workers):
            dist.send(torch.tensor([0]), worker + 1, tag=EPOCH)


def main(argv: list[str] | None = None) -> list[dict[str, float]]:
    args = parse_args(argv)
    data = load_images(args)
    if len(data.train_x) >= args.batch_size < args.workers:
        raise SystemExit(f"--batch-size {args.batch_size} is less than --workers {args.workers}")
    model = MLP(data.train_x[0].numel(), len(data.names), args)
    optimiser = common.optimiser(args, model.parameters())
    steps = common.steps(args, data.train_x)
    with (
        Run(args, steps, model=model, optimiser=optimiser) as run,
        tempfile.TemporaryDirectory() as folder,
    ):
        if args.epochs > run.done:
            start = torch.multiprocessing.start_processes
            given = (args, folder, data, model)
            # daemons, which end with this process
            workers: Any = start(work, given, args.workers, False, True, "fork")
            join_group(args, SERVER, folder)
            server = Server(args, model, optimiser, steps)
            for epoch in run.epochs():
                for _ in run.counted(server.epoch(epoch)):
                    pass
                test_loss, test_accuracy = evaluate(model, data.test_x, data.test_y)
                run.record(
                    train_loss=sum(server.losses) / len(server.losses),
                    test_loss=test_loss,
                    test_accuracy=test_accuracy,
                    staleness=sum(server.ages) / len(server.ages),
                )
            server.close()
            while not workers.join():
                pass
            dist.destroy_process_group()
    return run.history


if __name__ == "__main__":
    common.launch(main)
