"""Samples of nn.init and nn.utils."""

# ruff: noqa: E501 -- a sample is one string

from sweeps.sweep_cases import of

# -------------------------------------------------------------------------------------------- init

SHAPES = ("x", "m", "v", "s", "e", "x[None]", "y", "m.t()", "x[0, ::2]", "3")


def init(name: str, *more: str) -> None:
    of(
        f"nn.init.{name}",
        *[f"torch.NAME({shape})" for shape in SHAPES],
        *[f"torch.NAME({a})" for a in more],
    )


init(
    "uniform_", "x, -2, 3", "x, 3, -2", "x, a=0.5", "x, generator=torch.Generator().manual_seed(3)"
)
init(
    "normal_",
    "x, 2, 3",
    "x, 0, -1",
    "x, mean=3, std=0.1",
    "x, generator=torch.Generator().manual_seed(3)",
)
init(
    "trunc_normal_",
    "x, 2, 3",
    "x, 0, 1, -0.1, 0.2",
    "x, 5, 1, 0, 1",
    "x, std=0.02",
    "x, generator=torch.Generator().manual_seed(3)",
)
init("constant_", "x, 2", "x, 2.5", "m, True", "m, val=3", "x, 'a'", "s, -1", "v, 1e30")
init("ones_", "x, 2")
init("zeros_", "x, 2")
init("eye_", "m[:, :2]", "m[:3]", "m.t()[:2]")
init(
    "dirac_",
    "x, 3",
    "x[None], 1",
    "x, groups=3",
    "x, 2",
    "x[:, :, None], 1",
    "x[..., None, None], 3",
    "x, 0",
)
for name in ("xavier_uniform_", "xavier_normal_"):
    init(name, "x, 2.0", "m, gain=0.5", "m, generator=torch.Generator().manual_seed(3)", "m, 'a'")
for name in ("kaiming_uniform_", "kaiming_normal_"):
    init(
        name,
        "x, 0.2",
        "m, mode='fan_out'",
        "m, nonlinearity='relu'",
        "m, 0, 'fan_in', 'tanh'",
        "m, mode='fan'",
        "m, nonlinearity='none'",
        "x, math.sqrt(5)",
        "m, generator=torch.Generator().manual_seed(3)",
    )
init(
    "orthogonal_",
    "m, 2",
    "x, gain=0.5",
    "m[:2]",
    "m[:, :2]",
    "m, generator=torch.Generator().manual_seed(3)",
)
init(
    "sparse_",
    "m, 0.5",
    "m, sparsity=0.25",
    "m, 0.5, 2",
    "y, 0.1, std=0.1",
    "m, 0.5, generator=torch.Generator().manual_seed(3)",
    "x, 0.5",
)
for name in ("constant", "normal", "kaiming_normal", "xavier_uniform"):
    of(
        f"nn.init.{name}",
        *[f"torch.NAME({shape}{', 2.5' if name == 'constant' else ''})" for shape in SHAPES],
    )
    of(f"nn.init.{name}", "torch.NAME.__name__, x")
of(
    "nn.init.calculate_gain",
    *[f"torch.NAME({a!r}), x" for a in ("linear", "conv1d", "conv2d", "conv_transpose2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu", "none", 3)],
    "torch.NAME('leaky_relu', 0.3), x", "torch.NAME('leaky_relu', 'a')", "torch.NAME('leaky_relu', True)", "torch.NAME('tanh', 5), x",
)  # fmt: skip

# --------------------------------------------------------------------------------------- nn.utils

