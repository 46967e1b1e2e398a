"""Samples of utils.data, called `data`."""

# ruff: noqa: E501 -- a sample is one string

from sweeps.sweep_cases import of

DATA = "D = data.TensorDataset(x, x[:, 0])\nW = torch.Generator().manual_seed(5)"
of(
    "utils.data.Dataset",
    "torch.NAME()[0]",
    "len(torch.NAME())",
    "class A(torch.NAME):\n    def __getitem__(self, j):\n        return x[j]\n    def __len__(self):\n        return 3\n[A()[1], len(A()), len(A() + A()), (A() + A())[4]]",
    "torch.NAME(3)",
    "torch.NAME() + 3",
    "isinstance(data.TensorDataset(x), torch.NAME), x",
    "issubclass(data.IterableDataset, torch.NAME), x",
    "torch.NAME[int] is not None, x",
)
of(
    "utils.data.TensorDataset",
    *[
        f"R = torch.NAME({a})\n[len(R), R[0], R[-1], R.tensors]"
        for a in ("x", "x, i", "x, y", "x, x, x", "s", "", "3", "v, w", "x[1:], i[1:]")
    ],
    "torch.NAME(x)[5]",
    "torch.NAME(x)[1:]",
    "torch.NAME(x, i)[i]",
    "torch.NAME(x)['a']",
)
of(
    "utils.data.IterableDataset",
    "iter(torch.NAME())",
    "class A(torch.NAME):\n    def __iter__(self):\n        return iter(x)\n[[*A()], [*data.DataLoader(A(), 2)]]",
    "class A(torch.NAME):\n    def __iter__(self):\n        return iter(x)\nlen(A())",
    "class A(torch.NAME):\n    def __iter__(self):\n        return iter(x)\n[*(A() + A())]",
    "torch.NAME()[0]",
    "class A(torch.NAME):\n    pass\n[*data.DataLoader(A())]",
    "data.DataLoader(torch.NAME(), shuffle=True)",
    "data.DataLoader(torch.NAME(), sampler=[1])",
)
of(
    "utils.data.ConcatDataset",
    *[
        f"R = torch.NAME({a})\n[len(R), [*R], R.cumulative_sizes, R[-1]]"
        for a in (
            "[x, y]",
            "[x]",
            "[]",
            "[x[:0], x]",
            "(q for q in [x, x])",
            "3",
            "[D, D]",
            "[data.IterableDataset()]",
        )
    ],
    "torch.NAME([x, y])[7]",
    "torch.NAME([x, y])[-8]",
    "torch.NAME([x, y])[3]",
    prepare=DATA,
)
of(
    "utils.data.ChainDataset",
    "class A(data.IterableDataset):\n    def __iter__(self):\n        return iter(x)\n    def __len__(self):\n        return 3\nR = torch.NAME([A(), A()])\n[[*R], len(R)]",
    "[*torch.NAME([x])]",
    "[*torch.NAME([])]",
    "len(torch.NAME([]))",
    "torch.NAME(3)",
    "len(torch.NAME([x]))",
    "[*torch.NAME([3])]",
)
of(
    "utils.data.StackDataset",
    *[
        f"R = torch.NAME({a})\n[len(R), R[0], R[-1]]"
        for a in ("x, x[:, 0]", "a=x, z=D", "x", "x, a=x", "", "x, y", "D, x", "a=x, b=y", "3")
    ],
    "torch.NAME(x, D).__getitems__([0, 2])",
    "torch.NAME(a=x, b=D).__getitems__([0, 2])",
    prepare=DATA,
)
of(
    "utils.data.Subset",
    *[
        f"R = torch.NAME({a})\n[len(R), [*R], R.indices]"
        for a in (
            "x, [2, 0]",
            "D, [1]",
            "x, []",
            "x, [7]",
            "x, range(2)",
            "D, i",
            "x",
            "3, [1]",
            "x, 3",
        )
    ],
    "torch.NAME(D, [0, 2])[1]",
    "torch.NAME(D, [0, 2]).__getitems__([1, 0])",
    "torch.NAME(x, [0, 2])[[1, 0]]",
    prepare=DATA,
)
of(
    "utils.data.random_split",
    *[
        f"[[*part.indices] for part in torch.NAME({a})], x"
        for a in (
            "x, [2, 1]",
            "x, [1, 1, 1], W",
            "range(10), [0.5, 0.5], generator=W",
            "range(10), [0.33, 0.33, 0.34]",
            "range(10), [0.3, 0.3]",
            "range(10), [0.6, 0.6]",
            "x, [1, 1]",
            "x, [3, 0]",
            "x, []",
            "x, 3",
            "range(10), [-0.5, 1.5]",
            "range(11), [0.5, 0.5]",
        )
    ],
    prepare=DATA,
)
of(
    "utils.data.Sampler",
    "torch.NAME()",
    "iter(torch.NAME())",
    "class A(torch.NAME):\n    def __iter__(self):\n        return iter([2, 0])\n[*data.DataLoader(x, sampler=A())]",
    "len(torch.NAME())",
    "torch.NAME(3)",
    "isinstance(data.SequentialSampler(x), torch.NAME), x",
    "torch.NAME[int] is not None, x",
)
of(
    "utils.data.SequentialSampler",
    *[f"R = torch.NAME({a})\n[[*R], len(R)], x" for a in ("x", "D", "range(4)", "[]", "3", "")],
    prepare=DATA,
)
of(
    "utils.data.RandomSampler",
    *[
        f"R = torch.NAME({a})\n[[*R], [*R], len(R), R.num_samples, R.replacement], x"
        for a in (
            "x",
            "D, generator=W",
            "range(20), True",
            "range(20), True, 50, W",
            "range(20), num_samples=5",
            "range(4), num_samples=9, generator=W",
            "[]",
            "range(4), 3",
            "range(4), num_samples=0",
            "range(4), num_samples=-1",
            "range(4), num_samples=2.5",
            "3",
            "range(100), replacement=True, num_samples=70, generator=W",
        )
    ],
    prepare=DATA,
)
of(
    "utils.data.SubsetRandomSampler",
    *[
        f"R = torch.NAME({a})\n[[*R], [*R], len(R)], x"
        for a in ("[3, 5, 9]", "range(20), W", "[]", "i", "['a', 'b'], generator=W", "3", "")
    ],
    prepare=DATA,
)
of(
    "utils.data.WeightedRandomSampler",
    *[
        f"R = torch.NAME({a})\n[[*R], [*R], len(R)], x"
        for a in (
            "[1, 2, 3], 5",
            "[1, 2, 3], 2, False, W",
            "torch.arange(5.0), 20, generator=W",
            "[0.1, 0.9], 3, replacement=False",
            "[1, 2], 0",
            "[1, 2], 2.5",
            "[1, 2], True",
            "[1, 2], 2, 1",
            "[[1, 2]], 2",
            "[], 2",
            "[0, 0], 2",
            "[-1, 1], 2",
            "3, 2",
        )
    ],
    prepare=DATA,
)
of(
    "utils.data.BatchSampler",
    *[
        f"R = torch.NAME({a})\n[[*R], len(R), R.batch_size, R.drop_last], x"
        for a in (
            "range(10), 3, False",
            "range(10), 3, True",
            "data.SequentialSampler(x), 2, drop_last=False",
            "data.RandomSampler(range(9), generator=W), 4, False",
            "range(10), 0, False",
            "range(10), 2.5, False",
            "range(10), True, False",
            "range(10), 3, 1",
            "range(10), 3",
            "[], 3, True",
            "3, 3, True",
        )
    ],
    prepare=DATA,
)
of(
    "utils.data.DistributedSampler",
    *[
        f"R = torch.NAME({a})\nQ = [*R]\nR.set_epoch(2)\n[Q, [*R], len(R)], x"
        for a in (
            "range(10), 2, 0",
            "range(10), 3, 1",
            "range(10), 3, 2, False",
            "range(10), num_replicas=3, rank=0, drop_last=True",
            "range(10), 3, 1, seed=5",
            "range(2), 5, 4",
            "range(10), 2, 2",
            "range(10), 2, -1",
            "[], 2, 0",
            "range(10)",
            "range(10), 4, 3, shuffle=False, drop_last=True",
        )
    ],
)
of(
    "utils.data.default_collate utils.data.default_convert",
    *[f"torch.NAME({a})" for a in ("[x[0], x[1]]", "[(x, 1), (x, 2)]", "[{'a': s, 'b': 2.5}, {'a': s, 'b': 3.5}]", "['a', 'b']", "[1, 2]", "[1.5, 2.5]", "[True, False]", "[]", "[None, None]", "[x, y]", "[[1, 2], [3]]", "[np.float32(1), np.float32(2)]", "[np.ones(2), np.zeros(2)]", "[np.array('a')]", "[{'a': 1}, {'b': 2}]", "3", "x", "np.arange(3)", "[object()]", "[b'a', b'b']", "({'a': [x, (1, 'a')]},)", "None", "[v, v * 2, w]", "2.5", "[s, s]", "[[x[0], 'a'], [x[1], 'b']]")],
    "from collections import namedtuple\nT = namedtuple('T', 'a b')\nR = torch.NAME([T(v, 1), T(w, 2)])\n[R, type(R if isinstance(R, tuple) else R[0]).__name__]", "from collections import OrderedDict\ntorch.NAME([OrderedDict(a=v, b=1), OrderedDict(a=w, b=2)])",
)  # fmt: skip
of(
    "utils.data.get_worker_info",
    "torch.NAME(), x",
    "torch.NAME() is None, x",
    "torch.NAME(3)",
    "class A(data.Dataset):\n    def __len__(self):\n        return 4\n    def __getitem__(self, j):\n        q = torch.utils.data.get_worker_info()\n        return [j, q.id, q.num_workers, q.seed % 2**31]\n[*data.DataLoader(A(), 2, num_workers=2)], s",
    "class A(data.Dataset):\n    def __len__(self):\n        return 2\n    def __getitem__(self, j):\n        return torch.utils.data.get_worker_info() is None\n[*data.DataLoader(A())], s",
)
of(
    "utils.data.DataLoader",
    *[f"R = torch.NAME({a})\n[[*R], [*R], len(R)]" for a in ("x", "D", "D, 2", "D, 2, True", "D, batch_size=2, drop_last=True", "D, None", "D, 2, shuffle=True, generator=W", "D, sampler=[2, 1]", "D, batch_sampler=[[0, 2], [1]]", "D, 2, collate_fn=len", "D, 2, sampler=data.RandomSampler(D, True, 7, W)", "range(7), 3, True", "['a', 'bc', 'd'], 2", "[{'a': v, 'b': 1}, {'a': w, 'b': 2}], 2", "D, 0", "D, -1", "D, 2.5", "D, shuffle=True, sampler=[1]", "D, 2, batch_sampler=[[1]]", "D, num_workers=-1", "D, timeout=-1", "D, None, drop_last=True", "D, prefetch_factor=2", "D, persistent_workers=True", "D, batch_sampler=[[1]], shuffle=True", "3", "[x, y], 2", "[], 2", "D, 2, in_order=False", "D, timeout=3", "D, multiprocessing_context='fork'")],
    "repr(type(data.DataLoader(D))) is not None, x", "R = torch.NAME(D, 2)\n[R.batch_size, R.num_workers, R.drop_last, R.pin_memory, R.timeout, type(R.sampler).__name__, type(R.batch_sampler).__name__], x", "R = torch.NAME(D, 2)\nR.batch_size = 3", "R = iter(torch.NAME(D, 2))\n[next(R), len(R), next(R)]", "R = iter(torch.NAME(D, 3))\nnext(R)\nnext(R)", prepare=DATA,
)  # fmt: skip
of(
    "utils.data.DataLoader",
    *[
        f"[*torch.NAME(range(6), {a})], s"
        for a in (
            "2, num_workers=2",
            "2, True, num_workers=2, generator=W",
            "3, num_workers=1, persistent_workers=True",
            "1, num_workers=2, prefetch_factor=3",
            "2, num_workers=1, prefetch_factor=0",
            "2, num_workers=1, timeout=20, worker_init_fn=lambda n: torch.manual_seed(n)",
        )
    ],
)
