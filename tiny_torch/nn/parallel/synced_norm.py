"""Batch norm with the statistics of all ranks: what `SyncBatchNorm` computes in a group.

Forward gathers each rank's mean, variance and count; backward sums what the mean and the variance
pass on. https://docs.pytorch.org/docs/stable/generated/torch.nn.SyncBatchNorm.html
"""

from __future__ import annotations

from typing import Any

import tiny_torch as torch

Tensor = torch.Tensor


class SyncedNorm(torch.autograd.Function):
    """(x - mean) / sqrt(var + eps) * weight + bias, of (N, C, *), over all ranks' N and *."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Any, bias: Any, statistics: Tensor, eps: float, group: Any
    ) -> Tensor:
        mean, var, count = statistics[0], statistics[1], statistics[2, 0]
        shape = [1, -1, *[1] * (x.ndim - 2)]
        scale = (var + eps).rsqrt()
        hat = (x - mean.view(shape)) * scale.view(shape)
        ctx.save_for_backward(hat, weight, scale)
        ctx.count, ctx.group, ctx.has_bias = count, group, bias is not None
        y = hat if weight is None else hat * weight.view(shape)
        return (y if bias is None else y + bias.view(shape)).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (grad,) = gradients
        hat, weight, scale = ctx.saved_tensors
        dims = [0, *range(2, grad.ndim)]
        shape = [1, -1, *[1] * (grad.ndim - 2)]
        grad = grad.to(hat.dtype)
        sums = torch.stack([grad.sum(dims), (grad * hat).sum(dims)])
        of_bias, of_weight = sums[0].clone(), sums[1].clone()
        torch.distributed.all_reduce(sums, group=ctx.group)
        means = sums / ctx.count
        centred = grad - means[0].view(shape) - hat * means[1].view(shape)
        factor = scale if weight is None else scale * weight
        return (
            centred * factor.view(shape),
            of_weight if weight is not None else None,
            of_bias if ctx.has_bias else None,
            None,
            None,
            None,
        )


def statistics_of(x: Tensor, group: Any) -> Tensor:
    """(3, C): mean, biased variance and count of all ranks' elements of each channel.

    Raises ValueError where that is one element.
    """
    dims = [0, *range(2, x.ndim)]
    with torch.no_grad():
        channels = x.shape[1]
        plain = x.detach().float() if x.dtype in (torch.float16, torch.bfloat16) else x.detach()
        count = plain.numel() // max(channels, 1)
        own = torch.zeros(3, channels, dtype=plain.dtype, device=x.device)
        if count:
            own[0], own[1], own[2] = plain.mean(dims), plain.var(dims, unbiased=False), count
        everyone = [torch.zeros_like(own) for _ in range(torch.distributed.get_world_size(group))]
        torch.distributed.all_gather(everyone, own, group=group)
        rows = torch.stack(everyone)  # (ranks, 3, C)
        counts = rows[:, 2]
        total = counts.sum(0)
        if channels and total[0] <= 1:
            raise ValueError("Expected more than 1 value per channel when training")
        mean = (rows[:, 0] * counts).sum(0) / total
        var = ((rows[:, 1] + (rows[:, 0] - mean).square()) * counts).sum(0) / total
        return torch.stack([mean, var, total])


def synced_batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: float,
    eps: float,
    group: Any,
) -> Tensor:
    """Batch norm of a training step; moves the running statistics, in place."""
    statistics = statistics_of(x, group)
    mean, var, count = statistics[0], statistics[1], statistics[2, 0]
    if running_mean is not None and running_var is not None:
        with torch.no_grad():
            running_mean.mul_(1 - momentum).add_(mean.to(running_mean.dtype), alpha=momentum)
            unbiased = var * (count / (count - 1))
            running_var.mul_(1 - momentum).add_(unbiased.to(running_var.dtype), alpha=momentum)
    answer: Tensor = SyncedNorm.apply(x, weight, bias, statistics, eps, group)
    return answer
