"""Programs: functions of tensors as recorded launches, which run again without Python.

What `torch.compile` makes of a function or module is a `Compiled`;
`record` makes one of a whole step. Core: src/core/program.
"""

from tiny_torch.program.compiled import Compiled, record

__all__ = ["Compiled", "record"]
