"""A watch: what it notes of a training, and that the training's bits do not know of it."""

import copy
import csv
import math
import pickle

import numpy as np
import pytest

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.nn import functional as F
from tiny_torch.utils.checkpoint import checkpoint
from tiny_torch.utils.monitor import watch
from tiny_torch.utils.monitor.figures import figures_of, norm_of

NAN, INF = math.nan, math.inf


def numbers(*shape, scale=1.0):
    return np.random.default_rng(0).standard_normal(shape) * scale


ARRAYS = {
    "float32": torch.tensor(numbers(1000), dtype=torch.float32),
    "float64": torch.tensor(numbers(7, 3)),
    "bfloat16": torch.tensor(numbers(50)).to(torch.bfloat16),
    "float16": torch.tensor(numbers(50)).half(),
    "squares that vanish": torch.tensor(numbers(9, scale=1e-30), dtype=torch.float32),
    "squares that overflow": torch.tensor(numbers(9, scale=1e30), dtype=torch.float32),
    "float64, far out": torch.tensor(numbers(9, scale=1e-100)),
    "transposed, in part": torch.tensor(numbers(4, 6)).t()[1:, ::2],
    "zeros": torch.zeros(4),
    "some zeros": torch.tensor([0.0, -1.0, 0.0, 2.0]),
    "non-finite": torch.tensor([1.0, NAN, 0.0, -2.0, INF]),
    "one": torch.tensor(3.0),
}


def facts(figures):
    moments = figures.norm, figures.mean, figures.std, figures.low, figures.high
    return figures.elements, figures.non_finite, figures.zeros, *moments


def expected(values):
    values = values.ravel()
    finite = values[np.isfinite(values)]
    moments = np.linalg.norm(finite), finite.mean(), finite.std(), finite.min(), finite.max()
    return values.size, values.size - finite.size, int((finite == 0).sum()), *moments


@pytest.mark.parametrize("name", ARRAYS)
def test_figures(name):
    values = ARRAYS[name].double().numpy()
    about = pytest.approx(expected(values), rel=1e-5, abs=1e-5 * np.nanmin(np.abs(values)))
    assert facts(figures_of(ARRAYS[name].array)) == about
    if np.isfinite(values).all():
        assert norm_of(ARRAYS[name].array) == pytest.approx(np.linalg.norm(values), rel=1e-5)


def test_figures_where_nothing_is_finite():
    assert figures_of(torch.empty(0).array).elements == 0
    figures = figures_of(torch.full((3,), NAN).array)
    assert figures.non_finite == 3 and math.isnan(figures.mean) and math.isnan(figures.std)
    assert norm_of(torch.empty(0).array) == 0 and math.isnan(norm_of(torch.tensor(INF).array))


@pytest.mark.parametrize("name", ARRAYS)
def test_figures_of_two_arrays_together(name):
    first, second = torch.tensor([0.5, NAN, 0.0]), ARRAYS[name].double()
    both = figures_of(first.array).merge(figures_of(second.array))
    values = np.concatenate([first.double().numpy(), second.numpy().ravel()])
    assert facts(both) == pytest.approx(expected(values), rel=1e-5)
    nothing = figures_of(torch.full((2,), NAN).array)
    for pair in (nothing.merge(both), both.merge(nothing)):
        assert pair.elements == both.elements + 2 and pair.non_finite == both.non_finite + 2
        assert facts(pair)[2:] == facts(both)[2:]


# ---- the bits of trainings -----------------------------------------------------------------------


class Net(nn.Module):
    """Tied weights, a module called twice, one that answers tuples, dropout, a frozen part."""

    def __init__(self, how="plain"):
        super().__init__()
        self.how = how
        self.embedding = nn.Embedding(10, 8)
        self.recurrent = nn.LSTM(8, 8)
        self.mixed = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Dropout(0.2))
        self.attention = nn.MultiheadAttention(8, 2)
        self.head = nn.Linear(8, 10)
        self.head.weight = self.embedding.weight
        self.embedding.scale = nn.Parameter(torch.ones(1), requires_grad=False)

    def forward(self, x):
        h, _ = self.recurrent(self.embedding(x) * self.embedding.scale)
        if self.how == "plain":
            h = self.mixed(self.mixed(h))
        else:
            h = checkpoint(self.mixed, h, use_reentrant=self.how == "reentrant")
        return self.head(self.attention(h, h, h)[0])


