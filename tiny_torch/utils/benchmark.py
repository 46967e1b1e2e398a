"""`torch.utils.benchmark`: the time of a statement, measured often enough; tables of times."""

from __future__ import annotations

import dataclasses
import enum
import math
import statistics
import textwrap
import timeit
from collections.abc import Callable, Iterable
from typing import Any

import tiny_torch as torch

__all__ = [
    *("Colorize", "Compare", "Language", "Measurement", "TaskSpec", "Timer", "select_unit"),
    *("timer", "trim_sigfig", "unit_to_english"),
]

UNITS = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1)]
UNIT_NAMES = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}
CONFIDENCE = 1.645  # standard errors on each side of the median
RESOLUTION = 25e-9  # seconds: no clock is trusted beyond it
SHORT_BLOCK = 1000  # a block of runs takes this many times as long as reading the clock


def timer() -> float:
    """The clock in seconds, once a GPU has finished what it was given."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return timeit.default_timer()


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time is shown, and its seconds.

    >>> from tiny_torch.utils.benchmark import select_unit
    >>> select_unit(2e-5)
    ('us', 1e-06)
    """
    place = math.floor(math.log10(t) / 3) if t > 0 else 0
    return UNITS[place + 3] if -3 <= place < 0 else UNITS[-1]


def unit_to_english(u: str) -> str:
    return UNIT_NAMES[u]


def trim_sigfig(x: float, n: int) -> float:
    """x with n significant digits.

    >>> from tiny_torch.utils.benchmark import trim_sigfig
    >>> trim_sigfig(1234.5, 2)
    1200.0
    """
    return float(f"{x:.{n - 1}e}") if x else x


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """What was measured: PyTorch's fields."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement, and the second label."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        second = f" ({self.sub_label})" if self.sub_label else ""
        return f"stmt:{second}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """The setup, as a measurement shows it."""
        if self.setup == "pass" or not self.setup:
            return ""
        if "\n" in self.setup:
            return f"setup:\n{textwrap.indent(self.setup, '  ')}"
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup; behind what has several lines, an empty one."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(part + "\n" if "\n" in part else part for part in parts if part)


@dataclasses.dataclass(repr=False)
class Measurement:
    """Times of a statement: `raw_times` in seconds, each of `number_per_run` runs.

    Source: PyTorch, torch.utils.benchmark.Measurement.

    >>> from tiny_torch.utils.benchmark import Measurement, TaskSpec
    >>> m = Measurement(10, [1e-5, 2e-5, 3e-5], TaskSpec("x + 1", "pass"))
    >>> f"{m.median:.1e} {m.iqr:.1e}"
    '2.0e-06 1.0e-06'
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "task_spec":
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """Seconds of a run, one for each block of runs."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """From the first to the third quartile."""
        first, third = self._quartiles()
        return third - first

    def _quartiles(self) -> tuple[float, float]:
        if len(self.raw_times) == 1:
            return self.times[0], self.times[0]
        first, _, third = statistics.quantiles(self.times, n=4, method="inclusive")
        return first, third

    @property
    def significant_figures(self) -> int:
        """How many digits the scatter between the quartiles leaves, 1 to 4."""
        n = len(self.raw_times)
        middle = sorted(self.times)[n // 4 : math.ceil(3 * n / 4)]
        error = CONFIDENCE * statistics.pstdev(middle) / math.sqrt(len(middle))
        digits = math.floor(-math.log10(max(error, RESOLUTION) / self.median))
        return min(max(digits, 1), 4)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One for each task: the times of all of its measurements, as if of one run each."""
        found: dict[TaskSpec, Measurement] = {}
        for m in measurements:
            merged = found.setdefault(m.task_spec, Measurement(1, [], m.task_spec))
            merged.raw_times.extend(m.times)
        return list(found.values())

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the quartiles are within that fraction of the median."""
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self) -> bool:
        return not self.meets_confidence()

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """What names the statement in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        n, threads = len(self.raw_times), self.task_spec.num_threads
        first, third = self._quartiles()
        median = f"{self.median / scale:.2f} {unit}"
        lines = [super().__repr__(), self.task_spec.summarize()]
        lines.append(f"  {median}" if n == 1 else f"  Median: {median}")
        if n > 3:
            between = f"{first / scale:.2f} to {third / scale:.2f}"
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({between})")
        lines.append(
            f"  {n} measurement{'s' if n > 1 else ''}, {self.number_per_run} runs "
            f"{'per measurement' if n > 1 else ''}, {threads} thread{'s' if threads > 1 else ''}"
        )
        if self.has_warnings:
            far = not self.meets_confidence(0.25)
            lines += [
                f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% "
                "of the median measurement.",
                "           This suggests significant environmental influence."
                if far
                else "           This could indicate system fluctuation.",
            ]
        return "\n".join(lines)


