"""Programs: functions of tensors as recorded launches, which run again without Python.

What `torch.compile` makes of a function or module is a `Compiled`;
`record` makes one of a whole step; `plan` tells what a step needs. Core: src/core/program.
"""

from tiny_torch.program.compiled import Compiled, record
from tiny_torch.program.plan import Plan, plan

__all__ = ["Compiled", "Plan", "plan", "record"]
