"""Timer and Measurement of `utils.benchmark`, next to PyTorch's."""

from __future__ import annotations

import itertools
from importlib import import_module

import pytest

import tiny_torch
from tiny_torch.utils import benchmark

TIMES = {
    "one": [1e-6], "two": [1e-6, 2e-6], "three": [1e-6, 1.1e-6, 1.2e-6],
    "scatter": [1e-3, 2e-3, 3e-3, 9e-3], "equal": [1.0] * 10, "long": [100.0, 101.0],
    "nanoseconds": [1e-9 * i for i in range(1, 30)],
    "steady": [1e-3 + 1e-6 * i for i in range(1, 300)],
}  # fmt: skip
TASKS = [
    {"stmt": "x + 1", "setup": "pass"},
    {"stmt": "x + 1", "setup": "x = 1", "num_threads": 2},
    {"stmt": "x", "setup": "pass", "label": "L", "sub_label": "S", "description": "D", "env": "E"},
    {"stmt": "x\ny", "setup": "pass"},
    {"stmt": "x\ny", "setup": "a", "sub_label": "S", "description": "D"},
    {"stmt": "x", "setup": "a\nb", "sub_label": "S", "description": "D"},
    {"stmt": "x\ny", "setup": "a\nb", "label": "L"},
]


@pytest.mark.torch
@pytest.mark.parametrize("task", TASKS, ids=str)
@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
def test_figures_and_words_are_pytorchs(oracle, times, task):
    shown = []
    for lib in (tiny_torch, oracle):
        made = import_module(lib.__name__ + ".utils.benchmark")
        m = made.Measurement(10, times, made.TaskSpec(**task))
        figures = [m.median, m.mean, m.iqr]
        words = [m.significant_figures, m.has_warnings, m.title, m.as_row_name, m.env]
        shown.append((figures, words, repr(m).split("\n")[1:]))
    assert shown[0][0] == pytest.approx(shown[1][0], rel=1e-6)
    assert shown[0][1:] == shown[1][1:]


def test_a_timer_runs_its_statement():
    runs, seen = [], []
    timed = benchmark.Timer(
        "\n  runs.append(torch.get_num_threads())\n", globals={"runs": runs}, num_threads=1
    )
    assert timed.timeit(50).number_per_run == 50 and len(runs) == 52 and set(runs) == {1}
    m = timed.blocked_autorange(lambda *block: seen.append(block), min_run_time=0.01)
    assert sum(m.raw_times) >= 0.01 and seen == [(m.number_per_run, t) for t in m.raw_times]
    m = timed.adaptive_autorange(1e-9, min_run_time=0.001, max_run_time=0.02)
    assert 0.02 <= sum(m.raw_times) < 1


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError, match=r"Timer\.collect_callgrind"):
        benchmark.Timer().collect_callgrind()
    with pytest.raises(NotImplementedError, match="language"):
        benchmark.Timer(language="c++")
    with pytest.raises(ValueError, match="only a `str` stmt"):
        benchmark.Timer(3)


@pytest.mark.torch
def test_tables_are_pytorchs(oracle):
    def tables(lib):
        made = import_module(lib.__name__ + ".utils.benchmark")

        def measured(times, **task):
            return made.Measurement(10, times, made.TaskSpec(**{"stmt": "x", "setup": "", **task}))

        found = [
            measured(TIMES[times], label="add", sub_label=size, description=way, num_threads=n)
            for size in ("[1]", "[64, 64]")
            for way, times in (("ours", "three"), ("theirs, longer", "steady"))
            for n in (1, 4)
        ]
        found += [measured(TIMES["scatter"], label="add", sub_label="[9]", description="ours")]
        found += [measured(TIMES["three"], label="add", sub_label="[1]", description="ours")]
        for env in ("one", "second"):
            found += [
                measured(TIMES["long"], stmt=s, env=env, description="d") for s in ("a", "bb")
            ]
        shown = [[(m.number_per_run, m.raw_times) for m in made.Measurement.merge(found)]]
        for digits, warnings, colours in itertools.product((0, 1), (0, 1), (None, False, True)):
            compared = made.Compare(found[:3])
            compared.extend_results(found[3:])
            if digits:
                compared.trim_significant_figures()
            if warnings:
                compared.highlight_warnings()
            if colours is not None:
                compared.colorize(colours)
            shown.append(str(compared))
        return shown

    ours, theirs = tables(tiny_torch), tables(oracle)
    assert ours[0] == theirs[0]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == other
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        benchmark.Compare([3])