class Language(enum.Enum):
    PYTHON = 0
    CPP = 1


LANGUAGES = {
    **dict.fromkeys(("py", "python"), Language.PYTHON),
    **dict.fromkeys(("cc", "c++", "cpp", "cxx"), Language.CPP),
}


class Timer:
    """Measures a statement, as timeit.Timer, with `num_threads` threads and a synchronized clock.

    `globals`: the names that `stmt` and `setup` see, and `torch`. `label`, `sub_label`,
    `description` and `env` go to the Measurement.
    Raises NotImplementedError for another language than Python and for `global_setup`.
    Source: PyTorch, torch.utils.benchmark.Timer.

    >>> import tiny_torch as torch
    >>> from tiny_torch.utils import benchmark
    >>> m = benchmark.Timer("x + x", globals={"x": torch.ones(3)}).timeit(10)
    >>> m.number_per_run, m.median > 0
    (10, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if isinstance(language, str) and language.lower() in LANGUAGES:
            language = LANGUAGES[language.lower()]
        if language is Language.CPP:
            raise NotImplementedError(f"Timer: language={language}")
        if language is not Language.PYTHON:
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise NotImplementedError("Timer: global_setup, which is C++'s")
        stmt, setup = (textwrap.dedent(text).strip() for text in (stmt, setup))
        self._timer = timeit.Timer(stmt, setup, timer, {"torch": torch, **dict(globals or {})})
        self._clock = timer
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _with_threads(self, measure: Callable[[], Measurement]) -> Measurement:
        before = torch.get_num_threads()
        torch.set_num_threads(self._task_spec.num_threads)
        try:
            return measure()
        finally:
            torch.set_num_threads(before)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One time of `number` runs, after a hundredth of them to warm up."""

        def measure() -> Measurement:
            self._timer.timeit(max(number // 100, 2))
            return Measurement(number, [self._timer.timeit(number)], self._task_spec)

        return self._with_threads(measure)

    def _block(self, min_run_time: float) -> int:
        """Runs in a block, so that reading the clock takes less than a thousandth of it."""
        overhead = statistics.median(self._timer_overhead() for _ in range(5))
        number = 1
        while True:
            taken = self._timer.timeit(number)
            if overhead * SHORT_BLOCK <= taken >= min_run_time / 1000 or taken > min_run_time:
                return number
            number *= 10

    def _timer_overhead(self) -> float:
        start = self._clock()
        return self._clock() - start

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Blocks of runs for `min_run_time` seconds; `callback(runs, seconds)` sees each."""

        def measure() -> Measurement:
            return self._measure(lambda m: True, callback, min_run_time, math.inf)

        return self._with_threads(measure)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Blocks of runs until iqr / median is below `threshold`, or for `max_run_time`."""

        def steady(m: Measurement) -> bool:
            return len(m.raw_times) > 3 and m.meets_confidence(threshold)

        return self._with_threads(
            lambda: self._measure(steady, callback, min_run_time, max_run_time)
        )

    def _measure(
        self,
        enough: Callable[[Measurement], bool],
        callback: Callable[[int, float], Any] | None,
        min_run_time: float,
        max_run_time: float,
    ) -> Measurement:
        found = Measurement(self._block(min_run_time), [], self._task_spec)
        total = 0.0
        while total < min_run_time or (total < max_run_time and not enough(found)):
            found.raw_times.append(self._timer.timeit(found.number_per_run))
            total += found.raw_times[-1]
            if callback is not None:
                callback(found.number_per_run, found.raw_times[-1])
        return found

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> Any:
        """Raises NotImplementedError: Valgrind counts no instructions here."""
        raise NotImplementedError("Timer.collect_callgrind")


class Colorize(enum.Enum):
    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


# What a terminal is told of a time: up to how many times the best one, before it and behind it.
BOLD, END = "\033[1m", "\033[0m"
GOOD = ((1.01, "\033[92m" + BOLD, END * 2), (1.1, "\033[34m" + BOLD, END * 2))
BAD = ((5, "\033[31m" + BOLD, END * 2), (2, "\033[2m\033[91m", END * 2))
LEAST = 100e-9  # seconds: a smaller difference counts as none


def color(text: str, time: float, best: float) -> str:
    if time <= best + LEAST:
        time = best
    for factor, before, after in GOOD:
        if time <= best * factor:
            return before + text + after
    for factor, before, after in BAD:
        if time >= best * factor:
            return before + text + after
    return text


class Compare:
    """Tables of times: a row for each second label or statement, a column for each description.

    One table for each label, with its rows grouped by the number of threads. ValueError for what is
    no Measurement. Source: PyTorch, torch.utils.benchmark.Compare.

    >>> from tiny_torch.utils.benchmark import Compare, Measurement, TaskSpec
    >>> spec = {"stmt": "", "setup": "", "label": "add"}
    >>> one = Measurement(1, [2e-6], TaskSpec(**spec, sub_label="64", description="ours"))
    >>> two = Measurement(1, [3e-6], TaskSpec(**spec, sub_label="64", description="theirs"))
    >>> str(Compare([one, two])).splitlines()[0]
    '[---------- add -----------]'
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim = self._warn = False
        self._colorize = Colorize.NONE
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Adds measurements."""
        results = list(results)
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
        self._results += results

    def trim_significant_figures(self) -> None:
        """Shows no more digits than the scatter of the times leaves."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colours the times by the best of their column, in the group of rows, or of their row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Shows how far the quartiles are apart, where that is more than a tenth of the median."""
        self._warn = True

    def print(self) -> None:
        """Prints the tables."""
        print(str(self))

    def __str__(self) -> str:
        tables: dict[str | None, list[Measurement]] = {}
        for m in Measurement.merge(self._results):
            tables.setdefault(m.task_spec.label, []).append(m)
        return "\n".join(map(self._table, tables.values()))

    def _table(self, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(m.median for m in results))
        columns = list(dict.fromkeys(m.task_spec.description for m in results))
        cells = {(row_of(m), m.task_spec.description): m for m in results}
        rows = sorted(dict.fromkeys(map(row_of, results)), key=lambda row: (row[0], row[1] or ""))
        texts = [self._texts([cells.get((row, c)) for row in rows], scale) for c in columns]

        envs = {row[1] for row in rows}
        indent = max(len(str(env)) for env in envs) + 4 if len(envs) > 1 else 4
        names, shown = [], None
        for threads, env, name in rows:
            first = len(envs) > 1 and (threads, env) != shown
            names.append("  " + (f"({env})" if first else "").ljust(indent) + name)
            shown = threads, env
        parts = [["", *names], *([c or "", *t] for c, t in zip(columns, texts, strict=True))]
        widths = [max(map(len, part)) for part in parts]
        header = "  |  ".join(p[0].center(w) for p, w in zip(parts, widths, strict=True))
        label = f" {results[0].task_spec.label or ''} ".center(len(header) - 2, "-")
        lines, group = [f"[{label}]", header], None
        for i, row in enumerate(rows):
            if row[0] != group:
                group = row[0]
                lines.append(f"{group} threads: ".ljust(len(header), "-"))
            line = [names[i].ljust(widths[0])]
            for column, text, width in zip(columns, texts, widths[1:], strict=True):
                cell = text[i].center(width)
                best = self._best(cells, row, column)
                if best is not None and (row, column) in cells:
                    cell = color(cell, cells[row, column].median, best)
                line.append(cell)
            lines.append("  |  ".join(line))
        lines += ["", f"Times are in {unit_to_english(unit)}s ({unit}).", ""]
        if self._warn and any(m.has_warnings for m in results):
            lines[-1:] = [
                "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.", ""
            ]  # fmt: skip
        return "\n".join(lines)

    def _best(self, cells: dict[Any, Measurement], row: Any, column: Any) -> float | None:
        if self._colorize is Colorize.NONE:
            return None
        if self._colorize is Colorize.ROWWISE:
            return min(m.median for (r, _), m in cells.items() if r == row)
        group = (m.median for (r, c), m in cells.items() if c == column and r[0] == row[0])
        return min(group, default=None)

    def _texts(self, column: list[Measurement | None], scale: float) -> list[str]:
        """The times of a column, all with the same digits behind the point."""
        there = [m for m in column if m is not None]
        before = [math.ceil(math.log10(m.median / scale)) for m in there]
        behind = 1
        if self._trim:
            behind = min(
                max(m.significant_figures - n, 0) for m, n in zip(there, before, strict=True)
            )
        length = max(before) + behind + (behind > 0)
        warned = self._warn and any(m.has_warnings for m in there)

        def text(m: Measurement | None) -> str:
            if m is None:
                return " " * len(f"{1:{length}.{behind}f}") + " " * 7 * warned
            time = m.median / scale
            time = trim_sigfig(time, m.significant_figures) if self._trim else time
            note = f" (! {m.iqr / m.median * 100:.0f}%)" if warned and m.has_warnings else ""
            return f"{time:{length}.{behind}f}{note:>{7 * warned}}"

        return list(map(text, column))


def row_of(m: Measurement) -> tuple[int, str | None, str]:
    spec = m.task_spec
    return spec.num_threads, spec.env, m.as_row_name
