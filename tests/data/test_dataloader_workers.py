"""The DataLoader with worker processes: batches, order and random numbers are PyTorch's."""

import multiprocessing
import random
import warnings

import numpy as np
import pytest
from data_helpers import Point, next_draws, plain

import tiny_torch

pytestmark = pytest.mark.filterwarnings(
    "ignore:This DataLoader will create", "ignore:.*fork.*:DeprecationWarning"
)


class Augmented:
    """Samples with a random number of each of the generators that workers seed."""

    def __init__(self, lib, length=12):
        self.lib, self.length = lib, length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        lib = self.lib
        pixels = lib.arange(4, dtype=lib.float32) + index
        noise = lib.rand(2), random.random(), np.random.rand(), lib.initial_seed() % 2**31
        info = lib.utils.data.get_worker_info()
        return pixels, *noise, info.id, info.num_workers, info.seed % 2**31


def epochs(lib, loader, generator=None, number=2):
    return [plain(list(loader)) for _ in range(number)], next_draws(lib, generator)


OPTIONS = {
    "one worker": {"num_workers": 1, "batch_size": 3},
    "two workers": {"num_workers": 2, "batch_size": 3},
    "three workers, shuffled": {"num_workers": 3, "batch_size": 2, "shuffle": True},
    "full batches": {"num_workers": 2, "batch_size": 5, "drop_last": True},
    "singly": {"num_workers": 2, "batch_size": None, "shuffle": True},
    "more workers than batches": {"num_workers": 4, "batch_size": 8},
    "sampler": {"num_workers": 2, "sampler": [3, 1, 2, 7], "batch_size": 2},
    "batch sampler": {"num_workers": 2, "batch_sampler": [[3, 1], [2], [], [5, 5, 5]]},
    "prefetching one": {"num_workers": 2, "batch_size": 2, "prefetch_factor": 1},
    "prefetching all": {"num_workers": 2, "batch_size": 2, "prefetch_factor": 9},
    "persistent": {"num_workers": 2, "batch_size": 2, "persistent_workers": True, "shuffle": True},
    "one worker, not in order": {"num_workers": 1, "batch_size": 2, "in_order": False},
    "with timeout": {"num_workers": 2, "batch_size": 2, "timeout": 60},
}


@pytest.mark.parametrize("seeded", ["default", "generator"])
@pytest.mark.parametrize("name", OPTIONS)
def test_batches_and_random_numbers(oracle, name, seeded):
    """Two epochs, their layout, and where they leave the generators of the main process."""
    options = dict(OPTIONS[name])
    if name == "batch sampler":  # an empty batch cannot be collated: it is counted
        options["collate_fn"] = lambda batch: (len(batch), batch)

    def run(lib):
        lib.manual_seed(17)
        generator = lib.Generator().manual_seed(5) if seeded == "generator" else None
        loader = lib.utils.data.DataLoader(Augmented(lib), generator=generator, **options)
        return epochs(lib, loader, generator), len(loader), loader.prefetch_factor

    assert run(tiny_torch) == run(oracle)


class EagerSampler:
    """Draws in `__iter__`, not when the first index is asked for."""

    def __init__(self, lib):
        self.lib = lib

    def __iter__(self):
        return iter(self.lib.randperm(6).tolist())

    def __len__(self):
        return 6


@pytest.mark.parametrize("options", [{"batch_size": None}, {"batch_size": 2}])
@pytest.mark.parametrize("persistent", [False, True])
def test_a_sampler_is_started_as_often_as_by_pytorch(oracle, options, persistent):
    def run(lib):
        lib.manual_seed(3)
        options["sampler"] = EagerSampler(lib)
        loader = lib.utils.data.DataLoader(
            range(6), num_workers=2, persistent_workers=persistent, **options
        )
        return epochs(lib, loader)

    assert run(tiny_torch) == run(oracle)


