"""Line: one case of a table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    name: str
    target: float  # for the ratio of times, ours to theirs
    prepare: str  # run once in each process, before `statement` is seen; `torch` is the framework
    statement: str  # timed
    before: str = "pass"  # run before each sample, not timed
    number: int = 1  # statements per sample
    ops: int = 1  # ops per statement
    turn: float = 0.25  # seconds that one framework measures in one round
    # What an op cannot do without, for the share of the machine's limit: multiplications and
    # additions; bytes read and written. Expressions of what `prepare` made and nbytes(*tensors).
    flops: str = "0"
    bytes: str = "0"
