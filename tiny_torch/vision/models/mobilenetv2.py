"""MobileNetV2: blocks that widen, filter each channel alone, and narrow again.

Source: https://arxiv.org/abs/1801.04381.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.vision.models._weights import check_weights, initialize

Norm = Callable[[int], nn.Module]
# expansion, channels, blocks, stride of the first
BLOCKS = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


def _divisible(channels: float, by: int) -> int:
    """The nearest multiple, at least 90 % of the channels."""
    rounded = max(by, int(channels + by / 2) // by * by)
    return rounded + by if rounded < 0.9 * channels else rounded


class Conv2dNormActivation(nn.Sequential):
    """A convolution, a norm, ReLU6: (B, inputs, H, W) -> (B, outputs, H / stride, W / stride)."""

    def __init__(
        self, inputs: int, outputs: int, size: int, norm: Norm, stride: int = 1, groups: int = 1
    ) -> None:
        super().__init__(
            nn.Conv2d(inputs, outputs, size, stride, (size - 1) // 2, groups=groups, bias=False),
            norm(outputs),
            nn.ReLU6(inplace=True),
        )


class InvertedResidual(nn.Module):
    """(B, inp, H, W) -> (B, oup, H / stride, W / stride), through `expand_ratio` inp channels."""

    def __init__(
        self,
        inp: int,
        oup: int,
        stride: int,
        expand_ratio: int,
        norm_layer: Norm = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        hidden = round(inp * expand_ratio)
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(Conv2dNormActivation(inp, hidden, 1, norm_layer))
        layers.append(Conv2dNormActivation(hidden, hidden, 3, norm_layer, stride, groups=hidden))
        layers += [nn.Conv2d(hidden, oup, 1, bias=False), norm_layer(oup)]
        self.conv = nn.Sequential(*layers)
        self.out_channels = oup

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """Inverted residuals, the mean, a linear layer: (B, 3, H, W) -> (B, num_classes).

    `width_mult` scales the channels, in multiples of `round_nearest`.
    Source: https://docs.pytorch.org/vision/stable/models/mobilenetv2.html
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: Sequence[Sequence[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., Any] = InvertedResidual,
        norm_layer: Norm = nn.BatchNorm2d,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        setting = BLOCKS if inverted_residual_setting is None else inverted_residual_setting
        if not setting or any(len(row) != 4 for row in setting):
            raise ValueError(
                "inverted_residual_setting should be non-empty or a 4-element list, got "
                f"{inverted_residual_setting}"
            )
        inputs = _divisible(32 * width_mult, round_nearest)
        self.last_channel = _divisible(1280 * max(1.0, width_mult), round_nearest)
        features: list[nn.Module] = [Conv2dNormActivation(3, inputs, 3, norm_layer, stride=2)]
        for expansion, channels, count, stride in setting:
            outputs = _divisible(channels * width_mult, round_nearest)
            for i in range(count):
                features.append(
                    block(inputs, outputs, 1 if i else stride, expansion, norm_layer=norm_layer)
                )
                inputs = outputs
        features.append(Conv2dNormActivation(inputs, self.last_channel, 1, norm_layer))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(self.last_channel, num_classes)
        )
        initialize(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.features(x)  # (B, 1280, H / 32, W / 32)
        x = nn.functional.adaptive_avg_pool2d(x, (1, 1))
        return self.classifier(torch.flatten(x, 1))


def mobilenet_v2(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> MobileNetV2:
    """MobileNetV2; further arguments as of the class.

    Raises NotImplementedError for `weights`, without which `progress` has nothing to show.
    Source: https://docs.pytorch.org/vision/stable/models/mobilenetv2.html

    >>> from tiny_torch.models import mobilenet_v2
    >>> sum(p.numel() for p in mobilenet_v2().parameters())
    3504872
    """
    check_weights("mobilenet_v2", weights, kwargs)
    return MobileNetV2(**kwargs)
