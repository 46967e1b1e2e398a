"""Whole training steps next to PyTorch's: forward, backward and optimiser of nine models.

    python benchmarks/steps.py                  # prints the table
    python benchmarks/steps.py --only LSTM GPT  # the lines whose names contain one of these

The models: models.py. How the two take turns: turns.py.
"""

from models import STEPS
from turns import Line, main


def make_lines() -> list[Line]:
    return [
        Line(name, 1.0, f"from models import step_of\nstep = step_of(torch, {name!r})", "step()")
        for name in STEPS
    ]


if __name__ == "__main__":
    main(make_lines, __doc__)