GRADS = """
def made(t):
    t = t.detach() if t.is_floating_point() else t.detach().float()
    q = nn.Parameter(t.clone())
    q.grad = t * 3
    return q
P = [made(x), made(y), made(s)]
"""
of(
    "nn.utils.clip_grad_norm_",
    *[f"R = torch.NAME({a})\n[R, [q.grad for q in P]]" for a in ("P, 1.0", "P, 1", "P[0], 0.5", "P, 2.0, 1", "P, 2.0, math.inf", "P, 2.0, norm_type=3.0", "P, 1e9", "P, 0.0", "[], 1.0", "iter(P), 1.0", "P, 1.0, error_if_nonfinite=True", "P, 1.0, foreach=False", "P, 1.0, foreach=True", "P, 'a'", "3, 1.0", "nn.Linear(2, 2).parameters(), 1.0")],
    "P[0].grad[0] = math.nan\nR = torch.NAME(P, 1.0)\n[R, [q.grad for q in P]]", "P[0].grad[0] = math.inf\ntorch.NAME(P, 1.0, error_if_nonfinite=True)", prepare=GRADS,
)  # fmt: skip
of(
    "nn.utils.clip_grad_value_",
    *[
        f"R = torch.NAME({a})\n[R, [q.grad for q in P]]"
        for a in (
            "P, 1.0",
            "P, 1",
            "P[0], 0.5",
            "P, 0",
            "[], 1.0",
            "iter(P), 1.0",
            "P, 1.0, False",
            "P, 0.5, foreach=True",
            "P, 'a'",
            "P, -1.0",
            "P, torch.tensor(0.5)",
        )
    ],
    prepare=GRADS,
)
of(
    "nn.utils.get_total_norm",
    *[
        f"torch.NAME({a})"
        for a in (
            "P",
            "[q.grad for q in P]",
            "P[0]",
            "P, 1",
            "P, math.inf",
            "P, norm_type=3.0",
            "[]",
            "iter(P)",
            "P, 2.0, True",
            "P, foreach=False",
            "P, 0",
            "P, -math.inf",
            "3",
            "[3]",
        )
    ],
    prepare=GRADS,
)
of(
    "nn.utils.clip_grads_with_norm_",
    *[
        f"R = torch.NAME({a})\n[R, [q.grad for q in P]]"
        for a in (
            "P, 1.0, torch.tensor(3.0)",
            "P[0], 1, torch.tensor(0.5)",
            "P, 2.0, torch.tensor(2.0), True",
            "P, 2.0, torch.tensor(5.0), foreach=False",
            "[], 1.0, torch.tensor(1.0)",
            "P, 1.0, 3.0",
            "P, 1.0",
        )
    ],
    prepare=GRADS,
)
of(
    "nn.utils.parameters_to_vector",
    *[
        f"torch.NAME({a})"
        for a in (
            "P",
            "P[:1]",
            "[x, y, s]",
            "[]",
            "iter(P)",
            "[x.mT]",
            "[x, 3]",
            "3",
            "nn.Linear(2, 2).parameters()",
            "x",
        )
    ],
    prepare=GRADS,
)
of(
    "nn.utils.vector_to_parameters",
    *[
        f"torch.NAME({a})\nP"
        for a in (
            "torch.arange(81.0), P",
            "torch.arange(90.0), P",
            "torch.arange(60.0), P[:1]",
            "x.flatten(), P[:1]",
            "torch.arange(3.0), P",
            "3, P",
            "torch.arange(81.0), iter(P)",
            "torch.arange(81), P",
            "torch.arange(1.0), []",
        )
    ],
    prepare=GRADS,
)
LINEAR = "D = X.dtype\nM = nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 3)).to(D)"
FLOAT = "X = x if x.is_floating_point() else x.float()\n"
REMOVE = {
    "nn.utils.weight_norm": "nn.utils.remove_weight_norm",
    "nn.utils.spectral_norm": "nn.utils.remove_spectral_norm",
}
for name, remove in REMOVE.items():
    of(
        name,
        *[f"R = torch.NAME({a})\n[repr(R), R.state_dict(), R(X), [n for n, _ in R.named_parameters()]]" for a in ("M[0]", "M[1], 'weight'", "M[0], dim=None" if "weight_norm" in name else "M[0], dim=1", "M[0], name='bias'", "M[0], 'nothing'", "M[0], 'weight', 1", "3")],
        "torch.NAME(torch.NAME(M[0]))", "R = copy.deepcopy(torch.NAME(M[0]).eval())\nR(X)", "R = torch.NAME(M[0])\nR.eval()\n[R(X), R(X)]", "torch.NAME(M[0])\nM(X).sum().backward()\n[q.grad for q in M.parameters()]", "torch.NAME(nn.Conv2d(1, 2, 3).to(D)).state_dict()",
        prepare=FLOAT + LINEAR,
    )  # fmt: skip
    of(
        remove,
        f"R = torch.{name}(M[0])\nR = torch.NAME(R)\n[R(X), R.state_dict(), repr(R)]",
        "torch.NAME(M[0])",
        f"torch.NAME(torch.{name}(M[0]), 'weight').weight, x",
        f"torch.NAME(torch.{name}(M[0]), 'bias')",
        "torch.NAME(3)",
        f"torch.{name}(M[0])\nM(X)\ntorch.NAME(M[0])\nM(X)",
        prepare=FLOAT + LINEAR,
    )