def optimizers_of(model, kind):
    if kind == "lbfgs":
        return [torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=2)]
    parameters = list(model.parameters())
    if kind == "two":
        halves = parameters[:3], parameters[3:]
        return [torch.optim.SGD(half, lr=0.05, momentum=0.9) for half in halves]
    return [torch.optim.Adam(parameters, lr=0.01)]


def trained(kind, watched, steps=4):
    torch.manual_seed(0)
    model = Net(kind if "reentrant" in kind else "plain")
    optimizers = optimizers_of(model, kind)
    watching = watch(model, optimizers, every=2) if watched else None
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, enabled=kind == "scaler")
    for _ in range(steps):
        x = torch.randint(0, 10, (5, 3))

        def closure(x=x):
            model.zero_grad()
            with torch.autocast("cpu", enabled=kind in ("autocast", "scaler")):
                loss = F.cross_entropy(model(x).flatten(0, 1), x.flatten())
            scaler.scale(loss).backward()
            return loss

        if kind == "lbfgs":
            optimizers[0].step(closure)
            continue
        closure()
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
    if watching:
        watching.close()
    return model, watching


KINDS = ("plain", "two", "lbfgs", "autocast", "scaler", "reentrant", "non-reentrant")


@pytest.mark.parametrize("kind", KINDS)
def test_a_watch_changes_no_bit(kind):
    plain, _ = trained(kind, False)
    state = torch.get_rng_state()
    model, watching = trained(kind, True)
    assert torch.equal(torch.get_rng_state(), state)
    for a, b in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.equal(a, b)
        assert (a.grad is None) == (b.grad is None) and (
            a.grad is None or torch.equal(a.grad, b.grad)
        )
    names = {name for name, _ in model.named_parameters()}
    of = {kind: set() for kind in ("weight", "gradient", "activation")}
    for row in watching.rows:
        of[row.kind].add(row.name)
        assert row.iteration in (0, 2) and row.non_finite == 0
    assert of["weight"] == names and of["gradient"] == names - {"embedding.scale"}
    assert of["activation"] == {
        "embedding", "recurrent[0]", "recurrent[1][0]", "recurrent[1][1]", "mixed.0", "mixed.1",
        "mixed.2", "attention[0]", "attention[1]", "head",
    }  # fmt: skip
    ratios = {row.name for row in watching.rows if row.update_ratio}
    assert ratios == names - {"embedding.scale"}


@pytest.mark.parametrize("kind", ["reentrant", "non-reentrant"])
def test_what_a_checkpoint_repeats_counts_once(kind):
    _, watching = trained(kind, True, steps=1)
    (row,) = [row for row in watching.rows if row.name == "mixed.0"]
    assert row.elements == 5 * 3 * 8


def test_a_module_that_is_called_twice_counts_both():
    _, watching = trained("plain", True, steps=1)
    (row,) = [row for row in watching.rows if row.name == "mixed.0"]
    assert row.elements == 2 * 5 * 3 * 8


# ---- what is noted -------------------------------------------------------------------------------


def small():
    model = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[3.0, 4.0]]))
        model[0].bias.zero_()
    return model, torch.optim.SGD(model.parameters(), lr=0.5)


def rounds(model, optimizer, count, x=None):
    x = torch.tensor([[1.0, 0.0], [-1.0, 0.0]]) if x is None else x
    for _ in range(count):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()


