"""What is measured on a GPU, ours and PyTorch's by the same lines: text that either runs.

In a line's names are `torch`, `F`, `nn`, `device`, `sync`, `r(*shape)` for random numbers there,
and the sizes below. Nothing in a line says which device it is, so that lines are tried without one.
"""

from dataclasses import dataclass

# N: elements; ROWS, COLS: a matrix; M, BIG: sides of products; B, C, HW: images, their channels and
# sides; T, HEADS: tokens of attention; BATCH, SEQUENCES: of a step; WIDTH: what divides ResNet's.
FULL = {"N": 10**8, "ROWS": 24_000, "COLS": 4096, "M": 4096, "BIG": 8192, "B": 64, "C": 256,
        "HW": 28, "T": 2048, "HEADS": 16, "BATCH": 256, "SEQUENCES": 128, "WIDTH": 1}  # fmt: skip
TINY = {"N": 300, "ROWS": 4, "COLS": 70, "M": 32, "BIG": 48, "B": 1, "C": 8,
        "HW": 5, "T": 40, "HEADS": 1, "BATCH": 2, "SEQUENCES": 1, "WIDTH": 64}  # fmt: skip

PREPARE = """
F, nn = torch.nn.functional, torch.nn
def sync():
    if device == "cuda": torch.cuda.synchronize()
def r(*shape, dtype=None): return torch.randn(*shape, device=device, dtype=dtype)
torch.manual_seed(0)
torch.set_float32_matmul_precision("highest")
torch.backends.cudnn.allow_tf32 = False
"""


@dataclass(frozen=True)
class GpuLine:
    name: str
    made: str  # run once
    call: str  # measured
    moved: str = "0"  # bytes that it must read and write, by the sizes
    work: str = "0"  # multiplications and additions
    calls: int = 1  # of what the time is said, in one `call`


HALVES = ("bfloat16", "float16")
OPTIMIZERS = {
    "SGD": "lr=1e-3, momentum=0.9, foreach=True",
    **dict.fromkeys(("Adam", "AdamW", "RMSprop"), "lr=1e-3, foreach=True"),
}
# All parameters of ResNet-18, each with a gradient; a tenth or less of them where WIDTH says so.
RESNET18 = """
sizes = [(64, 3, 7, 7), *[(64, 64, 3, 3)] * 4, *[(128, 128, 3, 3)] * 4, *[(256, 256, 3, 3)] * 4,
         *[(512, 512, 3, 3)] * 4, *[(512,)] * 40, (1000, 512)]
sizes = [tuple(-(-n // WIDTH) for n in size) for size in sizes]
parameters = [r(*size).requires_grad_() for size in sizes]
for p in parameters: p.grad = torch.randn_like(p)
"""
STEP = """
from benchmarks.steps import Mode, step_of
step = step_of(torch, {name!r}, batch={batch}, mode=Mode(device{mode}))
"""
# of autocast, by dtype; a scaler has its use with float16 alone
AMP = {
    "bfloat16": ", torch.bfloat16",
    "float16": ", torch.float16, torch.amp.GradScaler(device, init_scale=2.0**10)",
}
CAPTURED = """
from benchmarks.steps import Mode, mlp_sgd
step = mlp_sgd(torch, batch=BATCH, mode=Mode(device))
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3): step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph): step()
"""
EMBEDDED = "i = torch.randint(COLS * 8, (ROWS,), device=device); "
MATRIX = "a = r(ROWS, COLS)"
GRAD = "; a.requires_grad_(); g = torch.ones_like(a)"


