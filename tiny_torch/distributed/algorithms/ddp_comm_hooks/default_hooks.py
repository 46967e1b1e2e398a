"""Communication hooks: how DistributedDataParallel reduces a bucket, by half the bytes if wanted.

https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html#default-communication-hooks
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tiny_torch as torch

Hook = Callable[[Any, Any], torch.futures.Future[torch.Tensor]]


def average_bucket(
    group: Any, tensor: torch.Tensor, buffer: torch.Tensor
) -> torch.futures.Future[torch.Tensor]:
    """The mean over all ranks of a tensor, which may be the buffer in another dtype."""
    dist = torch.distributed
    tensor.div_(dist.get_world_size(group))
    work = dist.all_reduce(tensor, group=group, async_op=True)
    assert work is not None

    def back(done: torch.futures.Future[Any]) -> torch.Tensor:
        if tensor is not buffer:
            buffer.copy_(done.value()[0])
        return buffer

    return work.get_future().then(back)


def allreduce_hook(process_group: Any, bucket: Any) -> torch.futures.Future[torch.Tensor]:
    """The average over all ranks: what happens without a hook, too."""
    return average_bucket(process_group, bucket.buffer(), bucket.buffer())


def fp16_compress_hook(process_group: Any, bucket: Any) -> torch.futures.Future[torch.Tensor]:
    """The average, sent and summed as float16."""
    return average_bucket(process_group, bucket.buffer().to(torch.float16), bucket.buffer())


def bf16_compress_hook(process_group: Any, bucket: Any) -> torch.futures.Future[torch.Tensor]:
    """The average, sent and summed as bfloat16."""
    return average_bucket(process_group, bucket.buffer().to(torch.bfloat16), bucket.buffer())


def wrapper(hook: Hook, dtype: torch.dtype) -> Hook:
    def compress(state: Any, bucket: Any) -> torch.futures.Future[torch.Tensor]:
        before = bucket.buffer().clone()
        bucket.set_buffer(before.to(dtype).to(before.dtype))
        return hook(state, bucket)

    return compress


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """The hook, of a bucket rounded to float16 before."""
    return wrapper(hook, torch.float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """The hook, of a bucket rounded to bfloat16 before."""
    return wrapper(hook, torch.bfloat16)


__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
    "fp16_compress_wrapper",
]  # fmt: skip