def test_rows_hold_what_the_step_has_seen():
    model, optimizer = small()
    with watch(model, optimizer) as watched:
        rounds(model, optimizer, 1)
    weight, bias, gradient, _, linear, relu = watched.rows
    moments = {"norm": 5.0, "mean": 3.5, "std": 0.5, "zeros": 0, "min": 3, "max": 4}
    assert weight[:4] == (0, "weight", "0.weight", 2)
    for field, value in (moments | {"non_finite": 0, "update_ratio": 0.1}).items():
        assert getattr(weight, field) == pytest.approx(value), field
    assert bias.norm == 0 and bias.update_ratio is None  # there was nothing to compare with
    assert (gradient.kind, gradient.norm, gradient.zeros, gradient.max) == ("gradient", 1, 0.5, 1)
    assert (linear.kind, linear.name, linear.min, linear.max) == ("activation", "0", -3, 3)
    assert (relu.name, relu.zeros) == ("1", 0.5) and gradient.update_ratio is None


def test_sampled_iterations_alone_have_hooks():
    model, optimizer = small()
    with watch(model, optimizer, every=3) as watched:
        hooked = []
        for _ in range(7):
            hooked.append(len(model[0]._forward_hooks))
            rounds(model, optimizer, 1)
    assert hooked == [1, 0, 0, 1, 0, 0, 1] and watched.iteration == 7
    assert sorted({row.iteration for row in watched.rows}) == [0, 3, 6]
    assert not model[0]._forward_hooks and not optimizer._optimizer_step_pre_hooks
    assert not optimizer._optimizer_step_post_hooks
    count = len(watched.rows)
    rounds(model, optimizer, 3)
    assert len(watched.rows) == count and watched.iteration == 7


def test_an_error_closes_and_keeps_what_the_iteration_has_shown():
    model, optimizer = small()
    with pytest.raises(KeyError), watch(model, optimizer) as watched:
        model(torch.tensor([[NAN, 1.0]]))
        raise KeyError
    assert [(row.name, row.non_finite) for row in watched.rows] == [("0", 1), ("1", 1)]
    assert not model[0]._forward_hooks and not optimizer._optimizer_step_pre_hooks


def test_evaluation_is_not_noted():
    model, optimizer = small()
    with watch(model, optimizer) as watched:
        model.eval()(torch.full((1, 2), 100.0))
        model.train()
        rounds(model, optimizer, 1)
    assert max(row.max for row in watched.rows) == 4


def test_several_optimizers_end_an_iteration_with_the_last():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    first, last = (torch.optim.SGD(layer.parameters(), lr=0.1) for layer in model)
    with watch(model, [first, last]) as watched:
        model(torch.ones(1, 2)).sum().backward()
        first.step(), first.step(), last.step()
    assert watched.iteration == 1
    weights = [row for row in watched.rows if row.kind == "weight"]
    assert len(weights) == 4 and all(row.update_ratio for row in weights)


def test_without_an_optimizer_step_is_called():
    model = nn.Sequential(nn.ReLU(), nn.Identity())
    with watch(model) as watched:
        for _ in range(2):
            model({"x": torch.ones(1)}["x"])
            watched.step()
    found = [(row.iteration, row.kind, row.name) for row in watched.rows]
    assert found == [(i, "activation", name) for i in (0, 1) for name in "01"]
    layer = nn.Linear(1, 1)
    with watch(layer) as watched:
        layer(torch.ones(1)).backward()
        watched.step()
    kinds = [row.kind for row in watched.rows]
    assert kinds == ["weight", "weight", "gradient", "gradient", "activation"]


def test_outputs_without_floats_and_modules_without_weights_yet():
    class Odd(nn.Module):
        def forward(self, x):
            return {"n": 3, "index": torch.ones(2).long(), "x": [x, None]}

    model = nn.Sequential(nn.LazyLinear(2), Odd())
    with watch(model) as watched:
        watched.step()
        model(torch.ones(1, 3))
        watched.step()
    names = [row.name for row in watched.rows if row.kind == "activation"]
    assert names == ["0", "1['x'][0]"]
    with watch(nn.Linear(2, 2, device="meta")) as watched:
        watched.step()
    assert watched.rows == []