def elementwise() -> list[GpuLine]:
    one, two = "a = r(N)", "a, b = r(N), r(N)"
    return [
        GpuLine("copy", one, "a.clone()", "8 * N"),
        GpuLine("add", two, "a + b", "12 * N"),
        GpuLine("add, bfloat16", "a, b = r(N).bfloat16(), r(N).bfloat16()", "a + b", "6 * N"),
        GpuLine("add in place", two, "a.add_(b)", "12 * N"),
        GpuLine("exp", one, "a.exp()", "8 * N"),
        GpuLine("gelu", one, "F.gelu(a)", "8 * N"),
        GpuLine("gelu, float16", "a = r(N).half()", "F.gelu(a)", "4 * N"),
        GpuLine("where", two + "; c = a > 0", "torch.where(c, a, b)", "13 * N"),
        GpuLine("add to rows", MATRIX + "; b = r(COLS)", "a + b", "8 * ROWS * COLS"),
        GpuLine(
            "add, transposed",
            "a, b = r(COLS, ROWS).t(), r(ROWS, COLS)",
            "a + b",
            "12 * ROWS * COLS",
        ),
        GpuLine("transposed copy", MATRIX, "a.t().contiguous()", "8 * ROWS * COLS"),
        GpuLine("float32 to bfloat16", one, "a.bfloat16()", "6 * N"),
        GpuLine("float16 to float32", "a = r(N).half()", "a.float()", "6 * N"),
        GpuLine("dropout", one, "F.dropout(a, 0.1)", "9 * N"),
        GpuLine("randn", "a = r(N)", "torch.randn_like(a)", "4 * N"),
    ]


def reductions() -> list[GpuLine]:
    whole = "4 * ROWS * COLS"
    return [
        GpuLine("sum", "a = r(N)", "a.sum()", "4 * N"),
        GpuLine("sum of rows", MATRIX, "a.sum(1)", whole),
        GpuLine("sum of columns", MATRIX, "a.sum(0)", whole),
        GpuLine("sum of columns, bfloat16", MATRIX + ".bfloat16()", "a.sum(0)", f"{whole} / 2"),
        GpuLine("argmax of rows", MATRIX, "a.argmax(1)", whole),
        GpuLine("var", MATRIX, "a.var(1)", whole),
        GpuLine("cumsum of rows", MATRIX, "a.cumsum(1)", f"2 * {whole}"),
        GpuLine("cumsum", "a = r(N)", "a.cumsum(0)", "8 * N"),
        GpuLine("sort", "a = r(N // 10)", "a.sort()", "1.6 * N"),
        GpuLine("topk of rows", MATRIX, "a.topk(10)", whole),
        GpuLine("histc", "a = r(N)", "a.histc(100, -4, 4)", "4 * N"),
        GpuLine("nonzero", "a = r(N) > 0", "a.nonzero()", "5 * N"),
        GpuLine("embedding", EMBEDDED + "a = r(COLS * 8, 512)", "F.embedding(i, a)", "4096 * ROWS"),
        GpuLine(
            "embedding's gradient",
            EMBEDDED + "a = r(COLS * 8, 512).requires_grad_(); y = F.embedding(i, a); "
            "g = torch.ones_like(y)",
            "torch.autograd.grad(y, a, g, retain_graph=True)",
            "2048 * ROWS + 16384 * COLS",
        ),
    ]