for name in ("weight_norm", "spectral_norm", "orthogonal"):
    of(
        f"nn.utils.parametrizations.{name}",
        *[f"R = torch.NAME({a})\n[repr(R), R.state_dict(), R(X)]" for a in ("M[0]", "M[1], 'weight'", "M[0], name='nothing'", "3", "M[0], 'bias'")],
        "R = torch.NAME(M[0])\nnn.utils.parametrize.remove_parametrizations(R, 'weight')\n[R(X), R.state_dict()]", "R = torch.NAME(M[0]).eval()\n[R(X), R.weight]", "torch.NAME(M[0])\nM(X).sum().backward()\n[q.grad for q in M.parameters()]", "R = copy.deepcopy(torch.NAME(M[0]).eval())\nR.weight",
        *[f"torch.NAME(M[1], {a}).eval()(X)" for a in {"weight_norm": ("dim=1", "dim=None"), "spectral_norm": ("n_power_iterations=3", "n_power_iterations=0", "eps=1e-3, dim=1"), "orthogonal": ("orthogonal_map='cayley'", "orthogonal_map='householder'", "orthogonal_map='none'", "use_trivialization=False")}[name]],
        prepare=FLOAT + LINEAR,
    )  # fmt: skip
SYMMETRIC = (
    FLOAT
    + LINEAR
    + "\nclass Symmetric(nn.Module):\n    def forward(self, q):\n        return q.triu() + q.triu(1).mT\nclass Both(Symmetric):\n    def right_inverse(self, q):\n        return q.triu()\nT = nn.utils.parametrize"
)
of(
    "nn.utils.parametrize.register_parametrization",
    *[f"R = torch.NAME({a})\n[R is M[0], repr(R), R.state_dict(), R(X), R.weight]" for a in ("M[0], 'weight', Symmetric()", "M[0], 'weight', Both()", "M[0], 'weight', nn.Identity()", "M[0], 'nothing', Symmetric()", "M[0], 'weight', nn.Flatten(0)", "M[0], 'weight', nn.Flatten(0), unsafe=True", "M[0], 'weight', 3", "3, 'weight', Both()", "M[0], 3, Both()", "torch.NAME(M[0], 'weight', Both()), 'weight', nn.Identity()")],
    "torch.NAME(M[0], 'weight', Both())\nM(X).sum().backward()\n[q.grad for q in M.parameters()]", "torch.NAME(M[0], 'weight', Both())\nM[0].weight = M[0].weight * 2\nM[0].weight", "with T.cached():\n    R = torch.NAME(M[0], 'weight', Both())\n    Q = R.weight is R.weight\nQ, x", prepare=SYMMETRIC,
)  # fmt: skip
of(
    "nn.utils.parametrize.remove_parametrizations",
    *[
        f"T.register_parametrization(M[0], 'weight', {kind})\nR = torch.NAME({a})\n[repr(R), R.state_dict(), R(X)]"
        for kind in ("Both()", "Symmetric()")
        for a in (
            "M[0], 'weight'",
            "M[0], 'weight', False",
            "M[0], 'weight', leave_parametrized=True",
            "M[0], 'bias'",
            "M[1], 'weight'",
        )
    ],
    prepare=SYMMETRIC,
)
of(
    "nn.utils.parametrize.is_parametrized",
    "torch.NAME(M[0]), x",
    *[
        f"T.register_parametrization(M[0], 'weight', Both())\ntorch.NAME({a}), x"
        for a in ("M[0]", "M", "M[0], 'weight'", "M[0], 'bias'", "M[0], tensor_name='nothing'", "3")
    ],
    prepare=SYMMETRIC,
)
PRUNE = (
    FLOAT
    + LINEAR
    + "\nimport importlib\nU = importlib.import_module(torch.__name__ + '.nn.utils.prune')"
)
PRUNED = "\n[M[0].state_dict(), M(X), U.is_pruned(M), [n for n, _ in M.named_parameters()]]"
PRUNE_CALLS = {  # of a function; the classes' `apply` take the same
    ("identity", "Identity"): ("M[0], 'weight'", "M[0], name='bias'", "M[0], 'nothing'"),
    ("random_unstructured", "RandomUnstructured"): ("M[0], 'weight', 0.5", "M[0], 'weight', 3", "M[0], 'weight', 2.5", "M[0], 'bias', amount=6"),
    ("l1_unstructured", "L1Unstructured"): ("M[0], 'weight', 0.5", "M[0], 'weight', 3", "M[0], 'weight', -1", "M[0], 'weight', 2, M[1].weight", "M[0], 'bias', 2, importance_scores=torch.arange(5.0)"),
    ("random_structured", "RandomStructured"): ("M[0], 'weight', 0.5, 0", "M[0], 'weight', 3, dim=-1", "M[0], 'bias', 1, 0", "M[0], 'weight', 6, 0"),
    ("ln_structured", "LnStructured"): ("M[0], 'weight', 0.5, 2, 0", "M[0], 'weight', 3, 1, dim=-1", "M[0], 'weight', amount=1, n=float('inf'), dim=1", "M[0], 'bias', 1, 2, 0", "M[0], 'weight', 1, 2, 2"),
    ("custom_from_mask", "CustomFromMask"): ("M[0], 'bias', torch.tensor([0, 1, 1, 0, 1])", "M[0], 'weight', mask=M[0].weight.detach() > 0", "M[0], 'weight', torch.ones(2)"),
}  # fmt: skip
for (name, kind), calls in PRUNE_CALLS.items():
    of(
        f"nn.utils.prune.{name}",
        *[f"U.{name}({a})" + PRUNED for a in calls],
        f"U.identity(M[0], 'weight')\nU.{name}({calls[0]})\nU.{name}({calls[0]})" + PRUNED,
        prepare=PRUNE,
    )
    of(f"nn.utils.prune.{kind}", *[f"U.{kind}.apply({a})" + PRUNED for a in calls], prepare=PRUNE)
