"""What is written between an op and its backward: refused where PyTorch refuses it, or where our
formula reads the value. PyTorch may refuse more. And what is set as `.data`: PyTorch's gradient.
"""

from __future__ import annotations

import itertools

import pytest
from cases import gradient_cases
from cases.all_cases import CASES
from cases.op_cases import SHAPES
from helpers import CONTIGUOUS, by_name, compare, is_float, operands, outcome

import tiny_torch

pytestmark = pytest.mark.torch

# Calls whose gradient reads what PyTorch has a copy of, or computes otherwise; and why so.
READ = {
    "F.cross_entropy(x, unit": "probabilities are read for the logits' gradient, whoever asks",
    "F.rms_norm": "the normalised input is made anew, where PyTorch keeps it beside the input",
    "F.embedding_bag": "a weight's gradient, and the second derivative of max, read the table",
    "F.scaled_dot_product_attention": "of three dims, too, it is the kernel that reads all four",
    "rnn": "one op for all steps: the result holds each step's state",
    "nextafter": "which elements are equal is read, whichever gradient is asked for",
    "F.mse_loss(x, y.t(), weight=unit)": "input and target, as without weights",
}


def answer(function, inputs, needed, written: int) -> str:
    """What backward says after one of the inputs, or the result (-1), was written."""
    xs = [x.detach().clone().requires_grad_(i in needed) for i, x in enumerate(inputs)]
    error, ys = outcome(lambda: function(*xs))
    ys = [y for y in ys if is_float(y) and y.requires_grad]
    if error is not None or not ys:
        return "nothing to write"
    target = xs[written] if written >= 0 else ys[0]
    if 0 in target.stride():
        return "nothing to write"
    target.detach().mul_(1)
    try:
        sum([y.sum() for y in ys]).backward()
    except RuntimeError as error:
        return "refused" if "modified by an inplace operation" in str(error) else "raised"
    return "fine"


def check(name: str, ours, theirs) -> None:
    """(function, inputs) each: any subset of the inputs needs a gradient, anything is written."""
    if any(name.startswith(call) for call in READ):
        return
    places = range(len(ours[1]))
    subsets = [itertools.combinations(places, n) for n in range(1, len(places) + 1)]
    for needed in itertools.chain(*subsets):
        for written in (-1, *places):
            found, expected = (answer(*f, needed, written) for f in (ours, theirs))
            where = f"{name}: gradients for {needed}, {written} written"
            assert found != "refused" or expected == "refused", where


@by_name([case for case in CASES if case.gradient and "float64" in case.dtypes])
def test_after_an_op_of_the_table(oracle, case):
    shapes = (case.shapes or SHAPES[case.arity])[0]
    calls = []
    for m in (tiny_torch, oracle):
        layouts, dtypes = CONTIGUOUS[: case.arity], ["float64"] * case.arity
        inputs = operands(m, case.domains, shapes, layouts, dtypes)
        calls.append((lambda *xs, m=m: case(m, *xs), inputs))
    check(case.name, *calls)


@pytest.mark.parametrize("call", [call for call in gradient_cases.CASES if "ref" not in call])
def test_after_a_call(oracle, call):
    check(call, *(gradient_cases.function_of(call, m) for m in (tiny_torch, oracle)))


