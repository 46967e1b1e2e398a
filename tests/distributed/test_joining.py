"""Ranks with different numbers of batches, and static graphs, next to PyTorch's."""

import importlib

import oracles
import pytest
from ranks import outcomes, values
from test_parallel import batch, close

import tiny_torch as torch
from tiny_torch.distributed.algorithms import Join, Joinable, JoinHook
from tiny_torch.distributed.optim import ZeroRedundancyOptimizer
from tiny_torch.utils.checkpoint import checkpoint


class Parts:
    """A net with a buffer, and a layer that only some batches use."""

    def __new__(cls, lib):
        class Net(lib.nn.Module):
            def __init__(self):
                super().__init__()
                lib.manual_seed(0)
                self.first, self.norm = lib.nn.Linear(6, 8), lib.nn.BatchNorm1d(8)
                self.rare, self.last = lib.nn.Linear(8, 8), lib.nn.Linear(8, 3)

            def forward(self, x, rarely=False):
                h = self.norm(self.first(x)).tanh()
                return self.last(self.rare(h) if rarely else h)

        return Net()


def losses_of(lib, model, optimizer, steps, rank, n, **options):
    found = []
    for step in steps:
        x, y = batch(lib, step, n)
        optimizer.zero_grad()
        loss = lib.nn.functional.mse_loss(model(x[rank::n], **options), y[rank::n])
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


VARIANTS = [
    ({"find_unused_parameters": True}, {}),
    ({"find_unused_parameters": True}, {"divide_by_initial_world_size": False}),
    ({"find_unused_parameters": True, "gradient_as_bucket_view": True}, {}),
]


def joined(lib, rank, n, folder):
    """Rank 0 has two batches, rank 1 has five; losses, and the model at the end."""
    found = []
    for options, more in VARIANTS:
        model = lib.nn.parallel.DistributedDataParallel(Parts(lib), **options)
        optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
        with model.join(**more):
            losses = losses_of(lib, model, optimizer, range(2 + 3 * rank), rank, n)
        state = {name: t.flatten().tolist() for name, t in model.module.state_dict().items()}
        found.append((losses, state))
    return found


def refused(lib, rank, n, folder):
    """What each rank says when rank 0 has no batch left."""
    model = lib.nn.parallel.DistributedDataParallel(Parts(lib), find_unused_parameters=True)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
    try:
        with model.join(throw_on_early_termination=True):
            losses_of(lib, model, optimizer, range(2 + rank), rank, n)
    except RuntimeError as error:
        said = str(error)
    algorithms = importlib.import_module(f"{lib.__name__}.distributed.algorithms")
    other = lib.nn.parallel.DistributedDataParallel(Parts(lib), process_group=dist_group(lib))
    for wrong in ([], [model, other]):
        try:
            algorithms.Join(wrong)
        except ValueError as error:
            said += f" {error}"
    return said, isinstance(model, algorithms.Joinable)


def dist_group(lib):
    return lib.distributed.new_group([0, 1])


@pytest.mark.torch
def test_next_to_pytorchs():
    ours = values(lambda rank, n: joined(torch, rank, n, None), 2)
    for rank, (our, their) in enumerate(
        zip(ours, oracles.theirs("test_joining:joined"), strict=True)
    ):
        assert [len(losses) for losses, _ in our] == [2 + 3 * rank] * len(VARIANTS)
        for a, b in zip(our, their, strict=True):
            assert close([a[0]], [b[0]]) and a[1].keys() == b[1].keys()
            assert close(a[1].values(), b[1].values())
    assert ours[0][0][1] == ours[1][0][1]


@pytest.mark.torch
def test_refusals_are_pytorchs():
    ours = values(lambda rank, n: refused(torch, rank, n, None), 2)
    assert ours == oracles.theirs("test_joining:refused")