def products() -> list[GpuLine]:
    high = '; torch.set_float32_matmul_precision("high")'
    square = "2 * M**3"
    convolved = "x, w = (r(*s, dtype=torch.{}) for s in ((B, C, HW, HW), (C, C, 3, 3)))"
    last = "; x, w = (t.to(memory_format=torch.channels_last) for t in (x, w))"
    of_conv = "2 * B * HW**2 * C**2 * 9"
    attended = "q, k, v = (r(8, HEADS, T, 64, dtype=torch.{}).requires_grad_({}) for _ in range(3))"
    attention = "F.scaled_dot_product_attention(q, k, v, is_causal={})"
    of_attention = "4 * 8 * HEADS * T**2 * 64"
    return [
        GpuLine("matmul, float32", "a = r(M, M)", "a @ a", "12 * M**2", square),
        GpuLine("matmul, TF32", "a = r(M, M)" + high, "a @ a", "12 * M**2", square),
        *[
            GpuLine(
                f"matmul, {half}", f"a = r(M, M, dtype=torch.{half})", "a @ a", "6 * M**2", square
            )
            for half in HALVES
        ],
        GpuLine(
            "matmul, bfloat16, large",
            "a = r(BIG, BIG, dtype=torch.bfloat16)",
            "a @ a",
            "6 * BIG**2",
            "2 * BIG**3",
        ),
        GpuLine(
            "matmul, bfloat16, long and thin",
            "a, b = (r(*s, dtype=torch.bfloat16) for s in ((M, 16 * M), (16 * M, 64)))",
            "a @ b",
            "32 * M**2",
            "2 * M * 16 * M * 64",
        ),
        GpuLine(
            "bmm, float16",
            "a = r(8 * HEADS, 128, 128).half()",
            "a @ a",
            "6 * 8 * HEADS * 128**2",
            "2 * 8 * HEADS * 128**3",
        ),
        GpuLine(
            "linear, float32",
            "a, w, b = r(M, 1024), r(4096, 1024), r(4096)",
            "F.linear(a, w, b)",
            "0",
            "2 * M * 1024 * 4096",
        ),
        GpuLine(
            "conv 3x3, float32",
            convolved.format("float32"),
            "F.conv2d(x, w, padding=1)",
            "0",
            of_conv,
        ),
        *[
            GpuLine(
                f"conv 3x3, {half}{said}",
                convolved.format(half) + how,
                "F.conv2d(x, w, padding=1)",
                "0",
                of_conv,
            )
            for half in HALVES
            for said, how in (("", ""), (", channels last", last))
        ],
        GpuLine(
            "conv 3x3, bfloat16, gradients",
            convolved.format("bfloat16")
            + "; x.requires_grad_(); w.requires_grad_(); y = F.conv2d(x, w, padding=1)"
            "; g = torch.ones_like(y)",
            "torch.autograd.grad(y, (x, w), g, retain_graph=True)",
            "0",
            f"2 * {of_conv}",
        ),
        GpuLine(
            "depthwise conv, float32",
            "x, w = r(B, C, HW, HW), r(C, 1, 3, 3)",
            "F.conv2d(x, w, padding=1, groups=C)",
            "8 * B * C * HW**2",
        ),
        *[
            GpuLine(
                f"attention, {half}{said}",
                attended.format(half, False),
                attention.format(causal),
                "0",
                of_attention + (" / 2" if causal else ""),
            )
            for half in HALVES
            for said, causal in (("", False), (", causal", True))
        ],
        GpuLine(
            "attention, bfloat16, gradients",
            attended.format("bfloat16", True)
            + f"; y = {attention.format(True)}; g = torch.ones_like(y)",
            "torch.autograd.grad(y, (q, k, v), g, retain_graph=True)",
            "0",
            f"1.25 * {of_attention}",
        ),
    ]