@pytest.mark.parametrize("base_seed", [0, 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1])
def test_numpy_seeds(oracle, base_seed):
    from torch.utils.data._utils.worker import _generate_state

    from tiny_torch.utils.data._utils import worker

    for number in (0, 1, 63):
        worker._seed_all(base_seed, number)
        ours = np.random.get_state()[1].tolist()
        np.random.seed(_generate_state(base_seed, number))
        assert ours == np.random.get_state()[1].tolist()


# ---- streams -----------------------------------------------------------------------------------


def stream(lib, lengths, claimed=None):
    """Worker i yields lengths[i] samples."""

    class Stream(lib.utils.data.IterableDataset):
        def __iter__(self):
            number = lib.utils.data.get_worker_info().id
            for i in range(lengths[number]):
                yield lib.tensor([number * 100 + i]), random.random()

        def __len__(self):
            if claimed is None:
                raise TypeError("no length")
            return claimed

    return Stream()


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize(
    "batch_size, drop_last", [(1, False), (3, False), (3, True), (None, False)]
)
@pytest.mark.parametrize("lengths", [(5, 5), (3, 11), (9, 0), (0, 0), (2, 7, 4), (7, 1, 0)])
def test_streams(oracle, lengths, batch_size, drop_last, persistent):
    def run(lib):
        lib.manual_seed(2)
        loader = lib.utils.data.DataLoader(
            stream(lib, lengths),
            num_workers=len(lengths),
            batch_size=batch_size,
            drop_last=bool(drop_last),
            persistent_workers=persistent,
        )
        return epochs(lib, loader)

    assert run(tiny_torch) == run(oracle)


def test_a_stream_longer_than_it_said_warns(torch):
    loader = torch.utils.data.DataLoader(stream(torch, (3, 3), 5), num_workers=2)
    assert len(loader) == 5
    with pytest.warns(UserWarning, match=r"reported to be 5.*but 6 samples.*not properly config"):
        list(loader)


# ---- what workers are told ---------------------------------------------------------------------


def test_worker_init_fn_and_info(torch):
    class Table(torch.utils.data.Dataset):
        shift = 0

        def __len__(self):
            return 4

        def __getitem__(self, index):
            return index + self.shift

    def init(number):
        info = torch.utils.data.get_worker_info()
        assert number == info.id and info.num_workers == 2
        assert info.seed == torch.initial_seed() and torch.get_num_threads() == 1
        with pytest.raises(AttributeError):
            info.id = 5
        info.dataset.shift = 10 * (number + 1)

    table = Table()
    loader = torch.utils.data.DataLoader(table, num_workers=2, worker_init_fn=init)
    assert [batch.item() for batch in loader] == [10, 21, 12, 23]
    assert table.shift == 0 and torch.utils.data.get_worker_info() is None


def test_persistent_workers_stay(torch):
    class Processes:
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return multiprocessing.current_process().pid

    def pids(loader):
        return {pid.item() for pid in loader}

    for persistent in (False, True):
        loader = torch.utils.data.DataLoader(
            Processes(), num_workers=2, persistent_workers=persistent
        )
        first, second = pids(loader), pids(loader)
        assert len(first) == 2 and (first == second) is persistent
    abandoned = iter(loader)
    next(abandoned)
    assert iter(loader) is abandoned and pids(loader) == first


def test_without_order_the_fast_are_not_held_up(torch):
    import time

    class Uneven:
        def __len__(self):
            return 6

        def __getitem__(self, index):
            time.sleep(0.6 if index == 0 else 0)
            return index

    def order(**options):
        loader = torch.utils.data.DataLoader(Uneven(), batch_size=None, num_workers=2, **options)
        return list(loader)

    assert order() == [0, 1, 2, 3, 4, 5]
    unordered = order(in_order=False)
    assert sorted(unordered) == [0, 1, 2, 3, 4, 5] and unordered[0] == 1


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_start_methods(method):
    from data_helpers import Squares, note_worker

    for context in (method, multiprocessing.get_context(method)):
        loader = tiny_torch.utils.data.DataLoader(
            Squares(),
            batch_size=2,
            num_workers=2,
            multiprocessing_context=context,
            worker_init_fn=note_worker,
        )
        assert isinstance(loader.multiprocessing_context, multiprocessing.context.BaseContext)
        batches = [x.tolist() for x in loader]
        assert batches == [[0, 1], [104, 109], [16, 25]]