# More losses and layers, as lines of gradient_cases.py.
LAYERS = """
F.l1_loss(x, y.t(), reduction="sum")|F.l1_loss(x, unit, reduction="none")|F.l1_loss(v, v * 2)
F.mse_loss(x, unit)|F.mse_loss(x, unit, reduction="none")|F.huber_loss(x, unit, delta=0.5)
F.smooth_l1_loss(x, unit, beta=0.0)|F.kl_div(x, unit, log_target=True)
F.kl_div(x, unit, reduction="none")|F.nll_loss(x, k[0], zeros[:1].expand(6) + 2, reduction="sum")
F.nll_loss(image, k[:1, :1, None].expand(1, 5, 6))|F.poisson_nll_loss(x, unit, log_input=False)
F.poisson_nll_loss(x, unit * 3, full=True)|F.gaussian_nll_loss(x, y.t(), unit, full=True)
F.gaussian_nll_loss(x, y.t(), unit[:, 0])|F.multilabel_soft_margin_loss(x, unit, v)
F.hinge_embedding_loss(x, m * 2 - 1, reduction="none")|F.multi_margin_loss(x, k[0], p=2)
F.margin_ranking_loss(v, y[:, 0], v, reduction="none")|F.pairwise_distance(x, y.t())
F.triplet_margin_loss(x, y.t(), unit, swap=True)|F.cosine_similarity(x, y.t(), 0)
F.triplet_margin_loss(x, y.t(), unit, reduction="none", p=1)|F.glu(x)|F.softmin(x, 1)
F.binary_cross_entropy_with_logits(x, unit, reduction="none")|F.gumbel_softmax(x)
F.leaky_relu(x * 1, inplace=True)|F.elu(x * 1, inplace=True)|F.relu(x * 1, inplace=True)
F.dropout(x)|F.alpha_dropout(x, training=True)|F.dropout2d(image)|F.linear(x, y.t(), v[:4])
F.linear(s, y[:, :4], v)|F.linear(v, y.t())|F.conv_transpose1d(line, s.permute(2, 0, 1))
F.layer_norm(x, (6,), v)|F.batch_norm(x.t(), zeros + 0, zeros + 1, None, None, True)
F.avg_pool1d(line, 2)|F.adaptive_max_pool1d(line, 2)|F.lp_pool1d(line, 2.0, 2)|F.normalize(x, p=1)
F.interpolate(line, scale_factor=2, mode="linear")|F.interpolate(image, size=3, mode="area")
F.max_unpool2d(*F.max_pool2d(image, 2, return_indices=True), 2)|F.pad(x, (1, 1), value=2.0)
F.affine_grid(s[:, :2, :3], (2, 1, 2, 2), align_corners=False)|nn.Linear(6, 2).double()(x)
nn.RNNCell(4, 3).double()(s[0])|nn.GRUCell(4, 3).double()(s[0], s[1, :, :3])
nn.MultiheadAttention(4, 2).double()(s, s, s)[0]|nn.BatchNorm2d(4).double()(image)
nn.TransformerEncoderLayer(4, 2, 4).double().eval()(s)|nn.PReLU().double()(x)
nn.AdaptiveLogSoftmaxWithLoss(6, 5, [2]).double()(x, k[0])[1]|nn.NLLLoss()(x, k[0])
F.scaled_dot_product_attention(s[None], s[None], s[None], is_causal=True)|x.std()|torch.norm(x)
"""


@pytest.mark.parametrize("call", "|".join(LAYERS.strip().splitlines()).split("|"))
def test_after_a_loss_or_a_layer(oracle, call):
    calls = [gradient_cases.function_of(call, m) for m in (tiny_torch, oracle)]
    for function, inputs in calls:
        function(*inputs)  # it is a right one
    check(call, *calls)


@pytest.mark.parametrize("number", [1, 2.5])
@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "**"])
@pytest.mark.parametrize("left", [False, True], ids=["x op number", "number op x"])
def test_after_an_operator_with_a_number(oracle, operator, number, left):
    text = f"{number} {operator} x" if left else f"x {operator} {number}"
    calls = [(lambda x: eval(text), [m.tensor([0.5, 2.0])]) for m in (tiny_torch, oracle)]
    check(text, *calls)


# Ops that are several in PyTorch, or one here: one of them has kept what was made of the old data.
MADE_OF_OLD_DATA = (
    "addcdiv", "addcmul", "addr", "cumprod", "i1", "log_sigmoid",
)  # fmt: skip


# The same among calls, and those whose gradient reads an input where PyTorch's has made a copy.
CALLS_MADE_OF_OLD_DATA = (
    *(
        "F.cosine_embedding_loss",
        "F.cross_entropy(x, unit",
        "F.grid_sample",
        "F.kl_div(x, unit)",
        "F.mse_loss(x, y.t(), w",
    ),
    *("F.multi_margin_loss", "F.rms_norm", "F.scaled_dot_product_attention", "F.soft_margin_loss"),
    *("linalg.householder_product", "linalg.lu_solve"),
    *("s @ y", "v @ y", "torch.cdist", "torch.einsum", "torch.pdist"),
)


