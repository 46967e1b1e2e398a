"""utils.data: datasets, samplers and the DataLoader; orders and random draws are PyTorch's."""

import decimal
import enum
import itertools
from collections import OrderedDict, UserDict, UserList, defaultdict

import numpy as np
import pytest
from data_helpers import Batched, Lines, Point, Stream, next_draws, plain
from helpers import on_intel

import tiny_torch as torch
from tiny_torch.utils import data
from tiny_torch.utils.data._utils import collate as collating

Colour = enum.IntEnum("Colour", "RED BLUE")

# ---- datasets --------------------------------------------------------------------------------


def test_tensor_dataset():
    rows = data.TensorDataset(torch.arange(6).view(3, 2), torch.arange(3))
    assert len(rows) == 3
    assert plain(rows[1]) == ("tuple", [("torch.int64", (1,), [2, 3]), ("torch.int64", (), 1)])
    assert rows[-1][1].item() == 2
    assert rows[:2][0].shape == (2, 2)
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(torch.zeros(2), torch.zeros(3))


def test_stack_dataset():
    assert data.StackDataset("abc", range(3))[1] == ("b", 1)
    assert data.StackDataset(a="abc", n=range(3))[1] == {"a": "b", "n": 1}
    lines = Batched(3)
    assert data.StackDataset(lines, "abc").__getitems__([2, 0]) == [(20, "c"), (0, "a")]
    assert data.StackDataset(x=lines).__getitems__([1]) == [{"x": 10}]
    assert lines.calls == [(2, 0), (1,)]
    lines.__class__ = type("Short", (Batched,), {"__getitems__": lambda self, indices: []})
    with pytest.raises(ValueError, match=r"Expected 1, got 0"):
        data.StackDataset(lines).__getitems__([1])
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        data.StackDataset("abc", range(4))
    with pytest.raises(ValueError, match="At least one dataset should be passed"):
        data.StackDataset()
    with pytest.raises(ValueError, match="both types are given"):
        data.StackDataset("abc", n=range(3))


def test_concat_dataset():
    joined = data.ConcatDataset(["ab", "", "cde"])
    assert [joined[i] for i in range(5)] == list("abcde")
    assert [joined[-i] for i in (1, 5)] == ["e", "a"]
    assert joined.cumulative_sizes == [2, 2, 5] and len(joined) == 5
    with pytest.raises(ValueError, match="absolute value of index should not exceed"):
        joined[-6]
    with pytest.raises(IndexError):
        joined[5]
    with pytest.raises(AssertionError, match="should not be an empty iterable"):
        data.ConcatDataset([])
    with pytest.raises(AssertionError, match="does not support IterableDataset"):
        data.ConcatDataset([Stream(3)])
    assert len(Lines(2) + Lines(3)) == 5


def test_chain_dataset():
    chain = Stream(2, 2) + Stream(3, 3)
    assert list(chain) == [0, 1, 0, 1, 2] and len(chain) == 5
    assert list(chain) == [0, 1, 0, 1, 2]
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(data.ChainDataset([Stream(1), [1]]))


def test_subset():
    assert list(data.Subset("abcde", [4, 0])) == ["e", "a"]
    assert data.Subset(np.arange(10) * 10, [4, 0, 7])[[0, 2]].tolist() == [40, 70]
    lines = Batched(9)
    nested = data.Subset(data.Subset(lines, [8, 7, 6]), [2, 0])
    assert nested.__getitems__([0, 1]) == [60, 80] and lines.calls == [(6, 8)]

    class OnlyOne(data.Subset):
        def __getitem__(self, index):
            return 0

    with pytest.raises(NotImplementedError, match="OnlyOne overrides __getitem__ but not"):
        OnlyOne("abc", [0])


def test_dataset_without_getitem():
    with pytest.raises(NotImplementedError, match="should implement __getitem__"):
        data.Dataset()[0]
    assert data.Dataset[int].__origin__ is data.Dataset


# ---- random_split and samplers against PyTorch -----------------------------------------------


