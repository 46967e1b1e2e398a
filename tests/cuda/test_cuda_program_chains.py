"""Chains of programs of CUDA tensors: elementwise launches as one kernel, with eager's bits."""

import os
import random
import re
from pathlib import Path

import pytest
from helpers import same_bits

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F
from tiny_torch.program import Compiled

SOURCE = (Path(__file__).parents[2] / "src/core/program/chain_args.h").read_text()
MOST_OPS = int(re.search(r"kMostOps = (\d+)", SOURCE)[1])


def drawn(*shape, dtype=torch.float32, requires_grad=False):
    return torch.randn(shape, device="cuda").to(dtype).requires_grad_(requires_grad)


def program_of(function, *inputs, **options):
    """The forward program of a function, whose bits are eager's."""
    compiled = Compiled(function, fullgraph=True, **options)
    expected = parts_of(function(*inputs))
    for _ in range(3):
        found = parts_of(compiled(*inputs))
        assert all(same_bits(a.detach(), b.detach()) for a, b in zip(found, expected, strict=True))
    return compiled.programs()[0][1]


def parts_of(result):
    return result if isinstance(result, tuple | list) else [result]


def names_in_chains(program):
    """The kernels of each chain, in order."""
    names = [name or family for (family, name, _), *_ in program.launches]
    return [names[first : last + 1] for first, last in program.chains]


def launches_of(call):
    """How many kernels the emulator runs for it."""
    from cuda_emulator import calls_of

    return calls_of(call, "launch")[0]


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x)))


