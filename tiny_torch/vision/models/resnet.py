"""ResNet: blocks that add what they compute to what they were given.

Source: https://arxiv.org/abs/1512.03385. As in torchvision, a Bottleneck strides in its 3x3
convolution ("ResNet v1.5").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.vision.models._weights import check_weights

Norm = Callable[[int], nn.Module]


def _conv3x3(inputs: int, outputs: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> Any:
    return nn.Conv2d(
        inputs, outputs, 3, stride, padding=dilation, dilation=dilation, groups=groups, bias=False
    )


def _conv1x1(inputs: int, outputs: int, stride: int = 1) -> Any:
    return nn.Conv2d(inputs, outputs, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions: (B, inplanes, H, W) -> (B, planes, H / stride, W / stride)."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        self.conv1 = _conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = _conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions: (B, inplanes, H, W) -> (B, 4 planes, H / stride, ...)."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = _conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = _conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = _conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """A 7x7 convolution, four groups of blocks, the mean over the image, a linear layer.

    (B, 3, H, W) -> (B, num_classes). Raises ValueError for a bad `replace_stride_with_dilation`.
    Source: https://docs.pytorch.org/vision/stable/models/resnet.html

    >>> import tiny_torch as torch
    >>> from tiny_torch.models.resnet import BasicBlock, ResNet
    >>> ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        dilate = replace_stride_with_dilation or [False, False, False]
        if len(dilate) != 3:
            raise ValueError(
                "replace_stride_with_dilation should be None or a 3-element tuple, "
                f"got {replace_stride_with_dilation}"
            )
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation = 64, 1
        self.groups, self.base_width = groups, width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, 7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0], 1, False)
        self.layer2 = self._make_layer(block, 128, layers[1], 2, dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], 2, dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], 2, dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._initialize(zero_init_residual)

    def _make_layer(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        planes: int,
        blocks: int,
        stride: int,
        dilate: bool,
    ) -> nn.Sequential:
        before = self.dilation
        if dilate:
            self.dilation, stride = self.dilation * stride, 1
        outputs = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != outputs:
            downsample = nn.Sequential(
                _conv1x1(self.inplanes, outputs, stride), self._norm_layer(outputs)
            )
        shared = self.groups, self.base_width
        norm = self._norm_layer
        made = [block(self.inplanes, planes, stride, downsample, *shared, before, norm)]
        self.inplanes = outputs
        for _ in range(1, blocks):
            made.append(block(outputs, planes, 1, None, *shared, self.dilation, norm))
        return nn.Sequential(*made)

    def _initialize(self, zero_init_residual: bool) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if (
            zero_init_residual
        ):  # each block begins as the identity: https://arxiv.org/abs/1706.02677
            for module in self.modules():
                if isinstance(module, BasicBlock | Bottleneck):
                    last: Any = module.bn3 if isinstance(module, Bottleneck) else module.bn2
                    nn.init.zeros_(last.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))  # (B, 64, H / 4, W / 4)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))  # (B, C, H / 32, W / 32)
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet18(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet of 18 layers; further arguments as of ResNet.

    Raises NotImplementedError for `weights`, without which `progress` has nothing to show.
    Source: https://docs.pytorch.org/vision/stable/models/resnet.html

    >>> from tiny_torch.models import resnet18
    >>> sum(p.numel() for p in resnet18(num_classes=10).parameters())
    11181642
    """
    check_weights("resnet18", weights, kwargs)
    return ResNet(BasicBlock, [2, 2, 2, 2], **kwargs)


def resnet34(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet of 34 layers; arguments and errors as of `resnet18`."""
    check_weights("resnet34", weights, kwargs)
    return ResNet(BasicBlock, [3, 4, 6, 3], **kwargs)


def resnet50(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet of 50 layers; arguments and errors as of `resnet18`."""
    check_weights("resnet50", weights, kwargs)
    return ResNet(Bottleneck, [3, 4, 6, 3], **kwargs)