def gradients_after_data(function, inputs, place: int, kind: str):
    """The leaves' gradients, where an input of a kind had its `.data` set after the forward."""
    xs = [x.detach().clone() for x in inputs]
    leaves = [
        x.requires_grad_()
        for i, x in enumerate(xs)
        if is_float(x) and (i, kind) != (place, "constant")
    ]
    if kind == "result of an op":
        xs[place] = xs[place] * 1
    error, ys = outcome(lambda: function(*xs))
    ys = [y for y in ys if is_float(y) and y.requires_grad]
    if error is not None or not ys:
        return None
    xs[place].data = xs[place].data * 0.5 + 0.25
    error, _ = outcome(sum([y.sum() for y in ys]).backward)
    return [type(error), *[x.grad for x in leaves]]


def check_data(name: str, calls) -> None:
    for place, x in enumerate(calls[0][1]):
        for kind in ("leaf", "constant", "result of an op") if is_float(x) else ():
            answers = [gradients_after_data(*call, place, kind) for call in calls]
            if None in answers:
                continue
            for ours, theirs in zip(*answers, strict=True):
                if hasattr(ours, "array") and theirs is not None:
                    compare(ours, theirs, f"{name}, data of {place} set, {kind}", 2**30, False)
                elif hasattr(theirs, "numpy"):
                    assert not theirs.any(), name
                else:
                    assert ours is theirs or theirs is None, name


@by_name([case for case in CASES if case.gradient and "float64" in case.dtypes])
def test_gradients_read_the_data_that_an_input_was_given_since(oracle, case):
    if case.name.split()[0] not in MADE_OF_OLD_DATA:
        shapes, calls = (case.shapes or SHAPES[case.arity])[0], []
        for m in (tiny_torch, oracle):
            layouts, dtypes = CONTIGUOUS[: case.arity], ["float64"] * case.arity
            inputs = operands(m, case.domains, shapes, layouts, dtypes)
            calls.append((lambda *xs, m=m: case(m, *xs), inputs))
        check_data(case.name, calls)


@pytest.mark.parametrize("call", [call for call in gradient_cases.CASES if "ref" not in call])
def test_calls_read_the_data_that_an_input_was_given_since(oracle, call):
    if not call.startswith(CALLS_MADE_OF_OLD_DATA) and "scatter" not in call:
        check_data(call, [gradient_cases.function_of(call, m) for m in (tiny_torch, oracle)])


def test_data_that_was_set_is_read_by_backward(oracle):
    """By an op, not by its `detach`, in another dtype, in a gradient's graph, by modules."""

    def answers(m):
        def leaves():
            return m.tensor([1.0, 2.0]).requires_grad_(), m.tensor([3.0, 5.0]).requires_grad_()

        x, w = leaves()
        y = x * w * w
        other = w.detach()
        z = x * other  # which keeps its own
        w.data = m.tensor([7.0, -1.0])
        found = [*m.autograd.grad(y.sum(), [x, w]), *m.autograd.grad(z.sum(), [x])]
        x, w = leaves()
        y = x * w
        w.data = w.data.half()
        found += [*m.autograd.grad(y.sum(), [x])]
        x, w = leaves()
        (first,) = m.autograd.grad((x * w * w).sum(), x, create_graph=True)
        w.data = m.zeros(2)
        found += [*m.autograd.grad(first.sum(), w)]
        layer, x = m.nn.Linear(2, 2), m.ones(1, 2, requires_grad=True)
        before = layer.weight.detach().clone()
        y = layer(x)
        layer.weight.data = m.zeros(2, 2)
        found += [m.autograd.grad(y.sum(), x)[0] - before.sum(0)]
        conv, image = m.nn.Conv2d(1, 1, 2), m.ones(1, 1, 3, 3, requires_grad=True)
        y = conv(image)
        conv.weight.data = m.full((1, 1, 2, 2), 2.0)
        found += [*m.autograd.grad(y.sum(), image)]
        return found

    for i, (ours, theirs) in enumerate(zip(answers(tiny_torch), answers(oracle), strict=True)):
        compare(ours, theirs, f"answer {i}")


@pytest.mark.parametrize("change", ["write", "shape"])
def test_data_that_was_set_and_does_not_fit_is_refused(change):
    x = tiny_torch.ones(3, requires_grad=True)
    y = x * x
    x.data = tiny_torch.zeros(2 if change == "shape" else 3)
    with tiny_torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace|data of an input was set"):
        y.sum().backward()
