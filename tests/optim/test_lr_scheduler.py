"""optim.lr_scheduler: rates and momenta over many steps, states and warnings, as PyTorch's."""

from __future__ import annotations

import math
import warnings

import pytest

import tiny_torch

STEPS = 30
METRICS = [1.0, 0.9, 0.9, 0.95, 0.9, 0.9, 0.5, 0.5, 0.5, 0.50001, 0.6, 0.7, 0.4, float("nan")] * 3


class Power:
    """A function that has a state."""

    def __init__(self, base):
        self.base = base

    def __call__(self, epoch):
        return self.base**epoch


def of(name, *args, **options):
    """A scheduler's maker; inner ones, given as makers, are made first."""

    def make(lib, optimizer):
        made = [
            [item(lib, optimizer) if getattr(item, "makes", False) else item for item in arg]
            if isinstance(arg, list)
            else arg
            for arg in args
        ]
        module = lib.optim.lr_scheduler
        if name == "ChainedScheduler":
            return module.ChainedScheduler(*made, **options)
        return getattr(module, name)(optimizer, *made, **options)

    make.makes = True
    make.name = name
    return make


SCHEDULES = [
    of("LambdaLR", lambda epoch: 1 / (epoch + 1)),
    of("LambdaLR", [lambda epoch: 0.9**epoch, Power(0.8)]),
    of("MultiplicativeLR", lambda epoch: 0.5 if epoch % 3 == 0 else 1.1),
    of("MultiplicativeLR", [Power(0.99), lambda epoch: 1.0]),
    of("StepLR", 3),
    of("StepLR", step_size=4, gamma=0.5),
    of("MultiStepLR", [2, 5, 5, 9], gamma=0.3),
    of("ConstantLR"),
    of("ConstantLR", factor=0.25, total_iters=4),
    of("LinearLR"),
    of("LinearLR", start_factor=0.1, end_factor=0.5, total_iters=8),
    of("LinearLR", start_factor=1.0, end_factor=0.0, total_iters=40),
    of("ExponentialLR", 0.9),
    of("PolynomialLR", total_iters=7, power=2.0),
    of("PolynomialLR"),
    of("CosineAnnealingLR", 6),
    of("CosineAnnealingLR", T_max=5, eta_min=0.01),
    of("CosineAnnealingWarmRestarts", 4),
    of("CosineAnnealingWarmRestarts", T_0=3, T_mult=2, eta_min=0.001),
    of("CyclicLR", 0.01, 0.2, step_size_up=4),
    of("CyclicLR", 0.01, [0.2, 0.3], step_size_up=3, step_size_down=5, mode="triangular2"),
    of("CyclicLR", 0.01, 0.2, 4, mode="exp_range", gamma=0.9, base_momentum=0.5, max_momentum=0.7),
    of("CyclicLR", 0.01, 0.2, 4, scale_fn=Power(0.7)),
    of("CyclicLR", 0.01, 0.2, 4, scale_fn=Power(0.9), scale_mode="iterations"),
    of("CyclicLR", 0.01, 0.2, 4, cycle_momentum=False),
    of("OneCycleLR", 0.5, total_steps=STEPS + 1),
    of("OneCycleLR", [0.5, 0.7], epochs=4, steps_per_epoch=10, anneal_strategy="linear"),
    of("OneCycleLR", 0.5, total_steps=STEPS + 1, three_phase=True, pct_start=0.4),
    of("OneCycleLR", 0.5, total_steps=40, cycle_momentum=False, div_factor=5, final_div_factor=7),
    of("SequentialLR", [of("LinearLR", 0.1, total_iters=5), of("CosineAnnealingLR", 10)], [5]),
    of("SequentialLR", [of("ConstantLR"), of("ExponentialLR", 0.9), of("StepLR", 2)], [3, 9]),
    of("SequentialLR", [of("ExponentialLR", 0.9), of("StepLR", 2)], [0]),
    of("ChainedScheduler", [of("ConstantLR", 0.1, total_iters=3), of("ExponentialLR", 0.9)]),
    of("ChainedScheduler", [of("LinearLR"), of("StepLR", 4), of("CosineAnnealingLR", 20)]),
    of("ReduceLROnPlateau", patience=2),
    of("ReduceLROnPlateau", "max", factor=0.5, patience=1, cooldown=2, min_lr=[0.01, 0.02]),
    of("ReduceLROnPlateau", patience=1, threshold=0.1, threshold_mode="abs", eps=0.02),
    of("ReduceLROnPlateau", mode="max", patience=0, threshold_mode="abs", min_lr=1e-3),
]


