"""Datasets and comparisons that the tests of utils.data share."""

import gc
import multiprocessing
from collections import UserDict, UserList, namedtuple

import tiny_torch
from tiny_torch.utils import data

Point = namedtuple("Point", "x y")


def plain(value):
    """Tensors as (dtype, strides, elements), containers with their types."""
    kind = type(value).__name__
    if kind == "Tensor":
        return str(value.dtype), value.stride(), value.tolist()
    if isinstance(value, (dict, UserDict)):
        return kind, [(key, plain(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple, UserList)):
        return kind, [plain(item) for item in value]
    return kind, value


class Lines(data.Dataset):
    """Notes how it is asked."""

    def __init__(self, length):
        self.length, self.calls = length, []

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        self.calls.append(index)
        return index * 10


class Batched(Lines):
    def __getitems__(self, indices):
        self.calls.append(tuple(indices))
        return [index * 10 for index in indices]


def stream_class(base):
    class Stream(base):
        def __init__(self, length, claimed=None):
            self.length, self.claimed = length, claimed

        def __iter__(self):
            return iter(range(self.length))

        def __len__(self):
            if self.claimed is None:
                raise TypeError("no length")
            return self.claimed

    return Stream


Stream = stream_class(data.IterableDataset)


def next_draws(lib, generator):
    """Equal only if as many numbers were drawn before."""
    sources = [None, generator] if generator else [None]
    return [lib.randint(10**9, (3,), generator=source).tolist() for source in sources]


class Squares:
    """Can be pickled, for workers that are spawned."""

    shift = 0

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return tiny_torch.tensor(index * index + self.shift)


def note_worker(number):
    data.get_worker_info().dataset.shift = 100 * number


class Faulty:
    """Does something at sample 5."""

    def __init__(self, fault):
        self.fault = fault

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 5:
            self.fault()
        return index


def assert_no_children():
    gc.collect()
    assert multiprocessing.active_children() == []