def test_a_sharded_optimizer_goes_on_without_batches():
    """Rank 0 steps its parameters after its only batch, too: as one process with the sums."""

    def run(rank, n):
        model = torch.nn.parallel.DistributedDataParallel(Parts(torch), find_unused_parameters=True)
        adam = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
        with Join([model, adam]):
            losses_of(torch, model, adam, range(1 + 2 * rank), rank, n, rarely=True)
        with Join([adam, model], enable=False):
            pass
        return [p.flatten().tolist() for p in model.parameters()]

    model = Parts(torch)
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(3):
        x, y = batch(torch, step)
        adam.zero_grad()
        for rank in (0, 1) if step < 1 else (1,):
            loss = torch.nn.functional.mse_loss(model(x[rank::2], rarely=True), y[rank::2])
            (loss / 2).backward()
        adam.step()
    first, second = values(run, 2)
    assert first == second and close(first, [p.flatten().tolist() for p in model.parameters()])


def test_hooks_of_ones_own():
    class Counter(Joinable):
        join_device = torch.device("cpu")

        def __init__(self):
            self.total, self.calls = 0, []

        @property
        def join_process_group(self):
            return torch.distributed.group.WORLD

        def join_hook(self, **kwargs):
            return Shadow(self, **kwargs)

        def add(self, number):
            self.calls.append(Join.notify_join_context(self).result()[0].item())
            self.total += sum_over_ranks(number)

    class Shadow(JoinHook):
        def __init__(self, counter, word):
            self.counter, self.word = counter, word

        def main_hook(self):
            self.counter.total += sum_over_ranks(0)

        def post_hook(self, is_last_joiner):
            self.counter.calls.append((self.word, is_last_joiner))

    def sum_over_ranks(number):
        x = torch.tensor([number])
        torch.distributed.all_reduce(x)
        return x.item()

    def run(rank, n):
        counter = Counter()
        with Join([counter], word="done"):
            for _ in range(rank + 1):
                counter.add(10)
        return counter.total, counter.calls

    assert values(run, 3) == [
        (60, [3.0, ("done", False)]),
        (60, [3.0, 2.0, ("done", False)]),
        (60, [3.0, 2.0, 1.0, ("done", True)]),
    ]


class Twice(torch.nn.Module):
    """A layer that runs under two reentrant checkpoints, and one that may never run."""

    def __init__(self, idle=True):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.twice = torch.nn.Linear(6, 6), torch.nn.Linear(6, 6)
        self.last, self.times = torch.nn.Linear(6, 3), 2
        if idle:
            self.idle = torch.nn.Linear(6, 6)

    def forward(self, x):
        x = self.first(x)
        for _ in range(self.times):
            x = checkpoint(self.twice, x, use_reentrant=True)
        return self.last(x.tanh())


def step_of(model, step, rank, n):
    x, y = batch(torch, step, n)
    model.zero_grad()
    torch.nn.functional.mse_loss(model(x[rank::n]), y[rank::n]).backward()


def test_a_static_graph_knows_how_often_gradients_grow():
    def run(rank, n):
        model = torch.nn.parallel.DistributedDataParallel(Twice(), static_graph=True)
        group, counts, found = torch.distributed.group.WORLD, [], []
        for step in range(3):
            begin = group.number
            step_of(model, step, rank, n)
            counts.append(group.number - begin)
            found.append([p.grad if p.grad is None else p.grad.tolist()
                          for p in model.parameters()])  # fmt: skip
        return counts, found

    (counts, first), (_, second) = values(run, 2)
    assert counts == [2, 1, 1]  # who uses what is asked once
    plain = Twice()
    for step in range(3):
        step_of(plain, step, 0, 1)
        x, y = batch(torch, step)
        plain.zero_grad()
        torch.nn.functional.mse_loss(plain(x), y).backward()
        for a, b, p in zip(first[step], second[step], plain.parameters(), strict=True):
            assert a == b
            assert (a is None and p.grad is None) or close([a], [p.grad.tolist()])


@pytest.mark.parametrize("static, text", [
    (True, "Your training graph has changed in this iteration"),
    (False, "Expected to mark a variable ready only once. The gradient of twice."),
])  # fmt: skip
def test_a_gradient_that_grows_more_often_is_said(static, text):
    def run(rank, n):
        model = torch.nn.parallel.DistributedDataParallel(Twice(idle=False), static_graph=static)
        for step in range(2):
            step_of(model, step, rank, n)
            model.module.times = 3

    for kind, said in outcomes(run, 2):
        assert kind == "RuntimeError" and text in said
