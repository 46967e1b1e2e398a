"""The DataLoader; orders and random draws are PyTorch's."""

import warnings

import numpy as np
import pytest
from data_helpers import Batched, Lines, Stream, next_draws, plain, stream_class

import tiny_torch as torch
from tiny_torch.utils import data
from tiny_torch.utils.data._utils import collate as collating


def rows(lib, n=10):
    return lib.utils.data.TensorDataset(lib.arange(n * 2).view(n, 2), lib.arange(n) + 0.5)


LOADERS = {
    "defaults": {},
    "batches": {"batch_size": 3},
    "full batches": {"batch_size": 3, "drop_last": True},
    "one batch": {"batch_size": 100},
    "no batch": {"batch_size": 100, "drop_last": True},
    "shuffled": {"batch_size": 4, "shuffle": True},
    "singly": {"batch_size": None},
    "singly, shuffled": {"batch_size": None, "shuffle": True},
    "sampler": {"sampler": [3, 1, 2], "batch_size": 2},
    "batch sampler": {"batch_sampler": [[3, 1], [2], [-1]]},
    "collate": {"batch_size": 4, "collate_fn": len},
}


@pytest.mark.torch
@pytest.mark.parametrize("seeded", ["default", "generator"])
@pytest.mark.parametrize("name", LOADERS)
def test_loader(oracle, name, seeded):
    """Batches, their layout, and where two epochs leave the generators."""

    def run(lib):
        lib.manual_seed(17)
        generator = lib.Generator().manual_seed(5) if seeded == "generator" else None
        loader = lib.utils.data.DataLoader(rows(lib), generator=generator, **LOADERS[name])
        epochs = [plain(list(loader)), plain(list(loader)), len(loader)]
        return epochs, next_draws(lib, generator)

    assert run(torch) == run(oracle)


@pytest.mark.torch
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 3},
        {"batch_size": 3, "drop_last": True},
        {"batch_size": None},
        {"batch_size": 2},
    ],
)
def test_streams(oracle, options):
    def run(lib):
        lib.manual_seed(17)
        stream = stream_class(lib.utils.data.IterableDataset)(8, 8)
        loader = lib.utils.data.DataLoader(stream, **options)
        return plain(list(loader)), plain(list(loader)), len(loader), lib.initial_seed()

    assert run(torch) == run(oracle)


@pytest.mark.torch
def test_the_seed_is_drawn_before_the_samplers(oracle):
    def run(lib):
        lib.manual_seed(1)
        loader = lib.utils.data.DataLoader(range(6), shuffle=True, batch_size=6)
        first = iter(loader)
        between = lib.randint(100, (3,)).tolist()
        return between, next(first).tolist(), lib.randint(100, (3,)).tolist()

    assert run(torch) == run(oracle)


def test_subsets_of_tensors_are_gathered_and_equal_stacking():
    whole = rows(torch)
    part = data.Subset(data.Subset(whole, [9, 8, 7, 6, 5]), [0, 2, 4])
    slow = type("Slow", (data.TensorDataset,), {})(*whole.tensors)
    slow_part = data.Subset(data.Subset(slow, [9, 8, 7, 6, 5]), [0, 2, 4])
    for fast, plainly in [(whole, slow), (part, slow_part)]:
        pair = [list(data.DataLoader(source, batch_size=2)) for source in (fast, plainly)]
        assert plain(pair[0]) == plain(pair[1])


def test_gathering_stands_back_where_it_would_differ(monkeypatch):
    x = torch.ones(4, 2, requires_grad=True)
    (batch,) = next(iter(data.DataLoader(data.TensorDataset(x), batch_size=2)))
    batch.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    whole = data.TensorDataset(torch.arange(4))
    assert next(iter(data.DataLoader(whole, sampler=[-1])))[0].tolist() == [3]
    with pytest.raises(IndexError):
        next(iter(data.DataLoader(whole, sampler=[4])))
    for indices in (torch.tensor([2, 3]), np.array([2, 3]), (2, 3)):
        loader = data.DataLoader(data.Subset(whole, indices), batch_size=2)
        assert [b[0].tolist() for b in loader] == [[2, 3]]
    changed = {**collating.default_collate_fn_map, torch.Tensor: lambda b, collate_fn_map: len(b)}
    monkeypatch.setattr(collating, "default_collate_fn_map", changed)
    assert next(iter(data.DataLoader(whole, batch_size=3))) == [3]