for name, calls in {
    "BasePruningMethod": ("U.BasePruningMethod()", "[issubclass(U.Identity, U.BasePruningMethod)], x"),
    "PruningContainer": ("U.PruningContainer(3)", "H = U.PruningContainer(U.Identity.apply(M[0], 'weight'))\n[len(H), len(list(H)), type(H[0]).__name__], x", "U.PruningContainer(U.Identity.apply(M[0], 'weight')).add_pruning_method(U.Identity.apply(M[0], 'bias'))"),
    "global_unstructured": tuple(f"U.global_unstructured([(M[0], 'weight'), (M[1], 'bias')], U.{a})" + PRUNED for a in ("L1Unstructured, amount=0.5", "L1Unstructured, amount=3", "RandomUnstructured, amount=3", "LnStructured, amount=1, n=2", "L1Unstructured, amount=99", "Identity")),
    "remove": ("U.l1_unstructured(M[0], 'weight', 0.5)\nU.remove(M[0], 'weight')" + PRUNED, "U.remove(M[0], 'weight')", "U.identity(M[0], 'bias')\nU.remove(M[0], 'weight')"),
    "is_pruned": ("U.is_pruned(M), x", "U.identity(M[0], 'bias')\n[U.is_pruned(M), U.is_pruned(M[0]), U.is_pruned(M[1])], x", "U.is_pruned(3)"),
}.items():  # fmt: skip
    of(f"nn.utils.prune.{name}", *calls, prepare=PRUNE)