@pytest.mark.filterwarnings("ignore")  # PyTorch's iterator is half made when it goes
def test_what_workers_cannot_be(torch):
    DataLoader = torch.utils.data.DataLoader
    with pytest.raises(ValueError, match="should specify a valid start method in"):
        DataLoader(range(4), num_workers=1, multiprocessing_context="thread")
    with pytest.raises(TypeError, match="should be a valid context object or a string"):
        DataLoader(range(4), num_workers=1, multiprocessing_context=3)
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(DataLoader(range(4), num_workers=1, prefetch_factor=0))
    with pytest.raises(NotImplementedError):
        multiprocessing.reduction.ForkingPickler.dumps(iter(DataLoader(range(4), num_workers=1)))
    with pytest.raises(Exception, match="pickle"):
        local = DataLoader([lambda: 1], num_workers=1, multiprocessing_context="spawn")
        iter(local)


def test_warnings(oracle):
    def run(lib):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            loader = lib.utils.data.DataLoader(range(3), num_workers=9, persistent_workers=True)
            list(loader), list(loader)
            for workers in (0, 1):
                options = {"num_workers": workers, "pin_memory": True, "pin_memory_device": "cuda"}
                list(lib.utils.data.DataLoader(range(3), **options))
        return [(item.category, str(item.message)) for item in seen]

    assert run(tiny_torch) == run(oracle) and len(run(tiny_torch)) == 6


def test_an_endless_loader(torch):
    """A well-known idiom: workers that start once, by a sampler that never ends."""

    class Repeat:
        def __init__(self, sampler):
            self.sampler = sampler

        def __len__(self):
            return len(self.sampler)

        def __iter__(self):
            while True:
                yield from iter(self.sampler)

    class Endless(torch.utils.data.DataLoader):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            self._DataLoader__initialized = False
            self.batch_sampler = Repeat(self.batch_sampler)
            self._DataLoader__initialized = True
            self.iterator = super().__iter__()

        def __iter__(self):
            for _ in range(len(self)):
                yield next(self.iterator)

    loader = Endless(range(6), batch_size=4, num_workers=1)
    for _ in range(3):
        assert [x.tolist() for x in loader] == [[0, 1, 2, 3], [4, 5]]


# ---- what comes from workers -------------------------------------------------------------------


def kinds(lib):
    x = lib.arange(12, dtype=lib.float32).view(3, 4)
    dtypes = ("bool", "uint8", "int8", "int16", "int32", "int64")
    return [
        [lib.tensor([0, 1, 2]).to(getattr(lib, name)) for name in dtypes],
        [x.to(getattr(lib, name)) for name in ("float16", "bfloat16", "float64")],
        {"transposed": x.t(), "expanded": lib.ones(3, 1).expand(3, 5), "row": x[1], "0-d": x[1, 2]},
        (lib.empty(0), lib.empty(2, 0, 3), "text", b"bytes", None, 3, 2.5, {1, 2}),
        Point(x[1:], [x.clone()]),
        lib.nn.Parameter(x.clone()),
        x.clone().requires_grad_(),
    ]


def test_kinds_of_values(oracle):
    """Values, dtypes, strides, containers; the tensors are in shared memory."""

    def run(lib):
        options = {"batch_size": None, "collate_fn": lambda sample: sample, "num_workers": 1}
        values = list(lib.utils.data.DataLoader(kinds(lib), **options))
        shared = [values[0][0].is_shared(), values[5].is_shared(), values[4].y[0].is_shared()]
        flags = [type(values[5]).__name__, *(value.requires_grad for value in values[5:])]
        return plain(values[:5]), shared, flags, plain([v.detach() for v in values[5:]])

    assert run(tiny_torch) == run(oracle)


