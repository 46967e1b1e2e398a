"""VGG: 3x3 convolutions, and a maximum wherever the image is halved.

Source: https://arxiv.org/abs/1409.1556.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tiny_torch as torch
from tiny_torch import nn
from tiny_torch.vision.models._weights import check_weights

# channels of each convolution; M, a maximum, halves the image
CHANNELS = {
    11: "64 M 128 M 256 256 M 512 512 M 512 512 M",
    13: "64 64 M 128 128 M 256 256 M 512 512 M 512 512 M",
    16: "64 64 M 128 128 M 256 256 256 M 512 512 512 M 512 512 512 M",
    19: "64 64 M 128 128 M 256 256 256 256 M 512 512 512 512 M 512 512 512 512 M",
}


class VGG(nn.Module):
    """Given convolutions and three linear layers: (B, 3, H, W) -> (B, num_classes).

    Source: https://docs.pytorch.org/vision/stable/models/vgg.html
    """

    def __init__(
        self,
        features: nn.Module,
        num_classes: int = 1000,
        init_weights: bool = True,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
            else:
                continue
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.avgpool(self.features(x))  # (B, 512, 7, 7)
        return self.classifier(torch.flatten(x, 1))


def make_layers(cfg: Sequence[str | int], batch_norm: bool = False) -> nn.Sequential:
    """Convolutions of so many channels, each with a ReLU; "M" is a maximum that halves."""
    layers: list[nn.Module] = []
    inputs = 3
    for word in cfg:
        if word == "M":
            layers.append(nn.MaxPool2d(2, stride=2))
            continue
        layers.append(nn.Conv2d(inputs, int(word), 3, padding=1))
        layers += [nn.BatchNorm2d(int(word))] if batch_norm else []
        layers.append(nn.ReLU(inplace=True))
        inputs = int(word)
    return nn.Sequential(*layers)


def _vgg(name: str, depth: int, batch_norm: bool, weights: Any, kwargs: dict[str, Any]) -> VGG:
    check_weights(name, weights, kwargs)
    return VGG(make_layers(CHANNELS[depth].split(), batch_norm), **kwargs)


def vgg11(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG of 11 layers; further arguments as of the class.

    Raises NotImplementedError for `weights`, without which `progress` has nothing to show.
    Source: https://docs.pytorch.org/vision/stable/models/vgg.html

    >>> import tiny_torch as torch
    >>> from tiny_torch.models import vgg11
    >>> with torch.device("meta"):
    ...     sum(p.numel() for p in vgg11().parameters())
    132863336
    """
    return _vgg("vgg11", 11, False, weights, kwargs)


def vgg11_bn(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG of 11 layers with batch normalization; arguments and errors as of `vgg11`."""
    return _vgg("vgg11_bn", 11, True, weights, kwargs)


def vgg13(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG of 13 layers; arguments and errors as of `vgg11`."""
    return _vgg("vgg13", 13, False, weights, kwargs)


def vgg13_bn(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG of 13 layers with batch normalization; arguments and errors as of `vgg11`."""
    return _vgg("vgg13_bn", 13, True, weights, kwargs)


def vgg16(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG of 16 layers; arguments and errors as of `vgg11`."""
    return _vgg("vgg16", 16, False, weights, kwargs)


def vgg16_bn(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG of 16 layers with batch normalization; arguments and errors as of `vgg11`."""
    return _vgg("vgg16_bn", 16, True, weights, kwargs)


def vgg19(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG of 19 layers; arguments and errors as of `vgg11`."""
    return _vgg("vgg19", 19, False, weights, kwargs)


def vgg19_bn(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG of 19 layers with batch normalization; arguments and errors as of `vgg11`."""
    return _vgg("vgg19_bn", 19, True, weights, kwargs)