class Cell(nn.Module):
    """The one of docs/program.md."""

    def __init__(self):
        super().__init__()
        self.x, self.h = nn.Linear(16, 128), nn.Linear(32, 128)

    def forward(self, x):
        h = c = torch.zeros(x.shape[0], 32, device=x.device)
        for t in range(x.shape[1]):
            i, f, g, o = (self.x(x[:, t]) + self.h(h)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return h


# ---- Each op ------------------------------------------------------------------------------------

OPS = {
    "copy": lambda x, y, z: x.half() if x.dtype != torch.float16 else x.bfloat16(),
    "where": lambda x, y, z: torch.where(x > 0, y, z),
    "neg": lambda x, y, z: -x, "abs": lambda x, y, z: x.abs(), "sign": lambda x, y, z: x.sign(),
    "square": lambda x, y, z: x.square(), "cube": lambda x, y, z: x**3,
    "relu": lambda x, y, z: x.relu(), "floor": lambda x, y, z: x.floor(),
    "round": lambda x, y, z: x.round(), "reciprocal": lambda x, y, z: x.reciprocal(),
    "sqrt": lambda x, y, z: x.sqrt(), "rsqrt": lambda x, y, z: x.rsqrt(),
    "exp": lambda x, y, z: x.exp(), "expm1": lambda x, y, z: x.expm1(),
    "log": lambda x, y, z: x.log(), "log1p": lambda x, y, z: x.log1p(),
    "tanh": lambda x, y, z: x.tanh(), "sigmoid": lambda x, y, z: x.sigmoid(),
    "erf": lambda x, y, z: x.erf(), "gelu": lambda x, y, z: F.gelu(x),
    "gelu_tanh": lambda x, y, z: F.gelu(x, approximate="tanh"), "silu": lambda x, y, z: F.silu(x),
    "mish": lambda x, y, z: F.mish(x), "log_sigmoid": lambda x, y, z: F.logsigmoid(x),
    "hardsigmoid": lambda x, y, z: F.hardsigmoid(x), "hardswish": lambda x, y, z: F.hardswish(x),
    "logical_not": lambda x, y, z: x.logical_not(), "isnan": lambda x, y, z: x.isnan(),
    "isinf": lambda x, y, z: x.isinf(), "add": lambda x, y, z: x + y, "sub": lambda x, y, z: x - y,
    "mul": lambda x, y, z: x * y, "div": lambda x, y, z: x / y, "pow": lambda x, y, z: x**1.7,
    "maximum": lambda x, y, z: torch.maximum(x, y),
    "minimum": lambda x, y, z: torch.minimum(x, y), "eq": lambda x, y, z: x == y,
    "ne": lambda x, y, z: x != y, "lt": lambda x, y, z: x < y, "le": lambda x, y, z: x <= y,
    "gt": lambda x, y, z: x > y, "ge": lambda x, y, z: x >= y,
    "leaky_relu": lambda x, y, z: F.leaky_relu(x, 0.1), "elu": lambda x, y, z: F.elu(x, 0.7),
    "glu": lambda x, y, z: F.glu(torch.stack([x, y]), 0),
    "mse_loss": lambda x, y, z: F.mse_loss(x, y, reduction="none"),
    "l1_loss": lambda x, y, z: F.l1_loss(x, y, reduction="none"),
    "clamp": lambda x, y, z: x.clamp(-0.5, 0.5), "lerp": lambda x, y, z: torch.lerp(x, y, z),
    "addcmul": lambda x, y, z: torch.addcmul(x, y, z),
    "addcdiv": lambda x, y, z: torch.addcdiv(x, y, z),
    "softplus": lambda x, y, z: F.softplus(x),
    "threshold": lambda x, y, z: F.threshold(x, 0.1, 2.0),
    "smooth_l1_loss": lambda x, y, z: F.smooth_l1_loss(x, y, reduction="none"),
    "huber_loss": lambda x, y, z: F.huber_loss(x, y, reduction="none"),
    "bce_with_logits": lambda x, y, z: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
}  # fmt: skip
GRADIENTS = {
    "relu_backward": torch.relu, "tanh_backward": torch.tanh, "sigmoid_backward": torch.sigmoid,
    "gelu_backward": F.gelu, "gelu_tanh_backward": lambda x: F.gelu(x, approximate="tanh"),
    "silu_backward": F.silu, "mish_backward": F.mish, "log_sigmoid_backward": F.logsigmoid,
    "hardsigmoid_backward": F.hardsigmoid, "hardswish_backward": F.hardswish,
    "threshold_backward": lambda x: F.threshold(x, 0.1, 2.0), "elu_backward": F.elu,
    "leaky_relu_backward": lambda x: F.leaky_relu(x, 0.1),
    "glu_gate_backward": lambda x: F.glu(torch.cat([x, x * 2]), 0),
}  # fmt: skip


def test_the_tables_have_all_ops():
    assert {"copy", "where", *re.findall(r"\bX\((\w+)\)", SOURCE)} == {*OPS, *GRADIENTS, "name"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", OPS)
def test_each_op(name, dtype):
    def function(x, y, z):
        return OPS[name](x * 0.75, y * 2, z + 1) * 0.5

    x = drawn(7, 33, dtype=dtype)
    x[0, :4] = torch.tensor([0.0, -0.0, float("inf"), -float("inf")])
    program = program_of(function, x, drawn(7, 33, dtype=dtype), drawn(7, 33, dtype=dtype))
    assert any(name in chain for chain in names_in_chains(program))


# What NaN's sign is where an op has two of them, processors say: these ops have one, or select.
@pytest.mark.parametrize("name", ["relu", "clamp", "where", "maximum", "lt", "ne", "isnan", "tanh"])
def test_nan(name):
    x = drawn(65)
    x[::3] = float("nan")
    program_of(lambda x, y: OPS[name](x * 0.5, y + 1, y) * 2 + 1, x, drawn(65))


@pytest.mark.parametrize("name", GRADIENTS)
def test_each_gradient(name):
    def function(x):
        return GRADIENTS[name](x * 2) * 3

    found, expected = drawn(5, 13, requires_grad=True), drawn(5, 13, requires_grad=True)
    expected.data = found.data
    compiled = Compiled(function, fullgraph=True)
    for _ in range(3):
        found.grad = expected.grad = None
        compiled(found).square().sum().backward()
        function(expected).square().sum().backward()
        assert same_bits(found.grad, expected.grad)
    assert any(name in chain for chain in names_in_chains(compiled.programs()[1][1]))


# ---- Elements -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 31, 128, 1025, 2**20 + 3])
def test_sizes(n):
    program = program_of(gelu, drawn(n))
    assert program.steps == 1 and program.temporary_bytes == 0


def test_no_elements():
    def function(x):
        y = x.exp() * 2
        return y + (y[:0].exp() * 2 + 1).sum()

    assert Compiled(function)(drawn(0, 3)).shape == (0, 3)
    assert program_of(function, drawn(5, 3)).chains[0] == (0, 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool])
@pytest.mark.parametrize("shift", [1, 2, 3])
def test_misaligned_views(shift, dtype):
    x, y = drawn(133), drawn(133)
    if dtype == torch.bool:
        x = x > 0
    x, y = x.to(dtype)[shift:], y[:-shift]
    assert program_of(lambda x, y: (x * y).tanh() * x, x, y).chains == [(0, 2)]


OPERANDS = {
    "rows": lambda: (drawn(6, 20), drawn(20)),
    "columns": lambda: (drawn(6, 20), drawn(6, 1)),
    "channels": lambda: (drawn(3, 5, 4, 4), drawn(5, 1, 1)),
    "outer products": lambda: (drawn(6, 1), drawn(1, 21)),
    "numbers of the device": lambda: (drawn(6, 20), drawn()),
    "halves of rows": lambda: (drawn(6, 40)[:, :20], drawn(6, 40)[:, 20:]),
    "transposed": lambda: (drawn(20, 6).t(), drawn(6, 20)),
    "every third": lambda: (drawn(6, 60)[:, ::3], drawn(6, 20)),
    "masks": lambda: (drawn(6, 20), drawn(6, 20) > 0),
    "bytes": lambda: (drawn(6, 20), torch.arange(20, device="cuda", dtype=torch.uint8)),
    "four dims": lambda: (drawn(3, 4, 5, 6)[:, 1:, 1:, 1:], drawn(3, 1, 4, 1)),
}


@pytest.mark.parametrize("kind", OPERANDS)
def test_operands(kind):
    """What does not fit, as integers, stays a launch of its own."""

    def function(x, y):
        z = torch.where(x > y, x * y, x + y)
        return ((z - x).half() * y).float().exp() * z, z

    program = program_of(function, *OPERANDS[kind]())
    assert program.chains and program.steps < len(program.launches)


def test_a_mask_that_holds_other_bytes_is_true():
    mask = torch.arange(20, device="cuda", dtype=torch.uint8).view(torch.bool)
    program_of(lambda x, mask: (x * mask).masked_fill(mask, 2) + 1, drawn(20), mask)


def test_integers_and_float64_stay_as_they_are():
    program_of(lambda x: (x * 2 + 1).square() * x, drawn(50).double())
    program_of(lambda x: (x * 2 + 1) * x - 3, torch.arange(50, device="cuda"))
    program = program_of(lambda x: ((x * 2).long() * 3).float() * 0.5 + 1, drawn(50))
    assert [len(chain) for chain in names_in_chains(program)] == [2]


def test_a_half_that_is_copied_keeps_its_bits():
    x = torch.arange(0x7C00, 0x8000, dtype=torch.int16, device="cuda").view(torch.float16)
    assert program_of(lambda x: (x.clone(), x * 2 + 1), x).chains


# ---- What a chain is ----------------------------------------------------------------------------


def test_results_within_a_chain_that_others_read():
    def function(x):
        a = x * 2
        b = a.tanh()
        c = b + a
        return b.sum() + c.mean(), a, c

    program = program_of(function, drawn(9, 11))
    assert program.chains[0] == (0, 2)


def test_in_place():
    def function(x, y):
        z = x * 1
        z.mul_(y).tanh_().add_(x)
        z.add_(z)
        w = z.clone()
        w[1:].sub_(y[1:])
        return z, w.relu_()

    program = program_of(function, drawn(9, 11), drawn(9, 11))
    assert program.chains[0] == (0, 5)


def test_arguments_that_are_written():
    def step(x, y):
        y.mul_(0.9).add_(x, alpha=0.1)
        return y.sqrt() * x

    compiled = Compiled(step, fullgraph=True)
    x, found = drawn(40), drawn(40).abs()
    expected = found.clone()
    for _ in range(4):
        assert same_bits(compiled(x, found), step(x, expected)) and same_bits(found, expected)


def test_columns_of_one_result_are_of_one_chain():
    def function(x):
        out = torch.empty(12, 10, device="cuda")
        for k in range(5):
            out[:, 2 * k : 2 * k + 2] = x * k
        return out * 2

    assert program_of(function, drawn(12, 2)).chains == [(0, 9)]


def test_a_launch_that_shares_nothing_runs_before_a_chain():
    mask = drawn(4, 5)
    program = program_of(lambda x: (x * 0.3).masked_fill(mask > 0, -1e9) + x, drawn(8, 4, 5))
    assert program.chains == [(0, 3)] and program.steps == 1


def test_draws_are_those_of_eager():
    def function(x):
        return F.dropout(F.dropout(x * 2, 0.3).relu(), 0.5) + x

    compiled, x = Compiled(function, fullgraph=True), drawn(60)
    found, expected = [], []
    for call, results in ((compiled, found), (function, expected)):
        torch.manual_seed(3)
        results += [call(x) for _ in range(3)]
    assert all(map(same_bits, found, expected))
    assert compiled.programs()[0][1].chains


def test_elements_of_others_are_not_read():
    def function(x):
        y = x + 1
        z = y.flip(0) * 2 + y.t().contiguous().t()
        y[:, 1:].mul_(y[:, :-1].clone())
        return z + y, y[1:] * y[:-1]

    program_of(function, drawn(12, 12))


def test_views_as_other_dtypes():
    def function(x):
        y = x * 2
        return y.view(torch.bfloat16) * 2 + 1, y + 1

    program_of(function, drawn(31, dtype=torch.float16))


@pytest.mark.parametrize("count", [MOST_OPS, MOST_OPS + 1, 2 * MOST_OPS + 5])
def test_a_chain_that_is_too_long_is_cut(count):
    def function(x):
        y = x
        for k in range(count):
            y = torch.tanh(y + k) if k % 9 == 8 else -y
        return y

    program = program_of(function, drawn(33))
    lengths = [last - first + 1 for first, last in program.chains]
    assert max(lengths) == MOST_OPS and len(program.launches) - sum(lengths) <= 1


def test_many_arrays_and_numbers():
    def function(*inputs):
        y = inputs[0] * 2
        for k, x in enumerate(inputs):
            y = torch.where(x > k / 10, y.clamp(-k, k + 1), x)
        return y

    program = program_of(function, *[drawn(15) for _ in range(70)])
    assert sum(last - first + 1 for first, last in program.chains) > 150


def test_many_results_are_needed_at_once():
    """More than what a kernel may have of shared memory without asking."""

    def function(x):
        made = [x * k for k in range(26)]
        y = x
        for a, b in zip(made[::2], made[1::2], strict=True):
            y = torch.addcmul(y, a, b)
        return y

    program = program_of(function, drawn(300))
    assert program.steps == 1 and program.temporary_bytes == 0


# ---- How often the GPU is asked -----------------------------------------------------------------


def test_the_pass_can_be_left_out():
    whole, apart = (program_of(gelu, drawn(50), passes={"chains": on}) for on in (True, False))
    assert (whole.steps, whole.chains, whole.temporary_bytes) == (1, [(0, 8)], 0)
    assert (apart.steps, apart.chains) == (9, []) and apart.temporary_bytes > 0


def test_show_marks_chains(capsys):
    compiled = Compiled(gelu)
    compiled(drawn(50))
    compiled.show()
    shown = capsys.readouterr().out
    assert "9 launches in 1 steps" in shown
    assert [line.split()[1] for line in shown.splitlines()[-9:]] == ["┌", *"│" * 7, "└"]


@pytest.mark.skipif(os.environ.get("TINY_TORCH_CUDA") != "emulated", reason="the emulator counts")
def test_kernels_of_gelu():
    x = drawn(1000)
    compiled, graph = (Compiled(gelu, fullgraph=True, graphs=on) for on in (False, True))
    compiled(x), graph(x)
    assert launches_of(lambda: gelu(x)) == 9
    assert launches_of(lambda: compiled(x)) == 1
    assert launches_of(lambda: graph(x)) == 1  # is captured
    assert graph.programs()[0][1].is_graph and same_bits(graph(x), gelu(x))


def test_steps_of_an_lstm_by_hand():
    steps = []
    for on in (False, True):
        torch.manual_seed(0)
        net = Cell().to("cuda")
        compiled = Compiled(net, fullgraph=True, passes={"chains": on})
        for _ in range(3):
            compiled(drawn(8, 12, 16)).sum().backward()
        steps.append([program.steps for _, program, _ in compiled.programs()])
    assert steps == [[145, 293], [49, 115]]


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize("dtype", [None, torch.float16, torch.bfloat16])
def test_an_lstm_by_hand_has_the_bits_of_eager(dtype, graphs):
    found = []
    for wrap in (lambda net: net, lambda net: Compiled(net, fullgraph=True, graphs=graphs)):
        torch.manual_seed(0)
        net = Cell().to("cuda")
        call = wrap(net)
        for _ in range(4):
            net.zero_grad()
            x = drawn(3, 4, 16)
            with torch.autocast("cuda", dtype or torch.float16, enabled=dtype is not None):
                y = call(x)
            y.square().sum().backward()
            found += [y.detach(), *[p.grad for p in net.parameters()]]
    half = len(found) // 2
    assert all(map(same_bits, found[:half], found[half:]))


# ---- Random chains ------------------------------------------------------------------------------

DTYPES = [torch.float32] * 3 + [torch.float16, torch.bfloat16]
SIZES = [(1,), (31,), (8, 16), (1025,), (5, 3, 7), (4, 12), (2, 3, 4, 8)]
# Without those that make NaN of most numbers, or take operands of one dtype.
LEFT_OUT = {
    "sqrt",
    "rsqrt",
    "log",
    "log1p",
    "pow",
    "glu",
    "lerp",
    "addcdiv",
    "reciprocal",
    "div",
    "bce_with_logits",
}
CHOICES = [OPS[name] for name in OPS if not (name in LEFT_OUT or "loss" in name)]


def random_function(seed):
    """2 to 24 ops over operands of any kind, of which some are answered and some written."""
    dice = random.Random(seed)
    shape = dice.choice(SIZES)
    torch.manual_seed(seed)

    def operand():
        own = tuple(1 if dice.random() < 0.15 else n for n in shape)
        kind = dice.choice(["whole", "whole", "misaligned", "gaps", "number", "turned"])
        x = drawn(*own, dtype=dice.choice(DTYPES))
        if kind == "misaligned":
            x = torch.cat([x.flatten()[:1], x.flatten()])[1:].view(own)
        elif kind == "gaps":
            x = torch.stack([x, x], -1)[..., 0]
        elif kind == "number":
            x = x.flatten()[0]
        elif kind == "turned" and x.ndim > 1:
            x = x.transpose(0, 1).contiguous().transpose(0, 1)
        return x

    inputs = [drawn(*shape), *[operand() for _ in range(dice.randint(1, 4))]]
    plan = [
        (dice.choice(CHOICES), *[dice.random() for _ in range(5)])
        for _ in range(dice.randint(2, 24))
    ]

    def function(*inputs):
        pool = list(inputs)
        for op, a, b, c, writes, cast in plan:
            x, y, z = (pool[int(k * len(pool))] for k in (a, b, c))
            made = op(x + inputs[0], y, z)
            if made.dtype == torch.bool or cast < 0.2:
                made = made.to(DTYPES[int(5 * cast) % 5] if made.dtype != torch.bool else x.dtype)
            pool.append(made)
            if writes < 0.2:
                made = made * 1
                made.mul_(0.5).add_(y.expand(made.shape))
                pool.append(made)
        return [pool[-1] * 1, pool[len(pool) // 2] * 1]

    return function, inputs


def outcome(function, inputs):
    """Results and gradients of three calls."""
    found = []
    for k in range(3):
        given = [(x.detach() + k).requires_grad_(i != 1) for i, x in enumerate(inputs)]
        results = function(*given)
        wanted = [r.float().sum() for r in results if r.requires_grad]
        if wanted:
            sum(wanted).backward()
        found += [r.detach() for r in results]
        found += [torch.zeros(0) if x.grad is None else x.grad for x in given]
    return found


@pytest.mark.parametrize("seed", range(80))
def test_random_chains(seed):
    function, inputs = random_function(seed)
    compiled = Compiled(function, fullgraph=True)
    found, expected = outcome(compiled, inputs), outcome(function, inputs)
    assert all(a.dtype == b.dtype and same_bits(a, b) for a, b in zip(found, expected, strict=True))
    assert compiled.programs()[0][1].chains