def norms() -> list[GpuLine]:
    whole, line = "8 * ROWS * COLS", "; w, b = r(COLS), r(COLS)"
    images = "x = r(B, C, 4 * HW, 4 * HW).requires_grad_(); w, b = r(C), r(C)"
    backward = "torch.autograd.grad(y, {}, g, retain_graph=True)"
    batch_norm = "F.batch_norm(x, None, None, w, b, training=True)"
    return [
        GpuLine("softmax", MATRIX, "a.softmax(1)", whole),
        GpuLine("softmax, float16", MATRIX + ".half()", "a.softmax(1)", f"{whole} / 2"),
        GpuLine("softmax of ten", "a = r(N // 10, 10)", "a.softmax(1)", "8 * N"),
        GpuLine(
            "softmax's gradient",
            f"{MATRIX}{GRAD}; y = a.softmax(1)",
            backward.format("a"),
            f"1.5 * {whole}",
        ),
        GpuLine("layer norm", MATRIX + line, "F.layer_norm(a, (COLS,), w, b)", whole),
        GpuLine(
            "layer norm's gradient",
            f"{MATRIX}{line}{GRAD}; y = F.layer_norm(a, (COLS,), w, b)",
            backward.format("a"),
            f"1.5 * {whole}",
        ),
        GpuLine("batch norm", images, batch_norm, "12 * 16 * B * C * HW**2"),
        GpuLine(
            "batch norm's gradient",
            f"{images}; y = {batch_norm}; g = torch.ones_like(y)",
            backward.format("x"),
            "20 * 16 * B * C * HW**2",
        ),
        GpuLine(
            "cross entropy",
            f"{MATRIX}{GRAD}; t = torch.randint(COLS, (ROWS,), device=device)",
            "F.cross_entropy(a, t).backward()",
            f"1.5 * {whole}",
        ),
        GpuLine(
            "max pool",
            "x = r(B, C, 4 * HW, 4 * HW)",
            "F.max_pool2d(x, 2)",
            "5 * 16 * B * C * HW**2",
        ),
    ]


def optimizers() -> list[GpuLine]:
    return [
        *[
            GpuLine(
                f"{name} over ResNet-18",
                f"{RESNET18}\nopt = torch.optim.{name}(parameters, {options})",
                "opt.step()",
            )
            for name, options in OPTIMIZERS.items()
        ],
        GpuLine(
            "clip_grad_norm_ over ResNet-18", RESNET18, "nn.utils.clip_grad_norm_(parameters, 1.0)"
        ),
    ]


def host() -> list[GpuLine]:
    """A thousand calls of ops so small that the host is what takes the time."""
    small = (
        "a, b, w = r(8, 8), r(8, 8), r(8, 8).requires_grad_(); i = torch.arange(8, device=device)"
    )
    calls = [
        "a + b",
        "a.relu()",
        "a.sum()",
        "a @ b",
        "w * a",
        "F.linear(a, w)",
        "a.view(64)",
        "a[1]",
        "F.embedding(i, b)",
        "a.softmax(1)",
        "a.add_(b)",
        "torch.empty_like(a)",
    ]
    return [
        GpuLine(f"host: {call}", small, f"for _ in range(100): {call}", calls=100) for call in calls
    ]


def steps() -> list[GpuLine]:
    batches = {
        "MLP, Adam": "BATCH",
        "LeNet": "BATCH",
        "ResNet-9": "BATCH",
        "GPT, SDPA": "SEQUENCES",
        "LSTM": "SEQUENCES",
        "GRU": "SEQUENCES",
    }

    def line(name: str, said: str = "", mode: str = "") -> GpuLine:
        made = STEP.format(name=name, batch=batches[name], mode=mode)
        return GpuLine(f"step: {name}{said}", made, "step()")

    return [
        *map(line, batches),
        *[
            line(name, f", {dtype} AMP", mode)
            for name in ("MLP, Adam", "ResNet-9", "GPT, SDPA")
            for dtype, mode in AMP.items()
        ],
        GpuLine("captured step: MLP, SGD", CAPTURED, "graph.replay()"),
    ]


def make_lines() -> list[GpuLine]:
    return [
        *elementwise(), *reductions(), *products(), *norms(), *optimizers(), *host(), *steps()
    ]  # fmt: skip


# No size makes these fit for the emulator.
NOT_TINY = ("step: ResNet-9", "step: GPT", "step: LSTM", "step: GRU")

# A minute's worth of them: one of each kind.
QUICK = ("copy", "add", "sum of rows", "sum of columns", "matmul, float32", "matmul, bfloat16",
         "conv 3x3, bfloat16", "attention, bfloat16, causal", "softmax", "layer norm", "batch norm",
         "Adam over ResNet-18", "host: a + b", "step: MLP, Adam", "step: ResNet-9",
         "step: GPT, SDPA", "step: GPT, SDPA, bfloat16 AMP")  # fmt: skip
