"""`torch.distributed.pipelining`: layers at several ranks, which pass microbatches on.

stage.py has what a rank computes and sends, schedules.py in which order.
https://docs.pytorch.org/docs/stable/distributed.pipelining.html
"""

from tiny_torch.compat.refused import refusing, refusing_class
from tiny_torch.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
)
from tiny_torch.distributed.pipelining.stage import PipelineStage

SPLIT = "models are cut by hand: PipelineStage takes the part of a rank"
ORDERS = "ScheduleGPipe, Schedule1F1B and ScheduleInterleaved1F1B are"
pipeline = refusing("torch.distributed.pipelining.pipeline", SPLIT)
pipe_split = refusing("torch.distributed.pipelining.pipe_split", SPLIT)
build_stage = refusing("torch.distributed.pipelining.build_stage", SPLIT)
Pipe = refusing_class("torch.distributed.pipelining.Pipe", SPLIT)
SplitPoint = refusing_class("torch.distributed.pipelining.SplitPoint", SPLIT)
ScheduleLoopedBFS, ScheduleInterleavedZeroBubble, ScheduleZBVZeroBubble, ScheduleDualPipeV = (
    refusing_class(f"torch.distributed.pipelining.{name}", ORDERS)
    for name in ("ScheduleLoopedBFS", "ScheduleInterleavedZeroBubble", "ScheduleZBVZeroBubble",
                 "ScheduleDualPipeV")
)  # fmt: skip

__all__ = [
    "Pipe", "PipelineStage", "Schedule1F1B", "ScheduleDualPipeV", "ScheduleGPipe",
    "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS",
    "ScheduleZBVZeroBubble", "SplitPoint", "build_stage", "pipe_split", "pipeline",
]  # fmt: skip