def test_copies_and_pickles_of_a_watched_model_are_not_watched():
    model, optimizer = small()
    with watch(model, optimizer) as watched:
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert torch.equal(other(torch.ones(1, 2)), torch.tensor([[7.0]]))
        assert not watched._figures
        rounds(model, optimizer, 1)
    assert watched.rows


MODEL, OPTIMIZER = small()
OTHER = torch.optim.SGD([torch.ones(1)])
REFUSED = [
    (lambda: watch(3), TypeError, "the model must be a torch.nn.Module, not int"),
    (lambda: watch(MODEL, 0.1), TypeError, "must be a torch.optim.Optimizer, not float"),
    (lambda: watch(MODEL, [OPTIMIZER, MODEL]), TypeError, "not Sequential"),
    (lambda: watch(MODEL, OPTIMIZER, every=0), ValueError, "every must be positive, not 0"),
    (lambda: watch(MODEL, OPTIMIZER, every=1.5), TypeError, "every must be an int, not float"),
    (lambda: watch(MODEL, OPTIMIZER, every=True), TypeError, "every must be an int, not bool"),
    (lambda: watch(MODEL, [OPTIMIZER, OPTIMIZER]), ValueError, "an optimizer is listed twice"),
    (lambda: watch(MODEL, OTHER), ValueError, "the optimizers hold no parameter of the model"),
]


@pytest.mark.parametrize("call, kind, text", REFUSED)
def test_refusals(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
    assert not MODEL[0]._forward_hooks and not OPTIMIZER._optimizer_step_pre_hooks


def test_a_closed_watch_is_over():
    watched = watch(MODEL, OPTIMIZER)
    with pytest.raises(RuntimeError, match="ends with the step of the watched optimizer"):
        watched.step()
    watched.close(), watched.close()
    with pytest.raises(RuntimeError, match="does not open again"), watched:
        pass
    watched = watch(MODEL)
    watched.close()
    with pytest.raises(RuntimeError, match="the watch is closed"):
        watched.step()


# ---- files ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def watched():
    return trained("plain", True)[1]


def test_the_csv_has_every_figure(watched, tmp_path):
    watched.to_csv(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="") as file:
        head, *lines = csv.reader(file)
    assert head == list(watched.rows[0]._fields) and len(lines) == len(watched.rows)
    for line, row in zip(lines, watched.rows, strict=True):
        assert line == ["" if value is None else str(value) for value in row]


def test_the_page_stands_alone(watched, tmp_path):
    watched.to_html(tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text()
    for part in ("<h2>Norm of gradients</h2>", "attention.out_proj", "recurrent", "output [1][0]"):
        assert part in text, part
    assert "http" not in text and "<script" not in text
    assert text.count("<svg") == text.count("</svg>") > 50


@pytest.mark.parametrize("write", ["to_csv", "to_html"])
def test_a_file_that_cannot_be_written_leaves_nothing(watched, write, tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file"):
        getattr(watched, write)(tmp_path / "missing" / "run")
    with pytest.raises(OSError):
        getattr(watched, write)("/dev/full")
    assert list(tmp_path.iterdir()) == []


def test_what_stands_out_is_told_and_escaped(tmp_path):
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    model.add_module("<b>", nn.Linear(2, 1))
    with torch.no_grad():
        model[0].bias.fill_(-100.0)
    with watch(model) as watched:
        model(torch.ones(1, 2)).sum().backward()
        watched.step()
        model(torch.full((1, 2), NAN))
    watched.to_html(tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text()
    assert "activation &lt;b&gt;: 1 of 1 elements are not finite in iteration 1" in text
    assert "gradient 0.weight: all zeros at the end" in text and "<b>" not in text


def test_the_page_of_a_large_model_stays_small(tmp_path):
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(300)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as watched:
        rounds(model, optimizer, 12)
    watched.rows = [
        row._replace(iteration=row.iteration + 12 * i) for i in range(9) for row in watched.rows
    ]
    watched.to_html(tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size < 2 << 20


def test_a_page_of_nothing(tmp_path):
    watch(nn.Identity()).to_html(tmp_path / "run.html")
    assert "Nothing was noted." in (tmp_path / "run.html").read_text()