def test_received_tensors_are_ordinary():
    """They may be written, saved without what they were cut from, and outlive all."""
    big = tiny_torch.arange(1000.0).view(10, 100)
    loader = tiny_torch.utils.data.DataLoader(big, batch_size=None, num_workers=2)
    rows = list(loader)
    del loader
    rows[3].add_(1)
    assert rows[3].tolist() == list(range(301, 401)) and rows[4].tolist() == list(range(400, 500))
    assert rows[3].untyped_storage().nbytes() == 400 and rows[3].data_ptr() % 64 == 0
    part = big[:, ::7]  # gaps are not sent
    (row,) = list(tiny_torch.utils.data.DataLoader([part], batch_size=None, num_workers=1))
    assert row.tolist() == part.tolist() and row.untyped_storage().nbytes() == part.numel() * 4


def test_attributes_and_sharing():
    x = tiny_torch.arange(3)
    x.label = "left"
    options = {"batch_size": None, "collate_fn": lambda sample: sample, "num_workers": 1}
    ((a, b),) = list(tiny_torch.utils.data.DataLoader([(x, x)], **options))
    assert a is b and a.label == "left"


def test_arrays_come_as_arrays():
    options = {"batch_size": None, "collate_fn": lambda sample: sample, "num_workers": 1}
    array = np.arange(6).reshape(2, 3)
    (got,) = list(tiny_torch.utils.data.DataLoader([array], **options))
    assert type(got) is np.ndarray and got.tolist() == array.tolist()
    got += 1


def test_more_tensors_than_files_go_along():
    from tiny_torch.utils.data._utils.channel import MOST_FILES

    many = [tiny_torch.full((3,), i) for i in range(MOST_FILES + 20)]
    options = {"batch_size": None, "collate_fn": lambda sample: sample, "num_workers": 1}
    (got,) = list(tiny_torch.utils.data.DataLoader([many], **options))
    assert [x.tolist() for x in got] == [x.tolist() for x in many]
    assert [x.is_shared() for x in got] == [True] * MOST_FILES + [False] * 20


def test_large_indices_and_batches():
    """More than fits into the way between the processes, in both directions at once."""
    batches = [list(range(i, i + 200_000)) for i in range(6)]
    loader = tiny_torch.utils.data.DataLoader(
        range(300_000),
        batch_sampler=batches,
        num_workers=2,
        prefetch_factor=3,
        collate_fn=lambda batch: [str(i) for i in batch],
    )
    assert [batch[:2] for batch in loader] == [[str(i), str(i + 1)] for i in range(6)]


def test_many_batches_kept():
    """Each tensor is its own mapping: neither open files nor labels' neighbours stay."""
    import os

    data = tiny_torch.utils.data
    before = len(os.listdir("/proc/self/fd"))
    pairs = data.TensorDataset(tiny_torch.zeros(600, 4), tiny_torch.arange(600))
    kept = [y for x, y in data.DataLoader(pairs, num_workers=2)]
    assert [y.item() for y in kept] == list(range(600))
    with open("/proc/self/maps") as maps:
        assert sum("tiny_torch_batch" in line for line in maps) == 600
    assert len(os.listdir("/proc/self/fd")) <= before + 4


def test_tensors_through_queues_of_multiprocessing():
    context = multiprocessing.get_context("fork")
    queue, back = context.Queue(), context.SimpleQueue()
    sent = [tiny_torch.arange(6.0).view(2, 3), tiny_torch.nn.Parameter(tiny_torch.ones(2))]

    def double():
        back.put([2 * x.detach() for x in queue.get(timeout=20)])

    process = context.Process(target=double)
    process.start()
    queue.put(sent)
    assert [x.tolist() for x in back.get()] == [[[0, 2, 4], [6, 8, 10]], [2, 2]]
    process.join(20)
    assert process.exitcode == 0


def test_no_warnings_in_ordinary_use():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
        assert len(list(tiny_torch.utils.data.DataLoader(range(8), num_workers=1))) == 8
