"""The rows of a watch, and their text as comma-separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import NamedTuple

from tiny_torch.utils.monitor.figures import Figures


class Row(NamedTuple):
    """The figures of one tensor in one iteration; of `non_finite` elements only the number."""

    iteration: int
    kind: str  # "weight", "gradient" or "activation"
    name: str  # of a parameter, or the path of a module
    elements: int
    norm: float
    mean: float
    std: float  # with a divisor of n
    zeros: float  # the share of all elements
    min: float
    max: float
    non_finite: int
    update_ratio: float | None  # of a weight that was stepped: norm of the update / norm

    @classmethod
    def of(cls, iteration: int, kind: str, name: str, figures: Figures, ratio: float | None) -> Row:
        return cls(
            iteration,
            kind,
            name,
            figures.elements,
            figures.norm,
            figures.mean,
            figures.std,
            figures.share_of_zeros,
            figures.low,
            figures.high,
            figures.non_finite,
            ratio,
        )


def as_csv(rows: Iterable[Row]) -> str:
    """A line of names, and one for each row; a field that has no value is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows(rows)
    return text.getvalue()
