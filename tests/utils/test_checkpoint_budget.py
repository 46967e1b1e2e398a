"""checkpoint_sequential(memory=...), which PyTorch lacks: the least time within a budget."""

import itertools
import random

import pytest

import tiny_torch
from tiny_torch import _core, nn
from tiny_torch.utils.checkpoint import checkpoint_sequential
from tiny_torch.utils.checkpoint.budget import Chain, Cost, Segment, bytes_of, least, measure, plan


def peak_of(run):
    """The most bytes of arrays alive within a call, beside those before."""
    _core.reset_peak_memory()
    before = _core.memory_statistics()["allocated"]
    run()
    return _core.memory_statistics()["peak_allocated"] - before


LAYERS = {
    "tanh": lambda: [nn.Linear(64, 64), nn.Tanh()],
    "gelu, dropout": lambda: [nn.Linear(64, 64), nn.GELU(), nn.Dropout(0.1)],
    "norm, relu in place": lambda: [nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(inplace=True)],
    "uneven": lambda: [nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64), nn.Tanh()],
}


@pytest.mark.parametrize("name", LAYERS)
def test_the_peak_stays_within_the_budget(name):
    model = nn.Sequential(*[nn.Sequential(*LAYERS[name]()) for _ in range(16)])
    x = tiny_torch.randn(1024, 64)

    def step(run):
        tiny_torch.manual_seed(0)
        run(x).sum().backward()

    step(model)  # gradients are there
    plain = peak_of(lambda: step(model))
    lowest = least(measure(list(model), x))
    assert lowest < plain * 0.65
    for budget in (plain, plain * 3 // 4, lowest):

        def within(x, budget=budget):
            return checkpoint_sequential(model, None, x, use_reentrant=False, memory=budget)

        peak_of(lambda: step(within))  # measures
        peak = peak_of(lambda: step(within))
        assert peak <= budget + x.nbytes


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("form", [nn.Sequential, lambda *layers: list(layers)])
def test_gradients_buffers_and_random_numbers_are_the_plain_runs(name, reentrant, form):
    found = []
    for checkpointed in (False, True):
        tiny_torch.manual_seed(0)
        layers = [nn.Sequential(*LAYERS[name]()) for _ in range(8)]
        # before backward, whose second runs count for a norm's averages, as in PyTorch
        norms = [module for layer in layers for module in layer.modules() if "Norm" in repr(module)]
        x = tiny_torch.randn(32, 64, requires_grad=True)
        y = x
        if not checkpointed:
            for layer in layers:
                y = layer(y)
        else:
            memory = least(measure(layers, x))
            y = checkpoint_sequential(
                form(*layers), None, x, use_reentrant=reentrant, memory=memory
            )
        buffers = [b.tolist() for norm in norms for b in norm.buffers()]
        y.square().sum().backward()
        gradients = [p.grad.tolist() for layer in layers for p in layer.parameters()]
        found.append((x.grad.tolist(), gradients, buffers, tiny_torch.rand(2).tolist()))
    assert found[0] == found[1]


def seconds_of(chain, segments):
    """What is computed again, and the most bytes that there are at once."""
    kept = peak = seconds = 0
    recorded = False
    for start, stop, again in segments:
        keeps, needs = chain.demand(start, stop, again, recorded)
        peak = max(peak, kept + needs)
        kept += keeps
        seconds += (chain.seconds[stop] - chain.seconds[start]) * again
        recorded = not again
    return seconds, peak


def all_segments(count):
    for cuts in itertools.product([False, True], repeat=count - 1):
        ends = [*(k + 1 for k, cut in enumerate(cuts) if cut), count]
        starts = [0, *ends[:-1]]
        for kinds in itertools.product([False, True], repeat=len(ends)):
            yield [Segment(*parts) for parts in zip(starts, ends, kinds, strict=True)]


@pytest.mark.parametrize("seed", range(10))
def test_no_other_segments_take_less_time(seed):
    draw = random.Random(seed)
    costs = [
        Cost(
            input=draw.randint(1, 9) if k else 0,
            kept=draw.randint(0, 20),
            work=draw.randint(1, 9),
            keeps_input=draw.random() < 0.5,
            keeps_output=draw.random() < 0.5,
            seconds=draw.random(),
        )
        for k in range(6)
    ]
    chain = Chain(costs)
    found = [seconds_of(chain, segments) for segments in all_segments(6)]
    lowest = min(peak for _, peak in found)
    for budget in (lowest - 1, lowest, lowest * 5 // 4, lowest * 2, lowest * 9):
        segments = plan(costs, budget)
        if budget < lowest:
            assert segments is None
        else:
            seconds, peak = seconds_of(chain, segments)
            assert peak <= budget
            assert seconds == pytest.approx(min(s for s, peak in found if peak <= budget))
    assert lowest <= least(costs) <= lowest * 1.02 + 1


def test_enough_memory_computes_nothing_again():
    calls = []
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    model[0].register_forward_hook(lambda *_: calls.append("forward"))
    x = tiny_torch.ones(2, 4)

    def step():
        checkpoint_sequential(model, None, x, use_reentrant=False, memory="1MB").sum().backward()
        return len(calls)

    assert step() == 3  # two to measure
    assert step() == 4  # once for a shape
    with tiny_torch.no_grad():
        checkpoint_sequential(model, None, x[:1], use_reentrant=False, memory="1GB")
    assert len(calls) == 5


SIZES = {
    300: 300, "300": None, "300B": 300, "3kb": 3000, "1.5 MB": 1_500_000, ".5GB": 500_000_000,
    "2KiB": 2048, "1GiB": 1 << 30, "1TB": 10**12, 0: None, -3: None, "0MB": None, "-1MB": None,
    "many": None, "1PB": None, True: None, 1.5: None, "": None,
}  # fmt: skip


@pytest.mark.parametrize("memory", [*SIZES, None])
def test_what_a_size_is(memory):
    expected = SIZES.get(memory) if memory is not True else None
    if expected is None:
        with pytest.raises(ValueError, match="such as '300MB'"):
            bytes_of(memory)
    else:
        assert bytes_of(memory) == expected


MODEL = [nn.Linear(64, 64), nn.Tanh()] * 4
X = tiny_torch.ones(1024, 64)
TOO_LITTLE = (
    r"memory='200KB' is too little: 8 functions on an input of shape \(1024, 64\) need .*MB at "
    "least, and .*MB without checkpoints"
)
WRONG = {
    "too little": (ValueError, TOO_LITTLE, MODEL, {"memory": "200KB"}),
    "both": (ValueError, "either segments or memory", MODEL, {"memory": 300, "segments": 2}),
    "neither": (TypeError, "cannot be interpreted as an integer", MODEL, {}),
    "none": (ZeroDivisionError, "1 and 8, the number of fu.*, but got 0", MODEL, {"segments": 0}),
    "too many": (ValueError, "but got 9", MODEL, {"segments": 9}),
    "less than none": (ValueError, "but got -1", MODEL, {"segments": -1}),
    "no tensor": (TypeError, "number 0 answered a tuple", [lambda x: (x, x)], {"memory": 300}),
    "no size": (ValueError, "got 'much'", MODEL, {"memory": "much"}),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name):
    error, message, functions, options = WRONG[name]
    with pytest.raises(error, match=message):
        checkpoint_sequential(
            functions, input=X, use_reentrant=False, **{"segments": None, **options}
        )
    if error is TypeError and options:
        with pytest.raises(TypeError, match="input is a tensor, but got a list"):
            checkpoint_sequential(functions, None, [X], use_reentrant=False, **options)


def test_no_functions():
    assert checkpoint_sequential([], None, X, use_reentrant=False, memory="1MB") is X