def over(makers):
    ids = [f"{make.name}{i}" for i, make in enumerate(makers)]
    return pytest.mark.parametrize("make", makers, ids=ids)


schedules = over(SCHEDULES)


def optimizer_of(lib, name="SGD", tensor_lr=False):
    lr = lib.tensor(0.1) if tensor_lr else 0.1
    second = {"params": [lib.ones(1)], "lr": lib.tensor(0.4) if tensor_lr else 0.4}
    options = {"momentum": 0.8} if name == "SGD" else {}
    return getattr(lib.optim, name)([{"params": [lib.ones(1)]}, second], lr, **options)


def go_on(scheduler, number):
    scheduler.optimizer.step()
    if type(scheduler).__name__ == "ReduceLROnPlateau":
        scheduler.step(METRICS[number])
    else:
        scheduler.step()


def numbers(value):
    return float(value) if hasattr(value, "item") else value


def seen(scheduler):
    """The options of the groups, and what get_last_lr says."""
    keys = ("lr", "initial_lr", "max_lr", "min_lr", "momentum", "betas", "max_momentum")
    groups = scheduler.optimizer.param_groups
    found = [
        numbers(x)
        for group in groups
        for key in keys
        if key in group
        for x in (group[key] if isinstance(group[key], tuple) else [group[key]])
    ]
    return found + [numbers(x) for x in scheduler.get_last_lr()]


def run(lib, make, *args, steps=STEPS):
    scheduler = make(lib, optimizer_of(lib, *args))
    rows = [seen(scheduler)]
    for step in range(steps):
        go_on(scheduler, step)
        rows.append(seen(scheduler))
    return rows, scheduler