TIMES = """
import importlib
U = importlib.import_module(torch.__name__ + '.utils.benchmark')
def measured(times, **task):
    return U.Measurement(10, times, U.TaskSpec(**{"stmt": "a + b", "setup": "pass", **task}))
W = [measured([1e-5, 2e-5, 3e-5], label=l, description=d) for l in ("one", "two") for d in ("p", "q")]
"""
of(
    "utils.benchmark.Compare",
    "[str(U.Compare(W))], x",
    "Q = U.Compare(W[:2])\nQ.trim_significant_figures()\nQ.highlight_warnings()\nQ.colorize()\nQ.extend_results(W[2:])\n[str(Q)], x",
    "U.Compare([3])",
    "U.Compare(3)",
    prepare=TIMES,
)
of(
    "utils.benchmark.Colorize",
    "[v.value for v in U.Colorize], x",
    "U.Colorize('nothing')",
    prepare=TIMES,
)
of(
    "utils.benchmark.Measurement",
    "[[m.raw_times, m.number_per_run] for m in U.Measurement.merge(W + W)], x",
    "[W[0].median, W[0].iqr, W[0].title], x",
    "U.Measurement(3)",
    prepare=TIMES,
)
of(
    "utils.benchmark.TaskSpec",
    "[W[0].task_spec.summarize(), W[1].task_spec.title, W[0].task_spec == W[0].task_spec], x",
    "U.TaskSpec(3)",
    prepare=TIMES,
)
of(
    "utils.benchmark.Timer",
    "Q = U.Timer('y = 1').timeit(7)\n[Q.number_per_run, len(Q.times)], x",
    "U.Timer(3)",
    prepare=TIMES,
)
of("utils.benchmark.timer", "[U.timer() <= U.timer()], x", "U.timer(3)", prepare=TIMES)
of(
    "utils.benchmark.select_unit",
    *[f"[U.select_unit({a})], x" for a in ("1.0", "3e-5", "2e-9", "1e-3", "1e5")],
    "U.select_unit('a')",
    prepare=TIMES,
)
of(
    "utils.benchmark.trim_sigfig",
    *[f"torch.tensor(U.trim_sigfig({a}))" for a in ("1234.5, 2", "0.0123, 1", "9.99, 2")],
    prepare=TIMES,
)
of(
    "utils.benchmark.unit_to_english",
    "[U.unit_to_english(u) for u in ('ns', 'us', 'ms', 's')], x",
    "U.unit_to_english('h')",
    prepare=TIMES,
)
of(
    "nn.utils.skip_init",
    *[
        f"R = torch.NAME({a})\n[repr(R), [(n, q.shape, q.dtype) for n, q in R.named_parameters()]], x"
        for a in (
            "nn.Linear, 5, 3",
            "nn.Linear, 5, 3, bias=False",
            "nn.Conv2d, 1, 2, 3, dtype=torch.float64",
            "nn.ReLU",
            "3",
            "nn.Linear, 3",
            "torch.zeros, 3",
            "nn.Embedding, 3, 4, device='cpu'",
        )
    ],
)
of(
    "nn.utils.fuse_conv_bn_eval",
    *[
        f"C = nn.{c}\nB = {b}\nB(C(f[None]))\nR = torch.NAME(C.eval(), B.eval())\n[repr(R), R.state_dict(), R(f[None])]"
        for c in (
            "Conv2d(3, 4, 2)",
            "Conv2d(3, 4, (1, 2), bias=False)",
            "Conv2d(3, 4, 1, stride=2)",
        )
        for b in (
            "nn.BatchNorm2d(4)",
            "nn.BatchNorm2d(4, affine=False)",
            "nn.BatchNorm2d(4, eps=0.1)",
        )
    ],
    "torch.NAME(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4))",
    "torch.NAME(nn.ConvTranspose2d(3, 4, 1).eval(), nn.BatchNorm2d(4).eval(), transpose=True)(f[None])",
    "torch.NAME(3, 4)",
)