def test_getitems_is_preferred():
    lines, batched = Lines(4), Batched(4)
    for dataset in (lines, batched):
        assert [b.tolist() for b in data.DataLoader(dataset, batch_size=2)] == [[0, 10], [20, 30]]
    assert lines.calls == [0, 1, 2, 3] and batched.calls == [(0, 1), (2, 3)]


def test_a_stream_is_not_asked_for_more_than_a_batch():
    seen = []

    class Counting(data.IterableDataset):
        def __iter__(self):
            for i in range(5):
                seen.append(i)
                yield i

    batches = iter(data.DataLoader(Counting(), batch_size=2))
    next(batches)
    assert seen == [0, 1]


def test_iterators_are_independent():
    loader = data.DataLoader(range(4), batch_size=2)
    one, two = iter(loader), iter(loader)
    assert next(one).tolist() == next(two).tolist() == [0, 1]
    assert [b.tolist() for b in one] == [[2, 3]] and len(two) == 2


def test_a_stream_longer_than_it_said_warns():
    loader = data.DataLoader(Stream(3, claimed=2), batch_size=None)
    assert len(list(loader)) == 3
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2"):
        list(loader)


def test_pin_memory_warns_and_does_nothing():
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert len(list(data.DataLoader(range(3), pin_memory=True))) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(data.DataLoader(range(3)))


def test_worker_info():
    assert data.get_worker_info() is None
    infos = list(data.DataLoader(range(2), collate_fn=lambda b: data.get_worker_info()))
    assert infos == [None, None]


LOADER_ERRORS = [
    ({"num_workers": -1}, "num_workers option should be non-negative"),
    ({"timeout": -1}, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
    ({"num_workers": 1, "prefetch_factor": -2}, "prefetch_factor option should be non-negative"),
    ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
    ({"multiprocessing_context": "fork"}, "multiprocessing_context can only be used with"),
    ({"sampler": [0], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
    (
        {"batch_sampler": [[0]], "batch_size": 2},
        "batch_sampler option is mutually exclusive with b",
    ),
    (
        {"batch_sampler": [[0]], "shuffle": True},
        "batch_sampler option is mutually exclusive with b",
    ),
    (
        {"batch_sampler": [[0]], "drop_last": True},
        "batch_sampler option is mutually exclusive with",
    ),
    ({"batch_sampler": [[0]], "sampler": [0]}, "batch_sampler option is mutually exclusive with b"),
    ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
    ({"batch_size": 0}, "batch_size should be a positive integer value, but got batch_size=0"),
]
STREAM_ERRORS = [
    ({"shuffle": True}, "expected unspecified shuffle option, but got shuffle=True"),
    ({"sampler": [0]}, r"expected unspecified sampler option, but got sampler=\[0\]"),
    ({"batch_sampler": [[0]]}, "expected unspecified batch_sampler option"),
]


@pytest.mark.parametrize("lib", ["ours", pytest.param("theirs", marks=pytest.mark.torch)])
@pytest.mark.parametrize("options, message", LOADER_ERRORS)
def test_loader_errors(options, message, lib):
    lib = torch if lib == "ours" else pytest.importorskip("torch")
    with pytest.raises(ValueError, match=message):
        lib.utils.data.DataLoader(range(4), **options)


@pytest.mark.parametrize("lib", ["ours", pytest.param("theirs", marks=pytest.mark.torch)])
@pytest.mark.parametrize("options, message", STREAM_ERRORS)
def test_stream_errors(options, message, lib):
    lib = torch if lib == "ours" else pytest.importorskip("torch")
    stream = stream_class(lib.utils.data.IterableDataset)(3)
    with pytest.raises(ValueError, match=message):
        lib.utils.data.DataLoader(stream, **options)


def test_a_timeout_needs_workers():
    with pytest.raises(AssertionError, match="requires timeout == 0"):
        iter(data.DataLoader(range(4), timeout=1))


@pytest.mark.parametrize("name", ["batch_size", "sampler", "batch_sampler", "drop_last", "dataset"])
def test_a_loader_is_not_changed(name):
    loader = data.DataLoader(range(4))
    with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is"):
        setattr(loader, name, 2)
    loader.collate_fn = len
    assert list(loader) == [1, 1, 1, 1]


def test_module_paths():
    from tiny_torch.utils.data import dataloader, dataset, distributed, sampler

    assert dataloader.DataLoader is data.DataLoader and dataset.Subset is data.Subset
    assert distributed.DistributedSampler is data.DistributedSampler
    assert sampler.RandomSampler is data.RandomSampler
    assert dataloader.default_collate is data.default_collate