def plain(state):
    if isinstance(state, dict):
        return {key: plain(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(plain(value) for value in state)
    return numbers(state)


@schedules
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_rates_are_pytorchs(oracle, make, name):
    (ours, our_scheduler), (theirs, their_scheduler) = (
        run(lib, make, name) for lib in (tiny_torch, oracle)
    )
    for row, expected in zip(ours, theirs, strict=True):
        assert row == pytest.approx(expected, rel=1e-13, abs=1e-15)
    assert repr(our_scheduler.optimizer) == repr(their_scheduler.optimizer)


@schedules
def test_states_are_pytorchs(oracle, make):
    ours, theirs = (plain(run(lib, make, steps=7)[1].state_dict()) for lib in (tiny_torch, oracle))
    assert list(ours) == list(theirs)
    for key, value in ours.items():
        if isinstance(value, float):
            value = pytest.approx(value, rel=1e-13, nan_ok=True)
        if key not in ("_last_lr", "_schedulers"):
            assert value == theirs[key]


@schedules
def test_a_tensor_rate_is_written_in_place(oracle, make):
    ours, theirs = (run(lib, make, "SGD", True) for lib in (tiny_torch, oracle))
    for row, expected in zip(ours[0], theirs[0], strict=True):
        assert row == pytest.approx(expected, rel=1e-5, abs=1e-7)
    optimizer = optimizer_of(tiny_torch, "SGD", True)
    rates = [group["lr"] for group in optimizer.param_groups]
    scheduler = make(tiny_torch, optimizer)
    go_on(scheduler, 0)
    assert all(group["lr"] is lr for group, lr in zip(optimizer.param_groups, rates, strict=True))
    last = scheduler.get_last_lr()
    assert all(a is not b and a == b for a, b in zip(last, rates, strict=True))


@schedules
def test_a_schedule_goes_on_from_its_state(make, tmp_path):
    expected, _ = run(tiny_torch, make)
    _, begun = run(tiny_torch, make, steps=11)
    checkpoint = {"scheduler": begun.state_dict(), "optimizer": begun.optimizer.state_dict()}
    tiny_torch.save(checkpoint, tmp_path / "checkpoint.pt")
    saved = tiny_torch.load(tmp_path / "checkpoint.pt")
    optimizer = optimizer_of(tiny_torch)
    resumed = make(tiny_torch, optimizer)
    optimizer.load_state_dict(saved["optimizer"])
    resumed.load_state_dict(saved["scheduler"])
    assert list(saved["scheduler"]) == list(begun.state_dict())
    for step in range(11, STEPS):
        go_on(resumed, step)
        assert seen(resumed) == expected[step + 1]


@schedules
def test_a_schedule_goes_on_in_the_other_library(oracle, make, tmp_path):
    for first, second in [(tiny_torch, oracle), (oracle, tiny_torch)]:
        _, begun = run(first, make, steps=11)
        optimizer = optimizer_of(second)
        resumed = make(second, optimizer)
        checkpoint = {"s": begun.state_dict(), "o": begun.optimizer.state_dict()}
        first.save(checkpoint, tmp_path / "checkpoint.pt")
        saved = second.load(tmp_path / "checkpoint.pt")
        optimizer.load_state_dict(saved["o"])
        resumed.load_state_dict(saved["s"])
        for step in range(11, STEPS):
            go_on(begun, step)
            go_on(resumed, step)
            assert seen(resumed) == pytest.approx(seen(begun), rel=1e-13, abs=1e-15)


COMPOSED = ("SequentialLR", "ChainedScheduler", "ReduceLROnPlateau")


@over([make for make in SCHEDULES if make.name not in COMPOSED])
def test_the_epoch_argument(oracle, make):
    rows = []
    for lib in (tiny_torch, oracle):
        scheduler = make(lib, optimizer_of(lib))
        scheduler.optimizer.step()
        for epoch in [1, 2, 7, 3, 0, 20]:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                scheduler.step(epoch)
            rows.append((seen(scheduler), [str(w.message) for w in caught]))
    for ours, theirs in zip(rows[:6], rows[6:], strict=True):
        assert ours[0] == pytest.approx(theirs[0], rel=1e-13, abs=1e-15)
        assert ours[1] == theirs[1]


def test_fractions_of_an_epoch(oracle):
    rows = []
    for lib in (tiny_torch, oracle):
        module = lib.optim.lr_scheduler
        scheduler = module.CosineAnnealingWarmRestarts(optimizer_of(lib), 3, T_mult=2)
        row = []
        for i in range(60):
            scheduler.step(i / 4)
            row += scheduler.get_last_lr()
        rows.append(row)
    assert rows[0] == pytest.approx(rows[1], rel=1e-13)


@pytest.mark.parametrize("name", ["StepLR", "CosineAnnealingLR", "LinearLR", "ConstantLR"])
@pytest.mark.parametrize("last_epoch", [0, 3, 8])
def test_a_last_epoch_resumes(oracle, name, last_epoch):
    rows = []
    for lib in (tiny_torch, oracle):
        optimizer = optimizer_of(lib)
        for group in optimizer.param_groups:
            group["initial_lr"] = 1.0
        args = {"StepLR": (4,), "CosineAnnealingLR": (6,)}.get(name, ())
        scheduler = getattr(lib.optim.lr_scheduler, name)(optimizer, *args, last_epoch=last_epoch)
        row = scheduler.get_last_lr()
        for step in range(5):
            go_on(scheduler, step)
            row = row + scheduler.get_last_lr()
        rows.append(row)
    assert rows[0] == pytest.approx(rows[1], rel=1e-13)


# ---- warnings -------------------------------------------------------------------------------


def step_first(lib):
    scheduler = of("StepLR", 2)(lib, optimizer_of(lib))
    scheduler.step()
    scheduler.optimizer.step()
    scheduler.step()


def step_in_order(lib):
    optimizer = optimizer_of(lib)
    optimizer.step()
    scheduler = of("StepLR", 2)(lib, optimizer)
    optimizer.step()
    scheduler.step()


def stepped_before_only(lib):
    optimizer = optimizer_of(lib)
    optimizer.step()
    of("StepLR", 2)(lib, optimizer).step()


def overridden_step(lib):
    scheduler = of("StepLR", 2)(lib, optimizer_of(lib))
    scheduler.optimizer.step = lambda: None
    scheduler.optimizer.step()
    scheduler.step()


def ask_for_rates(lib):
    of("ExponentialLR", 0.5)(lib, optimizer_of(lib)).get_lr()


def plateau_epoch(lib):
    of("ReduceLROnPlateau")(lib, optimizer_of(lib)).step(1.0, epoch=4)


@pytest.mark.parametrize(
    ("action", "count"),
    [
        (step_first, 1),
        (step_in_order, 0),
        (stepped_before_only, 1),
        (overridden_step, 1),
        (ask_for_rates, 1),
        (plateau_epoch, 1),
    ],
)
def test_warnings_are_pytorchs(oracle, action, count):
    messages = []
    for lib in (tiny_torch, oracle):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            action(lib)
        messages.append([(w.category, str(w.message)) for w in caught])
    assert messages[0] == messages[1] and len(messages[0]) == count


# ---- mistakes -------------------------------------------------------------------------------


def made(name, *args, optimizer="SGD", **options):
    return lambda lib: of(name, *args, **options)(lib, optimizer_of(lib, optimizer))


def of_two_optimizers(name):
    def action(lib):
        first, second = (of("StepLR", 2)(lib, optimizer_of(lib)) for _ in range(2))
        if name == "SequentialLR":
            return lib.optim.lr_scheduler.SequentialLR(first.optimizer, [first, second], [2])
        return lib.optim.lr_scheduler.ChainedScheduler([first, second])

    return action


def past_the_end(lib):
    scheduler = of("OneCycleLR", 0.1, total_steps=2)(lib, optimizer_of(lib))
    for step in range(3):
        go_on(scheduler, step)


def plateau_with_a_new_group(lib):
    scheduler = of("ReduceLROnPlateau", patience=0, min_lr=[0.0, 0.1])(lib, optimizer_of(lib))
    scheduler.optimizer.add_param_group({"params": lib.ones(1)})
    for _ in range(3):
        scheduler.step(1.0)


ERRORS = [
    (lambda lib: lib.optim.lr_scheduler.StepLR(5, 2), TypeError),
    (lambda lib: lib.optim.lr_scheduler.ReduceLROnPlateau(5), TypeError),
    (lambda lib: lib.optim.lr_scheduler.CyclicLR(5, 0.1, 0.2), TypeError),
    (lambda lib: lib.optim.lr_scheduler.OneCycleLR(5, 0.1, 2), TypeError),
    (lambda lib: lib.optim.lr_scheduler.LRScheduler(optimizer_of(lib)), NotImplementedError),
    (made("StepLR", 2, last_epoch=3), KeyError),
    (made("LambdaLR", [abs]), ValueError),
    (made("LambdaLR", 5), TypeError),
    (made("MultiplicativeLR", [abs]), ValueError),
    (made("MultiplicativeLR", 5), TypeError),
    (made("StepLR"), TypeError),
    (made("ConstantLR", 1.5), ValueError),
    (made("ConstantLR", -0.5), ValueError),
    (made("LinearLR", 0), ValueError),
    (made("LinearLR", 1.5), ValueError),
    (made("LinearLR", 0.5, 1.5), ValueError),
    (made("CosineAnnealingWarmRestarts", 0), ValueError),
    (made("CosineAnnealingWarmRestarts", 1.5), ValueError),
    (made("CosineAnnealingWarmRestarts", 2, 0), ValueError),
    (made("CosineAnnealingWarmRestarts", 2, eta_min="0"), ValueError),
    (
        lambda lib: made("CosineAnnealingWarmRestarts", 2)(lib).step(-1),
        ValueError,
    ),
    (made("CyclicLR", 0.1, 0.2, mode="square"), ValueError),
    (made("CyclicLR", [0.1], 0.2), ValueError),
    (made("CyclicLR", 0.1, 0.2, optimizer="Adagrad"), ValueError),
    (made("OneCycleLR", 0.1), ValueError),
    (made("OneCycleLR", 0.1, total_steps=0), ValueError),
    (made("OneCycleLR", 0.1, epochs=0, steps_per_epoch=2), ValueError),
    (made("OneCycleLR", 0.1, epochs=2, steps_per_epoch=0), ValueError),
    (made("OneCycleLR", 0.1, 5, pct_start=2.0), ValueError),
    (made("OneCycleLR", 0.1, 5, pct_start=1), ValueError),
    (made("OneCycleLR", 0.1, 5, anneal_strategy="square"), ValueError),
    (made("OneCycleLR", 0.1, 5, optimizer="Adagrad"), ValueError),
    (made("OneCycleLR", [0.1], 5), ValueError),
    (past_the_end, ValueError),
    (made("ReduceLROnPlateau", factor=1.0), ValueError),
    (made("ReduceLROnPlateau", "least"), ValueError),
    (made("ReduceLROnPlateau", threshold_mode="some"), ValueError),
    (made("ReduceLROnPlateau", min_lr=[0.1]), ValueError),
    (plateau_with_a_new_group, RuntimeError),
    (made("SequentialLR", [], []), ValueError),
    (made("SequentialLR", [5], []), TypeError),
    (made("SequentialLR", [of("StepLR", 2)], [3]), ValueError),
    (made("SequentialLR", [of("ReduceLROnPlateau")], []), ValueError),
    (made("ChainedScheduler", []), ValueError),
    (made("ChainedScheduler", [of("ReduceLROnPlateau")]), ValueError),
    (of_two_optimizers("SequentialLR"), ValueError),
    (of_two_optimizers("ChainedScheduler"), ValueError),
]


@pytest.mark.parametrize(("action", "error"), ERRORS)
def test_errors(oracle, action, error):
    messages = []
    for lib in (tiny_torch, oracle):
        with pytest.raises(error) as caught:
            action(lib)
        assert caught.type is error
        messages.append(str(caught.value).replace("tiny_torch", "torch"))
    if error is not TypeError:
        assert messages[0] == messages[1]


ZEROS = [
    ("StepLR", (0,), {}),
    ("ConstantLR", (0, 2), {}),
    ("LinearLR", (0.5, 1.0, 0), {}),
    ("PolynomialLR", (0,), {}),
    ("PolynomialLR", (2, -1), {}),
    ("CosineAnnealingLR", (0,), {}),
    ("CyclicLR", (0.1, 0.5, 0), {}),
    ("CyclicLR", (0.1, 0.5, 0, 0), {}),
    ("OneCycleLR", (0.5, 5), {"div_factor": 0}),
    ("OneCycleLR", (0.5, 5), {"final_div_factor": 0}),
]


@pytest.mark.parametrize("given_epochs", [False, True])
@pytest.mark.parametrize(("name", "args", "options"), ZEROS)
def test_divisions_by_a_zero_that_was_given(oracle, name, args, options, given_epochs):
    ends = []
    for lib in (tiny_torch, oracle):
        rates = []
        try:
            scheduler = of(name, *args, **options)(lib, optimizer_of(lib))
            for epoch in range(4):
                scheduler.optimizer.step()
                scheduler.step(*[epoch][:given_epochs])
                rates.append(scheduler.get_last_lr())
        except ZeroDivisionError as error:
            rates.append(str(error))
        ends.append(rates)
    assert ends[0] == ends[1]


# ---- our own --------------------------------------------------------------------------------


def test_a_scheduler_of_ones_own():
    class Halves(tiny_torch.optim.lr_scheduler._LRScheduler):
        def get_lr(self):
            return [lr / 2**self.last_epoch for lr in self.base_lrs]

    scheduler = Halves(optimizer_of(tiny_torch))
    for step in range(3):
        go_on(scheduler, step)
    assert scheduler.get_last_lr() == [0.1 / 8, 0.4 / 8] and scheduler.last_epoch == 3


def test_warmup_then_cosine_trains_with_the_rates_it_says():
    w = tiny_torch.nn.Parameter(tiny_torch.zeros(1))
    optimizer = tiny_torch.optim.SGD([w], lr=1.0)
    module = tiny_torch.optim.lr_scheduler
    warmup = module.LinearLR(optimizer, 0.25, total_iters=4)
    decay = module.CosineAnnealingLR(optimizer, T_max=6)
    scheduler = module.SequentialLR(optimizer, [warmup, decay], [4])
    expected = 0.0
    for _ in range(10):
        w.grad = tiny_torch.ones(1)
        expected -= scheduler.get_last_lr()[0]
        optimizer.step()
        scheduler.step()
    assert math.isclose(w.item(), expected, rel_tol=1e-6)
    assert scheduler.get_last_lr()[0] < 1e-8