# ----------------------------------------------------------------------------------- nn.utils.rnn

LENGTHS = (
    "i.sort(descending=True).values + 1",
    "[3, 2, 1]",
    "[4, 4, 1]",
    "torch.tensor([3, 3, 3])",
)
of(
    "nn.utils.rnn.pack_padded_sequence",
    *[
        f"torch.NAME(x, {a})"
        for a in (
            *[f"{n}, batch_first=True" for n in LENGTHS],
            "[4, 2, 1, 1]",
            "[3, 1, 2, 2], enforce_sorted=False",
            "[1, 2, 3, 1]",
            "[3, 0, 1, 1]",
            "[3, 2], True",
            "[9, 1, 1], True",
            "3",
            "[1.5, 1, 1], True",
            "[2, 4, 3], True, False",
            "torch.tensor([2, 1, 1, 1], dtype=torch.int32)",
        )
    ],
)
of(
    "nn.utils.rnn.pack_sequence",
    *[
        f"torch.NAME({a})"
        for a in (
            "[x[0], x[1, :2]]",
            "[y, y[:2], y[:1]]",
            "[y[:1], y]",
            "[y[:1], y], enforce_sorted=False",
            "[]",
            "[s]",
            "x",
            "[v, v[:2]]",
            "[v, v[:0]]",
            "3",
            "(y, x[0])",
        )
    ],
)
of(
    "nn.utils.rnn.pad_sequence",
    *[
        f"torch.NAME({a})"
        for a in (
            "[x[0], x[1, :2]]",
            "[y, y[:2], y[:1]], True",
            "[y[:1], y], batch_first=True, padding_value=-1",
            "[y[:1], y], padding_side='left'",
            "[], True",
            "[s]",
            "x",
            "[v, v[:2]], padding_value=2.5",
            "[v, y]",
            "3",
            "(y, x[0])",
            "[y], padding_side='up'",
        )
    ],
)
of(
    "nn.utils.rnn.unpad_sequence",
    *[
        f"torch.NAME(x, {a})"
        for a in (
            "torch.tensor([2, 1, 3, 0])",
            "torch.tensor([4, 2, 1]), batch_first=True",
            "i + 1, True",
            "[3, 2, 1], True",
            "torch.tensor([9, 1, 1]), True",
            "3",
        )
    ],
)
PACKED = "G = nn.utils.rnn\nP = G.pack_padded_sequence(x, torch.tensor([2, 4, 1]), True, enforce_sorted=False)\nQ = G.pack_sequence([y, y[:2]])"
of(
    "nn.utils.rnn.pad_packed_sequence",
    *[
        f"torch.NAME({a})"
        for a in (
            "P",
            "P, True",
            "P, batch_first=True, padding_value=-2.0",
            "P, total_length=6",
            "P, total_length=2",
            "Q",
            "Q, True, 1.5, 5",
            "x",
            "3",
        )
    ],
    prepare=PACKED,
)
of(
    "nn.utils.rnn.unpack_sequence",
    "torch.NAME(P)",
    "torch.NAME(Q)",
    "torch.NAME(x)",
    "torch.NAME(P.to('cpu'))",
    prepare=PACKED,
)
of(
    "nn.utils.rnn.PackedSequence",
    "P",
    "Q.data",
    "[*P]",
    "P.batch_sizes, x",
    "P.sorted_indices, x",
    "P.unsorted_indices, x",
    "P.to(torch.float64)",
    "[P.is_cuda, P.is_pinned(), Q.unsorted_indices], x",
    "P.double().data",
    "P.cpu() is P, x",
    "P.long()",
    "torch.NAME(y, torch.tensor([2, 1, 1]))",
    "torch.NAME(y, torch.tensor([2, 1]), i)",
    "torch.NAME(y)",
    "torch.NAME(v, [2, 1])",
    "P.half().data.dtype == torch.float16, x",
    "nn.LSTM(5, 3)(Q.float())[0].data.shape, x",
    prepare=PACKED,
)