SPLITS = [
    (10, [7, 3]),
    (10, [0.7, 0.3]),
    (11, [0.5, 0.25, 0.25]),
    (7, [1 / 3] * 3),
    (5, [1]),
    (4, [0, 4]),
    (10, [-1, 11]),
    (10, [3, -2, 9]),
]


@pytest.mark.torch
@pytest.mark.parametrize("seeded", ["default", "generator"])
@pytest.mark.parametrize("length, lengths", SPLITS)
def test_random_split(oracle, length, lengths, seeded):
    def split(lib):
        if seeded == "default":
            lib.manual_seed(3)
            parts = lib.utils.data.random_split(range(length), lengths)
        else:
            generator = lib.Generator().manual_seed(3)
            parts = lib.utils.data.random_split(range(length), lengths, generator=generator)
        return [list(part.indices) for part in parts]

    assert split(torch) == split(oracle)


def test_random_split_checks_its_lengths():
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        data.random_split(range(10), [5, 4])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        data.random_split(range(10), [-0.5, 1.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split(range(2), [0.9, 0.1])


SAMPLERS = {
    "sequential": lambda d, g: d.SequentialSampler(range(7)),
    "random": lambda d, g: d.RandomSampler(range(7), generator=g),
    "random, more": lambda d, g: d.RandomSampler(range(7), num_samples=20, generator=g),
    "random, whole rounds": lambda d, g: d.RandomSampler(range(7), num_samples=14, generator=g),
    "random, fewer": lambda d, g: d.RandomSampler(range(7), num_samples=3, generator=g),
    "replacement": lambda d, g: d.RandomSampler(range(7), True, generator=g),
    "replacement, 70": lambda d, g: d.RandomSampler(range(7), True, 70, generator=g),
    "replacement, 64": lambda d, g: d.RandomSampler(range(7), True, 64, generator=g),
    "subset": lambda d, g: d.SubsetRandomSampler([5, 3, 9, 1], generator=g),
    "weighted": lambda d, g: d.WeightedRandomSampler([0.1, 0.5, 0.4, 3.0], 9, generator=g),
    "weighted, without": lambda d, g: d.WeightedRandomSampler([1, 5, 4, 3], 3, False, generator=g),
    "batches": lambda d, g: d.BatchSampler(d.RandomSampler(range(7), generator=g), 3, False),
    "full batches": lambda d, g: d.BatchSampler(d.RandomSampler(range(7), generator=g), 3, True),
    "distributed": lambda d, g: d.DistributedSampler(range(7), 3, 1, seed=4),
    "distributed, cut": lambda d, g: d.DistributedSampler(range(7), 3, 2, drop_last=True),
    "distributed, few": lambda d, g: d.DistributedSampler(range(2), 5, 4),
    "distributed, none": lambda d, g: d.DistributedSampler(range(0), 5, 4),
}


def test_more_replicas_than_one_can_count():
    sampler = torch.utils.data.DistributedSampler(range(2), 2**62, 4, shuffle=False)
    assert (list(sampler), len(sampler)) == ([0], 1)


@pytest.mark.torch
@pytest.mark.parametrize("seeded", ["default", "generator"])
@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers(oracle, name, seeded):
    if name == "weighted, without" and on_intel():
        pytest.skip("PyTorch draws exponential numbers by MKL on Intel")

    def draw(lib):
        lib.manual_seed(11)
        generator = lib.Generator().manual_seed(5) if seeded == "generator" else None
        sampler = SAMPLERS[name](lib.utils.data, generator)
        epochs = [list(sampler), list(sampler)]
        return epochs, len(sampler), next_draws(lib, generator)

    assert draw(torch) == draw(oracle)


@pytest.mark.torch
def test_set_epoch(oracle):
    def draw(lib):
        sampler = lib.utils.data.DistributedSampler(range(20), num_replicas=2, rank=0)
        sampler.set_epoch(3)
        return list(sampler)

    assert draw(torch) == draw(oracle)


SAMPLER_ERRORS = [
    (lambda: data.RandomSampler([]), ValueError, "num_samples should be a positive integer"),
    (lambda: data.RandomSampler([1], num_samples=0), ValueError, "num_samples should be a pos"),
    (lambda: data.RandomSampler([1], 1), TypeError, "replacement should be a boolean value"),
    (lambda: data.BatchSampler([1], 0, False), ValueError, "batch_size should be a positive"),
    (lambda: data.BatchSampler([1], True, False), ValueError, "batch_size should be a positive"),
    (lambda: data.BatchSampler([1], 1, 0), ValueError, "drop_last should be a boolean value"),
    (lambda: data.WeightedRandomSampler([1.0], 0), ValueError, "num_samples should be a positive"),
    (lambda: data.WeightedRandomSampler([1.0], 1, 1), ValueError, "replacement should be a bool"),
    (lambda: data.WeightedRandomSampler([[1.0]], 1), ValueError, "weights should be a 1d sequence"),
    (lambda: data.DistributedSampler([1], 2, 2), ValueError, "Invalid rank 2"),
    (lambda: data.DistributedSampler([1]), ValueError, "process group has not been initialized"),
]


@pytest.mark.parametrize("case", SAMPLER_ERRORS, ids=lambda case: case[2])
def test_sampler_errors(case):
    call, error, message = case
    with pytest.raises(error, match=message):
        call()


def test_a_batch_sampler_takes_any_iterable_and_forgets_nothing():
    sampler = data.BatchSampler(iter(range(5)), 2, False)
    assert list(sampler) == [[0, 1], [2, 3], [4]] and list(sampler) == []
    with pytest.raises(TypeError):
        len(sampler)


# ---- collate ---------------------------------------------------------------------------------

COLLATE = {
    "tensors": lambda t: [t.arange(3), t.arange(3)],
    "0-d tensors": lambda t: [t.tensor(1.5), t.tensor(2.5)],
    "transposed tensors": lambda t: [t.arange(6).view(2, 3).t()] * 2,
    "ints": lambda t: [1, 2, 2**40],
    "bools": lambda t: [True, False],
    "floats": lambda t: [0.1, 0.2],
    "text": lambda t: ["a", "b"],
    "bytes": lambda t: [b"a", b"b"],
    "tuples": lambda t: [(1, "a", t.zeros(2)), (2, "b", t.ones(2))],
    "lists": lambda t: [[1, [2.0]], [3, [4.0]]],
    "dicts": lambda t: [{"x": 1, "y": [t.ones(1)]}, {"y": [t.ones(1)], "x": 2}],
    "ordered dicts": lambda t: [OrderedDict(b=1, a=2), OrderedDict(b=3, a=4)],
    "user containers": lambda t: [UserDict(a=UserList([1])), UserDict(a=UserList([2]))],
    "named tuples": lambda t: [Point(1, t.ones(2)), Point(2, t.zeros(2))],
    "ranges": lambda t: [range(2), range(2, 4)],
    "arrays": lambda t: [np.arange(3), np.arange(3)],
    "float32 arrays": lambda t: [np.zeros((2, 2), np.float32)] * 2,
    "numpy floats": lambda t: [np.float32(1), np.float32(2)],
    "numpy ints": lambda t: [np.int64(1), np.int64(2)],
    "numpy bools": lambda t: [np.True_, np.False_],
    "enums": lambda t: [Colour.RED, Colour.BLUE],
    "an int first": lambda t: [1, 2.5, True],
    "a bool first": lambda t: [True, 2],
    "tensors without elements": lambda t: [t.zeros(0, 2), t.zeros(0, 2)],
    "expanded tensors": lambda t: [t.zeros(1, 2).expand(3, 2)] * 2,
    "promoted tensors": lambda t: [t.tensor([1]), t.tensor([1.5])],
    "0-d arrays": lambda t: [np.array(1.5), np.array(2)],
    "no entries": lambda t: [{}, {}],
    "no items": lambda t: [[], []],
    "a key too many": lambda t: [{"a": 1}, {"a": 2, "b": 3}],
    "default dicts": lambda t: [defaultdict(list, a=1), defaultdict(list, a=2)],
    "infinity": lambda t: [float("-inf"), 1.0],
}


@pytest.mark.torch
@pytest.mark.parametrize("name", COLLATE)
def test_default_collate(oracle, name):
    ours = data.default_collate(COLLATE[name](torch))
    assert plain(ours) == plain(oracle.utils.data.default_collate(COLLATE[name](oracle)))


@pytest.mark.torch
@pytest.mark.parametrize("name", COLLATE)
def test_default_convert(oracle, name):
    ours = data.default_convert(COLLATE[name](torch))
    assert plain(ours) == plain(oracle.utils.data.default_convert(COLLATE[name](oracle)))


def test_default_convert_leaves_text():
    texts = np.array(["a", "b"])
    assert data.default_convert(texts) is texts
    assert data.default_convert("ab") == "ab" and data.default_convert(None) is None


COLLATE_ERRORS = [
    ([{1}, {2}], TypeError, "batch must contain tensors, numpy arrays, numbers, dicts or lists"),
    ([None], TypeError, "found <class 'NoneType'>"),
    ([np.array(["a"])], TypeError, "found <U1"),
    ([[1, 2], [3]], RuntimeError, "each element in list of batch should be of equal size"),
    ([{"a": 1}, {"b": 1}], KeyError, "a"),
]


@pytest.mark.parametrize("case", COLLATE_ERRORS, ids=lambda case: case[2])
def test_collate_errors(case):
    batch, error, message = case
    with pytest.raises(error, match=message):
        data.default_collate(batch)


COLLATE_ODD = {
    "nothing": lambda t: [],
    "a dict": lambda t: {"a": 1},
    "a number": lambda t: 5,
    "None inside": lambda t: [[None, 1]],
    "shapes": lambda t: [t.zeros(2), t.zeros(3)],
    "dims": lambda t: [t.zeros(2), t.zeros(1, 2)],
    "a number among tensors": lambda t: [t.zeros(()), 1],
    "a tensor among numbers": lambda t: [1, t.zeros(2)],
    "a list among numbers": lambda t: [1, [1]],
    "a number among lists": lambda t: [[1], 1],
    "a number among dicts": lambda t: [{"a": 1}, 1],
    "text among numbers": lambda t: [1, "a"],
    "huge numbers": lambda t: [10**30],
    "decimals": lambda t: [decimal.Decimal(1)],
    "negative strides": lambda t: [np.arange(2)[::-1]],
    "foreign byte order": lambda t: [np.zeros(2, dtype=">i4")],
    "dates": lambda t: [np.datetime64("2020-01-01")],
    "objects": lambda t: [np.array([object()], dtype=object)],
    "sets": lambda t: [frozenset([1])],
    "iterators": lambda t: [iter([1])],
}


@pytest.mark.torch
@pytest.mark.parametrize("name", COLLATE_ODD)
def test_errors_of_collate_are_of_pytorchs_type(oracle, name):
    def run(lib):
        try:
            return plain(lib.utils.data.default_collate(COLLATE_ODD[name](lib)))
        except Exception as error:
            return type(error)

    assert run(torch) == run(oracle)


def test_collate_with_other_functions():
    def join(batch, *, collate_fn_map):
        return "+".join(batch)

    assert collating.collate([("a",), ("b",)], collate_fn_map={str: join}) == ["a+b"]
    subclass = type("Name", (str,), {})
    assert collating.collate([subclass("a")], collate_fn_map={(int, str): join}) == "a"
    with pytest.raises(TypeError, match="found <class 'int'>"):
        collating.collate([1, 2])


def test_samplers_are_lazy(torch):
    sampler = torch.utils.data.RandomSampler
    for replacement in (True, False):
        torch.manual_seed(0)
        drawn = list(itertools.islice(sampler(range(5), replacement, 10**10), 100))
        torch.manual_seed(0)
        assert drawn == list(sampler(range(5), replacement, 100))
