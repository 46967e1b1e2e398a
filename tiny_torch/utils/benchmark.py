"""`torch.utils.benchmark`: the time of a statement, measured often enough."""

from __future__ import annotations

import dataclasses
import math
import statistics
import textwrap
import timeit
from collections.abc import Callable
from typing import Any

import tiny_torch as torch

__all__ = ["Measurement", "TaskSpec", "Timer", "select_unit", "timer"]

UNITS = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)]
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
        language: Any = "python",
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if str(language).lower() not in ("py", "python"):
            raise NotImplementedError(f"Timer: language={language!r}")
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
